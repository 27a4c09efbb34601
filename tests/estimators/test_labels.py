"""SPAClassifier, EOSClassifier and find_label_issues: what they promise to users."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from eosparse import (
    EOSClassifier,
    LostClassWarning,
    SPAClassifier,
    Status,
    find_label_issues,
)
from eosparse.fitting.targets import is_regression_target


def two_classes(n=300, d=4, flipped=0.2, gap=2.5, seed=0):
    """Two Gaussian classes; returns rows, given labels, true labels."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, d))
    X[:, 0] += gap * truth
    X[:, 1] -= gap * truth
    given = truth.copy()
    rows = rng.choice(n, round(flipped * n), replace=False)
    given[rows] = 1 - given[rows]
    return X, given, truth


# --- SPA


@pytest.mark.parametrize("affiliation", ["soft", "hard"])
@pytest.mark.parametrize("alpha", [np.inf, "auto", 1.0])
def test_spa_learns_through_wrong_labels(affiliation, alpha):
    X, given, truth = two_classes(gap=3.5)
    spa = SPAClassifier(affiliation=affiliation, alpha=alpha).fit(X, given)
    assert spa.score(X, truth) > 0.9
    assert (np.diff(spa.objective_history_) <= 1e-12).all()
    assert (np.diff(spa.box_objective_history_) <= 1e-12).all()
    assert spa.weights_.sum() == pytest.approx(1.0)
    wrong = given != truth
    if alpha == np.inf:
        np.testing.assert_allclose(spa.weights_, 1 / 300)
        assert spa.alpha_ == np.inf
    else:
        assert spa.weights_[wrong].mean() < 0.85 * spa.weights_[~wrong].mean()
    if alpha == "auto":
        # Three standard errors: it is read from half of the 300 rows.
        assert spa.noise_rate_ == pytest.approx(0.2, abs=0.09)


def test_each_class_keeps_its_share_of_the_weight():
    X, given, _ = two_classes(flipped=0.3)
    spa = SPAClassifier(alpha=0.2).fit(X, given)
    for label in (0, 1):
        mine = given == label
        assert spa.weights_[mine].sum() == pytest.approx(mine.mean())


def test_boxes_are_reported_in_the_users_units():
    X, given, _ = two_classes()
    spa = SPAClassifier(6, epsilon_features=None, units="equal").fit(1000 * X + 50, given)
    assert spa.box_centers_.shape == (6, 4)
    assert np.abs(spa.box_centers_).max() > 1000
    assert spa.box_labels_.shape == (6, 2)
    np.testing.assert_allclose(spa.box_labels_.sum(axis=1), 1.0)
    same = SPAClassifier(6, epsilon_features=None, units="equal").fit(X, given)
    np.testing.assert_allclose(same.weights_, spa.weights_, rtol=1e-6)


def test_learned_feature_weights_prefer_what_boxes_explain():
    X, given, _ = two_classes(d=10, flipped=0.0, gap=6.0)
    plain = SPAClassifier(2, alpha=np.inf, epsilon_features=None).fit(X, given)
    np.testing.assert_allclose(plain.feature_weights_, 0.1)
    sparse = SPAClassifier(2, alpha=np.inf, epsilon_label=1.0, epsilon_features=0.2).fit(X, given)
    assert sparse.feature_weights_.sum() == pytest.approx(1.0)
    assert set(np.argsort(-sparse.feature_weights_)[:2]) == {0, 1}


def test_more_columns_than_rows_are_the_same_problem_in_fewer_coordinates():
    rng = np.random.default_rng(0)
    X, given, truth = two_classes(n=60, d=4, gap=4.0)
    wide = np.hstack([X, 0.1 * rng.normal(size=(60, 400))])
    wide[:, :100] += 3.0 * truth[:, None]
    spa = SPAClassifier(random_state=0).fit(wide, given)
    assert spa.score(wide, truth) > 0.9
    assert spa.feature_weights_.shape == (404,)
    settings = {"temperature": 1.0, "alpha": 1.0, "units": "equal"}
    learned = SPAClassifier(4, epsilon_features=1e6, **settings).fit(wide, given)
    equal = SPAClassifier(4, **settings).fit(wide, given)
    np.testing.assert_allclose(equal.predict_proba(wide), learned.predict_proba(wide), atol=1e-4)


