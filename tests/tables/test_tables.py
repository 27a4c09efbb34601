"""Tables: formats, roles of columns, missing values, categories."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosparse.rows.formats import UnknownFormatError
from eosparse.tables import (
    MissingValuesError,
    Role,
    TableError,
    encode_table,
    read_table,
    recognise_columns,
    take_cells,
    write_table,
)
from eosparse.tables.columns import apply_kinds, find_identifier


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 60
    return pd.DataFrame(
        {
            "patient_id": [f"P{i:03d}" for i in range(n)],
            "nr": np.arange(n) + 100,
            "visit": pd.date_range("2024-01-01", periods=n).astype(str),
            "sex": rng.choice(["f", "m"], n),
            "height": rng.normal(170, 9, n).round(1),
            "age": rng.integers(18, 60, n),
            "smokes": rng.random(n) < 0.3,
            "note": [f"seen on round {i} by the doctor" for i in range(n)],
            "site": "Lugano",
            "nothing": np.nan,
        }
    )


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.parquet", "t.arrow", "t.xlsx", "t.csv.gz", "t.tsv.xz"]
)
def test_every_format_is_read_as_it_was_written(table, tmp_path, name):
    whole = table.drop(columns="nothing")
    write_table(whole, tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name).frame, whole, check_dtype=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_existing_files_are_kept_unless_forced(table, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("mine")
    with pytest.raises(TableError, match="--force"):
        write_table(table, path)
    assert path.read_text() == "mine"
    write_table(table, path, force=True)
    assert len(read_table(path).frame) == 60


def test_a_write_that_fails_leaves_nothing(table, tmp_path):
    broken = table.assign(odd=[object()] * len(table))
    path = tmp_path / "t.parquet"
    with pytest.raises(Exception, match="object"):
        write_table(broken, path)
    assert list(tmp_path.iterdir()) == []


def test_semicolons_and_decimal_commas_are_recognised_and_noted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2\n2,5;3\n")
    found = read_table(path)
    assert found.frame["a"].tolist() == [1.5, 2.5]
    assert any("comma" in note for note in found.notes)
    assert any("';'" in note for note in found.notes)


def test_other_encodings_are_noted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,x\n1,2\n".encode("cp1252"))
    found = read_table(path)
    assert list(found.frame.columns) == ["größe", "x"]
    assert "Windows-1252" in found.notes[0]


def test_byte_order_marks_and_compression(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress("\ufeffa,b\n1,2\n".encode()))
    assert list(read_table(path).frame.columns) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.csv", b"a,a\n1,2\n", "several columns named 'a'"),
        ("t.csv", b"1,2\n3,4\n", "line 1 looks like a row"),
        ("t.csv", b"a,b\n1,2\n1,2,3,4\n", "line 3 has 4 cells"),
        ("t.csv", b"a,b\n1,2\n5\n", "line 3 has 1 cell, but the table has 2 columns"),
        ("t.csv", b'a,b\n1,2\n3,"4\n5,6\n', "line 3: a cell begins with .* and never ends"),
        pytest.param(
            "t.csv",
            b"a,b\n" + b"1,2\n" * 99_999 + b"1,\0\n",
            "line 100001 holds a zero byte",
            id="zero byte",
        ),
        ("t.parquet", b"PAR1nonsense", "not a readable Parquet file"),
        ("t.xlsx", b"nonsense", "not a readable XLSX file"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-6], "cannot be decompressed"),
    ],
)
def test_unreadable_files_are_refused_with_a_reason(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=reason):
        read_table(tmp_path / name)


def test_unknown_extensions_are_refused(tmp_path):
    (tmp_path / "t.doc").write_bytes(b"x")
    with pytest.raises(UnknownFormatError, match=r"t\.doc: unrecognised file extension"):
        read_table(tmp_path / "t.doc")


def role_of(name, cells, **asked):
    column = recognise_columns(pd.DataFrame({name: cells}), **asked)[0]
    return column.role, column.why


N = np.arange(40)


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("customer_id", N % 7, Role.IDENTIFIER),  # several orders of one customer
        ("customerId", N % 7, Role.IDENTIFIER),
        ("order_id", np.where(N == 3, np.nan, N * 17 % 41), Role.IDENTIFIER),  # whole, with a gap
        ("account", [f"{n:05d}" for n in N], Role.IDENTIFIER),
        ("paid", N % 7, Role.NUMBER),  # ends in "id" but is not one
        ("born", 19500101 + 10000 * (N % 30), Role.DATE),
        ("month", 20240101 + 100 * (N[:12]), Role.IDENTIFIER),  # one row after the other
        ("start", [f"{n:02d}:30" for n in N % 24], Role.TEXT),  # of which day?
        ("serial", 19500199 + N, Role.IDENTIFIER),  # not dates: there is no day 99
        ("height", 58 + N[:15], Role.NUMBER),  # in order, and measured
        ("wavelength", 400 + 2 * N, Role.NUMBER),
        ("order", 4711 + N, Role.IDENTIFIER),
        ("row", 1 + N, Role.IDENTIFIER),
        ("counted", N, Role.IDENTIFIER),
        ("car", [f"Mazda RX{n}" + " Wag" * int(n % 3 == 0) for n in N], Role.IDENTIFIER),
        ("share", [f"{n * 7 % 31}.5 %" for n in N], Role.NUMBER),
        ("price", [f"${n * 7 % 31},000.25" for n in N], Role.NUMBER),
        ("weight", [f"0.{n * 7 % 31 + 10} ct" for n in N], Role.NUMBER),
        ("eos_weight", N * 7 % 31 + 0.5, Role.IGNORED),  # of an earlier run
        ("zip_code", 10115 + 13 * (N % 9), Role.TEXT),
        ("day", [f"{1 + n % 28:02d}.03.2024" for n in N[:-1]] + ["unknown"], Role.DATE),
        ("price", [f"{1 + n % 5},{n:02d}" for n in N], Role.NUMBER),
        ("income", ["1,200", "31,500"] * 20, Role.NUMBER),
        ("mostly", ["?" if n % 3 == 0 else "yes" for n in N], Role.CATEGORY),
    ],
)
def test_columns_that_mislead(name, cells, role):
    assert role_of(name, cells)[0] is role


def test_cells_that_are_not_numbers_count_as_missing():
    table = pd.DataFrame({"level": [f"{n * n % 17},5" for n in N]})
    table.loc[[3, 9], "level"] = ["not done", "?"]
    (column,) = recognise_columns(table)
    assert (column.role, column.n_missing) == (Role.NUMBER, 2)
    assert "'not done', '?'" in column.why
    with pytest.raises(MissingValuesError, match="'level' 2"):
        encode_table(table, [column])
    numbers = encode_table(table, [column], missing="drop")
    kept = np.delete(N, [3, 9])
    np.testing.assert_array_equal(numbers.values[:, 0], kept * kept % 17 + 0.5)


def test_the_column_that_identifies_rows():
    table = pd.DataFrame(
        {"patient_id": N % 5, "visit_id": N * 7 % 41, "code": [f"c{n}" for n in N]}
    )
    assert find_identifier(recognise_columns(table)) == "visit_id"
    assert find_identifier(recognise_columns(table, identifier="code")) == "code"
    assert find_identifier(recognise_columns(table[["patient_id"]])) == "patient_id"


def test_decimal_commas_are_written_again(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;2\n2,5;?\n")
    found = read_table(path)
    write_table(found.frame, path, separator=found.separator, decimal=found.decimal, force=True)
    assert path.read_text() == "a;b\n1,5;2\n2,5;?\n"


def test_names_of_columns_are_text_in_workbooks_too(tmp_path):
    pd.DataFrame({2023: [1.5, 2.5], 2024: [1.0, 4.0]}).to_excel(tmp_path / "t.xlsx", index=False)
    assert list(read_table(tmp_path / "t.xlsx").frame.columns) == ["2023", "2024"]


def test_columns_are_recognise_columns(table):
    roles = {column.name: column.role for column in recognise_columns(table)}
    assert roles == {
        "patient_id": Role.IDENTIFIER,
        "nr": Role.IDENTIFIER,
        "visit": Role.IDENTIFIER,  # a later date in each row
        "sex": Role.CATEGORY,
        "height": Role.NUMBER,
        "age": Role.NUMBER,
        "smokes": Role.NUMBER,
        "note": Role.TEXT,
        "site": Role.CONSTANT,
        "nothing": Role.EMPTY,
    }


def test_columns_may_be_chosen(table):
    chosen = recognise_columns(table, only=("nr", "height"), identifier="patient_id")
    used = [column.name for column in chosen if column.role.is_used]
    assert used == ["nr", "height"]
    left = recognise_columns(table, ignore=("age",))
    assert {c.name: c.role for c in left}["age"] is Role.IGNORED
    with pytest.raises(TableError, match="no column 'weight'"):
        recognise_columns(table, only=("weight",))


def test_numbers_stored_as_text_and_dates_are_distinguished():
    table = pd.DataFrame(
        {
            "minus": ["\u22121.5", "2", "3"],
            "version": ["1.2.3", "1.2.4", "1.2.5"],
            "day": ["01.02.2024", "02.02.2024", "05.02.2024"],
        }
    )
    roles = {column.name: column.role for column in recognise_columns(table, only=tuple(table))}
    assert roles["minus"] is Role.NUMBER
    assert roles["day"] is Role.DATE
    numbers = encode_table(table, [c for c in recognise_columns(table) if c.name == "minus"])
    assert numbers.values[:, 0].tolist() == [-1.5, 2.0, 3.0]


def test_missing_values_are_counted_dropped_or_filled(table):
    table.loc[[3, 5], "height"] = np.nan
    table.loc[7, "sex"] = None
    columns = recognise_columns(table)
    with pytest.raises(MissingValuesError, match="'height' 2, 'sex' 1, of 60 rows"):
        encode_table(table, columns, indicate=True)
    dropped = encode_table(table, columns, missing="drop", indicate=True)
    assert np.flatnonzero(~dropped.is_kept).tolist() == [3, 5, 7]
    assert len(dropped.values) == 57
    filled = encode_table(table, columns, missing="impute", indicate=True)
    assert np.isfinite(filled.values).all()
    assert "'height' 2" in filled.notes[0]


def test_infinities_count_as_missing(table):
    table.loc[0, "height"] = np.inf
    with pytest.raises(MissingValuesError, match="'height' 1"):
        encode_table(table, recognise_columns(table))


def test_cells_are_handed_over_as_they_are(table):
    rng = np.random.default_rng(0)
    table["visit"] = rng.permutation(table["visit"])
    cells = take_cells(table, recognise_columns(table))
    assert cells.names == ("visit", "sex", "height", "age", "smokes")
    assert [str(dtype) for dtype in cells.frame.dtypes][1:] == ["category"] + 3 * ["float64"]
    assert cells.frame["visit"].dtype.kind == "M"
    assert cells.frame["height"].tolist() == table["height"].tolist()
    assert cells.frame["sex"].astype(str).tolist() == table["sex"].tolist()


def test_gaps_in_cells_of_every_type(table):
    rng = np.random.default_rng(0)
    table["visit"] = rng.permutation(table["visit"])
    table.loc[[3, 5], "height"] = [np.nan, np.inf]
    table.loc[7, ["sex", "visit"]] = None
    columns = recognise_columns(table)
    with pytest.raises(MissingValuesError, match="'height' 2, 'visit' 1, 'sex' 1, of 60 rows"):
        take_cells(table, columns)
    dropped = take_cells(table, columns, missing="drop")
    assert np.flatnonzero(~dropped.is_kept).tolist() == [3, 5, 7]
    assert dropped.frame.index.tolist() == list(range(57))
    filled = take_cells(table, columns, missing="impute")
    assert not filled.frame.isna().any(axis=None)
    assert filled.frame["height"][3] == table["height"][np.isfinite(table["height"])].median()
    assert filled.frame["sex"][7] == table["sex"].mode()[0]
    # Another table is filled with what was learned from the first.
    empty = table.iloc[:2].assign(height=np.nan, sex=None, visit=None)
    again = take_cells(empty, columns, missing="impute", encoding=filled.encoding)
    assert again.frame["sex"].tolist() == 2 * [filled.frame["sex"][7]]
    assert again.frame["visit"].tolist() == 2 * [filled.frame["visit"][7]]


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["01.02.2024", "13.02.2024", "05.02.2024"], [0, 12, 4]),  # days first, in all cells
        (["02/01/2024", "02/13/2024", "02/05/2024"], [0, 12, 4]),
        ([20240201, 20240213, 20240205], [0, 12, 4]),
        (["2024-02-01T12:00:00Z", "2024-02-13T12:00:00Z", "2024-02-05T12:00:00Z"], [0, 12, 4]),
    ],
)
def test_dates_are_read_in_one_way(cells, days):
    table = pd.DataFrame({"day": cells})
    columns = recognise_columns(table)
    assert columns[0].role is Role.DATE
    taken = take_cells(table, columns)
    assert (taken.frame["day"] - taken.frame["day"][0]).dt.days.tolist() == days
    # A table of one row is read as the first was, although it could be read otherwise.
    again = take_cells(table[:1], columns, encoding=taken.encoding)
    assert again.frame["day"][0] == taken.frame["day"][0]


@pytest.mark.parametrize("cells", [["1/2", "2/2", "1/1"], ["3-4", "2-0", "1-1"]])
def test_pairs_of_numbers_are_no_dates(cells):
    # pandas reads them as days of the current year.
    (column,) = recognise_columns(pd.DataFrame({"pair": 20 * cells}))
    assert column.role is Role.CATEGORY


def test_dates_that_cannot_be_read_are_missing():
    day = [f"{1 + n * 11 % 28:02d}.03.2024" for n in N]
    table = pd.DataFrame({"day": [*day, "unknown"]})
    (column,) = recognise_columns(table)
    assert (column.role, column.n_missing) == (Role.DATE, 1)
    assert "1 cell is none" in column.why
    assert take_cells(table, [column], missing="drop").is_kept.sum() == len(N)


def test_given_kinds_decide_on_roles(table):
    columns = recognise_columns(table)
    kinds = {"nr": "number", "age": "levels", "sex": "ignored", "patient_id": "category"}
    roles = {c.name: c.role for c in apply_kinds(table, columns, kinds)}
    assert roles["nr"] is roles["age"] is Role.NUMBER
    assert roles["sex"] is Role.IGNORED
    assert roles["patient_id"] is Role.CATEGORY
    with pytest.raises(TableError, match="'sex' cannot be of kind 'number'"):
        apply_kinds(table, columns, {"sex": "number"})
    with pytest.raises(ValueError, match="no column 'shoe'"):
        apply_kinds(table, columns, {"shoe": "number"})
    with pytest.raises(ValueError, match="'nominal' of column 'sex' is unknown"):
        apply_kinds(table, columns, {"sex": "nominal"})


def test_indicators_are_for_classifiers(table):
    numbers = encode_table(table, recognise_columns(table), indicate=True)
    commonest = table["sex"].mode()[0]
    other = ({"f", "m"} - {commonest}).pop()
    place = numbers.names.index(f"sex={other}")
    assert numbers.values[:, place].tolist() == (table["sex"] == other).astype(float).tolist()
    assert numbers.sources[place] == "sex"


def test_a_table_without_numbers_is_refused():
    table = pd.DataFrame({"a": list("xyxyxyxyxy")})
    with pytest.raises(TableError, match="No column holds numbers"):
        encode_table(table, recognise_columns(table))


@settings(max_examples=60)
@given(st.lists(st.lists(st.text(max_size=12), min_size=3, max_size=3), min_size=1, max_size=8))
def test_any_text_gets_a_role(cells):
    table = pd.DataFrame(cells, columns=["a", "b", "c"])
    assert all(isinstance(column.role, Role) for column in recognise_columns(table))
