"""Small files that unpack to large ones, or promise them, do not fill the memory.

The limits of SECURITY.md, each with its attack; limits are lowered so that the attacks are quick.
"""

import bz2
import gzip
import io
import lzma
import struct
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from typer.testing import CliRunner

from eosparse.cli.app import app
from eosparse.rows import limits
from eosparse.tables import TableError, read_table, workbook_limits

TEXT = b"a,b\n" + b"0,0\n" * 500_000


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


PACKERS = {
    "csv.gz": gzip.compress,
    "csv.bz2": bz2.compress,
    "csv.xz": lzma.compress,
    "csv.zst": lambda data: pa.compress(data, "zstd", asbytes=True),
    "jsonl.gz": lambda _: gzip.compress(b'{"a": 1}\n' * 200_000),
}


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch, ending, way):
    monkeypatch.setattr(limits, "MOST_BYTES_IN_MEMORY", 1_000_000)
    path = tmp_path / f"bomb.{ending}"
    path.write_bytes(PACKERS[ending](TEXT))
    assert path.stat().st_size < 20_000
    is_file = way == "file"
    found = run("detect", path if is_file else "-", input=None if is_file else path.read_bytes())
    assert found.exit_code == 2
    assert "unpacks to more than" in found.stderr


def test_a_bomb_in_one_line_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_BYTES_IN_MEMORY", 1_000_000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"0" * 5_000_000))
    with pytest.raises(TableError, match="unpacks to more than"):
        read_table(path)


def test_standard_input_is_bounded(monkeypatch):
    monkeypatch.setattr(limits, "MOST_BYTES_IN_MEMORY", 1000)
    found = run("detect", "-", input=TEXT)
    assert found.exit_code == 2
    assert "standard input is longer than" in found.stderr


def write_sheet(path, cells, prologue=""):
    """Write a workbook whose only sheet holds some XML."""
    book = io.BytesIO()
    openpyxl.Workbook().save(book)
    with zipfile.ZipFile(book) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml"):
                space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
                data = f"<sheetData>{cells}</sheetData>"
                content = f'{prologue}<worksheet xmlns="{space}">{data}</worksheet>'.encode()
            new.writestr(name, content)


ROW = '<row r="1"><c r="A1"><v>1</v></c></row>'
WORKBOOKS = {
    "far cell": (ROW + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>', "reaches to row"),
    "far by number": ('<row><c r="&#88;FD1"><v>1</v></c></row>' + "<row/>" * 2000, "reaches to"),
    "many rows": ("<row><c><v>1</v></c></row>" * 30_000, "more than 20,000 rows"),
    "row of the future": ('<row r="2000000000"><c><v>1</v></c></row>', "more than 20,000 rows"),
    "nowhere": (ROW + '<row r="9"><c r="ZZZZ9"><v>1</v></c></row>' * 9, "not a readable XLSX"),
}


@pytest.mark.parametrize("name", WORKBOOKS)
def test_workbooks_that_reach_too_far_are_refused(tmp_path, monkeypatch, name):
    if "cell" not in name:
        monkeypatch.setattr(workbook_limits, "MOST_ROWS", 20_000)
    cells, message = WORKBOOKS[name]
    path = tmp_path / "bomb.xlsx"
    write_sheet(path, cells)
    found = run("detect", path)
    assert found.exit_code == 2
    assert message in found.stderr, found.output


@pytest.mark.parametrize(
    "prologue",
    [
        '<!DOCTYPE x [<!ENTITY a "b">]>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://127.0.0.1:9/">%a;]>',
    ],
)
def test_workbooks_with_entities_are_refused(tmp_path, prologue):
    write_sheet(tmp_path / "x.xlsx", '<row><c t="str"><v>&a;</v></c></row>', prologue)
    found = run("detect", tmp_path / "x.xlsx")
    assert found.exit_code == 2
    assert "XML entities" in found.stderr


def test_workbooks_that_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook_limits, "MOST_BYTES_IN_MEMORY", 1_000_000)
    write_sheet(tmp_path / "x.xlsx", ROW + " " * 2_000_000)
    with pytest.raises(TableError, match="unpacks to more than"):
        read_table(tmp_path / "x.xlsx")


