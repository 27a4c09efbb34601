"""Rows with gaps: conditional laws, expectation-maximisation, and what must not depend on them."""

import warnings
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.stats import chi2
from sklearn.base import clone

from eosparse import (
    EOSPCA,
    DegenerateDataWarning,
    EOSCells,
    EOSDetector,
    EOSGaussianMixture,
    open_rows,
)
from eosparse.core import alternate, has_gaps
from eosparse.models import (
    GaussianModel,
    MixtureModel,
    Normal,
    Plane,
    draw_gaps,
    guess_law,
)
from eosparse.models.gaps import fill_rows, match_chances, spread_of_gaps
from eosparse.models.gaussian_gaps import Gaps
from eosparse.models.subspace import GapGuess
from eosparse.rows import MemoryRows


def draw_law(rng, size):
    mixing = rng.normal(size=(size, size))
    return Normal(rng.normal(size=size), mixing @ mixing.T + np.eye(size))


def draw_rows(rng, n_rows=1000, size=4, share=0.15):
    X = rng.multivariate_normal(np.arange(size), 0.5 + 0.5 * np.eye(size), n_rows)
    complete = X.copy()
    X[rng.random(X.shape) < share] = np.nan
    X[np.isnan(X).all(axis=1)] = np.arange(size)  # rows without any value have tests of their own
    return X, complete


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_gaps_follow_the_conditional_law(seed, size):
    rng = np.random.default_rng(seed)
    theta, rows = draw_law(rng, size), rng.normal(size=(20, size))
    missing = rng.random(rows.shape) < 0.4
    rows[missing] = np.nan
    weights = rng.random(20)
    filled, spread = fill_rows(theta, rows), np.zeros((size, size))
    for row, m, w, i in zip(rows, missing, weights, range(20), strict=True):
        V, o, z = theta.covariance, ~m, (row - theta.location)[~m]
        to_rest = V[np.ix_(m, o)] @ np.linalg.pinv(V[np.ix_(o, o)])
        distance = z @ np.linalg.pinv(V[np.ix_(o, o)]) @ z
        assert filled.distances[i] == pytest.approx(distance, abs=1e-8)
        assert theta.log_det + filled.log_dets[i] == pytest.approx(
            np.linalg.slogdet(V[np.ix_(o, o)])[1] if o.any() else 0.0, abs=1e-8
        )
        np.testing.assert_allclose(filled.centred[i][m], to_rest @ z, atol=1e-8)
        spread[np.ix_(m, m)] += w * (V[np.ix_(m, m)] - to_rest @ V[np.ix_(o, m)])
    np.testing.assert_allclose(spread_of_gaps(theta, missing, weights), spread, atol=1e-8)


def test_variances_are_a_diagonal_covariance():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((30, 3)) < 0.3, np.nan, rng.normal(size=(30, 3)))
    variances = np.array([1.0, 4.0, 0.25])
    one, full = Normal(np.ones(3), variances), Normal(np.ones(3), np.diag(variances))
    for name in ("centred", "distances", "log_dets"):
        found, wanted = (getattr(fill_rows(theta, rows), name) for theta in (one, full))
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    missing, weights = np.isnan(rows), rng.random(30)
    found, wanted = (spread_of_gaps(theta, missing, weights) for theta in (one, full))
    np.testing.assert_allclose(found, np.diag(wanted))


@pytest.mark.parametrize("count", [1, 3, 8])
def test_distances_of_some_columns_match_the_chance_of_those_of_all(count):
    distances = np.array([0.1, 1.0, 20.0, 500.0])
    matched = match_chances(distances, np.full(4, count), 8, 2.0)
    np.testing.assert_allclose(chi2.logsf(matched / 2, 8), chi2.logsf(distances / 2, count))
    far = match_chances(np.array([3e3, 1e5]), np.full(2, count), 8, 1.0)
    assert far[0] < far[1] < 1.1e5
    assert far[0] >= 3e3


