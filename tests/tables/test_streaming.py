"""A table on disk gives the same numbers as the same rows in memory, whatever its columns hold."""

import os

import numpy as np
import pandas as pd
import pytest
from table_parts import WRITERS, add_gaps, check_same, detect, make_table, run, write_parts

from eosparse import EOSDetector, open_rows
from eosparse.tables import survey


@pytest.mark.parametrize(
    ("ending", "has_gaps"),
    [*((ending, True) for ending in WRITERS), ("csv", False), ("jsonl", False)],
)
def test_a_folder_gives_the_numbers_of_one_file(tmp_path, ending, has_gaps):
    table = add_gaps(make_table()) if has_gaps else make_table()
    WRITERS[ending](table, tmp_path / f"all.{ending}")
    whole = detect(tmp_path / f"all.{ending}")
    streamed = detect(write_parts(table, tmp_path / "parts", ending))
    check_same(streamed, whole)
    assert {r["row"] for r in streamed["flagged"]} >= {4, 501, 981}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["--missing", "drop"],
        ["--kind", "grade=category", "--kind", "count=ignored"],
        ["--kind", "sex=ignored", "--ignore", "seen"],
        ["--model", "gaussian"],
        ["--columns", "height,weight,sex"],
    ],
    ids=lambda a: " ".join(a),
)
def test_options_mean_the_same(tmp_path, ending, arguments):
    table = add_gaps(make_table())
    WRITERS[ending](table, tmp_path / f"all.{ending}")
    parts = write_parts(table, tmp_path / "parts", ending)
    check_same(detect(parts, *arguments), detect(tmp_path / f"all.{ending}", *arguments))


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_a_large_file_is_streamed(tmp_path, monkeypatch, ending):
    path = tmp_path / f"all.{ending}"
    WRITERS[ending](make_table(), path)
    whole = detect(path)
    monkeypatch.setattr("eosparse.rows.limits.are_too_large", lambda _: True)
    streamed = detect(path)
    assert any("streamed" in note for note in streamed["notes"])
    check_same(streamed, whole)


def test_a_sample_of_the_rows_is_enough_for_the_roles(tmp_path, monkeypatch):
    """What the sample does not show is seen all the same: late categories, cells, values."""
    table = make_table(6000)
    table["late"] = ["a"] * 5990 + ["b"] * 10
    table.loc[5998, "sex"] = "unknown"
    WRITERS["csv"](table, tmp_path / "all.csv")
    whole = detect(tmp_path / "all.csv")
    monkeypatch.setattr(survey, "_MOST_ROWS", 1500)
    streamed = detect(write_parts(table, tmp_path / "parts", "csv"))
    assert any("1,500 rows" in note for note in streamed["notes"])
    check_same(streamed, whole)


READERS = {"csv": pd.read_csv, "csv.gz": pd.read_csv, "parquet": pd.read_parquet,
           "feather": pd.read_feather}  # fmt: skip


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_the_output_is_that_of_one_file(tmp_path, source, ending):
    table = add_gaps(make_table())
    table.loc[5, ["height", "weight", "sex", "seen", "price"]] = None
    WRITERS[source](table, tmp_path / f"all.{source}")
    parts, out = write_parts(table, tmp_path / "parts", source), tmp_path / f"out.{ending}"
    detect(tmp_path / f"all.{source}", "-o", tmp_path / "whole.parquet")
    detect(parts, "-o", out)
    found, wanted = READERS[ending](out), pd.read_parquet(tmp_path / "whole.parquet")
    assert list(found.columns) == list(wanted.columns)
    assert found["key"].tolist() == table["key"].tolist()
    for name in ("eos_weight", "eos_p_value"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9, atol=1e-300)
    assert found["eos_is_outlier"].tolist() == wanted["eos_is_outlier"].tolist()
    assert found["eos_reason"].fillna("").tolist() == wanted["eos_reason"].tolist()
    np.testing.assert_allclose(found["height"], table["height"].astype(float))


def test_text_is_copied_as_it_is(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f'0{i},{rng.normal():.3f},NA,+49,"a, ""b""",1E5' for i in range(200)]
    (tmp_path / "parts").mkdir()
    text = "code,a,gap,phone,note,big\n" + "\n".join(lines) + "\n"
    (tmp_path / "parts" / "one.csv").write_text(text)
    detect(tmp_path / "parts", "-o", tmp_path / "out.csv", "--columns", "a")
    written = (tmp_path / "out.csv").read_text().splitlines()
    assert written[0].startswith("code,a,gap,phone,note,big,eos_weight")
    assert all(found.startswith(line) for found, line in zip(written[1:], lines, strict=True))


