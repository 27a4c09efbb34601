"""Damage and forge saved models and checkpoints: each is refused in a sentence, or does no harm.

``fuzz_models(seed=0, seconds=60)`` returns how often each attack had each outcome, and a line for
every broken promise. A file that still loads after a flipped bit holds the same numbers: the bit
belonged to a date or a mode of the archive. A forged file, whose digest is right, may hold other
numbers, but only such that fit together.
"""

from __future__ import annotations

import contextlib
import copy
import json
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.fuzz.files import Outcomes
from eosparse import EOSDetector
from eosparse.rows.sealed_file import find_digest, from_npy, to_npy
from eosparse.tables import recognise_columns, take_cells
from eosparse.tables.detection import score_new_rows, summarise_detection, summarise_scoring
from eosparse.tables.models import load_model, save_model
from eosparse.tables.reading import TableFile

_ROWS = 120
# What a forged field holds instead.
_JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 10**30, -(10**400), 1e308, -1e-308, float("nan"), float("inf")),
    *("", "x", "auto", "\x1b[31m", "é" * 50, [], [[]], {}, {"class": "Normal", "fields": {}}),
    *({"array": "array0"}, {"array": "nothing"}, {"keys": [], "values": []}, [1.0, 2.0], [None]),
    *({"enum": "Kind", "value": "heap"}, {"enum": "Normal", "value": 1}, {"class": "Judge"}),
)


class _Stopped(Exception):
    """A fit was interrupted after a checkpoint was written."""


def make_tables(rng: np.random.Generator) -> dict[str, tuple[pd.DataFrame, dict[str, Any]]]:
    """Return small tables, with the options of a detector, one for each kind of model."""
    sex = rng.choice(["f", "m"], _ROWS)
    plain = pd.DataFrame({"a": rng.normal(size=_ROWS), "b": rng.normal(size=_ROWS)})
    mixed = plain.assign(sex=sex, size=rng.normal(np.where(sex == "f", 165, 180), 7))
    mixed["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        rng.normal(0, 9, _ROWS).round(), "D"
    )
    gaps = mixed.mask(rng.random(mixed.shape) < 0.03)
    groups = plain.assign(a=plain["a"] + 20 * (np.arange(_ROWS) % 2))
    levels = plain.assign(k=rng.integers(0, 4, _ROWS), m=rng.integers(0, 3, _ROWS))
    wide = pd.DataFrame(rng.normal(size=(20, 30)), columns=[f"c{i}" for i in range(30)])
    return {
        "gaussian": (mixed, {}),
        "gaps": (gaps, {}),
        "margins": (np.exp(plain), {"model": "margins"}),
        "groups": (groups, {"model": "groups"}),
        "local": (levels, {"model": "local"}),
        "clusters": (plain, {"model": "clusters"}),
        "subspace": (plain.assign(c=plain["a"]), {"model": "subspace"}),
        "regression": (plain, {"model": "regression"}),
        "wide": (wide, {}),
    }


@dataclass(frozen=True)
class Target:
    """A file to attack: its name, its bytes, and how it is used."""

    name: str
    data: bytes
    use: Callable[[Path], Any]


def make_targets(seed: int, folder: Path) -> list[Target]:
    """Save a model of each kind, and checkpoints of interrupted fits."""
    rng, targets = np.random.default_rng(seed), []
    for name, (frame, options) in make_tables(rng).items():
        columns = recognise_columns(frame)
        cells, path = take_cells(frame, columns, missing="keep"), folder / f"{name}.eos"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            detector = EOSDetector(**options).fit(cells.frame)
        save_model(detector, columns, cells, path)
        targets.append(Target(name, path.read_bytes(), lambda p, f=frame: _score(p, f)))
    for model in ("gaussian", "mixture", "clusters", "subspace"):
        X = rng.standard_t(2, size=(_ROWS, 3))
        path = folder / f"{model}.checkpoint"
        with contextlib.suppress(_Stopped), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _make_detector(model, path, callback=_stop).fit(X)
        if path.exists():
            name = f"{model} checkpoint"
            targets.append(
                Target(name, path.read_bytes(), lambda p, m=model, X=X: _resume(p, m, X))
            )
    return targets


def _stop(iteration: Any) -> bool:
    if iteration.number > 1:
        raise _Stopped
    return False


def _score(path: Path, frame: pd.DataFrame) -> Any:
    """Score a table as the command does; return the p-values."""
    saved, source = load_model(path), TableFile(frame, "table")
    columns = saved.match_columns(source)
    cells = take_cells(frame, columns, missing="keep", encoding=saved.encoding)
    scored = score_new_rows(source, columns, cells, saved.detector)
    summarise_scoring(summarise_detection(scored), saved.detector, None)
    return scored.p_values


def _resume(path: Path, model: str, X: Any) -> Any:
    return _make_detector(model, path).fit(X).p_values_


def _make_detector(model: str, path: Path, **options: Any) -> EOSDetector:
    return EOSDetector(model=model, alpha=2.0, start="uniform", checkpoint=path, **options)


