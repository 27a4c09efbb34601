"""Which cells of a row are wrong, given a normal law of good rows.

Cells that are set aside count as missing, each at a cost λ_d, so that a row has the error

    L(o) = ½ (log det V_oo + m_o) + Σ_{d not in o} λ_d

over the columns o that it keeps. One cell more or less changes L by the difference between its cost
and the error of the cell given the others that are kept,

    g_d = ½ (x_d - x̂_d)²/s²_d + ½ log s²_d

with x̂_d and s²_d its conditional mean and variance. In each round every row changes the one cell
that lowers L most, until none does: L falls in every step, and one wrong cell does not make wrong
ones of its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import expit

from eosparse.core import BoolArray, FloatArray, IntArray, weighted_quantiles
from eosparse.models import fused
from eosparse.models.gaps import find_patterns
from eosparse.models.normal import Normal

# Changes that lower the error by less are rounding.
_LEAST_GAIN = 1e-9
# Cells that compiled code takes at a time.
_CELLS_IN_CACHE = 2**14
# The median of |z|.
_MEDIAN = 0.6744897501960817


@dataclass(frozen=True)
class RowCells:
    """The cells of some rows, each compared with the other cells of its row that are kept.

    Attributes
    ----------
    kept : array of bool of shape (n_rows, n_columns)
        Cells that are there and not set aside.
    filled : array of shape (n_rows, n_columns)
        Rows less the location, with what is expected in cells that are not kept.
    residuals : array of shape (n_rows, n_columns)
        How far each cell lies from what is expected of it; NaN for gaps.
    variances : array of shape (n_rows, n_columns)
        Its variance given the others.
    distances, log_dets : array of shape (n_rows,)
        Squared distance of the cells that are kept, and log det P_mm of the others.
    """

    kept: BoolArray
    filled: FloatArray
    residuals: FloatArray
    variances: FloatArray
    distances: FloatArray
    log_dets: FloatArray

    @property
    def errors(self) -> FloatArray:
        """Return g of each cell."""
        return 0.5 * (np.square(self.residuals) / self.variances + np.log(self.variances))

    @property
    def sizes(self) -> FloatArray:
        """Return how many standard deviations each cell lies from what is expected."""
        return np.abs(self.residuals) / np.sqrt(self.variances)

    def overwrite(self, rows: IntArray, part: RowCells) -> None:
        """Replace the cells of some rows, in place."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(part, field.name)


def measure_cells(theta: Normal, values: FloatArray, kept: BoolArray) -> RowCells:
    """Compare each cell with the kept cells of its row.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Normal
    >>> theta = Normal(np.zeros(2), np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> cells = measure_cells(theta, np.array([[2.0, 5.0]]), np.array([[True, False]]))
    >>> cells.residuals.round(6).tolist(), cells.variances.round(6).tolist()
    ([[2.0, 3.4]], [[1.0, 0.36]])
    """
    if (kernels := fused.load_for_cells(values.size)) is not None:
        return _settle(kernels, theta, values, kept, np.zeros(values.shape[1]), np.inf)
    precision = theta.inverse_factor.T @ theta.inverse_factor
    diagonal = np.diag(precision)
    centred = np.where(kept, values - theta.location, 0.0)
    pulled = centred @ precision
    variances = np.tile(1 / diagonal, (len(values), 1))
    distances, log_dets = np.einsum("ij,ij->i", centred, pulled), np.zeros(len(values))
    for rows, missing in find_patterns(~kept):
        systems = precision[missing[:, :, None], missing[:, None, :]]
        inverses, across = np.linalg.inv(systems), precision[missing]
        forces = np.take_along_axis(pulled[rows], missing, axis=1)
        solved = np.einsum("nij,nj->ni", inverses, forces)
        distances[rows] -= np.einsum("ij,ij->i", forces, solved)
        log_dets[rows] = np.linalg.slogdet(systems)[1]
        pulled[rows] -= np.einsum("ni,nid->nd", solved, across)
        # The Schur complement has the inverse variances of the cells that are kept.
        lost = np.einsum("nid,nid->nd", inverses @ across, across)
        own = 1 / np.maximum(diagonal - lost, np.finfo(np.float64).tiny)
        np.put_along_axis(own, missing, np.einsum("nii->ni", inverses), axis=1)
        variances[rows] = own
        np.put_along_axis(part := centred[rows], missing, -solved, axis=1)
        centred[rows] = part
    residuals = np.where(kept, pulled * variances, values - theta.location - centred)
    return RowCells(kept, centred, residuals, variances, np.maximum(distances, 0.0), log_dets)


