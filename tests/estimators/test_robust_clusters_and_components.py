"""`EOSKMeans` and `EOSPCA`: right with outliers, ordinary without, the same on every storage."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from eosparse import EOSPCA, DegenerateDataWarning, EOSDetector, EOSKMeans, Status
from eosparse.fitting.search import Search
from eosparse.models import LinearModel, SubspaceModel
from eosparse.rows import MemoryRows, take_sample

CENTRES = np.array([[0.0, 0.0, 0.0], [8.0, 0.0, 0.0], [0.0, 9.0, 3.0]])


def clusters(share, n_rows=900, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_rows)
    X = CENTRES[labels] + rng.normal(size=(n_rows, 3))
    is_bad = np.zeros(n_rows, bool)
    is_bad[rng.permutation(n_rows)[: int(share * n_rows)]] = True
    X[is_bad] = rng.uniform(-60, 60, (is_bad.sum(), 3))
    return X, labels, is_bad


def plane(share, n_rows=800, seed=0, clumped=False):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(6, 3)))[0]
    X = rng.normal(size=(n_rows, 2)) * [5, 3] @ basis[:, :2].T + rng.normal(0, 0.5, (n_rows, 6)) + 7
    is_bad = np.zeros(n_rows, bool)
    is_bad[rng.permutation(n_rows)[: int(share * n_rows)]] = True
    noise = rng.normal(size=(is_bad.sum(), 6))
    X[is_bad] = 20 * basis[:, 2] + noise / 4 if clumped else 8 * noise
    return X, basis[:, :2], is_bad


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_clusters_are_found_beside_outliers(share):
    X, labels, is_bad = clusters(share)
    model = EOSKMeans(3).fit(X)
    assert model.status_ is Status.CONVERGED
    assert adjusted_rand_score(labels[~is_bad], model.labels_[~is_bad]) > 0.99
    order = np.lexsort(CENTRES.T[::-1])
    assert np.abs(np.sort(model.cluster_centers_[:, 1]) - np.sort(CENTRES[order][:, 1])).max() < 0.3
    assert model.is_outlier_[~is_bad].mean() < 0.01
    assert share == 0 or model.is_outlier_[is_bad].mean() > 0.97
    assert model.weights_.sum() == pytest.approx(1)
    assert share == 0 or model.weights_[is_bad].sum() < 0.01


def test_a_loose_cluster_is_not_taken_for_outliers():
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=1000)
    spread = np.array([0.5, 0.9, 1.3, 1.7])[labels]
    X = 6 * rng.normal(size=(4, 30))[labels] + rng.normal(size=(1000, 30)) * spread[:, None]
    model = EOSKMeans(4).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    assert model.is_outlier_.mean() < 0.01


def test_centres_keep_the_stated_efficiency():
    """On clean Gaussian clusters; one cluster, whose mean is efficient."""
    rng = np.random.default_rng(5)
    misses = [
        [np.square(centre).sum() for centre in (EOSKMeans(1).fit(X).cluster_centers_[0], X.mean(0))]
        for X in rng.normal(size=(150, 200, 2))
    ]
    ours, theirs = np.mean(misses, axis=0)
    assert 0.8 < theirs / ours < 1.0


@pytest.mark.parametrize("size", [1, 3])
def test_p_values_of_clean_rows_are_calibrated(size):
    """200 tables' worth of rows would tell 1 % from 1.1; these tell it from 0.6 and 1.5."""
    rng = np.random.default_rng(6)
    below = []
    for _ in range(8):
        centres = 10 * rng.normal(size=(size, 6))
        X = centres[rng.integers(size, size=700)] + rng.normal(size=(700, 6))
        below.append(np.mean(EOSKMeans(size).fit(X).p_values(X) < 0.01))
        X = rng.normal(size=(700, size)) @ (9 * rng.normal(size=(size, 6)))
        X += rng.normal(size=(700, 6))
        below.append(np.mean(EOSPCA(size).fit(X).p_values(X) < 0.01))
    assert 0.006 < np.mean(below[::2]) < 0.015
    assert 0.006 < np.mean(below[1::2]) < 0.015


