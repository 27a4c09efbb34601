"""`score`: another table, in which cells are written differently, missing or new."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from eosparse.cli.app import app

STEPS = {"1": 0.0, "2": 10.0, "X": 20.0}


def run(*arguments):
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def people(n_rows, levels, seed, steps=STEPS):
    """Rows whose numbers a and b depend on a category, and c does not."""
    rng = np.random.default_rng(seed)
    group = rng.choice(levels, n_rows)
    at = np.array([steps[level] for level in group])
    return pd.DataFrame({
        "group": group,
        "is_new": rng.random(n_rows) < 0.5,
        "a": rng.normal(at, 1),
        "b": rng.normal(-at, 1),
        "c": rng.normal(size=n_rows),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.normal(0, 90, n_rows).round(), "D"),
    }).assign(d=lambda rows: rows["is_new"] * 8 + rng.normal(size=n_rows))  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("score")
    people(500, list(STEPS), 0).to_csv(folder / "old.csv", index=False)
    saved = run("detect", folder / "old.csv", "--save-model", folder / "m.eos")
    assert saved.exit_code == 0, saved.output
    return folder / "m.eos"


def score(model, frame, folder, suffix=".csv", **options):
    path = folder / f"new{suffix}"
    frame.to_csv(path, index=False, **options) if suffix == ".csv" else frame.to_parquet(path)
    found = run("score", model, path, "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def with_gap(frame, column):
    return frame.astype({column: object}).assign(**{column: lambda f: f[column].where(f.index > 0)})


WRITTEN = {
    "as before": lambda f: f,
    "codes as whole numbers": lambda f: f.astype({"group": int}),
    "codes with a gap, so as floats": lambda f: with_gap(f.astype({"group": float}), "group"),
    "true and false with a gap": lambda f: with_gap(f, "is_new"),
    "true and false in capitals": lambda f: f.assign(is_new=f["is_new"].map(str).str.upper()),
    "true and false as numbers": lambda f: f.astype({"is_new": int}),
    "dates as numbers": lambda f: f.assign(day=f["day"].dt.strftime("%Y%m%d")),
    "dates with dots": lambda f: f.assign(day=f["day"].dt.strftime("%d.%m.%Y")),
    "decimals as text": lambda f: f.assign(a=f["a"].map("{:.6f}".format) + " "),
    "another order": lambda f: f[f.columns[::-1]],
    "a further column": lambda f: f.assign(comment="text"),
    "gaps": lambda f: f.mask(np.arange(f.size).reshape(f.shape) % 17 == 0),
    "no category at all": lambda f: f.assign(group=None),
}


@pytest.mark.parametrize("name", list(WRITTEN))
def test_rows_are_the_same_however_they_are_written(model, tmp_path, name):
    rows = people(60, ["1", "2"], 1)
    rows.loc[7, "c"] = 40.0
    found = score(model, WRITTEN[name](rows), tmp_path)
    assert [row["row"] for row in found["flagged"]] == [8]
    assert not any("not seen" in note for note in found["notes"])


def test_types_of_parquet_are_understood(model, tmp_path):
    rows = people(60, ["1", "2"], 1).astype({"group": float, "is_new": "boolean"})
    rows.loc[7, "c"] = 40.0
    assert [row["row"] for row in score(model, rows, tmp_path, ".parquet")["flagged"]] == [8]


def test_a_new_category_is_named_and_not_blamed(model, tmp_path):
    rows = people(50, ["new"], 2, {"new": 26.0})
    rows.loc[3, "c"] = 40.0  # does not depend on it
    rows.loc[4, "a"] = 900.0  # no category explains it
    found = score(model, rows, tmp_path)
    assert sorted(row["row"] for row in found["flagged"]) == [4, 5]
    assert any("has not seen 'new' in column 'group'" in note for note in found["notes"])
    assert all(0 <= row["p_value"] <= 1 for row in found["flagged"])


def test_one_row_that_is_an_outlier(model, tmp_path):
    rows = people(1, ["1"], 3).assign(a=500.0)
    found = score(model, rows, tmp_path)
    assert [row["row"] for row in found["flagged"]] == [1]
    assert found["usual"] == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(a="much"), "Column 'a' held numbers .* now holds none: 'much'"),
        (lambda f: f.assign(is_new="yes"), "Column 'is_new' held numbers .* now holds none: 'yes'"),
        (lambda f: f.assign(day="soon"), "Column 'day' held dates .* now holds none: 'soon'"),
        (lambda f: f.drop(columns="b"), "lacks columns that the model uses: 'b'"),
    ],
)
def test_columns_that_hold_something_else_are_refused(model, tmp_path, change, message):
    change(people(20, ["1"], 4)).to_csv(tmp_path / "new.csv", index=False)
    found = run("score", model, tmp_path / "new.csv")
    assert found.exit_code == 2
    assert found.stderr.startswith("Error: ")
    assert found.stderr.count("\n") == 1
    assert re.search(message, found.stderr)


def test_cells_that_are_no_numbers_are_named(model, tmp_path):
    rows = people(40, ["1"], 5).astype({"a": object})
    rows.loc[2, "a"] = "?"
    found = score(model, rows, tmp_path)
    note = "1 cell of column 'a' is not a number and counts as missing: '?'."
    assert note in found["notes"]
    assert found["flagged"] == []


def test_what_is_said_is_about_the_new_rows(model, tmp_path):
    rows = people(30, ["1"], 6).assign(c=50.0)
    rows.to_csv(tmp_path / "new.csv", index=False)
    found = run("score", model, tmp_path / "new.csv")
    said = " ".join(found.stdout.split())
    assert said.startswith("30 of 30 rows in new.csv (100.00%) lie beyond the model's cut-off.")
    assert "fewer than one would" in said
    assert "false-discovery rate" not in said
    assert "the table differs from the one that the model was fitted to" in said


def test_the_chance_of_a_false_alarm_is_right(model, tmp_path):
    rows = people(4000, ["1", "2", "X"], 7)
    found = score(model, rows, tmp_path)
    expected = found["model"]["chance"] * 4000
    assert found["model"]["promise"] is False
    assert "depends on how many of them are wrong" in found["model"]["promise_reason"]
    assert found["n_flagged"] <= expected + 4 * np.sqrt(expected) + 2
    rows.to_csv(tmp_path / "new.csv", index=False)
    level = json.loads(run("score", model, tmp_path / "new.csv", "--level", 0.02, "--json").stdout)
    assert level["model"]["chance"] == 0.02
    assert 40 <= level["n_flagged"] <= 130