def test_spa_with_three_classes_frames_and_strings():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    spa = SPAClassifier().fit(frame, names)
    assert spa.score(frame, names) > 0.9
    assert spa.predict_proba(frame).shape == (150, 3)
    assert list(spa.feature_names_in_) == list(frame.columns)
    polars = SPAClassifier().fit(pl.from_pandas(frame), names)
    np.testing.assert_allclose(polars.weights_, spa.weights_, rtol=1e-12)
    restored = pickle.loads(pickle.dumps(spa))
    np.testing.assert_array_equal(restored.predict_proba(frame), spa.predict_proba(frame))


def test_random_starts_never_worsen_the_boxes():
    X, given, _ = two_classes()
    settings = {"temperature": 1.0, "epsilon_features": None, "units": "equal"}
    one = SPAClassifier(12, **settings).fit(X, given)
    more = SPAClassifier(12, **settings, n_init=5, random_state=3).fit(X, given)
    assert more.box_objective_history_[-1] <= one.box_objective_history_[-1] + 1e-12
    again = SPAClassifier(12, **settings, n_init=5, random_state=3).fit(X, given)
    np.testing.assert_array_equal(more.weights_, again.weights_)


# --- EOSClassifier

LEARNERS = {
    "default": None,
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(30, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LinearSVC()),
    "ridge": RidgeClassifier(),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_doubtful_rows_lose_weight_around_any_learner(name):
    X, given, truth = two_classes()
    robust = EOSClassifier(LEARNERS[name]).fit(X, given)
    wrong = given != truth
    assert robust.weights_[wrong].mean() < 0.8 * robust.weights_[~wrong].mean()
    # A forest of scikit-learn < 1.9 draws its rows regardless of their weights, and learns 0.8.
    assert robust.score(X, truth) >= 0.8
    assert robust.noise_rate_ == pytest.approx(0.2, abs=0.08)
    assert robust.is_out_of_fold_
    assert (np.diff(robust.objective_history_) <= 1e-9).all()
    assert robust.errors_.shape == robust.weights_.shape == (300,)


def test_weights_that_do_not_help_held_out_rows_are_not_used():
    """Where the first weighted pass is not kept, the model is the plain one."""
    X, y = load_breast_cancer(return_X_y=True)
    robust = EOSClassifier(GaussianNB()).fit(X, y)
    assert robust.alpha_ == np.inf
    plain = GaussianNB().fit(X, y)
    np.testing.assert_allclose(robust.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_clean_labels_leave_the_plain_model():
    X, _, truth = two_classes(flipped=0.0, gap=5.0)
    robust = EOSClassifier(LogisticRegression()).fit(X, truth)
    plain = LogisticRegression().fit(X, truth)
    assert robust.alpha_ > 3
    np.testing.assert_allclose(robust.predict_proba(X), plain.predict_proba(X), atol=0.05)


def test_a_given_alpha_needs_few_fits_and_no_folds():
    X, given, _ = two_classes()
    robust = EOSClassifier(LogisticRegression(), 1.0).fit(X, given)
    assert not robust.is_out_of_fold_
    assert robust.status_ is Status.CONVERGED
    assert robust.n_fits_ <= 10
    # The fixed point of the alternation: the weights are those of the errors at the last fit.
    own = robust.predict_proba(X)[np.arange(300), given]
    np.testing.assert_allclose(robust.errors_, -np.log(np.maximum(own, 1e-3)))


def test_a_learner_that_memorises_is_judged_out_of_fold():
    X, given, truth = two_classes()
    tree = DecisionTreeClassifier(random_state=0)
    robust = EOSClassifier(tree, 1.0).fit(X, given)
    assert robust.is_out_of_fold_
    wrong = given != truth
    assert robust.weights_[wrong].mean() < 0.7 * robust.weights_[~wrong].mean()
    blind = EOSClassifier(tree, 1.0, out_of_fold=False, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        blind.fit(X, given)
    np.testing.assert_allclose(blind.weights_, 1 / 300)


def test_one_simplex_may_lose_a_class_and_warns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (np.arange(400) < 40).astype(int)
    X[:40, 0] += 0.5
    model = LogisticRegression(C=0.01)
    with pytest.warns(LostClassWarning, match="class 1 keeps"):
        EOSClassifier(model, 0.2, simplex="single", max_iter=50).fit(X, y)
    kept = EOSClassifier(model, 0.2, max_iter=50).fit(X, y)
    assert kept.weights_[y == 1].sum() == pytest.approx(0.1)


def test_losses():
    X, given, truth = two_classes()
    margin = EOSClassifier(LogisticRegression(), 1.0, loss="margin").fit(X, given)
    log = EOSClassifier(LogisticRegression(), 1.0, loss="log").fit(X, given)
    # The logistic loss of the margin is minus the log-probability.
    np.testing.assert_allclose(margin.weights_, log.weights_, rtol=1e-6)

    def zero_one(model, X, y):
        return (model.predict(X) != y).astype(float)

    hard = EOSClassifier(LogisticRegression(), 0.5, loss=zero_one).fit(X, given)
    assert len(np.unique(hard.weights_.round(12))) <= 4
    assert hard.score(X, truth) > 0.9
    with pytest.raises(ValueError, match="loss='log' needs predict_proba"):
        EOSClassifier(LinearSVC(), loss="log").fit(X, given)


def test_frames_with_categories_reach_the_pipeline_untouched():
    X, given, truth = two_classes()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["site"] = np.where(np.arange(300) % 3, "north", "south")
    columns = make_column_transformer((OneHotEncoder(), ["site"]), remainder=StandardScaler())
    pipeline = make_pipeline(columns, LogisticRegression())
    robust = EOSClassifier(pipeline).fit(frame, given)
    assert robust.score(frame, truth) > 0.9
    assert list(robust.feature_names_in_) == ["a", "b", "c", "d", "site"]
    with pytest.raises(ValueError, match="feature names"):
        robust.predict(frame[["site", "a", "b", "c", "d"]])


def test_it_nests_in_searches_both_ways():
    X, given, truth = two_classes(n=120)
    outer = GridSearchCV(EOSClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}, cv=3)
    assert outer.fit(X, given).score(X, truth) > 0.9
    assert clone(outer).get_params()["estimator__estimator__C"] == 1.0
    with config_context(enable_metadata_routing=True):
        routed = EOSClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
        assert routed.fit(X, given).score(X, truth) > 0.9


def test_a_prior_weight_of_k_is_the_row_k_times_for_labels():
    X, given, _ = two_classes(n=120)
    copies = np.random.default_rng(0).integers(0, 3, 120)
    weighted = EOSClassifier().fit(X, given, sample_weight=copies)
    repeated = EOSClassifier().fit(np.repeat(X, copies, axis=0), np.repeat(given, copies))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    assert np.isnan(weighted.errors_[copies == 0]).all()
    assert (weighted.weights_[copies == 0] == 0).all()


# --- the audit


@pytest.mark.parametrize("as_frame", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_the_audit_names_the_flipped_rows(as_frame):
    X, given, truth = two_classes(n=400, flipped=0.1, gap=4.0)
    issues = find_label_issues(as_frame(X), given, fdr=0.1)
    table = issues.table
    assert isinstance(table, pl.DataFrame if as_frame is pl.DataFrame else pd.DataFrame)
    assert list(table.columns) == [
        "row", "given", "suggested", "weight", "probability_wrong", "is_issue",
    ]  # fmt: skip
    rows, flagged = np.asarray(table["row"]), np.asarray(table["is_issue"])
    assert sorted(rows) == list(range(400))
    assert (np.diff(np.asarray(table["probability_wrong"])) <= 0).all()
    assert (np.diff(flagged.astype(int)) <= 0).all()
    wrong = given != truth
    assert wrong[rows[flagged]].mean() >= 0.85
    assert flagged.sum() > 0.6 * wrong.sum()
    assert (np.asarray(table["suggested"])[flagged] == truth[rows[flagged]]).mean() > 0.85
    assert issues.noise_rates == pytest.approx({0: 0.1, 1: 0.1}, abs=0.06)
    assert issues.n_issues == flagged.sum()
    assert np.asarray(table["weight"]).mean() == pytest.approx(1.0)


def test_the_audit_of_a_regression_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.5 * rng.normal(size=300)
    y[:15] += 8.0
    issues = find_label_issues(X, y)
    flagged = issues.table[issues.table["is_issue"]]
    assert set(range(15)) <= set(flagged["row"])
    assert len(flagged) <= 18
    np.testing.assert_allclose(flagged["given"] - flagged["suggested"], 8.0, atol=2.0) if len(
        flagged
    ) == 15 else None
    assert issues.noise_rates["all"] == pytest.approx(0.05, abs=0.02)


def test_many_whole_numbers_are_a_regression_target():
    X, y = load_diabetes(return_X_y=True)  # 214 distinct whole numbers
    assert find_label_issues(X, y).is_regression
    assert not find_label_issues(X, y > 100).is_regression


@pytest.mark.parametrize(
    ("labels", "is_regression"),
    [
        (["a", "b"], False),
        ([True, False], False),
        (np.arange(500) % 20, False),
        (np.arange(500) % 21, False),
        (np.arange(400) % 21, True),
        (np.arange(500) % 21 + 0.5, True),
        (np.arange(500) % 20 + 0.5, False),
        (np.linspace(0.0, 1.0, 15), True),
        (pd.Series([1, 2, 3] * 20, dtype="Int64"), False),
        (pd.Series(np.linspace(0.0, 1.0, 60), dtype="Float64"), True),
    ],
)
def test_one_rule_tells_targets_from_classes(labels, is_regression):
    assert is_regression_target(labels) == is_regression


def test_a_few_numbers_with_decimals_need_a_task():
    X, given, _ = two_classes()
    with pytest.raises(ValueError, match=r"only 2 distinct ones\. Pass task='regression'"):
        find_label_issues(X, given + 0.5)
    assert find_label_issues(X, given + 0.5, task="regression").is_regression


def test_clean_labels_raise_few_suspicions():
    X, _, truth = two_classes(n=400, flipped=0.0, gap=4.0)
    assert find_label_issues(X, truth).n_issues <= 4


# --- bad input

ROWS, LABELS, _ = two_classes(n=60)


def _with(position, value):
    labels = LABELS.astype(object)
    labels[position] = value
    return labels


@pytest.mark.parametrize("make", [SPAClassifier, EOSClassifier])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.ones(60), "one class"),
        (np.where(np.arange(60) == 4, np.nan, LABELS), "NaN"),
        (np.linspace(0, 1, 60), "[Uu]nknown label type|continuous"),
        (LABELS[:50], "inconsistent"),
        (None, "y"),
    ],
)
def test_bad_labels_are_named(make, labels, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make().fit(ROWS, labels)


def test_missing_labels_are_named_by_row():
    with pytest.raises(ValueError, match="row 4"):
        EOSClassifier().fit(ROWS, _with(4, None))


def test_a_learner_that_takes_no_weights_is_refused():
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        EOSClassifier(KNeighborsClassifier()).fit(ROWS, LABELS)
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier())
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        EOSClassifier(pipeline).fit(ROWS, LABELS)


