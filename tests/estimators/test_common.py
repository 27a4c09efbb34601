"""scikit-learn's own checks, without expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from eosparse import EOSDetector


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        EOSDetector(),
        EOSDetector(covariance="diag", contamination=0.1),
        EOSDetector(shrinkage=0.2, contamination=0.1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