@pytest.mark.parametrize("model", [GaussianModel(n_features=3), MixtureModel(1, 0.0)])
def test_at_equal_weights_it_is_maximum_likelihood(model):
    """Expectation-maximisation ends where the score of the observed likelihood is zero."""
    X, _ = draw_rows(np.random.default_rng(0), 400, 3)
    start = Normal(np.zeros(3), np.eye(3))
    if isinstance(model, MixtureModel):
        from eosparse.models import Mixture

        begin = Mixture(np.ones(1), (start,))
        theta = alternate(model, MemoryRows(X), np.inf, begin, tol=1e-15).theta.components[0]
    else:
        model = replace(model, gaps=Gaps(guess_law(X, np.ones(400)), 0.15))
        theta = alternate(model, MemoryRows(X), np.inf, start, tol=1e-15, accelerate=False).theta

    def likelihood(theta):
        filled = fill_rows(theta, X)
        return -0.5 * (filled.distances + filled.log_dets + theta.log_det).sum()

    best, step = likelihood(theta), 1e-3
    for i in range(3):
        for sign in (1, -1):
            moved = theta.location + sign * step * np.eye(3)[i]
            assert likelihood(Normal(moved, theta.covariance)) < best
            change = sign * step * (np.outer(np.eye(3)[i], np.eye(3)[0]))
            moved = theta.covariance + change + change.T
            assert likelihood(Normal(theta.location, moved)) < best


@pytest.mark.parametrize("model", ["gaussian", "auto"])
def test_the_objective_falls_and_gross_errors_are_found(model):
    rng = np.random.default_rng(1)
    X, _ = draw_rows(rng)
    X[:50, 0] = 30.0
    detector = EOSDetector(model=model).fit(X)
    assert (np.diff(detector.objective_history_) <= 1e-12).all()
    assert detector.is_outlier_[:50].all()
    assert detector.is_outlier_[50:].mean() < 0.005
    assert detector.weights_.sum() == pytest.approx(1.0)


def test_p_values_are_uniform_whatever_is_missing():
    below = {n: [] for n in range(3)}
    for seed in range(8):
        X, _ = draw_rows(np.random.default_rng(seed), 2000, 5, 0.2)
        p, gaps = EOSDetector(model="gaussian").fit(X).p_values_, np.isnan(X).sum(axis=1)
        for n, shares in below.items():
            shares.append((p[gaps == n] < 0.05).mean())
    for n, shares in below.items():
        assert np.mean(shares) == pytest.approx(0.05, abs=0.012), n


def test_the_covariance_is_better_than_that_of_whole_rows():
    errors = []
    for seed in range(6):
        X, complete = draw_rows(np.random.default_rng(seed), 600, 6, 0.2)
        whole = X[~np.isnan(X).any(axis=1)]
        wanted = 0.5 + 0.5 * np.eye(6)
        errors.append([np.abs(EOSDetector(model="gaussian").fit(rows).covariance_ - wanted).mean()
                       for rows in (complete, X, whole)])  # fmt: skip
    best, ours, dropped = np.mean(errors, axis=0)
    assert ours < 0.8 * dropped
    assert ours < 1.5 * best


def draw_bulk(name, rng):
    X, _ = draw_rows(rng, 1000, 4)
    if name == "margins":
        return np.exp(X - np.arange(4))
    if name == "groups":
        X[:500] += 12
    if name == "local":
        X[:, 0] = np.where(rng.random(1000) < 0.4, np.where(np.isnan(X[:, 0]), np.nan, 0), X[:, 0])
    return X


@pytest.mark.parametrize("rung", ["gaussian", "margins", "groups", "local"])
def test_every_rung_takes_gaps(rung, tmp_path):
    rng = np.random.default_rng(3)
    X = draw_bulk(rung, rng)
    X[:20, 1] = 400.0
    detector = EOSDetector().fit(X)
    assert detector.rung_ == rung
    assert detector.is_outlier_[:20].all()
    assert detector.is_outlier_[20:].mean() < 0.01
    assert np.isfinite(detector.p_values_).all()
    order = rng.permutation(1000)
    np.testing.assert_array_equal(
        EOSDetector().fit(X[order]).is_outlier_, detector.is_outlier_[order]
    )
    np.testing.assert_array_equal(detector.predict(X) == -1, detector.is_outlier_)
    explanation = detector.explain(X[:20])
    assert {explanation.top(row, n=1)[0][0] for row in range(20)} == {"x1"}
    assert (explanation.deviations[np.isnan(X[:20])] == 0).all()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    stored = EOSDetector().fit(tmp_path / "rows.parquet")
    np.testing.assert_allclose(
        stored.score_samples(frame), detector.score_samples(X), rtol=1e-6, atol=1e-9
    )


