"""Models of a user: functions, and subclasses of `TableModel` with their own start, α and law."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import expon
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from eosparse import EOSDetector
from eosparse.checks import check_error_model
from eosparse.core import weighted_moments
from eosparse.models import CustomModel, TableModel


@pytest.fixture(scope="module")
def clusters():
    rng = np.random.default_rng(0)
    centres = 12 * np.array([[0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, -1]])
    return centres[rng.integers(3, size=900)] + rng.normal(size=(900, 4))


def poisson(rows, theta):
    log_mean = theta[0] + rows[:, :-1] @ theta[1:]
    return np.exp(log_mean) - rows[:, -1] * log_mean + gammaln(rows[:, -1] + 1)


def fit_poisson(rows, weights):
    model = PoissonRegressor(alpha=0, solver="newton-cholesky", tol=1e-10)
    model.fit(rows[:, :-1], rows[:, -1], sample_weight=weights)
    return np.array([model.intercept_, *model.coef_])


def counts(n_rows=600, n_bad=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_rows, 2))
    y = rng.poisson(np.exp(1.5 + X @ [1.0, -0.5]))
    y[:n_bad] = 90
    return np.column_stack([X, y]).astype(float)


def test_two_functions_make_a_model():
    detector = EOSDetector(model=CustomModel(poisson, fit_poisson)).fit(counts())
    np.testing.assert_allclose(detector.theta_, [1.5, 1.0, -0.5], atol=0.15)
    assert detector.is_outlier_[:60].all()
    assert detector.is_outlier_[60:].mean() < 0.02
    again = clone(detector).fit(counts())
    assert again.objective_ == detector.objective_


def test_alpha_follows_the_shift_and_unit_of_an_error():
    rows = counts()
    plain = EOSDetector(model=CustomModel(poisson, fit_poisson)).fit(rows)
    other = CustomModel(lambda X, theta: 1000 * poisson(X, theta) - 7000, fit_poisson)
    scaled = EOSDetector(model=other).fit(rows)
    assert scaled.alpha_ == pytest.approx(1000 * plain.alpha_, rel=1e-3)
    np.testing.assert_array_equal(scaled.is_outlier_, plain.is_outlier_)


@dataclass(frozen=True)
class Wrong(TableModel):
    """A class of a user, without the checks of `CustomModel`."""

    answer: object
    smallest_size: float = 1.0

    def errors(self, block, theta):
        return self.answer(np.square(block - theta).sum(axis=1))

    def statistics(self, block, weights, theta):  # noqa: ARG002
        return weighted_moments(block, weights, diagonal=True)

    def solve(self, statistics):
        return statistics.mean


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda g: g[:, None], r"Wrong.errors\(\) must return one number per row"),
        (lambda g: g[1:], r"of shape \(900,\); it returned the shape \(899,\)"),
        (lambda g: np.where(g > np.median(g), np.nan, g), "returned nan for the row"),
        (lambda g: np.where(g > np.median(g), -np.inf, g), "returned -inf for the row"),
    ],
    ids=["column", "short", "gaps", "infinite"],
)
def test_wrong_errors_are_named(clusters, answer, words):
    with pytest.raises(ValueError, match=words):
        EOSDetector(model=Wrong(answer)).fit(clusters)
    EOSDetector(model=Wrong(lambda g: g - 1e6)).fit(clusters)  # any sign will do


class Logarithms(TableModel):
    """The mean of logarithms: an error that is not a number for some rows."""

    smallest_size = 1.0

    def errors(self, block, theta):
        with np.errstate(invalid="ignore"):
            return np.square(np.log(block[:, 0]) - theta)

    def statistics(self, block, weights, theta):  # noqa: ARG002
        return weighted_moments(np.log(block[:, :1]), weights, diagonal=True)

    def solve(self, statistics):
        return statistics.mean[0]


def test_new_rows_without_an_error_are_named():
    X = np.exp(np.random.default_rng(0).normal(size=(200, 1)))
    detector = EOSDetector(model=Logarithms()).fit(X)
    with pytest.raises(ValueError, match=r"Logarithms\.errors\(\) must return finite"):
        detector.predict([[-1.0], [1.0]])


class DependsOnTheta(Logarithms):
    def statistics(self, block, weights, theta):
        return super().statistics(block + 0 * theta, weights, theta)


def test_a_model_that_needs_a_start_says_so():
    with pytest.raises(TypeError, match=r"DependsOnTheta has no start: override starts\(sample\)"):
        EOSDetector(model=DependsOnTheta()).fit(np.arange(1.0, 50.0)[:, None])


def test_an_alpha_that_has_no_end_is_not_returned():
    """Log-loss: the smaller α, the more rows are given up, until the others are separated."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))
    rows = np.column_stack([X, np.where(y, 1.0, -1.0)])

    def log_loss(rows, theta):
        return np.logaddexp(0, -rows[:, -1] * (theta[0] + rows[:, :-1] @ theta[1:]))

    def fit(rows, weights):
        model = LogisticRegression(C=1e4, max_iter=1000).fit(rows[:, :-1], rows[:, -1], weights)
        return np.array([model.intercept_[0], *model.coef_[0]])

    model = CustomModel(log_loss, fit, is_exact=False)
    with pytest.raises(ValueError, match=r"finds no alpha for CustomModel.*Pass alpha"):
        EOSDetector(model=model).fit(rows)
    assert EOSDetector(model=model, alpha=2.5).fit(rows).theta_[1] == pytest.approx(1, abs=0.5)


