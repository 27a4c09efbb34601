"""One reader for every source: files, sheets, standard input; understood, or refused by name."""

import bz2
import gzip
import io
import json
import lzma

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eosparse.tables import TableError, read_table, recognise_columns, take_cells

FRAME = pd.DataFrame({"x": [1.5, 2.5, 3.5], "n": [3, 5, 4], "ward": ["a", "b", "a"]})
TEXT = FRAME.to_csv(index=False)
JSON = "".join(json.dumps(row) + "\n" for row in FRAME.to_dict("records"))


def zstd(content):
    return pa.compress(content, "zstd", asbytes=True)


def save(path, content):
    """Write bytes, text, or a frame in the format of the name."""
    if isinstance(content, (bytes, str)):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    elif path.suffix == ".parquet":
        content.to_parquet(path, index=False)
    elif path.suffix == ".xlsx":
        content.to_excel(path, index=False)
    else:
        content.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", TEXT),
        ("t.csv", TEXT.replace("\n", "\r")),
        ("t.csv", TEXT.encode("utf-16")),
        ("t.csv", gzip.compress(TEXT.encode(), mtime=0)),  # whatever the name says
        ("t.csv.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("t.csv.bz2", bz2.compress(TEXT.encode())),
        ("t.csv.xz", lzma.compress(TEXT.encode())),
        ("t.csv.zst", zstd(TEXT.encode())),
        ("t.tsv", TEXT.replace(",", "\t")),
        ("t.txt", TEXT.replace(",", " ")),
        ("t.csv", "Lab 3\n\n" + TEXT),
        ("t.csv", TEXT.replace("\n", ",\n")),
        ("t.jsonl", JSON),
        ("t.ndjson", JSON),
        ("t.jsonl.gz", gzip.compress(JSON.encode(), mtime=0)),
        ("t.parquet", FRAME),
        ("t.xlsx", FRAME),
    ],
)
def test_every_source_gives_the_same_table(tmp_path, name, content):
    table = read_table(save(tmp_path / name, content))
    pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        gzip.compress(TEXT.encode(), mtime=0),
        zstd(TEXT.encode()),
        JSON.encode(),
        zstd(JSON.encode()),
    ],
)
def test_standard_input_is_recognised_by_its_bytes(content):
    table = read_table("-", stdin=io.BytesIO(content))
    pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)
    assert table.name == "standard input"


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.xlsx"])
def test_several_files_are_one_table(tmp_path, name):
    other = FRAME.assign(n=FRAME["n"] + 10)[["ward", "x", "n"]]  # in another order
    paths = [save(tmp_path / name, FRAME), save(tmp_path / f"b{name[1:]}", other)]
    expected = pd.concat([FRAME, other], ignore_index=True)
    for source in (paths, str(tmp_path / f"*{paths[0].suffix}")):
        table = read_table(source)
        pd.testing.assert_frame_equal(table.frame, expected, check_dtype=False)
        assert [*table.original.read_values()][3][0] in (1.5, "1.5")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (FRAME, FRAME.drop(columns="n"), "b.csv has no column 'n', which a.csv has"),
        (FRAME.drop(columns="n"), FRAME, "a.csv has no column 'n', which b.csv has"),
        ("x;y\n1,5;2\n2,5;3\n", "x;y\n1.5;2\n2.5;3\n", "a.csv uses ',' as the decimal mark, and b"),
        ("x,y\n$5,1\n$6,2\n", "x,y\n£5,1\n£6,2\n", r"Column 'x' is in '\$' in a.csv, and in '£'"),
        (FRAME, "1,2\n3\n", "b.csv"),
    ],
)
def test_files_that_do_not_fit_together_are_named(tmp_path, first, second, message):
    paths = [save(tmp_path / "a.csv", first), save(tmp_path / "b.csv", second)]
    with pytest.raises(TableError, match=message):
        read_table(paths)