def test_a_class_with_one_member_is_kept_and_named():
    labels = np.where(np.arange(60) == 0, 2, LABELS)
    with pytest.warns(UserWarning, match="class 2 has one member"):
        robust = EOSClassifier().fit(ROWS, labels)
    assert robust.weights_[0] == pytest.approx(1 / 60)
    assert robust.predict_proba(ROWS).shape == (60, 3)
    spa = SPAClassifier().fit(ROWS, labels)
    assert spa.weights_[0] == pytest.approx(1 / 60)


def test_all_prior_weight_on_one_class_is_refused():
    for make in (SPAClassifier, EOSClassifier):
        with pytest.raises(ValueError, match="one class only"):
            make().fit(ROWS, LABELS, sample_weight=(LABELS == 1).astype(float))
    with pytest.raises(ValueError, match=r"non-zero|one class only"):
        EOSClassifier().fit(ROWS, LABELS, sample_weight=np.zeros(60))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SPAClassifier(0), "n_boxes=0"),
        (SPAClassifier(alpha=-1.0), "alpha=-1.0"),
        (SPAClassifier(alpha="none"), "alpha='none'"),
        (SPAClassifier(affiliation="fuzzy"), "affiliation='fuzzy'"),
        (SPAClassifier(epsilon_features=0.0), "epsilon_features=0.0"),
        (SPAClassifier(temperature=0.0), "temperature=0.0"),
        (SPAClassifier(n_init=1.5), "n_init=1.5"),
        (EOSClassifier(alpha=0.0), "alpha=0.0"),
        (EOSClassifier(loss="hinge"), "loss='hinge'"),
        (EOSClassifier(simplex="two"), "simplex='two'"),
        (EOSClassifier(out_of_fold="yes"), "out_of_fold='yes'"),
        (EOSClassifier(n_folds=1), "n_folds=1"),
        (EOSClassifier(max_iter=0), "max_iter=0"),
        (EOSClassifier(tol=-1.0), "tol=-1.0"),
    ],
)
def test_bad_parameters_are_named_for_labels(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(ROWS, LABELS)


def test_the_audit_refuses_bad_arguments():
    with pytest.raises(ValueError, match="fdr=0"):
        find_label_issues(ROWS, LABELS, fdr=0)
    with pytest.raises(ValueError, match="task='ranking'"):
        find_label_issues(ROWS, LABELS, task="ranking")


# --- input of many kinds


def test_texts_reach_the_pipeline():
    words = ["good fine nice", "fine good", "bad awful", "awful poor bad", "nice good", "poor bad"]
    texts, labels = words * 10, np.array([1, 1, 0, 0, 1, 0] * 10)
    labels[0] = 0
    robust = EOSClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression())).fit(
        texts, labels
    )
    assert robust.predict(["good nice", "awful"]).tolist() == [1, 0]
    assert robust.weights_[0] < robust.weights_[6]


