"""Learned margins: each column brought to a normal law by a curve of a family (`families`).

Cube roots of gamma laws, logs of log-normal ones and Student's own scores are normal far beyond
the quantiles that they are fitted to. A column keeps its line unless another family fits
significantly better, so a table of Gaussian columns stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from eosparse.core import BoolArray, FloatArray, interpolate_quantiles
from eosparse.rows.families import Box, Line, Power, Student

# Quantiles to which a column is fitted: enough for a curve with four numbers.
_N_LEVELS = 48
# They leave out ten rows at either end, at least this share and at most that.
_ROWS_LEFT_OUT, _LEAST_LEFT_OUT, _MOST_LEFT_OUT = 10.0, 0.005, 0.03
# Of normal samples of any size, one in twenty gains this much misfit by another family. Margins are
# asked for where one Gaussian does not describe the rows, so that more evidence is not needed.
SIGNIFICANT_GAIN = 0.8
_GAIN_OF_NUMBER = 0.4  # the same for one free number more, not two
# Of samples of 300 rows and more from Student's laws, tails that lose no more than this give
# p-values of one in ten thousand that are right on average: found by simulation.
_AS_GOOD, _N_HEAVIER = 0.1, 65
# With this share of columns with heavy tails, far more than chance has, others may have them too.
_MANY_HEAVY = 0.2
# Another family has to explain most of what a line leaves: two groups are not a curved column.
_EXPLAINED = 0.5
# A grid of this many values of each free number is refined this often, each time to a third.
_GRID, _ROUNDS = 9, 7
# Rows at a heap stand no farther from the others than this.
_HEAP_REACH = 3.0
# Values in the tails of a fitted margin that no float could square.
_FARTHEST = 1e6


@dataclass(frozen=True)
class Margin:
    """One column's way to a normal law: ``z = sign (a + b curve((sign x - origin) / unit))``.

    Attributes
    ----------
    family : Line, Power or Student
        The curve.
    numbers : tuple of float
        Its two free numbers.
    sign : float
        -1 for columns with their long tail on the left.
    origin, unit : float
        A quantile and the interquartile range of the column.
    intercept, slope : float
        a and b.
    misfit : float
        Weighted sum of squared differences from a normal law, times the rows: about 0.6 if the
        column follows the family.
    heap : float or None
        A value that many rows share: the margin is that of the others, and rows with this value
        stand within three deviations of them.
    """

    family: Line | Power | Student
    numbers: tuple[float, float]
    sign: float
    origin: float
    unit: float
    intercept: float
    slope: float
    misfit: float = 0.0
    heap: float | None = None

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return normal scores of values."""
        with np.errstate(over="ignore", invalid="ignore"):
            y = np.clip((self.sign * x - self.origin) / self.unit, -_FURTHEST_Y, _FURTHEST_Y)
            first, second = (np.array(number) for number in self.numbers)
            z = self.sign * (self.intercept + self.slope * self.family.curve(y, first, second))
        scores: FloatArray = np.clip(z, -_FARTHEST, _FARTHEST)
        if self.heap is None:
            return scores
        return np.where(x == self.heap, np.clip(scores, -_HEAP_REACH, _HEAP_REACH), scores)

    def invert(self, z: FloatArray) -> FloatArray:
        """Return the values, in the units of the column, that have given normal scores."""
        values = (self.sign * z - self.intercept) / self.slope
        y = self.family.invert(values, *self.numbers)
        return np.asarray(self.sign * (self.origin + self.unit * y))

    def measure_misfit(self, x: FloatArray, mass: FloatArray) -> float:
        """Return the misfit of other rows of the column, up to place and scale."""
        counts = _counting(x, self.heap)
        if not counts.any():
            return 0.0
        x, mass = x[counts].astype(np.float64), mass[counts]
        scale = _Scale.of(None, float(mass.sum()))
        return float(scale.regress(self(interpolate_quantiles(x, mass, scale.levels)))[0])

    @property
    def is_line(self) -> bool:
        """Whether the column keeps its shape."""
        return isinstance(self.family, Line)

    @property
    def words(self) -> str:
        """What is done to the column, in a few words."""
        if isinstance(self.family, Line):
            return "as it is"
        if isinstance(self.family, Student):
            return "heavy tails drawn in"
        side = "right" if self.sign > 0 else "left"
        return f"skewed to the {side}: {_name_power(self.numbers[0])}"


