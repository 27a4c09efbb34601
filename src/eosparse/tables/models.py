"""Save fitted models as arrays and JSON in one sealed file; loading it runs no code.

The file holds ``model.json`` (format, version, columns, encoding, parameters and the fit, as plain
data), one ``.npy`` per array, and a digest of all of it. Only the classes listed in
`SAVED_CLASSES` can be loaded, and only if their numbers fit together (`model_checks`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from eosparse import __version__
from eosparse.core import Result, Status
from eosparse.estimators import EOSDetector
from eosparse.fitting.judge import Judge, Rule
from eosparse.fitting.options import FitOptions
from eosparse.inference import (
    Combination,
    Combinations,
    FittedGamma,
    Group,
    MixtureLaw,
    NoPull,
    Promise,
    ScaledF,
    SelfPull,
    UpperNormal,
)
from eosparse.models import (
    ClusterModel,
    Fit,
    GaussianModel,
    Line,
    LinearModel,
    Mixture,
    MixtureModel,
    NeighbourModel,
    Normal,
    Plane,
    SubspaceModel,
    Surprise,
)
from eosparse.models.gaussian_gaps import Gaps
from eosparse.models.neighbours import Metric, Neighbours
from eosparse.rows import (
    ColumnKind,
    ColumnRanges,
    Coordinates,
    FrameReader,
    Kind,
    LevelEffects,
    Margin,
    Margins,
    RareWriting,
    TableView,
    families,
)
from eosparse.rows.frame_cells import Cells as CellType
from eosparse.rows.sealed_file import SealError, from_npy, read_sealed, to_npy, write_sealed
from eosparse.tables.cells import Encoding
from eosparse.tables.columns import Column, Role
from eosparse.tables.model_checks import check_type, try_judge
from eosparse.tables.reading import TableError, TableFile

FORMAT = 3
SAVED_CLASSES: tuple[type, ...] = (
    Judge,
    Fit,
    Coordinates,
    Result,
    *(GaussianModel, Normal, Gaps, SelfPull, ScaledF),
    *(ClusterModel, SubspaceModel, Plane, LinearModel, Line, NoPull, FittedGamma),
    *(MixtureModel, Mixture, MixtureLaw),
    *(NeighbourModel, Neighbours, Metric, UpperNormal),
    *(TableView, Margins, Margin, families.Line, families.Power, families.Student),
    *(LevelEffects, ColumnRanges, RareWriting, Surprise),
    *(FrameReader, ColumnKind, Combinations, Combination, Promise, Group),
    *(Status, Kind, CellType),
)


def _name_class(cls: type) -> str:
    """Return the name of a class in a file: two are called Line."""
    return "MarginLine" if cls is families.Line else cls.__name__


_CLASSES = {_name_class(cls): cls for cls in SAVED_CLASSES}
_PARAMETERS = (
    *("alpha", "efficiency", "perplexity", "fdr", "level", "weight_cut", "contamination"),
    "groups",
)
# What a detector says about its fit.
_STATEMENTS: dict[str, Any] = {
    "rung_": str | None,
    "reason_": str,
    "promise_": Promise,
    "columns_": tuple[ColumnKind, ...],
    "groups_": tuple[Group, ...],
    "_reader": FrameReader | None,
}
_JSON = "model.json"
# Of JSON, which takes thirty times as much memory once it is read. A column takes about a kilobyte.
_MOST_JSON_BYTES = 2**25


class ModelError(TableError):
    """A file that is not a model, was modified, or does not fit the table."""


@dataclass(frozen=True)
class SavedModel:
    """A detector with all that is needed to score another table.

    Attributes
    ----------
    detector : EOSDetector
        Scores new rows; it has no attributes about the rows it was fitted to.
    columns : list of Column
        The columns of the table it was fitted to.
    encoding : Encoding
        How they became numbers.
    version : str
        The version of eosparse that saved it.
    """

    detector: EOSDetector
    columns: list[Column]
    encoding: Encoding
    version: str

    def match_columns(self, table: TableFile) -> list[Column]:
        """Give the columns of a table their roles in the model, in the order of the model.

        Raises
        ------
        ModelError
            If the table lacks a column that the model uses.
        """
        n_missing = {str(name): int(n) for name, n in table.frame.isna().sum().items()}
        return self.match_names(table.name, list(n_missing), n_missing)

    def match_names(
        self, table: str, names: Sequence[str], n_missing: Mapping[str, int]
    ) -> list[Column]:
        """Give the columns of a table roles by their names, and the number of their gaps."""
        lacking = [c.name for c in self.columns if c.role.is_used and c.name not in names]
        if lacking:
            shown = ", ".join(repr(name) for name in lacking[:8])
            raise ModelError(f"{table} lacks columns that the model uses: {shown}.")
        known = {column.name: column for column in self.columns}
        unknown = Column("", Role.IGNORED, "not a column of the model")
        order = [*(name for name in known if name in names), *(n for n in names if n not in known)]
        return [
            dataclasses.replace(known.get(name, unknown), name=name, n_missing=n_missing[name])
            for name in order
        ]


class ReadCells(Protocol):
    """What is saved about the cells of a table, in memory or on disk."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def encoding(self) -> Encoding:
        """How they are read."""


