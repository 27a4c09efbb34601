"""What goes in comes out: no cell of a copy differs from the original, whatever the format."""

import csv
import datetime
import decimal
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
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

from eosparse.tables import TableError, read_table
from eosparse.tables.originals import GAPS
from eosparse.tables.writing import Copy, write_copy, write_table

# Cells that pandas alters when it reads and writes them.
CELLS = [
    *("00123", "+4912345", "1E5", "NA", "None", "#N/A", "9007199254740993", "", "1.10", "1e-05"),
    *("=1+1", "-5", "@SUM(A1)", "a, b", 'say "x"', "two\nlines", " padded ", "TRUE", "2024-01-31"),
    *("ü€", "0x1F", "nan", "1_000", "1,5", "12 %", "inf", "−3", "'"),
]
ROWS = [[cell, str(i), CELLS[-1 - i]] for i, cell in enumerate(CELLS)]
HEADER = ["code", "n", "text"]


def write_text(rows, separator=",", line_end="\n", encoding="utf-8"):
    text = io.StringIO()
    options = {"delimiter": separator, "lineterminator": line_end}
    for row in rows:  # the standard library leaves line ends of another kind without quotes
        is_broken = any(end in cell for cell in row for end in "\r\n")
        quoting = csv.QUOTE_ALL if is_broken else csv.QUOTE_MINIMAL
        csv.writer(text, **options, quoting=quoting).writerow(row)
    return text.getvalue().encode(encoding)


def read_text(content, separator=",", encoding="utf-8", **options):
    text = io.StringIO(content.decode(encoding), newline="")
    return list(csv.reader(text, delimiter=separator, **options))


def add_columns(n_rows):
    return pd.DataFrame({"eos_weight": np.arange(n_rows) / 8, "eos_reason": ["x=1, y=2"] * n_rows})


def copy_file(path, out, **options):
    table = read_table(path)
    write_copy(Copy(table, add_columns(len(table.frame)), **options), out)
    return out.read_bytes()


def expect(rows, decimal_mark="."):
    """The rows, a header first, with the added columns."""
    weights = [f"{i / 8}".replace(".", decimal_mark) for i in range(len(rows) - 1)]
    return [
        [*rows[0], "eos_weight", "eos_reason"],
        *([*row, weight, "x=1, y=2"] for row, weight in zip(rows[1:], weights, strict=True)),
    ]


@pytest.mark.parametrize(
    "dialect",
    [
        {},
        {"separator": ";"},
        {"separator": "\t"},
        {"separator": "|"},
        {"line_end": "\r\n"},
        {"line_end": "\r"},
        {"encoding": "utf-8-sig"},
        {"encoding": "utf-16"},
        {"encoding": "utf-16-le"},
        {"encoding": "cp1252"},
    ],
    ids=str,
)
def test_text_is_copied_cell_by_cell_in_its_dialect(tmp_path, dialect):
    rows = [HEADER, *(row for row in ROWS if "−3" not in row or "encoding" not in dialect)]
    path = tmp_path / "in.txt"
    path.write_bytes(write_text(rows, **dialect))
    copied = copy_file(path, tmp_path / "out.txt")
    reading = {key: value for key, value in dialect.items() if key != "line_end"}
    assert read_text(copied, **reading) == expect(rows)
    assert copied.decode(dialect.get("encoding", "utf-8")).endswith(dialect.get("line_end", "\n"))


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"a,b\n1,2,\n3,4,\n", [["a", "b"], ["1", "2"], ["3", "4"]]),
        (b"a,b,\n01,2,\n3,4,\n", [["a", "b"], ["01", "2"], ["3", "4"]]),
        (b"Lab 3\n\na,b\n1,02\n\n3,4\n\n", [["a", "b"], ["1", "02"], ["3", "4"]]),
        (b'"a"\n"x",1\n"y",02\n', [["", "a"], ["x", "1"], ["y", "02"]]),
        (b",a\n0,1\n1,02\n", [["", "a"], ["0", "1"], ["1", "02"]]),
        (b"Unnamed: 0,a\n0,1\n1,02\n", [["Unnamed: 0", "a"], ["0", "1"], ["1", "02"]]),
        (b'a,b\n1, "x, y"\n2, z\n', [["a", "b"], ["1", "x, y"], ["2", " z"]]),
        (b"a\n1\n\n3\n\n", [["a"], ["1"], [""], ["3"]]),
        (b"a b\n1 2\n3   04\n", [["a", "b"], ["1", "2"], ["3", "04"]]),
        (b"a,b\n1,2\n3,4", [["a", "b"], ["1", "2"], ["3", "4"]]),  # no line end
    ],
)
def test_odd_text_files_are_copied_without_their_oddities(tmp_path, content, rows):
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    read = read_table(path).frame
    assert len(read) == len(rows) - 1
    copied = read_text(copy_file(path, tmp_path / "out.csv"), skipinitialspace=True)
    assert copied == [[cell.lstrip() for cell in row] for row in expect(rows)]
    for name, cells in zip(read.columns, zip(*rows[1:], strict=True), strict=True):
        for value, cell in zip(read[name], cells, strict=True):
            assert (
                (pd.isna(value) and cell == "")
                or str(value) == cell.strip()
                or value == float(cell)
            )


