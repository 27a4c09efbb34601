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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from eosparse.core import (
    BoolArray,
    CollapseError,
    FloatArray,
    Moments,
    check_number,
    check_whole,
    chi_squared_quantile,
    has_gaps,
    weighted_moments,
    weighted_quantiles,
)
from eosparse.inference import MixtureLaw
from eosparse.models.base import ErrorMoments, TableModel
from eosparse.models.cluster_starts import cluster_starts
from eosparse.models.efficiency import (
    coupling_for_efficiency,
    covariance_parameters,
    largest_stable_coupling,
)
from eosparse.models.gaps import fill_rows, match_chances, spread_of_gaps
from eosparse.models.lengths import (
    drop_rounding,
    own_rounding,
    squared_distances,
    squared_norms,
)
from eosparse.models.normal import Normal
from eosparse.rows import Sample, Table, take_sample


@dataclass(frozen=True)
class Mixture:
    """Shares of some components, which sum to one, and the components.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Mixture, Normal
    >>> parts = (Normal(np.zeros(1), np.eye(1)), Normal(np.full(1, 9.0), np.eye(1)))
    >>> mixture = Mixture(np.array([0.5, 0.5]), parts)
    >>> mixture.responsibilities(np.array([[1.0], [8.0]])).round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

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
        constant = 0.5 * values.shape[1] * np.log(2 * np.pi)
        with np.errstate(over="ignore"):  # rows too far out for squares have the density zero
            if has_gaps(values):
                columns = [_log_density_of_rest(normal, values) for normal in self.components]
                constant = 0.5 * (~np.isnan(values)).sum(axis=1)[:, None] * np.log(2 * np.pi)
            else:
                columns = [
                    -0.5 * (normal.mahalanobis(values) + normal.log_det)
                    for normal in self.components
                ]
        logs: FloatArray = np.stack(columns, axis=1) + (self._log_shares - constant)
        return logs

    def restrict(self, kept: BoolArray) -> Mixture:
        """Return the mixture of some of the components."""
        parts = zip(self.components, kept, strict=True)
        shares = self.shares[kept] / self.shares[kept].sum()
        return Mixture(shares, tuple(component for component, is_kept in parts if is_kept))

    def responsibilities(self, values: FloatArray) -> FloatArray:
        """Return the chance of each component, given the row."""
        logs = self.log_densities(values)
        logs[np.isneginf(logs).all(axis=1)] = 0.0  # too far out to tell the components apart
        chances: FloatArray = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        return chances


@dataclass(frozen=True)
class MixtureMoments:
    """Moments of each component, and the mixture by which rows were shared out among them.

    Moments of disjoint rows merge by ``+``.
    """

    before: Mixture
    parts: tuple[Moments, ...]

    def scale(self, factor: float) -> MixtureMoments:
        """Return the moments as if every weight had been multiplied by `factor`."""
        return MixtureMoments(self.before, tuple(part.scale(factor) for part in self.parts))

    def __add__(self, other: MixtureMoments) -> MixtureMoments:
        pairs = zip(self.parts, other.parts, strict=True)
        return MixtureMoments(self.before, tuple(mine + theirs for mine, theirs in pairs))


@dataclass(frozen=True)
class MixtureModel(TableModel[Mixture, MixtureMoments]):
    """Error model of a Gaussian mixture; θ is a `Mixture`.

    Attributes
    ----------
    n_components : int or None
        K, for the starts; None means 3, or one per twenty rows if that is fewer.
    pseudo_mass : float or None
        β, relative to a weight of one for all rows. `complete` replaces None by the mass of D + 1
        rows, as many as determine a covariance. Without `complete`, None means 0.
    target : float
        τ, the variance of the pseudo-rows. If `pseudo_mass` is None, `complete` replaces it by the
        variance of rows around the nearest of K centres.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.
    copies : float
        How many times every row stands in the table: copies are no evidence. `complete` sets it.
    begin : Mixture or None
        The only start, where it is known which components to look for.
    gaps : Normal or None
        A robust guess of the law of rows with missing values; None if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate
    >>> from eosparse.models import Mixture, MixtureModel, Normal
    >>> from eosparse.rows import MemoryRows
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, 600), rng.normal(10, 1, 300), [50.0] * 100])[:, None]
    >>> guesses = [Normal(np.array([centre]), np.eye(1)) for centre in (2.0, 8.0)]
    >>> start = Mixture(np.array([0.5, 0.5]), tuple(guesses))
    >>> found = alternate(MixtureModel(), MemoryRows(X), 5.0, start).theta
    >>> found.locations.ravel().round(1).tolist()
    [-0.0, 10.0]
    """

    n_components: int | None = None
    pseudo_mass: float | None = None
    target: float = 1.0
    smallest_size: float = 2.0
    copies: float = 1.0
    begin: Mixture | None = None
    gaps: Normal | None = None

    takes_gaps = True
    is_proven = True

    def errors(self, block: FloatArray, theta: Mixture) -> FloatArray:
        """Return minus the log-density of each row, per column."""
        logs: FloatArray = logsumexp(theta.log_densities(block), axis=1)
        if self.gaps is not None and has_gaps(block):
            logs = logs + self._expect_rest(block)
        errors: FloatArray = (self._pseudo_error(theta) - logs) / block.shape[1]
        return np.minimum(errors, np.finfo(np.float64).max, out=errors)

    def _expect_rest(self, block: FloatArray) -> FloatArray:
        """Return the expected log-density of missing values, given the others, by the guess.

        It does not depend on θ, and makes rows with gaps weigh like others, about.
        """
        assert self.gaps is not None
        n_gaps = np.isnan(block).sum(axis=1)
        log_dets = fill_rows(self.gaps, block).log_dets
        return np.asarray(0.5 * (log_dets - n_gaps * (1 + np.log(2 * np.pi))))

    def distances(self, block: FloatArray, theta: Mixture) -> FloatArray:
        """Return the errors; of rows with gaps, those of all columns that are as improbable."""
        if not has_gaps(block):
            return super().distances(block, theta)
        size, n_there = block.shape[1], (~np.isnan(block)).sum(axis=1)
        matched = [
            match_chances(fill_rows(part, block).distances, n_there, size, 1.0) + part.log_det
            for part in theta.components
        ]
        constant = 0.5 * size * np.log(2 * np.pi)
        logs = theta._log_shares - constant - 0.5 * np.stack(matched, axis=1)
        return np.asarray((self._pseudo_error(theta) - logsumexp(logs, axis=1)) / size)

    def accept_gaps(self, law: Normal, share: float) -> MixtureModel:  # noqa: ARG002  # signature of the base class
        """Return the model for rows with gaps, given a robust guess of the law of the columns."""
        return replace(self, gaps=law)

    def peak_errors(self, theta: Mixture) -> FloatArray:
        """Return the error in the middle of each component, if the others had no density there."""
        n_features = theta.locations.shape[1]
        log_dets = np.array([part.log_det for part in theta.components])
        with np.errstate(divide="ignore"):  # a component without rows
            logs = np.log(theta.shares) - 0.5 * log_dets - 0.5 * n_features * np.log(2 * np.pi)
        return np.asarray((self._pseudo_error(theta) - logs) / n_features)

    def _pseudo_error(self, theta: Mixture) -> float:
        if not self.pseudo_mass:
            return 0.0
        terms = (part.log_det + self.target * part.precision_trace for part in theta.components)
        return 0.5 * self.pseudo_mass * sum(terms)

    def statistics(self, block: FloatArray, weights: FloatArray, theta: Mixture) -> MixtureMoments:
        """Return the moments of the rows, shared out among the components."""
        shared = theta.responsibilities(block) * weights[:, None]
        if has_gaps(block):
            pairs = zip(theta.components, shared.T, strict=True)
            return MixtureMoments(theta, tuple(_fill_moments(k, block, w) for k, w in pairs))
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
        pseudo = self.pseudo_mass or 0.0
        if share + pseudo == 0.0:
            return before
        location = moments.mean if share > 0 else before.location
        scatter = moments.scatter * (share / (share + pseudo))
        scatter.flat[:: len(scatter) + 1] += pseudo / (share + pseudo) * self.target
        return Normal(location, scatter)

    def complete(self, sample: Sample) -> MixtureModel:
        """Return the model with components and pseudo-rows."""
        values, mass, n_rows = sample.values, sample.mass, sample.n_rows / sample.copies
        n_components = self._check_numbers(n_rows)
        n_present = max(float(np.count_nonzero(mass)), n_rows)
        if n_components > n_present:
            raise ValueError(
                f"n_components={n_components} is more than the n_samples={n_present:g} rows."
            )
        # Pseudo-rows would keep a collapsed covariance regular; the bound is that of one Gaussian.
        least = sample.copies * min(1.5 * (values.shape[1] + 1), n_rows / 4)
        model = replace(
            self,
            n_components=n_components,
            smallest_size=max(self.smallest_size, least),
            copies=sample.copies,
        )
        if self.pseudo_mass is not None:
            return model
        spreads = [_spread(start, values, mass) for start in model._centres(values, mass)]
        # With less, splitting one cluster in twenty columns would pay more than separating two.
        pseudo_mass = (values.shape[1] + 1) / n_rows
        return replace(model, pseudo_mass=pseudo_mass, target=min(spreads))

    def _check_numbers(self, n_rows: float) -> int:
        """Return the number of components, all numbers checked."""
        check_number("target", self.target, "(0, inf)")
        if self.pseudo_mass is not None:
            check_number("pseudo_mass", self.pseudo_mass, "[0, inf)")
        if self.n_components is None:
            # Half as many per row as clusters: a covariance needs more rows than a mean.
            return int(min(3, max(n_rows // 20, 1)))
        check_whole("n_components", self.n_components, 1)
        return self.n_components

    def _centres(self, values: FloatArray, mass: FloatArray) -> Iterator[FloatArray]:
        size = self.n_components or 1
        for start in cluster_starts(values, mass, size):
            yield start[np.arange(size) % len(start)]

    def start_from(self, rows: Table) -> Mixture:
        """Return the first guess for rows with these prior weights."""
        sample = take_sample(rows, self.sample_size(rows))
        return next(self.starts(replace(sample, values=rows.prepare(sample.values))))

    def starts(self, sample: Sample) -> Iterator[Mixture]:
        """Yield equal balls around the centres with which k-means starts, and a single one.

        The single one, with other components of share zero, is for tables in which any second
        component would describe outliers.
        """
        if self.begin is not None:
            yield self.begin
            return
        values, mass = sample.values, sample.mass
        size = self.n_components or 1
        for centres in self._centres(values, mass):
            yield _make_balls(centres, np.full(size, 1 / size), values, mass)
        if size > 1:
            densest = list(cluster_starts(values, mass, 1))[-1]
            shares = np.where(np.arange(size) == 0, 1.0, 0.0)
            yield _make_balls(np.repeat(densest, size, axis=0), shares, values, mass)

    def natural_alpha(self, efficiency: float, n_rows: float, n_features: int) -> float:
        """Return α for an efficiency, or a larger one at which half of the rows support K fits."""
        n_components = self.n_components or 1
        parameters = covariance_parameters("full", n_features)
        stable = largest_stable_coupling(parameters, n_rows / self.copies / 2 / n_components)
        return 1 / (n_features * min(coupling_for_efficiency(efficiency, n_features), stable))

    def path_range(self, alpha: float, n_features: int) -> tuple[float, float]:
        """Return a range of α around that of a fit, down to just above 1/D, where c is one."""
        return 200 * alpha, max(alpha / 200, 1.02 / n_features)

    @property
    def law_power(self) -> int:
        """The power of the weights under which the law is found: their squares give its size."""
        return 2

    def law(self, theta: Mixture, alpha: float, moments: ErrorMoments) -> MixtureLaw:
        """Return the law of the error, from those of the components.

        A component with fewer rows than determine a covariance cannot say how far its rows reach,
        and does not count unless no other does.
        """
        n_features = theta.locations.shape[1]
        kish_size = 1 / float(moments.sums[0]) / self.copies  # Σ w²/u, weights summing to one
        # Of the rows, for a covariance: `ScaledF`. The square of a larger α would not fit a float.
        kept = (1 - 1 / (min(alpha, 1e100) * n_features) ** 2) ** 2
        counts = kept * kish_size * theta.shares >= n_features + 1
        return MixtureLaw.of_fit(
            np.where(counts, theta.shares, 0.0) if counts.any() else theta.shares,
            np.array([part.log_det for part in theta.components]),
            self.peak_errors(theta),
            n_features=n_features,
            alpha=alpha,
            kish_size=kish_size,
        )

    def is_full(self, theta: Mixture, values: FloatArray, weights: FloatArray) -> bool:
        """Whether each component has more rows than columns, so that it has a covariance."""
        shared = theta.responsibilities(values).T @ weights / self.copies
        return bool((shared > values.shape[1]).all())

    def is_supported(self, theta: Mixture, values: FloatArray, weights: FloatArray) -> bool:
        """Whether each component has more rows than columns, or none: no outlier has its own."""
        shared = theta.responsibilities(values).T @ weights / self.copies
        return bool(((shared > values.shape[1]) | (shared < _HARDLY_A_ROW)).all())

    def whiten(self, block: FloatArray, theta: Mixture, alpha: float) -> FloatArray:  # noqa: ARG002  # signature of the base class
        """Return rows in units of the mean covariance of the components.

        Deviations are from different components: rows side by side may have very different ones.
        """
        pairs = zip(theta.shares, theta.components, strict=True)
        within = sum((share * part.covariance for share, part in pairs), np.zeros(()))
        middle = Normal(theta.shares @ theta.locations, within)
        centred = fill_rows(middle, block).centred if has_gaps(block) else block - middle.location
        return middle.whiten(centred)

    def deviations(self, block: FloatArray, theta: Mixture, alpha: float) -> FloatArray:  # noqa: ARG002  # signature of the base class
        """Return the standardised deviation of each row from its most probable component.

        By the symmetric root of the covariance, the closest to the columns.
        """
        chosen = theta.responsibilities(block).argmax(axis=1)
        deviations = np.empty_like(block)
        for k, part in enumerate(theta.components):
            variances, vectors = np.linalg.eigh(part.covariance)
            root = (vectors / np.sqrt(variances)) @ vectors.T
            own = chosen == k
            deviations[own] = fill_rows(part, block[own]).centred @ root
        return deviations


def _log_density_of_rest(normal: Normal, values: FloatArray) -> FloatArray:
    """Return the log-density of rows with gaps, without its constant."""
    filled = fill_rows(normal, values)
    return np.asarray(-0.5 * (filled.distances + normal.log_det + filled.log_dets))


def _fill_moments(normal: Normal, values: FloatArray, weights: FloatArray) -> Moments:
    """Return the moments of rows with what is expected in their gaps, and its scatter."""
    filled = fill_rows(normal, values).centred + normal.location
    moments = weighted_moments(filled, weights, diagonal=False)
    if moments.mass == 0.0:
        return moments
    spread = spread_of_gaps(normal, np.isnan(values), weights) / moments.mass
    return replace(moments, scatter=moments.scatter + spread)


def _make_balls(
    centres: FloatArray, shares: FloatArray, values: FloatArray, mass: FloatArray
) -> Mixture:
    """Return components with equal variance in all directions, that of the rows around them."""
    ball = _spread(centres, values, mass) * np.eye(values.shape[1])
    return Mixture(shares, tuple(Normal(centre, ball) for centre in centres))


def _spread(centres: FloatArray, values: FloatArray, mass: FloatArray) -> float:
    """Return the variance per column around the nearest centre, from the median distance."""
    nearest = squared_distances(values, centres).min(axis=1)
    nearest = drop_rounding(nearest, own_rounding(squared_norms(values)))
    # The size of one enormous row says nothing about the rounding of the others.
    reach = float(weighted_quantiles(nearest, mass, (0.9,))[0])
    within = nearest < (min(_FARTHEST, _ENORMOUS * reach) if reach > 0 else _FARTHEST)
    rounding = _ROUNDING * float(np.square(np.ptp(values[within], axis=0)).sum())
    median = float(weighted_quantiles(nearest, mass, (0.5,))[0])
    if median > rounding:
        return median / chi_squared_quantile(0.5, values.shape[1])
    # If most rows are tied, take the mean; if all are, any value will do.
    mean = float(mass[within] @ nearest[within] / mass.sum())
    return mean / values.shape[1] if mean > rounding else 1.0


# A component with a smaller part of a row is about to vanish.
_HARDLY_A_ROW = 0.1
# Squared distances below this part of the rows' squared range are rounding,
_ROUNDING = 1e-20
# and beyond this, sums may overflow.
_FARTHEST = 1e260
# Rows farther than a million times most others are enormous.
_ENORMOUS = 1e12