def save_model(detector: EOSDetector, columns: list[Column], cells: ReadCells, path: Path) -> None:
    """Save a detector with one of our models; the file is written completely or not at all."""
    model = detector._judge.fit.model
    if not isinstance(model, SAVED_CLASSES):
        raise ModelError(f"{type(model).__name__} is not a model of eosparse and cannot be saved.")
    arrays: dict[str, Any] = {}
    content = {
        "format": FORMAT,
        "eosparse": __version__,
        "names": list(cells.names),
        "columns": [{"name": c.name, "role": str(c.role), "why": c.why} for c in columns],
        "fills": cells.encoding.fills,
        "formats": cells.encoding.formats,
        "parameters": {name: _encode(getattr(detector, name), arrays) for name in _PARAMETERS},
        "judge": _encode(dataclasses.replace(detector._judge, dtype=None), arrays),
        "statements": {
            name: _encode(getattr(detector, name, None), arrays) for name in _STATEMENTS
        },
    }
    parts = {f"{name}.npy": to_npy(array) for name, array in arrays.items()}
    parts[_JSON] = json.dumps(content).encode()
    if len(parts[_JSON]) > _MOST_JSON_BYTES:
        raise ModelError(
            f"The model was not saved: {len(columns):,} columns with their names and categories "
            f"are too many for a model file ({_MOST_JSON_BYTES:,} bytes). Use fewer."
        )
    write_sealed(path, parts, compress=True)


def load_model(path: Path) -> SavedModel:
    """Load a model.

    Raises
    ------
    ModelError
        If the file is not a model, was modified or truncated, has another format, or holds numbers
        that do not fit together.
    """
    if not path.is_file():
        raise ModelError(f"File not found: {path}.")
    try:
        parts = read_sealed(path)
        return _read_model(parts, path)
    except ModelError:
        raise
    except SealError as error:
        raise ModelError(
            f"{path} is not an eosparse model, or was damaged: it {error}. Save the model again."
        ) from None
    except Exception as error:  # a forged file fails in any way; what holds is checked at the end
        said = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(
            f"{path} is not an eosparse model, or was damaged: {said:.200}. Save the model again."
        ) from None


def _read_model(parts: dict[str, bytes], path: Path) -> SavedModel:
    if len(parts[_JSON]) > _MOST_JSON_BYTES:
        raise SealError(f"holds more than {_MOST_JSON_BYTES:,} bytes besides its numbers")
    content = json.loads(parts.pop(_JSON))
    if content["format"] != FORMAT:
        raise ModelError(
            f"{path} has format {content['format']!r:.40}, but this version of eosparse reads "
            f"format {FORMAT}. Save the model again, or install eosparse "
            f"{content['eosparse']!s:.40}, which saved it."
        )
    arrays = _Arrays({name.removesuffix(".npy"): from_npy(data) for name, data in parts.items()})
    saved = SavedModel(
        _restore_detector(content, arrays),
        [Column(c["name"], Role(c["role"]), c["why"]) for c in content["columns"]],
        Encoding(content["fills"], content["formats"]),
        content["eosparse"],
    )
    if arrays.unused:
        raise SealError(f"holds arrays that no part of it uses: {sorted(arrays.unused)[:3]}")
    _check_saved(saved, content["names"])
    return saved