def test_decimal_commas_stay_and_are_those_of_new_columns(tmp_path):
    path, rows = tmp_path / "in.csv", [["a", "b"], ["1,50", "1.643"], ["2,5", "1.503,5"]]
    path.write_bytes(write_text(rows, ";"))
    assert read_table(path).frame.to_numpy().tolist() == [[1.5, 1643.0], [2.5, 1503.5]]
    copied = read_text(copy_file(path, tmp_path / "out.csv"), ";")
    assert copied == expect(rows, ",")


@pytest.mark.parametrize(
    ("name", "separator"),
    [("out.csv", ","), ("out.tsv", "\t"), ("out.txt", "\t")],
)
def test_the_extension_decides_on_the_separator(tmp_path, name, separator):
    path = tmp_path / "in.tsv"
    path.write_bytes(write_text([HEADER, *ROWS], "\t"))
    assert read_text(copy_file(path, tmp_path / name), separator) == expect([HEADER, *ROWS])


@pytest.mark.parametrize(
    ("extension", "decompress"),
    [
        (".gz", gzip.decompress),
        (".xz", lzma.decompress),
        (".zst", lambda data: pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()),
    ],
)
def test_a_compressed_name_is_compressed(tmp_path, extension, decompress):
    path = tmp_path / "in.csv"
    path.write_bytes(write_text([HEADER, *ROWS]))
    copied = copy_file(path, tmp_path / f"out.csv{extension}")
    assert read_text(decompress(copied)) == expect([HEADER, *ROWS])
    assert read_table(tmp_path / f"out.csv{extension}").frame.shape == (len(ROWS), 5)


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@settings(max_examples=150)
@given(st.data(), st.sampled_from([",", ";", "\t"]), st.sampled_from(["\n", "\r\n"]))
def test_any_cells_are_copied(tmp_path_factory, data, separator, line_end):
    """Cells that any writer of CSV has quoted, also over several lines."""
    row = st.tuples(st.integers(-99, 99).map(str), cells, cells)
    rows = [["number", "b", "c"], *map(list, data.draw(st.lists(row, min_size=4, max_size=8)))]
    folder = tmp_path_factory.mktemp("copies")
    (folder / "in.csv").write_bytes(write_text(rows, separator, line_end))
    table = read_table(folder / "in.csv", separator=separator)
    assert table.frame["number"].tolist() == [int(row[0]) for row in rows[1:]]
    for out in ("out.csv", "out.tsv"):
        write_copy(Copy(table, add_columns(len(rows) - 1)), folder / out)
        content = (folder / out).read_bytes()
        copied = read_text(content, "\t" if out == "out.tsv" else separator.replace("\t", ","))
        assert copied == expect(rows)


# Formats with types


