"""No silent failure of the Gaussian: masked groups, ties, exact fits, copies, wide tables."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from eosparse import DegenerateDataWarning, EOSDetector, MaskingWarning
from eosparse.datasets import make_contaminated
from eosparse.models.gaussian_ends import StartSearch
from eosparse.models.gaussian_search import _Choice
from eosparse.models.groups import find_group


def draw_contaminated(kind, share, n_features, seed):
    """Rows whose inliers are standard Gaussian, turned by a random matrix; and the outliers."""
    rng = np.random.default_rng(seed)
    n = max(1000, 20 * n_features)
    X, is_outlier = rng.standard_normal((n, n_features)), np.arange(n) < round(share * n)
    size = (np.count_nonzero(is_outlier), n_features)
    if kind == "axis":
        X[is_outlier, 0] += 8 * np.sqrt(n_features)
    else:
        X[is_outlier] = {
            "cluster": lambda: rng.uniform(3, 4, size),
            "tight": lambda: 3 + 0.05 * rng.standard_normal(size),
            "uniform": lambda: rng.uniform(1, 6, size),
            "radial": lambda: 3 * rng.standard_normal(size),
        }[kind]()
    return X @ rng.standard_normal((n_features, n_features)), is_outlier


def fit_noting(X, **options):
    """Return a fitted detector and the categories of its warnings."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        detector = EOSDetector(**options).fit(X)
    return detector, {one.category for one in issued}


