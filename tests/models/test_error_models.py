"""Clusters, subspace, mixture, regression and functions: the shared properties of error models."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from eosparse import EOSDetector
from eosparse.checks import ModelCheckError, check_error_model
from eosparse.core import (
    CollapseError,
    Moments,
    Status,
    alternate,
    solve_from_prior,
    weighted_moments,
)
from eosparse.fitting.table_input import open_training
from eosparse.models import (
    ClusterModel,
    CustomModel,
    GaussianModel,
    LinearModel,
    Mixture,
    MixtureModel,
    Normal,
    Plane,
    SubspaceModel,
    TableModel,
)
from eosparse.rows import MemoryRows


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, (150, 3)), rng.normal(6, 0.7, (100, 3))])
    X[:, 2] += X[:, 0]
    X[::9] = rng.uniform(-30, 30, (len(X[::9]), 3))
    return X


def from_all(model, X):
    return solve_from_prior(model, MemoryRows(X))


def mixture_start(X):
    normals = (Normal(X[1], 4 * np.eye(3)), Normal(X[-1], 4 * np.eye(3)))
    return Mixture(np.array([0.5, 0.5]), normals)


MODELS = {
    "gaussian": (
        GaussianModel(n_features=3),
        1.0,
        lambda X: Normal(np.median(X, axis=0), np.eye(3)),
    ),
    "clusters": (ClusterModel(), 8.0, lambda X: X[[1, 2, -1]]),
    "subspace": (SubspaceModel(1), 3.0, lambda X: from_all(SubspaceModel(1), X)),
    "mixture": (MixtureModel(), 1.5, mixture_start),
    "mixture with pseudo-rows": (MixtureModel(pseudo_mass=0.1, target=2.0), 1.5, mixture_start),
    "regression": (LinearModel(), 3.0, lambda X: from_all(LinearModel(), X)),
}


@pytest.fixture(params=MODELS)
def case(request, table):
    model, alpha, start = MODELS[request.param]
    return model, alpha, start(table)


def test_the_shipped_models_pass_the_shipped_checks(case, table):
    model, alpha, start = case
    check_error_model(model, table, alpha, start)


def test_the_alternation_falls_and_converges(case, table):
    model, alpha, start = case
    result = alternate(model, MemoryRows(table), alpha, start, max_iter=5000)
    assert result.status is Status.CONVERGED
    assert (np.diff(result.objective_history) <= 1e-10).all()


def test_the_storage_changes_nothing(case, table, storage):
    model, alpha, start = case
    rows = open_training(BaseEstimator(), storage(table))
    here = alternate(model, MemoryRows(table), alpha, start, max_iter=30)
    there = alternate(model, rows, alpha, start, max_iter=30)
    np.testing.assert_allclose(there.objective_history, here.objective_history, rtol=1e-9)
    np.testing.assert_allclose(
        model.errors(table, there.last), model.errors(table, here.last), rtol=1e-6, atol=1e-8
    )


def test_solve_minimises_the_weighted_error(table):
    """Closed forms: no θ nearby has a smaller weighted error."""
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(len(table)))
    line = LinearModel().solve(LinearModel().statistics(table, weights))
    best = weights @ LinearModel().errors(table, line)
    for _ in range(20):
        other = type(line)(line.coefficients + rng.normal(0, 0.1, 2), line.intercept + 0.1)
        assert weights @ LinearModel().errors(table, other) > best
    plane = SubspaceModel(2).solve(SubspaceModel(2).statistics(table, weights))
    best = weights @ SubspaceModel(2).errors(table, plane)
    for _ in range(20):
        turned, _ = np.linalg.qr(plane.components.T + rng.normal(0, 0.1, (3, 2)))
        other = type(plane)(plane.location + 0.01, turned.T, plane.variances)
        assert weights @ SubspaceModel(2).errors(table, other) > best


# Wrong models: each violates one property, and is told so by its name.


@dataclass(frozen=True)
class SquaredDistance(TableModel):
    smallest_size: float = 1.0

    def errors(self, block, theta):
        return np.square(block - theta).sum(axis=1)

    def statistics(self, block, weights, theta):  # noqa: ARG002
        return weighted_moments(block, weights, diagonal=True)

    def solve(self, statistics: Moments):
        return statistics.mean


class Rises(SquaredDistance):
    def solve(self, statistics):
        return statistics.mean + 5.0


class Batched(SquaredDistance):
    def errors(self, block, theta):
        return super().errors(block, theta) / block.std()


class Column(SquaredDistance):
    def errors(self, block, theta):
        return super().errors(block, theta)[:, None]


class NotFinite(SquaredDistance):
    def errors(self, block, theta):
        return np.log(np.abs(block[:, 0]) < 1) + 0 * theta[0]


class Whole(SquaredDistance):
    def errors(self, block, theta):
        return super().errors(block, theta).astype(int)


class Unweighted(SquaredDistance):
    def statistics(self, block, weights, theta):  # noqa: ARG002
        return weighted_moments(
            block, np.full(len(block), weights.sum() / len(block)), diagonal=True
        )


@dataclass(frozen=True)
class Forgetful(Moments):
    def __add__(self, other):
        return self

    def scale(self, factor):
        return Forgetful(self.mass * factor, self.mean, self.scatter)


class KeepsTheFirst(SquaredDistance):
    def statistics(self, block, weights, theta):
        moments = super().statistics(block, weights, theta)
        return Forgetful(moments.mass, moments.mean, moments.scatter)


@dataclass(frozen=True)
class Sums:
    mass: float
    sums: np.ndarray

    def __add__(self, other):
        return Sums(self.mass + other.mass, self.sums + other.sums)

    def scale(self, factor):
        return Sums(self.mass, self.sums * factor)  # forgets the mass


class HalfScaled(SquaredDistance):
    def statistics(self, block, weights, theta):  # noqa: ARG002
        return Sums(weights.sum(), weights @ block)

    def solve(self, statistics):
        return statistics.sums / statistics.mass


class OfArrays(SquaredDistance):
    def statistics(self, block, weights, theta):  # noqa: ARG002
        return weights @ block

    def solve(self, statistics):
        return statistics


@dataclass
class AddsInPlace:
    mass: float
    sums: np.ndarray

    def __add__(self, other):
        self.mass, self.sums = self.mass + other.mass, self.sums + 2 * other.sums
        return self

    def scale(self, factor):
        return AddsInPlace(self.mass * factor, self.sums * factor)


class ChangesItsStatistics(SquaredDistance):
    def statistics(self, block, weights, theta):  # noqa: ARG002
        return AddsInPlace(weights.sum(), weights @ block)

    def solve(self, statistics):
        return statistics.sums / statistics.mass


class Collapses(SquaredDistance):
    def solve(self, statistics):  # noqa: ARG002
        raise CollapseError("nothing is left.")


@pytest.mark.parametrize(
    ("model", "violated", "words"),
    [
        (Rises(), "descent", "step 1 raises"),
        (Batched(), "errors of rows alone", "differ by"),
        (Column(), "one finite error per row", "shape"),
        (NotFinite(), "one finite error per row", "is -inf"),
        (Whole(), "one finite error per row", "int64"),
        (Unweighted(), "blocks merge", "differ"),
        (KeepsTheFirst(), "blocks merge", "differ"),
        (HalfScaled(), "blocks merge", "differ"),
        (OfArrays(), "blocks merge", "scale"),
        (ChangesItsStatistics(), "blocks merge", "differ"),
        (Collapses(), "blocks merge", r"collapsed \(nothing is left"),
        (CustomModel(lambda R, _: R, lambda R, w: w @ R), "one finite error per row", "one number"),
        (object(), "members", "object is not an error model: subclass"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_a_wrong_model_is_told_what_is_wrong(table, model, violated, words):
    with pytest.raises(ModelCheckError, match=words) as caught:
        check_error_model(model, table, 30.0, table[1])
    assert caught.value.property == violated


def test_a_right_one_is_not(table):
    check_error_model(SquaredDistance(), table, 30.0, table[1])


def test_one_row_far_out_hides_nothing(table):
    """An error of 1e18 must not make everything else a matter of rounding."""
    far = table.copy()
    far[0] = 1e9
    ignores_weights = CustomModel(
        lambda R, theta: np.square(R - theta).sum(axis=1),
        lambda R, _: R[np.abs(R).max(axis=1) < 1e8].mean(axis=0),
    )
    with pytest.raises(ModelCheckError, match="prior weights"):
        check_error_model(ignores_weights, far, 30.0, far[20])
    check_error_model(SquaredDistance(), far, 30.0, far[20])


def test_checks_need_some_rows(table):
    with pytest.raises(ValueError, match="at least 8"):
        check_error_model(SquaredDistance(), table[:5], 30.0, table[1])


# Functions of a user.


def custom(error):
    return CustomModel(error, lambda X, w: w @ X)


def squared(X, theta):
    return np.square(X - theta).sum(axis=1)


def test_functions_make_a_model(table):
    model = custom(squared)
    check_error_model(model, table, 30.0, table[1])
    theirs = alternate(SquaredDistance(), MemoryRows(table), 30.0, table[1])
    ours = alternate(model, MemoryRows(table, block_numbers=3 * 256), 30.0, table[1])
    np.testing.assert_allclose(ours.theta, theirs.theta, rtol=1e-9)


def test_errors_may_be_negative(table):
    """A constant changes no weight, and minus a log-density may have any sign."""
    shifted = custom(lambda X, theta: squared(X, theta) - 1000.0)
    ours = alternate(shifted, MemoryRows(table), 30.0, table[1])
    theirs = alternate(custom(squared), MemoryRows(table), 30.0, table[1])
    np.testing.assert_allclose(ours.theta, theirs.theta, rtol=1e-7)
    assert ours.objective == pytest.approx(theirs.objective - 1000.0)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (lambda X, theta: np.square(X - theta), r"one number per row, of shape \(250,\)"),
        (lambda X, theta: squared(X, theta).sum(), r"the shape \(\)"),
        (lambda X, theta: squared(X, theta)[1:], r"the shape \(249,\)"),
        (lambda X, theta: np.where(X[:, 0] > 20, np.nan, squared(X, theta)), "returned nan for"),
        (lambda X, theta: np.where(X[:, 0] > 20, np.inf, squared(X, theta)), "returned inf for"),
        (lambda X, theta: squared(X, theta) + 1j, "complex128"),
        (lambda X, theta: [type(theta)] * len(X), "object"),
    ],
)
def test_wrong_answers_of_functions_are_named(table, error, words):
    with pytest.raises(ValueError, match=words):
        alternate(custom(error), MemoryRows(table), 30.0, table[1])


# Degenerate data.


def test_an_empty_cluster_keeps_its_centre(table):
    start = np.vstack([table[1], table[-1], [1e4, 1e4, 1e4]])
    centres = alternate(ClusterModel(), MemoryRows(table), 8.0, start).theta
    np.testing.assert_array_equal(centres[2], start[2])
    assert np.isfinite(centres).all()


def test_rounding_moves_no_cluster_off_the_middle_of_two_rows():
    """A step multiplies a deviation by 2d²/α = 20: rounding would choose between the rows."""
    rows = MemoryRows(np.array([[-1.0], [1.0]]))
    for middle in (0.0, 1e-14, -1e-14):
        found = alternate(ClusterModel(1), rows, 0.1, np.array([[middle]]))
        assert found.theta.item() == middle
    moved = alternate(ClusterModel(1), rows, 0.1, np.array([[1e-3]]))
    assert moved.theta.item() > 0.99


def test_rows_between_centres_go_to_the_first():
    centres = np.array([[0.1], [0.7]])
    halfway = (centres[0] + centres[1]) / 2 + np.array([[-1e-16], [0.0], [1e-16]])
    np.testing.assert_array_equal(ClusterModel().assign(halfway, centres), 0)


@pytest.mark.parametrize("wide", [1e3, 1e6, 1e9])
def test_a_wide_column_costs_a_subspace_no_digits(wide):
    """Next to it, the second axis is that of the rows without what the first explains."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4)) * [1.0, 3.0, 1.0, 1.0]
    X -= X.mean(axis=0)
    X[:, 3] -= X[:, :3] @ np.linalg.lstsq(X[:, :3], X[:, 3])[0]  # uncorrelated with the others
    expected = np.linalg.eigh(np.cov(X[:, :3], rowvar=False))[1][:, -1]
    X[:, 3] *= wide
    second = from_all(SubspaceModel(2), X).components[1, :3]
    assert abs(second @ expected) > 1 - 1e-12