@pytest.mark.parametrize("make", [SPAClassifier, EOSClassifier])
def test_relative_weights_are_counted_as_rows(make):
    share = np.full(60, 1 / 60)
    one, other = make().fit(ROWS, LABELS), make().fit(ROWS, LABELS, sample_weight=share)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-9)


def test_the_only_member_of_a_class_is_never_held_out():
    labels = np.zeros(60, dtype=int)
    labels[3] = 1
    with pytest.warns(UserWarning, match="class 1 has one member"):
        robust = EOSClassifier().fit(ROWS, labels)
    assert robust.weights_[3] == pytest.approx(1 / 60)


def test_equal_rows_cannot_be_held_out():
    with pytest.raises(ValueError, match="none can be held out"):
        EOSClassifier().fit(np.ones((20, 2)), np.arange(20) % 2)


def test_margin_and_log_loss_differ_where_probabilities_are_not_logistic():
    X, given, _ = two_classes(n=100)
    machine = _Cautious()
    margin = EOSClassifier(machine, 1.0, loss="margin", out_of_fold=False).fit(X, given)
    log = EOSClassifier(machine, 1.0, loss="log", out_of_fold=False).fit(X, given)
    assert np.abs(margin.errors_ - log.errors_).max() > 0.1


class _Cautious(LogisticRegression):
    """Half as sure as it could be."""

    def predict_proba(self, X):
        return 0.5 * super().predict_proba(X) + 0.25


