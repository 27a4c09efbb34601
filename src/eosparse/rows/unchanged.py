"""Whether files are still the same from pass to pass.

A fit reads its files many times, and mixes two tables if they change in between. Their sizes, times
and numbers are compared before and after each pass, and of what was read, the number of rows and a
checksum of every column. Checksums are sums of the stored bits, which no order of batches changes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

_Stamp = tuple[int, int, int, int]
_MODULUS = 2**64


class ChangedFileError(ValueError):
    """A file that changed while it was used."""


@dataclass
class Ledger:
    """What is known about some files: how they were, and what earlier passes read.

    Attributes
    ----------
    stamps : dict
        By file: its device, number, size and time of the last change; only files of this machine.
    sums : dict
        By column and type: the checksum of what a complete pass read.
    sizes : list of int
        The number of rows that a complete pass read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("a")
    >>> ledger = Ledger.of([str(path)])
    >>> _ = path.write_text("ab")
    >>> ledger.check_files()
    Traceback (most recent call last):
    ...
    eosparse.rows.unchanged.ChangedFileError: ...rows.csv changed while it was read. Start again...
    """

    stamps: dict[str, _Stamp] = field(default_factory=dict)
    sums: dict[tuple[str, str], int] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, files: list[str]) -> Ledger:
        """Note how files are now."""
        return cls({file: stamp for file in files if (stamp := _stamp(file)) is not None})

    def check_files(self) -> None:
        """Raise if a file is not as it was."""
        for file, stamp in self.stamps.items():
            if _stamp(file) != stamp:
                raise _complain(file)

    def fork(self) -> Ledger:
        """Return a ledger of the same files, read in another way: other cells are missing."""
        return Ledger(self.stamps, {}, self.sizes)

    def open_pass(self) -> PassTally:
        """Begin to read the files once more."""
        self.check_files()
        return PassTally(self)


@dataclass
class PassTally:
    """Rows and checksums of the columns that one pass has read so far."""

    ledger: Ledger
    sums: dict[tuple[str, str], int] = field(default_factory=dict)
    n_rows: int = 0

    def add(self, records: RecordBatch) -> None:
        """Count a batch."""
        self.n_rows += len(records)
        for name, column in zip(records.schema.names, records.columns, strict=True):
            key = (name, str(column.type))
            self.sums[key] = (self.sums.get(key, 0) + _sum_bits(column)) % _MODULUS

    def close(self) -> None:
        """Compare a complete pass with earlier ones."""
        self.ledger.check_files()
        sizes, sums = self.ledger.sizes, self.ledger.sums
        if not sizes:
            sizes.append(self.n_rows)
        if self.n_rows != sizes[0]:
            raise _complain("The number of rows")
        for key, found in self.sums.items():
            if sums.setdefault(key, found) != found:
                raise _complain(f"Column {key[0]!r} of the files")


def _complain(what: str) -> ChangedFileError:
    return ChangedFileError(f"{what} changed while it was read. Start again when it is complete.")


def _stamp(file: str) -> _Stamp | None:
    """Return what tells a version of a file; None if it is not a file of this machine."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _sum_bits(column: Array) -> int:
    """Return the sum of the stored numbers or bytes, and the number of gaps."""
    if hasattr(column, "indices"):  # a dictionary
        column = column.indices
    total = 7 * int(column.null_count)
    try:
        width = column.type.bit_width
    except ValueError:  # text, lists
        return total + _sum_bytes(column)
    if width not in (8, 16, 32, 64):
        return total + _sum_bytes(column)
    data = column.buffers()[-1]
    if data is None:
        return total
    stored = np.frombuffer(data, dtype=f"u{width // 8}")[column.offset :][: len(column)]
    if column.null_count:  # what is stored below a gap may be anything
        stored = stored[column.is_valid().to_numpy(zero_copy_only=False)]
    return total + int(stored.sum(dtype=np.uint64))


def _sum_bytes(column: Array) -> int:
    """Return the sum of the bytes of text and their number; 0 for other types."""
    import pyarrow.types as types

    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return 0
    offsets_type = "u4" if types.is_string(column.type) else "u8"
    _, offsets, data = column.buffers()
    if data is None:
        return 0
    ends = np.frombuffer(offsets, dtype=offsets_type)[column.offset :][: len(column) + 1]
    text = np.frombuffer(data, dtype=np.uint8)[int(ends[0]) : int(ends[-1])]
    return int(text.sum(dtype=np.uint64)) + 257 * len(text)
