"""find_label_issues as people call it: frames, groups, given probabilities, learners."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_moons
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from eosparse import EOSClassifier, EOSRegressor, find_label_issues
from eosparse.fitting.binning import bin_columns


def two_classes(n=300, flipped=0.1, gap=6.0, seed=0):
    """Two Gaussian classes; returns rows, given labels, true labels."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, 3))
    X[:, 0] += gap * truth
    given = truth.copy()
    rows = rng.choice(n, round(flipped * n), replace=False)
    given[rows] = 1 - given[rows]
    return X, given, truth


def flagged_rows(issues):
    table = issues.table
    return set(np.asarray(table["row"])[np.asarray(table["is_issue"])].tolist())


# --- what X may be


def messy_people(n=300):
    """A frame in which the class follows from a category and a number with gaps."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "site": np.where(truth == 1, "north", "south"),
            "age": 40 + 30 * truth + rng.normal(0, 3, n),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="D"),
            "smokes": rng.random(n) < 0.5,
            "name": [f"person {i}" for i in range(n)],
        },
        index=[f"P{i}" for i in range(n)],
    )
    frame.loc[frame.index[::7], "age"] = np.nan
    frame.loc[frame.index[3::11], "site"] = None
    given = np.where(truth == 1, "sick", "well")
    given[[10, 45, 100]] = np.where(truth[[10, 45, 100]] == 1, "well", "sick")
    return frame, given


@pytest.mark.parametrize("learner", [None, "linear", "boosted"])
def test_frames_with_categories_dates_and_gaps(learner):
    frame, given = messy_people()
    issues = find_label_issues(frame, given, learner)
    assert {10, 45, 100} <= flagged_rows(issues)
    assert len(flagged_rows(issues)) <= 5
    assert set(issues.table.index[:3]) == {"P10", "P45", "P100"}
    assert (issues.table.index == frame.index[issues.table["row"]]).all()
    assert issues.model.predict(frame.iloc[:2]).tolist() == ["well", "sick"]


def test_polars_frames_with_categories():
    frame, given = messy_people()
    issues = find_label_issues(pl.from_pandas(frame.reset_index(drop=True)), given, "linear")
    assert isinstance(issues.table, pl.DataFrame)
    assert {10, 45, 100} <= flagged_rows(issues)


def test_the_index_is_that_of_the_labels_if_the_rows_have_none():
    X, given, _ = two_classes()
    labels = pd.Series(given, index=np.arange(300) + 1000)
    table = find_label_issues(X, labels, "linear").table
    assert (table.index == table["row"] + 1000).all()


def test_sparse_rows_have_a_default_learner():
    X, given, truth = two_classes()
    issues = find_label_issues(csr_matrix(X), given)
    assert issues.learner == "linear"
    flagged = flagged_rows(issues)
    assert np.mean([given[row] != truth[row] for row in flagged]) > 0.9
    assert len(flagged) > 20
    with pytest.raises(ValueError, match="takes no sparse matrices"):
        find_label_issues(csr_matrix(X), given, "boosted")


@pytest.mark.parametrize("as_rows", [np.asarray, csr_matrix])
def test_rows_of_one_group_are_judged_by_others_only(as_rows):
    """A group has one label and a column of its own, by which its members confirm each other."""
    rng, groups = np.random.default_rng(0), np.arange(240) // 6
    truth = rng.integers(0, 2, 40)[groups]
    X = np.column_stack([5 * truth + rng.normal(size=240), 9.0 * (groups[:, None] == range(40))])
    given = np.where(groups % 10 == 3, 1 - truth, truth)
    wrong = set(np.flatnonzero(given != truth).tolist())  # 24 rows
    learner = LogisticRegression(C=10)
    together = find_label_issues(as_rows(X), given, learner, groups=groups)
    assert len(wrong & flagged_rows(together)) >= 16
    apart = find_label_issues(as_rows(X), given, learner)
    assert not wrong & flagged_rows(apart)
    with pytest.raises(ValueError, match="groups contains NaN or None, first in row 2"):
        find_label_issues(X, given, groups=[1, 1, None, *range(237)])


# --- given probabilities


def test_given_probabilities_need_no_learner():
    X, given, truth = two_classes()
    names = np.array(["healthy", "sick"])
    probabilities = cross_val_predict(LogisticRegression(), X, given, cv=5, method="predict_proba")
    issues = find_label_issues(None, names[given], pred_probs=probabilities)
    assert issues.model is None
    assert issues.learner == "pred_probs"
    assert not issues.is_regression
    assert list(issues.noise_rates) == ["healthy", "sick"]
    flagged = sorted(flagged_rows(issues))
    assert (given != truth)[flagged].mean() > 0.9
    assert len(flagged) > 15
    own = probabilities[np.arange(300), given]
    assert (np.diff(own[issues.table["row"]]) >= 0).all()
    weights = np.asarray(issues.table["weight"])
    assert weights.mean() == pytest.approx(1.0)
    assert weights[-1] > weights[0]
    some = find_label_issues(X, given, pred_probs=probabilities, sample_weight=np.arange(300) >= 10)
    assert set(some.table["row"]) == set(range(10, 300))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pred_probs": np.full((300, 3), 1 / 3)}, r"3 columns, but y has 2 classes: 0, 1\."),
        ({"pred_probs": np.full((300, 2), 0.7)}, r"row 0 holds \[0.7, 0.7\]"),
        ({"pred_probs": np.full((300, 2), np.nan)}, "NaN"),
        ({"pred_probs": np.full((200, 2), 0.5)}, "inconsistent"),
        ({"task": "regression"}, "do not pass task='regression'"),
        ({"estimator": LogisticRegression()}, "do not pass an estimator"),
        ({"n_neighbors": -1}, "n_neighbors=-1"),
    ],
)
def test_bad_probabilities_are_named(change, message):
    _, given, _ = two_classes()
    arguments = {"pred_probs": np.full((300, 2), 0.5)} | change
    with pytest.raises(ValueError, match=message):
        find_label_issues(None, given, **arguments)


# --- learners


def test_the_learner_follows_the_labels():
    X = np.random.default_rng(0).normal(size=(400, 2))
    assert find_label_issues(X, X[:, 0] > 0).learner == "linear"
    assert find_label_issues(X, X[:, 0] * X[:, 1] > 0).learner == "boosted"
    assert find_label_issues(X, X[:, 0] + 0.1 * X[:, 1]).learner == "linear"
    assert find_label_issues(X, np.abs(X[:, 0]), task="regression").learner == "boosted"
    with pytest.raises(ValueError, match="estimator='forest'"):
        find_label_issues(X, X[:, 0] > 0, "forest")


def test_no_suggestion_is_outside_of_the_range_of_the_target():
    rng = np.random.default_rng(0)
    size = rng.uniform(0, 10, 400)
    price = np.maximum(20 * (size - 5), 1.0) + rng.uniform(0, 1, 400)
    price[:4] = -5000.0  # a mistake does not widen the range
    for learner in ("linear", "boosted"):
        issues = find_label_issues(size[:, None], price, learner)
        suggested = issues.table["suggested"]
        assert suggested.min() >= price[4:].min()
        assert suggested.max() <= price.max()
        assert set(range(4)) <= flagged_rows(issues)


@pytest.mark.parametrize("learner", ["linear", "boosted"])
def test_targets_of_rows_with_gaps(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.3 * rng.normal(size=200)
    y[:4] += 20.0
    X[50::20, 1] = np.nan
    issues = find_label_issues(X, y, learner).table
    assert set(range(4)) <= set(issues["row"][issues["is_issue"]])


def test_the_model_is_fitted_when_it_is_asked_for():
    X, given, truth = two_classes()
    issues = find_label_issues(X, given, LogisticRegression())
    again = pickle.loads(pickle.dumps(issues))
    assert issues.model.n_fits_ == 6  # two folds, three folds of weighted rows, and all rows
    assert issues.model.score(X, truth) > 0.95
    assert issues.model is issues.model
    np.testing.assert_array_equal(again.model.predict(X), issues.model.predict(X))


def test_neighbours_help_a_learner_that_is_too_simple():
    X, truth = make_moons(400, noise=0.15, random_state=0)
    given = np.where(np.random.default_rng(0).random(400) < 0.1, 1 - truth, truth)
    wrong = given != truth

    def count_found(n_neighbors):
        table = find_label_issues(X, given, LogisticRegression(), n_neighbors=n_neighbors).table
        return int(wrong[table["row"][: wrong.sum()]].sum())

    assert count_found(10) >= count_found(0) + 5


# --- the promise


def test_the_rate_is_promised_where_classes_are_apart():
    X, given, truth = two_classes(n=600)
    issues = find_label_issues(X, given, LogisticRegression())
    assert issues.promise
    assert str(issues.promise).startswith("yes: the classes overlap little enough")
    assert (given == truth)[sorted(flagged_rows(issues))].mean() <= 0.1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (two_classes(n=600, gap=1.5), "the classes overlap"),
        (two_classes(n=600, flipped=0.4), "[34].% of the labels are contradicted"),
        (two_classes(n=30, gap=3.0), "so few rows"),
    ],
)
def test_no_rate_is_promised_where_mistakes_cannot_be_told(data, reason):
    X, given, _ = data
    promise = find_label_issues(X, given, LogisticRegression()).promise
    assert not promise
    assert re.search(reason, promise.reason)


def test_no_rate_is_promised_to_a_learner_that_does_not_fit():
    """A line through a ring contradicts labels everywhere alike, as mistakes would."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    X[:, 0] += 6 * (np.arange(800) % 2)
    y = (np.arange(800) % 2).astype(int)
    hidden = (np.abs(X[:, 1]) > 1.5).astype(int)
    y = np.where(hidden == 1, 1 - y, y)
    assert not find_label_issues(X, y, LogisticRegression(), n_neighbors=0).promise
    found = find_label_issues(X, y, n_neighbors=0)
    assert found.learner == "boosted"
    assert found.n_issues <= 8


