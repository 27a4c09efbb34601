"""Directions in which rows look least Gaussian, and where to split the rows along them.

Directions of extreme kurtosis in whitened rows do not depend on the units, or on any linear map of
the columns. A group that holds half of the rows shows as a low kurtosis, a small one as a high
kurtosis. One of about a fifth of the rows does not change the kurtosis at all, but makes the rows
skewed. With few rows per column, directions can be found in which any rows look odd: principal axes
and columns are tried as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eosparse.core import BoolArray, FloatArray, weighted_moments
from eosparse.models.normal import Normal, SingularFitError
from eosparse.rows import map_columns, map_parallel

# With more columns, a search in all of them takes longer than a fit: eigenvectors are then found by
# power iterations, in single precision, and only few of them.
WIDE = 64

# A part with no more than this share of the mass is none.
_ROUNDING = 1e-12

# Variances below this part of the largest are rounding; whitening would blow them up.
_LEAST_VARIANCE = 1e-12
# Directions from which the search for extreme kurtosis starts, at each end of the spectrum: a group
# shows in the first, and a second or third one in the next.
_N_DIRECTIONS = 3
# The fixed-point iteration converges cubically near a solution.
_STEPS = 8
# Directions kept at each end: the most extreme, and one more in case it is no group.
_N_KEPT = 2
# Principal axes and columns kept: those along which a split explains most.
_N_AXES = 3
# Of more axes and columns, so many are split: to sort all of them would take longer than a fit.
_MOST_SPLIT = 128
# Directions from which others are sought in wide tables, at each end, and leading axes there.
_N_STARTS, MANY_AXES = 4, 16
# Steps of the power iteration, from whose result other iterations start.
_POWER_STEPS = 12


@dataclass(frozen=True)
class Splits:
    """For each projection, the cut in two with the largest variance between the parts.

    Attributes
    ----------
    cuts : array of shape (n_projections,)
        The largest value of the lower part.
    low, high : array of shape (n_projections,)
        The means of the two parts.
    explained : array of shape (n_projections,)
        Part of the variance that the split explains: 0.64 for a Gaussian, more for two groups.
    """

    cuts: FloatArray
    low: FloatArray
    high: FloatArray
    explained: FloatArray


def split_in_two(projections: FloatArray, mass: FloatArray) -> Splits:
    """Split weighted rows along each of some projections.

    Examples
    --------
    >>> import numpy as np
    >>> split = split_in_two(np.array([[0.0], [2.0], [9.0], [11.0]]), np.ones(4))
    >>> split.cuts.tolist(), split.low.tolist(), split.high.tolist()
    ([2.0], [1.0], [10.0])
    """
    share = mass / mass.sum()
    columns = np.ascontiguousarray(projections.T)
    if (share == share[0]).all():  # to sort takes a fraction of the time that an order does
        ordered, shares = np.sort(columns, axis=1), np.broadcast_to(share, columns.shape)
    else:
        order = np.argsort(columns, axis=1, kind="stable")
        ordered, shares = np.take_along_axis(columns, order, axis=1), share[order]
    centre = columns @ share
    around = ordered - centre[:, None]
    below, sums = np.cumsum(shares, axis=1), np.cumsum(shares * around, axis=1)
    inner = (below > 0) & (below < 1 - _ROUNDING)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.where(inner, sums**2 / (below * (1 - below)), -1.0)
    best = np.argmax(between, axis=1)
    variance = np.maximum(np.einsum("ij,ij,ij->i", shares, around, around), 1e-300)

    def pick(of: FloatArray) -> FloatArray:
        return np.asarray(np.take_along_axis(of, best[:, None], axis=1)[:, 0])

    part, moment = pick(below), pick(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = centre + moment / part, centre - moment / (1 - part)
    return Splits(pick(ordered), low, high, pick(between) / variance)


def odd_projections(
    values: FloatArray,
    mass: FloatArray,
    seen: BoolArray | None = None,
    white: FloatArray | None = None,
) -> FloatArray:
    """Return all rows along the directions in which those `seen` look least Gaussian.

    The rows may be given `white` too, as `whiten_rows` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> rows[:100, 0] += 9.0
    >>> found = odd_projections(rows, np.ones(500))
    >>> bool(np.abs(np.corrcoef(found.T, rows[:, 0])[-1, :-1]).max() > 0.95)
    True
    """
    seen = mass > 0 if seen is None else seen
    white = whiten_rows(values, mass) if white is None else white

    def follow() -> FloatArray:
        return np.asarray(white @ extreme_directions(white[seen], mass[seen]))

    def choose() -> FloatArray:
        return _choose_plain(find_axes(values, mass, white), values, mass, seen)

    is_wide = values.shape[1] > WIDE  # worth a thread each
    followed, plain = (map_parallel if is_wide else map)(_call, (follow, choose))
    explained = split_in_two(plain[seen], mass[seen]).explained
    return np.column_stack([followed, plain[:, np.argsort(-explained, kind="stable")[:_N_AXES]]])


def _call(search: Callable[[], FloatArray]) -> FloatArray:
    return search()


def find_axes(values: FloatArray, mass: FloatArray, white: FloatArray) -> FloatArray:
    """Return the rows along principal axes: all of them, or the leading ones of a wide table."""
    if values.shape[1] <= WIDE:
        return white  # whitened by eigenvectors
    share = (mass / mass.sum()).astype(np.float32)
    centred = values.astype(np.float32)
    centred -= share @ centred
    return np.asarray(centred @ leading_axes(centred, share, MANY_AXES))


def _choose_plain(
    axes: FloatArray, values: FloatArray, mass: FloatArray, seen: BoolArray
) -> FloatArray:
    """Return axes and columns; of many, those along which rows look most like two groups."""
    n_axes = axes.shape[1]
    if n_axes + values.shape[1] <= _MOST_SPLIT:
        return np.column_stack([axes, values])
    share = mass[seen] / mass[seen].sum()
    looks = np.concatenate([_look_split(part[seen], share) for part in (axes, values)])
    first = np.argsort(-looks, kind="stable")[:_MOST_SPLIT]
    found = [axes[:, i] if i < n_axes else values[:, i - n_axes] for i in first]
    return np.column_stack(found)


def _look_split(columns: FloatArray, share: FloatArray) -> FloatArray:
    """Return how much each column looks like two groups.

    With skewness s and kurtosis k, (s²+1)/k is 1 for two points, and no other law has as much; it
    is 1/3 for a Gaussian.
    """

    def measure(columns: FloatArray) -> FloatArray:
        centred = columns - share @ columns
        squares = np.square(centred)
        variance = np.maximum(share @ squares, 1e-300)
        skewness = np.einsum("i,ij,ij->j", share, squares, centred) / variance**1.5
        kurtosis = np.maximum(np.einsum("i,ij,ij->j", share, squares, squares) / variance**2, 1.0)
        return np.asarray((skewness**2 + 1) / kurtosis)

    return np.concatenate(map_columns(measure, columns))


def whiten_rows(values: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the rows in coordinates in which their classical covariance is the identity.

    Examples
    --------
    >>> import numpy as np
    >>> whiten_rows(np.array([[0.0], [10.0]]), np.ones(2)).tolist()
    [[-1.0], [1.0]]
    """
    moments = weighted_moments(values, mass, diagonal=False)
    if values.shape[1] > WIDE:
        try:
            return Normal(moments.mean, moments.scatter).whiten(values - moments.mean)
        except SingularFitError:
            pass
    variances, vectors = np.linalg.eigh(moments.scatter)
    kept = variances > _LEAST_VARIANCE * variances[-1]
    white: FloatArray = (values - moments.mean) @ (vectors[:, kept] / np.sqrt(variances[kept]))
    return white


