"""Sealed files: what was written comes back, and anything else is refused."""

import contextlib
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from eosparse.rows.sealed_file import (
    SealError,
    find_digest,
    from_npy,
    read_sealed,
    to_npy,
    write_sealed,
)

PARTS = {"a.npy": to_npy(np.arange(3.0)), "text": b"words"}


@pytest.fixture(params=[True, False], ids=["compressed", "stored"])
def path(request, tmp_path):
    write_sealed(tmp_path / "file", PARTS, compress=request.param)
    return tmp_path / "file"


def write(path, parts, *, digest=True, twice=()):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
        if digest:
            archive.writestr("digest", find_digest(parts))
        for name in twice:
            archive.writestr(name, b"again")


def test_parts_come_back(path):
    assert read_sealed(path) == PARTS


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b""), "does not start like one"),
        (lambda path: path.write_bytes(path.read_bytes()[:-40]), "truncated or damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:10]), "truncated or damaged"),
        (lambda path: path.write_bytes(b"\x80\x04pickle"), "does not start like one"),
        (lambda path: write(path, PARTS, digest=False), "was modified"),
        (lambda path: write(path, {**PARTS, "more": b""}, digest=False), "was modified"),
        pytest.param(
            lambda path: write(path, PARTS, twice=["text"]),
            "holds a part twice",
            marks=pytest.mark.filterwarnings("ignore:Duplicate name"),
        ),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read"),
    ],
)
def test_other_files_are_refused(path, spoil, message):
    spoil(path)
    with pytest.raises(SealError, match=message):
        read_sealed(path)


@settings(max_examples=60)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_flipped_bit_changes_what_is_read(tmp_path_factory, place, bit):
    path = tmp_path_factory.mktemp("sealed") / "file"
    write_sealed(path, PARTS, compress=True)
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    path.write_bytes(data)
    with contextlib.suppress(SealError):
        assert read_sealed(path) == PARTS  # a date or a mode


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path, size = tmp_path / "bomb", 7 * 2**30
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = squeezer.compress(bytes(2**20)) + squeezer.flush(zlib.Z_FULL_FLUSH)
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("array0.npy")
        archive.writestr(info, block * (size // 2**20) + squeezer.flush())
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, size
        archive.writestr("digest", "0" * 64)
    assert path.stat().st_size < 10 * 2**20
    tracemalloc.start()
    with pytest.raises(SealError, match="would unpack to 7,516,192"):
        read_sealed(path)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


@given(
    arrays(st.sampled_from([np.float64, np.float32, np.int64, bool]), array_shapes(min_dims=0)),
    st.booleans(),
)
def test_arrays_come_back(array, is_fortran):
    given_array = np.asfortranarray(array) if is_fortran and array.ndim else array
    again = from_npy(to_npy(given_array))
    np.testing.assert_array_equal(again, array)
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.flags.writeable


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "damaged header"),
        (b"\x93NUMPY\x01\x00\x04\x00{}{}", "damaged header"),
        (to_npy(np.arange(3.0))[:-1], r"shape \(3,\) in 23 bytes"),
        (to_npy(np.arange(3.0)) + b"0", r"shape \(3,\) in 25 bytes"),
        (to_npy(np.array(["a"])), "not of numbers"),
        (to_npy(np.array([1j])), "not of numbers"),
        (to_npy(np.arange(3.0)).replace(b"(3,)", b"(-3,)"[:4]), "damaged header"),
    ],
)
def test_other_arrays_are_refused(data, message):
    with pytest.raises(SealError, match=message):
        from_npy(data)