def test_pairwise_decisions_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        EOSClassifier(SVC(decision_function_shape="ovo")).fit(X, y)
    assert EOSClassifier(SVC()).fit(X, y).score(X, y) > 0.9


def test_the_learner_sees_the_users_labels():
    X, given, _ = two_classes()
    names = np.array(["ham", "spam"])[given]
    weighted = LogisticRegression(class_weight={"ham": 1, "spam": 3})
    robust = EOSClassifier(weighted).fit(X, names)
    assert list(robust.estimator_.classes_) == ["ham", "spam"]
    assert set(robust.predict(X)) == {"ham", "spam"}

    def zero_one(model, X, y):
        return (model.predict(X) != y).astype(float)

    assert np.ptp(EOSClassifier(loss=zero_one, alpha=0.5).fit(X, names).weights_) > 1e-4


def test_votes_pass_weights_on():
    X, given, truth = two_classes()
    vote = VotingClassifier(
        [("a", LogisticRegression()), ("b", DecisionTreeClassifier(max_depth=3))]
    )
    assert EOSClassifier(vote).fit(X, given).score(X, truth) > 0.8


def test_constant_columns_get_no_feature_weight():
    X, given, _ = two_classes()
    with_ones = np.column_stack([X, np.ones(300)])
    spa = SPAClassifier(8, alpha=np.inf, epsilon_features=0.2).fit(with_ones, given)
    assert spa.feature_weights_[-1] == 0.0
    assert np.isfinite(spa.box_centers_).all()


