"""Numbers at the edge of floats, and of every type: the right answer, or a refusal by name."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

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

RNG = np.random.default_rng(0)
N = 80
X = RNG.normal(size=(N, 3))
TARGET = X @ [1.0, 2.0, 3.0] + 0.1 * RNG.normal(size=N)
TARGET[3] += 50.0
LABELS = (X[:, 0] > 0).astype(int)

ESTIMATORS = {
    "auto": EOSDetector,
    "gaussian": lambda: EOSDetector(model="gaussian"),
    "local": lambda: EOSDetector(model="local"),
    "subspace": lambda: EOSDetector(model="subspace"),
    "PCA": lambda: EOSPCA(1),
    "KMeans": lambda: EOSKMeans(2),
    "mixture": lambda: EOSGaussianMixture(1),
    "cells": EOSCells,
    "regressor": EOSRegressor,
    "classifier": EOSClassifier,
    "SPA": lambda: SPAClassifier(n_boxes=4),
}
FLAGGING = ["auto", "gaussian", "local", "subspace", "PCA", "KMeans", "mixture"]
TAKING_GAPS = ["auto", "gaussian", "local", "subspace", "PCA", "mixture", "cells"]


def fit(name, values=X, sample_weight=None, target=None, **parameters):
    """Fit quietly; a warning of NumPy is an error."""
    estimator = ESTIMATORS[name]().set_params(**parameters)
    if target is None:
        target = TARGET if name == "regressor" else LABELS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name != "regressor":  # SciPy computes squares of residuals that nobody asks for
            warnings.simplefilter("error", RuntimeWarning)
        return estimator.fit(values, target[: len(values)], sample_weight=sample_weight)


@pytest.mark.parametrize("size", [1e20, 1e40, 1e80, 1e150, 1e300])
@pytest.mark.parametrize("name", FLAGGING)
def test_one_enormous_row_is_flagged_and_alone(name, size):
    rows = X + 9.0 * (np.arange(N) % 2)[:, None] if name in ("mixture", "KMeans") else X
    spoilt = rows.copy()
    spoilt[5] = [0.0, size, 0.0] if name != "mixture" else size
    two = {"n_components": 2} if name == "mixture" else {}
    found, near = fit(name, spoilt, **two), fit(name, np.delete(rows, 5, axis=0), **two)
    assert found.is_outlier_[5]
    assert found.weights_[5] == 0.0
    assert found.weights_.sum() == pytest.approx(1.0)
    assert np.isfinite(found.score_samples(spoilt)).all()
    others = np.delete(found.is_outlier_, 5)
    assert np.count_nonzero(others != near.is_outlier_) <= 2


@pytest.mark.parametrize("size", [1e8, 1e77, 1e80, 1e100, 1e150, 1e200, 1e308])
def test_four_rows(size):
    found = EOSDetector().fit([[1.0], [2.0], [3.0], [size]])
    assert found.is_outlier_.tolist() == [False, False, False, True]
    assert np.isfinite(found.p_values_).all()


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1e-100, 1e-40, 1e40, 1e100, 1e200, 1e305])
@pytest.mark.parametrize("name", [*FLAGGING, "cells", "classifier", "SPA"])
def test_another_unit_changes_nothing_or_is_refused(name, unit):
    spoilt = X.copy()
    spoilt[5, 1] = 60.0
    try:
        found = fit(name, spoilt * unit)
    except ValueError as error:
        assert "square" in str(error)  # noqa: PT017  # refused by name
        assert not 1e-41 < unit < 1e41
        return
    as_usual = fit(name, spoilt)
    if hasattr(found, "is_outlier_"):
        assert found.is_outlier_.tolist() == as_usual.is_outlier_.tolist()
    if hasattr(found, "weights_"):
        np.testing.assert_allclose(found.weights_, as_usual.weights_, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-160, 1e160, 1e200, 1e300])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_targets_of_another_unit(unit, loss):
    found, as_usual = (fit("regressor", target=TARGET * u, loss=loss) for u in (unit, 1.0))
    np.testing.assert_allclose(found.weights_, as_usual.weights_, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.estimator_.coef_ / unit, as_usual.estimator_.coef_, rtol=1e-6)
    assert found.scale_ / unit == pytest.approx(as_usual.scale_, rel=1e-6)
    assert found.noise_rate_ == as_usual.noise_rate_


def test_a_column_far_from_zero():
    far = X.copy()
    far[:, 2] = 1e200 + 1e184 * X[:, 2]
    far[5, 1] = 60.0
    assert fit("auto", far).is_outlier_[5]
    for name in ("gaussian", "KMeans", "PCA", "classifier", "SPA"):
        with pytest.raises(ValueError, match="square"):
            fit(name, far)


@pytest.mark.parametrize("name", list(ESTIMATORS))
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(N, 1e300), "sample_weight sums to .* Weights count rows"),
        (np.where(np.arange(N) == 5, 1e300, 1.0), "sample_weight sums to .* Weights count rows"),
        (np.full(N, 1e15), "sample_weight sums to .* Weights count rows"),
        (np.where(np.arange(N) == 5, -1.0, 1.0), "Negative values"),
        (np.zeros(N), "at least one non-zero"),
        (np.full(N, np.nan), "sample_weight contains NaN"),
        (np.full(N, np.inf), "sample_weight contains infinity"),
        (np.full(N, 1j), "Complex data not supported"),
        (np.ma.masked_less(np.arange(1.0 * N), 1), "sample_weight is masked in 1 row, first in"),
    ],
)
def test_weights_that_count_no_rows_are_refused(name, weights, message):
    with pytest.raises(ValueError, match=message):
        fit(name, sample_weight=weights)


TYPES = {
    "half precision": lambda: X.astype(np.float16),
    "extended precision": lambda: X.astype(np.longdouble),
    "decimals": lambda: np.array([[Decimal(repr(v)) for v in row] for row in X.tolist()]),
    "fractions": lambda: np.array([[Fraction(v) for v in row] for row in X.tolist()]),
    "a mask without effect": lambda: np.ma.masked_greater(X, 1e9),
}


@pytest.mark.parametrize("kind", list(TYPES))
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_types_of_numbers(name, kind):
    found, as_usual = fit(name, TYPES[kind]()), fit(name)
    digits = 0.02 if kind == "half precision" else 1e-9
    for attribute in ("weights_", "cell_weights_"):
        if hasattr(found, attribute):
            given = getattr(found, attribute), getattr(as_usual, attribute)
            np.testing.assert_allclose(*given, atol=digits)


@pytest.mark.parametrize("name", list(ESTIMATORS))
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (X + 1j, "Complex data not supported"),
        (np.where(X.max() == X, 10**400, X.astype(object)), "too large for a float"),
        (np.abs(X * 100).astype(np.uint64) + np.uint64(2**63), "tell apart only in steps of 2048"),
    ],
)
def test_numbers_that_are_no_floats_are_refused(name, values, message):
    with pytest.raises(ValueError, match=message):
        fit(name, values)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_masks_are_gaps(name):
    spoilt = X.copy()
    spoilt[7, 1] = 1e9
    masked = np.ma.masked_greater(spoilt, 1e8)
    if name not in TAKING_GAPS:
        with pytest.raises(ValueError, match="contains NaN"):
            fit(name, masked)
        return
    found, as_gaps = fit(name, masked), fit(name, masked.filled(np.nan))
    for attribute in ("weights_", "cell_weights_"):
        if hasattr(found, attribute):
            np.testing.assert_array_equal(getattr(found, attribute), getattr(as_gaps, attribute))
    if hasattr(found, "score_samples"):
        new = found.score_samples(masked)
        np.testing.assert_array_equal(new, found.score_samples(masked.filled(np.nan)))
        assert np.isfinite(new).all()


@pytest.mark.parametrize("name", ["regressor", "classifier", "SPA"])
def test_masked_targets_are_named(name):
    with pytest.raises(ValueError, match="y is masked in 2 rows, first in row 0"):
        fit(name, target=np.ma.masked_array(LABELS, mask=np.arange(N) < 2))


NUMBERS = [np.float32(1.5), np.float16(1.5), np.longdouble(1.5), Fraction(3, 2)]


@pytest.mark.parametrize("alpha", NUMBERS, ids=lambda number: type(number).__name__)
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_types_of_alpha(name, alpha):
    found, as_usual = fit(name, alpha=alpha), fit(name, alpha=1.5)
    assert type(found.alpha_) is type(as_usual.alpha_) is float
    assert found.objective_history_.tolist() == as_usual.objective_history_.tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("fdr", kind(0.25)) for kind in (np.float32, np.longdouble, Fraction)],
        *[("level", kind(0.25)) for kind in (np.float32, np.longdouble, Fraction)],
        *[("efficiency", kind(0.75)) for kind in (np.float32, np.longdouble, Fraction)],
        ("contamination", Fraction(1, 4)),
        ("weight_cut", np.longdouble(0.25)),
        ("tol", Fraction(1, 2**30)),
        ("max_iter", np.int8(100)),
    ],
)
def test_types_of_other_parameters(name, value):
    plain = int(value) if name == "max_iter" else float(value)
    found, as_usual = (fit("gaussian", **{name: given}) for given in (value, plain))
    np.testing.assert_array_equal(found.p_values_, as_usual.p_values_)
    np.testing.assert_array_equal(found.is_outlier_, as_usual.is_outlier_)


@pytest.mark.parametrize("value", [np.nan, -1.0, 0.0, True, 1j, "x", [1.0], Decimal(1), 10**400])
@pytest.mark.parametrize("name", ["gaussian", "KMeans", "cells", "regressor", "SPA"])
def test_what_alpha_is_not(name, value):
    with pytest.raises(ValueError, match=r"alpha=.* must be a number in \(0, inf\]") as caught:
        fit(name, alpha=value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["gaussian", "PCA", "KMeans", "mixture", "cells"])
@pytest.mark.parametrize("alpha", [1e12, 1e20, 1e300])
def test_an_alpha_that_tells_no_rows_apart_is_refused(name, alpha):
    with pytest.raises(ValueError, match=r"same weight, up to rounding. Pass alpha=float\('inf'\)"):
        fit(name, alpha=alpha)


@pytest.mark.parametrize("alpha", [1e2, 1e3, 1e4, 1e5])
def test_a_large_alpha_ends_at_the_optimum(alpha):
    found, plain = (fit("gaussian", alpha=a) for a in (alpha, np.inf))
    np.testing.assert_allclose(found.location_, plain.location_, atol=5.0 / alpha)


@pytest.mark.parametrize("alpha", [1e8, 1e12, 1e300])
@pytest.mark.parametrize("name", ["regressor", "classifier", "SPA"])
def test_learners_tend_to_ordinary_learning(name, alpha):
    found, plain = fit(name, alpha=alpha), fit(name, alpha=np.inf)
    np.testing.assert_allclose(found.weights_, plain.weights_, rtol=1e-6)


@pytest.mark.parametrize("is_fitted", [True, False], ids=["as before", "unfitted"])
@pytest.mark.parametrize(
    "spoil",
    [
        {"values": np.where(X.max() == X, np.inf, X)},
        {"sample_weight": np.full(N, 1e300)},
        {"values": np.ones((N, 3))},
        {"values": np.ones((2, 5))},
        {"values": X * 1e250},
    ],
    ids=["infinity", "weights", "equal rows", "two rows", "huge"],
)
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_a_failed_fit_leaves_no_trace(name, spoil, is_fitted):
    estimator = fit(name) if is_fitted else ESTIMATORS[name]()
    before, target = dict(estimator.__dict__), TARGET if name == "regressor" else LABELS
    values, weights = spoil.get("values", X), spoil.get("sample_weight")
    failed = False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            estimator.fit(values, target[: len(values)], sample_weight=weights)
        except ValueError:
            failed = True
    if not failed:  # equal rows are no obstacle to a classifier
        pytest.skip("this estimator takes such rows")
    assert estimator.__dict__.keys() == before.keys()
    assert all(estimator.__dict__[key] is value for key, value in before.items())
    if not is_fitted:
        with pytest.raises(NotFittedError):
            (estimator.predict if hasattr(estimator, "predict") else estimator.transform)(X)
