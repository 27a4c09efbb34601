"""The Gaussian error of the paper: minus the log-density per column.

    g(x, μ, V) = (1/2D) ( log det V + (1-λ) (x-μ)'V⁻¹(x-μ) + λτ tr V⁻¹ )

where λ is the shrinkage, 0 in the paper, and τ the variance towards which it shrinks. Its weighted
fit is the closed form

    μ = Σ w x,    S = Σ w (x-μ)(x-μ)',    V = (1-λ) S + λτ I

so linear shrinkage is part of the error, not a correction of the fit, and the objective still falls
in every step. With ``c = (1-λ)/(αD)`` the weights are ``w ∝ exp(-c·m/2)``, m being the squared
distance; on clean Gaussian data V tends to (1-c)Σ, so that **V / (1-c) is the consistent
covariance**.

θ is kept in working coordinates, where its numbers are of moderate size. A shift and a scale bring
a row there. Both are applied to θ instead, so that a block of stored rows is not copied: it is
centred, multiplied by the whitening matrix, and by its weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from eosparse.core import (
    FloatArray,
    Moments,
    Result,
    Visit,
    WeightSummary,
    centred_moments,
    check_number,
    has_gaps,
    has_lost_digits,
    optimal_weights,
    weighted_moments,
)
from eosparse.inference import Pull, SelfPull
from eosparse.models import fused
from eosparse.models.base import TableModel
from eosparse.models.efficiency import Structure, covariance_parameters
from eosparse.models.exact_fit import restrict
from eosparse.models.gaussian_deviations import find_deviations, whiten
from eosparse.models.gaussian_foresight import foresee_gaussian
from eosparse.models.gaussian_gaps import (
    Gaps,
    accept_gaps,
    conclude,
    measure_gaps,
    visit_gaps,
)
from eosparse.models.gaussian_law import find_gaussian_law, is_law_known, part_in_span
from eosparse.models.gaussian_rough import find_rough_model
from eosparse.models.gaussian_search import propose_attempts
from eosparse.models.normal import (
    RANK_TOLERANCE,
    Normal,
    times_transposed,
)
from eosparse.models.shrinkage import choose_shrinkage
from eosparse.rows import (
    Coordinates,
    MemoryRows,
    Sample,
    Table,
    check_rows_differ,
    choose_coordinates,
    find_heap,
    reduce_to_span,
)

# Columns farther from zero, in spreads, would lose more than 16 of 53 bits if θ is brought to them.
_FAR_FROM_ZERO = 2.0**16
# From so many columns on, blocks are kept row by row.
_MANY_COLUMNS = 64
_STRUCTURES: tuple[Structure, ...] = ("full", "diag", "spherical")
# The square of a larger squared distance would not fit a float: coordinates draw such rows in.
_FARTHEST = 1e120
# The square of a smaller mass would lose digits.
_LEAST_MASS = 1e-140


@dataclass(frozen=True)
class GaussianModel(TableModel[Normal, Moments]):
    """Error model of one Gaussian; θ is a `Normal`.

    Attributes
    ----------
    covariance : {"full", "diag", "spherical"}
        Form of the covariance. "spherical" means equal variances in scaled columns.
    shrinkage : float in [0, 1) or "auto"
        λ: linear shrinkage of a full covariance towards a multiple of the identity in robustly
        scaled columns. "auto" is 0, unless there are fewer than five rows per column (then the
        oracle-approximating value) or the bulk has a singular covariance (then 0.1, with a
        warning).
    n_features : int
        D, the number of columns; `complete` sets this and everything below.
    amount : float
        λ, the shrinkage used.
    target : float
        τ, the variance towards which the covariance is shrunk.
    smallest_size : float
        Effective number of rows below which a fit counts as collapsed.
    crowding : float
        Free parameters of the covariance per row. It changes the speed, not the answer.
    dimension : float
        Number of dimensions that the covariance effectively fits.
    feedback : float
        How strongly the covariance follows its own weights, relative to one without shrinkage.
    coordinates : Coordinates or None
        From rows as stored to working coordinates; None if rows are in working coordinates.
    copies : float
        How many times every row stands in the table.
    is_exact_fit : bool
        Whether some rows lie off the span of the coordinates, which more than half are on.
    gaps : Gaps or None
        What is known of missing values; None if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> from eosparse.models import GaussianModel
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[0] = 9.0
    >>> detector = EOSDetector(model=GaussianModel(covariance="diag")).fit(X)
    >>> np.flatnonzero(detector.is_outlier_).tolist()
    [0]
    """

    covariance: Structure = "full"
    shrinkage: float | Literal["auto"] = "auto"
    n_features: int = 0
    amount: float = 0.0
    target: float = 1.0
    smallest_size: float = 2.0
    crowding: float = 0.0
    dimension: float = 0.0
    feedback: float = 1.0
    coordinates: Coordinates | None = field(default=None, repr=False)
    copies: float = 1.0
    is_exact_fit: bool = False
    gaps: Gaps | None = field(default=None, repr=False)

    takes_gaps = True
    is_one_cloud = True
    warms_up = True
    is_proven = True
    view = staticmethod(np.asarray)  # type: ignore[assignment]  # as stored; θ has shift and scale
    propose = propose_attempts
    find_law = find_gaussian_law
    foresee = foresee_gaussian
    accept_gaps = accept_gaps
    conclude = conclude
    whiten = whiten
    deviations = find_deviations
    in_single_precision = find_rough_model
    has_known_law = property(is_law_known)

    def __post_init__(self) -> None:
        if not isinstance(self.shrinkage, str):  # frozen, but λ follows from it
            object.__setattr__(self, "amount", self.shrinkage)

    @property
    def spans_columns(self) -> bool:
        """Whether good rows vary in all columns, none of which follows from the others."""
        return self.coordinates is None or self.coordinates.basis is None

    def coupling(self, alpha: float) -> float:
        """Return c, the exponent of the weights ``w ∝ exp(-c·m/2)``."""
        if not self.n_features:
            raise ValueError("GaussianModel needs n_features; EOSDetector sets it.")
        return (1 - self.amount) / (alpha * self.n_features)

    def alpha(self, coupling: float) -> float:
        """Return the α that gives a value of c."""
        if coupling == 0.0:
            return float("inf")
        return (1 - self.amount) / (coupling * self.n_features)

    def errors(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of each row."""
        return self.error_at(self._measure(block, theta)[1], theta)

    def error_at(self, distances: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of rows at squared distances."""
        common = theta.log_det
        if self.amount > 0.0:
            common += self.amount * self.target * theta.precision_trace
        errors = distances * ((1 - self.amount) / (2 * self.n_features))
        errors += common / (2 * self.n_features)
        return errors

    def statistics(
        self,
        block: FloatArray,
        weights: FloatArray,
        theta: Normal | None = None,  # noqa: ARG002  # signature of the base class
    ) -> Moments:
        """Return the weighted moments of the block, in working coordinates."""
        working = block if self.coordinates is None else self.coordinates(block)
        return weighted_moments(working, weights, diagonal=self.covariance != "full")

    def solve(self, statistics: Moments) -> Normal:
        """Return the closed-form weighted fit."""
        scatter = statistics.scatter
        if self.covariance == "spherical":
            scatter = np.full_like(scatter, scatter.mean())
        elif self.amount > 0.0:
            scatter = (1 - self.amount) * scatter
            scatter.flat[:: len(scatter) + 1] += self.amount * self.target
        return Normal(statistics.mean, scatter)

    def visit(
        self, block: FloatArray, prior: FloatArray | None, theta: Normal, alpha: float
    ) -> Visit[Moments]:
        """Return summary and moments of a block; rows are centred once."""
        if self.gaps is not None and has_gaps(block):
            return visit_gaps(self, block, prior, theta, alpha)
        if fused.is_large(block) and np.isfinite(alpha):
            swept = self.sweep(block, prior, theta, alpha)
            if swept is not None:
                return swept
        centred, distances, scale = self._measure(block, theta)
        solution = optimal_weights(self.error_at(distances, theta), alpha, prior)
        moments = centred_moments(
            centred, solution.weights, diagonal=self.covariance != "full"
        )  # overwrites the rows
        if moments is None:
            moments = self.statistics(block, solution.weights)
        else:
            moments = _shift_and_scale(moments, theta.location, scale)
        return Visit(solution.summary, moments, self._final(distances))

    def _final(self, distances: FloatArray) -> tuple[FloatArray, ...]:
        """Return distances within the span of the rows, if they are those of `distances`."""
        has_span = self.coordinates is not None and self.coordinates.basis is not None
        is_final = (self.is_exact_fit or not has_span) and distances.max() < _FARTHEST
        return (distances,) if is_final else ()

    def _measure(
        self, block: FloatArray, theta: Normal
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return the rows less θ's location, their squared distances, and the rows' scale.

        A scale of None means that the centred rows are in working coordinates.
        """
        white: FloatArray
        frame = self._bring_to_rows(theta)
        if frame is not None:
            centre, whitening, scale = frame
            # Few columns: faster one after the other. Many: a transposed copy takes too long.
            centred = np.empty(block.shape, order="F" if block.shape[1] < _MANY_COLUMNS else "C")
            with np.errstate(over="ignore", invalid="ignore"):
                np.subtract(block, centre, out=centred)
                if whitening.ndim == 1:
                    white = centred / whitening
                else:
                    white = times_transposed(centred, whitening)
                distances = np.einsum("ij,ij->i", white, white)
            if distances.max() < _FARTHEST:
                return centred, distances, scale
        working = block if self.coordinates is None else self.coordinates(block)
        centred = working - theta.location
        white = theta.whiten(centred)
        distances = np.einsum("ij,ij->i", white, white)
        if self.is_exact_fit:
            distances += self._off_span_distances(block)
        return centred, distances, None

    def _bring_to_rows(self, theta: Normal) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return θ's location and whitening matrix for rows as stored, and the rows' scale.

        For variances, the whitening matrix is the vector to divide by. None if this would lose
        digits, as for columns far from zero or an ill-conditioned θ: rows are brought to θ then.
        """
        coordinates = self.coordinates
        if coordinates is None or coordinates.basis is not None or not theta.is_well_conditioned:
            return None
        scale = coordinates.scale
        if not (np.abs(coordinates.origin) <= _FAR_FROM_ZERO * scale).all():
            return None
        is_diagonal = theta.factor.ndim == 1
        whitening = theta.factor * scale if is_diagonal else theta.inverse_factor / scale
        return coordinates.origin + scale * theta.location, whitening, scale

    def sweep(
        self,
        block: FloatArray,
        prior: FloatArray | None,
        theta: Normal,
        alpha: float,
        precision: type[np.floating[Any]] = np.float64,
    ) -> Visit[Moments] | None:
        """Return summary and moments of a block in one sweep of compiled code.

        None if that would lose digits, or if all weights underflow.
        """
        frame = self._bring_to_rows(theta)
        if frame is None or theta.covariance.ndim == 1:
            return None
        centre, whitening, scale = frame
        whitening = whitening.astype(precision, copy=False)
        at_location = self.error_at(np.zeros(1), theta)[0]
        exponent = self.coupling(alpha) / 2
        totals, sums, products, distances = fused.sweep(block, prior, centre, whitening, exponent)
        mass, squares, moment = totals.tolist()
        if not _LEAST_MASS < mass < np.inf:
            return None
        gap = sums / mass
        around = products / mass
        if has_lost_digits(gap, np.diag(around)):
            return None
        summary = WeightSummary(
            alpha=alpha,
            objective=float(at_location - alpha * np.log(mass)),
            mass=float(len(block) if prior is None else prior.sum()),
            entropy=float(exponent * moment / mass + np.log(mass)),
            squares=squares / mass**2,
        )
        moments = Moments(1.0, gap, around - np.outer(gap, gap))
        moments = _shift_and_scale(moments, theta.location, scale)
        return Visit(summary, moments, self._final(distances))

    # What is left open, and starts

    def sample_size(self, table: Table) -> int:
        """Return enough rows to choose coordinates and a start."""
        columns = min(table.n_features, table.n_present)
        # Twenty rows per column; fewer for many columns, of which the search sees a sketch.
        size = max(1000, min(20 * columns, 1000 + 4 * columns), 5 * columns)
        return size if table.n_present > 2 * size else table.n_present

    def complete(self, sample: Sample) -> GaussianModel:
        """Return the model with coordinates and shrinkage chosen."""
        if self.covariance not in _STRUCTURES:
            raise ValueError(f"covariance={self.covariance!r} must be one of {_STRUCTURES}.")
        check_number("shrinkage", self.shrinkage, "[0, 1)", words=("auto",))
        if self.covariance != "full" and self.shrinkage not in ("auto", 0):
            raise ValueError(f"shrinkage={self.shrinkage!r} applies to covariance='full' only.")
        if (sample.values == sample.values[0]).all():
            check_rows_differ(sample)
        coordinates = choose_coordinates(sample)
        if self.covariance == "full":
            heap = find_heap(sample)
            if not heap.all():
                return restrict(self, coordinates, sample, heap)
            reduced = reduce_to_span(coordinates, MemoryRows(sample.values, sample.mass))
            if reduced.basis is not None and not sample.is_whole:  # ask all rows
                reduced = reduce_to_span(coordinates, sample.table)
            coordinates = reduced
        return self.complete_in(coordinates, sample)

    def complete_in(self, coordinates: Coordinates, sample: Sample) -> GaussianModel:
        """Return the model in given coordinates, with shrinkage chosen."""
        rank, n_rows = coordinates.rank, sample.n_rows / sample.copies
        model = replace(
            self,
            coordinates=coordinates,
            n_features=sample.values.shape[1],
            # A covariance needs rank + 1 rows; a fit to few more is a collapse.
            smallest_size=sample.copies * min(1.5 * (rank + 1), n_rows / 4),
            crowding=covariance_parameters(self.covariance, rank) / n_rows,
            dimension=float(max(rank, 1)),
            copies=sample.copies,
        )
        return model if self.covariance != "full" else choose_shrinkage(model, sample)

    def path_range(self, alpha: float, n_features: int) -> tuple[float, float]:  # noqa: ARG002  # signature of the base class
        """Return an α with almost equal weights, and one just above the collapse onto a point."""
        lowest = self.alpha(1.0)
        return 200 * lowest, 1.02 * lowest

    # Reading a fit

    def distances(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the squared distances m of rows as stored, in the metric of V.

        Of rows with gaps, those of all columns that are as improbable.
        """
        if self.gaps is not None and has_gaps(block):
            return measure_gaps(self, block, theta)
        if fused.is_large(block) and theta.covariance.ndim == 2:
            frame = self._bring_to_rows(theta)
            if frame is not None:
                distances = fused.squared_distances(block, *frame[:2])
                if distances.max() < _FARTHEST:
                    return distances
        distances = self._measure(block, theta)[1]
        has_span = self.coordinates is not None and self.coordinates.basis is not None
        if has_span and not self.is_exact_fit:
            distances += self._off_span_distances(block)
        return distances

    def _off_span_distances(self, block: FloatArray) -> FloatArray:
        """Return the squared distances along directions that the rows do not span."""
        assert self.coordinates is not None
        return self.coordinates.off_span(block) / self.off_span_variance

    @property
    def is_crowded(self) -> bool:
        """Whether a full covariance has more free parameters than there are rows."""
        return self.covariance == "full" and self.crowding >= 1

    @property
    def off_span_variance(self) -> float:
        """Variance off the span of the rows: rounding without shrinkage, also for a new row."""
        return max(self.amount, RANK_TOLERANCE**2) * self.target

    def pull(self, result: Result[Normal], n_rows: float, rounding: float) -> Pull:  # noqa: ARG002  # signature of the base class
        """Return how the weight of a training row depends on its distance, and moves the fit."""
        leverage = {
            "full": 1 - self.amount,
            "diag": 3 / (self.n_features + 2),
            "spherical": 1 / self.n_features,
        }[self.covariance]
        peak = 1 / n_rows
        if np.isfinite(result.alpha):
            at_location = self.error_at(np.zeros(1), result.theta)[0]
            peak = float(np.exp((result.objective - at_location) / result.alpha))
        held = part_in_span(self, result.theta) if self.amount > 0 else None
        return SelfPull(self.coupling(result.alpha), peak, leverage, held, self.copies)

    def location(self, theta: Normal) -> FloatArray:
        """Return the location in the units of the columns."""
        assert self.coordinates is not None
        return self.coordinates.location(theta.location)

    def covariance_at(self, theta: Normal, alpha: float) -> FloatArray:
        """Return the corrected covariance in the units of the columns."""
        assert self.coordinates is not None
        raw = self.coordinates.covariance(theta.covariance, self.off_span_variance)
        return raw / (1 - self.coupling(alpha))


def _shift_and_scale(moments: Moments, location: FloatArray, scale: FloatArray | None) -> Moments:
    """Bring moments around θ's location to working coordinates."""
    if scale is None:
        return replace(moments, mean=location + moments.mean)
    scatter = moments.scatter / scale
    scatter /= scale if scatter.ndim == 1 else scale[:, None]
    return Moments(moments.mass, location + moments.mean / scale, scatter)
