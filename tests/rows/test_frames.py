"""Data frames with text, booleans and dates, read as numbers."""

import datetime
import pickle
import subprocess
import sys
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosparse import EOSCells, EOSDetector
from eosparse.rows import FrameReader, Kind, has_more_than_numbers
from eosparse.rows.levels import UNSEEN

LIBRARIES = [pd.DataFrame, pl.DataFrame, pa.table]
N_ROWS = 6
COLUMNS = {
    "age": [31, 27, 45, 60, 22, 38],
    "height": [1.8, 1.7, 1.6, 1.75, 1.9, 1.65],
    "sex": ["m", "f", "f", "f", "m", "m"],
    "is_member": [True, False, True, True, False, True],
    "since": [datetime.datetime.fromisoformat(f"1970-01-0{day}T12:00") for day in range(1, 7)],
    "lasted": [datetime.timedelta(days=day) for day in range(6)],
    "born": [datetime.date(1970, 1, 1 + day) for day in range(6)],
}
NUMBERS = np.column_stack(
    [
        COLUMNS["age"],
        COLUMNS["height"],
        [1, 0, 0, 0, 1, 1],
        COLUMNS["is_member"],
        np.arange(6) + 0.5,
        np.arange(6),
        np.arange(6),
    ]
)


@pytest.fixture(params=LIBRARIES, ids=["pandas", "polars", "pyarrow"])
def make(request):
    return request.param


def test_every_library_gives_the_same_numbers(make):
    frame = make(COLUMNS)
    reader = FrameReader.learn(frame)
    values = reader.read(frame)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, NUMBERS)
    assert reader.names == tuple(COLUMNS)
    assert reader.levels == {"sex": ("f", "m")}
    dates = dict.fromkeys(["since", "lasted", "born"], Kind.DATE)
    assert reader.kinds == {"sex": Kind.CATEGORY, "is_member": Kind.LEVELS, **dates}
    assert reader == FrameReader.learn(pd.DataFrame(COLUMNS))
    assert pickle.loads(pickle.dumps(reader)) == reader


@pytest.mark.parametrize(
    "cells",
    [
        pd.Series(list("vuvuvu"), dtype="category"),
        pd.Series(list("vuvuvu"), dtype=object),
        pd.Series(list("vuvuvu"), dtype="string"),
        pd.Series([3, 1] * 3, dtype="category"),
        pl.Series(list("vuvuvu"), dtype=pl.Categorical),
        pl.Series(list("vuvuvu"), dtype=pl.Enum(["v", "u"])),
        pa.array(list("vuvuvu")).dictionary_encode(),
        pa.array(list("vuvuvu"), type=pa.large_string()),
    ],
    ids=lambda cells: str(getattr(cells, "dtype", getattr(cells, "type", None)))[:20],
)
def test_text_of_every_type_is_a_category(cells):
    make = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(cells), pa.table)
    frame = make({"c": cells})
    assert has_more_than_numbers(frame)
    reader = FrameReader.learn(frame)
    assert reader.kinds == {"c": Kind.CATEGORY}
    assert reader.read(frame).ravel().tolist() == [1, 0] * 3


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (pd.Series([True, False], dtype="boolean"), [1, 0]),
        (pd.Series([True, False], dtype=object), [1, 0]),
        (pd.Series([1.5, 2], dtype=object), [1.5, 2]),
        (pd.Series([1, 2], dtype="Int64"), [1, 2]),
        (pd.Series(pd.arrays.SparseArray([0.0, 2.0])), [0, 2]),
        (pd.Series([datetime.date(1970, 1, 3)] * 2, dtype=object), [2, 2]),
        (pd.Series(pd.to_datetime(["1970-01-03T01:00"] * 2)).dt.tz_localize("Etc/GMT-1"), [2, 2]),
        (pl.Series([datetime.datetime(1970, 1, 3, tzinfo=datetime.UTC)] * 2), [2, 2]),
        (pl.Series([1, 2], dtype=pl.Decimal(10, 2)), [1, 2]),
        (pa.array([datetime.date(1970, 1, 3)] * 2, type=pa.date64()), [2, 2]),
        (pa.array([datetime.timedelta(hours=36)] * 2, type=pa.duration("ms")), [1.5, 1.5]),
    ],
    ids=lambda cells: None if isinstance(cells, list) else type(cells).__module__,
)
def test_numbers_truths_and_times_of_every_type(cells, numbers):
    make = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(cells), pa.table)
    frame = make({"c": cells})
    assert FrameReader.learn(frame).read(frame).ravel().tolist() == numbers


