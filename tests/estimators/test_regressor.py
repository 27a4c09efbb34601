"""EOSRegressor: what it promises to users."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from eosparse import EOSRegressor, Status


def spoilt(n=300, p=0.2, where="y", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X @ [1.0, -2.0, 3.0] + 4.0 + rng.normal(size=n)
    count = round(p * n)
    if where == "y":
        y[:count] += rng.uniform(10, 40, count)
    else:
        X[:count] += rng.uniform(5, 10, (count, 3))
    return X, y, np.arange(n) < count


@pytest.mark.parametrize("where", ["y", "X"])
@pytest.mark.parametrize("p", [0.0, 0.2, 0.4])
def test_coefficients_are_those_of_the_good_rows(where, p):
    X, y, wrong = spoilt(p=p, where=where)
    robust = EOSRegressor().fit(X, y)
    clean = LinearRegression().fit(X[~wrong], y[~wrong])
    np.testing.assert_allclose(robust.estimator_.coef_, clean.coef_, atol=0.3)
    assert robust.scale_ == pytest.approx(1.0, abs=0.25)
    assert robust.status_ is Status.CONVERGED
    if p:
        assert robust.weights_[wrong].sum() < 0.05


@pytest.mark.parametrize("loss", ["squared", "absolute", lambda y, p: np.abs(y - p) ** 1.5])
def test_units_of_the_target_change_no_weight(loss):
    X, y, _ = spoilt()
    one = EOSRegressor(loss=loss).fit(X, y)
    other = EOSRegressor(loss=loss).fit(X, 1000 * y)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-6, atol=1e-15)


def test_the_answer_is_welsch_regression_at_its_own_scale():
    """With the scale held at the one found, a direct minimiser agrees."""
    X, y, _ = spoilt(p=0.1)
    robust = EOSRegressor(alpha=1.5, tol=1e-14, max_iter=500).fit(X, y)
    s = robust.scale_**2 * (1 - 1 / 2.5)
    design = np.column_stack([X, np.ones(len(y))])

    def welsch(b):
        return -np.exp(-np.square(y - design @ b) / (2 * 2.5 * s)).sum()

    start = np.append(robust.estimator_.coef_, robust.estimator_.intercept_) + 0.05
    direct = minimize(welsch, start, method="BFGS", options={"gtol": 1e-10}).x
    np.testing.assert_allclose(direct[:3], robust.estimator_.coef_, atol=1e-4)


def test_alpha_is_in_units_of_the_loss_at_the_scale():
    """As in a classifier, w ∝ exp(-g/α), where g is minus a log-likelihood."""
    X, y, _ = spoilt(p=0.1)
    robust = EOSRegressor(alpha=1.5).fit(X, y)
    losses = np.square((y - robust.predictions_) / robust.scale_) / 2
    weights = np.exp(-losses / robust.alpha_)
    np.testing.assert_allclose(robust.weights_, weights / weights.sum(), rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("learner", [LinearRegression(), DecisionTreeRegressor(random_state=0)])
def test_an_infinite_alpha_is_the_plain_regressor(loss, learner):
    X, y, _ = spoilt()
    robust = EOSRegressor(learner, np.inf, loss=loss).fit(X, y)
    np.testing.assert_allclose(robust.weights_, 1 / 300)
    np.testing.assert_allclose(robust.predict(X), learner.fit(X, y).predict(X))
    assert robust.status_ is Status.CONVERGED


def test_fits_are_counted():
    X, y, _ = spoilt()
    assert EOSRegressor(start="plain").fit(X, y).n_fits_ <= 9
    tree = EOSRegressor(DecisionTreeRegressor(random_state=0), start="plain").fit(X, y)
    assert tree.n_fits_ == 1 + 2 * 5 + 1  # in sample, two passes of five folds, the last one


def test_prior_weights_count_rows():
    X, y, _ = spoilt(n=120)
    copies = np.random.default_rng(1).integers(0, 3, 120)
    weighted = EOSRegressor(tol=1e-12, max_iter=200).fit(X, y, sample_weight=copies)
    repeated = EOSRegressor(tol=1e-12, max_iter=200).fit(
        np.repeat(X, copies, axis=0), np.repeat(y, copies)
    )
    np.testing.assert_allclose(weighted.estimator_.coef_, repeated.estimator_.coef_, atol=1e-5)


def test_rows_explained_exactly_are_an_answer():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = X @ [2.0, 1.0]
    y[:10] += 5.0
    robust = EOSRegressor().fit(X, y)
    np.testing.assert_allclose(robust.estimator_.coef_, [2.0, 1.0], atol=1e-6)
    assert robust.weights_[:10].sum() < 1e-6


def test_a_learner_that_memorises_is_judged_out_of_fold():
    X, y, wrong = spoilt(n=400)
    robust = EOSRegressor(DecisionTreeRegressor(random_state=0)).fit(X, y)
    assert robust.is_out_of_fold_
    assert robust.weights_[wrong].mean() < 0.5 * robust.weights_[~wrong].mean()


def test_pipelines_and_searches():
    X, y, wrong = spoilt()
    pipeline = make_pipeline(StandardScaler(), Ridge())
    robust = EOSRegressor(pipeline).fit(X, y)
    assert robust.weights_[wrong].sum() < 0.05
    search = GridSearchCV(EOSRegressor(pipeline), {"estimator__ridge__alpha": [0.1, 1.0]}, cv=3)
    assert search.fit(X, y).best_estimator_.score(X[~wrong], y[~wrong]) > 0.8


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (EOSRegressor(KNeighborsRegressor()), "takes no sample_weight"),
        (EOSRegressor(alpha=0), "alpha=0"),
        (EOSRegressor(loss="cubic"), "loss='cubic'"),
        (EOSRegressor(start="random"), "start='random'"),
        (EOSRegressor(n_folds=1), "n_folds=1"),
    ],
)
def test_bad_parameters_are_named(estimator, message):
    X, y, _ = spoilt(n=40)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    ("target", "message"),
    [(np.full(40, np.nan), "NaN"), (np.arange(30.0), "inconsistent"), (None, "y")],
)
def test_bad_targets_are_named(target, message):
    X, _, _ = spoilt(n=40)
    with pytest.raises(ValueError, match=message):
        EOSRegressor().fit(X, target)