def make_arrow():
    when = datetime.datetime(2024, 1, 31, 12, 30, tzinfo=datetime.UTC)
    table = pa.table(
        {
            "code": ["00123", "NA", None],
            "big": pa.array([9007199254740993, None, 1], pa.int64()),
            "x": pa.array([1.5, None, 2.5], pa.float32()),
            "price": [decimal.Decimal("1.10"), None, decimal.Decimal("2.00")],
            "seen": pa.array([when] * 3, pa.timestamp("ms", "Europe/Zurich")),
            "ward": pa.array(["a", "b", "a"]).dictionary_encode(),
            "list": [[1, 2], [], None],
            "is_new": [True, None, False],
        }
    )
    return table.replace_schema_metadata({"origin": "lab 3"})


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_arrow_keeps_schema_and_metadata(tmp_path, name):
    pq.write_table(make_arrow(), tmp_path / "in.parquet")
    original = pq.read_table(tmp_path / "in.parquet")
    copy_file(tmp_path / "in.parquet", tmp_path / name)
    read = pq.read_table if name == "t.parquet" else feather.read_table
    copied = read(tmp_path / name)
    assert copied.select(original.column_names).equals(original)
    assert copied.column_names[-2:] == ["eos_weight", "eos_reason"]
    assert copied.schema.metadata[b"origin"] == b"lab 3"


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["p", "q", "r"], name="patient"),
        pd.Index([4, 7, 9]),
        pd.RangeIndex(3),
        pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")], names=["ward", None]),
        pd.date_range("2024-01-01", periods=3, tz="UTC"),
    ],
    ids=lambda index: type(index).__name__,
)
def test_the_index_of_pandas_is_kept_and_no_feature(tmp_path, index):
    frame = pd.DataFrame({"x": [1.5, 2.5, 3.5], "y": pd.array([1, None, 3], "Int64")}, index=index)
    frame.to_parquet(tmp_path / "in.parquet")
    assert list(read_table(tmp_path / "in.parquet").frame.columns) == ["x", "y"]
    copy_file(tmp_path / "in.parquet", tmp_path / "out.parquet")
    copied = pd.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(copied[["x", "y"]], frame, check_freq=False)
    copy_file(tmp_path / "in.parquet", tmp_path / "out.csv")  # beside the columns, if it says more
    names = (
        []
        if isinstance(index, pd.RangeIndex)
        else ["__index_level_0__", *filter(None, index.names)]
    )
    assert {*pd.read_csv(tmp_path / "out.csv").columns} & {*names} or not names


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.xlsx", "t.jsonl", "t.jsonl.gz"])
def test_text_becomes_numbers_only_where_nothing_is_lost(tmp_path, name):
    columns = {
        "n": ["1", "-20", "NA"],
        "x": ["1.50", "2", "1e-05"],
        "zip": ["00123", "10115", "80331"],
        "phone": ["+49123", "49123", "1"],
        "part": ["1E5", "2", "3"],
        "big": ["9007199254740993", "", "1"],
        "huge": ["123456789012345678901", "1", "2"],
        "mixed": ["9007199254740993", "1.5", "2"],
        "text": ["NA", "None", "x"],
        "day": ["2024-01-31", "2024-02-01", ""],
    }
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    (tmp_path / "in.csv").write_bytes(write_text(rows))
    copy_file(tmp_path / "in.csv", tmp_path / name)
    copied = read_table(tmp_path / name).original.to_arrow().to_pydict()
    assert copied["n"] == [1, -20, None]
    assert copied["x"] == [1.5, 2.0, 1e-05]
    assert [None if v is None else int(v) for v in copied["big"]] == [9007199254740993, None, 1]
    for text in ("zip", "phone", "part", "huge", "mixed", "text"):
        assert [str(value) for value in copied[text]] == columns[text], text
    assert [str(value or "")[:10] for value in copied["day"]] == columns["day"]


def test_workbooks_keep_values_and_text_is_text(tmp_path):
    book = openpyxl.Workbook()
    when = datetime.datetime(2024, 1, 31, 12, 30)  # noqa: DTZ001  # workbooks know no zones
    book.active.append(["=cmd", "n", "seen", "is_new"])
    rows = [["=1+1", 5, when, True], ["00123", 2.5, when, False], ["#N/A", None, None, None]]
    for row in rows:
        book.active.append(row)
    for cell in (book.active["A1"], book.active["A2"], book.active["A4"]):
        cell.data_type = "s"
    book.save(tmp_path / "in.xlsx")
    copy_file(tmp_path / "in.xlsx", tmp_path / "out.xlsx")
    copied = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    assert [[cell.value for cell in row[:4]] for row in copied.iter_rows(min_row=2)] == rows
    assert [copied[place].data_type for place in ("A1", "A2", "A4")] == ["s", "s", "s"]
    assert copied["F1"].value == "eos_reason"


