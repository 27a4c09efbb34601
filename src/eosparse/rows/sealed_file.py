"""Files of named parts under a digest: what was damaged, or unpacks to too much, is refused.

Models and checkpoints are such files. The digest detects damage; it does not prove who wrote the
file, so that readers still check what the parts say.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from eosparse.rows.whole_file import replace_when_complete

MOST_BYTES = 2**30
"""A file that unpacks to more must be as large itself: a covariance of 11,000 columns."""
_DIGEST = "digest"
# Arrays of these kinds are numbers; larger ones than eight bytes differ between machines.
_NUMBERS, _MOST_ITEM_BYTES = "fiub", 8
_SIGNATURE = b"PK\x03\x04"


class SealError(ValueError):
    """A file that is no archive of ours, or was damaged; the message ends a sentence on it."""


def write_sealed(path: Path, parts: dict[str, bytes], *, compress: bool) -> None:
    """Write parts and their digest; the file is written completely or not at all.

    More than `MOST_BYTES` are never compressed, so that `read_sealed` can tell them from a bomb.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers"
    >>> write_sealed(path, {"a": to_npy(np.arange(3))}, compress=True)
    >>> from_npy(read_sealed(path)["a"])
    array([0, 1, 2])
    """
    is_small = sum(map(len, parts.values())) < MOST_BYTES // 2
    method = zipfile.ZIP_DEFLATED if compress and is_small else zipfile.ZIP_STORED
    with (
        replace_when_complete(path) as partial,
        zipfile.ZipFile(partial, "w", method) as archive,
    ):
        for name, data in parts.items():
            archive.writestr(name, data)
        archive.writestr(_DIGEST, find_digest(parts))


def read_sealed(path: Path) -> dict[str, bytes]:
    """Return the parts of a file.

    Raises
    ------
    SealError
        If the file was damaged or modified, or unpacks to more than `MOST_BYTES` and its own size.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_SIGNATURE)) != _SIGNATURE:
                raise SealError("does not start like one")
        with zipfile.ZipFile(path) as archive:
            parts = _read_parts(archive, max(MOST_BYTES, path.stat().st_size))
    except SealError:
        raise
    except OSError as error:
        raise SealError(f"cannot be read: {error.strerror or error}") from None
    except Exception as error:  # damage shows as any error of zipfile, zlib and struct
        raise SealError(f"is truncated or damaged: {error!s:.80}") from None
    if parts.pop(_DIGEST, b"") != find_digest(parts).encode():
        raise SealError("was modified after it was saved")
    return parts


def _read_parts(archive: zipfile.ZipFile, most: int) -> dict[str, bytes]:
    infos = archive.infolist()
    size = sum(info.file_size for info in infos)  # no part yields more than it says here
    if size > most:
        raise SealError(f"would unpack to {size:,} bytes, more than the {most:,} allowed")
    if len({info.filename for info in infos}) < len(infos):
        raise SealError("holds a part twice")
    return {info.filename: archive.read(info) for info in infos}


def find_digest(parts: dict[str, bytes]) -> str:
    """Return the digest of names and contents, whatever their order.

    Examples
    --------
    >>> find_digest({"a": b"1", "b": b"2"}) == find_digest({"b": b"2", "a": b"1"})
    True
    """
    digest = hashlib.sha256()
    for name in sorted(parts):
        encoded = name.encode(errors="surrogateescape")
        digest.update(len(encoded).to_bytes(8) + encoded)
        digest.update(len(parts[name]).to_bytes(8) + parts[name])
    return digest.hexdigest()


def to_npy(array: NDArray[Any]) -> bytes:
    """Return an array of numbers as bytes in NumPy's format.

    Examples
    --------
    >>> from_npy(to_npy(np.eye(2)))
    array([[1., 0.],
           [0., 1.]])
    """
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def from_npy(data: bytes) -> NDArray[Any]:
    """Return the array of numbers that bytes hold; they must be as many as its shape says.

    Raises
    ------
    SealError
        If they are none, or hold anything but numbers.

    Examples
    --------
    >>> from_npy(to_npy(np.array(["text"])))
    Traceback (most recent call last):
    eosparse.rows.sealed_file.SealError: holds an array of <U4, which is not of numbers
    """
    stream = io.BytesIO(data)
    try:
        npy.read_magic(stream)
        shape, is_fortran, dtype = npy.read_array_header_1_0(stream)
    except Exception as error:  # a header is parsed as Python literals
        raise SealError(f"holds an array with a damaged header: {error!s:.80}") from None
    if dtype.kind not in _NUMBERS or dtype.itemsize > _MOST_ITEM_BYTES:
        raise SealError(f"holds an array of {dtype}, which is not of numbers")
    start = stream.tell()
    if min(shape, default=1) < 0 or prod(shape) * dtype.itemsize != len(data) - start:
        raise SealError(f"holds an array of shape {shape} in {len(data) - start} bytes")
    flat = np.frombuffer(data, dtype, offset=start) if prod(shape) else np.empty(0, dtype)
    # A copy in the byte order of this machine, which can be written to.
    native = flat.astype(dtype.newbyteorder("="), copy=True)
    return native.reshape(shape, order="F" if is_fortran else "C")