def test_a_component_without_rows_stays(table):
    start = mixture_start(table)
    far = Normal(np.full(3, 1e8), np.eye(3))
    three = Mixture(np.array([0.4, 0.4, 0.2]), (*start.components, far))
    found = alternate(MixtureModel(), MemoryRows(table), 1.5, three, max_iter=50).last
    assert found.shares[2] == 0.0
    np.testing.assert_array_equal(found.locations[2], far.location)


def test_a_mixture_that_collapses_says_so(table):
    wide, narrow = Normal(table[1], np.eye(3)), Normal(table[0], 1e-6 * np.eye(3))
    start = Mixture(np.array([0.5, 0.5]), (wide, narrow))
    result = alternate(MixtureModel(), MemoryRows(table), 1.5, start)
    assert result.status is Status.COLLAPSED
    held = alternate(MixtureModel(pseudo_mass=0.05), MemoryRows(table), 1.5, start, max_iter=5000)
    assert held.status is Status.CONVERGED


def test_rows_of_a_lower_rank(table):
    """Rows on a line: a plane through it is right, whatever its second direction."""
    line = np.outer(table[:, 0], [1.0, 2.0, -1.0])
    model = SubspaceModel(2)
    plane = solve_from_prior(model, MemoryRows(line))
    np.testing.assert_allclose(plane.components @ plane.components.T, np.eye(2), atol=1e-12)
    assert model.errors(line, plane).max() < 1e-20 * np.square(line).max()