def test_a_regression_promises_if_residuals_are_gaussian():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=600)
    y[:20] += 15
    issues = find_label_issues(X, y)
    assert issues.promise
    assert set(range(20)) <= flagged_rows(issues)
    skewed = X @ [1.0, 2.0] + np.where(np.arange(600) % 12 == 0, 4.5, 0.0) + rng.normal(size=600)
    near = find_label_issues(X, skewed, "linear")
    assert near.n_issues > 25
    assert not near.promise
    few = X @ [1.0, 2.0] + rng.normal(size=600)
    few[:2] = X[:2] @ [1.0, 2.0] + 5.0  # no gross errors: they may be rare
    issues = find_label_issues(X, few, "linear")
    assert issues.n_issues == 2
    assert issues.promise.reason == (
        "2 of the flagged rows lie just beyond the others, and may be a tail"
    )
    heavy = X @ [1.0, 2.0] + rng.standard_t(1.5, 600)
    promise = find_label_issues(X, heavy, "linear").promise
    assert not promise
    assert promise.reason.startswith("the residuals are not Gaussian")


# --- labels that are refused, or rare


@pytest.mark.parametrize("call", [find_label_issues, EOSClassifier().fit, EOSRegressor().fit])
def test_several_columns_of_labels_are_refused(call):
    X, given, truth = two_classes(n=60)
    with pytest.raises(ValueError, match=r"shape \(60, 2\).*2 columns.*one column"):
        call(X, np.column_stack([given, truth]))