@pytest.mark.parametrize(
    ("columns", "is_more"),
    [
        ({"a": [1.0, 2.0], "b": [1, 2]}, False),
        ({"a": np.array([1, 2], dtype=np.uint8), "b": np.array([1, 2], dtype=np.float32)}, False),
        ({"a": [True, False]}, True),
        ({"a": [1, 2], "b": ["u", "v"]}, True),
    ],
)
def test_plain_numbers_go_the_old_way(make, columns, is_more):
    assert has_more_than_numbers(make(columns)) == is_more


@pytest.mark.parametrize(
    "X",
    [
        np.eye(3),
        [["a", "b"]],
        pd.Series(["a"]),
        pl.LazyFrame({"a": ["u"]}),
        "table.csv",
        pd.DataFrame({"a": pd.array([1, 2], dtype="Int64")}),
        pd.DataFrame({"a": pd.Series([1, 2], dtype="int64[pyarrow]")}),
        pd.DataFrame({"a": pd.Series([1, 2], dtype=object)}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
    ],
    ids=lambda X: type(X).__name__,
)
def test_other_tables_go_the_old_way(X):
    assert not has_more_than_numbers(X)


def test_single_precision_is_kept(make):
    columns = {"a": np.array([0.1, 0.2], dtype=np.float32), "c": ["u", "v"], "t": [True, False]}
    frame = make(columns)
    assert FrameReader.learn(frame).read(frame).dtype == np.float32
    frame = make({**columns, "d": [datetime.date(2020, 1, 1)] * 2})
    assert FrameReader.learn(frame).read(frame).dtype == np.float64
    frame = make({"c": ["u", "v"]})
    assert FrameReader.learn(frame).read(frame).dtype == np.float64


def test_unseen_levels_are_codes_of_their_own(make):
    reader = FrameReader.learn(make({"c": ["u", "v"], "t": [True, False]}))
    new = make({"c": ["v", "w", "w", "a"], "t": [True] * 4})
    assert reader.read(new)[:, 0].tolist() == [1, UNSEEN, UNSEEN, UNSEEN]
    assert reader.unseen(new) == {"c": ("a", "w")}
    assert reader.unseen(make({"c": ["v"], "t": [True]})) == {}


def test_missing_values_are_not_a_number_whatever_the_column_holds(make):
    whole = make({"a": [1.0, 2.0, 3.0], "c": ["u", "v", "u"], "t": [True, False, True]})
    gaps = make({"a": [None, 2.0, None], "c": ["u", None, "v"], "t": [True, None, True]})
    expected = [[np.nan, 0.0, 1.0], [2.0, np.nan, np.nan], [np.nan, 1.0, 1.0]]
    for reader in (FrameReader.learn(gaps), FrameReader.learn(whole)):
        np.testing.assert_array_equal(reader.read(gaps), expected)
        assert reader.unseen(gaps) == {}


def test_infinity_is_named(make):
    frame = make({"a": [1.0, np.inf], "c": ["u", "v"]})
    with pytest.raises(ValueError, match="infinity in column 'a'"):
        FrameReader.learn(frame).read(frame)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([f"row {i}" for i in range(90)], "'c' holds 90 different texts in 90 rows, like an id"),
        ([f"name {i % 60}" for i in range(900)], r"'c' holds 60 .* kinds=\{'c': 'ignored'\}"),
        (["3.5", "4", "1e3", "7"], "'c' holds numbers as text: convert it"),
        (["?", *(str(i) for i in range(20))], "'c' holds numbers as text"),
    ],
)
def test_text_that_is_no_category_is_refused(make, cells, message):
    frame = make({"a": list(range(len(cells))), "c": cells})
    with pytest.raises(ValueError, match=message):
        FrameReader.learn(frame)
    given = FrameReader.learn(frame, {"c": "category"})  # unless you say that it is one
    assert len(given.levels["c"]) == len(set(cells))
    ignored = FrameReader.learn(frame, {"c": Kind.IGNORED})
    assert ignored.kinds == {"c": Kind.IGNORED}
    assert (ignored.read(frame)[:, 1] == 0).all()


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"c": [[1], [2]]}),
        pd.DataFrame({"c": [b"a", b"b"]}),
        pd.DataFrame({"c": [1, "x"]}),
        pd.DataFrame({"c": [1 + 2j, 3]}),
        pl.DataFrame({"c": [[1], [2]]}),
        pl.DataFrame({"c": [b"a", b"b"]}),
        pl.DataFrame({"c": [{"d": 1}] * 2}),
        pl.DataFrame({"c": [datetime.time(3)] * 2}),
        pa.table({"c": [[1], [2]]}),
    ],
)
def test_other_cells_are_refused_or_ignored(frame):
    assert has_more_than_numbers(frame)
    with pytest.raises(ValueError, match=r"'c' holds neither numbers, dates nor text\. Drop it"):
        FrameReader.learn(frame)
    assert FrameReader.learn(frame, {"c": "ignored"}).read(frame).tolist() == [[0], [0]]