@pytest.mark.parametrize("seed", range(4))
def test_flagged_rows_come_first(seed):
    X, given, _ = two_classes(seed=seed)
    flagged = np.asarray(find_label_issues(X, given).table["is_issue"]).astype(int)
    assert (np.diff(flagged) <= 0).all()


def test_labels_in_a_column_and_missing_ones():
    X, given, _ = two_classes(n=100)
    assert len(find_label_issues(X, pd.DataFrame({"y": given})).table) == 100
    strings = pd.Series(np.array(["a", "b"])[given], dtype="string")
    strings[5] = pd.NA
    for make in (SPAClassifier, EOSClassifier):
        with pytest.raises(ValueError, match="row 5"):
            make().fit(X, strings)


def test_only_classifiers_are_wrapped():
    with pytest.raises(ValueError, match="must be a classifier"):
        EOSClassifier(LinearRegression()).fit(ROWS, LABELS)


def test_classes_without_weight_do_not_exist():
    labels = np.where(np.arange(60) < 3, 2, LABELS)
    weights = np.where(labels == 2, 0.0, 1.0)
    for make in (SPAClassifier, EOSClassifier):
        assert make().fit(ROWS, labels, sample_weight=weights).classes_.tolist() == [0, 1]


def test_labels_unknown_to_the_model_count_as_missed():
    X, given, _ = two_classes(n=100)
    for model in (SPAClassifier().fit(X, given), EOSClassifier().fit(X, given)):
        assert model.score(X, np.full(100, 7)) == 0.0


def test_the_alpha_that_was_found_can_be_given():
    X, _, truth = two_classes(n=100, flipped=0.0)
    np.testing.assert_allclose(EOSClassifier(alpha=np.inf).fit(X, truth).weights_, 0.01)
    np.testing.assert_allclose(SPAClassifier(alpha=np.inf).fit(X, truth).weights_, 0.01)