# Attacks: from the bytes of a file to others.


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip one to eight bits anywhere."""
    damaged = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        damaged[place] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    """Put random bytes, or zeros, in the place of some."""
    start, size = int(rng.integers(len(data))), int(rng.integers(1, 200))
    new = bytes(size) if rng.random() < 0.3 else rng.bytes(size)
    return (data[:start] + new + data[start + size :])[: len(data)]


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut the file off, or repeat a part of it."""
    cut = int(rng.integers(len(data)))
    return data[:cut] if rng.random() < 0.7 else data[:cut] + data[cut // 2 :]


def forge(data: bytes, rng: np.random.Generator) -> bytes:
    """Change one to three numbers, fields or arrays, and the digest along."""
    parts = _unpack(data)
    for _ in range(rng.integers(1, 4)):
        names = [name for name in parts if name != "problem"]
        name = "model.json" if "model.json" in parts and rng.random() < 0.5 else rng.choice(names)
        if name == "model.json":
            parts[name] = _forge_json(parts[name], rng)
        else:
            _forge_array(parts, str(name), rng)
    return _pack(parts)


ATTACKS = (flip_bits, overwrite, truncate, forge)


def _unpack(data: bytes) -> dict[str, bytes]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        with zipfile.ZipFile(file) as archive:
            return {name: archive.read(name) for name in archive.namelist() if name != "digest"}


def _pack(parts: dict[str, bytes]) -> bytes:
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in parts.items():
                archive.writestr(name, data)
            archive.writestr("digest", find_digest(parts))
        file.seek(0)
        return file.read()


def _forge_json(data: bytes, rng: np.random.Generator) -> bytes:
    try:
        content = json.loads(data)
    except ValueError:  # forged before
        return data
    places = list(_find_places(content))
    if not places:
        return data
    holder, key = places[rng.integers(len(places))]
    action = rng.random()
    if action < 0.15:
        del holder[key]
    elif action < 0.3:
        other, there = places[rng.integers(len(places))]
        with contextlib.suppress(KeyError, IndexError):
            holder[key] = copy.deepcopy(other[there])
    elif isinstance(holder[key], float) and action < 0.7:
        holder[key] *= float(rng.choice([-1.0, 0.0, 1e-30, 1e30, 3.0]))
    else:
        holder[key] = _JUNK[rng.integers(len(_JUNK))]
    return json.dumps(content).encode()


def _find_places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of nested lists and objects."""
    items: Any = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield content, key
        if isinstance(value, (dict, list)):
            yield from _find_places(value)


def _forge_array(parts: dict[str, bytes], name: str, rng: np.random.Generator) -> None:
    action = rng.integers(7)
    try:
        array = from_npy(parts[name])
    except ValueError:
        return
    if action == 0:
        del parts[name]
        return
    if action == 1:
        parts[f"{name}.more"] = parts[name]
        return
    if action == 2 and array.size:
        array = np.delete(array, 0, axis=0) if array.ndim else np.array([array, array])
    elif action == 3:
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(np.array(["f4", "i8", "b", "U4"])))
    elif action == 4:
        array = array[None] if rng.random() < 0.5 else array.ravel()
    elif array.size:
        junk = rng.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e300, 1e-300, 7.0])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array.flat[rng.integers(array.size)] = (
                junk if array.dtype.kind == "f" else rng.choice([0, 1, 99])
            )
    parts[name] = to_npy(array)


def attack_once(target: Target, number: int, seed: int, path: Path) -> tuple[str, str, str]:
    """Attack a file once; return the attack, the outcome, and what was broken."""
    rng = np.random.default_rng([seed, number])
    attack = ATTACKS[number % len(ATTACKS)]
    path.write_bytes(attack(target.data, rng))
    what = f"{attack.__name__} {target.name}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p_values = np.asarray(target.use(path))
    except ValueError as error:
        said = str(error)
        is_sentence = "\n" not in said.strip() and len(said) < 500
        return what, "refused", "" if is_sentence else f"a long message: {said[:200]!r}"
    except Exception as error:  # whatever reaches a user
        return what, "error", f"{type(error).__name__}: {error}"
    if not ((p_values >= 0) & (p_values <= 1)).all():
        return what, "wrong", "a p-value is no number between 0 and 1"
    return what, "loaded", ""


def fuzz_models(seed: int, seconds: float, most_cases: int | None = None) -> Outcomes:
    """Attack models and checkpoints for some seconds, or a number of cases.

    Examples
    --------
    >>> fuzz_models(seed=0, seconds=60, most_cases=20).broken
    []
    """
    outcomes, begun, number = Outcomes(), time.monotonic(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        targets = make_targets(seed, folder)
        whole = {target.name: _use_whole(target, folder) for target in targets}
        while time.monotonic() - begun < seconds and number != most_cases:
            target = targets[(number // len(ATTACKS)) % len(targets)]
            path = folder / "attacked"
            what, outcome, reason = attack_once(target, number, seed, path)
            if outcome == "loaded" and not what.startswith("forge"):
                outcome = "same"
                if not np.array_equal(np.asarray(target.use(path)), whole[target.name]):
                    outcome, reason = "wrong", "the file was damaged, and gave another answer"
            outcomes.counts[what, outcome] += 1
            if reason:
                outcomes.broken.append(f"seed {seed}, case {number}, {what}: {reason}")
            number += 1
    return outcomes


def _use_whole(target: Target, folder: Path) -> Any:
    path = folder / "whole"
    path.write_bytes(target.data)
    return np.asarray(target.use(path))