_FURTHEST_Y = 1e100


def _name_power(power: float) -> str:
    if abs(power) < 0.1:
        return "logarithm"
    return f"power {power:.2g}"


@dataclass(frozen=True)
class Margins:
    """The margins of all columns: a map of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import fit_margins
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=1000), np.exp(rng.normal(size=1000))])
    >>> margins = fit_margins(X, np.ones(1000))
    >>> [margin.words for margin in margins.columns]
    ['as it is', 'skewed to the right: logarithm']
    >>> bool(np.allclose(margins.invert(margins(X)), X))
    True
    """

    columns: tuple[Margin, ...]

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the normal scores of rows, column by column in memory."""
        scores = np.empty(values.shape, order="F")
        for j, margin in enumerate(self.columns):
            scores[:, j] = margin(np.asarray(values[:, j], dtype=np.float64))
        return scores

    def invert(self, scores: FloatArray) -> FloatArray:
        """Return rows, in the units of the columns, that have given normal scores."""
        pairs = zip(self.columns, scores.T, strict=True)
        return np.column_stack([margin.invert(column) for margin, column in pairs])

    @property
    def are_lines(self) -> bool:
        """Whether every column keeps its shape."""
        return all(margin.is_line for margin in self.columns)

    @property
    def heavy(self) -> tuple[int, ...]:
        """Which columns have heavy tails."""
        return tuple(j for j, m in enumerate(self.columns) if isinstance(m.family, Student))

    @property
    def misfit(self) -> float:
        """Mean misfit of the columns."""
        return float(np.mean([margin.misfit for margin in self.columns]))


def identity_margins(n_columns: int) -> Margins:
    """Return margins that leave columns as they are.

    Examples
    --------
    >>> import numpy as np
    >>> identity_margins(2)(np.array([[1.0, -3.0]])).tolist()
    [[1.0, -3.0]]
    """
    line = Margin(Line(), (0.0, 0.0), 1.0, 0.0, 1.0, 0.0, 1.0)
    return Margins((line,) * n_columns)


def fit_margins(
    values: FloatArray,
    mass: FloatArray,
    left_out: float | None = None,
    *,
    bends: Sequence[bool] | None = None,
    heaps: Sequence[float | None] | None = None,
) -> Margins:
    """Fit the margin of each column to rows that are believed.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        The rows.
    mass : array of shape (n_rows,)
        Their prior weights.
    left_out : float, optional
        Share of the rows at either end of a column that is not looked at; by default ten rows,
        between 0.5 and 3 %.
    bends : sequence of bool, optional
        Which columns may have another family than a line; all by default.
    heaps : sequence of float or None, optional
        Values that many rows of a column share, and that its margin does not look at.

    Returns
    -------
    Margins
    """
    columns = np.asarray(values, dtype=np.float64).T
    bends = bends or (True,) * len(columns)
    heaps = heaps or (None,) * len(columns)
    found = [
        _fit_column(column, mass, left_out, bends=bend, heap=heap)
        for column, bend, heap in zip(columns, bends, heaps, strict=True)
    ]
    n_heavy = sum(isinstance(column.margin.family, Student) for column in found)
    if n_heavy > 0 and n_heavy >= _MANY_HEAVY * sum(bends):
        found = [column.with_tails() if column.bends else column for column in found]
    return Margins(tuple(column.margin for column in found))


@dataclass(frozen=True)
class _Scale:
    """Levels of quantiles, their normal scores, the precision of each, and how cautious to be.

    Tails whose misfit is larger by up to `slack` count as good as the best ones: none if the ends
    of a column are not looked at, where any tails would do.
    """

    levels: FloatArray
    scores: FloatArray
    weights: FloatArray
    n_rows: float
    slack: float

    @classmethod
    def of(cls, left_out: float | None, n_rows: float) -> _Scale:
        slack = _AS_GOOD if left_out is None else 0.0
        if left_out is None:
            left_out = min(max(_ROWS_LEFT_OUT / n_rows, _LEAST_LEFT_OUT), _MOST_LEFT_OUT)
        levels = np.linspace(left_out, 1 - left_out, _N_LEVELS)
        scores = ndtri(levels)
        # The variance of a normal score is p(1-p)/φ²; without 2π, which cancels.
        precision = np.exp(-(scores**2)) / (levels * (1 - levels))
        return cls(levels, scores, precision / precision.sum(), n_rows, slack)

    def regress(self, curves: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return misfit, intercept and slope of the normal scores on each curve."""
        w, z = self.weights, self.scores
        middle = (curves @ w)[..., None]
        around, target = curves - middle, z - w @ z
        slope = (around @ (w * target)) / np.maximum(around**2 @ w, 1e-300)
        misfit = np.square(target - slope[..., None] * around) @ w
        usable = np.isfinite(misfit) & (slope > 0)
        intercept = w @ z - slope * middle[..., 0]
        return np.where(usable, self.n_rows * misfit, np.inf), intercept, slope


