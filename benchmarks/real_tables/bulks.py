"""Tables with a known truth whose right rows follow many laws, and gross errors among them.

A bulk is a law of rows: skewed, heavy-tailed, counts, heaps, groups. Columns depend on each other
by a Gaussian copula with a random correlation, unless the name of the bulk says otherwise. Tables
are functions of their generator alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special, stats

from eosparse.core import BoolArray, FloatArray

Draw = Callable[[np.random.Generator, int, int], FloatArray]
Quantile = Callable[[FloatArray], FloatArray]
# Rows that are drawn only to know the range of each column.
_REFERENCE = 4000
# A column's range: what all but one in five hundred values stay within.
_LOW, _HIGH = 0.001, 0.999
# Gross errors lie so many ranges beyond it.
_BEYOND = (3.0, 10.0)
# At most this share of a wrong row's cells is wrong.
_MOST_CELLS = 1 / 3
# Centres of groups are this far from the origin, in standard deviations, at right angles.
_CENTRE = 6.0
SCATTERED, CLUSTERED = "scattered", "clustered"


@dataclass(frozen=True)
class Bulk:
    """Right rows, and the range of each column under their law.

    Attributes
    ----------
    rows : array of shape (n_rows, n_columns)
        The rows.
    low, high : array of shape (n_columns,)
        All but one in five hundred values lie between.
    """

    rows: FloatArray
    low: FloatArray
    high: FloatArray


def draw_bulk(name: str, n_rows: int, n_columns: int, rng: np.random.Generator) -> Bulk:
    """Draw right rows of one of the `BULKS`."""
    drawn = BULKS[name](rng, n_rows + _REFERENCE, n_columns)
    low, high = np.quantile(drawn, (_LOW, _HIGH), axis=0)
    return Bulk(drawn[:n_rows], low, high)


def contaminate(
    bulk: Bulk, share: float, rng: np.random.Generator, kind: str = SCATTERED
) -> tuple[FloatArray, BoolArray]:
    """Replace cells of a share of the rows by gross errors.

    A wrong cell lies three to ten ranges beyond the range of its column, on either side. Scattered
    rows have wrong cells of their own, one to a third of them; clustered rows have the same wrong
    cells, near one place. In columns of whole numbers, errors are whole too.

    Parameters
    ----------
    bulk : Bulk
        Right rows; they are not changed.
    share : float
        Of wrong rows, rounded to a whole number of them.
    rng : Generator
        Decides everything.
    kind : {"scattered", "clustered"}, default="scattered"
        Whether errors agree with each other.

    Returns
    -------
    X : array of shape (n_rows, n_columns)
        The table.
    is_wrong : array of shape (n_rows,)
        Its wrong rows.
    """
    n_rows, n_columns = bulk.rows.shape
    wrong = rng.choice(n_rows, round(share * n_rows), replace=False)
    shape = (len(wrong), n_columns)
    if kind == CLUSTERED:
        is_moved = np.broadcast_to(_choose_cells(rng, 1, n_columns), shape)
        place = np.broadcast_to(_draw_errors(rng, bulk, 1), shape)
        errors = place + rng.uniform(-0.25, 0.25, shape) * (bulk.high - bulk.low)
    else:
        is_moved = _choose_cells(rng, len(wrong), n_columns)
        errors = _draw_errors(rng, bulk, len(wrong))
    is_whole = (bulk.rows % 1 == 0).all(axis=0)
    errors = np.where(is_whole, np.round(errors), errors)
    X = bulk.rows.copy()
    X[wrong] = np.where(is_moved, errors, X[wrong])
    is_wrong = np.zeros(n_rows, dtype=bool)
    is_wrong[wrong] = True
    return X, is_wrong


def _choose_cells(rng: np.random.Generator, n_rows: int, n_columns: int) -> BoolArray:
    """Return which cells are wrong: at least one per row."""
    most = max(1, round(_MOST_CELLS * n_columns))
    counts = rng.integers(1, most + 1, (n_rows, 1))
    places = rng.permuted(np.tile(np.arange(n_columns), (n_rows, 1)), axis=1)
    return np.asarray(places < counts)


def _draw_errors(rng: np.random.Generator, bulk: Bulk, n_rows: int) -> FloatArray:
    shape = (n_rows, len(bulk.low))
    distance = rng.uniform(*_BEYOND, shape) * (bulk.high - bulk.low)
    return np.where(rng.random(shape) < 0.5, bulk.low - distance, bulk.high + distance)


def draw_correlation(rng: np.random.Generator, n_columns: int) -> FloatArray:
    """Return a random correlation: half of what columns vary is shared with others."""
    mixing = rng.standard_normal((n_columns, n_columns)) / np.sqrt(n_columns)
    covariance = mixing @ mixing.T + 0.5 * np.eye(n_columns)
    scale = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(scale, scale))


def _draw_correlated(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    factor = np.linalg.cholesky(draw_correlation(rng, d))
    return np.asarray(rng.standard_normal((n, d)) @ factor.T)


def _draw_independent(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.standard_normal((n, d))


def _draw_copula(rng: np.random.Generator, n: int, d: int, quantile: Quantile) -> FloatArray:
    """Return columns with given quantiles whose ranks are those of correlated normal ones."""
    return np.asarray(quantile(special.ndtr(_draw_correlated(rng, n, d))), dtype=np.float64)


def _draw_elliptical(rng: np.random.Generator, n: int, d: int, df: float) -> FloatArray:
    """Return rows of a multivariate t: a row that is far out is so in all columns."""
    return _draw_correlated(rng, n, d) / np.sqrt(rng.chisquare(df, (n, 1)) / df)


def _draw_lognormal(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return np.exp(_draw_correlated(rng, n, d))


def _draw_one_binary(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """Return Gaussian columns, the last replaced by 0/1 with 30 % ones that depends on them."""
    rows = _draw_correlated(rng, n, d)
    rows[:, -1] = rows[:, -1] > special.ndtri(0.7)
    return rows


def _draw_groups(rng: np.random.Generator, n: int, d: int, shares: tuple[float, ...]) -> FloatArray:
    """Return rows of several Gaussians, each with a correlation of its own."""
    centres = _place_centres(rng, len(shares), d)
    group = rng.choice(len(shares), n, p=shares)
    parts = np.stack([_draw_correlated(rng, n, d) for _ in shares])
    return np.asarray(parts[group, np.arange(n)] + centres[group])


def _place_centres(rng: np.random.Generator, n_groups: int, d: int) -> FloatArray:
    """Return centres at right angles, or along a line where there are too few columns."""
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    if d >= n_groups:
        return _CENTRE * axes[:n_groups]
    return np.sqrt(2.0) * _CENTRE * np.arange(n_groups)[:, None] * axes[0]


def _poisson(u: FloatArray, mean: float) -> FloatArray:
    """Return quantiles of counts, looked up: `scipy.stats` takes a second for a large table."""
    cumulated = stats.poisson(mean).cdf(np.arange(100))
    return np.searchsorted(cumulated, u).astype(np.float64)


def _zero_inflated(u: FloatArray) -> FloatArray:
    """Return quantiles of 40 % zeros and else a gamma law."""
    return np.asarray(special.gammaincinv(2.0, np.clip((u - 0.4) / 0.6, 0.0, None)))


BULKS: dict[str, Draw] = {
    "Gaussian, independent": _draw_independent,
    "Gaussian, correlated": _draw_correlated,
    "log-normal": _draw_lognormal,
    "gamma(2)": partial(_draw_copula, quantile=partial(special.gammaincinv, 2.0)),
    "exponential": partial(_draw_copula, quantile=lambda u: -np.log1p(-u)),
    "t3, elliptical": partial(_draw_elliptical, df=3.0),
    "t3, copula": partial(_draw_copula, quantile=partial(special.stdtrit, 3.0)),
    "t5, elliptical": partial(_draw_elliptical, df=5.0),
    "t5, copula": partial(_draw_copula, quantile=partial(special.stdtrit, 5.0)),
    "uniform": partial(_draw_copula, quantile=lambda u: u),
    "Poisson(.3)": partial(_draw_copula, quantile=partial(_poisson, mean=0.3)),
    "Poisson(2)": partial(_draw_copula, quantile=partial(_poisson, mean=2.0)),
    "zero-inflated": partial(_draw_copula, quantile=_zero_inflated),
    "Gaussian, one 0/1 column": _draw_one_binary,
    "two groups, equal": partial(_draw_groups, shares=(0.5, 0.5)),
    "two groups, unequal": partial(_draw_groups, shares=(0.7, 0.3)),
    "three groups, equal": partial(_draw_groups, shares=(1 / 3, 1 / 3, 1 / 3)),
    "three groups, unequal": partial(_draw_groups, shares=(0.6, 0.25, 0.15)),
}
