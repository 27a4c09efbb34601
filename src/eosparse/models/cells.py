"""The error of a row whose wrong cells are set aside: weights for cells, and for rows.

With many columns a few wrong cells spoil most rows. So a row is not judged by all of its cells: it
has the error of those that belong together, and a cost for each of the others (`cell_search`). Rows
that are wrong as a whole pay for most of their cells, and lose their weight as in other models.

The cost of a cell is the error that a good one exceeds with a small chance,

    λ_d = ½ (q + log s²_d),    P(χ²₁ > q) = chance

given all other cells, with the variance s²_d of a first guess. It is fixed before the fit, so that
the fit has one objective.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import chdtrc, chdtri

from eosparse.core import (
    FloatArray,
    Moments,
    Status,
    Visit,
    alternate,
    optimal_weights,
    weighted_moments,
)
from eosparse.models.base import Attempt, Request, TableModel
from eosparse.models.cell_search import RowCells, choose_cells, find_spreads
from eosparse.models.efficiency import coupling_for_efficiency
from eosparse.models.gaps import fill_rows, spread_of_gaps
from eosparse.models.normal import Normal
from eosparse.models.pairwise import guess_cells
from eosparse.models.shrinkage import ROWS_PER_COLUMN, oas_shrinkage
from eosparse.rows import MemoryRows, Sample, Table, take_sample

# Efficiency behind the weights of the rows: cells bear the brunt, so rows keep nearly all weight.
ROW_EFFICIENCY = 0.99
# The chance with which good cells exceed their cost in the fit. So many are set aside that wrong
# cells which lie near cannot widen the law that hides them. The costs follow from the first guess,
# not from the law as it becomes: setting cells aside would make their variances smaller, and these
# the costs, without end.
_CHANCE = 0.01
# The second start is the law of so few cells that most wrong ones are not among them.
_BOLD_CHANCE = 0.05
# Cells are judged at the largest chance, this one or a half, quarter, ... of it, at which they are
# more likely wrong than good: so many times as many lie there as good ones would, and so many
# standard deviations more.
_HALVINGS, _LEAST_CHANCE = 16, 1e-7
_MORE, _SURELY = 2.0, 3.0
# So little shrinkage keeps columns that depend on each other apart; with more, rows tell nothing.
_LEAST_SHRINKAGE, _MOST_SHRINKAGE = 1e-4, 0.99
# Passes over a sample: for the second start, and from each start; and when to stop earlier.
_BOLD_PASSES, _PASSES, _TOL = 5, 40, 1e-6


@dataclass(frozen=True)
class CellModel(TableModel[Normal, Moments]):
    """Error model of rows with wrong cells; θ is a `Normal` in the columns as it sees them.

    Attributes
    ----------
    n_features : int
        D, the number of columns; `complete` sets this and everything below.
    costs : array of shape (n_features,) or None
        λ of each column.
    shrinkage : float
        Linear shrinkage of the covariance towards the identity, where rows are few for the columns.
    guess : Normal or None
        A robust guess of the law of rows with missing values; None if there are none.
    smallest_size : float
        Effective number of rows below which a fit counts as collapsed.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import CellModel
    >>> from eosparse.rows import MemoryRows, take_sample
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0, 0], np.full((3, 3), 0.9) + 0.1 * np.eye(3), 400)
    >>> X[:20, 1] = 5.0
    >>> model = CellModel().complete(take_sample(MemoryRows(X), 400))
    >>> theta = model.start_from(MemoryRows(X))
    >>> bool(abs(theta.location[1]) < 0.2)
    True
    """

    n_features: int = 0
    costs: FloatArray | None = field(default=None, compare=False)
    shrinkage: float = 0.0
    guess: Normal | None = None
    smallest_size: float = 2.0

    takes_gaps = True
    is_exact = False  # the search finds good cells, not always the best

    def coupling(self, alpha: float) -> float:
        """Return c, the exponent of the weights ``w ∝ exp(-c·m/2)``."""
        return 1 / (alpha * self.n_features)

    def choose(self, block: FloatArray, theta: Normal) -> RowCells:
        """Return the cells of rows, those that do not belong set aside."""
        assert self.costs is not None
        return choose_cells(theta, block, self.costs)

    def errors(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of each row, per column."""
        return self._sum_up(block, theta, self.choose(block, theta))

    def _sum_up(self, block: FloatArray, theta: Normal, cells: RowCells) -> FloatArray:
        assert self.costs is not None
        is_missing = np.isnan(block)
        logs = cells.log_dets + theta.log_det + self.shrinkage * theta.precision_trace
        errors = 0.5 * (logs + (1 - self.shrinkage) * cells.distances)
        errors += (~cells.kept & ~is_missing) @ self.costs
        if self.guess is not None and is_missing.any():
            # What is expected of the missing values, so that rows with gaps weigh like others.
            expected = is_missing.sum(axis=1) - fill_rows(self.guess, block).log_dets
            errors += 0.5 * expected
        return errors / self.n_features

    def visit(
        self, block: FloatArray, prior: FloatArray | None, theta: Normal, alpha: float
    ) -> Visit[Moments]:
        """Return summary and moments of a block; its cells are chosen once."""
        cells = self.choose(block, theta)
        solution = optimal_weights(self._sum_up(block, theta, cells), alpha, prior)
        return Visit(solution.summary, self._fill(cells, theta, solution.weights))

    def statistics(self, block: FloatArray, weights: FloatArray, theta: Normal) -> Moments:
        """Return the moments of rows with what is expected in cells that are set aside."""
        return self._fill(self.choose(block, theta), theta, weights)

    def _fill(self, cells: RowCells, theta: Normal, weights: FloatArray) -> Moments:
        moments = weighted_moments(cells.filled + theta.location, weights, diagonal=False)
        if moments.mass == 0.0:
            return moments
        spread = spread_of_gaps(theta, ~cells.kept, weights) / moments.mass
        return replace(moments, scatter=moments.scatter + spread / (1 - self.shrinkage))

    def solve(self, statistics: Moments) -> Normal:
        """Return mean and covariance, shrunk if rows are few."""
        scatter = (1 - self.shrinkage) * statistics.scatter
        scatter.flat[:: len(scatter) + 1] += self.shrinkage
        return Normal(statistics.mean, scatter)

    # What is left open, and starts

    def complete(self, sample: Sample) -> CellModel:
        """Return the model with shrinkage and a first guess of the costs."""
        n_rows, n_columns = sample.n_rows / sample.copies, sample.values.shape[1]
        model = replace(
            self,
            n_features=n_columns,
            smallest_size=sample.copies * min(1.5 * (n_columns + 1), n_rows / 4),
        )
        guess = guess_cells(sample.values, sample.mass)
        amount = _LEAST_SHRINKAGE
        if n_rows < ROWS_PER_COLUMN * n_columns:
            found = oas_shrinkage(guess.covariance, n_columns, n_rows)
            amount = float(np.clip(found, _LEAST_SHRINKAGE, _MOST_SHRINKAGE))
        model = replace(model, shrinkage=amount)
        return model.set_costs(guess, _CHANCE)

    def accept_gaps(self, law: Normal, share: float) -> CellModel:  # noqa: ARG002  # signature of the base class
        """Return the model for rows with gaps, given a robust guess of the law of the columns."""
        return replace(self, guess=law)

    def set_costs(self, theta: Normal, chance: float) -> CellModel:
        """Return the model with the costs that follow from a law."""
        precision = np.square(theta.inverse_factor).sum(axis=0)
        return replace(self, costs=0.5 * (chdtri(1, chance) - np.log(precision)))

    def natural_alpha(self, efficiency: float, n_rows: float, n_features: int) -> float:  # noqa: ARG002  # signature of the base class
        """Return α for an efficiency of the location on rows without wrong cells."""
        return 1 / (n_features * coupling_for_efficiency(efficiency, n_features))

    def start_from(self, rows: Table) -> Normal:
        """Return the first guess, from pairs of columns."""
        sample = take_sample(rows, self.sample_size(rows))
        return guess_cells(rows.prepare(sample.values), sample.mass)

    def propose(self, sample: Sample, request: Request) -> Iterator[Attempt[Normal]]:
        """Yield the better of two laws of a sample as the start for all rows."""
        efficiency = ROW_EFFICIENCY if request.efficiency is None else request.efficiency
        alpha = request.alpha
        if isinstance(alpha, str):
            alpha = self.natural_alpha(efficiency, sample.n_rows, self.n_features)
        theta = guess_cells(sample.values, sample.mass)
        if request.searches:
            theta = self._find_start(MemoryRows(sample.values, sample.mass), alpha, theta)
        yield Attempt(self, alpha, theta)

    def _find_start(self, rows: MemoryRows, alpha: float, guess: Normal) -> Normal:
        """Return where the objective ends lower, from a guess or from the law of near cells."""
        bold = self.set_costs(guess, _BOLD_CHANCE)
        near = alternate(bold, rows, alpha, guess, tol=_TOL, max_iter=_BOLD_PASSES)
        starts = [guess] if near.status is Status.COLLAPSED else [guess, near.theta]
        ends = [alternate(self, rows, alpha, start, tol=_TOL, max_iter=_PASSES) for start in starts]
        whole = [end for end in ends if end.status is not Status.COLLAPSED] or ends
        return min(whole, key=lambda end: end.objective).theta

    def choose_chance(self, sample: Sample, theta: Normal) -> float:
        """Return the chance at which cells are judged, by how many lie that far out."""
        cells = self.choose(sample.values, theta)
        sizes = cells.sizes / find_spreads(cells, sample.mass)
        # A cell that is set aside has no part in what is expected of it; one that is kept has.
        leverage = self.n_features * sample.copies / sample.n_rows
        sizes[~cells.kept] *= max(1 - leverage, 0.0)
        masses = np.broadcast_to(sample.mass[:, None] / sample.copies, sizes.shape)
        total = masses[~np.isnan(sizes)].sum()
        with np.errstate(invalid="ignore"):  # gaps
            is_far = sizes > np.sqrt(chdtri(1, _CHANCE))
        p_values = chdtrc(1, np.square(sizes[is_far]))
        with np.errstate(divide="ignore", over="ignore"):  # p-values of zero, or next to it
            halvings = np.floor(np.log2(_CHANCE / p_values))
        # Bin k has p-values between its chance and half of it, the last one all that are smaller.
        bins = halvings.clip(0, _HALVINGS).astype(np.int64)
        counts = np.bincount(bins, masses[is_far], _HALVINGS + 1)[:-1]
        chances = _CHANCE / 2.0 ** np.arange(_HALVINGS)
        expected = total * chances / 2
        is_crowded = counts > _MORE * expected + _SURELY * np.sqrt(expected)
        return float(chances[is_crowded.argmax()]) if is_crowded.any() else _LEAST_CHANCE