@dataclass(frozen=True)
class _Fitted:
    """The margin of a column, and the quantiles that it was fitted to."""

    margin: Margin
    quantiles: FloatArray
    scale: _Scale
    bends: bool

    def with_tails(self) -> _Fitted:
        """Return the column with the heaviest tails that fit it as well as a line, if it is one.

        Where other columns have heavy tails, it may have them too, though they are not significant:
        a line would flag its farthest rows, and what is left of them looks like a line.
        """
        line = self.margin
        if not line.is_line:
            return self
        tails = _search_tails(self.quantiles, line.origin, line.unit, self.scale)
        is_as_good = tails.misfit <= line.misfit + self.scale.slack
        return replace(self, margin=replace(tails, heap=line.heap)) if is_as_good else self


def _counting(x: FloatArray, heap: float | None) -> BoolArray:
    """Return which values tell the shape of a column: not gaps, nor those at its heap."""
    counts = ~np.isnan(x)
    if heap is not None and (counts & (x != heap)).any():
        counts &= x != heap
    return counts


def _fit_column(
    x: FloatArray, mass: FloatArray, left_out: float | None, *, bends: bool, heap: float | None
) -> _Fitted:
    counts = _counting(x, heap)
    if not counts.any():  # all believed rows have a gap here
        scale, flat = _Scale.of(None, 1.0), np.zeros(_N_LEVELS)
        line = _search(Line(), flat, 0.0, 1.0, scale)
        return _Fitted(replace(line, heap=heap), flat, scale, bends=False)
    x, mass = x[counts], mass[counts]
    scale = _Scale.of(left_out, float(mass.sum()))
    quantiles = interpolate_quantiles(x, mass, np.append(scale.levels, (0.25, 0.5, 0.75)))
    low, middle, high = quantiles[-3:].tolist()
    quantiles = quantiles[:-3]
    unit = high - low or float(quantiles[-1] - quantiles[0]) or float(np.ptp(x)) or 1.0
    line = _search(Line(), quantiles, middle, unit, scale)
    if bends and line.misfit > SIGNIFICANT_GAIN:
        line = _bend(line, quantiles, scale)
    return _Fitted(replace(line, heap=heap), quantiles, scale, bends)


def _bend(line: Margin, quantiles: FloatArray, scale: _Scale) -> Margin:
    """Return the best curved margin, or the line if none is significantly better.

    Powers have one free number more than tails, and need evidence for it.
    """
    powers = (
        _search_power(quantiles, line.unit, scale),
        _search_power(-quantiles[::-1], line.unit, scale, sign=-1.0),
    )
    tails = _search_tails(quantiles, line.origin, line.unit, scale)
    power = min(powers, key=lambda margin: margin.misfit)
    best = power if power.misfit < tails.misfit - _GAIN_OF_NUMBER else tails
    is_better = line.misfit - best.misfit > SIGNIFICANT_GAIN
    return best if is_better and best.misfit < _EXPLAINED * line.misfit else line


