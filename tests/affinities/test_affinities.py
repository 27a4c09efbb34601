"""Affinities, compared with scikit-learn, openTSNE and a high-precision oracle."""

import pickle
import tracemalloc
import warnings
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse
from scipy.spatial.distance import cdist, squareform
from sklearn.manifold import _t_sne
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from eosparse import UnreachedPerplexityWarning, entropic_affinities
from eosparse.affinities import cells, densities, entropic, euclidean, pairs
from eosparse.core import optimal_weights, rowwise_weights_for_perplexity

ERRORS = ["sqeuclidean", "euclidean", "manhattan", "cosine", "chebyshev"]


def table(n_rows=120, n_columns=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def dense(matrix):
    return matrix.toarray() if issparse(matrix) else matrix


def without_own(matrix):
    n = len(matrix)
    return matrix[~np.eye(n, dtype=bool)].reshape(n, n - 1)


def kullback_leibler(A, B):
    """An error that is not symmetric."""
    return (A[:, None] * (np.log(A)[:, None] - np.log(B))).sum(axis=2)


def directed(A, B):
    return kullback_leibler(np.exp(A), np.exp(B))


# Against oracles


def decimal_probabilities(errors, perplexity):
    """Solve one row by bisection on 1/α with 40 digits: an independent algorithm."""
    with localcontext() as context:
        context.prec = 40
        values = [Decimal(float(error)) for error in errors]
        lowest, target = min(values), Decimal(perplexity).ln()
        low, high = Decimal(0), Decimal(10) ** 6
        for _ in range(120):
            beta = (low + high) / 2
            tilts = [-(value - lowest) * beta for value in values]
            mass = [tilt.exp() for tilt in tilts]
            total = sum(mass)
            entropy = total.ln() - sum(m * t for m, t in zip(mass, tilts, strict=True)) / total
            low, high = (beta, high) if entropy > target else (low, beta)
        return np.array([float(m / total) for m in mass]), float(1 / beta)


@pytest.mark.parametrize("perplexity", [2.5, 10, 35])
def test_probabilities_equal_a_forty_digit_solution(perplexity):
    X = table(40)
    ours = entropic_affinities(X, perplexity=perplexity, symmetric=False)
    E = without_own(cdist(X, X, "sqeuclidean"))
    for row in (0, 17, 39):
        expected, alpha = decimal_probabilities(E[row], perplexity)
        np.testing.assert_allclose(without_own(ours.P)[row], expected, rtol=1e-10, atol=1e-15)
        assert ours.alphas[row] == pytest.approx(alpha, rel=1e-10)


@pytest.mark.parametrize("perplexity", [5, 30])
def test_exact_probabilities_agree_with_scikit_learn(perplexity):
    """Scikit-learn rounds distances to single precision and stops at 1e-5 in entropy; at that
    tolerance its joint probabilities, of the size 1/n², still agree with ours to 1e-8."""
    X = table(500, 10)
    theirs = _t_sne._joint_probabilities(cdist(X, X, "sqeuclidean"), perplexity, 0)
    P = entropic_affinities(X, perplexity=perplexity).P
    np.testing.assert_allclose(squareform(P, checks=False), theirs, rtol=0, atol=1e-8)
    np.testing.assert_allclose(squareform(P, checks=False), theirs, rtol=2e-3, atol=1e-12)


def test_neighbour_probabilities_agree_with_scikit_learn():
    X = table(500, 10)
    graph = NearestNeighbors(n_neighbors=90).fit(X).kneighbors_graph(mode="distance")
    graph.data **= 2
    theirs = _t_sne._joint_probabilities_nn(graph, 30, 0)
    ours = entropic_affinities(X, perplexity=30, n_neighbors=90)
    np.testing.assert_allclose(ours.P.toarray(), theirs.toarray(), rtol=0, atol=1e-8)
    assert ours.P.nnz == theirs.nnz


@pytest.mark.parametrize("symmetric", [True, False])
def test_probabilities_agree_with_opentsne(symmetric):
    """On the same exact neighbours; openTSNE solves for α more precisely than scikit-learn."""
    openTSNE = pytest.importorskip("openTSNE", reason="needs eosparse[tsne]")
    X = table(400, 10)
    theirs = openTSNE.affinity.PerplexityBasedNN(
        X, perplexity=30, method="exact", k_neighbors=90, symmetrize=symmetric
    )
    ours = entropic_affinities(X, n_neighbors=90, symmetric=symmetric)
    P = ours.as_opentsne().P
    np.testing.assert_allclose(P.toarray(), theirs.P.toarray(), rtol=0, atol=1e-10)
    new = table(7, 10, seed=1)
    np.testing.assert_allclose(
        ours.to_new(new).toarray(), theirs.to_new(new).toarray(), rtol=0, atol=1e-7
    )


# Properties


@given(st.integers(0, 100), st.floats(1.5, 20), st.floats(-100, 100), st.floats(1e-6, 1e6))
@settings(max_examples=30)
def test_a_constant_changes_nothing_and_a_factor_scales_alpha(seed, perplexity, constant, factor):
    E = cdist(table(30, seed=seed), table(30, seed=seed), "cityblock")
    plain, shifted, scaled = (
        entropic_affinities(matrix, error="precomputed", perplexity=perplexity)
        for matrix in (E, E + constant * np.arange(30)[:, None], E * factor)
    )
    np.testing.assert_allclose(shifted.P, plain.P, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(scaled.P, plain.P, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(scaled.alphas, factor * plain.alphas, rtol=1e-9)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("error", [*ERRORS, kullback_leibler])
def test_all_other_rows_as_neighbours_give_the_exact_result(error, symmetric):
    X = np.exp(table())
    X /= X.sum(axis=1, keepdims=True)
    exact = entropic_affinities(X, error=error, n_neighbors=None, symmetric=symmetric)
    sparse = entropic_affinities(X, error=error, n_neighbors=len(X) - 1, symmetric=symmetric)
    assert isinstance(exact.P, np.ndarray)
    assert issparse(sparse.P)
    np.testing.assert_allclose(sparse.P.toarray(), exact.P, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(sparse.alphas, exact.alphas, rtol=1e-7)
    total = exact.P.sum() if symmetric else exact.P.sum(axis=1)
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
    assert (np.diag(exact.P) == 0).all()
    if symmetric:
        np.testing.assert_array_equal(exact.P, exact.P.T)


@pytest.mark.parametrize("n_neighbors", [None, 60])
@pytest.mark.parametrize("error", ["sqeuclidean", "euclidean", "manhattan"])
def test_names_functions_and_matrices_agree(error, n_neighbors):
    X = table()
    metric = "cityblock" if error == "manhattan" else error
    results = [
        entropic_affinities(rows, error=kind, perplexity=12, n_neighbors=n_neighbors)
        for rows, kind in (
            (X, error),
            (X, lambda A, B: cdist(A, B, metric)),
            (cdist(X, X, metric), "precomputed"),
        )
    ]
    for other in results[1:]:
        np.testing.assert_allclose(dense(other.P), dense(results[0].P), rtol=1e-10, atol=1e-16)


def test_blocks_change_nothing(monkeypatch):
    X = table(150)
    kinds = [(error, n) for error in ("sqeuclidean", directed) for n in (None, 95)]
    whole = [entropic_affinities(X, error=error, n_neighbors=n) for error, n in kinds]
    monkeypatch.setattr(pairs, "_BLOCK", 1000)
    monkeypatch.setattr(densities, "_TILE", 37)
    cut = [entropic_affinities(X, error=error, n_neighbors=n) for error, n in kinds]
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_allclose(dense(one.P), dense(other.P), rtol=1e-9, atol=1e-16)


def test_a_function_is_called_with_blocks(monkeypatch):
    sizes = []

    def error(A, B):
        sizes.append((len(A), len(B)))
        return cdist(A, B)

    monkeypatch.setattr(pairs, "_BLOCK", 1200)
    entropic_affinities(table(120), error=error)
    assert sizes == [(10, 120)] * 12


def test_memory_is_bounded_by_blocks():
    """All errors of 3000 rows would take 72 MB."""
    X = table(3000)
    tracemalloc.start()
    entropic_affinities(X, error=cdist, perplexity=5, n_neighbors=15)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6


def test_many_rows_use_neighbours_by_default(monkeypatch):
    monkeypatch.setattr(entropic, "EXACT_ROWS", 100)
    X = table(120)
    assert entropic_affinities(X, perplexity=10).n_neighbors == 30
    assert entropic_affinities(X[:100], perplexity=10).n_neighbors is None
    assert entropic_affinities(X, perplexity=10, n_neighbors=None).n_neighbors is None
    with pytest.raises(ValueError, match="needs a number of neighbours"):
        entropic_affinities(X, alpha=1.0)


def test_an_alpha_instead_of_a_perplexity():
    X = table(50)
    affinities = entropic_affinities(X, alpha=0.8, symmetric=False)
    for row in (0, 49):
        others = np.delete(np.arange(50), row)
        errors = cdist(X[[row]], X[others], "sqeuclidean")[0]
        expected = optimal_weights(errors, 0.8)
        np.testing.assert_allclose(affinities.P[row, others], expected.weights, rtol=1e-9)
        assert affinities.perplexities[row] == pytest.approx(expected.perplexity)
    uniform = entropic_affinities(X, alpha=np.inf, symmetric=False)
    np.testing.assert_allclose(without_own(uniform.P), 1 / 49)


def test_rows_need_not_be_numbers():
    words = np.array(["outlier", "outliers", "inlier", "inliers", "entropy", "entropies"])

    def letters(A, B):
        return [[len(set(a) ^ set(b)) for b in B] for a in A]

    affinities = entropic_affinities(words, error=letters, perplexity=2.2)
    assert affinities.P[0].argmax() == 1
    assert affinities.to_new(np.array(["inliner"]))[0].argmax() == 2


# New rows


@pytest.mark.parametrize("n_neighbors", [None, 60])
@pytest.mark.parametrize("error", ["sqeuclidean", "manhattan", directed])
def test_new_rows_have_the_requested_perplexity(error, n_neighbors):
    X, new = table(), table(9, seed=1)
    affinities = entropic_affinities(X, error=error, perplexity=15, n_neighbors=n_neighbors)
    P = dense(affinities.to_new(new))
    assert P.shape == (9, len(X))
    for requested, rows in ((15, P), (8, dense(affinities.to_new(new, perplexity=8)))):
        logs = np.log(np.where(rows > 0, rows, 1.0))
        np.testing.assert_allclose(np.exp(-(rows * logs).sum(axis=1)), requested, rtol=1e-10)


def test_a_training_row_as_a_new_row_is_its_own_neighbour():
    X = table(60)
    affinities = entropic_affinities(X, perplexity=10)
    P = affinities.to_new(X[:5])
    expected = rowwise_weights_for_perplexity(cdist(X[:5], X, "sqeuclidean"), 10).weights
    np.testing.assert_allclose(P, expected, rtol=1e-8, atol=1e-15)
    assert (P.argmax(axis=1) == np.arange(5)).all()


@pytest.mark.parametrize("n_neighbors", [None, 40])
def test_neighbours_of_new_rows_come_by_increasing_error(n_neighbors):
    X, new = table(60), table(5, seed=1)
    found = entropic_affinities(X, perplexity=9, n_neighbors=n_neighbors).find_neighbours(new)
    P = found.to_matrix(60).toarray()
    E = cdist(new, X, "sqeuclidean")
    np.testing.assert_allclose(np.take_along_axis(E, found.indices, axis=1), found.errors)
    np.testing.assert_allclose(found.errors[:, :40], np.sort(E, axis=1)[:, :40])
    np.testing.assert_array_equal(
        np.take_along_axis(P, found.indices, axis=1), found.solution.weights
    )


def test_new_rows_of_precomputed_errors():
    X, new = table(80), table(4, seed=1)
    E, E_new = cdist(X, X), cdist(new, X)
    precomputed = entropic_affinities(E, error="precomputed", perplexity=9)
    named = entropic_affinities(X, error="euclidean", perplexity=9)
    np.testing.assert_allclose(precomputed.to_new(E_new), named.to_new(new), rtol=1e-9, atol=1e-15)


def test_precomputed_neighbours():
    """A graph of scikit-learn, with or without the row itself, or of another library."""
    X = table(100)
    search = NearestNeighbors(n_neighbors=30).fit(X)
    named = entropic_affinities(X, error="euclidean", perplexity=9, n_neighbors=30)
    graph = search.kneighbors_graph(mode="distance")
    affinities = entropic_affinities(graph, error="precomputed", perplexity=9)
    assert affinities.n_neighbors == 30
    np.testing.assert_allclose(affinities.P.toarray(), named.P.toarray(), rtol=1e-9)
    with_own = search.kneighbors_graph(X, 31, mode="distance")
    affinities = entropic_affinities(with_own, error="precomputed", perplexity=9)
    np.testing.assert_allclose(affinities.P.toarray(), named.P.toarray(), rtol=1e-9)
    wider = NearestNeighbors(n_neighbors=50).fit(X).kneighbors_graph(mode="distance")
    affinities = entropic_affinities(wider, error="precomputed", perplexity=9, n_neighbors=30)
    np.testing.assert_allclose(affinities.P.toarray(), named.P.toarray(), rtol=1e-9)
    new = table(3, seed=1)
    P_new = affinities.to_new(search.kneighbors_graph(new, mode="distance"))
    np.testing.assert_allclose(P_new.toarray(), named.to_new(new).toarray(), rtol=1e-9)


def test_precomputed_neighbours_are_not_changed():
    graph = NearestNeighbors(n_neighbors=30).fit(table(100)).kneighbors_graph(mode="distance")
    before = graph.copy()
    entropic_affinities(graph, error="precomputed", perplexity=9)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(graph, part), getattr(before, part))


# Ties and other difficult input


@pytest.mark.parametrize("n_neighbors", [None, 20])
def test_too_many_duplicates_share_the_probability_and_are_named(n_neighbors):
    X = table(60)
    X[10:25] = X[10] + 100  # fifteen equal rows, far from all others: fourteen errors of zero
    with pytest.warns(UnreachedPerplexityWarning, match="15 rows, the first of them row 10"):
        affinities = entropic_affinities(X, perplexity=9, n_neighbors=n_neighbors, symmetric=False)
    P = dense(affinities.P)
    expected = (1 - np.eye(15)) / 14
    np.testing.assert_allclose(P[10:25, 10:25], expected, atol=1e-15)
    assert (affinities.alphas[10:25] == 0).all()
    np.testing.assert_allclose(affinities.perplexities[10:25], 14)
    rest = np.r_[0:10, 25:60]
    np.testing.assert_allclose(affinities.perplexities[rest], 9, rtol=1e-10)


def test_new_rows_among_too_many_duplicates_are_named():
    X = table(60)
    X[10:25] = X[10] + 100
    affinities = entropic_affinities(X, perplexity=20)
    for method in (affinities.to_new, affinities.find_neighbours):
        with pytest.warns(UnreachedPerplexityWarning, match="1 rows") as caught:
            method(X[10:11], perplexity=5)
        assert caught[0].filename == __file__
    P = affinities.to_new(X[10:11], perplexity=20)
    np.testing.assert_allclose(P[0, 10:25], P[0, 10])


def test_fewer_duplicates_than_the_perplexity_are_harmless():
    X = np.repeat(table(40), 3, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        affinities = entropic_affinities(X, perplexity=9)
    np.testing.assert_allclose(affinities.perplexities, 9, rtol=1e-10)


@pytest.mark.parametrize("error", ["sqeuclidean", "euclidean", "minkowski", "nan_euclidean"])
@pytest.mark.parametrize("n_neighbors", [None, 40])
@pytest.mark.parametrize("n_columns", [4, 20])  # scikit-learn searches by a tree, and by products
@pytest.mark.parametrize("distance", [1e7, 1e9])
def test_rows_far_from_the_origin_keep_full_precision(error, n_neighbors, n_columns, distance):
    """Two distant groups: neither is near the mean, so products alone would cancel."""
    far = table(100, n_columns)
    far += np.where(np.arange(100) < 50, -distance, distance)[:, None]
    ours = entropic_affinities(far, error=error, perplexity=8, n_neighbors=n_neighbors)
    E = cdist(far, far, "sqeuclidean" if error == "sqeuclidean" else "euclidean")
    expected = entropic_affinities(E, error="precomputed", perplexity=8, n_neighbors=n_neighbors)
    np.testing.assert_allclose(dense(ours.P), dense(expected.P), rtol=1e-9, atol=1e-15)
    new = far[:9] + 0.1
    found = ours.find_neighbours(new)
    to_new = cdist(new, far, "sqeuclidean" if error == "sqeuclidean" else "euclidean")
    nearest = np.sort(to_new, axis=1)[:, : found.errors.shape[1]]
    np.testing.assert_allclose(found.errors, nearest, rtol=1e-9)


def groups(n_rows=1500, n_columns=20, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=4.0, size=(8, n_columns))
    return centres[rng.integers(8, size=n_rows)] + rng.normal(size=(n_rows, n_columns))


@pytest.mark.parametrize("kind", ["groups", "one cloud", "far rows", "duplicates"])
@pytest.mark.parametrize("is_new", [False, True])
def test_cells_miss_no_neighbour(kind, is_new):
    X = table(1500, 20) if kind == "one cloud" else groups()
    X[:5] *= 40.0 if kind == "far rows" else 1.0
    X[100:160] = X[100] if kind == "duplicates" else X[100:160]
    new = groups(70, seed=1) if is_new else None
    found = cells.Cells.from_rows(X).find_nearest(new, 25, 1)
    distances = cdist(X if new is None else new, X)
    if new is None:
        np.fill_diagonal(distances, np.inf)
        assert (found.indices != np.arange(1500)[:, None]).all()
    nearest = np.sort(distances, axis=1)[:, :25]
    np.testing.assert_allclose(np.sort(found.errors, axis=1), nearest, atol=1e-6)
    at_indices = np.take_along_axis(distances, found.indices, axis=1)
    np.testing.assert_allclose(np.sort(at_indices, axis=1), nearest, rtol=1e-9, atol=1e-12)
    assert all(len(set(row)) == 25 for row in found.indices.tolist())


def test_cells_are_used_where_they_help(monkeypatch):
    monkeypatch.setattr(euclidean, "LEAST_ROWS", 1000)
    searched = []
    find_nearest = cells.Cells.find_nearest
    monkeypatch.setattr(
        cells.Cells, "find_nearest", lambda *args: searched.append(1) or find_nearest(*args)
    )
    for X, is_used in ((groups(), True), (table(1500, 20), False)):
        searched.clear()
        ours = entropic_affinities(X, perplexity=8, n_neighbors=25)
        assert bool(searched) == is_used
        E = cdist(X, X, "sqeuclidean")
        expected = entropic_affinities(E, error="precomputed", perplexity=8, n_neighbors=25)
        np.testing.assert_allclose(ours.P.toarray(), expected.P.toarray(), rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("n_neighbors", [None, 40])
@pytest.mark.parametrize("error", ["cosine", "correlation"])
@pytest.mark.parametrize("unit", [1.0, 1e-160, 1e160])
def test_small_angles_keep_full_precision(error, n_neighbors, unit):
    X = 1e-7 * table(100, 5) + [1.0, 2.0, 3.0, 4.0, 5.0]
    exact = X.astype(np.longdouble)
    if error == "correlation":
        exact -= exact.mean(axis=1, keepdims=True)
    exact /= np.sqrt(np.square(exact).sum(axis=1, keepdims=True))
    E = (np.square(exact[:, None] - exact).sum(axis=2) / 2).astype(float)
    expected = entropic_affinities(E, error="precomputed", perplexity=8, n_neighbors=n_neighbors)
    ours = entropic_affinities(unit * X, error=error, perplexity=8, n_neighbors=n_neighbors)
    np.testing.assert_allclose(dense(ours.P), dense(expected.P), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 30])
def test_rows_of_zeros_have_the_cosine_of_scikit_learn(n_neighbors):
    X = table(60)
    X[7] = X[11] = 0.0
    E = pairwise_distances(X, metric="cosine")
    with pytest.warns(UnreachedPerplexityWarning, match="2 rows, the first of them row 7"):
        ours = entropic_affinities(X, error="cosine", perplexity=8, n_neighbors=n_neighbors)
    np.testing.assert_allclose(
        ours.pairs.compute_errors(ours.pairs.training[:7]), E[:7], atol=1e-12
    )
    with pytest.warns(UnreachedPerplexityWarning):
        assert (ours.find_neighbours(np.zeros((1, 4))).errors == 1.0).all()
    with pytest.raises(ValueError, match="error of row 0 to row 7 is nan"):
        entropic_affinities(X, error="correlation", perplexity=8, n_neighbors=n_neighbors)


def test_negative_errors_are_allowed():
    X = table(50)
    similarity = entropic_affinities(X, error=lambda A, B: -A @ B.T, perplexity=10)
    shifted = entropic_affinities(X, error=lambda A, B: 50 - A @ B.T, perplexity=10)
    np.testing.assert_allclose(similarity.P, shifted.P, rtol=1e-9)
    np.testing.assert_allclose(similarity.perplexities, 10, rtol=1e-10)


def test_an_asymmetric_matrix_is_read_by_rows():
    E = np.random.default_rng(0).gamma(2.0, size=(40, 40))
    affinities = entropic_affinities(E, error="precomputed", perplexity=10, symmetric=False)
    expected = rowwise_weights_for_perplexity(without_own(E), 10)
    np.testing.assert_allclose(without_own(affinities.P), expected.weights)


@pytest.mark.parametrize("n_neighbors", [None, 35])
def test_the_error_of_a_row_to_itself_does_not_count(n_neighbors):
    E = np.random.default_rng(0).gamma(2.0, size=(40, 40))
    results = []
    for own in (0.0, np.nan, -np.inf, 7.0):
        np.fill_diagonal(E, own)
        results.append(
            entropic_affinities(E, error="precomputed", perplexity=10, n_neighbors=n_neighbors)
        )
    for other in results[1:]:
        np.testing.assert_array_equal(dense(other.P), dense(results[0].P))


@pytest.mark.parametrize("n_neighbors", [None, 35])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [3, 12, 39])
def test_errors_that_are_not_finite_are_named_by_their_rows(value, column, n_neighbors):
    E = cdist(table(40), table(40))
    E[11, column] = value
    message = f"the error of row 11 to row {column} is {value}"
    for error, X in (("precomputed", E), (lambda A, _: E[A[:, 0]], np.arange(40)[:, None])):
        with pytest.raises(ValueError, match=message):
            entropic_affinities(X, error=error, perplexity=10, n_neighbors=n_neighbors)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"perplexity": 39}, "perplexity=39.0 must be less than 39"),
        ({"perplexity": 500}, "perplexity=500.0 must be less than 39"),
        ({"perplexity": 20, "n_neighbors": 20}, "must be less than 20.*n_neighbors"),
        ({"perplexity": 1}, r"perplexity=.* must be a number in \(1, inf\)"),
        ({"perplexity": np.nan}, r"perplexity=.* must be a number in \(1, inf\)"),
        ({"perplexity": "many"}, r"perplexity=.* must be a number in \(1, inf\)"),
        ({"perplexity": 5, "alpha": 1.0}, "exclude each other"),
        ({"alpha": 0.0}, r"alpha=.* must be a number in \(0, inf\]"),
        ({"alpha": -1.0}, r"alpha=.* must be a number in \(0, inf\]"),
        ({"alpha": True}, r"alpha=.* must be a number in \(0, inf\]"),
        ({"symmetric": "no"}, "symmetric='no' must be True or False"),
        ({"n_neighbors": 40}, "from 2 to 39"),
        ({"n_neighbors": 1}, "from 2 to 39"),
        ({"n_neighbors": 10.5}, "from 2 to 39"),
        ({"n_neighbors": "all"}, "'auto'"),
        ({"error": "no such metric"}, "error='no such metric' must be.*manhattan"),
        ({"error": None}, "error=None must be"),
        ({"error": ["cosine"]}, "error=\\['cosine'\\] must be"),
        ({"error": "mahalanobis"}, "whiten"),
        ({"error": "precomputed"}, r"square, got shape \(40, 4\)"),
        ({"error": lambda A, _: np.ones(len(A))}, r"shape \(40,\) instead of \(40, 40\)"),
        ({"error": lambda A, B: np.ones((len(B), len(A) + 1))}, r"instead of \(40, 40\)"),
        ({"error": lambda A, B: csr_matrix(cdist(A, B))}, "dense matrix of real numbers.*csr"),
        ({"error": lambda A, _: [list(range(i)) for i in range(len(A))]}, "numbers.*list"),
        ({"error": lambda A, B: cdist(A, B).astype(str)}, "numbers.*U"),
        ({"error": lambda A, B: cdist(A, B) * 1j}, "numbers.*complex"),
        ({"error": lambda A, B: np.ma.masked_less(cdist(A, B), 0.5)}, "numbers.*Masked"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        entropic_affinities(table(40), **arguments)


def twice_the_same():
    """A graph of two neighbours, with one pair stored twice."""
    return csr_matrix((np.ones(6), [1, 2, 0, 0, 0, 1], [0, 2, 4, 6]), shape=(3, 3))


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (table(2), "sqeuclidean", "minimum of 3"),
        (table(2), cdist, "at least 3 rows"),
        ([[1.0], [np.nan], [2.0]], "sqeuclidean", "NaN"),
        (
            csr_matrix(np.triu(np.ones((5, 5)))),
            "precomputed",
            "the same number of neighbours.*row 0 has 4",
        ),
        (csr_matrix(np.eye(5, k=1) + np.eye(5, k=-4)), "precomputed", "at least 2 neighbours"),
        (csr_matrix((0, 0)), "precomputed", "at least 3 rows"),
        (twice_the_same(), "precomputed", "two entries for the same pair of rows, in row 1"),
        (table(60) * 1e154, "sqeuclidean", "row 0 deviates by 8.77e.153 .*Change the unit"),
        (table(60) * 1e-161, "euclidean", "rows deviate by .*e-161.*Change the unit"),
        (csr_matrix(np.ones((5, 4))), "precomputed", "square"),
    ],
)
def test_bad_rows_are_named(X, error, message):
    with pytest.raises(ValueError, match=message):
        entropic_affinities(X, error=error, perplexity=1.5)


