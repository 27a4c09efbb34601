"""Compressed text: recognised by its first bytes, since names and standard input do not tell."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from eosparse.rows.formats import COMPRESSIONS, TableError
from eosparse.rows.limits import BoundedStream

_MAGIC = {
    "gzip": b"\x1f\x8b",
    "bz2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstd": b"\x28\xb5\x2f\xfd",
}
_OPENERS: dict[str, Any] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
# Bytes that are decompressed at a time.
_BLOCK_BYTES = 2**20
_BROKEN = (EOFError, OSError, lzma.LZMAError, zlib.error)


def find_compression(first_bytes: bytes) -> str | None:
    """Return how bytes are compressed: "gzip", "bz2", "xz" or "zstd"; None if they are not.

    Examples
    --------
    >>> find_compression(gzip.compress(b"a,b")), find_compression(b"a,b")
    ('gzip', None)
    """
    found = (name for name, magic in _MAGIC.items() if first_bytes.startswith(magic))
    return next(found, None)


def find_compression_of(source: Path | bytes) -> str | None:
    """Return how a file is compressed, or bytes that were read from standard input."""
    if isinstance(source, bytes):
        return find_compression(source[:8])
    with source.open("rb") as file:
        return find_compression(file.read(8))


def compression_of_name(path: str | Path) -> str | None:
    """Return the compression that the last extension of a name stands for.

    Examples
    --------
    >>> compression_of_name("people.csv.zst"), compression_of_name("people.csv")
    ('zstd', None)
    """
    return COMPRESSIONS.get(Path(path).suffix.lower())


@contextmanager
def open_decompressed(
    source: Path | bytes, compression: str | None, name: str
) -> Iterator[BinaryIO]:
    """Open a file, or bytes, for reading; damaged data, and too many, are a `TableError`."""
    with open_unbounded(source, compression, name) as stream:
        if compression is None:
            yield stream
        else:
            yield io.BufferedReader(BoundedStream(stream, name), _BLOCK_BYTES)


@contextmanager
def open_unbounded(source: Path | bytes, compression: str | None, name: str) -> Iterator[BinaryIO]:
    """Open a file, or bytes, for reading a block at a time; damaged data are a `TableError`."""
    raw: BinaryIO = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with raw:
        if compression is None:
            yield raw
            return
        try:
            with _decompress(raw, compression) as stream:
                yield stream
        except _BROKEN as error:
            raise TableError(f"{name} cannot be decompressed: {error}") from None


class _Unpacked(io.RawIOBase):
    """What a compressed file holds; damaged data are an `OSError`, as in pyarrow."""

    def __init__(self, stream: Any, raw: BinaryIO) -> None:
        self._stream, self._raw = stream, raw

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read some bytes."""
        view = memoryview(buffer).cast("B")
        try:
            content = self._stream.read(len(view))
        except _BROKEN as error:
            raise OSError(f"it cannot be decompressed: {error}") from None
        view[: len(content)] = content
        return len(content)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._raw.close()
        super().close()


def open_stream(path: Path) -> BinaryIO:
    """Open a compressed file for a reader that closes it."""
    compression, raw = find_compression_of(path), path.open("rb")
    if compression is None:
        return raw
    return io.BufferedReader(_Unpacked(_decompress(raw, compression), raw), _BLOCK_BYTES)


def check_unpacked(source: Path | bytes, name: str) -> None:
    """Raise if a compressed file unpacks to too much, before its lines are looked at one by one."""
    compression = find_compression_of(source)
    if compression is None:
        return
    with open_decompressed(source, compression, name) as stream:
        while stream.read(_BLOCK_BYTES):
            pass


def _decompress(raw: BinaryIO, compression: str) -> Any:
    if compression in _OPENERS:
        return _OPENERS[compression](raw)
    # pyarrow's streams have no lines of their own.
    return io.BufferedReader(_import_pyarrow().CompressedInputStream(raw, compression))


@contextmanager
def open_compressed(path: Path, compression: str | None) -> Iterator[BinaryIO]:
    """Open a file for writing; what is written to it is compressed."""
    with path.open("wb") as raw:
        if compression is None:
            yield raw
        elif compression == "gzip":  # without name and time: the same rows give the same file
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as stream:
                yield stream  # type: ignore[misc]  # a GzipFile is a binary file
        elif compression in _OPENERS:
            with _OPENERS[compression](raw, "wb") as stream:
                yield stream
        else:
            with _import_pyarrow().CompressedOutputStream(raw, compression) as stream:
                yield stream


def _import_pyarrow() -> Any:
    """Import pyarrow, which reads and writes zstd on every Python."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("zstd files need pyarrow: pip install 'eosparse[files]'.") from error
    return pyarrow