def test_text_cannot_be_a_number():
    frame = pd.DataFrame({"c": ["u", "v"]})
    with pytest.raises(ValueError, match="'c' holds text, which cannot be 'number'"):
        FrameReader.learn(frame, {"c": "number"})
    assert FrameReader.learn(frame, {"c": "levels"}).kinds == {"c": Kind.LEVELS}
    with pytest.raises(ValueError, match="no column 'd'"):
        FrameReader.learn(frame, {"d": "number"})


def test_columns_must_be_those_that_were_learned(make):
    reader = FrameReader.learn(make({"a": [1, 2], "c": ["u", "v"]}))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        reader.read(make({"c": ["u", "v"], "a": [1, 2]}))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- d\n.*yet now missing:\n- c\n"):
        reader.read(make({"a": [1, 2], "d": ["u", "v"]}))
    with pytest.raises(ValueError, match=r"'a' held numbers .* now holds text"):
        reader.read(make({"a": ["x", "y"], "c": ["u", "v"]}))
    with pytest.raises(TypeError, match=r"X is a ndarray, .* pass a pandas or polars"):
        reader.read(np.eye(2))


def test_truths_may_come_as_numbers(make):
    reader = FrameReader.learn(make({"t": [True, False]}))
    assert reader.read(make({"t": [0, 1]})).ravel().tolist() == [0, 1]


def test_names_of_pandas_need_not_be_text():
    frame = pd.DataFrame({0: [1, 2], "c": ["u", "v"]})
    reader = FrameReader.learn(frame)
    assert reader.names == ("0", "c")
    assert reader.read(frame).tolist() == [[1, 0], [2, 1]]


def test_a_missing_narwhals_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("narwhals")]:
        monkeypatch.setitem(sys.modules, name, None)
    assert not has_more_than_numbers(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(ImportError, match=r"eosparse\[frames\]"):
        has_more_than_numbers(pd.DataFrame({"c": ["u"]}))


def test_rows_do_not_import_narwhals():
    code = "import sys, eosparse.rows; assert 'narwhals' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc äö"), st.booleans(), st.integers(-9, 9)),
        min_size=4,
        max_size=30,
    )
)
def test_libraries_agree_on_any_table(cells):
    text, truths, numbers = zip(*cells, strict=True)
    columns = {"c": list(text), "t": list(truths), "a": list(numbers)}
    readers = [FrameReader.learn(make(columns), {"c": "category"}) for make in LIBRARIES]
    read = [reader.read(make(columns)) for reader, make in zip(readers, LIBRARIES, strict=True)]
    for values in read[1:]:
        np.testing.assert_array_equal(values, read[0])
    levels = np.array(readers[0].levels["c"])
    assert levels[read[0][:, 0].astype(int)].tolist() == list(text)