def test_bad_new_rows_are_named():
    X = table(40)
    for error in ("sqeuclidean", cdist):
        affinities = entropic_affinities(X, error=error, perplexity=10)
        with pytest.raises(ValueError, match="X_new has"):
            affinities.to_new(X[:, :2])
        with pytest.raises(ValueError, match="must be less than 40"):
            affinities.to_new(X, perplexity=41)
    graph = NearestNeighbors(n_neighbors=30).fit(X).kneighbors_graph(mode="distance")
    affinities = entropic_affinities(graph, error="precomputed", perplexity=10)
    with pytest.raises(ValueError, match="sparse matrix with 40 columns"):
        affinities.to_new(X)
    with pytest.raises(ValueError, match="exceeds the 30"):
        entropic_affinities(graph, error="precomputed", perplexity=10, n_neighbors=31)
    with pytest.raises(ValueError, match="only those of neighbours"):
        entropic_affinities(graph, error="precomputed", perplexity=10, n_neighbors=None)


def test_rows_for_a_function_are_dense():
    with pytest.raises(TypeError, match="toarray"):
        entropic_affinities(csr_matrix(table(40)), error=cdist, perplexity=10)
    with pytest.raises(ValueError, match="no rows"):
        entropic_affinities(table(40), error=cdist, perplexity=10).to_new(table(40)[:0])


