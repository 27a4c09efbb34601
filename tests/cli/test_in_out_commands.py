"""What goes into a command comes out: with every option that reads or writes a table."""

import csv
import gzip
import json

import numpy as np
import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner

from eosparse.cli.app import app

CODES = ["00123", "+4912345", "1E5", "NA", "None", "#N/A", "9007199254740993", "=1+1"]


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def make_rows(n=80):
    """Rows of a header, two columns of numbers with a mistake and a gap, and codes."""
    rng = np.random.default_rng(0)
    height = rng.normal(170, 9, n).round(1)
    weight = (height - 100 + rng.normal(0, 5, n)).round(1)
    rows = [
        [CODES[i % len(CODES)], f"{h:.2f}", f"{w:.1f}", "01" if h > 170 else "02"]
        for i, (h, w) in enumerate(zip(height, weight, strict=True))
    ]
    rows[4][1], rows[9][2] = "1.75", ""
    return [["code", "height", "weight", "sex"], *rows]


def write_rows(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def read_rows(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="") as file:
        return list(csv.reader(file))


@pytest.fixture
def table(tmp_path):
    return write_rows(tmp_path / "table.csv", make_rows())


@pytest.mark.parametrize(
    ("command", "n_added"),
    [
        (["detect"], 4),
        (["detect", "--missing", "drop"], 4),
        (["labels", "--target", "sex", "--missing", "drop"], 5),
    ],
)
def test_every_cell_comes_out_of_every_command(table, tmp_path, command, n_added):
    out = tmp_path / "out.csv.gz"
    found = run(command[0], table, *command[1:], "--output", out)
    assert found.exit_code == 0, found.output
    copied = read_rows(out)
    assert [row[:4] for row in copied] == make_rows()
    assert all(len(row) == 4 + n_added for row in copied)


def test_scores_and_repairs_change_nothing_else(table, tmp_path):
    out, model = tmp_path / "out.csv", tmp_path / "m.eos"
    assert run("detect", table, "--missing", "drop", "--save-model", model).exit_code == 0
    assert run("score", model, table, "--missing", "drop", "-o", out).exit_code == 0
    assert [row[:4] for row in read_rows(out)] == make_rows()
    fixed = tmp_path / "fixed.csv"
    found = run("cells", table, "-o", fixed, "--json")
    assert found.exit_code == 0, found.output
    wrong = {(c["row"], c["column"]) for c in json.loads(found.stdout)["cells"]}
    assert (5, "height") in wrong
    given, repaired = make_rows(), read_rows(fixed)
    differs = {
        (i, given[0][j])
        for i, (old, new) in enumerate(zip(given, repaired, strict=True))
        for j in range(4)
        if old[j] != new[j]
    }
    assert differs == wrong


def test_padded_labels_are_numbers_to_predict(table):
    rows = make_rows()
    for i, row in enumerate(rows[1:]):
        row[3] = f"{i * 37 % 83:04d}"
    write_rows(table, rows)
    found = run(
        "labels", table, "--target", "sex", "--missing", "drop", "--ignore", "code", "--json"
    )
    assert json.loads(found.stdout)["task"] == "regression"


def test_columns_of_an_earlier_run_are_not_used_and_replaced_with_a_note(table, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    assert run("detect", table, "-o", first).exit_code == 0
    found = run("detect", first, "-o", second)
    assert "written by an earlier run" in " ".join(found.stdout.split())
    assert "columns of an earlier run: eos_weight" in " ".join(found.stdout.split())
    assert read_rows(second) == read_rows(first)


def test_several_files_and_sheets(table, tmp_path):
    rows = make_rows()
    parts = [write_rows(tmp_path / f"{i}.csv", [rows[0], *rows[1 + 40 * i :][:40]]) for i in (0, 1)]
    whole = json.loads(run("detect", table, "--json").stdout)
    out = tmp_path / "out.csv"
    found = run("detect", *parts, "-o", out, "--json")
    assert json.loads(found.stdout)["flagged"] == whole["flagged"]
    assert json.loads(found.stdout)["table"]["name"] == "0.csv and 1 more"
    assert [row[:4] for row in read_rows(out)] == rows
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"a": ["notes"]}).to_excel(book, sheet_name="notes", index=False)
        pd.read_csv(table).to_excel(book, sheet_name="data", index=False)
    found = run("detect", tmp_path / "t.xlsx", "--sheet", "data", "--json")
    flagged = [row["row"] for row in json.loads(found.stdout)["flagged"]]
    assert flagged == [row["row"] for row in whole["flagged"]]


def test_formulas_are_text_in_sheets_and_can_be_neutralised_in_csv(table, tmp_path):
    safe, sheet = tmp_path / "safe.csv", tmp_path / "out.xlsx"
    assert run("detect", table, "-o", safe, "--safe").exit_code == 0
    codes = [row[0] for row in read_rows(safe)[1:9]]
    assert codes == [*CODES[:-1], "'=1+1"]
    assert run("detect", table, "-o", sheet).exit_code == 0
    cells = [row[0] for row in openpyxl.load_workbook(sheet).active.iter_rows(2, 9)]
    assert [(cell.value, cell.data_type) for cell in cells] == [(code, "s") for code in CODES]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "{tmp}/x.csv", "--report", "{tmp}/x.csv"], "Outputs must be different files"),
        (["-o", "{tmp}/x.csv", "--save-model", "{tmp}/./x.csv"], "Outputs must be different files"),
        (["-o", "{tmp}/x.parquet.gz"], "Parquet files are compressed inside"),
        (["--sheet", "2"], "table.csv has no sheets"),
        (["--separator", "ab"], "--separator 'ab' is not one ASCII character"),
        (["--separator", "·"], "--separator '·' is not one ASCII character"),
        (["--encoding", "utf-99"], "The encoding 'utf-99' is unknown"),
        (["{tmp}/other.csv"], "other.csv has no column 'code', which table.csv has"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(table, tmp_path, arguments, message):
    (tmp_path / "other.csv").write_text("height,weight,sex\n1,2,3\n")
    found = run("detect", table, *(argument.format(tmp=tmp_path) for argument in arguments))
    assert found.exit_code == 2
    assert message in found.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "other.csv"}