def test_openpyxl_parses_through_defusedxml():
    assert openpyxl.DEFUSEDXML
    from openpyxl.xml import functions

    assert functions.fromstring.__module__.startswith("defusedxml")


def encode_number(number):
    """Return a whole number as Parquet's metadata hold it: zigzag, seven bits per byte."""
    number, found = 2 * number, bytearray()
    while number >= 128:
        found.append(number % 128 + 128)
        number //= 128
    return bytes([*found, number])


def test_parquet_that_promises_100_gigabytes_is_not_believed(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "promise.parquet"
    pd.DataFrame(rng.normal(size=(12_345, 2)), columns=["a", "b"]).to_parquet(path)
    data = path.read_bytes()
    (length,) = struct.unpack("<I", data[-8:-4])
    body, footer = data[: -8 - length], data[-8 - length : -8]
    n_rows = 100 * 2**30 // 8
    footer = footer.replace(encode_number(12_345), encode_number(n_rows))
    path.write_bytes(body + footer + struct.pack("<I", len(footer)) + b"PAR1")
    assert pq.read_metadata(path).num_rows == n_rows
    found = run("detect", path)
    assert found.exit_code == 2, found.output
    assert "it promises 13,421,772,800 rows and holds 12,345" in found.stderr
    assert limits.are_too_large([path])


def test_parquet_that_unpacks_to_much_is_streamed(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=5000), "b": 1.0, "c": 2.0, "d": 3.0})
    frame.to_parquet(tmp_path / "x.parquet", compression="zstd")
    monkeypatch.setattr(limits, "MOST_BYTES_IN_MEMORY", 100_000)
    assert (tmp_path / "x.parquet").stat().st_size < 100_000
    assert "The table was streamed" in run("detect", tmp_path / "x.parquet").stdout


def test_damaged_offsets_of_text_are_refused(tmp_path):
    """pyarrow would follow them out of its memory."""
    path = tmp_path / "x.feather"
    texts = ["left", "right"] * 25
    table = pa.table({"a": np.arange(50.0), "b": pa.array(texts, pa.string())})
    feather.write_feather(table, path, compression="uncompressed")
    offsets = np.cumsum([0, *map(len, texts)]).astype("<i4").tobytes()
    data = path.read_bytes()
    assert offsets in data
    damaged = bytearray(offsets)
    damaged[40:44] = struct.pack("<i", 2_000_000_000)
    path.write_bytes(data.replace(offsets, bytes(damaged)))
    for source in (path, tmp_path):
        found = run("detect", source)
        assert found.exit_code == 2
        assert "Traceback" not in found.output


def make_multi_index(path):
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(99, 2)), columns=columns)
    frame.to_parquet(path)


ODD = {
    "deep.jsonl": lambda path: path.write_text('{"a":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "wide.csv": lambda path: path.write_text("x" * 200_000 + ",b\n" + "1,2\n" * 50),
    "quotes.csv": lambda path: path.write_text('a,"' + "x" * 200_000 + '\n' + "1,2\n" * 50),
    "zeros.csv": lambda path: path.write_bytes(b"a,b\n1,2\n\x00\x00\n3,4\n"),
    "empty.parquet": lambda path: path.write_bytes(b""),
    "short.xlsx": lambda path: path.write_bytes(b"PK\x03\x04"),
    "levels.parquet": make_multi_index,
    "folder.csv": lambda path: path.mkdir(),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("command", ["detect", "cells"])
def test_odd_files_end_in_a_sentence(tmp_path, name, command):
    ODD[name](tmp_path / name)
    found = run(command, tmp_path / name)
    assert found.exit_code in (0, 2), found.output
    assert "Traceback" not in found.output
    assert found.exit_code == 0 or found.stderr.startswith(("Error:", "Usage")), found.stderr
