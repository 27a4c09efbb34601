"""Whether the numbers of a loaded model can be those of a fit: types, sizes, signs, and a trial.

A digest shows that a file is as it was written, not that it was written by eosparse. What does not
fit together would give wrong verdicts, or fail later with an error that nobody understands.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from eosparse.core import LARGEST_SQUARED, BoolArray, FloatArray, IntArray, Result
from eosparse.fitting.judge import Judge
from eosparse.inference import (
    Combinations,
    FittedGamma,
    Law,
    MixtureLaw,
    NoPull,
    Pull,
    ScaledF,
    SelfPull,
    UpperNormal,
)
from eosparse.models import Fit, Mixture, Normal, Plane
from eosparse.models.gaussian_gaps import Gaps
from eosparse.models.neighbours import Metric, Neighbours
from eosparse.rows import (
    ColumnRanges,
    Coordinates,
    FrameReader,
    LevelEffects,
    Margin,
    RareWriting,
    TableView,
)
from eosparse.rows.writing import MOST_DECIMALS

# Of an interface, the classes that a file may hold.
_MEMBERS: dict[Any, tuple[type, ...]] = {
    Pull: (SelfPull, NoPull),
    Law: (ScaledF, FittedGamma, MixtureLaw, UpperNormal),
}
_KINDS_OF_ARRAYS = {FloatArray: "f", IntArray: "iu", BoolArray: "b"}
# Numbers that may be infinite or missing; all others are finite.
_ANY_NUMBER = {
    ("Result", "alpha"),
    ("NoPull", "alpha"),
    ("NoPull", "rounding"),
    ("Fit", "rounding"),
    ("ClusterModel", "rounding"),
    ("SubspaceModel", "rounding"),
    ("LinearModel", "rounding"),
    ("Judge", "cut"),
    ("Group", "centre"),
    *(("ColumnRanges", name) for name in ("low", "high", "below", "above")),
}
# An eigendecomposition of more columns takes long; rows are explained when that is asked for.
_MOST_EXPLAINED = 500


def check_type(value: Any, hint: Any, place: str) -> None:
    """Raise unless a value, with all that it holds, is of the type that a field declares.

    Raises
    ------
    ValueError
        With the place of what is not.

    Examples
    --------
    >>> check_type((1.0, 2.0), tuple[float, ...], "history")
    >>> check_type((1.0, "2"), tuple[float, ...], "history")
    Traceback (most recent call last):
    ValueError: history[1] is a str
    """
    if hint is Any or isinstance(hint, TypeVar):
        is_right = not isinstance(value, (dict, list))
    elif hint in _KINDS_OF_ARRAYS:
        is_right = isinstance(value, np.ndarray) and value.dtype.kind in _KINDS_OF_ARRAYS[hint]
    elif get_origin(hint) in (Union, UnionType):
        is_right = any(_is_of_type(value, one, place) for one in get_args(hint))
    elif get_origin(hint) is Literal:
        is_right = isinstance(value, str) and value in get_args(hint)
    elif get_origin(hint) in (tuple, dict):
        _check_items(value, hint, place)
        is_right = True
    else:
        is_right = _is_instance(value, hint)
    if not is_right:
        raise ValueError(f"{place} is a {type(value).__name__}")
    if dataclasses.is_dataclass(value):
        _check_fields(value, place)


def _is_margin(margin: Margin) -> bool:
    """Whether the numbers of a margin are some that a fit could have found."""
    is_map = margin.unit > 0 and margin.slope > 0 and margin.sign in (-1, 1)
    pairs = zip(margin.numbers, margin.family.box, strict=True)
    return is_map and all(low <= number <= high for number, (low, high) in pairs)


def _is_of_type(value: Any, hint: Any, place: str) -> bool:
    try:
        check_type(value, hint, place)
    except ValueError:
        if dataclasses.is_dataclass(value) and _is_instance(value, hint):
            raise  # of this type, with a field that is not
        return False
    return True


def _is_instance(value: Any, hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if kind in (float, int):
        is_number = isinstance(value, (int, float) if kind is float else int)
        return is_number and not isinstance(value, bool)
    if kind in (bool, str, NoneType):
        return isinstance(value, kind)
    return isinstance(value, _MEMBERS.get(kind, kind)) and isinstance(
        value, (Enum, *_list_dataclass(value))
    )


def _list_dataclass(value: Any) -> tuple[type, ...]:
    return (type(value),) if dataclasses.is_dataclass(value) else ()


def _check_items(value: Any, hint: Any, place: str) -> None:
    kind, hints = get_origin(hint), get_args(hint)
    if not isinstance(value, kind):
        raise ValueError(f"{place} is a {type(value).__name__}")
    if kind is dict:
        for key, item in value.items():
            check_type(key, hints[0], f"{place} key")
            check_type(item, hints[1], f"{place}[{key!r:.40}]")
        return
    if hints[-1] is not Ellipsis and len(hints) != len(value):
        raise ValueError(f"{place} holds {len(value)} items")
    for i, item in enumerate(value):
        check_type(item, hints[0 if hints[-1] is Ellipsis else i], f"{place}[{i}]")


def _check_fields(value: Any, place: str) -> None:
    """Check the fields of a dataclass: their types, that they are finite, and fit together."""
    name, hints = type(value).__name__, get_type_hints(type(value))
    for field in dataclasses.fields(value):
        item, where = getattr(value, field.name), f"{place}.{field.name}"
        check_type(item, hints[field.name], where)
        if (name, field.name) not in _ANY_NUMBER and not _is_finite(item):
            raise ValueError(f"{where} is not finite")
    fits = _FITS.get(type(value))
    if fits is not None and not fits(value):
        raise ValueError(f"the parts of {place} do not fit together")


def _is_finite(item: Any) -> bool:
    if isinstance(item, np.ndarray) and item.dtype.kind == "f":
        return bool(np.isfinite(item).all())
    if isinstance(item, tuple):
        return all(map(_is_finite, item))
    if isinstance(item, int):
        return abs(item) < 2**63  # larger ones fit no number of ours
    return not isinstance(item, float) or bool(np.isfinite(item))


def _is_normal(law: Normal) -> bool:
    """Whether a covariance, or a vector of variances, is positive definite and as long."""
    size = len(law.location) if law.location.ndim == 1 else -1
    if not (np.abs(law.location) <= LARGEST_SQUARED).all():
        return False
    if law.covariance.shape == (size,):
        return bool((law.covariance > 0).all())
    if law.covariance.shape != (size, size) or not np.allclose(law.covariance, law.covariance.T):
        return False
    return bool(np.isfinite(law.log_det))  # raises where it is singular


def _is_affine(map_: Coordinates) -> bool:
    size = map_.origin.shape
    has_basis = map_.basis is not None
    return (
        len(size) == 1
        and map_.scale.shape == size
        and bool((map_.scale > 0).all())
        and not (has_basis and (map_.basis.ndim != 2 or map_.basis.shape[:1] != size))  # type: ignore[union-attr]
    )


def _is_mixture(theta: Mixture) -> bool:
    sizes = {part.location.shape for part in theta.components}
    return len(sizes) == 1 and _are_shares(theta.shares, len(theta.components))


def _are_shares(shares: FloatArray, size: int) -> bool:
    is_one = abs(shares.sum() - 1) < 1e-6
    return shares.shape == (size,) and bool((shares >= 0).all()) and is_one


def _are_effects(effects: LevelEffects) -> bool:
    pairs = zip(effects.levels, effects.steps, strict=True)
    widths = {steps.shape[1:] for steps in effects.steps}
    return len(widths) <= 1 and all(
        _is_rising(levels) and steps.ndim == 2 and len(steps) == len(levels)
        for levels, steps in pairs
    )


def _is_rising(values: FloatArray) -> bool:
    return values.ndim == 1 and bool((np.diff(values) > 0).all())


def _is_view(view: TableView) -> bool:
    """Whether the coordinates are columns of the table, and as many as margins and effects."""
    used = np.concatenate([view.places.ravel(), view.levels.ravel()])
    widths = {steps.shape[1] for steps in view.effects.steps}
    return (
        view.places.ndim == view.levels.ndim == 1
        and bool(((used >= 0) & (used < view.n_features)).all())
        and len(set(used.tolist())) == len(used)
        and len(view.margins.columns) == len(view.places) > 0
        and len(view.effects.levels) == len(view.levels)
        and widths <= {len(view.places)}
    )


def _are_combinations(found: Combinations) -> bool:
    sizes = [len(levels) for levels in found.levels]
    places = {place for pair in found.tables for place in pair}
    return (
        all(map(_is_rising, found.levels))
        and places <= set(range(len(sizes)))
        and all(
            table.shape == (sizes[first] + 1, sizes[second] + 1)
            for (first, second), table in found.tables.items()
        )
    )


def _are_ranges(ranges: ColumnRanges) -> bool:
    parts = (ranges.low, ranges.high, ranges.below, ranges.above)
    return (
        all(part.shape == (len(ranges.places),) for part in parts)
        and bool((ranges.low <= ranges.high).all())
        and bool(((ranges.below >= 0) & (ranges.above >= 0)).all())
    )


def _is_writing(writing: RareWriting) -> bool:
    parts = (writing.decimals, writing.more, writing.below_zero)
    return all(
        part.shape == (len(writing.places),) and bool((part >= 0).all()) for part in parts
    ) and bool((writing.decimals <= MOST_DECIMALS).all())


def _is_reader(reader: FrameReader) -> bool:
    names = set(reader.names)
    return len(names) == len(reader.names) and names >= {
        *reader.kinds,
        *reader.levels,
        *reader.cells,
    }


def _are_neighbours(theta: Neighbours) -> bool:
    size = (len(theta.rows),)
    return (
        theta.rows.ndim == 2
        and len(theta.rows) > 1
        and theta.counts.shape == theta.usual.shape == size
        and bool((theta.counts > 0).all())
    )


def _is_plane(theta: Plane) -> bool:
    shape = (len(theta.variances), len(theta.location))
    return theta.components.shape == shape and bool((theta.variances >= 0).all())


def _is_metric(metric: Metric) -> bool:
    size = len(metric.middle)
    return metric.whitening is None or metric.whitening.shape == (size, size)


def _is_mixture_law(law: MixtureLaw) -> bool:
    return law.peaks.shape == (len(law.laws),) and _are_shares(law.shares, len(law.laws))


# What the parts of an object must be to each other.
_FITS: dict[type, Callable[[Any], bool]] = {
    Normal: _is_normal,
    Coordinates: _is_affine,
    Mixture: _is_mixture,
    Plane: _is_plane,
    Neighbours: _are_neighbours,
    Metric: _is_metric,
    LevelEffects: _are_effects,
    TableView: _is_view,
    Combinations: _are_combinations,
    ColumnRanges: _are_ranges,
    RareWriting: _is_writing,
    FrameReader: _is_reader,
    MixtureLaw: _is_mixture_law,
    Margin: _is_margin,
    Gaps: lambda gaps: 0 <= gaps.share <= 1 and 0 <= gaps.coupling < 1,
    SelfPull: lambda pull: 0 <= pull.coupling < 1 and pull.peak > 0 and pull.copies >= 1,
    NoPull: lambda pull: pull.alpha > 0 and pull.equal_weight > 0,
    ScaledF: lambda law: law.n_dimensions > 0 and law.tail > 0 and law.scale > 0,
    FittedGamma: lambda law: law.shape > 0 and law.scale > 0,
    UpperNormal: lambda law: law.spread > 0,
    Result: lambda result: result.alpha > 0 and result.n_iter > 0 and result.objective_history,
    Fit: lambda fit: fit.n_rows > 0 and fit.copies >= 1 and min(fit.levels, default=0) >= 0,
    Judge: lambda judge: judge.held > 0 and not np.isnan(judge.cut),
}


def try_judge(judge: Judge, n_features: int) -> None:
    """Judge a few rows of a table with some columns: numbers of other sizes cannot.

    Raises
    ------
    ValueError
        If a verdict is not a number, or has another size than the table.
    """
    rows = np.stack([np.zeros(n_features), np.ones(n_features), np.arange(n_features) / 7.0])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for what, found, shape in _find_verdicts(judge, rows):
            if np.shape(found) != shape or not np.isfinite(found).all():
                raise ValueError(f"{what} of a row is not a number")


def _find_verdicts(judge: Judge, rows: FloatArray) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    fitted, size = judge.fit.measure(rows), (len(rows),)
    yield "the distance", judge.distances(fitted), size
    yield "the p-value", judge.p_values(fitted), size
    yield "the weight", judge.relative_weights(fitted), size
    if rows.shape[1] <= _MOST_EXPLAINED:
        yield "the explanation", judge.fit.deviations(rows), rows.shape