@pytest.mark.parametrize("model", [SubspaceModel(1), LinearModel()], ids=["subspace", "linear"])
@pytest.mark.parametrize("unit", [1.0, 0.7, 3e5])
def test_a_residual_of_an_enormous_row_may_be_rounding(table, model, unit):
    line = unit * np.outer(np.append(table[:, 0], 1e9 / 3), [1.0, 1 / 3])
    theta = from_all(model, line[:-1])
    assert (model.errors(line, theta) <= 1e-25 * unit**2).all()
    assert model.errors(line, theta)[-1] == 0.0
    line[-1, 1] *= 1 + 1e-12
    assert model.errors(line, theta)[-1] > 0.0


def test_a_far_location_makes_no_row_enormous(table):
    away = Plane(np.array([1e57, 0.0, 0.0]), np.eye(3)[:1], np.ones(1))
    np.testing.assert_allclose(
        SubspaceModel(1).errors(table, away), np.square(table[:, 1:]).sum(axis=1)
    )


def test_directions_that_rows_do_not_determine_stay(table):
    """Of rows that are all equal rounding would choose an axis, and so the rows that come next."""
    model, before = SubspaceModel(2), from_all(SubspaceModel(2), table)
    for size in (1, 7):
        alone = np.zeros(len(table))
        alone[:size] = 1 / size
        equal = np.repeat(table[:1] / 3, len(table), axis=0)
        plane = model.solve(model.statistics(equal, alone, before))
        np.testing.assert_allclose(
            plane.components.T @ plane.components, before.components.T @ before.components
        )