def test_new_rows_have_the_same_columns():
    frame = pd.DataFrame(table(40), columns=list("abcd"))
    affinities = entropic_affinities(frame, perplexity=10)
    with pytest.raises(ValueError, match=r"in the same order: expected .*'a', 'b', 'c', 'd'"):
        affinities.to_new(frame[list("dcba")])
    np.testing.assert_array_equal(affinities.to_new(frame), affinities.to_new(frame.to_numpy()))


def test_booleans_stay_booleans():
    X = table(60, 20) > 0
    affinities = entropic_affinities(X, error="jaccard", perplexity=10)
    expected = entropic_affinities(cdist(X, X, "jaccard"), error="precomputed", perplexity=10)
    np.testing.assert_allclose(affinities.P, expected.P, atol=1e-14)
    assert affinities.to_new(X[:2]).shape == (2, 60)


# openTSNE


def test_an_interrupted_map_leaves_the_probabilities_alone():
    affinities = entropic_affinities(table(80), perplexity=10, n_neighbors=30)

    def stop(*_):
        raise KeyboardInterrupt

    tsne = pytest.importorskip("openTSNE").TSNE(
        callbacks=stop, callbacks_every_iters=2, initialization="random", random_state=0
    )
    with pytest.raises(KeyboardInterrupt):
        tsne.fit(affinities=affinities.as_opentsne())
    assert affinities.P.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 60])