def choose_cells(theta: Normal, values: FloatArray, costs: FloatArray) -> RowCells:
    """Set aside the cells whose removal lowers the error of their rows.

    Parameters
    ----------
    theta : Normal
        The law of good rows.
    values : array of shape (n_rows, n_columns)
        The rows; gaps are NaN.
    costs : array of shape (n_columns,)
        λ, the cost of a cell that is set aside.

    Returns
    -------
    RowCells

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Normal
    >>> theta = Normal(np.zeros(3), np.full((3, 3), 0.9) + 0.1 * np.eye(3))
    >>> cells = choose_cells(theta, np.array([[1.0, 9.0, 1.1]]), np.full(3, 3.0))
    >>> cells.kept.tolist()
    [[True, False, True]]
    """
    there = ~np.isnan(values)
    if (kernels := fused.load_for_cells(values.size)) is not None:
        return _settle(kernels, theta, values, there, costs, _LEAST_GAIN)
    cells = measure_cells(theta, values, there.copy())
    active, part = np.arange(len(values)), cells
    for _ in range(2 * values.shape[1]):  # each cell may leave and come back
        change = np.where(part.kept, part.errors - costs, costs - part.errors)
        change = np.where(there[active], change, -np.inf)
        best = change.argmax(axis=1)
        moves = change[np.arange(len(active)), best] > _LEAST_GAIN
        if not moves.any():
            break
        active, best = active[moves], best[moves]
        kept = part.kept[moves]
        kept[np.arange(len(active)), best] ^= True
        part = measure_cells(theta, values[active], kept)
        cells.overwrite(active, part)
    return cells


def _settle(
    kernels: Any,
    theta: Normal,
    values: FloatArray,
    there: BoolArray,
    costs: FloatArray,
    least_gain: float,
) -> RowCells:
    """Compare and set aside cells in compiled code, some rows in the cache at a time."""
    precision = theta.inverse_factor.T @ theta.inverse_factor
    shape, n_rows = values.shape, len(values)
    cells = RowCells(
        np.empty(shape, dtype=np.bool_),
        *(np.empty(shape) for _ in range(3)),
        *(np.empty(n_rows) for _ in range(2)),
    )
    step = max(_CELLS_IN_CACHE // shape[1], 1)
    for i in range(0, n_rows, step):
        rows = slice(i, i + step)
        part = [getattr(cells, field.name)[rows] for field in fields(cells)]
        filled = part[1]
        kernels.centre_rows(values[rows], there[rows], theta.location, filled)
        pulled = filled @ precision
        given = (values[rows], there[rows], theta.location, precision, costs, least_gain, pulled)
        kernels.settle_rows(*given, *part)
    return cells


def find_spreads(cells: RowCells, mass: FloatArray) -> FloatArray:
    """Return the spread of standardised residuals, from the middle of each column."""
    spreads = np.ones(cells.kept.shape[1])
    for j, sizes in enumerate(cells.sizes.T):
        kept = cells.kept[:, j]
        spreads[j] = float(weighted_quantiles(sizes[kept], mass[kept], (0.5,))[0]) / _MEDIAN
    return np.where(spreads > 0, spreads, 1.0)


def find_rivals(
    theta: Normal, values: FloatArray, cells: RowCells, costs: FloatArray
) -> FloatArray:
    """Return the chance that another cell of the row is wrong instead of one that is set aside.

    The row with that cell back, and the best other one set aside, has an error too. Both differ by
    the logarithm of the odds. Zero for cells that are kept.

    Examples
    --------
    Of two cells that contradict each other, either may be wrong:

    >>> import numpy as np
    >>> from eosparse.models import Normal
    >>> theta = Normal(np.zeros(2), np.array([[1.0, 0.99], [0.99, 1.0]]))
    >>> X, costs = np.array([[1.0, -1.01]]), np.full(2, 2.0)
    >>> find_rivals(theta, X, choose_cells(theta, X, costs), costs).round(1).tolist()
    [[0.0, 0.5]]
    """
    rows, columns = np.nonzero(~cells.kept & ~np.isnan(values))
    chances = np.zeros(values.shape)
    if not len(rows):
        return chances
    kept = cells.kept[rows]
    kept[np.arange(len(rows)), columns] = True
    other = measure_cells(theta, values[rows], kept)
    gains = np.where(kept, other.errors - costs, -np.inf)
    gains[np.arange(len(rows)), columns] = -np.inf
    own = other.errors[np.arange(len(rows)), columns] - costs[columns]  # by setting it aside
    odds = np.maximum(gains.max(axis=1), 0.0) - own
    chances[rows, columns] = expit(odds)
    return chances
