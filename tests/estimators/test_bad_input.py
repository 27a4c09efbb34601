"""Bad input: a right answer, or one clear error that names what is wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from eosparse import EOSDetector
from eosparse.models import GaussianModel


def clean(n=200, d=4):
    return np.random.default_rng(0).normal(size=(n, d))


def changed(value, row=3, column=1):
    X = clean()
    X[row, column] = value
    return X


REFUSED = {
    "infinity": (changed(np.inf), "infinity"),
    "strings": (np.array([["a", "b"]] * 9), "could not convert|strings|dtype"),
    "objects": (
        pd.DataFrame({"a": [1.0, 2, 3, 4, 5], "b": list("vwxyz")}),
        "could not convert|diff",
    ),
    "one-dimensional": (np.arange(9.0), "2D array"),
    "three-dimensional": (np.zeros((4, 4, 4)), "dim"),
    "complex": (clean() * 1j, "[Cc]omplex"),
    "sparse": (sparse.csr_matrix(clean()), "[Ss]parse"),
    "empty": (np.empty((0, 3)), "0 sample"),
    "no columns": (np.empty((9, 0)), "0 feature"),
    "one row": (clean(1), "1 sample"),
    "two rows": (clean(2), "2 sample"),
    "all rows equal": (np.ones((9, 3)), "all rows of X are equal"),
    "spread too large": (clean() * [1, 1e200, 1, 1], "'x1'.*Multiply the column"),
    "spread too small": (clean() * [1, 1, 1e-200, 1], "'x2'.*Multiply the column"),
    "named column too large": (
        pd.DataFrame(clean() * [1, 1e200, 1, 1], columns=list("abcd")),
        "'b'.*Multiply the column",
    ),
}

ACCEPTED = {
    "constant column": np.column_stack([clean(), np.full(200, 7.0)]),
    "duplicated column": clean()[:, [0, 1, 2, 3, 0]],
    "collinear columns": np.column_stack([clean(), clean() @ [1.0, -2.0, 3.0, 0.5]]),
    "more columns than rows": clean(20, 60),
    "as many columns as rows": clean(30, 30),
    "four rows": clean(4, 2),
    "one column": clean(200, 1),
    "scales 1e12 apart": clean() * [1e-12, 1.0, 1e12, 1e6],
    "offset 1e9": clean() + 1e9,
    "int8": (clean() * 30).astype(np.int8),
    "uint64": (np.abs(clean()) * 1e18).astype(np.uint64),
    "int64 near overflow": (clean() * 1e17).astype(np.int64) + np.int64(9e18 - 1e18),
    "booleans": clean() > 0,
    "list": clean().tolist(),
    "integer frame": pd.DataFrame((clean() * 100).astype(int), columns=list("abcd")),
    "one value of 1e200": changed(1e200),
    "one value of -1e300": changed(-1e300),
    "one value of 1e-200": changed(1e-200),
    "Fortran order": np.asfortranarray(clean()),
    "read-only": np.frombuffer(clean().tobytes()).reshape(200, 4),
    "every row twice": np.repeat(clean(), 2, axis=0),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_reason(case):
    X, message = REFUSED[case]
    detector = EOSDetector()
    with pytest.raises((ValueError, TypeError), match=message):
        detector.fit(X)
    assert not hasattr(detector, "weights_")


@pytest.mark.filterwarnings("ignore::eosparse.DegenerateDataWarning")
@pytest.mark.parametrize("case", ACCEPTED)
@pytest.mark.parametrize("model", ["auto", "gaussian"])
def test_accepted_with_a_right_answer(case, model):
    X = ACCEPTED[case]
    detector = EOSDetector(model=model).fit(X)
    assert np.isfinite(detector.p_values_).all()
    if model == "gaussian":
        assert np.isfinite(detector.location_).all()
        assert np.isfinite(detector.covariance_).all()
    assert detector.weights_.sum() == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_array_equal(detector.predict(X) == -1, detector.is_outlier_)
    assert detector.is_outlier_.mean() < 0.05
    if case.startswith("one value of") and "1e-200" not in case:
        assert np.flatnonzero(detector.is_outlier_).tolist() == [3]
        without = EOSDetector(model=model).fit(np.delete(X, 3, axis=0))
        np.testing.assert_allclose(detector.covariance_, without.covariance_, rtol=0.05, atol=0.02)
    if case.startswith(("scales", "offset", "Fortran", "read-only", "list")):
        plain = EOSDetector(model=model).fit(clean())
        np.testing.assert_allclose(detector.p_values_, plain.p_values_, rtol=1e-3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(200, -1.0), "[Nn]egative"),
        (np.zeros(200), "[Ss]ample weights|sample_weight sums to"),
        (np.full(200, 1e-3), "sample_weight sums to"),
        (np.ones(7), "shape"),
        (np.full(200, np.nan), "NaN"),
        (np.eye(200)[0] * 9, "all rows of X are equal"),
    ],
)
def test_bad_sample_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        EOSDetector().fit(clean(), sample_weight=weights)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "^alpha=0.0 must be"),
        ({"alpha": -1.0}, "^alpha=-1.0 must be"),
        ({"alpha": "best"}, "^alpha='best' must be.*'auto'"),
        ({"alpha": np.nan}, "^alpha=nan must be"),
        ({"alpha": None}, "^alpha=None must be"),
        ({"alpha": 0.2}, "alpha=0.2 is too small.*larger alpha"),
        ({"efficiency": 1.5}, "^efficiency=1.5 must be"),
        ({"perplexity": 0.5}, "^perplexity=0.5 must be"),
        ({"perplexity": 500.0}, "perplexity.*cannot be reached"),
        ({"alpha": 1.0, "efficiency": 0.9}, "alpha and efficiency"),
        ({"fdr": 0.0}, "^fdr=0.0 must be"),
        ({"fdr": 1.0}, "^fdr=1.0 must be"),
        ({"fdr": None}, "^fdr=None must be"),
        ({"level": 2.0}, "^level=2.0 must be"),
        ({"weight_cut": -0.1}, "^weight_cut=-0.1 must be"),
        ({"contamination": 0.6}, "^contamination=0.6 must be"),
        ({"level": 0.01, "contamination": 0.1}, "level and contamination"),
        ({"model": GaussianModel("round")}, "^covariance='round' must be one of"),
        ({"model": GaussianModel(shrinkage=1.0)}, "^shrinkage=1.0 must be"),
        ({"model": GaussianModel(shrinkage="some")}, "^shrinkage='some' must be"),
        ({"model": GaussianModel(shrinkage=None)}, "^shrinkage=None must be"),
        ({"model": GaussianModel(shrinkage=False)}, "^shrinkage=False must be"),
        ({"model": GaussianModel("diag", shrinkage=0.5)}, "applies to covariance='full' only"),
        ({"start": "lucky"}, "start"),
        ({"start": np.ones(3)}, "start"),
        ({"start": np.full(200, -1.0)}, "start"),
        ({"start": np.zeros(200)}, "start"),
        ({"tol": -1.0}, "^tol=-1.0 must be"),
        ({"max_iter": 0}, "^max_iter=0 must be"),
        ({"max_iter": 10.5}, "^max_iter=10.5 must be a whole number"),
        ({"callback": 3}, "^callback=3 must be callable"),
        ({"alpha": True}, "^alpha=True must be"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        EOSDetector(**parameters).fit(clean())


def test_wrong_columns_at_predict_are_named():
    frame = pd.DataFrame(clean(), columns=list("abcd"))
    detector = EOSDetector().fit(frame)
    with pytest.raises(ValueError, match="feature names"):
        detector.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="3 features"):
        EOSDetector().fit(clean()).p_values(clean()[:, :3])