def test_missing_categories_truths_and_dates():
    rng = np.random.default_rng(0)
    days = pd.to_timedelta(rng.integers(0, 90, 600), "D")
    frame = pd.DataFrame({"kind": rng.choice(["a", "b"], 600), "size": rng.normal(9, 1, 600),
                          "when": pd.Timestamp("2026-01-01") + days})  # fmt: skip
    frame["is_new"] = rng.random(600) < 0.5
    frame["is_new"] = frame["is_new"].astype(object)
    frame.loc[:9, "kind"] = None
    frame.loc[20:29, "is_new"] = None
    frame.loc[30:39, "when"] = pd.NaT
    frame.loc[50, "size"] = 90.0
    detector = EOSDetector().fit(frame)
    assert np.flatnonzero(detector.is_outlier_).tolist() == [50]
    assert (detector.predict(frame.iloc[:40]) == 1).all()


def test_rows_without_any_value_get_no_verdict():
    X, _ = draw_rows(np.random.default_rng(0), 300)
    X[7] = np.nan
    with pytest.warns(DegenerateDataWarning, match="1 row has no value at all"):
        detector = EOSDetector().fit(X)
    assert detector.weights_[7] == 0.0
    assert detector.p_values_[7] == 1.0
    assert not detector.is_outlier_[7]


def test_models_that_take_no_gaps_say_so():
    X, _ = draw_rows(np.random.default_rng(0), 300)
    with pytest.raises(ValueError, match="does not accept missing values"):
        EOSDetector(model="clusters").fit(X)


def test_relations_between_columns_survive_gaps():
    rng = np.random.default_rng(0)
    weight = rng.normal(70, 10, 2000)
    X = np.column_stack([weight, 2.2 * weight, rng.normal(170, 9, 2000)])
    X[np.arange(0, 2000, 7), rng.integers(0, 3, 286)] = np.nan
    X[:5, 2] = 400.0
    detector = EOSDetector().fit(X)
    assert np.flatnonzero(detector.is_outlier_).tolist() == [0, 1, 2, 3, 4]


def test_columns_of_which_most_values_are_equal_have_a_spread():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), 5 + 1e-16 * rng.normal(size=300)])
    X[:30, 1] = rng.normal(size=30)
    X[::7, 0] = np.nan
    law = guess_law(X, np.ones(300))
    assert law.covariance[1, 1] > 0.1
    assert np.isfinite(fill_rows(law, X).distances).all()


def test_draws_scatter_like_the_law_and_keep_what_is_there():
    X, complete = draw_rows(np.random.default_rng(0), 5000, 4, 0.25)
    drawn = draw_gaps(guess_law(X, np.ones(5000)), X)
    assert not has_gaps(drawn)
    there = ~np.isnan(X)
    np.testing.assert_array_equal(drawn[there], X[there])
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(complete.T), atol=0.1)


def draw_few_rows(rng, n_components, size, missing):
    """Return a plane, and five rows with a share of their values missing."""
    axes = np.linalg.qr(rng.normal(size=(size, size)))[0][:n_components]
    values = rng.normal(size=(5, size))
    values[rng.random((5, size)) < missing] = np.nan
    return Plane(rng.normal(size=size), axes, np.ones(n_components)), values


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(3, 6))
def test_gaps_hold_the_nearest_point_of_a_subspace(seed, n_components, size):
    rng = np.random.default_rng(seed)
    plane, values = draw_few_rows(rng, n_components, size, 0.3)
    filled, costs = plane.fill(values)
    for row, found, cost in zip(values, filled, costs, strict=True):
        there = ~np.isnan(row)
        np.testing.assert_array_equal(found[there], row[there])
        part = plane.components[:, there].T
        if np.linalg.matrix_rank(part, tol=1e-2) == n_components:
            assert cost < 1e-6
            point = np.linalg.lstsq(part, (row - plane.location)[there])[0]
            np.testing.assert_allclose(
                found[~there],
                (plane.location + point @ plane.components)[~there],
                rtol=1e-4,
                atol=1e-4,
            )


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(3, 6))
def test_no_other_values_in_gaps_make_the_error_smaller(seed, n_components, size):
    rng = np.random.default_rng(seed)
    plane, values = draw_few_rows(rng, n_components, size, 0.4)
    guess = GapGuess.of(draw_law(rng, size), max(size - n_components, 1))
    expected, (filled, costs) = guess.fill(values), plane.fill(values, guess)

    def measure(rows):
        away = rows - expected
        held = np.einsum("ij,jk,ik->i", away, guess.precision, away)
        return np.square(plane.residuals(rows)).sum(axis=1) + held

    least = measure(filled)
    off = np.square(plane.residuals(filled)).sum(axis=1)
    np.testing.assert_allclose(off + costs, least, atol=1e-9)
    for size_of_step in (1e-3, 1.0):
        others = filled + size_of_step * rng.normal(size=values.shape) * np.isnan(values)
        assert (measure(others) >= least - 1e-9).all()


