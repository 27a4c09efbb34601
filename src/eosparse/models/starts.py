"""Robust deterministic starts for the Gaussian error.

The objective has several local minima, and one of them is worthless (all weight on a few rows), so
the answer is decided by where the alternation starts and which of its ends is believed:

1. *Guess* subsets of rows that may be clean: the half closest to the centre in several robust
   metrics, the larger side of a split along directions of extreme kurtosis, and all rows.
2. *Concentrate* each: refit on the half closest to the fit, a few times. Keep the fit to all rows
   as well.
3. *Alternate* from each distinct one.
4. *Admit* an end only if its ellipsoid holds at least half of the rows: otherwise a tight minority
   would win by its small determinant. Among those admitted, the smallest determinant decides,
   and between nearly equal ones the lowest objective.
5. *Peel*: rows held by a minority solution leave the guesses (not the data), and 1-4 are repeated.

Rows carry prior weights; a weight of k equals the same row k times, a weight of zero its absence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from eosparse.core import (
    BoolArray,
    FloatArray,
    Result,
    Rows,
    Status,
    alternate,
    centre_and_spread,
    weighted_moments,
    weighted_quantiles,
)
from eosparse.models.gaussian import GaussianModel, Normal, SingularFitError


@dataclass(frozen=True)
class Candidate:
    """An end of the alternation at some c, and the part of all rows in its 99 % ellipsoid."""

    result: Result[Normal]
    coupling: float
    inside: BoolArray
    coverage: float

    @property
    def is_majority(self) -> bool:
        """Whether at least half of the rows lie inside."""
        return self.coverage >= 0.5


@dataclass(frozen=True)
class StartSearch:
    """The search for a start on rows that fit into memory.

    Attributes
    ----------
    model : GaussianModel
        The error model.
    values : array of shape (n_samples, n_coordinates)
        The rows.
    mass : array of shape (n_samples,)
        Prior weight of each row.
    rows : Rows
        The same rows, as the loop wants them.
    each : callable
        How to apply a function to several things: `map`, or something that uses several threads.
    """

    model: GaussianModel
    values: FloatArray
    mass: FloatArray
    rows: Rows[FloatArray]
    each: Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]] = map

    def best(self, alpha: float) -> Candidate | None:
        """Return the best admitted end, else the one that holds most rows, else None."""
        found = self.ends(alpha)
        pool, fresh = self.mass, found
        for _ in range(_MOST_PEELINGS):
            minorities = [c.inside for c in fresh if not c.is_majority]
            peeled = pool * ~np.any(minorities, axis=0) if minorities else pool
            if not minorities or peeled.sum() < 0.4 * self.mass.sum() or np.all(peeled == pool):
                break
            pool, fresh = peeled, self._ends(alpha, self._starts(peeled))
            found = found + fresh
        minority = [candidate for candidate in found if not candidate.is_majority]
        for candidate in _by_preference(found):
            if candidate.is_majority:
                # A slow passage may look like an end: go on, and see whether it holds.
                end = self.end(alpha, candidate.result.theta, tol=1e-12, max_iter=500)
                if end is not None and end.is_majority:
                    return end
                minority += [] if end is None else [end]
        return max(minority, key=lambda c: c.coverage, default=None)

    def ends(self, alpha: float) -> list[Candidate]:
        """Where the alternation leads from every guess about all rows, roughly."""
        return self._ends(alpha, self._starts_from_all)

    def _ends(self, alpha: float, starts: list[Normal]) -> list[Candidate]:
        ends = self.each(lambda start: self.end(alpha, start), starts)
        return [end for end in ends if end is not None]

    @cached_property
    def _starts_from_all(self) -> list[Normal]:
        return self._starts(self.mass)

    def _starts(self, pool: FloatArray) -> list[Normal]:
        """Distinct fits from every guess; they do not depend on alpha."""
        refined = self.each(lambda guess: self._refine(guess, pool), _guesses(self.values, pool))
        fits = [fit for fit in refined if fit is not None]
        # The classical fit too, unconcentrated: ties may make every half of the rows singular.
        distinct: list[Normal] = [self._fit(pool)]
        for fit in sorted(fits, key=lambda fit: fit.log_det):
            if not any(_are_alike(fit, other) for other in distinct[1:]):
                distinct.append(fit)
        return distinct[:_MOST_ENDS]

    def _refine(self, guess: FloatArray, pool: FloatArray) -> Normal | None:
        """Concentrate a guess on the half of all rows that is closest to it.

        The fit to that half is too narrow for a clean table and about right for one that is half
        wrong. It is left so: the alternation widens a narrow start, but outliers that a wide one
        lets in may stay.
        """
        # Without shrinkage a fit needs more rows than columns; this many break down last.
        spare = self.values.shape[1] + 1 if self.model.shrinkage == 0 else 1
        half = 0.5 * (self.mass.sum() + spare)
        wanted = min(half / pool.sum(), 1.0)
        try:
            fit = self._fit(guess)
            for _ in range(_CONCENTRATION_STEPS):
                distances = fit.mahalanobis(self.values)
                fit = self._fit(
                    pool * (distances <= weighted_quantiles(distances, pool, (wanted,)))
                )
            _ = fit.factor  # singular fits are found out here
        except SingularFitError:
            return None
        return fit

    def _fit(self, weights: FloatArray) -> Normal:
        return self.model.solve(
            weighted_moments(self.values, weights, diagonal=self.model.structure != "full")
        )

    def end(
        self, alpha: float, start: Normal, *, tol: float = 1e-5, max_iter: int = 60
    ) -> Candidate | None:
        """Alternate from a start; None if it collapses."""
        result = alternate(self.model, self.rows, alpha, start, tol=tol, max_iter=max_iter)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # a search cut short has no answer
        if result.status is Status.COLLAPSED:
            return None
        coupling = min(self.model.coupling(alpha), 0.999)
        inside = self._inside(result.theta, coupling)
        coverage = float(self.mass @ inside / self.mass.sum())
        return Candidate(result, coupling, inside, coverage)

    def _inside(self, theta: Normal, coupling: float) -> BoolArray:
        """Return which rows lie within the 99 % ellipsoid of a fit.

        Under the weights, distances of Gaussian rows are χ² with D degrees; without them 1/(1-c)
        times that. Shrinkage changes their law to about a gamma law, known by weighted moments.
        """
        distances = theta.mahalanobis(self.values)
        shape, scale = len(theta.location) / 2, 2.0
        if self.model.shrinkage > 0:
            weights = self.mass * np.exp(-coupling * (distances - distances.min()) / 2)
            moments = weighted_moments(distances[:, None], weights, diagonal=True)
            mean, variance = float(moments.mean[0]), float(moments.scatter[0])
            scale = max(variance, 1e-12 * mean**2, 1e-300) / max(mean, 1e-300)
            shape = mean / scale
        untilted = scale / max(1 - coupling * scale / 2, 0.05)
        inside: BoolArray = distances <= untilted * gammaincinv(shape, 0.99)
        return inside


_CONCENTRATION_STEPS = 3
_MOST_ENDS = 6
_MOST_PEELINGS = 3
# Determinants that differ by less than this per column do not decide between two ends.
_EQUAL_LOG_DET = 0.02


def _by_preference(found: list[Candidate]) -> Iterator[Candidate]:
    """Ends in order of determinant; of nearly equal ones the lowest objective comes first.

    A solution that hides a small cluster loses as many rows elsewhere, and so its determinant is
    much like that of the solution without the cluster, or smaller; its objective is higher.
    """
    remaining = sorted(found, key=lambda candidate: candidate.result.last.log_det)
    while remaining:
        smallest = remaining[0].result.last
        bound = smallest.log_det + _EQUAL_LOG_DET * len(smallest.location)
        level = [candidate for candidate in remaining if candidate.result.last.log_det <= bound]
        yield from sorted(level, key=lambda candidate: candidate.result.objective)
        remaining = remaining[len(level) :]


def _are_alike(one: Normal, other: Normal) -> bool:
    """Whether two fits are so close that the alternation would bring them together.

    Their divergence is that of Kullback and Leibler, both ways: a determinant does not tell a
    fit that holds a small cluster from one that holds a few rows more elsewhere.
    """
    size = len(one.location)
    if abs(one.log_det - other.log_det) > 0.02 * size:
        return False
    return _excess(one, other) + _excess(other, one) < 0.1 * size


def _excess(one: Normal, other: Normal) -> float:
    """Mean squared distance from `other` under `one`, less the number of columns."""
    gap = other.mahalanobis(one.location[None, :])[0]
    if one.factor.ndim == 1:
        return float(gap + (one.covariance / other.covariance - 1.0).sum())
    return float(gap + np.square(other.whiten(one.factor.T)).sum() - len(one.location))


def _guesses(values: FloatArray, mass: FloatArray) -> Iterator[FloatArray]:
    """Weights of the rows that may be clean, by several ideas."""
    centre, spread = centre_and_spread(values, mass)
    scaled = (values - centre) / np.where(spread > 0, spread, 1.0)
    yield mass
    yield _nearest_half(np.einsum("ij,ij->i", scaled, scaled), mass)
    for transformed in _bounded(scaled):
        yield _nearest_half(_eigenvector_distances(scaled, transformed, mass), mass)
    if mass.sum() > 2 * values.shape[1]:
        yield from _kurtosis_splits(values, mass)


def _nearest_half(distances: FloatArray, mass: FloatArray) -> FloatArray:
    return mass * (distances <= weighted_quantiles(distances, mass, (0.5,)))


def _bounded(scaled: FloatArray) -> Iterator[FloatArray]:
    """Transformations that outliers can hardly move: tanh and spatial signs."""
    yield np.tanh(scaled)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    yield scaled / np.where(length > 0, length, 1.0)


def _eigenvector_distances(
    scaled: FloatArray, transformed: FloatArray, mass: FloatArray
) -> FloatArray:
    """Distances from the median with robust spreads along the eigenvectors of a scatter."""
    _, vectors = np.linalg.eigh(weighted_moments(transformed, mass, diagonal=False).scatter)
    rotated = scaled @ vectors
    centre, spread = centre_and_spread(rotated, mass)
    standard = (rotated - centre) / np.where(spread > 0, spread, 1.0)
    distances: FloatArray = np.einsum("ij,ij->i", standard, standard)
    return distances


def _kurtosis_splits(values: FloatArray, mass: FloatArray) -> Iterator[FloatArray]:
    """Larger parts of the rows split along directions of extreme kurtosis.

    In whitened rows these directions do not depend on the units or on any linear map of the
    columns. The search starts from the extreme eigenvectors of E[|z|² z z'] and from the leading
    principal axes.
    """
    moments = weighted_moments(values, mass, diagonal=False)
    share = mass / mass.sum()
    variances, vectors = np.linalg.eigh(moments.scatter)
    kept = variances > 1e-12 * variances[-1]
    white = (values - moments.mean) @ (vectors[:, kept] / np.sqrt(variances[kept]))
    size = min(3, white.shape[1])
    length = np.einsum("ij,ij->i", white, white)
    _, fourth = np.linalg.eigh((white * (share * length)[:, None]).T @ white)
    axes = np.eye(white.shape[1])[:, -size:]
    start = np.concatenate([fourth[:, :size], fourth[:, -size:], axes], axis=1)
    found = [_extreme_kurtosis(white, share, start, lowest) for lowest in (True, False)]
    projections = white @ np.concatenate(found, axis=1)
    order = np.argsort(share @ projections**4)
    for index in {*order[:2], *order[-2:]}:
        yield _larger_part(projections[:, index], mass)


def _extreme_kurtosis(
    white: FloatArray, share: FloatArray, directions: FloatArray, lowest: bool
) -> FloatArray:
    """Fixed-point steps towards the lowest (or highest) kurtosis of a projection."""
    for _ in range(8):
        projections = white @ directions
        squares = projections * projections
        gradient = white.T @ (squares * projections * share[:, None])
        if lowest:
            # A shift above the curvature turns descent into a convergent power step.
            shift = np.maximum(3.0, 1.5 * (share @ (squares * squares)))
            gradient = shift * directions - gradient
        directions = gradient / np.maximum(np.linalg.norm(gradient, axis=0), 1e-300)
    return directions


def _larger_part(projection: FloatArray, mass: FloatArray) -> FloatArray:
    """Split rows in two where the variance between the parts is largest; keep the heavier."""
    order = np.argsort(projection, kind="stable")
    below = np.cumsum(mass[order])
    total, sums = below[-1], np.cumsum(mass[order] * projection[order])
    inner = (below > 0) & (below < total)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (sums - below * sums[-1] / total) ** 2 / (below * (total - below))
    cut = int(np.argmax(np.where(inner, between, -1.0)))
    low = projection <= projection[order[cut]]
    larger: FloatArray = mass * (low if mass @ low >= total / 2 else ~low)
    return larger
