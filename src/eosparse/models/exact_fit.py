"""More than half of the rows on a point, line or plane: the rows off it are the outliers.

No covariance of all columns exists then, and none is needed. Within the span of these rows the
Gaussian is as usual; a row off it is infinitely far away, to rounding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import BoolArray, DegenerateDataWarning, FloatArray, warn_caller
from eosparse.models.normal import RANK_TOLERANCE, Normal
from eosparse.rows import Coordinates, Sample, span_rows

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel

# In working coordinates a smaller standard deviation is rounding, as everywhere; and so is a
# smaller deviation of a single row.
_LEAST_SPREAD, _LEAST_DEVIATION = RANK_TOLERANCE, RANK_TOLERANCE / 10
# Columns named in a message, and the smallest part in a relation for which they are.
_MOST_NAMES, _LEAST_PART = 3, 0.1


class ExactFitError(Exception):
    """More than half of the rows satisfy an exact linear relation: those in `rows`."""

    def __init__(self, rows: BoolArray) -> None:
        super().__init__("more than half of the rows satisfy an exact linear relation.")
        self.rows = rows


def find_plane(fit: Normal, values: FloatArray) -> BoolArray:
    """Return which rows satisfy the linear relations of a singular fit.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models.normal import RANK_TOLERANCE, Normal
    >>> fit = Normal(np.zeros(2), np.array([[1.0, 1.0], [1.0, 1.0]]))
    >>> find_plane(fit, np.array([[3.0, 3.0], [1.0, 2.0]])).tolist()
    [True, False]
    """
    variances, vectors = np.linalg.eigh(fit.covariance)
    normals = vectors[:, variances <= _LEAST_SPREAD**2 * max(1.0, float(variances[-1]))]
    centred = values - fit.location
    length = np.maximum(1.0, np.linalg.norm(centred, axis=1))
    off = np.abs(centred @ normals).max(axis=1, initial=0.0)
    is_on: BoolArray = off <= _LEAST_DEVIATION * length
    return is_on & (normals.shape[1] > 0 and _span_less(values[is_on]))


def are_corners(rows: FloatArray) -> bool:
    """Whether different rows span all that so few can: that they lie on a plane says nothing then.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> are_corners(np.repeat(corners, 9, axis=0)), are_corners(np.vstack([corners, [[2.0, 2.0]]]))
    (True, False)
    """
    different = np.unique(rows, axis=0)
    around = different[1:] - different[0]
    if not len(around) or len(around) > rows.shape[1]:
        return not len(around)
    lengths = np.linalg.norm(around, axis=1, keepdims=True)
    return bool(np.linalg.matrix_rank(around / lengths, RANK_TOLERANCE) == len(around))


def _span_less(rows: FloatArray) -> bool:
    """Whether rows lie on a plane, none of them counting more than another.

    Beside one enormous row that has weight, all others look as if they did.
    """
    if not len(rows):
        return False
    around = rows - rows[np.argmin(np.linalg.norm(rows - np.median(rows, axis=0), axis=1))]
    length = np.linalg.norm(around, axis=1)
    sizes = np.linalg.svd(around / np.where(length > 0, length, np.inf)[:, None], compute_uv=False)
    return len(sizes) < rows.shape[1] or bool(sizes[-1] <= RANK_TOLERANCE * sizes[0])


def restrict(
    model: GaussianModel, coordinates: Coordinates, sample: Sample, rows: BoolArray
) -> GaussianModel:
    """Return the model in the span of more than half of the rows, and say so."""
    span = span_rows(coordinates, sample.values[rows], sample.mass[rows])
    share = float(sample.mass[rows].sum() / sample.mass.sum())
    warn_caller(
        f"{share:.1%} of the rows {_describe(span, sample, rows)}. All other rows count as "
        "outliers, however close they are. If they should not, leave out a column.",
        DegenerateDataWarning,
    )
    inner = replace(
        sample,
        values=sample.values[rows],
        mass=sample.mass[rows],
        n_rows=share * sample.n_rows,
    )
    return replace(model.complete_in(span, inner), is_exact_fit=True)


def _describe(span: Coordinates, sample: Sample, rows: BoolArray) -> str:
    """Say what is the same in some of the rows, and not in all."""
    names, values = sample.columns, sample.values
    if span.rank == 0:
        return "are equal"
    first = values[rows][0]
    tied = (values[rows] == first).all(axis=0) & ~(values == first).all(axis=0)
    if tied.any():
        same = [f"{names[i]} = {first[i]:g}" for i in np.flatnonzero(tied)]
        more = f" and {len(same) - _MOST_NAMES} more" if len(same) > _MOST_NAMES else ""
        return "have " + ", ".join(same[:_MOST_NAMES]) + more
    assert span.basis is not None
    # How much of each column lies off the span.
    parts = 1 - np.square(span.basis).sum(axis=1)
    order = [i for i in np.argsort(-parts, kind="stable") if parts[i] > _LEAST_PART**2]
    involved = ", ".join(repr(names[i]) for i in order[:_MOST_NAMES])
    return f"satisfy an exact linear relation between columns, {involved} among them"


def name_dependent_columns(model: GaussianModel, sample: Sample) -> str:
    """Name the columns that vary least in the central half of the rows, given the others."""
    assert model.coordinates is not None
    scaled = model.coordinates.standardise(sample.values)
    near = np.square(scaled).sum(axis=1)
    centre = scaled[near <= np.median(near)]
    _, vectors = np.linalg.eigh(np.cov(centre, rowvar=False).reshape(scaled.shape[1], -1))
    order = np.argsort(-np.abs(vectors[:, 0]), kind="stable")[:3]
    involved = [i for i in order if abs(vectors[i, 0]) > 0.1]
    return ", ".join(repr(sample.columns[i]) for i in involved)