def test_few_columns_do_not_turn_a_subspace_to_values_of_any_size():
    # With three directions in six columns, many rows have hardly more values than directions.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 3)) @ rng.normal(size=(3, 6)) + rng.normal(size=(2000, 6))
    whole = EOSPCA(3).fit(X)
    X[rng.random(X.shape) < 0.05] = np.nan
    model = EOSPCA(3).fit(X)
    assert model.n_iter_ < 100
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=0.15)


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_rows_does_not_move_the_first_guess(seed):
    # The score of a median is zero but for rounding, and must not count as a gap.
    rng = np.random.default_rng(seed)
    X, _ = draw_rows(rng, 301, 4, 0.2)
    one, other = (guess_law(rows, np.ones(301)) for rows in (X, rng.permutation(X)))
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-11)


@pytest.mark.parametrize("estimator", [EOSPCA(3), EOSDetector(model="gaussian")])
def test_the_order_of_rows_with_gaps_does_not_matter(estimator):
    X, _ = draw_rows(np.random.default_rng(5), 601, 6, 0.3)
    order = np.random.default_rng(6).permutation(len(X))
    one, other = clone(estimator).fit(X), clone(estimator).fit(X[order])
    np.testing.assert_allclose(other.p_values(X), one.p_values(X), rtol=1e-6, atol=1e-9)


def draw_plane(rng, share, n_rows=1500, size=8):
    axes = np.linalg.qr(rng.normal(size=(size, 2)))[0].T
    X = rng.normal(size=(n_rows, 2)) * [5, 3] @ axes + rng.normal(size=(n_rows, size)) * 0.3 + 4
    X[:150] += 4 * rng.normal(size=(150, size))
    X[rng.random(X.shape) < share] = np.nan
    return X, axes


@pytest.mark.filterwarnings("ignore::eosparse.DegenerateDataWarning")
@pytest.mark.parametrize("share", [0.05, 0.25])
def test_components_of_rows_with_gaps(share):
    X, axes = draw_plane(np.random.default_rng(0), share)
    model = EOSPCA(2).fit(X)
    assert np.linalg.svd(model.components_ @ axes.T, compute_uv=False).min() > 0.999
    assert (np.diff(model.objective_history_) <= 1e-12 * np.abs(model.objective_)).all()
    assert model.noise_variance_ == pytest.approx(0.09, rel=0.1)
    assert model.is_outlier_[:150].mean() > 0.95
    assert model.is_outlier_[150:].mean() < 0.005
    n_there = (~np.isnan(X[150:])).sum(axis=1)
    p_values = model.p_values(X[150:])
    for count in np.unique(n_there[n_there > 3]):
        of_count = p_values[n_there == count]
        assert (of_count < 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 / len(of_count))
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.filterwarnings("ignore::eosparse.DegenerateDataWarning")
@pytest.mark.parametrize("estimator", [EOSPCA(2), EOSGaussianMixture(2)])
def test_storages_agree_on_rows_with_gaps(estimator, tmp_path):
    X, _ = draw_plane(np.random.default_rng(1), 0.1)
    X[1000:] += 30
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=200)
    here = clone(estimator).fit(frame)
    there = clone(estimator).fit(tmp_path / "rows.parquet")
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-10)
    np.testing.assert_allclose(there.p_values(frame), here.p_values(frame), rtol=1e-6, atol=1e-12)