@pytest.mark.parametrize("y", [20.0, 30.0])
@pytest.mark.parametrize("share", [0.1, 0.2, 0.3])
def test_counts_are_found_that_are_wrong_but_not_wildly(y, share):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(500, 2))
    counts = rng.poisson(np.exp(1 + x @ [1.0, -0.5])).astype(float)
    is_bad = np.arange(500) < share * 500
    counts[is_bad] = y
    detector = EOSDetector(model=CustomModel(poisson, fit_poisson)).fit(
        np.column_stack([x, counts])
    )
    assert detector.is_outlier_[is_bad].mean() > 0.8
    assert detector.is_outlier_[~is_bad].mean() < 0.04


@dataclass(frozen=True)
class Waiting(TableModel):
    """Waiting times with the error x/θ + log θ: an exponential law, known before any row is seen.

    Its starts, its α and its law are its own.
    """

    guesses: tuple[float, ...] = (0.1, 1.0, 10.0)
    smallest_size: float = 5.0

    def errors(self, block, theta):
        return block[:, 0] / theta + np.log(theta)

    def statistics(self, block, weights, theta):  # noqa: ARG002  # the base class's signature
        return weighted_moments(block, weights, diagonal=True)

    def solve(self, statistics):
        return float(statistics.mean[0])

    def starts(self, sample):
        SEEN.append((len(sample.values), sample.n_rows))
        return self.guesses

    def natural_alpha(self, efficiency, n_rows, n_features):  # noqa: ARG002
        return 3.0 + efficiency

    def law(self, theta, alpha, moments):  # noqa: ARG002
        return Exponential(1 / (1 - 1 / alpha), np.log(theta))


@dataclass(frozen=True)
class Exponential:
    """Law of the error of a waiting time."""

    scale: float
    least: float

    def p_values(self, distances):
        return expon.sf(distances, self.least, self.scale)

    def distance_at(self, levels):
        return expon.isf(levels, self.least, self.scale)


SEEN: list[tuple[int, float]] = []


@pytest.fixture(scope="module")
def waiting():
    X = np.random.default_rng(3).exponential(2.0, size=(1000, 1))
    X[:50] = 80.0
    return X