DIALECTS = {
    "semicolons": lambda f, p: f.to_csv(p, index=False, sep=";", decimal=","),
    "bars": lambda f, p: f.to_csv(p, index=False, sep="|"),
    "latin": lambda f, p: f.to_csv(p, index=False, encoding="cp1252"),
    "utf-16": lambda f, p: f.to_csv(p, index=False, encoding="utf-16"),
    "mark": lambda f, p: f.to_csv(p, index=False, encoding="utf-8-sig"),
    "crlf": lambda f, p: f.to_csv(p, index=False, lineterminator="\r\n"),
    "cr": lambda f, p: f.to_csv(p, index=False, lineterminator="\r"),
    "quotes": lambda f, p: f.assign(note='a "quote",\nand a line').to_csv(p, index=False),
    "spaces": lambda f, p: p.write_text(f.to_csv(index=False).replace(",", ", ")),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_text_is_streamed_however_it_is_written(tmp_path, monkeypatch, name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(100, 9, size=(600, 3)).round(2), columns=["größe", "b", "c"])
    frame["ort"] = rng.choice(["Köln", "Ulm"], 600)
    frame.loc[30, "b"] = 900.25
    DIALECTS[name](frame, tmp_path / "rows.csv")
    monkeypatch.setattr("eosparse.rows.limits.are_too_large", lambda _: True)
    found = detect(tmp_path / "rows.csv")
    assert [r["row"] for r in found["flagged"]] == [31]
    assert found["flagged"][0]["reasons"][0]["value"] == "900.25"
    roles = {column["name"]: column["role"] for column in found["columns"]}
    assert roles["größe"] == "number"
    assert roles["ort"] == "category"


REFUSED = [
    ({"a": ["x", "y"]}, {"a": ["x", "y"], "b": [1.0, 2.0]}, "part-0.* has no column 'b'"),
    ({"a": [1.0, 2.0], "b": [1.0, 2.0]}, {"a": [1.0, 2.0]}, "part-1.* has no column 'b'"),
]


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
@pytest.mark.parametrize(("first", "second", "message"), REFUSED)
def test_parts_without_a_column_are_refused_by_name(tmp_path, ending, first, second, message):
    for i, part in enumerate((first, second)):
        WRITERS[ending](pd.DataFrame(part), tmp_path / f"part-{i}.{ending}")
    found = run("detect", tmp_path)
    assert found.exit_code == 2
    assert pd.Series([found.stderr]).str.contains(message).all(), found.stderr


def test_what_cannot_be_streamed_is_refused_by_name(tmp_path):
    parts = write_parts(make_table(), tmp_path / "parts", "parquet")
    cases = [
        (["--report", tmp_path / "r.html", "--embed", "all"], "--embed all needs a table that"),
        (["-o", tmp_path / "o.xlsx"], "must be CSV, TSV, JSON lines, Parquet"),
        (["-o", parts / "part-0.parquet", "--force"], "one of the input files"),
        (["--kind", "key=category"], "'key' has more than"),
        (["--missing", "error"], "Some values are missing: 'price' 3"),
    ]
    survey_limit = survey._MOST_LEVELS
    survey._MOST_LEVELS = 100
    try:
        for arguments, message in cases:
            found = run("detect", parts, *arguments)
            assert found.exit_code == 2, found.output
            assert message in found.stderr
    finally:
        survey._MOST_LEVELS = survey_limit


CHANGES = {
    "appended": lambda path: path.write_bytes(path.read_bytes() + b"1.5,2.5\n"),
    "shortened": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "one digit": lambda path: path.write_bytes(path.read_bytes().replace(b"7", b"8", 1)),
    "replaced": lambda path: os.replace(
        path.with_suffix(".other") if path.with_suffix(".other").write_bytes(path.read_bytes())
        else path, path
    ),
    "deleted": lambda path: path.unlink(),
}  # fmt: skip


@pytest.mark.parametrize("keeps_time", [False, True], ids=["", "same time"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("at", ["opened", "fitting"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_file_that_changes_between_passes_is_noticed(tmp_path, ending, change, keeps_time, at):
    if (change, keeps_time, at) == ("one digit", True, "opened"):
        pytest.skip("nobody has read the old digit")
    rng = np.random.default_rng(0)
    path = tmp_path / f"rows.{ending}"
    WRITERS[ending](pd.DataFrame(rng.normal(size=(500, 2)).round(4), columns=["a", "b"]), path)
    rows, stamp = open_rows(path), path.stat()

    def spoil(_=None):
        CHANGES[change](path)
        if keeps_time and path.exists():
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    if at == "opened":
        spoil()
    detector = EOSDetector(model="gaussian", callback=spoil if at == "fitting" else None)
    with pytest.raises(ValueError, match="changed while it was read"):
        detector.fit(rows)