@pytest.mark.parametrize("lacking", [0, 1])
def test_a_parquet_file_without_a_column_is_named(tmp_path, lacking):
    parts = [FRAME, FRAME]
    parts[lacking] = FRAME.drop(columns="x")
    paths = [save(tmp_path / f"{i}.parquet", part) for i, part in enumerate(parts)]
    with pytest.raises(TableError, match=rf"{lacking}\.parquet has no column 'x'"):
        read_table(paths)


def test_sheets_and_their_titles(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active.append(["read", "me"])
    book.active.append(["a", 1])
    sheet = book.create_sheet("data")
    sheet["B2"] = "Lab 3"  # a title, empty rows and an empty column
    for i, row in enumerate([list(FRAME), *FRAME.to_numpy().tolist()]):
        for j, value in enumerate(row):
            sheet.cell(4 + i, 2 + j, value)
    book.save(tmp_path / "t.xlsx")
    for name in ("data", "2"):
        table = read_table(tmp_path / "t.xlsx", sheet=name)
        pd.testing.assert_frame_equal(table.frame, FRAME, check_dtype=False)
    first = read_table(tmp_path / "t.xlsx")
    assert list(first.frame.columns) == ["read", "me"]
    assert "--sheet chooses another ('data')" in first.notes[0]
    with pytest.raises(TableError, match=r"no sheet 'other'\. It has 'notes', 'data'"):
        read_table(tmp_path / "t.xlsx", sheet="other")
    with pytest.raises(TableError, match="has no sheets"):
        read_table(save(tmp_path / "t.csv", TEXT), sheet="2")


@pytest.mark.parametrize(
    ("content", "options", "column", "values"),
    [
        ("a:b\n1:2\n3:4\n", {"separator": ":"}, "b", [2, 4]),
        ("a\tb\n1\t2\n3\t4\n", {"separator": "tab"}, "b", [2, 4]),
        ("größe,b\n1,2\n3,4\n".encode("cp437"), {"encoding": "cp437"}, "größe", [1, 3]),
        ("1,2\n3,4\n", {"header": False}, "column_2", [2, 4]),
        ("1,2\n3,4\n", {"header": True}, "2", [4]),
        # Accents that come late, and bytes that are none.
        (b"a,b\n" + b"1,x\n" * 70_000 + b"2,\xe4\n", {}, "b", ["x"] * 70_000 + ["ä"]),
        (b"a,b\n1,\x81\xe4\n3,4\n", {}, "b", ["\x81ä", "4"]),
    ],
)
def test_what_you_say_about_a_text_file(tmp_path, content, options, column, values):
    frame = read_table(save(tmp_path / "t.csv", content), **options).frame
    assert frame[column].tolist() == values


@pytest.mark.parametrize(
    ("cells", "numbers", "unit"),
    [
        (["12 %", "7.5 %", "100 %"], [12, 7.5, 100], "%"),
        (["$5.12", "$1,234.50", "-$3"], [5.12, 1234.5, -3], "$"),
        (["0.3 ct", "1 ct", "0.55 ct"], [0.3, 1, 0.55], "ct"),
        (["5mm", "6.5mm", "7mm"], [5, 6.5, 7], "mm"),
        (["1,234.50", "5.25", "2,000"], [1234.5, 5.25, 2000], ""),
        (["1.503,5", "1.643", "12,25"], [1503.5, 1643, 12.25], ""),
        (["€ 1.503,5", "€ 1.643", "€ 2"], [1503.5, 1643, 2], "€"),
        (["1,643", "2,121", "12,000"], [1643, 2121, 12000], ""),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.parquet"])
def test_written_numbers_are_numbers(tmp_path, name, cells, numbers, unit):
    table = read_table(save(tmp_path / name, pd.DataFrame({"v": cells, "w": [1.5, 2.5, 3.5]})))
    assert table.frame["v"].tolist() == numbers
    assert any(f"'v' without '{unit}'" in note for note in table.notes) == (unit != "")


def test_padded_numbers_are_shown_as_they_are_and_count_as_numbers(tmp_path):
    codes = [f"{i * 7 % 31:05d}" for i in range(30)]
    path = save(tmp_path / "t.csv", pd.DataFrame({"code": codes, "w": np.arange(30) % 7 / 2}))
    frame = read_table(path).frame
    assert frame["code"].tolist() == codes
    taken = take_cells(frame, recognise_columns(frame, only=("code", "w")))
    assert taken.frame["code"].tolist() == [float(code) for code in codes]


@pytest.mark.parametrize(
    "cells",
    [
        ["P001", "P002", "P003"],
        ["12A", "13A", "14A"],
        ["12 kg", "13 g", "14 kg"],
        ["1/2", "3/4", "1/4"],
        ["10:30", "11:00", "12:15"],
        ["01.02.2024", "02.02.2024", "03.02.2024"],
        ["1.2.3", "1.2.4", "1.2.5"],
        ["1-2", "2-3", "3-4"],
        ["(5)", "(6)", "(7)"],
    ],
)
def test_other_text_stays_text(tmp_path, cells):
    frame = pd.DataFrame({"v": cells, "w": [1.5, 2.5, 3.5]})
    table = read_table(save(tmp_path / "t.csv", frame))
    assert table.frame["v"].tolist() == cells


def test_cells_between_written_numbers_are_missing_and_named(tmp_path):
    cells = [f"1.{i:03d},5 €" for i in range(20)] + ["1.643 €", "?"]
    path = save(tmp_path / "t.csv", pd.DataFrame({"v": cells, "w": np.arange(22) % 7 / 2}))
    table = read_table(path)
    columns = recognise_columns(table.frame)
    assert columns[0].why == "1 cell is not a number and counts as missing: '?'"
    taken = take_cells(table.frame, columns, missing="keep").frame["v"]
    assert taken.tolist()[:-1] == [1000.5 + i for i in range(20)] + [1643.0]
    assert np.isnan(taken.iloc[-1])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", '{"a": 1}\n{"a": }\n', "line 2 is not JSON"),
        ("t.jsonl", "[1, 2]\n", "line 1 is no object"),
        ("t.jsonl", '{"a": 1, "a": 2}\n', "a key occurs twice"),
        ("t.jsonl", '{"a": ' + "[" * 100_000 + "\n", "nested too deeply"),
        ("t.xlsx", pd.DataFrame([[1, 2], [3, 4]], columns=[5, 7]), "row 1 looks like a row"),
        ("t.csv", "a,b\n1,2\nTotal\n", "line 3 has 1 cell"),
        ("t.csv", "a,b\n" + "1,2\n" * 200_000 + "1,2,3\n", "line 200002 has 3 cells"),
        ("t.csv", "a,b\n1,2,\n" * 2 + "1,2,3\n", "several|cells"),
        ("t.csv", 'a,b\n"' + "x" * 200_000 + '",1\n', "line 2: field larger than field limit"),
        ("t.csv", "a," + "x" * 200_000 + "\n1,2\n", "line 1: field larger than field limit"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, message):
    path = save(tmp_path / name, content)
    with pytest.raises(TableError, match=message):
        read_table(path)


def test_lines_may_be_longer_than_what_is_looked_at_first(tmp_path):
    names = [f"gene_{i:06d}" for i in range(25_000)]
    lines = [",".join(names), *(",".join([str(i)] * len(names)) for i in range(3))]
    frame = read_table(save(tmp_path / "t.csv", "\n".join(lines))).frame
    assert list(frame.columns) == names
    assert frame.iloc[:, -1].tolist() == [*range(3)]


def test_columns_of_any_type_are_read(tmp_path):
    numbers = range(40)
    table = pa.table(
        {
            "list": [[i] * (i % 3) for i in numbers],
            "struct": [{"a": i} for i in numbers],
            "bytes": [bytes([i]) for i in numbers],
            "x": [i * 7 % 31 + 0.5 for i in numbers],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    columns = recognise_columns(read_table(tmp_path / "t.parquet").frame)
    assert [column.name for column in columns if column.role.is_used] == ["x"]
