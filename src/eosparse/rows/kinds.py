"""What the columns of a table hold: numbers, a few levels, categories, a heap, or nothing.

A column with a handful of values is no Gaussian: most of its rows are tied, and a robust spread of
ties is zero or arbitrary. Kinds are recognised on a sample of rows, and can be given instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.rows.parallel import map_columns
from eosparse.rows.ranges import find_ranges

# A number with more values than this has an order and distances worth using.
_MOST_LEVELS, _FEW_LEVELS = 10, 3
# A level holds this many rows on average, so that there is something to compare within it.
_ROWS_PER_LEVEL = 20
# Values outside of the levels: a mistake or two in a small table, one per cent in a large one.
_STRAY_ROWS, _STRAY_SHARE = 2.0, 0.01
# Values beyond a wide gap are strays too, and leave at least this share of the rows: `find_ranges`.
_LEAST_WITHIN = 0.5
# A heap holds this share of the rows, and no other value a third as many: the values of a rounded
# number are shared too, but their neighbours about as often.
_HEAP_SHARE, _HEAP_LEAD = 0.2, 3.0
# Fewer rows say too little: ten equal values among thirty may be rounding.
_FEWEST_ROWS, _FEWEST_FOR_HEAP = 20, 50


class Kind(StrEnum):
    """What a column holds.

    Examples
    --------
    >>> from eosparse.rows import Kind
    >>> Kind("heap") is Kind.HEAP, str(Kind.LEVELS)
    (True, 'levels')
    """

    NUMBER = "number"
    """A number with many values."""
    LEVELS = "levels"
    """A number with few values, in order: codes, ratings, booleans, small counts."""
    CATEGORY = "category"
    """Text, or codes without an order."""
    HEAP = "heap"
    """A number of which many rows share one value, such as zero or a cap."""
    DATE = "date"
    """A number of days."""
    IGNORED = "ignored"
    """Not used: the column is constant, or you said so."""


@dataclass(frozen=True)
class ColumnKind:
    """A column, its kind, and why it has this kind.

    Attributes
    ----------
    name : str
        Its name.
    kind : Kind
        What it holds.
    why : str
        The reason, in words.
    heap : float or None
        The value that many rows share, for a heap.

    Examples
    --------
    >>> from eosparse.rows import ColumnKind, Kind
    >>> ColumnKind("rain", Kind.HEAP, "0 in 41 % of the rows", heap=0.0).kind.value
    'heap'
    """

    name: str
    kind: Kind
    why: str
    heap: float | None = None


def recognise_kinds(
    values: FloatArray,
    mass: FloatArray,
    names: Sequence[str],
    given: Mapping[str, Kind | str] = MappingProxyType({}),
) -> tuple[ColumnKind, ...]:
    """Recognise the kind of each column from a sample of rows.

    A mistake or two changes no kind: a rating from 1 to 5 with one 999 is still one.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        The rows.
    mass : array of shape (n_rows,)
        Their prior weights, which count rows.
    names : sequence of str
        Names of the columns.
    given : mapping of str to Kind or str
        Kinds of some columns, which are not recognised. A constant column is ignored all the same:
        it tells no rows apart.

    Returns
    -------
    tuple of ColumnKind
        In the order of the columns.

    Raises
    ------
    ValueError
        If `given` names an unknown column or kind.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import recognise_kinds
    >>> row = np.arange(400.0)
    >>> table = np.column_stack([row, row % 3, np.maximum(row - 160, 0), np.full(400, 5)])
    >>> for column in recognise_kinds(table, np.ones(400), ["size", "code", "rain", "unit"]):
    ...     print(column.name, "is", column.kind, "-", column.why)
    size is number - numbers
    code is levels - 3 different values
    rain is heap - 0 in 40 % of the rows
    unit is ignored - always 5
    """
    chosen = check_kinds(given, names)
    present = mass > 0
    values, mass = np.asarray(values[present], dtype=np.float64), mass[present]
    are_numbers = _have_no_ties(values, mass)
    return tuple(
        ColumnKind(name, Kind.NUMBER, "numbers")
        if is_number and name not in chosen
        else _recognise(_Counts.of(column, mass), name, chosen.get(name))
        for name, column, is_number in zip(names, values.T, are_numbers, strict=True)
    )


def _have_no_ties(values: FloatArray, mass: FloatArray) -> BoolArray:
    """Return which columns are certainly numbers: no two of many rows share a value.

    To sort columns takes a fraction of the time that counting their values does.
    """
    n_rows, n_columns = values.shape
    if n_rows < _ROWS_PER_LEVEL * _MOST_LEVELS or not (mass == mass[0]).all():
        return np.zeros(n_columns, dtype=bool)
    return np.concatenate(map_columns(_rise_throughout, values))


def _rise_throughout(values: FloatArray) -> BoolArray:
    ordered = np.sort(np.ascontiguousarray(values.T), axis=1)
    # Comparisons with a missing value are false.
    return np.asarray((ordered[:, 1:] > ordered[:, :-1]).all(axis=1))


def check_kinds(given: Mapping[str, Kind | str], names: Sequence[str]) -> dict[str, Kind]:
    """Return the given kinds of columns, or raise if a column or a kind is unknown.

    Examples
    --------
    >>> check_kinds({"sex": "category"}, ["sex", "age"])
    {'sex': <Kind.CATEGORY: 'category'>}
    >>> check_kinds({"sex": "nominal"}, ["sex"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: kinds: 'nominal' of column 'sex' is unknown. Choose one of 'number', 'levels', ...
    """
    for name, kind in given.items():
        if name not in names:
            shown = ", ".join(repr(known) for known in names[:12])
            more = f", … ({len(names)} in total)" if len(names) > 12 else ""
            raise ValueError(f"kinds: X has no column {name!r}. It has {shown}{more}.")
        if kind not in tuple(Kind):
            options = ", ".join(repr(option.value) for option in Kind)
            raise ValueError(
                f"kinds: {kind!r} of column {name!r} is unknown. Choose one of {options}."
            )
    return {name: Kind(kind) for name, kind in given.items()}


@dataclass(frozen=True)
class _Counts:
    """The different values of a column and their mass, most frequent first."""

    values: FloatArray
    mass: FloatArray

    @classmethod
    def of(cls, column: FloatArray, mass: FloatArray) -> _Counts:
        known = ~np.isnan(column)
        values, places = np.unique(column[known], return_inverse=True)
        counts = np.bincount(places, mass[known], minlength=len(values)).astype(np.float64)
        order = np.argsort(-counts, kind="stable")
        return cls(values[order], counts[order])

    def leave_out_strays(self) -> _Counts:
        """Return the counts of the values that no wide gap separates from the others."""
        if self.mass[:_MOST_LEVELS].sum() < _LEAST_WITHIN * self.total:  # no levels in any case
            return self
        column = self.values[:, None]
        within = ~find_ranges(column, self.mass, (0,), levels=(0,)).is_outside(column)
        return _Counts(self.values[within], self.mass[within])

    @property
    def total(self) -> float:
        return float(self.mass.sum())

    @property
    def n_levels(self) -> int:
        """The number of values that hold the rows, all but a few strays."""
        strays = max(_STRAY_ROWS, _STRAY_SHARE * self.total)
        held = np.cumsum(self.mass)
        n_levels = int(np.searchsorted(held, self.total - strays)) + 1
        # One value and strays is a heap, unless the strays are few values themselves.
        return n_levels if 1 < n_levels <= _MOST_LEVELS else len(self.values)

    @property
    def are_levels(self) -> bool:
        if len(self.values) == 1:
            return False
        n_levels = self.n_levels
        # Two or three values are no scale, however few the rows, unless all but one are strays.
        are_few = n_levels <= _FEW_LEVELS and self.mass[1] > _STRAY_ROWS
        is_enough = are_few or self.total >= _ROWS_PER_LEVEL * n_levels
        return n_levels <= _MOST_LEVELS and is_enough

    @property
    def have_heap(self) -> bool:
        first, second = self.mass[:2]
        return bool(first >= _HEAP_SHARE * self.total and first >= _HEAP_LEAD * second)

    def describe_levels(self, total: float) -> str:
        """Say how many levels there are; given is the mass of all rows, strays among them."""
        if len(self.values) <= _MOST_LEVELS and self.total == total:
            return f"{len(self.values)} different values"
        share = float(self.mass[: self.n_levels].sum() / total)
        return f"{self.n_levels} values in {_format_share(share)} of the rows"

    def describe_heap(self) -> str:
        share = float(self.mass[0] / self.total)
        return f"{self.values[0]:.6g} in {_format_share(share)} of the rows"


def _recognise(counts: _Counts, name: str, given: Kind | None) -> ColumnKind:
    if not len(counts.values):
        return ColumnKind(name, Kind.IGNORED, "no values")
    if len(counts.values) == 1:
        return ColumnKind(name, Kind.IGNORED, f"always {counts.values[0]:.6g}")
    if given is not None:
        return _describe_given(counts, name, given)
    if counts.total >= _FEWEST_ROWS:
        # Errors that all differ would make a column of numbers of what are levels.
        held = counts if counts.are_levels else counts.leave_out_strays()
        if held.are_levels:
            return ColumnKind(name, Kind.LEVELS, held.describe_levels(counts.total))
    if counts.total >= _FEWEST_FOR_HEAP and counts.have_heap:
        return ColumnKind(name, Kind.HEAP, counts.describe_heap(), float(counts.values[0]))
    return ColumnKind(name, Kind.NUMBER, "numbers")


def _describe_given(counts: _Counts, name: str, kind: Kind) -> ColumnKind:
    if kind is Kind.HEAP:
        return ColumnKind(name, kind, counts.describe_heap(), float(counts.values[0]))
    why = {
        Kind.NUMBER: "numbers",
        Kind.LEVELS: f"{len(counts.values)} different values",
        Kind.CATEGORY: f"{len(counts.values)} categories",
        Kind.DATE: "dates",
        Kind.IGNORED: "told to be ignored",
    }
    return ColumnKind(name, kind, why[kind])


def _format_share(share: float) -> str:
    """Return a share in per cent; all but a few rows are not 100 %."""
    return f"{min(round(100 * share), 99)} %"