@pytest.mark.parametrize("symmetric", [True, False])
def test_opentsne_makes_a_map_and_adds_rows_to_it(n_neighbors, symmetric):
    openTSNE = pytest.importorskip("openTSNE", reason="needs eosparse[tsne]")
    X = np.vstack([table(60), table(60, seed=1) + 20])
    affinities = entropic_affinities(
        X, error="manhattan", perplexity=15, n_neighbors=n_neighbors, symmetric=symmetric
    ).as_opentsne()
    assert isinstance(affinities, openTSNE.affinity.Affinities)
    assert affinities.P.sum() == pytest.approx(1.0)
    settings = {"n_iter": 50, "early_exaggeration_iter": 50, "initialization": "random"}
    tsne = openTSNE.TSNE(random_state=0, negative_gradient_method="bh", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openTSNE's own
        positions = tsne.fit(affinities=affinities)
        new = positions.transform(X[[0, 119]] + 0.01, n_iter=20)
    assert positions.shape == (120, 2)
    nearest = cdist(new, positions).argmin(axis=1)
    assert nearest[0] < 60 <= nearest[1]


def test_opentsne_needs_no_other_arguments():
    openTSNE = pytest.importorskip("openTSNE", reason="needs eosparse[tsne]")
    X = np.vstack([table(50), table(50, seed=1) + 20])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openTSNE's own
        positions = openTSNE.TSNE().fit(affinities=entropic_affinities(X).as_opentsne())
    assert np.isfinite(positions).all()
    nearest = np.argsort(cdist(positions, positions), axis=1)[:, 1:11]
    assert ((nearest < 50) == (np.arange(100) < 50)[:, None]).mean() > 0.95


def test_the_adapter_can_be_pickled():
    pytest.importorskip("openTSNE", reason="needs eosparse[tsne]")
    affinities = entropic_affinities(table(40), perplexity=10).as_opentsne()
    copy = pickle.loads(pickle.dumps(affinities))
    np.testing.assert_array_equal(copy.P.toarray(), affinities.P.toarray())
    assert copy.n_samples == 40


def test_a_missing_opentsne_is_named(monkeypatch):
    from eosparse.affinities import opentsne

    opentsne._define_adapter.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "openTSNE.affinity", None)
    affinities = entropic_affinities(table(40), perplexity=10)
    with pytest.raises(ImportError, match=r"eosparse\[tsne\]"):
        affinities.as_opentsne()
    opentsne._define_adapter.cache_clear()
