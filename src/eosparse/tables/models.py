"""Models on disk: arrays and JSON in one zip file, which runs no code when it is loaded.

The file holds ``model.json`` (format, version, columns, encoding, parameters and the fit, as plain
data), one ``.npy`` per array, and a digest of all of it. Only the classes named here can come out.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import eosparse
from eosparse.core import Result, Status
from eosparse.estimators import EOSDetector
from eosparse.fitting.judge import Judge
from eosparse.inference import FittedGamma, ScaledF, SelfPull
from eosparse.models import Fit, GaussianModel, Normal
from eosparse.rows import Coordinates
from eosparse.tables.columns import Column, Role
from eosparse.tables.numbers import Encoding, Numbers
from eosparse.tables.reading import TableError

FORMAT = 1
_CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        Judge,
        Fit,
        Coordinates,
        GaussianModel,
        Result,
        Normal,
        ScaledF,
        FittedGamma,
        SelfPull,
    )
}
_PARAMETERS = ("alpha", "efficiency", "perplexity", "fdr", "level", "weight_cut", "contamination")
# No array of a model needs more than this; a file that claims so is not one.
_MOST_BYTES = 2**33


class ModelError(TableError):
    """A file that is no model, was changed, or does not fit the table."""


@dataclass(frozen=True)
class SavedModel:
    """A detector with what is needed to apply it to another table.

    Attributes
    ----------
    detector : EOSDetector
        Judges new rows; it does not know the rows it was made of.
    columns : list of Column
        What the columns of its table were taken for.
    encoding : Encoding
        How they became numbers.
    version : str
        Of eosparse that made it.
    """

    detector: EOSDetector
    columns: list[Column]
    encoding: Encoding
    version: str


def save(detector: EOSDetector, columns: list[Column], numbers: Numbers, path: Path) -> None:
    """Write a model with a Gaussian; the file appears when it is complete."""
    arrays: dict[str, Any] = {}
    content = {
        "format": FORMAT,
        "eosparse": eosparse.__version__,
        "names": list(numbers.names),
        "columns": [{"name": c.name, "role": str(c.role), "why": c.why} for c in columns],
        "offsets": numbers.encoding.offsets,
        "fills": numbers.encoding.fills,
        "parameters": {name: getattr(detector, name) for name in _PARAMETERS},
        "judge": _encoded(replace(detector._judge, dtype=None), arrays),
    }
    files = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    files["model.json"] = json.dumps(content).encode()
    files["digest"] = _digest(files).encode()
    part = path.with_name(f".{path.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load(path: Path) -> SavedModel:
    """Read a model.

    Raises
    ------
    ModelError
        If the file is no model, was changed or cut off, or was made by a later version.
    """
    files = _files(path)
    try:
        content = json.loads(files["model.json"])
        if content["format"] != FORMAT:
            raise ModelError(
                f"{path} has format {content['format']}, this version of eosparse reads "
                f"{FORMAT}: it was made by eosparse {content['eosparse']}. Make it again, or "
                "install that version."
            )
        arrays = {n[:-4]: np.load(io.BytesIO(d)) for n, d in files.items() if n.endswith(".npy")}
        judge = _decoded(content["judge"], arrays)
        return SavedModel(
            _detector(judge, content),
            [Column(c["name"], Role(c["role"]), c["why"]) for c in content["columns"]],
            Encoding(content["offsets"], content["fills"]),
            content["eosparse"],
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{path} is not a model of eosparse: {error}") from None


def _files(path: Path) -> dict[str, bytes]:
    if not path.is_file():
        raise ModelError(f"there is no file {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > _MOST_BYTES:
                raise ModelError(f"{path} claims to be larger than any model.")
            files = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise ModelError(f"{path} is not a model of eosparse, or was cut off: {error}") from None
    digest = files.pop("digest", b"").decode(errors="replace")
    if digest != _digest(files):
        raise ModelError(f"{path} was changed after it was written. Make the model again.")
    return files


def _digest(files: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(len(name).to_bytes(8) + name.encode())
        digest.update(len(files[name]).to_bytes(8) + files[name])
    return digest.hexdigest()


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _encoded(value: Any, arrays: dict[str, Any]) -> Any:
    """Return plain data; arrays are put aside under names."""
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Status):
        return {"status": str(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _encoded(getattr(value, field.name), arrays)
            for field in dataclasses.fields(value)
        }
        return {"class": type(value).__name__, "fields": fields}
    if isinstance(value, (list, tuple)):
        return [_encoded(item, arrays) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _decoded(data: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(data, list):
        return tuple(_decoded(item, arrays) for item in data)
    if not isinstance(data, dict):
        return data
    if "array" in data:
        return arrays[data["array"]]
    if "status" in data:
        return Status(data["status"])
    if data.get("class") not in _CLASSES:
        raise ModelError(f"a model has no {data.get('class')!r}.")
    fields = {name: _decoded(item, arrays) for name, item in data["fields"].items()}
    return _CLASSES[data["class"]](**fields)


def _detector(judge: Judge, content: dict[str, Any]) -> EOSDetector:
    detector = EOSDetector(**content["parameters"])
    names = np.array(content["names"], dtype=object)
    detector.n_features_in_, detector.feature_names_in_ = len(names), names
    judge = replace(judge, dtype=np.dtype(np.float64))
    fit = judge.fit
    detector._judge, detector._training, detector._dtype = judge, None, judge.dtype
    detector.model_, detector.theta_ = fit.model, fit.result.theta
    detector.alpha_, detector.n_iter_ = fit.result.alpha, fit.result.n_iter
    detector.objective_ = fit.result.objective
    detector.objective_history_ = np.array(fit.result.objective_history)
    detector.effective_sample_size_ = fit.result.effective_size
    detector.status_ = fit.result.status
    detector.offset_ = -judge.cut
    return detector
