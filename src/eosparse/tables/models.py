"""Save fitted models as arrays and JSON in one zip file; loading it runs no code.

The file holds ``model.json`` (format, version, columns, encoding, parameters and the fit, as plain
data), one ``.npy`` per array, and a digest of all of it. Only the classes listed in
`SAVED_CLASSES` can be loaded.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from eosparse import __version__
from eosparse.core import Result, Status
from eosparse.estimators import EOSDetector
from eosparse.fitting.judge import Judge
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
)
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
    TableView,
    margins,
)
from eosparse.rows.frame_cells import Cells as CellType
from eosparse.rows.whole_file import replace_when_complete
from eosparse.tables.cells import Cells, Encoding
from eosparse.tables.columns import Column, Role
from eosparse.tables.reading import TableError, TableFile

FORMAT = 2
SAVED_CLASSES: tuple[type, ...] = (
    Judge,
    Fit,
    Coordinates,
    Result,
    *(GaussianModel, Normal, SelfPull, ScaledF),
    *(ClusterModel, SubspaceModel, Plane, LinearModel, Line, NoPull, FittedGamma),
    *(MixtureModel, Mixture, MixtureLaw),
    *(NeighbourModel, Neighbours, Metric, UpperNormal),
    *(TableView, Margins, Margin, margins.Line, margins.Power, margins.Tails),
    *(LevelEffects, ColumnRanges),
    *(FrameReader, ColumnKind, Combinations, Combination, Promise, Group),
    *(Status, Kind, CellType),
)


def _name_class(cls: type) -> str:
    """Return the name of a class in a file: two are called Line."""
    return "MarginLine" if cls is margins.Line else cls.__name__


_CLASSES = {_name_class(cls): cls for cls in SAVED_CLASSES}
_PARAMETERS = (
    *("alpha", "efficiency", "perplexity", "fdr", "level", "weight_cut", "contamination"),
    "groups",
)
# What a detector says about its fit.
_STATEMENTS = ("rung_", "reason_", "promise_", "columns_", "groups_", "_reader")
# No model is larger; a file that claims to be could fill the memory (a zip bomb).
_MAX_BYTES = 2**33


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
        names = [str(name) for name in table.frame.columns]
        lacking = [c.name for c in self.columns if c.role.is_used and c.name not in names]
        if lacking:
            shown = ", ".join(repr(name) for name in lacking[:8])
            raise ModelError(f"{table.name} lacks columns that the model uses: {shown}.")
        known = {column.name: column for column in self.columns}
        unknown = Column("", Role.IGNORED, "not a column of the model")
        order = [*(name for name in known if name in names), *(n for n in names if n not in known)]
        n_missing = table.frame.isna().sum()
        return [
            dataclasses.replace(known.get(name, unknown), name=name, n_missing=int(n_missing[name]))
            for name in order
        ]


def save_model(detector: EOSDetector, columns: list[Column], cells: Cells, path: Path) -> None:
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
        "parameters": {name: getattr(detector, name) for name in _PARAMETERS},
        "judge": _encode(dataclasses.replace(detector._judge, dtype=None), arrays),
        "statements": {
            name: _encode(getattr(detector, name, None), arrays) for name in _STATEMENTS
        },
    }
    files = {f"{name}.npy": _to_npy(array) for name, array in arrays.items()}
    files["model.json"] = json.dumps(content).encode()
    files["digest"] = _digest(files).encode()
    with (
        replace_when_complete(path) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, data in files.items():
            archive.writestr(name, data)


def load_model(path: Path) -> SavedModel:
    """Load a model.

    Raises
    ------
    ModelError
        If the file is not a model, was modified or truncated, or has another format.
    """
    files = _read_files(path)
    try:
        content = json.loads(files["model.json"])
        if content["format"] != FORMAT:
            raise ModelError(
                f"{path} has format {content['format']}, but this version of eosparse reads format "
                f"{FORMAT}. Save the model again, or install eosparse {content['eosparse']}, which "
                "saved it."
            )
        arrays = {n[:-4]: np.load(io.BytesIO(d)) for n, d in files.items() if n.endswith(".npy")}
        judge = _decode(content["judge"], arrays)
        return SavedModel(
            _restore_detector(judge, content, arrays),
            [Column(c["name"], Role(c["role"]), c["why"]) for c in content["columns"]],
            Encoding(content["fills"], content["formats"]),
            content["eosparse"],
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{path} is not an eosparse model: {error}") from None


def _read_files(path: Path) -> dict[str, bytes]:
    if not path.is_file():
        raise ModelError(f"File not found: {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > _MAX_BYTES:
                raise ModelError(f"{path} is too large for an eosparse model.")
            files = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise ModelError(f"{path} is not an eosparse model, or is truncated: {error}") from None
    digest = files.pop("digest", b"").decode(errors="replace")
    if digest != _digest(files):
        raise ModelError(f"{path} was modified after it was saved. Save the model again.")
    return files


def _digest(files: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(len(name).to_bytes(8) + name.encode())
        digest.update(len(files[name]).to_bytes(8) + files[name])
    return digest.hexdigest()


def _to_npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


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
    return value.item() if isinstance(value, np.generic) else value


def _decode(data: Any, arrays: dict[str, Any]) -> Any:
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


def _restore_detector(judge: Judge, content: dict[str, Any], arrays: dict[str, Any]) -> EOSDetector:
    detector = EOSDetector(**content["parameters"])
    names = np.array(content["names"], dtype=object)
    detector.n_features_in_, detector.feature_names_in_ = len(names), names
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
    for name in _STATEMENTS:
        setattr(detector, name, _decode(content["statements"][name], arrays))
    return detector