def test_an_infinite_alpha_is_ordinary_learning():
    X, _, _ = clusters(0.0)
    ours, theirs = EOSKMeans(3, alpha=np.inf).fit(X), KMeans(3, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-6)
    X, _, _ = plane(0.0)
    components = EOSPCA(2, alpha=np.inf).fit(X)
    classical = PCA(2).fit(X)
    assert subspace_angles(components.components_.T, classical.components_.T).max() < 1e-6
    np.testing.assert_allclose(
        components.explained_variance_, classical.explained_variance_ * (1 - 1 / len(X)), rtol=1e-6
    )
    np.testing.assert_allclose(components.singular_values_, classical.singular_values_, rtol=1e-6)


@pytest.mark.parametrize("clumped", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_components_are_found_beside_outliers(share, clumped):
    X, basis, is_bad = plane(share, clumped=clumped)
    model = EOSPCA(2).fit(X)
    assert subspace_angles(model.components_.T, basis).max() < 0.03
    assert model.is_outlier_[~is_bad].mean() < 0.015
    assert share == 0 or model.is_outlier_[is_bad].mean() > 0.97
    assert model.noise_variance_ == pytest.approx(0.25, rel=0.06)
    np.testing.assert_allclose(model.explained_variance_, [25.25, 9.25], rtol=0.12)
    assert model.explained_variance_ratio_.sum() < 1


@pytest.mark.parametrize(
    ("n_columns", "clumped", "seed"), [(50, True, 3), (10, True, 0), (10, False, 4)]
)
def test_forty_percent_do_not_take_the_place_of_the_bulk(n_columns, clumped, seed):
    """A tight clump has the smaller errors, scattered rows make all of them look usual."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n_columns, 4)))[0]
    noise = rng.normal(size=(600, n_columns))
    X = rng.normal(size=(600, 3)) * [6.0, 4.0, 3.0] @ basis[:, :3].T + noise
    X[:240] = 20 * basis[:, 3] + 0.5 * noise[:240] if clumped else 6 * noise[:240]
    found = EOSPCA(3).fit(X)
    assert np.degrees(subspace_angles(found.components_.T, basis[:, :3]).max()) < 12
    assert found.is_outlier_[:240].mean() > 0.98


@pytest.mark.parametrize("estimator", [EOSKMeans(1), EOSPCA(1), EOSDetector(model=LinearModel())])
@pytest.mark.parametrize(("share", "away"), [(0.1, 6), (0.2, 6), (0.2, 8), (0.3, 8), (0.4, 12)])
def test_near_outliers_do_not_make_themselves_usual(estimator, share, away):
    """With a little weight they would raise a law and an α by moments, and so their weight."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * [4.0, 1.0]
    is_bad = np.arange(500) < share * 500
    X[is_bad, 1] = away + 0.5 * rng.normal(size=is_bad.sum())
    X = X[:, 1:] if isinstance(estimator, EOSKMeans) else X
    found = clone(estimator).fit(X)
    assert 3.5 < found.alpha_ < 8  # 5.7 at the true variance
    assert found.is_outlier_[is_bad].mean() > 0.97
    assert found.is_outlier_[~is_bad].mean() < 0.03


def test_parameters_set_after_a_fit_change_nothing():
    X = clusters(0.1)[0]
    components = EOSPCA(2).fit(X).set_params(n_components=3)
    assert len(components.get_feature_names_out()) == 2
    assert components.inverse_transform(components.transform(X)).shape == X.shape
    centres = EOSKMeans(3).fit(X).set_params(n_clusters=5)
    assert len(centres.get_feature_names_out()) == 3


def test_coordinates_and_back():
    X, _, is_bad = plane(0.2)
    model = EOSPCA(2).fit(X)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(-np.square(X - back).sum(axis=1), model.score_samples(X), rtol=1e-9)
    np.testing.assert_array_equal(model.score_samples(X) < model.offset_, model.is_outlier_)
    assert np.abs(back - X)[~is_bad].max() < 3
    with pytest.raises(ValueError, match="3 columns, but there are 2 components"):
        model.inverse_transform(np.ones((2, 3)))


def test_distances_labels_and_scores_agree():
    X, _, _ = clusters(0.2)
    model = EOSKMeans(3).fit(X)
    distances = model.transform(X)
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(-np.square(distances.min(axis=1)), model.score_samples(X))
    np.testing.assert_array_equal(model.score_samples(X) < model.offset_, model.is_outlier_)
    inertia = len(X) * model.weights_ @ np.square(distances.min(axis=1))
    assert model.inertia_ == pytest.approx(inertia, rel=1e-9)


@pytest.mark.parametrize("estimator", [EOSKMeans(3), EOSPCA(2)], ids=["clusters", "components"])
class TestBoth:
    def table(self):
        return clusters(0.2, n_rows=1500)[0]

    def test_the_storage_changes_nothing(self, estimator, storage):
        X = self.table()
        here, there = clone(estimator).fit(X), clone(estimator).fit(storage(X))
        assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
        assert there.offset_ == pytest.approx(here.offset_, rel=1e-7)
        np.testing.assert_allclose(
            np.asarray(there.score_samples(storage(X))), here.score_samples(X), rtol=1e-6, atol=1e-9
        )
        if isinstance(estimator, EOSKMeans):
            np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-7)
            np.testing.assert_array_equal(np.asarray(there.predict(storage(X))), here.labels_)
            found = clone(estimator).fit_predict(storage(X))
            np.testing.assert_array_equal(np.asarray(found), here.labels_)
        again = pickle.loads(pickle.dumps(there))
        np.testing.assert_array_equal(
            np.asarray(again.score_samples(storage(X))), np.asarray(there.score_samples(storage(X)))
        )

        np.testing.assert_allclose(
            np.asarray(there.p_values(storage(X))), here.p_values(X), rtol=1e-4, atol=1e-12
        )

    def test_what_is_said_of_training_rows(self, estimator, storage):
        X = self.table()
        rows = storage(X)
        here, there = clone(estimator).fit(X), clone(estimator).fit(rows)
        if hasattr(rows, "dataset"):
            with pytest.raises(AttributeError, match="weights_ is not kept for rows on disk"):
                _ = there.weights_
            return
        np.testing.assert_allclose(np.asarray(there.weights_), here.weights_, rtol=1e-6, atol=1e-12)
        np.testing.assert_array_equal(np.asarray(there.is_outlier_), here.is_outlier_)

    def test_order_and_units_change_nothing(self, estimator):
        X = self.table()
        order = np.random.default_rng(1).permutation(900)
        here = clone(estimator).fit(X[:900])
        there = clone(estimator).fit(1e6 * X[:900][order])
        assert there.alpha_ == pytest.approx(1e12 * here.alpha_, rel=1e-5)
        np.testing.assert_allclose(there.weights_, here.weights_[order], rtol=1e-4, atol=1e-9)

    def test_weights_count_rows(self, estimator):
        X = self.table()[:400]
        counts = np.arange(400) % 3
        weighted = clone(estimator).fit(X, sample_weight=counts)
        repeated = clone(estimator).fit(np.repeat(X, counts, axis=0))
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
        np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-6)
        np.testing.assert_allclose(weighted.p_values(X), repeated.p_values(X), rtol=1e-5)
        assert weighted.offset_ == pytest.approx(repeated.offset_, rel=1e-6)
        assert weighted.weights_.sum() == pytest.approx(1)

    def test_frames_in_and_out(self, estimator):
        X = pd.DataFrame(self.table()[:300], columns=["a", "b", "c"])
        model = clone(estimator).set_output(transform="pandas").fit(X)
        assert list(model.feature_names_in_) == ["a", "b", "c"]
        name = type(estimator).__name__.lower()
        assert model.transform(X).columns[0] == f"{name}0"

    @pytest.mark.parametrize(
        "wrong",
        [
            {"alpha": 0.0},
            {"alpha": "none"},
            {"efficiency": 1.0},
            {"fdr": 2.0},
            {"tol": -1.0},
            {"max_iter": 0},
        ],
        ids=str,
    )
    def test_wrong_parameters_are_named(self, estimator, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clone(estimator).set_params(**wrong).fit(self.table())

    def test_gaps_and_infinities_are_refused(self, estimator):
        takes_gaps = estimator.__sklearn_tags__().input_tags.allow_nan
        for value in (np.inf,) if takes_gaps else (np.nan, np.inf):
            X = self.table()
            X[3, 1] = value
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                clone(estimator).fit(X)

    def test_nothing_is_said_before_a_fit(self, estimator):
        with pytest.raises(NotFittedError):
            clone(estimator).score_samples(self.table())
        with pytest.raises(NotFittedError):
            _ = clone(estimator).weights_

    def test_too_few_passes_warn(self, estimator):
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            clone(estimator).set_params(max_iter=2, tol=0.0, alpha=3.0).fit(self.table())

    def test_one_row_may_lie_out_of_range(self, estimator):
        """Its square overflows, which is far enough to know."""
        X = self.table()
        X[7] = [1e200, -1e180, 3.0]
        model = clone(estimator).fit(X)
        assert model.is_outlier_[7]
        assert model.weights_[7] == 0.0

    @pytest.mark.parametrize("unit", [1e-150, 1e150])
    def test_most_rows_may_not(self, estimator, unit):
        with pytest.raises(ValueError, match="out of the range of floats"):
            clone(estimator).fit(unit * self.table())

    def test_equal_rows(self, estimator):
        """Nothing lies off: all rows weigh alike."""
        model = clone(estimator)
        if isinstance(model, EOSKMeans):
            with pytest.warns(ConvergenceWarning, match="only 1 distinct"):
                model.fit(np.full((20, 3), 4.0))
        else:
            model.fit(np.full((20, 3), 4.0))
        np.testing.assert_allclose(model.weights_, 1 / 20)
        assert not model.is_outlier_.any()


def test_more_clusters_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_clusters=9 is more than the n_samples=5"):
        EOSKMeans(9).fit(np.arange(10.0).reshape(5, 2))
    with pytest.raises(ValueError, match="n_clusters=0"):
        EOSKMeans(0).fit(np.arange(10.0).reshape(5, 2))


def test_more_components_than_columns_are_refused():
    with pytest.raises(ValueError, match="n_components=3 must lie between 0 and the 2 columns"):
        EOSPCA(3).fit(np.arange(10.0).reshape(5, 2))


@pytest.mark.parametrize(("n_rows", "n_columns"), [(60, 300), (200, 300), (100, 50)])
def test_few_rows_do_not_keep_the_subspace_to_themselves(n_rows, n_columns):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(n_columns, 2)))[0]
    X = rng.normal(size=(n_rows, 2)) * [9, 6] @ basis.T + rng.normal(0, 0.1, (n_rows, n_columns))
    model = EOSPCA(2).fit(X)
    assert model.effective_sample_size_ > 0.85 * n_rows
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.15)
    X[:6] += rng.normal(0, 2, (6, n_columns))
    np.testing.assert_array_equal(np.flatnonzero(EOSPCA(2).fit(X).is_outlier_), np.arange(6))