def extreme_directions(white: FloatArray, mass: FloatArray) -> FloatArray:
    """Return unit vectors of the lowest and highest kurtosis, and of large skewness, as columns.

    The search starts from the extreme eigenvectors of E[|z|² z z'], from the last coordinate axes
    (the leading principal ones), and, for the skewness, from E[|z|² z], which is the direction of
    the other group if there are two.
    """
    if white.shape[1] > WIDE:
        return follow_from_ends(white, mass)
    share = mass / mass.sum()
    length = np.einsum("ij,ij->i", white, white)
    weighted = white * (share * length)[:, None]
    size = min(_N_DIRECTIONS, white.shape[1])
    _, fourth = np.linalg.eigh(weighted.T @ white)
    axes = np.eye(white.shape[1])[:, -size:]
    starts = np.concatenate([fourth[:, :size], fourth[:, -size:], axes], axis=1)
    return follow_extremes(white, share, starts, weighted.sum(axis=0))


def follow_from_ends(white: FloatArray, mass: FloatArray) -> FloatArray:
    """Return directions of extreme kurtosis and skewness, found without all eigenvectors.

    The search starts from the largest and smallest eigenvectors of E[|z|² z z'], where rows far
    out count no more than twice the typical ones.
    """
    white, share = white.astype(np.float32), (mass / mass.sum()).astype(np.float32)
    length = np.einsum("ij,ij->i", white, white)
    weights = share * np.minimum(length / np.median(length), 2.0)
    high = low = random_directions(white.shape[1], _N_STARTS).astype(np.float32)
    largest = np.float32(0.0)
    for _ in range(_POWER_STEPS):
        both = np.concatenate([high, low], axis=1)  # rows are read once for both
        up, down = np.hsplit(white.T @ (weights[:, None] * (white @ both)), 2)
        largest = max(largest, np.linalg.norm(up, axis=0).max())
        high, low = np.linalg.qr(up)[0], np.linalg.qr(largest * low - down)[0]
    starts = np.concatenate([high, low], axis=1)
    if len(starts) <= MANY_AXES:  # every axis may be near a group
        starts = np.concatenate([starts, np.eye(len(starts), dtype=starts.dtype)], axis=1)
    return follow_extremes(white, share, starts, weights @ white).astype(np.float64)


