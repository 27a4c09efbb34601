"""EOS under other names: each error function against an independent solver of the same problem."""

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize
from scipy.special import expit, log_expit
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity

from eosparse import EOSDetector
from eosparse.core import alternate, solve_from_prior
from eosparse.models import ClusterModel, CustomModel, LinearModel
from eosparse.rows import MemoryRows


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_one_centre_is_a_mode_of_a_kernel_density(rng):
    """g = |x-μ|² is Gaussian mean shift; the objective is the log-density at bandwidth √(α/2)."""
    X = np.concatenate([rng.normal(0, 1, (80, 2)), rng.normal(7, 1, (60, 2))])
    alpha = 3.0
    density = KernelDensity(bandwidth=np.sqrt(alpha / 2)).fit(X)
    for row in (0, 100):
        ours = alternate(ClusterModel(), MemoryRows(X), alpha, X[[row]], tol=1e-15)
        theirs = minimize(lambda mode: -density.score_samples(mode[None])[0], X[row], tol=1e-10)
        np.testing.assert_allclose(ours.theta[0], theirs.x, atol=1e-5)
        log_z = density.score_samples(ours.theta)[0] + np.log(len(X) * np.pi * alpha)
        assert ours.objective == pytest.approx(-alpha * log_z, rel=1e-10)


def test_squared_residuals_are_welsch_regression(rng):
    X = rng.normal(size=(120, 3))
    y = X @ [1.0, -2.0, 0.5] + 4 + rng.normal(0, 0.3, 120)
    y[:25] += rng.uniform(3, 20, 25)
    alpha = 2.0
    rows = MemoryRows(np.column_stack([X, y]))
    ours = alternate(LinearModel(), rows, alpha, solve_from_prior(LinearModel(), rows), tol=1e-15)

    def welsch(z):
        tail = np.exp(-z)
        return np.stack([1 - tail, tail, -tail])

    start = np.linalg.lstsq(np.column_stack([np.ones(120), X]), y, rcond=None)[0]
    theirs = least_squares(
        lambda b: b[0] + X @ b[1:] - y, start, loss=welsch, f_scale=np.sqrt(alpha),
        xtol=1e-14, ftol=1e-14, gtol=1e-14,
    )  # fmt: skip
    line = ours.theta
    np.testing.assert_allclose([line.intercept, *line.coefficients], theirs.x, rtol=1e-5)
    # Welsch's loss is Σ α/2 (1 - exp(-r²/α)), and Z = Σ exp(-r²/α).
    assert theirs.cost == pytest.approx(alpha / 2 * (120 - np.exp(-ours.objective / alpha)))


@pytest.mark.parametrize("alpha", [1.6, 2.5, 4.0])
def test_log_loss_is_generalised_cross_entropy(rng, alpha):
    """With q = 1/α. At α = 1, the mean absolute error, separable majorities have no minimum."""
    X = rng.normal(size=(200, 2))
    y = np.where(rng.random(200) < expit(2 * X[:, 0] - X[:, 1] + 0.5), 1.0, -1.0)
    y[rng.random(200) < 0.2] *= -1
    rows = np.column_stack([X, y])

    def log_loss(rows, theta):
        return -log_expit(rows[:, -1] * (theta[0] + rows[:, :-1] @ theta[1:]))

    def fit(rows, weights):
        model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000)
        model.fit(rows[:, :-1], rows[:, -1], sample_weight=weights * len(weights))
        return np.array([model.intercept_[0], *model.coef_[0]])

    def generalised(theta, q=1 / alpha):
        p = expit(y * (theta[0] + X @ theta[1:]))
        return np.mean((1 - p**q) / q)

    model = CustomModel(log_loss, fit)
    start = fit(rows, np.ones(200) / 200)
    ours = alternate(model, MemoryRows(rows), alpha, start, tol=1e-14)
    theirs = minimize(generalised, start, tol=1e-10)
    np.testing.assert_allclose(ours.theta, theirs.x, rtol=2e-3)
    assert alpha * (1 - np.exp(-ours.objective / alpha) / 200) == pytest.approx(
        theirs.fun, rel=1e-7
    )


def test_the_objective_is_that_of_tilted_risk(rng):
    """Tilted empirical risk, (1/t) log mean exp(t g) at t = -1/α, is L + α log T."""
    x = rng.gamma(2.0, size=150)
    x[:10] = 60.0
    alpha = 2.5

    def tilted(theta, t=-1 / alpha):
        losses = np.abs(x.astype(np.longdouble) - theta[0]) ** 1.5
        return float(np.log(np.mean(np.exp(t * losses))) / t)

    def fit(X, w):
        loss = lambda theta: w @ np.abs(X[:, 0] - theta[0]) ** 1.5  # noqa: E731  # shorter here
        return minimize(loss, [w @ X[:, 0]], tol=1e-12, method="Nelder-Mead").x

    model = CustomModel(lambda X, theta: np.abs(X[:, 0] - theta[0]) ** 1.5, fit, is_exact=False)
    ours = alternate(model, MemoryRows(x[:, None]), alpha, np.array([3.0]))
    assert ours.objective + alpha * np.log(150) == pytest.approx(tilted(ours.theta), rel=1e-12)
    theirs = minimize(tilted, [3.0], tol=1e-12, method="Nelder-Mead")
    np.testing.assert_allclose(ours.theta, theirs.x, atol=1e-4)
    assert ours.objective + alpha * np.log(150) == pytest.approx(theirs.fun, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.8, 1.5])
def test_the_corrected_gaussian_is_the_gamma_divergence_estimator(rng, alpha):
    """γ = c/(1-c), c = 1/(αD); the estimator maximises (Fujisawa and Eguchi)

    (1/γ) log mean f(x)^γ - 1/(1+γ) log ∫ f^(1+γ).
    """
    X = rng.normal(size=(300, 2)) @ [[1.0, 0.4], [0.0, 0.7]] + 3
    X[:40] += 9
    c = 1 / (alpha * 2)
    gamma = c / (1 - c)

    def parameters(theta):
        root = np.array([[np.exp(theta[2]), 0.0], [theta[3], np.exp(theta[4])]])
        return theta[:2], root @ root.T

    def divergence(theta):
        mean, covariance = parameters(theta)
        log_f = multivariate_normal(mean, covariance).logpdf(X)
        # The integral of a Gaussian density's power, as one over a narrower Gaussian.
        log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
        log_integral = -0.5 * gamma * log_det - np.log(1 + gamma)
        return -np.log(np.mean(np.exp(gamma * log_f))) / gamma + log_integral / (1 + gamma)

    ours = EOSDetector(alpha).fit(X)
    mean, covariance = parameters(minimize(divergence, [3.0, 3.0, 0.0, 0.0, 0.0], tol=1e-10).x)
    np.testing.assert_allclose(ours.location_, mean, rtol=1e-5)
    np.testing.assert_allclose(ours.covariance_, covariance, rtol=1e-4)
