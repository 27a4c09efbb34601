"""Damage tables of every format: each is read, copied and read again, or refused in a sentence.

``fuzz_files(seed=0, seconds=60)`` returns how often each format had each outcome, and a line for
every broken promise: an error that the command would call a mistake of its own, a copy that differs
from what was read, or no answer in time.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.fuzz.__main__ import limit_time
from eosparse.cli.faults import UNFORESEEN, describe_fault
from eosparse.tables import read_table, recognise_columns, take_cells
from eosparse.tables.streaming import StreamedTable
from eosparse.tables.survey import survey_table
from eosparse.tables.writing import Copy, write_copy

_ROWS = 60
# A table of sixty rows is read in milliseconds.
_MOST_SECONDS = 30
# What people, programs and attackers put into files.
_TOKENS = (
    *(b'"', b"'", b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\0", b"\x1b[31m", b"\xff\xfe"),
    *(b"\xef\xbb\xbf", b"\x80", b"NA", b"nan", b"inf", b"-", b"1e400", b"1e-400", b"0x10", b"#"),
    *(b"=cmd|' /C calc'!A0", b"12 %", b"$5", b"1.234,5", b"1,234.5", b"2024-02-31", b"00123"),
    *(b"9007199254740993", b"\xe2\x80\xae", b"[/b]", b"{", b"}", b"[[[[", b"null", b"true"),
    *(b"," * 300, b"x" * 5000, b'"' * 99, b"\n" * 50, b"eos_weight", b"&#88;", b"<!ENTITY a 'b'>"),
)


@dataclass
class Outcomes:
    """How often each format had each outcome, and what was broken."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def make_table(rng: np.random.Generator) -> pd.DataFrame:
    """Return a small table with numbers, text, dates, codes and gaps."""
    frame = pd.DataFrame(
        {
            "id": [f"0{i}" for i in range(_ROWS)],
            "height": rng.normal(170, 9, _ROWS).round(1),
            "sex": rng.choice(["f", "m"], _ROWS),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, _ROWS), "D"),
            "price": [f"${price:.2f}" for price in rng.normal(9, 1, _ROWS)],
            "note": rng.choice(['a "quote"', "two, words", "", "übrig"], _ROWS),
            "count": rng.integers(0, 9, _ROWS),
        }
    )
    frame.loc[rng.random(_ROWS) < 0.05, "height"] = np.nan
    return frame


def _write_text(frame: pd.DataFrame, **options: str) -> bytes:
    return frame.to_csv(index=False, **options).encode()  # type: ignore[call-overload]


def _write_binary(write: Callable[[io.BytesIO], None]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def make_files(frame: pd.DataFrame) -> dict[str, bytes]:
    """Return the table in every format, by extension."""
    text = _write_text(frame)
    lines = frame.to_json(orient="records", lines=True, date_format="iso").encode()
    return {
        "csv": text,
        "tsv": _write_text(frame, sep="\t"),
        "txt": _write_text(frame, sep=";", decimal=","),
        "csv.gz": gzip.compress(text),
        "csv.bz2": bz2.compress(text),
        "csv.xz": lzma.compress(text),
        "csv.zst": pa.compress(text, "zstd", asbytes=True),
        "jsonl": lines,
        "jsonl.xz": lzma.compress(lines),
        "parquet": _write_binary(lambda file: frame.to_parquet(file)),
        "feather": _write_binary(lambda file: frame.to_feather(file)),
        "xlsx": _write_binary(lambda file: frame.to_excel(file, index=False)),
    }


# Attacks: from the bytes of a file to others.


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip one to eight bits anywhere."""
    damaged = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        damaged[place] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def insert_tokens(data: bytes, rng: np.random.Generator) -> bytes:
    """Insert one to four tokens, or put them in the place of some bytes."""
    for _ in range(rng.integers(1, 5)):
        place, token = int(rng.integers(len(data) + 1)), _TOKENS[rng.integers(len(_TOKENS))]
        skipped = int(rng.integers(0, 12)) if rng.random() < 0.5 else 0
        data = data[:place] + token + data[place + skipped :]
    return data


def cut_off(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut the file off, leave a part out, or repeat one."""
    low, high = sorted(rng.integers(0, len(data) + 1, 2).tolist())
    cases = (data[:low], data[:low] + data[high:], data[:high] + data[low:])
    return cases[rng.integers(len(cases))]


def overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    """Put random bytes, or zeros, in the place of some."""
    start, size = int(rng.integers(len(data))), int(rng.integers(1, 200))
    new = bytes(size) if rng.random() < 0.3 else rng.bytes(size)
    return (data[:start] + new + data[start + size :])[: len(data)]


def replace_cells(data: bytes, rng: np.random.Generator) -> bytes:
    """Put tokens in the place of one to five cells, between the marks that separate cells."""
    mark = max((b",", b";", b"\t", b">"), key=data.count)
    cells = data.split(mark)
    for place in rng.integers(len(cells), size=rng.integers(1, 6)):
        cells[place] = _TOKENS[rng.integers(len(_TOKENS))]
    return mark.join(cells)


ATTACKS = (flip_bits, insert_tokens, cut_off, overwrite, replace_cells)


def attack_inside(
    attack: Callable[[bytes, np.random.Generator], bytes],
    data: bytes,
    ending: str,
    rng: np.random.Generator,
) -> bytes:
    """Attack what a compressed file or a workbook holds, so that its checksums are right."""
    if ending in _PACKERS:
        pack, unpack = _PACKERS[ending]
        return pack(attack(unpack(data), rng))
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        chosen = rng.choice([n for n in old.namelist() if "sheet" in n or "Strings" in n])
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, attack(content, rng) if name == chosen else content)
    return file.getvalue()


_PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "csv.gz": (gzip.compress, gzip.decompress),
    "csv.bz2": (bz2.compress, bz2.decompress),
    "csv.xz": (lzma.compress, lzma.decompress),
    "jsonl.xz": (lzma.compress, lzma.decompress),
    "csv.zst": (
        lambda data: pa.compress(data, "zstd", asbytes=True),
        lambda data: pa.CompressedInputStream(io.BytesIO(data), "zstd").read(),
    ),
}
_STREAMED = (
    *("csv", "tsv", "csv.gz", "csv.bz2", "csv.xz", "csv.zst"),
    *("jsonl", "jsonl.xz", "parquet", "feather"),
)


def read_and_copy(path: Path, copy: Path) -> str:
    """Read a file, write a copy in the same format, and read that; return what differs."""
    table = read_table(path)
    columns = recognise_columns(table.frame)
    if any(column.role.is_used for column in columns):
        _try(lambda: take_cells(table.frame, columns, missing="keep"))
    write_copy(Copy(table), copy, force=True)
    again = read_table(copy)
    if table.frame.shape != again.frame.shape:
        return f"a copy has {again.frame.shape} cells, and the file {table.frame.shape}"
    assert table.original is not None
    assert again.original is not None
    cells = zip(table.original.read_cells(), again.original.read_cells(), strict=True)
    for number, (one, other) in enumerate(cells):
        if list(one) != list(other):
            return f"row {number} of a copy differs: {list(other)!r} from {list(one)!r}"
    return ""


def stream(path: Path, _: Path) -> str:
    """Look through a file as one that does not fit into memory; return what differs from memory."""
    survey = survey_table(str(path))
    StreamedTable.prepare(survey, recognise_columns(survey.sample), "keep")
    try:
        whole = read_table(path).frame
    except ValueError:  # only in memory each line is checked
        return ""
    shape = (survey.n_rows, len(survey.table.names))
    return "" if shape == whole.shape else f"{shape} cells are streamed, and {whole.shape} read"


def _try(read: Callable[[], object]) -> None:
    """Run what may refuse a table, but must not fail otherwise."""
    try:
        read()
    except Exception as error:  # whatever reaches a user
        if describe_fault(error)[1] == UNFORESEEN:
            raise


def attack_once(
    ending: str, data: bytes, number: int, seed: int, folder: Path
) -> tuple[str, str, str]:
    """Attack a file once; return what was done, the outcome, and what was broken."""
    rng = np.random.default_rng([seed, number])
    attack = ATTACKS[number % len(ATTACKS)]
    path, copy = folder / f"attacked.{ending}", folder / f"copy.{ending}"
    is_inside = (ending in _PACKERS or ending == "xlsx") and rng.random() < 0.7
    path.write_bytes(attack_inside(attack, data, ending, rng) if is_inside else attack(data, rng))
    use = stream if ending in _STREAMED and rng.random() < 0.3 else read_and_copy
    what = f"{ending}, {use.__name__}"
    try:
        with limit_time(_MOST_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            difference = use(path, copy)
    except TimeoutError as error:
        return what, "hang", str(error)
    except Exception as error:  # whatever reaches a user
        said, code = describe_fault(error)
        return what, *(("traceback", said) if code == UNFORESEEN else ("refused", ""))
    return what, "silent" if difference else "read", difference


def fuzz_files(seed: int, seconds: float, most_cases: int | None = None) -> Outcomes:
    """Attack tables of every format for some seconds, or a number of cases.

    Examples
    --------
    >>> fuzz_files(seed=0, seconds=60, most_cases=20).broken
    []
    """
    outcomes, begun, number = Outcomes(), time.monotonic(), 0
    files = list(make_files(make_table(np.random.default_rng(seed))).items())
    with tempfile.TemporaryDirectory() as name:
        while time.monotonic() - begun < seconds and number != most_cases:
            ending, data = files[(number // len(ATTACKS)) % len(files)]
            what, outcome, reason = attack_once(ending, data, number, seed, Path(name))
            outcomes.counts[what, outcome] += 1
            if reason:
                outcomes.broken.append(f"seed {seed}, case {number}, {what}, {outcome}: {reason}")
            number += 1
    return outcomes
