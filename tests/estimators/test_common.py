"""scikit-learn's own checks, without expected failures."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from eosparse import (
    EOSPCA,
    EOSCells,
    EOSClassifier,
    EOSDetector,
    EOSGaussianMixture,
    EOSKMeans,
    EOSRegressor,
    SPAClassifier,
)
from eosparse.models import GaussianModel


# A thousand checks of the same lines: counting these takes as long as the checks.
@pytest.mark.no_cover
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        EOSDetector(),
        EOSDetector(model=GaussianModel("diag"), contamination=0.1),
        EOSDetector(model=GaussianModel(shrinkage=0.2), contamination=0.1),
        SPAClassifier(),
        SPAClassifier(4, alpha=np.inf, affiliation="hard"),
        SPAClassifier(4, alpha=1.0, temperature=1.0, epsilon_features=0.5),
        EOSClassifier(),
        EOSClassifier(LogisticRegression()),
        EOSClassifier(alpha=1.0),
        EOSRegressor(),
        EOSRegressor(Ridge(), loss="absolute"),
        EOSKMeans(),
        EOSKMeans(3, alpha=5.0),
        EOSPCA(),
        EOSPCA(1, efficiency=0.7),
        EOSCells(),
        EOSGaussianMixture(),
        EOSDetector(model="clusters", contamination=0.1),  # its blobs are clean
        EOSDetector(model="subspace", contamination=0.1),
        EOSDetector(model="mixture", contamination=0.1),
        EOSDetector(model="regression", contamination=0.1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_notebooks_show_a_summary_once_fitted():
    X, y = make_classification(60, random_state=0)
    for estimator in (
        EOSDetector(),
        EOSDetector(model="subspace", contamination=0.1),
        EOSClassifier(),
        EOSRegressor(),
        SPAClassifier(),
        EOSKMeans(2),
        EOSPCA(),
        EOSGaussianMixture(),
    ):
        before = estimator._repr_html_()
        estimator.fit(X, y)
        after = estimator._repr_html_()
        assert "<th style" not in before
        assert "alpha</th>" in after