def test_exact_relations_are_exact():
    """Rows on a plane, but for some: nothing but the plane is right."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 5)) + 3
    X[:50] += rng.normal(size=(50, 5))
    with pytest.warns(DegenerateDataWarning, match=r"75.0% of the rows fit .* exactly"):
        model = EOSPCA(2).fit(X)
    np.testing.assert_array_equal(model.is_outlier_, np.arange(200) < 50)
    assert model.weights_[:50].sum() < 1e-9


def test_as_many_components_as_columns_leave_no_outlier():
    X, _, _ = plane(0.2)
    model = EOSPCA(6).fit(X)
    assert not model.is_outlier_.any()
    np.testing.assert_allclose(model.weights_, 1 / len(X), rtol=1e-6)
    assert model.noise_variance_ == 0.0


def test_alpha_does_not_depend_on_where_its_refinement_starts():
    """Heavy tails make each step of the refinement nearly as long as the one before."""
    X = np.random.default_rng(0).standard_t(3, size=(500, 3)) * [4.0, 2.0, 1.0]
    sample = take_sample(MemoryRows(X), 500)
    search = Search(SubspaceModel(1), sample, 1e-20)
    start = next(iter(search.model.starts(sample)))
    alphas = [search.refine(start, alpha)[1] for alpha in (1.0, 3.0, 10.0)]
    np.testing.assert_allclose(alphas, alphas[0], rtol=1e-3)


def test_numbers_rounded_to_single_precision_may_be_held_in_double():
    years, months = np.repeat(np.arange(1990, 2010), 12), np.tile(np.arange(12), 20)
    X = np.column_stack([years, months, years + months / 12]).astype(np.float32)
    single, double = (EOSPCA(2).fit(X.astype(kind)) for kind in (np.float32, np.float64))
    np.testing.assert_allclose(single.p_values(X), double.p_values(X), atol=1e-6)


def test_clusters_of_tied_rows():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0], [5.0, 0.0]], 10, axis=0)
    X = np.concatenate([X, [[90.0, -20.0]]])
    with pytest.warns(DegenerateDataWarning, match="exactly"):
        model = EOSKMeans(3).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, [[0, 0], [1, 1], [5, 0]])
    np.testing.assert_array_equal(np.flatnonzero(model.is_outlier_), [30])
