"""`EOSDetector(model=…)`: each model finds what its kind of rows leaves out, on every storage."""

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from eosparse import (
    EOSPCA,
    CollapseError,
    DegenerateDataWarning,
    EOSDetector,
    EOSGaussianMixture,
    EOSKMeans,
    MaskingWarning,
)
from eosparse.models import (
    ClusterModel,
    CustomModel,
    LinearModel,
    MixtureModel,
    SubspaceModel,
)

NAMES = ("clusters", "subspace", "mixture", "regression")
MODELS = {
    "clusters": ClusterModel(3),
    "subspace": SubspaceModel(2),
    "mixture": MixtureModel(3),
    "regression": LinearModel(),
}


def table(name, share=0.0, n_rows=900, seed=0):
    """Rows of the kind that a model describes, and which of them are not."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n_rows, 4))
    if name in ("clusters", "mixture"):
        centres = 12 * np.array([[0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, -1]])
        X = centres[rng.integers(3, size=n_rows)] + noise
    elif name == "subspace":
        X = 9 * rng.normal(size=(n_rows, 2)) @ np.linalg.qr(rng.normal(size=(4, 2)))[0].T + noise
    else:
        X = noise * [3, 3, 3, 1]
        X[:, 3] += X[:, :3] @ [2, -1, 0.5]
    is_bad = np.arange(n_rows) < share * n_rows
    X[is_bad] = rng.uniform(-60, 60, (is_bad.sum(), 4))
    return X, is_bad


@cache
def fit_named(name):
    """A detector of the rows of a kind, which no test may change."""
    return EOSDetector(model=name).fit(table(name, 0.1)[0])


@pytest.mark.parametrize("model", [*NAMES, *MODELS.values()], ids=str)
def test_outliers_of_a_kind_are_found(model):
    name = model if isinstance(model, str) else next(k for k, v in MODELS.items() if v is model)
    X, is_bad = table(name, 0.2)
    detector = EOSDetector(model=model).fit(X)
    assert detector.is_outlier_[~is_bad].mean() < 0.01
    assert detector.is_outlier_[is_bad].mean() > (0.85 if name == "regression" else 0.95)
    np.testing.assert_array_equal(detector.predict(X), np.where(detector.is_outlier_, -1, 1))
    np.testing.assert_array_equal(detector.decision_function(X) < 0, detector.is_outlier_)
    np.testing.assert_allclose(detector.p_values(X), detector.p_values_, rtol=1e-9)
    assert detector.weights_.sum() == pytest.approx(1.0)
    assert (np.diff(detector.objective_history_) <= 1e-9).all()


@pytest.mark.no_cover  # many fits of the same lines
@pytest.mark.parametrize("name", MODELS)
def test_p_values_of_clean_rows_are_calibrated(name):
    """Twelve tables of 500 rows tell 1 % from 0.5 and 1.6."""
    below = []
    for seed in range(12):
        X, _ = table(name, n_rows=1000, seed=seed)
        detector = EOSDetector(model=MODELS[name]).fit(X[:500])
        below += [np.mean(detector.p_values_ < 0.01), np.mean(detector.p_values(X[500:]) < 0.01)]
    assert 0.005 < np.mean(below) < 0.016


def test_the_gaussian_is_another_question():
    """Rows off their clusters lie in the middle of one Gaussian."""
    X, _ = table("clusters")
    X[:5] = [[6.0, 6.0, 6.0, -6.0]]
    assert EOSDetector(model="clusters").fit(X).is_outlier_[:5].all()
    gaussian = EOSDetector(model="gaussian", start="uniform")
    assert not gaussian.fit(X).is_outlier_[:5].any()


def test_a_given_model_is_the_estimator():
    X, _ = table("clusters", 0.1)
    for model, estimator in ((ClusterModel(3), EOSKMeans(3)), (SubspaceModel(2), EOSPCA(2))):
        detector, other = EOSDetector(model=model).fit(X), estimator.fit(X)
        assert detector.alpha_ == other.alpha_
        np.testing.assert_array_equal(detector.score_samples(X), other.score_samples(X))
        np.testing.assert_array_equal(detector.is_outlier_, other.is_outlier_)


def test_named_models_do_not_depend_on_units():
    X, _ = table("clusters", 0.1)
    unit = np.array([1e-6, 1.0, 1e3, 1e5])
    for name in NAMES:
        here, there = (EOSDetector(model=name).fit(Y) for Y in (X, X * unit + unit))
        np.testing.assert_array_equal(here.is_outlier_, there.is_outlier_)


@pytest.mark.parametrize("name", NAMES)
class TestEach:
    def test_the_storage_changes_nothing(self, name, storage):
        X, _ = table(name, 0.1)
        rows = storage(X)
        here, there = fit_named(name), EOSDetector(model=name).fit(rows)
        assert there.objective_ == pytest.approx(here.objective_, rel=1e-7)
        np.testing.assert_allclose(
            np.asarray(there.p_values(rows)), here.p_values(X), rtol=1e-3, atol=1e-9
        )
        again = pickle.loads(pickle.dumps(there))
        np.testing.assert_array_equal(np.asarray(again.predict(rows)), here.predict(X))

    def test_weights_count_rows(self, name):
        X, _ = table(name, 0.1, n_rows=300)
        counts = np.arange(300) % 3
        weighted = EOSDetector(model=name).fit(X, sample_weight=counts)
        repeated = EOSDetector(model=name).fit(np.repeat(X, counts, axis=0))
        np.testing.assert_allclose(
            weighted.score_samples(X), repeated.score_samples(X), rtol=1e-4, atol=1e-6
        )

    def test_every_rule_flags(self, name):
        X, _ = table(name, 0.1)
        level = EOSDetector(model=name, level=0.02).fit(X)
        np.testing.assert_array_equal(level.is_outlier_, level.p_values_ < 0.02)
        share = EOSDetector(model=name, contamination=0.25).fit(X)
        assert share.is_outlier_.sum() == 225
        cut = EOSDetector(model=name, weight_cut=0.01).fit(X)
        np.testing.assert_array_equal(cut.is_outlier_, len(X) * cut.weights_ < 0.01)

    def test_what_only_a_gaussian_has_is_named(self, name):
        X, _ = table(name)
        detector = fit_named(name)
        for ask in (
            lambda: detector.mahalanobis(X),
            lambda: detector.location_,
            lambda: detector.covariance_,
            lambda: detector.shrinkage_,
        ):
            with pytest.raises(
                AttributeError, match=r"Model has no location, covariance or shrinkage"
            ):
                ask()
        assert not hasattr(detector, "location_")


def test_explanations_add_up():
    X, _ = table("clusters")
    X[0, 2] += 30.0
    for name in NAMES:
        detector = EOSDetector(model=name).fit(X)
        explanation = detector.explain(X)
        if name != "mixture":
            np.testing.assert_allclose(explanation.distances, -detector.score_samples(X))
    assert EOSDetector(model="clusters").fit(X).explain(X[:1]).top(0, n=1)[0][0] == "x2"
    assert EOSDetector(model="mixture").fit(X).explain(X[:1]).top(0, n=1)[0][0] == "x2"
    custom = CustomModel(lambda X, theta: np.square(X - theta).sum(axis=1), lambda X, w: w @ X)
    with pytest.raises(ValueError, match="CustomModel does not split its error among the columns"):
        EOSDetector(model=custom).fit(X).explain(X)


def test_any_column_may_be_the_target():
    X, is_bad = table("regression", 0.2)
    last = EOSDetector(model=LinearModel()).fit(X)
    first = EOSDetector(model=LinearModel(target=0)).fit(X[:, [3, 0, 1, 2]])
    np.testing.assert_array_equal(first.is_outlier_, last.is_outlier_)
    np.testing.assert_allclose(last.theta_.coefficients, [2, -1, 0.5], atol=0.05)
    assert last.is_outlier_[is_bad].mean() > 0.85
    with pytest.raises(ValueError, match="target=4 must be the number of one of the columns"):
        EOSDetector(model=LinearModel(target=4)).fit(X)


def test_wrong_models_are_named():
    X, _ = table("clusters")
    for model, words in (
        ("kmeans", "model='kmeans' must be one of"),
        (3, r"model=3 must be one of .*subclass of eosparse.models.TableModel"),
        (KMeans(3), r"model=KMeans\(n_clusters=3\) must be one of"),
        (ClusterModel, "is a class: pass an instance of it"),
        (ClusterModel(1000), "n_clusters=1000 is more than the n_samples=900"),
        (SubspaceModel(5), "n_components=5 must lie between 0 and the 4 columns"),
        (MixtureModel(1000), "n_components=1000 is more than the n_samples=900"),
    ):
        with pytest.raises(ValueError, match=words):
            EOSDetector(model=model).fit(X)
    with pytest.raises(NotFittedError):
        EOSDetector(model="clusters").predict(X)


# Degenerate rows.


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_few_distinct_rows():
    """More clusters than distinct rows: centres are shared, and nothing lies off them."""
    X = np.repeat(np.arange(12.0).reshape(4, 3), 10, axis=0)
    detector = EOSDetector(model=ClusterModel(7)).fit(X)
    np.testing.assert_allclose(detector.weights_, 1 / 40)
    assert not detector.is_outlier_.any()


@pytest.mark.filterwarnings("ignore:.*exactly:UserWarning")
def test_rows_on_a_line_have_their_planes():
    rng = np.random.default_rng(0)
    X = np.outer(rng.normal(size=200), [1.0, 2.0, -1.0, 0.5])
    X[0, 0] += 1.0
    for model in (SubspaceModel(1), SubspaceModel(2), "subspace"):
        detector = EOSDetector(model=model).fit(X)
        expected = [0] if detector.model_.n_components == 1 else []
        np.testing.assert_array_equal(np.flatnonzero(detector.is_outlier_), expected)


def test_a_subspace_that_holds_a_minority_is_warned_of():
    # Of sixteen rows, copied once to three times, no plane holds half, and ties hold some.
    rng = np.random.default_rng(15)
    X = rng.integers(0, 17, (16, 5)).astype(float)
    X[:, 0] = rng.random(16) < 0.1
    X[1] = X[2] = X[0]
    X[:, 2] = rng.integers(0, 4, 16)
    X = np.repeat(X, rng.integers(1, 4, 16), axis=0)
    with pytest.warns(MaskingWarning, match=r"no solution of SubspaceModel .* holds 33%"):
        detector = EOSDetector(model="subspace").fit(X)
    assert detector.is_outlier_.mean() > 0.5


def test_a_subspace_through_a_few_rows_only_is_a_collapse():
    rng = np.random.default_rng(43)
    X = rng.integers(0, 17, (18, 4)).astype(float)
    X[:6] = X[0]
    X[:6, 0] += np.arange(6)
    with pytest.raises(CollapseError, match="weights gather on 7 effective rows"):
        EOSDetector(model=SubspaceModel(2)).fit(X)


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize("name", ["clusters", "subspace", "regression"])
def test_majorities_are_not_warned_of(name, share):
    X, _ = table(name, share, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MaskingWarning)
        EOSDetector(model=MODELS[name]).fit(X)


def test_a_mixture_of_dependent_columns_does_not_collapse():
    X, is_bad = table("mixture", 0.1)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.zeros(len(X))])
    detector = EOSDetector(model="mixture").fit(X)
    assert detector.is_outlier_[is_bad].mean() > 0.95
    assert detector.is_outlier_[~is_bad].mean() < 0.02
    with pytest.raises(CollapseError, match="exact linear relation"):
        EOSDetector(model=MixtureModel(3, pseudo_mass=0.0)).fit(X)


# The estimator of mixtures.


def test_components_of_a_mixture_are_found_beside_outliers():
    rng = np.random.default_rng(1)
    sizes, scale = (700, 300), (1.0, 2.5)
    X = np.concatenate(
        [rng.normal(12 * k, s, (n, 3)) for k, (n, s) in enumerate(zip(sizes, scale, strict=True))]
    )
    X[::10] = rng.uniform(-90, 90, (100, 3))
    model = EOSGaussianMixture(2).fit(X)
    np.testing.assert_allclose(model.means_, [[0] * 3, [12] * 3], atol=0.5)
    np.testing.assert_allclose(model.shares_, [0.7, 0.3], atol=0.03)
    for covariance, s in zip(model.covariances_, scale, strict=True):
        np.testing.assert_allclose(covariance / s**2, np.eye(3), atol=0.25)
    assert model.is_outlier_[::10].mean() > 0.9
    assert np.delete(model.is_outlier_, np.arange(0, 1000, 10)).mean() < 0.01
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.labels_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.fit_predict(X), model.labels_)


def test_a_fit_through_all_rows_says_so():
    X = np.random.default_rng(0).normal(size=(8, 10))
    with pytest.warns(DegenerateDataWarning, match="pass through 10 rows exactly, and only 8 have"):
        detector = EOSDetector(model="regression", contamination=0.25).fit(X)
    assert not detector.is_outlier_.any()  # their order would be one of rounding errors


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ClusterModel(0), "n_clusters=0 must be a whole number in"),
        (ClusterModel(2.5), r"n_clusters=2\.5 must be a whole"),
        (SubspaceModel(1.5), r"n_components=1\.5 must be a whole"),
        (SubspaceModel(True), "n_components=True must be a whole"),
        (MixtureModel(0), "n_components=0 must be a whole"),
        (MixtureModel(2, pseudo_mass=-1.0), r"pseudo_mass=-1\.0 must be a number in \[0, inf\)"),
        (MixtureModel(2, target=0.0), r"target=0\.0 must be a number in \(0, inf\)"),
        (LinearModel("y"), "target='y' must be a whole number"),
        (LinearModel(7), "target=7 must be the number of one of the columns"),
    ],
    ids=str,
)
def test_wrong_numbers_of_given_models_are_named(model, words):
    with pytest.raises(ValueError, match=words):
        EOSDetector(model=model).fit(table("clusters")[0])


def test_weights_count_rows_in_the_law_of_a_mixture():
    X, _ = table("mixture", 0.1, n_rows=300)
    counts = np.where(np.arange(300) % 2, 1, 12)
    weighted = EOSDetector(model=MixtureModel(3)).fit(X, sample_weight=counts)
    repeated = EOSDetector(model=MixtureModel(3)).fit(np.repeat(X, counts, axis=0))
    assert weighted.offset_ == pytest.approx(repeated.offset_, rel=1e-6)
    np.testing.assert_allclose(weighted.p_values(X), repeated.p_values(X), rtol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_a_mixture_of_two_rows_many_times(seed):
    X = np.repeat(np.random.default_rng(seed).normal(size=(2, 3)), 30, axis=0)
    assert not EOSDetector(model="mixture").fit(X).is_outlier_.any()


@pytest.mark.parametrize("model", [*NAMES, *MODELS.values()], ids=str)
def test_one_row_may_lie_out_of_range(model):
    name = model if isinstance(model, str) else next(k for k, v in MODELS.items() if v is model)
    X, _ = table(name)
    X[3, 1] = 1e200
    detector = EOSDetector(model=model).fit(X)
    assert detector.is_outlier_[3]
    assert detector.is_outlier_.mean() < 0.02


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("model", ["regression", "subspace"])
def test_an_exact_relation_is_exact_in_single_precision(model, seed):
    X = np.random.default_rng(seed).normal(size=(200, 3))
    X[:, 2] = 2 * X[:, 0] + 1
    X[0, 2] = 50.0
    with pytest.warns(DegenerateDataWarning, match="99.5% of the rows fit"):
        detector = EOSDetector(model=model).fit(X.astype(np.float32))
    np.testing.assert_array_equal(np.flatnonzero(detector.is_outlier_), [0])


@pytest.mark.parametrize("cell", [999999999.0, -1e15])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", NAMES)
def test_one_enormous_cell_is_flagged(model, seed, cell):
    """It leaves few digits for the other rows, as long as it has weight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 5)) @ rng.normal(size=(5, 5))
    X[7, 4] = cell
    detector = EOSDetector(model=model).fit(X)
    assert detector.is_outlier_[7]
    assert detector.is_outlier_.mean() < 0.1
    assert detector.weights_.sum() == pytest.approx(1)


@pytest.mark.parametrize("model", ["regression", "subspace", "clusters"])
def test_a_minority_that_fits_exactly_does_not_decide_what_noise_is(model):
    """A third of the rows in a heap: the others are not outliers for that."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:100] = 0.0
    assert EOSDetector(model=model).fit(X).is_outlier_.mean() < 0.05


@pytest.mark.parametrize("n_components", [2, 3])
def test_no_outlier_has_a_component_of_its_own(n_components):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    X[7, 1] = 999999999.0
    with pytest.warns(DegenerateDataWarning, match="only 1 of n_components"):
        mixture = EOSGaussianMixture(n_components).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(mixture.is_outlier_), [7])


@pytest.mark.parametrize("power", [-30, 30])
@pytest.mark.parametrize("estimator", [EOSPCA(2), EOSKMeans(3)], ids=str)
def test_the_unit_of_all_columns_changes_nothing(estimator, power):
    X, _ = table("clusters")
    one, other = (clone(estimator).fit(rows) for rows in (X, X * 2.0**power))
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-9)
    assert one.n_iter_ == other.n_iter_