def _check_saved(saved: SavedModel, names: list[str]) -> None:
    """Raise unless all parts are about the same columns, and can judge rows of them."""
    check_type(saved.version, str, "eosparse")
    for column in saved.columns:
        check_type((column.name, column.why), tuple[str, ...], "columns")
    check_type(saved.encoding.formats, dict[str, str], "formats")
    check_type(saved.encoding.fills, dict[str, float | str], "fills")
    detector = saved.detector
    used = {column.name for column in saved.columns if column.role.is_used}
    reader = getattr(detector, "_reader", None)
    if (
        set(names) != used
        or tuple(column.name for column in detector.columns_) != tuple(names)
        or (reader is not None and reader.names != tuple(names))
        or any(group.centre.shape != (len(names),) for group in detector.groups_)
    ):
        raise SealError("names different columns in different places")
    try_judge(detector._judge, len(names))


class _Arrays:
    """The arrays of a file by their names, and those that were never asked for."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays
        self.unused = set(arrays)

    def __getitem__(self, name: str) -> Any:
        self.unused.discard(name)
        return self.arrays[name]


def _encode(value: Any, arrays: dict[str, Any]) -> Any:
    """Turn a value into plain data; arrays are collected under names."""
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, StrEnum):
        return {"enum": _name_class(type(value)), "value": value.value}
    if isinstance(value, dict):
        return {"keys": _encode([*value], arrays), "values": _encode([*value.values()], arrays)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _encode(getattr(value, field.name), arrays)
            for field in dataclasses.fields(value)
        }
        return {"class": _name_class(type(value)), "fields": fields}
    if isinstance(value, (list, tuple)):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, (np.floating, Fraction)):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _decode(data: Any, arrays: _Arrays) -> Any:
    if isinstance(data, list):
        return tuple(_decode(item, arrays) for item in data)
    if not isinstance(data, dict):
        return data
    if "array" in data:
        return arrays[data["array"]]
    if "keys" in data:
        keys, values = (_decode(data[part], arrays) for part in ("keys", "values"))
        return dict(zip(keys, values, strict=True))
    name = data.get("class", data.get("enum"))
    if name not in _CLASSES:
        raise ModelError(f"An eosparse model cannot hold a {name!r}.")
    if "enum" in data:
        return _CLASSES[name](data["value"])
    fields = {name: _decode(item, arrays) for name, item in data["fields"].items()}
    return _CLASSES[name](**fields)


def _restore_detector(content: dict[str, Any], arrays: _Arrays) -> EOSDetector:
    """Return the detector of a file, with every field of the type that it should have."""
    names, given = content["names"], content["parameters"]
    check_type(tuple(names), tuple[str, ...], "names")
    if set(given) != set(_PARAMETERS) or set(content["statements"]) != set(_STATEMENTS):
        raise SealError("has other fields than a model")
    FitOptions(*(given[name] for name in ("alpha", "efficiency", "perplexity")))
    Rule.choose(*(given[name] for name in ("fdr", "level", "weight_cut", "contamination")))
    check_type(given["groups"], str, "groups")
    judge = cast(Judge, _decode(content["judge"], arrays))
    check_type(judge, Judge, "judge")
    detector = EOSDetector(**given)
    detector.n_features_in_ = len(names)
    detector.feature_names_in_ = np.array(names, dtype=object)
    result = judge.fit.result
    detector._dtype = np.dtype(np.float64)
    detector._judge = dataclasses.replace(judge, dtype=detector._dtype)
    detector._training = None
    detector.model_ = judge.fit.model
    detector.theta_ = result.theta
    detector.alpha_ = result.alpha
    detector.objective_ = result.objective
    detector.objective_history_ = np.array(result.objective_history)
    detector.n_iter_ = result.n_iter
    detector.effective_sample_size_ = result.effective_size
    detector.status_ = result.status
    detector.offset_ = -judge.cut
    for name, kind in _STATEMENTS.items():
        value = _decode(content["statements"][name], arrays)
        check_type(value, kind, name)
        setattr(detector, name, value)
    return detector