def test_copies_of_rows_do_not_make_a_category_of_an_identifier(make):
    names = [f"name {i}" for i in range(30)]
    once = {"a": [float(i) for i in range(30)], "c": names}
    thrice = {key: values * 3 for key, values in once.items()}
    for columns in (once, thrice):
        with pytest.raises(ValueError, match="30 different texts in 30 rows"):
            FrameReader.learn(make(columns))


@pytest.mark.parametrize(
    ("learned", "written", "codes"),
    [
        (["1", "2", "x"], [1, 2, 2], [0, 1, 1]),
        (["1", "2", "x"], [1.0, 2.0, 7.0], [0, 1, UNSEEN]),
        (["1", "2", "x"], ["1.0", "02", "x"], [0, 1, 2]),
        (["1", "1.0", "x"], [1.0, 1.0, 1.0], [1, 1, 1]),
        (["01", "1.0", "x"], ["1", "01", "x"], [UNSEEN, 0, 2]),
        (["False", "True", "maybe"], [True, False, True], [1, 0, 1]),
        (["False", "True", "maybe"], ["true", "FALSE", "maybe"], [1, 0, 2]),
        (["False", "True", "maybe"], [1.0, 0.0, 2.0], [1, 0, UNSEEN]),
        (["0", "a", "b"], ["c", "a", "0.0"], [UNSEEN, 1, 0]),
    ],
)
def test_a_level_is_the_same_however_it_is_written(make, learned, written, codes):
    reader = FrameReader.learn(make({"c": learned}), {"c": "category"})
    frame = make({"c": written})
    assert reader.read(frame)[:, 0].tolist() == codes
    assert bool(reader.unseen(frame)) == (UNSEEN in codes)


# Queries, and types of pandas beside NumPy's


def make_numbers(n=60):
    values = np.random.default_rng(0).normal(size=(n, 3)).round(3)
    values[5, 1] = 50.0
    return pd.DataFrame(values, columns=list("abc"))


def query_polars(table):
    return pl.from_arrow(table).lazy()


def query_duckdb(table):
    return duckdb.connect().from_arrow(table)


@pytest.mark.parametrize("with_text", [False, True])
@pytest.mark.parametrize("query", [query_polars, query_duckdb])
def test_queries_count_as_the_rows_that_they_give(query, with_text):
    frame = make_numbers()
    if with_text:
        frame["d"] = np.where(np.arange(len(frame)) % 3 == 0, "north", "south")
    given = query(pa.Table.from_pandas(frame))
    expected, found = EOSDetector().fit(frame), EOSDetector().fit(given)
    np.testing.assert_allclose(found.p_values_, expected.p_values_, rtol=1e-12)
    np.testing.assert_allclose(found.p_values(given), expected.p_values(frame), rtol=1e-12)
    assert list(found.feature_names_in_) == list(frame.columns)
    repaired = EOSCells().fit(given).repair(given)
    assert abs(np.asarray(repaired["b"])[5]) < 10


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame.astype("Float64"),
        lambda frame: frame.astype("double[pyarrow]"),
        lambda frame: frame.astype(pd.ArrowDtype(pa.decimal128(9, 3))),
        lambda frame: frame.map(lambda value: Decimal(str(value))),
        lambda frame: frame.astype(object),
    ],
)
def test_numbers_of_any_type_are_numbers(convert):
    frame = make_numbers()
    expected = EOSDetector().fit(frame).p_values_
    np.testing.assert_allclose(EOSDetector().fit(convert(frame)).p_values_, expected, rtol=1e-9)


def test_types_that_are_no_numbers_are_named():
    frame = make_numbers().assign(month=pd.period_range("2024-01", periods=60, freq="M"))
    with pytest.raises(ValueError, match="Column 'month' holds neither numbers, dates nor text"):
        EOSDetector().fit(frame)


def test_explanations_keep_the_index():
    frame = make_numbers().set_axis([f"p{i}" for i in range(60)])
    detector = EOSDetector().fit(frame)
    assert detector.explain(frame.iloc[4:7]).to_frame().index.tolist() == ["p4", "p5", "p6"]
    assert detector.explain(pl.from_pandas(frame)).to_frame().index.tolist() == [*range(60)]
