"""Rows on a cluster: Dask arrays and data frames.

A pass over the rows is one graph: every partition is folded where it is stored, the statistics are
merged in a tree, and one small result comes back. Only statistics travel (and, once, two samples),
and Dask recomputes a partition that is lost with its worker.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Self, TypeVar

import numpy as np

from eosparse.core import FloatArray, IntArray, Mergeable
from eosparse.rows.memory import block_slices, fold_array
from eosparse.rows.parallel import single_threaded_blas
from eosparse.rows.table import Chain, Table, as_stored, weigh_empty

Part = TypeVar("Part", bound=Mergeable)
# Statistics merged by one task: few, since each may be a matrix of columns by columns.
_MERGED_AT_ONCE = 8


def _import_dask() -> Any:
    """Import Dask, or name the extra that installs it."""
    try:
        import dask
    except ImportError as error:
        raise ImportError("Dask is missing: pip install 'eosparse[cluster]'") from error
    return dask


def _is_frame(X: Any) -> bool:
    """Whether a Dask collection is a data frame."""
    return hasattr(X, "map_partitions")


@dataclass(frozen=True)
class Survey:
    """Counts of a partition: rows that count, their mass, and rows without any value."""

    n_present: int
    mass: float
    n_empty: int


@dataclass(frozen=True)
class DaskRows(Table):
    """Rows of a Dask array or data frame.

    Attributes
    ----------
    source : dask.array.Array or dask.dataframe.DataFrame
        The table.
    columns : tuple of str
        Names of the columns, for messages.
    weights : dask.array.Array or None
        Prior weights, in the same partitions.
    prepare : callable
        Applied to each block.
    has_gaps : bool
        Whether missing values are NaN, and no error.
    """

    source: Any
    columns: tuple[str, ...]
    weights: Any = None
    prepare: Callable[[FloatArray], FloatArray] = field(default=as_stored, repr=False)
    has_gaps: bool = False

    def allow_gaps(self) -> Self:
        """Return the same rows, of which missing values are NaN and no error."""
        return replace(self, has_gaps=True)

    @classmethod
    def accepts(cls, X: Any) -> bool:
        """Whether X is a Dask collection; does not import Dask."""
        module = type(X).__module__.split(".")[0]
        return module in ("dask", "dask_expr") and hasattr(X, "to_delayed")

    @classmethod
    def open(cls, X: Any, columns: Sequence[str] | None = None, sample_weight: Any = None) -> Self:
        """Return the rows of X: of the given columns, if it has names, weighted by an array."""
        if sample_weight is not None and not cls.accepts(sample_weight):
            raise TypeError(
                "For a Dask collection, sample_weight is a Dask array with the same partitions."
            )
        if columns is not None and _is_frame(X):
            X = _select_columns(X, columns)
        return cls(X, _name_columns(X), sample_weight)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names that a fitted estimator remembers; None unless all are strings."""
        is_named = _is_frame(self.source) and all(isinstance(c, str) for c in self.source.columns)
        return self.columns if is_named else None

    @property
    def n_present(self) -> int:
        """Number of rows that count."""
        return sum(part.n_present for part in self.surveys)

    @property
    def mass(self) -> float:
        """Sum of the prior weights."""
        return sum(part.mass for part in self.surveys)

    @property
    def n_empty(self) -> int:
        """Number of rows that do not count because they have no value."""
        return sum(part.n_empty for part in self.surveys)

    @cached_property
    def surveys(self) -> list[Survey]:
        """Counts of the partitions; their values are checked at the same time."""
        dask = _import_dask()
        asked = [
            dask.delayed(_survey)(part, prior, number, self.columns, self.has_gaps)
            for number, (part, prior) in enumerate(self._parts)
        ]
        return list(dask.compute(*asked))

    @cached_property
    def _parts(self) -> list[tuple[Any, Any]]:
        """Partitions with their prior weights, as tasks not yet run."""
        source = self.source
        if not _is_frame(source):
            source = source.rechunk({1: -1})
        parts = np.ravel(source.to_delayed())
        if self.weights is None:
            return [(part, None) for part in parts]
        priors = np.ravel(self.weights.to_delayed())
        if len(priors) != len(parts):
            raise ValueError(
                f"sample_weight has {len(priors)} partitions and X {len(parts)}: they must be "
                "partitioned alike."
            )
        return list(zip(parts, priors, strict=True))

    def fold(self, kernel: Callable[[FloatArray, FloatArray | None], Part]) -> Part:
        """Fold every partition where it is stored and merge in a tree: one synchronisation."""
        dask = _import_dask()
        # One copy of the kernel, with θ in it, for all partitions.
        shared = dask.delayed((kernel, self.prepare), pure=False)
        layer = [dask.delayed(_fold_part)(shared, part, prior) for part, prior in self._parts]
        while len(layer) > 1:
            groups = range(0, len(layer), _MERGED_AT_ONCE)
            layer = [dask.delayed(_merge)(layer[i : i + _MERGED_AT_ONCE]) for i in groups]
        (result,) = dask.compute(layer[0])
        merged: Part = result
        return merged

    def prepare_with(self, prepare: Callable[[FloatArray], FloatArray]) -> DaskRows:
        """Return the same rows, prepared in another way."""
        other = replace(self, prepare=prepare)
        for name in ("surveys", "_parts"):  # a pass over the rows each
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    def map(self, function: Callable[[FloatArray], FloatArray]) -> DaskRows:
        """Return rows of one number each, computed lazily."""
        return self.prepare_with(Chain(self.prepare, function))

    def times_prior(self, column: Any) -> Any:
        """Return a lazy column multiplied by the prior weights; zero for rows without a value."""
        if self.n_empty:
            column = column * self.prepare_with(_has_value).to_column(column.dtype)
        return column if self.weights is None else (column * self.weights).astype(column.dtype)

    def keep_for_pickle(self) -> None:
        """Save nothing: the cluster need not be there when the estimator is loaded."""

    def to_column(self, dtype: Any) -> Any:
        """Return rows of one number each as a lazy array, or a lazy series for a data frame."""
        function = _evaluate_parts(self.prepare, self.columns, dtype, self.has_gaps)
        if _is_frame(self.source):
            import pandas as pd

            def one(frame: Any) -> Any:
                return pd.Series(function(frame), index=frame.index, dtype=dtype)

            return self.source.map_partitions(one, meta=(None, dtype))
        source = self.source.rechunk({1: -1})
        return source.map_blocks(function, dtype=dtype, drop_axis=1)

    def take(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return some of the rows that count, by their number among these, with prior weights."""
        dask = _import_dask()
        asked, seen = [], 0
        for survey, (part, prior) in zip(self.surveys, self._parts, strict=True):
            low, high = np.searchsorted(numbers, (seen, seen + survey.n_present))
            if high > low:
                asked.append(dask.delayed(_take)(part, prior, numbers[low:high] - seen))
            seen += survey.n_present
        found = dask.compute(*asked)
        return np.concatenate([v for v, _ in found]), np.concatenate([m for _, m in found])


def _has_value(values: FloatArray) -> FloatArray:
    return np.where(np.isnan(values).all(axis=1), 0.0, 1.0)


def _select_columns(X: Any, names: Sequence[str]) -> Any:
    missing = [name for name in names if name not in set(X.columns)]
    if missing:
        raise ValueError(
            f"no column {missing[0]!r} in X; there are {', '.join(map(str, X.columns))}."
        )
    return X[list(names)]


def _name_columns(X: Any) -> tuple[str, ...]:
    if _is_frame(X):
        for name, kind in X.dtypes.items():
            if kind.kind not in "fiub":
                raise ValueError(f"column {name!r} holds {kind}, not numbers. Leave it out.")
        return tuple(str(name) for name in X.columns)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; it must have two.")
    return tuple(f"x{i}" for i in range(X.shape[1]))


def _values(part: Any) -> FloatArray:
    """Return a partition as an array of floats, without a copy where it is one."""
    values = np.asarray(part)
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _prior(prior: Any, values: FloatArray) -> FloatArray | None:
    """Return the prior weights of a partition; None if all rows count alike."""
    if prior is None:
        return weigh_empty(values, None)
    mass = _values(prior)
    if mass.shape != (len(values),):
        raise ValueError(
            f"sample_weight has shape {mass.shape} for a partition of {len(values)} rows: both "
            "must be partitioned alike."
        )
    return weigh_empty(values, mass)


def _survey(
    part: Any, prior: Any, number: int, columns: Sequence[str], has_gaps: bool = False
) -> Survey:
    values = _check_values(part, columns, f"partition {number}, ", has_gaps=has_gaps)
    mass = _prior(prior, values)
    if mass is None:
        return Survey(len(values), float(len(values)), 0)
    if not (np.isfinite(mass).all() and (mass >= 0).all()):
        raise ValueError(f"partition {number}: sample_weight must be finite and not negative.")
    n_empty = int(np.isnan(values).all(axis=1).sum())
    return Survey(int(np.count_nonzero(mass)), float(mass.sum()), n_empty)


def _check_values(
    part: Any, columns: Sequence[str], where: str = "", *, has_gaps: bool = False
) -> FloatArray:
    """Return a partition as numbers, which must all be finite, or missing if gaps are allowed."""
    values = _values(part)
    is_refused = np.isinf(values) if has_gaps else ~np.isfinite(values)
    if is_refused.any():
        row, column = np.argwhere(is_refused)[0]
        raise ValueError(
            f"{where}row {row}, column {columns[column]!r}: {values[row, column]} is not a finite "
            "number. Drop or fill it first."
        )
    return values


def _fold_part(
    shared: tuple[Callable[..., Part], Callable[[FloatArray], FloatArray]], part: Any, prior: Any
) -> Part | None:
    kernel, prepare = shared
    values = _values(part)
    with single_threaded_blas():
        return fold_array(values, _prior(prior, values), prepare, kernel)


def _merge(parts: list[Part | None]) -> Part | None:
    present = [part for part in parts if part is not None]
    return reduce(operator.add, present) if present else None


def _take(part: Any, prior: Any, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
    values = _values(part)
    mass = _prior(prior, values)
    mass = np.ones(len(values)) if mass is None else mass
    rows = np.flatnonzero(mass > 0)[numbers]
    return values[rows], mass[rows]


def _evaluate_parts(
    prepare: Callable[[FloatArray], FloatArray],
    columns: Sequence[str],
    dtype: Any,
    has_gaps: bool,
) -> Callable[[Any], FloatArray]:
    def function(part: Any) -> FloatArray:
        values = _check_values(part, columns, has_gaps=has_gaps)
        blocks = [prepare(values[rows]) for rows in block_slices(values.shape)]
        return np.concatenate([np.zeros(0), *blocks]).astype(dtype, copy=False)

    return function