def test_own_models_bring_their_start_alpha_and_law(waiting):
    SEEN.clear()
    detector = EOSDetector(model=Waiting()).fit(waiting)
    assert SEEN == [(1000, 1000.0)]
    assert detector.alpha_ == 3.9  # of the general efficiency of 0.9
    assert EOSDetector(model=Waiting(), efficiency=0.5).fit(waiting).alpha_ == 3.5
    law = Exponential(1 / (1 - 1 / 3.9), np.log(detector.theta_))
    errors = waiting[:, 0] / detector.theta_ + np.log(detector.theta_)
    np.testing.assert_allclose(detector.p_values(waiting), law.p_values(errors), rtol=1e-12)
    np.testing.assert_allclose(detector.p_values_, law.p_values(errors), rtol=1e-12)
    # The weights narrow an exponential law of mean 2 to θ = 2 (1 - 1/α), which the law undoes.
    assert detector.theta_ == pytest.approx(2 * (1 - 1 / 3.9), rel=0.1)
    assert detector.is_outlier_[:50].all()
    assert detector.is_outlier_[50:].mean() < 0.01
    level = EOSDetector(model=Waiting(), level=0.05).fit(waiting)
    np.testing.assert_array_equal(level.is_outlier_, level.p_values_ < 0.05)
    assert level.is_outlier_[50:].mean() == pytest.approx(0.05, abs=0.03)
    check_error_model(Waiting(), waiting, 3.9, 1.0)


def test_own_models_on_every_storage(waiting, storage):
    rows = storage(waiting)
    here, there = EOSDetector(model=Waiting()).fit(waiting), EOSDetector(model=Waiting()).fit(rows)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-12)
    np.testing.assert_allclose(np.asarray(there.p_values(rows)), here.p_values(waiting), rtol=1e-9)


def test_own_models_have_every_option(waiting):
    perplexity = EOSDetector(model=Waiting(), perplexity=800.0).fit(waiting)
    w = perplexity.weights_[perplexity.weights_ > 0]
    assert np.exp(-(w * np.log(w)).sum()) == pytest.approx(800, rel=1e-4)
    default = EOSDetector(model=Waiting()).fit(waiting)
    for start in ("uniform", "random", 1.0 + np.arange(1000) % 3):
        other = EOSDetector(model=Waiting(), start=start, random_state=0).fit(waiting)
        assert other.theta_ == pytest.approx(default.theta_, rel=1e-5)
    path = EOSDetector(model=Waiting()).path(waiting, alphas=[100.0, 10.0, 2.0])
    assert (np.diff(path.effective_sizes) < 0).all()
    unweighted = EOSDetector(np.inf, model=Waiting()).fit(waiting)
    np.testing.assert_allclose(unweighted.theta_, waiting.mean())


def test_no_guess_of_a_start_is_named(waiting):
    with pytest.raises(TypeError, match=r"Waiting\.starts\(\) returned no guess"):
        EOSDetector(model=Waiting(guesses=())).fit(waiting)


class Plain(TableModel):
    """Without a repr of its own: Python's holds the address of the instance."""

    def errors(self, block, theta):
        return np.abs(block[:, 0] - theta)

    def statistics(self, block, weights, theta):  # noqa: ARG002
        return weighted_moments(block, weights, diagonal=True)

    def solve(self, statistics):
        return statistics.mean[0]

    is_exact = False


@pytest.mark.parametrize("build", [Plain, lambda: CustomModel(poisson, fit_poisson)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_checkpoint_knows_the_model_of_another_process(build, tmp_path):
    """Two instances, as two processes would have them."""
    options = {"alpha": 20.0, "start": "uniform", "checkpoint": tmp_path / "fit"}
    EOSDetector(model=build(), max_iter=2, **options).fit(counts())
    numbers = []
    resumed = EOSDetector(
        model=build(), callback=lambda iteration: numbers.append(iteration.number), **options
    ).fit(counts())
    whole = EOSDetector(model=build(), alpha=20.0, start="uniform").fit(counts())
    assert numbers[0] == 2 or whole.n_iter_ < 2
    np.testing.assert_array_equal(resumed.objective_history_, whole.objective_history_)
