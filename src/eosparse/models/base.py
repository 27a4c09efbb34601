"""What an error model knows about itself, with a default for everything that is optional.

The alternation needs `errors`, `statistics` and `solve`. Choosing a start and α, judging rows and
explaining them need more; a model overrides what it knows better than the defaults.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core import (
    ErrorModel,
    FloatArray,
    Result,
    solve_from_prior,
    weighted_quantiles,
)
from eosparse.core.model import Stats, Theta
from eosparse.inference import FittedGamma, Law, NoPull, Pull
from eosparse.models.normal import Normal
from eosparse.rows import Sample, Table, as_float64

# Fits to the half of the rows with the smallest errors settle within this many steps.
_CONCENTRATIONS = 10
# Rows on which a start is chosen. Starts of clusters take all distances between them.
_SAMPLE_ROWS = 3000


@dataclass(frozen=True)
class Request:
    """What the user requested for α and the start.

    Attributes
    ----------
    alpha : float or "auto"
        Regularisation.
    efficiency : float or None
        Efficiency for which to choose α.
    searches : bool
        Whether to search for a start; otherwise only α is chosen.
    is_alpha_open : bool
        Whether α is left to the model altogether.
    """

    alpha: float | Literal["auto"] = "auto"
    efficiency: float | None = None
    searches: bool = True
    is_alpha_open: bool = True


class Beginning(ABC, Generic[Theta]):
    """Rows that are believed, by which a fit begins."""

    @abstractmethod
    def __call__(self, rows: Table) -> Theta:
        """Return the θ that fits them, among all rows as stored."""

    @abstractmethod
    def begin_roughly(
        self, rows: Table, model: ErrorModel[FloatArray, Theta, Any]
    ) -> tuple[Theta, Table]:
        """Return it for rows in single precision, and those of them that may have weight."""


@dataclass(frozen=True)
class Attempt(Generic[Theta]):
    """A way to fit all rows: a model, α, and the θ to start from.

    Instead of a θ, `begin` may find one on all rows. Without either, the fit starts from the prior
    weights of all rows. A fit that `accepts` refuses is as good as none: the next attempt is made.
    """

    model: TableModel[Theta, Any]
    alpha: float
    theta: Theta | None = None
    begin: Beginning[Theta] | None = None
    accepts: Callable[[Theta], bool] | None = None


@dataclass(frozen=True)
class Roughly(Generic[Theta]):
    """A model in single precision, and what brings blocks to it; None for rows as stored."""

    model: ErrorModel[FloatArray, Theta, Any]
    bring: Callable[[FloatArray], FloatArray] | None


class TableModel(ErrorModel[FloatArray, Theta, Stats]):
    """An error model of the rows of a table, for `EOSDetector` and your own estimators.

    Subclasses implement `errors`, `statistics` and `solve`. All other methods have defaults.

    Examples
    --------
    The weighted mean, with the squared distance from it as the error of a row:

    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> from eosparse.core import weighted_moments
    >>> from eosparse.models import TableModel
    >>> class Mean(TableModel):
    ...     def errors(self, block, theta):
    ...         return np.square(block - theta).sum(axis=1)
    ...
    ...     def statistics(self, block, weights, theta):
    ...         return weighted_moments(block, weights, diagonal=True)
    ...
    ...     def solve(self, statistics):
    ...         return statistics.mean
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> X[:5] = 30.0
    >>> np.flatnonzero(EOSDetector(model=Mean()).fit(X).is_outlier_).tolist()
    [0, 1, 2, 3, 4]
    """

    is_squared: ClassVar[bool] = False
    """Whether errors are squared distances; α and law then follow from χ² laws."""

    is_one_cloud: ClassVar[bool] = False
    """Whether good rows are one cloud, so that flagged rows may be groups beside it."""

    takes_gaps: ClassVar[bool] = False
    """Whether rows may have missing values."""

    warms_up: ClassVar[bool] = False
    """Whether to alternate on a part of the rows first, if there are very many."""

    @property
    def spans_columns(self) -> bool:
        """Whether good rows vary in all columns, none of which follows from the others."""
        return True

    def objective_unit(self, alpha: float) -> float:
        """Return α for squared distances, which have units, and one for other errors."""
        if not self.is_squared:
            return 1.0
        return alpha if np.isfinite(alpha) else 0.0

    # What is left open

    def view(self, values: FloatArray) -> FloatArray:
        """Return rows as the model sees them, in double precision by default."""
        return as_float64(values)

    def sample_size(self, table: Table) -> int:  # noqa: ARG002  # for subclasses
        """Return how many rows are enough to choose α, a start and other open choices."""
        return _SAMPLE_ROWS

    def complete(self, sample: Sample) -> TableModel[Theta, Stats]:  # noqa: ARG002  # for subclasses
        """Return the model with all open choices made and checked."""
        return self

    def round_off(self, rounding: float, columns: FloatArray) -> TableModel[Theta, Stats]:  # noqa: ARG002  # for subclasses
        """Return the model for which errors that rounding can explain are zero.

        Given are an error that is rounding anyway, and the squared rounding of each column.
        """
        return self

    # Starts and α

    def starts(self, sample: Sample) -> Iterable[Theta]:
        """Return guesses of θ; by default the fit to all rows, and to half of them.

        That half is found by fitting to the rows with the smallest errors, again and again.
        """
        values, mass = sample.values, sample.mass
        try:
            theta = whole = self._fit_part(values, mass, None)
        except (TypeError, AttributeError) as error:
            raise TypeError(
                f"{type(self).__name__} has no start: override starts(sample) to return guesses of "
                "theta. The default calls statistics(block, weights, None), so theta must not "
                f"matter there ({error})."
            ) from error
        for _ in range(_CONCENTRATIONS):
            errors = self.distances(values, theta)
            near = errors <= weighted_quantiles(errors, mass, (0.5,))[0]
            theta = self._fit_part(values[near], mass[near], theta)
        return [whole, theta]

    def _fit_part(self, values: FloatArray, mass: FloatArray, theta: Theta | None) -> Theta:
        return self.solve(self.statistics(values, mass / mass.sum(), theta))  # type: ignore[arg-type]

    def start_from(self, rows: Table) -> Theta:
        """Return the θ at which a fit starts from the prior weights of rows."""
        return solve_from_prior(self, rows)

    def propose(self, sample: Sample, request: Request) -> Iterator[Attempt[Theta]] | None:  # noqa: ARG002  # for subclasses
        """Yield ways to fit, best first; each is tried only if those before it collapse.

        None by default: the general search chooses α and the best of `starts`.
        """
        return None

    def n_directions(self, n_features: int) -> float:
        """Return the number of directions in which rows scatter; for squared distances."""
        return n_features

    def n_determining(self, n_features: int) -> int:  # noqa: ARG002  # for subclasses
        """Return the number of rows that some θ can fit exactly."""
        return 1

    def accept_gaps(self, law: Normal, share: float) -> Self:  # noqa: ARG002  # for subclasses
        """Return the model for rows with missing values.

        Given are a robust guess of their law, and the share of values that are missing. By default
        a model takes none.
        """
        raise ValueError(
            f"X has missing values, which {type(self).__name__} does not take. Fill or drop them, "
            "or use model='auto'."
        )

    def in_single_precision(self, start: Any) -> Roughly[Theta] | None:  # noqa: ARG002  # for subclasses
        """Return a less exact model for passes from a θ or a beginning, half as long; or None."""
        return None

    def conclude(self, result: Result[Theta]) -> Self:  # noqa: ARG002  # for subclasses
        """Return the model by which rows are judged after a fit."""
        return self

    def natural_alpha(self, efficiency: float, n_rows: float, n_features: int) -> float | None:  # noqa: ARG002  # for subclasses
        """Return α for an efficiency, if errors have a natural unit; None by default."""
        return None

    def path_range(self, alpha: float, n_features: int) -> tuple[float, float]:  # noqa: ARG002  # for subclasses
        """Return the largest and the smallest α of a path around the α of a fit."""
        # From almost equal weights down to a collapse.
        return 200 * alpha, alpha / 200

    def volume(self, theta: Theta, mean_error: float) -> float | None:  # noqa: ARG002  # for subclasses
        """Return the log-volume of the rows that belong, by which solutions are compared.

        With None, the default, they are compared by their objective.
        """
        return None

    def is_full(self, theta: Theta, values: FloatArray, weights: FloatArray) -> bool:  # noqa: ARG002  # for subclasses
        """Whether θ is usable; for example, whether no cluster is empty."""
        return True

    def is_supported(self, theta: Theta, values: FloatArray, weights: FloatArray) -> bool:  # noqa: ARG002  # for subclasses
        """Whether no part of θ rests on too few rows; asked where no θ is full."""
        return True

    # Reading a fit

    def distances(self, block: FloatArray, theta: Theta) -> FloatArray:
        """Return the number by which each row is judged: its error, checked."""
        return check_row_errors(self.errors(block, theta), block, f"{type(self).__name__}.errors()")

    def pull(self, result: Result[Theta], n_rows: float, rounding: float) -> Pull:
        """Return how distances relate to weights, and to the fit without the row."""
        return NoPull(result.objective, result.alpha, 1 / n_rows, rounding)

    @property
    def has_known_law(self) -> bool:
        """Whether the law of the distances is derived, not fitted to them."""
        return False

    @property
    def law_power(self) -> int:
        """Power of the weights under which the moments of the errors are taken.

        A power keeps outliers with a little weight out of the moments: a law or an α that allowed
        for them would give them more weight. The third moment needs a higher power.
        """
        return 2 if self.is_squared else 4

    def find_law(self, result: Result[Theta], pull: Pull, distances: Table) -> Law:
        """Return the law of the distance of a new, good row from the distances of all rows."""
        middle, power = result.objective, self.law_power
        if np.isfinite(result.alpha):  # L = Σ w g - α H
            middle += result.alpha * float(np.log(result.perplexity))

        def sum_up(errors: FloatArray, prior: FloatArray | None) -> ErrorMoments:
            mass = np.ones_like(errors) if prior is None else prior
            return ErrorMoments.of_errors(errors, pull.weigh(errors), mass, middle, power)

        return self.law(result.theta, result.alpha, distances.fold(sum_up))

    def law(self, theta: Theta, alpha: float, moments: ErrorMoments) -> Law:  # noqa: ARG002  # for subclasses
        """Return the law of the errors of good rows.

        By default a gamma law. Squared distances follow it approximately, as a sum of squares does;
        other errors have an unknown least value as well. The weights' power k tilts it by k/α.
        """
        return self.fit_gamma(alpha, moments)

    def fit_gamma(self, alpha: float, moments: ErrorMoments) -> FittedGamma:
        """Return the gamma law that matches the moments of the errors, with its tilt undone."""
        tilt = self.law_power / alpha
        if self.is_squared:
            return FittedGamma.of_weighted(moments.mean, moments.variance, tilt)
        return FittedGamma.of_moments(moments.mean, moments.variance, moments.third, tilt)

    def deviations(self, block: FloatArray, theta: Theta, alpha: float) -> FloatArray:  # noqa: ARG002  # for subclasses
        """Return a deviation for each column; their squares add up to the error."""
        raise ValueError(
            f"{type(self).__name__} does not split its error among the columns. Override "
            "deviations(block, theta, alpha) to do so."
        )

    def whiten(self, block: FloatArray, theta: Theta, alpha: float) -> FloatArray:
        """Return rows in coordinates in which they are as far apart as their deviations are."""
        return self.deviations(block, theta, alpha)

    def location(self, theta: Theta) -> FloatArray:  # noqa: ARG002  # for subclasses
        """Return the location of the rows, in the units of the columns."""
        raise AttributeError(
            f"{type(self).__name__} has no location, covariance or shrinkage. Use model='gaussian'."
        )

    def covariance_at(self, theta: Theta, alpha: float) -> FloatArray:  # noqa: ARG002  # for subclasses
        """Return the covariance of the rows, in the units of the columns."""
        return self.location(theta)  # raises unless overridden


@dataclass(frozen=True)
class ErrorMoments:
    """Sums of powers 0 to 3 of errors around a point, under powers of the weights.

    Sums of disjoint rows merge by ``+``.
    """

    middle: float
    sums: FloatArray

    @classmethod
    def of_errors(
        cls, errors: FloatArray, weights: FloatArray, mass: FloatArray, middle: float, power: int
    ) -> Self:
        """Sum over rows with given weights, those of prior weight one, and prior masses.

        Rows without weight may have errors too large for powers, and are left out.
        """
        tilted = weights**power * mass
        present = tilted > 0
        away, w = errors[present] - middle, tilted[present]
        return cls(middle, np.array([w.sum(), w @ away, w @ away**2, w @ away**3]))

    def __add__(self, other: ErrorMoments) -> ErrorMoments:
        return ErrorMoments(self.middle, self.sums + other.sums)

    @property
    def mean(self) -> float:
        """Mean of the errors."""
        return float(self.middle + self.sums[1] / self.sums[0])

    @property
    def variance(self) -> float:
        """Variance of the errors."""
        first, second = self.sums[1:3] / self.sums[0]
        return float(second - first**2)

    @property
    def third(self) -> float:
        """Third central moment of the errors."""
        first, second, third = self.sums[1:4] / self.sums[0]
        return float(third - 3 * first * second + 2 * first**3)


def check_row_errors(errors: ArrayLike, block: FloatArray, source: str) -> FloatArray:
    """Return errors as floats; raise, naming the source, unless each row has a finite one."""
    given = np.asarray(errors)
    if given.shape != (len(block),):
        raise ValueError(
            f"{source} must return one number per row, of shape ({len(block)},); it returned "
            f"the shape {given.shape}."
        )
    if given.dtype.kind not in "fiub":
        raise ValueError(f"{source} must return real numbers; it returned {given.dtype}.")
    if not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ValueError(
            f"{source} must return finite numbers; it returned {given[row]} for the row "
            f"{block[row]}."
        )
    return given.astype(np.float64, copy=False)