def _search_power(quantiles: FloatArray, unit: float, scale: _Scale, sign: float = 1.0) -> Margin:
    """Return the best power, or the log if a negative power is not significantly better.

    A negative power ends at a finite value, and takes the farthest errors for a tail.
    """
    origin = float(quantiles[0])
    free = _search(Power(), quantiles, origin, unit, scale, sign)
    if free.numbers[0] >= 0.0:
        return free
    log = _search(Power(), quantiles, origin, unit, scale, sign, bounds=(0.0, 0.0))
    return log if log.misfit - free.misfit <= _GAIN_OF_NUMBER else free


def _search_tails(quantiles: FloatArray, origin: float, unit: float, scale: _Scale) -> Margin:
    """Return the heaviest of the tails that fit as well as the best ones.

    Tails that are estimated too light make p-values much too small, and the same error on the other
    side makes them a little too large.
    """
    family = Student()
    best = _search(family, quantiles, origin, unit, scale)
    heavier = np.linspace(best.numbers[0], family.box[0][1], _N_HEAVIER)
    tried = _try(family, (quantiles - origin) / unit, scale, heavier, np.zeros(_N_HEAVIER))
    is_as_good = tried.misfit <= best.misfit + scale.slack
    chosen = float(heavier[is_as_good].max(initial=best.numbers[0]))
    return _search(family, quantiles, origin, unit, scale, bounds=(chosen, chosen))


def _search(
    family: Line | Power | Student,
    quantiles: FloatArray,
    origin: float,
    unit: float,
    scale: _Scale,
    sign: float = 1.0,
    bounds: tuple[float, float] | None = None,
) -> Margin:
    """Return the best margin of a family, whose first number may have bounds of its own."""
    y = (quantiles - origin) / unit
    if isinstance(family, Line):
        tried = _try(family, y, scale, np.zeros(1), np.zeros(1))
    else:
        tried = _refine(family, y, scale, (bounds or family.box[0], family.box[1]))
    best = int(np.argmin(tried.misfit))
    found = float(tried.misfit[best])
    is_usable = bool(np.isfinite(found))
    return Margin(
        family,
        (float(tried.first[best]), float(tried.second[best])),
        sign,
        origin,
        unit,
        float(tried.intercept[best]),
        float(tried.slope[best]) if is_usable else 1.0,
        misfit=found if is_usable else 0.0,
    )


@dataclass(frozen=True)
class _Tried:
    """Pairs of free numbers that were tried, with their misfit, intercept and slope."""

    first: FloatArray
    second: FloatArray
    misfit: FloatArray
    intercept: FloatArray
    slope: FloatArray


def _refine(family: Power | Student, y: FloatArray, scale: _Scale, box: Box) -> _Tried:
    """Try a grid of free numbers, again and again around its best point."""
    centre = [(low + high) / 2 for low, high in box]
    reach = [(high - low) / 2 for low, high in box]
    for _ in range(_ROUNDS):
        axes = [
            np.unique(np.clip(np.linspace(c - r, c + r, _GRID), *ends))
            for c, r, ends in zip(centre, reach, box, strict=True)
        ]
        first, second = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
        tried = _try(family, y, scale, first, second)
        best = int(np.argmin(tried.misfit))
        centre, reach = [float(first[best]), float(second[best])], [r / 3 for r in reach]
    return tried


def _try(
    family: Line | Power | Student,
    y: FloatArray,
    scale: _Scale,
    first: FloatArray,
    second: FloatArray,
) -> _Tried:
    with np.errstate(all="ignore"):  # corners of the box may overflow; they are not usable
        curves = family.curve(y, first[:, None], second[:, None])
        fitted = scale.regress(np.broadcast_to(curves, (len(first), len(y))))
    return _Tried(first, second, *fitted)