@pytest.mark.parametrize(
    ("cell", "message"),
    [("a\x01b", "control character in column 'text', row 1"), ("a" * 40_000, "40,000 letters")],
)
def test_what_a_sheet_cannot_hold_is_refused(tmp_path, cell, message):
    (tmp_path / "in.csv").write_bytes(write_text([["n", "text"], ["1", cell], ["2", "b"]]))
    with pytest.raises(TableError, match=message):
        copy_file(tmp_path / "in.csv", tmp_path / "out.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_json_lines_keep_values(tmp_path):
    records = [
        {"n": 9007199254740993, "code": "00123", "tags": ["a", "b"], "x": 0.1},
        {"code": "NA", "x": None, "tags": {"k": [1]}, "n": 5},
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, records)))
    copied = copy_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl").decode()
    lines = [json.loads(line) for line in copied.splitlines()]
    assert [{key: line[key] for key in records[0]} for line in lines] == records
    assert [line["eos_weight"] for line in lines] == [0.0, 0.125]


# What is replaced


def test_columns_of_an_earlier_run_are_replaced(tmp_path):
    rows = [["eos_weight", "x"], ["7.5", "01"], ["8.5", "2"]]
    (tmp_path / "in.csv").write_bytes(write_text(rows))
    copied = read_text(copy_file(tmp_path / "in.csv", tmp_path / "out.csv"))
    assert copied == expect([["x"], ["01"], ["2"]])


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.xlsx", "out.jsonl"])
def test_only_changed_cells_differ(tmp_path, name):
    rows = [["code", "price", "x"], ["007", "$5.00", "1.50"], ["008", "$6.10", "1"]]
    (tmp_path / "in.csv").write_bytes(write_text(rows))
    table = read_table(tmp_path / "in.csv")
    changes = {"price": {1: 7.25}, "x": {0: 2.5}}
    write_copy(Copy(table, changes=changes), tmp_path / name)
    changed = list(map(list, read_table(tmp_path / name).original.read_cells()))
    x = "1" if name in ("out.csv", "out.tsv") else "1.0"
    assert changed == [["007", "$5.00", "2.5"], ["008", "$7.25", changed[1][2]]]
    assert float(changed[1][2]) == float(x)


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("+1+cmd", "'+1+cmd"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1", "' =1"),
        ("-5", "-5"),
        ("+4912345", "+4912345"),
        ("-1,5", "-1,5"),
        ("a=1", "a=1"),
    ],
)
def test_formulas_are_neutralised_if_asked_for(tmp_path, cell, safe):
    rows = [["=cmd", "n"], [cell, "1"], ["x", "2"]]
    (tmp_path / "in.csv").write_bytes(write_text(rows))
    as_it_is = read_text(copy_file(tmp_path / "in.csv", tmp_path / "out.csv"))
    assert [as_it_is[0][0], as_it_is[1][0]] == ["=cmd", cell]
    neutral = read_text(copy_file(tmp_path / "in.csv", tmp_path / "safe.csv", safe=True))
    assert [neutral[0][0], neutral[1][0]] == ["'=cmd", safe]


def test_a_file_that_changed_since_it_was_read_is_refused(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    table = read_table(path)
    for content in ("a,b\n1,2\n", "a,b\n1,2\n3,4\n5,6\n"):
        path.write_text(content)
        with pytest.raises(TableError, match="changed while it was read"):
            write_copy(Copy(table), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_data_frames_are_written_too(tmp_path):
    frame = pd.DataFrame({"x": [1.5, np.nan], "=y": ["=a", None], 3: [1, 2]})
    write_table(frame, tmp_path / "t.csv", separator=";", decimal=",", safe=True)
    assert (tmp_path / "t.csv").read_text().split() == ["x;'=y;3", "1,5;'=a;1", ";;2"]


def test_gaps_are_those_of_pandas():
    text = pd.read_csv(io.StringIO("a,b\n" + "".join(f"{gap},1\n" for gap in GAPS)))
    assert text["a"].isna().all()


def test_padded_numbers_stay_text_beside_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id;height\n00123;1,75\n00124;1,80\n", encoding="utf-8")
    frame = read_table(path).frame
    assert frame["id"].tolist() == ["00123", "00124"]
    assert frame["height"].tolist() == [1.75, 1.8]