@pytest.mark.parametrize("learner", [None, "boosted"])
def test_rare_classes_are_believed_or_judged(learner):
    X, given, _ = two_classes()
    labels = given.astype(str)
    labels[0] = "once"
    labels[[1, 2]] = "twice"
    with pytest.warns(UserWarning, match="class 'once' has one member"):
        issues = find_label_issues(X, labels, learner)
    assert 0 not in flagged_rows(issues)
    table = issues.table.set_index("row")
    assert table.loc[0, "probability_wrong"] < 0.1
    assert table.loc[0, "suggested"] == "once"
    assert set(table["suggested"]) <= {"0", "1", "once", "twice"}


# --- boosting


def test_bins_keep_the_order_of_values_and_their_number():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), rng.integers(0, 5, 500), rng.exponential(size=500)])
    X[::9, 2] = np.nan
    boosting = HistGradientBoostingClassifier(max_bins=16)
    binned = bin_columns(boosting, X)
    for column, values in zip(binned.T, X.T, strict=True):
        there = ~np.isnan(values)
        assert len(np.unique(column[there])) <= 16
        order = np.argsort(values[there], kind="stable")
        assert (np.diff(column[there][order]) >= 0).all()
        np.testing.assert_array_equal(np.isnan(column), ~there)
    np.testing.assert_array_equal(binned[:, 1], X[:, 1])
    # Trees on bins split as trees on values.
    y = (X[:, 0] > 0.3).astype(int)
    plain = boosting.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(boosting.fit(binned, y).predict_proba(binned), plain, atol=1e-9)


def test_categories_of_boosting_and_users_losses_see_the_rows_as_they_are():
    X, given, _ = two_classes(n=120)
    declared = HistGradientBoostingClassifier(max_bins=8, categorical_features=[0])
    assert bin_columns(declared, X) is X
    seen = []

    def loss(model, rows, labels):
        seen.append(rows)
        return (model.predict(rows) != labels).astype(float)

    boosting = HistGradientBoostingClassifier(max_bins=8, max_iter=5)
    EOSClassifier(boosting, 1.0, loss=loss, out_of_fold=True).fit(X, given)
    assert all(np.isin(rows, X).all() for rows in seen)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("package", ["xgboost", "lightgbm", "catboost"])
def test_boosting_of_other_packages(package, regression):
    library = pytest.importorskip(package, reason=f"{package} is not installed")
    quiet = {
        "xgboost": {"n_estimators": 20},
        "lightgbm": {"n_estimators": 20, "verbose": -1},
        "catboost": {"iterations": 20, "verbose": False, "allow_writing_files": False},
    }[package]
    kind = "Regressor" if regression else "Classifier"
    prefix = {"xgboost": "XGB", "lightgbm": "LGBM", "catboost": "CatBoost"}[package]
    learner = getattr(library, prefix + kind)(**quiet)
    X, given, truth = two_classes()
    target = 10.0 * given + np.random.default_rng(0).normal(size=300) if regression else given
    issues = find_label_issues(X, target, learner)
    first = issues.table["row"].to_numpy()[:30]  # as many as are wrong
    assert (given != truth)[first].mean() > 0.8
    assert len(issues.model.predict(X)) == 300


def test_boosting_as_a_regressor_uses_bins_too():
    X, given, _ = two_classes(n=150)
    robust = EOSRegressor(HistGradientBoostingRegressor(max_bins=8, max_iter=20), out_of_fold=True)
    predicted = robust.fit(X, 10.0 * given).predict(X)
    assert np.corrcoef(predicted, given)[0, 1] > 0.8