def leading_axes(centred: FloatArray, share: FloatArray, n_axes: int) -> FloatArray:
    """Return the first principal axes of rows, by power iterations on a block of directions."""
    axes, scaled = random_directions(centred.shape[1], n_axes), share.astype(centred.dtype)[:, None]
    for _ in range(_POWER_STEPS):
        axes, _ = np.linalg.qr(centred.T @ (scaled * (centred @ axes.astype(centred.dtype))))
    return axes


def random_directions(size: int, count: int) -> FloatArray:
    """Return orthonormal directions, always the same ones."""
    random = np.random.RandomState(0).standard_normal((size, min(count, size)))
    return np.asarray(np.linalg.qr(random)[0])


def follow_extremes(
    white: FloatArray, share: FloatArray, starts: FloatArray, skewed: FloatArray
) -> FloatArray:
    """Return the most extreme directions to which others lead, `skewed` among them."""
    both = _follow_kurtosis(white, share, starts)
    order = np.argsort(share @ (white @ both) ** 4)
    chosen = list(dict.fromkeys([*order[:_N_KEPT], *order[-_N_KEPT:]]))
    return np.column_stack([both[:, chosen], _follow_skewness(white, share, skewed)])


def _follow_kurtosis(white: FloatArray, share: FloatArray, starts: FloatArray) -> FloatArray:
    """Take fixed-point steps to the lowest, and to the highest, kurtosis of projections."""
    size, directions = starts.shape[1], np.concatenate([starts, starts], axis=1)
    for _ in range(_STEPS):
        projections = white @ directions
        squares = projections * projections
        gradient = white.T @ (squares * projections * share[:, None])
        # A shift above the curvature, 3 on Gaussian rows, turns descent into a power step.
        shift = np.maximum(3.0, 1.5 * (share @ np.square(squares[:, :size])))
        gradient[:, :size] = shift * directions[:, :size] - gradient[:, :size]
        directions = _normalise(gradient)
    return directions


def _follow_skewness(white: FloatArray, share: FloatArray, direction: FloatArray) -> FloatArray:
    """Take fixed-point steps towards a large skewness of a projection."""
    for _ in range(_STEPS):
        direction = _normalise(direction)
        direction = white.T @ (share * (white @ direction) ** 2)
    return _normalise(direction)


def _normalise(directions: FloatArray) -> FloatArray:
    return np.asarray(directions / np.maximum(np.linalg.norm(directions, axis=0), 1e-300))