def test_subspaces_of_every_dimension(table):
    for size in range(4):
        check_error_model(
            SubspaceModel(size),
            table,
            5.0,
            solve_from_prior(SubspaceModel(size), MemoryRows(table)),
        )
    with pytest.raises(ValueError, match="n_components=4"):
        solve_from_prior(SubspaceModel(4), MemoryRows(table))


def test_dependent_columns_have_the_shortest_solution(table):
    X, y = table[:, [0, 0, 1]], table[:, 2]
    model = LinearModel()
    line = solve_from_prior(model, MemoryRows(np.column_stack([X, y])))
    wanted = np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y, rcond=None)[0]
    np.testing.assert_allclose(line.coefficients, wanted[1:], rtol=1e-9)
    assert line.intercept == pytest.approx(wanted[0])
    constant = np.column_stack([np.full(len(y), 7.0), y])
    assert solve_from_prior(model, MemoryRows(constant)).coefficients[0] == 0.0


def test_columns_far_from_zero_lose_no_digits(table):
    start = table[[1, 2, -1]]
    here = alternate(ClusterModel(), MemoryRows(table), 8.0, start).theta
    there = alternate(ClusterModel(), MemoryRows(table + 1e8), 8.0, start + 1e8).theta
    np.testing.assert_allclose(there - 1e8, here, atol=1e-5)


def test_one_component_is_the_gaussian(table):
    start = Normal(np.median(table, axis=0), np.eye(3))
    one = Mixture(np.ones(1), (start,))
    mixture = alternate(MixtureModel(), MemoryRows(table), 1.0, one, max_iter=3000)
    gaussian = alternate(GaussianModel(n_features=3), MemoryRows(table), 1.0, start)
    np.testing.assert_allclose(mixture.theta.locations[0], gaussian.theta.location, rtol=1e-4)
    assert mixture.objective - 0.5 * np.log(2 * np.pi) == pytest.approx(gaussian.objective)


def test_a_mixture_of_tied_rows_is_that_of_their_copies():
    """The mean of tied rows rounds, and no distance from it counts."""
    values = np.array([int(value) for value in "121211111112111212121131111111111162"])
    counts = np.array([int(count) for count in "221233232333133233332211232211221112"])
    column = values[:, None] * np.array([1.0, 2.0])
    weighted = EOSDetector(model="mixture").fit(column, sample_weight=counts)
    repeated = EOSDetector(model="mixture").fit(np.repeat(column, counts, axis=0))
    assert weighted.model_.target == pytest.approx(repeated.model_.target)
    assert weighted.is_outlier_.sum() == 2