class TestMasking:
    @pytest.mark.parametrize("share", [0.2, 0.3, 0.45])
    @pytest.mark.parametrize("kind", ["axis", "cluster", "tight"])
    @pytest.mark.parametrize("n_features", [5, 50])
    def test_a_group_is_found(self, kind, share, n_features):
        X, is_outlier = draw_contaminated(kind, share, n_features, seed=7)
        flagged = EOSDetector().fit(X).is_outlier_
        assert flagged[is_outlier].mean() > 0.95
        assert flagged[~is_outlier].mean() < 0.02

    def test_a_group_that_a_sketch_leaves_out_is_left_out_of_all_columns(self):
        """Its rows vary so little that they are taken in at the first α, in all columns only."""
        X, is_outlier = make_contaminated(
            1500, 100, 0.3, outliers="clustered", inliers="autoregressive", random_state=11
        )
        detector, issued = fit_noting(X, model="gaussian")
        assert detector.is_outlier_[is_outlier].all()
        assert detector.is_outlier_[~is_outlier].mean() < 0.02
        assert MaskingWarning not in issued
        # At the α of other tables of this size there is no such solution, which is said.
        usual = EOSDetector(model="gaussian").fit(X[~is_outlier]).alpha_
        taken_in, issued = fit_noting(X, model="gaussian", alpha=usual)
        assert not taken_in.is_outlier_[is_outlier].any()
        assert MaskingWarning in issued

    def test_a_group_that_a_sample_leaves_out_is_left_out_of_all_rows(self):
        """At the first α, the window of which is narrow, the cluster takes over on all rows."""
        X, is_outlier = make_contaminated(
            10_000, 10, 0.4, outliers="clustered", inliers="autoregressive", random_state=80_003
        )
        detector, issued = fit_noting(X, model="gaussian")
        assert detector.is_outlier_[is_outlier].all()
        assert detector.is_outlier_[~is_outlier].mean() < 0.02
        assert MaskingWarning not in issued

    @pytest.mark.parametrize(("share", "seed"), [(0.3, 500), (0.4, 501), (0.4, 510)])
    def test_a_narrow_window_of_alpha_is_found(self, share, seed):
        """At the first α a near, tight group takes over, and the boldest one collapses."""
        X, is_outlier = make_contaminated(
            1000, 50, share, outliers="clustered", inliers="autoregressive", random_state=seed
        )
        flagged = EOSDetector().fit(X).is_outlier_
        assert flagged[is_outlier].mean() > 0.95
        assert flagged[~is_outlier].mean() < 0.02

    def test_the_table_of_the_issue(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((2000, 50))
        X[:600, 0] += 8 * 50**0.5
        flagged = EOSDetector().fit(X).is_outlier_
        assert flagged[:600].all()
        assert flagged[600:].mean() < 0.01

    @pytest.mark.parametrize(
        ("n_rows", "n_columns", "share", "is_found"),
        [(400, 1000, 0.05, True), (400, 1000, 0.1, True), (150, 3000, 0.1, True),
         (200, 400, 0.05, False), (200, 400, 0.2, False)],
    )  # fmt: skip
    def test_a_group_among_genes_is_found_or_warned_of(self, n_rows, n_columns, share, is_found):
        """Columns have more in common than the group differs by."""
        rng = np.random.default_rng(0)
        common = rng.normal(size=(n_rows, 8)) @ rng.normal(size=(8, n_columns)) / np.sqrt(8)
        X, n_wrong = common + rng.normal(size=(n_rows, n_columns)), round(share * n_rows)
        X[:n_wrong, : n_columns // 10] += 3
        detector, issued = fit_noting(X)
        assert detector.is_outlier_[n_wrong:].mean() < 0.02
        assert detector.is_outlier_[:n_wrong].all() == is_found
        assert is_found or (MaskingWarning in issued and not detector.promise_)

    @pytest.mark.parametrize("kind", ["axis", "cluster", "radial", "uniform"])
    def test_a_group_is_found_in_many_columns(self, kind):
        X, is_outlier = draw_contaminated(kind, 0.3, 120, seed=3)
        flagged = EOSDetector().fit(X).is_outlier_
        assert flagged[is_outlier].mean() > 0.95
        assert flagged[~is_outlier].mean() < 0.02

    def test_what_is_chosen_is_as_good_as_what_was_found(self, monkeypatch):
        """No end that holds half of the rows has a significantly smaller determinant."""
        seen = []
        found_by = _Choice._improve

        def improve(choice, search, best):
            found = found_by(choice, search, best)
            ends = [end for end in search.ends(best.result.alpha) if end.is_majority]
            smallest = min(end.corrected_log_det for end in [best, *ends])
            seen.append((found, smallest, search._noise(found)))
            return found

        monkeypatch.setattr(_Choice, "_improve", improve)
        for seed in range(5):
            EOSDetector().fit(np.random.default_rng(seed).normal(size=(400, 8)))
        X, _ = draw_contaminated("axis", 0.4, 20, seed=0)
        EOSDetector().fit(X)
        assert len(seen) == 6
        for found, smallest, noise in seen:
            assert found.is_majority
            assert found.corrected_log_det <= smallest + 4 * noise

    def test_slow_progress_is_no_end(self):
        """From the right solution, the first α leads back to one that holds the group."""
        X, is_outlier = make_contaminated(
            1000, 5, 0.3, outliers="clustered", inliers="autoregressive", random_state=1000
        )
        flagged = EOSDetector(model="gaussian").fit(X).is_outlier_
        assert flagged[is_outlier].mean() > 0.95
        assert flagged[~is_outlier].mean() < 0.02

    @pytest.mark.parametrize(("n_groups", "n_features"), [(2, 5), (3, 5), (2, 30)])
    def test_equal_groups_are_said(self, n_groups, n_features):
        rng = np.random.default_rng(4)
        centres = 12 * np.linalg.qr(rng.standard_normal((n_features, n_groups)))[0].T
        X = rng.standard_normal((900, n_features)) + np.repeat(centres, 900 // n_groups, axis=0)
        assert MaskingWarning in fit_noting(X, model="gaussian")[1]

    @pytest.mark.no_cover  # many fits of the same lines
    def test_clean_tables_are_left_alone(self):
        """Neither unmasked nor warned of: the share below 1 % is that of clean rows."""
        below = []
        for seed in range(30):
            detector, categories = fit_noting(np.random.default_rng(seed).normal(size=(500, 10)))
            assert not categories
            below.append(np.mean(detector.p_values_ < 0.01))
        assert max(below) < 0.04
        assert abs(np.mean(below) - 0.01) < 0.003

    def test_a_group_too_near_in_many_columns_is_said(self):
        """A third of the rows, seven standard deviations away, in 200 columns."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((4000, 200))
        X[:1200] += 7 / np.sqrt(200)
        detector, categories = fit_noting(X)
        assert MaskingWarning in categories or detector.is_outlier_[:1200].mean() > 0.5

    def test_a_small_group_taken_in_again_is_said(self):
        """The second group is found in the sketch, and too near at the α of all columns."""
        rng = np.random.default_rng(90_000)
        lags = np.abs(np.subtract.outer(np.arange(200), np.arange(200)))
        X = rng.standard_normal((4000, 200)) @ np.linalg.cholesky(0.9**lags).T
        X[:400] = rng.uniform(3, 4, (400, 200))
        X[200:400, ::2] *= -1
        detector, categories = fit_noting(X, model="gaussian")
        assert MaskingWarning in categories or detector.is_outlier_[:400].mean() > 0.8

    def test_outliers_without_a_gap_are_said(self):
        """Uniform outliers reach from the middle of the others to five times their spread."""
        for seed in range(10):
            rng = np.random.default_rng(seed)
            X = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 1000)
            X[:400] = rng.uniform(1, 6, (400, 2))
            detector, categories = fit_noting(X, model="gaussian")
            gross = np.einsum("ij,ij->i", X @ np.linalg.inv([[1, 0.7], [0.7, 1]]), X) > 18.4
            assert (
                MaskingWarning in categories or detector.is_outlier_[:400][gross[:400]].mean() > 0.8
            )


class TestGroups:
    @pytest.mark.parametrize("n_features", [1, 3, 20])
    def test_gaussian_rows_form_none(self, n_features):
        for seed in range(40):
            rows = np.random.default_rng([seed, n_features]).normal(size=(400, n_features))
            assert find_group(rows, np.ones(400)) is None

    @pytest.mark.parametrize("share", [0.1, 0.2, 0.35, 0.5])
    def test_two_groups_are_told_apart(self, share):
        rng = np.random.default_rng(1)
        rows = rng.normal(size=(1000, 6))
        rows[: int(1000 * share)] += 9 / np.sqrt(6)
        larger = find_group(rows @ rng.normal(size=(6, 6)), np.ones(1000))
        assert abs(larger[int(1000 * share) :].mean() - 0.5) > 0.48  # one side or the other
        assert abs(larger.mean() - max(share, 1 - share)) < 0.02

    def test_skewed_and_heavy_tails_are_no_groups(self):
        rng = np.random.default_rng(2)
        assert find_group(rng.lognormal(size=(1000, 3)), np.ones(1000)) is None
        assert find_group(rng.standard_t(3, size=(1000, 3)), np.ones(1000)) is None

    def test_order_and_copies_do_not_matter(self):
        rng = np.random.default_rng(3)
        rows = rng.normal(size=(600, 3))
        rows[:200, 0] += 6
        group, order = find_group(rows, np.ones(600)), rng.permutation(600)
        np.testing.assert_array_equal(find_group(rows[order], np.ones(600)), group[order])
        twice = find_group(np.repeat(rows, 2, axis=0), np.ones(1200), evidence=0.5)
        np.testing.assert_array_equal(twice[::2], group)

    @pytest.mark.parametrize("seed", [1, 15, 16, 17, 18])
    def test_scattered_outliers_on_one_side_are_no_skewed_columns(self, seed):
        rng = np.random.default_rng(seed)
        r = rng.uniform(-0.9, 0.9)
        X = rng.standard_normal((1000, 2)) @ np.linalg.cholesky([[1.0, r], [r, 1.0]]).T
        X[:300] = rng.uniform(1, 6, (300, 2))
        detector, _ = fit_noting(X)
        assert not detector.promise_


class TestTies:
    def test_a_heap_below_half_is_no_error(self):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            heaped = np.where(rng.random(500) < 0.4, 0, rng.gamma(2, size=500))
            detector, _ = fit_noting(np.c_[rng.normal(size=500), heaped])
            assert np.isfinite(detector.p_values_).all()
            np.testing.assert_allclose(detector.weights_.sum(), 1.0)
            assert detector.is_outlier_.mean() < 0.2

    @pytest.mark.parametrize("counts", [[4, 10, 8, 1, 10, 9], [9, 7, 1, 5], [10, 2, 9]])
    def test_corners_of_a_simplex_differ_by_their_number_only(self, counts):
        # Any of them lie on a plane, and there is an affine map between any two.
        corners = np.random.default_rng(0).normal(size=(len(counts), len(counts) - 1))
        detector, _ = fit_noting(np.repeat(corners, counts, axis=0), model="gaussian")
        often = np.repeat(counts, counts)
        flagged = often[detector.is_outlier_]
        assert flagged.max(initial=0) < often[~detector.is_outlier_].min()
        assert len(flagged) < 0.2 * len(often)

    def test_equal_rows_and_one_other(self):
        X = np.array([2.0] * 20 + [3.0])[:, None]
        with pytest.warns(DegenerateDataWarning, match=r"95.2% of the rows are equal"):
            detector = EOSDetector().fit(X)
        assert np.flatnonzero(detector.is_outlier_).tolist() == [20]
        assert detector.p_values_[:20].tolist() == [1.0] * 20
        assert detector.predict([[2.0], [2.1]]).tolist() == [1, -1]
        assert detector.location_.tolist() == [2.0]

    def test_a_row_many_times(self):
        X = np.random.default_rng(0).normal(size=(300, 3))
        with pytest.warns(DegenerateDataWarning, match="are equal"):
            detector = EOSDetector(model="gaussian").fit(
                np.concatenate([X, np.repeat(X[:1], 400, axis=0)])
            )
        assert detector.is_outlier_.sum() == 299  # the row itself, first of 401, is no outlier

    def test_a_column_with_one_value_in_most_rows_is_named(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(400, 3))
        X[:260, 2] = 7.5
        with pytest.warns(DegenerateDataWarning, match=r"65.0% of the rows have x2 = 7.5"):
            detector = EOSDetector(model="gaussian").fit(X)
        assert detector.is_outlier_[260:].all()
        assert detector.is_outlier_[:260].mean() < 0.02
        explained = detector.explain(X[300:301])
        assert explained.top(0, n=1)[0][0] == "x2"

    @pytest.mark.parametrize("share", [0.1, 0.3, 0.45])
    @pytest.mark.parametrize("n_features", [2, 4, 8])
    def test_rows_off_a_plane_are_the_outliers(self, share, n_features):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(500, n_features))
        X[:, -1] = X[:, :-1] @ rng.normal(size=n_features - 1)
        off = np.arange(500) < 500 * share
        X[off, -1] += rng.normal(size=off.sum())
        with pytest.warns(DegenerateDataWarning, match="exact linear relation"):
            detector = EOSDetector().fit(X)
        assert detector.is_outlier_[off].all()
        assert detector.is_outlier_[~off].mean() < 0.02
        np.testing.assert_allclose(detector.weights_.sum(), 1.0)

    def test_within_the_plane_the_law_is_that_of_its_columns(self):
        rng = np.random.default_rng(6)
        inside = rng.normal(size=(1000, 4))
        X = np.column_stack([inside, inside.sum(axis=1)])
        X[:50, 4] += 1.0
        with pytest.warns(DegenerateDataWarning):
            exact = EOSDetector().fit(X)
        plain = EOSDetector().fit(inside[50:])
        np.testing.assert_allclose(exact.p_values_[50:], plain.p_values_, rtol=1e-3, atol=1e-6)

    @settings(max_examples=6)
    @given(st.integers(0, 10**6), st.integers(2, 4))
    def test_a_table_several_times_over_flags_the_same_rows(self, seed, times):
        X = np.random.default_rng(seed).standard_t(4, size=(120, 3))
        once, _ = fit_noting(X)
        over, _ = fit_noting(np.tile(X, (times, 1)))
        weighted = EOSDetector().fit(X, sample_weight=np.full(120, float(times)))
        for other in (over, weighted):
            np.testing.assert_array_equal(other.is_outlier_[:120], once.is_outlier_)
            np.testing.assert_allclose(other.p_values_[:120], once.p_values_, rtol=1e-4, atol=1e-8)


class TestWideTables:
    @pytest.mark.no_cover  # many fits of the same lines
    @pytest.mark.parametrize("shape", [(60, 30), (100, 300), (100, 4000), (200, 1000)])
    @pytest.mark.parametrize("n_factors", [0, 5])
    def test_clean_rows_are_kept_and_calibrated(self, shape, n_factors):
        """Seen and new rows alike; below a twentieth, for few tables are drawn."""
        n, d = shape
        seen, new = [], []
        for seed in range(6):
            rng = np.random.default_rng([seed, n, d])
            loadings = rng.standard_normal((n_factors, d))

            def draw(size, rng=rng, loadings=loadings):
                return (
                    rng.standard_normal((size, d))
                    + rng.standard_normal((size, len(loadings))) @ loadings
                )

            detector, categories = fit_noting(draw(n))
            assert not categories
            assert detector.effective_sample_size_ > 0.85 * n
            seen.append(np.mean(detector.p_values_ < 0.01))
            new.append(np.mean(detector.p_values(draw(300)) < 0.01))
        assert np.mean(seen) < 0.05
        assert np.mean(new) < 0.05

    @pytest.mark.parametrize("share", [0.05, 0.2])
    def test_a_group_is_found_among_few_rows(self, share):
        rng = np.random.default_rng(11)
        X = rng.standard_normal((100, 2000))
        shift = rng.standard_normal(2000)
        X[: int(100 * share)] += shift * 60 / np.linalg.norm(shift)
        detector, categories = fit_noting(X)
        is_found = detector.is_outlier_[: int(100 * share)].all()
        assert is_found if share < 0.1 else is_found or MaskingWarning in categories
        assert detector.is_outlier_[int(100 * share) :].sum() <= 3

    def test_left_out_distances_are_those_of_a_fit_without_the_row(self):
        """With a shrunk covariance and equal weights, against a fit to the other rows."""
        rng = np.random.default_rng(12)
        X = rng.standard_normal((80, 40))
        detector = EOSDetector(alpha=np.inf).fit(X)
        model, judge = detector.model_, detector._judge
        assert 0 < model.amount < 1
        approximate = judge.pull.leave_out(judge.fit.measure(X))
        working = model.coordinates(X)
        search = StartSearch(replace(model, coordinates=None), working, np.ones(80))
        for row in range(5):
            fit = search.fit((np.arange(80) != row).astype(float) / 79)
            exact = fit.mahalanobis(working[row : row + 1])[0]
            np.testing.assert_allclose(approximate[row], exact, rtol=0.08)

    def test_the_law_of_many_columns_is_chi_squared_with_many_rows(self):
        rng = np.random.default_rng(13)
        X = rng.standard_normal((6000, 80))
        detector = EOSDetector().fit(X)
        expected = chi2.sf(np.square(X).sum(axis=1), 80)
        assert np.corrcoef(detector.p_values_, expected)[0, 1] > 0.97


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_group_along_one_column_of_few_rows_is_warned_about(share, seed):
    """Three rows per column tell a shrunk covariance little about any of them."""
    X = np.random.default_rng(seed).standard_normal((600, 200))
    X[: int(600 * share), 0] += 8 * 200**0.5
    with pytest.warns(MaskingWarning, match="lie apart in a few directions"):
        EOSDetector(model="gaussian").fit(X)


def test_heavy_tails_of_few_rows_are_no_group():
    X = np.random.default_rng(0).standard_t(5, (600, 200))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MaskingWarning)
        EOSDetector(model="gaussian").fit(X)


@pytest.mark.filterwarnings("ignore::eosparse.MaskingWarning")
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_most_rows_on_a_line_and_many_on_a_point_of_it(rate):
    X = np.random.default_rng(1).poisson(rate, (300, 3)).astype(float)
    with pytest.warns(DegenerateDataWarning):
        detector = EOSDetector(model="gaussian").fit(X)
    np.testing.assert_array_equal(detector.is_outlier_, (X > 0).any(axis=1))