@pytest.mark.filterwarnings("ignore::eosparse.DegenerateDataWarning")
@pytest.mark.parametrize("estimator", [EOSPCA(2), EOSGaussianMixture(1), EOSDetector(), EOSCells()])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_without_any_value_do_not_count_in_any_storage(estimator, weighted, tmp_path):
    da = pytest.importorskip("dask.array")
    X, _ = draw_plane(np.random.default_rng(2), 0.1)
    weights = np.arange(len(X)) % 3.0 if weighted else np.ones(len(X))
    wanted = clone(estimator).fit(X, sample_weight=weights).objective_
    empty = np.full((2, X.shape[1]), np.nan)
    rows = np.concatenate([X[:700], empty, X[700:]])
    mass = np.concatenate([weights[:700], [1.0, 2.0], weights[700:]])
    frame = pd.DataFrame(rows, columns=list("abcdefgh")).assign(weight=mass)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=200)
    lazy, prior = da.from_array(rows, chunks=(500, -1)), da.from_array(mass, chunks=500)
    there = open_rows(tmp_path, list("abcdefgh"), weights="weight" if weighted else None)
    fits = [
        clone(estimator).fit(rows, sample_weight=mass),
        clone(estimator).fit(lazy, sample_weight=prior if weighted else None),
        clone(estimator).fit(there),
    ]
    np.testing.assert_allclose([fit.objective_ for fit in fits], wanted, rtol=1e-10)
    if hasattr(fits[1], "weights_"):
        np.testing.assert_allclose(fits[1].weights_, fits[0].weights_, atol=1e-12)
        assert fits[1].weights_[700:702].compute().tolist() == [0.0, 0.0]


def test_rows_without_any_value_are_named(tmp_path):
    X, _ = draw_plane(np.random.default_rng(2), 0.1)
    X[5] = np.nan
    pd.DataFrame(X, columns=list("abcdefgh")).to_parquet(tmp_path / "rows.parquet")
    with pytest.warns(DegenerateDataWarning, match="1 row has no value at all"):
        EOSDetector(model="gaussian").fit(tmp_path / "rows.parquet")


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_mixtures_of_rows_with_gaps(share):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (1000, 4)), rng.normal(6, 2, (500, 4))])
    wrong = np.arange(1500) % 30 == 0
    X[wrong] = rng.uniform(-60, 60, (50, 4))
    X[rng.random(X.shape) < share] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    model = EOSGaussianMixture(2).fit(X)
    np.testing.assert_allclose(model.means_, np.repeat([[0.0], [6.0]], 4, axis=1), atol=0.4)
    variances = np.diagonal(model.covariances_, axis1=1, axis2=2)
    np.testing.assert_allclose(variances, np.repeat([[1.0], [4.0]], 4, axis=1), rtol=0.3)
    assert (np.diff(model.objective_history_) <= 1e-12).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_gaps_of_a_constant_column_hold_its_value():
    """A draw in its place made a heap of the column, and all other rows outliers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:5] += 8
    X[rng.random(X.shape) < 0.35] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    constant = np.where(rng.random(len(X)) < 0.35, np.nan, 5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        beside = EOSDetector(model="gaussian").fit(np.column_stack([X, constant]))
    np.testing.assert_array_equal(
        beside.is_outlier_, EOSDetector(model="gaussian").fit(X).is_outlier_
    )


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**30])
@pytest.mark.parametrize("has_constant", [False, True])
def test_a_subspace_of_rows_with_gaps_has_no_unit(factor, has_constant):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(200, 6))
    X[:10] += 20.0
    if has_constant:
        X[:, 2] = 7.0
    X[rng.random(X.shape) < 0.1] = np.nan
    one, other = EOSPCA(2).fit(X), EOSPCA(2).fit(factor * X)
    np.testing.assert_array_equal(one.is_outlier_, other.is_outlier_)
    np.testing.assert_allclose(one.p_values(X), other.p_values(factor * X), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.9])
@pytest.mark.parametrize("model", ["auto", "groups", "local"])
def test_rows_without_numbers_are_no_heap(model, share):
    # Their draws would all be the same: most rows seemed equal, and no row had a p-value.
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4))
    numbers[rng.random(400) < share] = np.nan
    numbers[rng.random((400, 4)) < 0.2] = np.nan
    frame = pd.DataFrame(numbers, columns=list("abcd")).assign(kind=rng.integers(0, 2, 400))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DegenerateDataWarning)
        detector = EOSDetector(model=model).fit(frame)
    assert np.isfinite(detector.p_values_).all()
    assert detector.is_outlier_.mean() < 0.02


@pytest.mark.parametrize("rounding", [0.0, 1e-12])
def test_a_column_that_varies_by_rounding_is_constant(rounding):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 1] = 5 + rounding * rng.normal(size=300)
    X[rng.random(X.shape) < 0.2] = np.nan
    law = guess_law(X, np.ones(300))
    filled = fill_rows(law, X).centred + law.location  # raises if the law is singular
    np.testing.assert_allclose(filled[:, 1], 5.0, atol=0.01)
