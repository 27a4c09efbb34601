"""The error of a Gaussian mixture: minus its log-density per column.

    g(x, θ) = -(1/D) log Σ_k π_k N(x; μ_k, V_k) + (β/2D) Σ_k ( log det V_k + τ tr V_k⁻¹ )

where β, 0 by default, is the mass of pseudo-rows with the covariance τI in each component, which
keep components with few rows from collapsing. That term is the same for all rows.

The fit is one step of expectation-maximisation at the weights: with responsibilities
``r_tk = π_k N(x_t; μ_k, V_k) / Σ_l …`` and m_k = Σ w r_k,

    π_k = m_k,    μ_k = Σ w r_k x / m_k,    V_k = (m_k S_k + βτI) / (m_k + β)

S_k being the scatter of the component. It minimises a majorant of the weighted error that touches
it at the old θ (Jensen), and so does not raise it. K = 1, β = 0 is the Gaussian error of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from eosparse.core import CollapseError, FloatArray
from eosparse.errors.gaussian import Moments, Normal, weighted_moments


@dataclass(frozen=True)
class Mixture:
    """Shares of some components, which sum to one, and the components."""

    shares: FloatArray
    components: tuple[Normal, ...]

    @property
    def locations(self) -> FloatArray:
        """Locations of the components, one per row."""
        return np.stack([component.location for component in self.components])

    @cached_property
    def _log_shares(self) -> FloatArray:
        with np.errstate(divide="ignore"):  # a component without rows has the density zero
            return np.log(self.shares)

    def log_densities(self, values: FloatArray) -> FloatArray:
        """Return the log of share times density, of each row under each component."""
        columns = [
            -0.5 * (normal.mahalanobis(values) + normal.log_det) for normal in self.components
        ]
        constant = 0.5 * values.shape[1] * np.log(2 * np.pi)
        logs: FloatArray = np.stack(columns, axis=1) + (self._log_shares - constant)
        return logs

    def responsibilities(self, values: FloatArray) -> FloatArray:
        """Return the chance of each component, given the row."""
        logs = self.log_densities(values)
        chances: FloatArray = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        return chances


@dataclass(frozen=True)
class MixtureMoments:
    """Moments of each component, and the mixture by which rows were shared out among them.

    Moments of disjoint rows merge by ``+``.
    """

    before: Mixture
    parts: tuple[Moments, ...]

    def scaled(self, factor: float) -> MixtureMoments:
        """Return the moments had every weight been multiplied by `factor`."""
        return MixtureMoments(self.before, tuple(part.scaled(factor) for part in self.parts))

    def __add__(self, other: MixtureMoments) -> MixtureMoments:
        pairs = zip(self.parts, other.parts, strict=True)
        return MixtureMoments(self.before, tuple(mine + theirs for mine, theirs in pairs))


@dataclass(frozen=True)
class MixtureError:
    """Error model of a Gaussian mixture; θ is a `Mixture`.

    Attributes
    ----------
    pseudo_mass : float
        β, beside a weight of one for all rows.
    target : float
        τ, the variance of the pseudo-rows.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate
    >>> from eosparse.errors import Mixture, MixtureError, Normal
    >>> from eosparse.rows import MemoryRows
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, 600), rng.normal(10, 1, 300), [50.0] * 100])[:, None]
    >>> guesses = [Normal(np.array([centre]), np.eye(1)) for centre in (2.0, 8.0)]
    >>> start = Mixture(np.array([0.5, 0.5]), tuple(guesses))
    >>> found = alternate(MixtureError(), MemoryRows(X), 5.0, start).theta
    >>> found.locations.ravel().round(1).tolist()
    [-0.0, 10.0]
    """

    pseudo_mass: float = 0.0
    target: float = 1.0
    smallest_size: float = 2.0

    def errors(self, block: FloatArray, theta: Mixture) -> FloatArray:
        """Return minus the log-density of each row, per column."""
        logs: FloatArray = logsumexp(theta.log_densities(block), axis=1)
        errors: FloatArray = (self._pseudo_error(theta) - logs) / block.shape[1]
        return errors

    def _pseudo_error(self, theta: Mixture) -> float:
        if self.pseudo_mass == 0.0:
            return 0.0
        terms = (part.log_det + self.target * part.precision_trace for part in theta.components)
        return 0.5 * self.pseudo_mass * sum(terms)

    def statistics(self, block: FloatArray, weights: FloatArray, theta: Mixture) -> MixtureMoments:
        """Return the moments of the rows, shared out among the components."""
        shared = theta.responsibilities(block) * weights[:, None]
        parts = tuple(weighted_moments(block, column, diagonal=False) for column in shared.T)
        return MixtureMoments(theta, parts)

    def solve(self, statistics: MixtureMoments) -> Mixture:
        """Return the step of expectation-maximisation; a component without rows stays."""
        mass = np.array([part.mass for part in statistics.parts])
        if not mass.sum() > 0:
            raise CollapseError("no component of the mixture has any weight.")
        shares = mass / mass.sum()
        pairs = zip(shares, statistics.parts, statistics.before.components, strict=True)
        return Mixture(shares, tuple(self._component(*pair) for pair in pairs))

    def _component(self, share: float, moments: Moments, before: Normal) -> Normal:
        if share + self.pseudo_mass == 0.0:
            return before
        location = moments.mean if share > 0 else before.location
        scatter = moments.scatter * (share / (share + self.pseudo_mass))
        if self.pseudo_mass > 0:
            pull = self.pseudo_mass / (share + self.pseudo_mass) * self.target
            scatter.flat[:: len(scatter) + 1] += pull
        return Normal(location, scatter)
