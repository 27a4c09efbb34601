"""``eosparse cells``: what is printed, what is written, and what is not touched."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from eosparse.cli.app import app

WRONG = {(4, "height_cm"), (6, "shoe"), (78, "weight_kg")}


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(0)
    height = rng.normal(170, 9, 400)
    table = pd.DataFrame(
        {
            "patient_id": [f"P{i:04}" for i in range(400)],
            "height_cm": height.round(1),
            "weight_kg": (0.9 * height - 85 + rng.normal(0, 6, 400)).round(1),
            "shoe": (0.25 * height + rng.normal(0, 0.8, 400)).round().astype(int),
            "bp": rng.normal(120, 10, 400).round(),
        }
    )
    table.loc[3, "height_cm"] = 17.2
    table.loc[5, "shoe"] = 420
    table.loc[77, "weight_kg"] = 700
    table.loc[[20, 30], "bp"] = np.nan
    table.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_it_prints_each_cell_with_what_is_expected(people):
    found = run("cells", people)
    assert found.exit_code == 0, found.output
    assert "3 of 1,598 cells in people.csv are wrong, in 3 rows" in " ".join(found.stdout.split())
    assert "95 % interval" in found.stdout
    summary = json.loads(run("cells", people, "--json").stdout)
    assert {(cell["row"], cell["column"]) for cell in summary["cells"]} == WRONG
    shoe = next(cell for cell in summary["cells"] if cell["column"] == "shoe")
    assert float(shoe["low"]) <= float(shoe["expected"]) <= float(shoe["high"]) < 60
    assert shoe["identifier"] == "P0005"
    assert summary["promise"] is True


def test_warnings_are_part_of_json(people):
    table = pd.read_csv(people)
    table.loc[10] = np.nan
    table.to_csv(people, index=False)
    summary = json.loads(run("cells", people, "--json").stdout)
    assert any("1 row has no value at all" in note for note in summary["notes"])


def test_a_repaired_copy_and_a_list_of_changes(people, tmp_path):
    before = people.read_bytes()
    out, changes = tmp_path / "fixed.csv", tmp_path / "changes.csv"
    assert run("cells", people, "--output", out).exit_code == 0
    assert not changes.exists()
    assert people.read_bytes() == before
    given, fixed = pd.read_csv(people), pd.read_csv(out)
    differs = (given != fixed) & ~(given.isna() & fixed.isna())
    rows, columns = np.nonzero(differs.to_numpy())
    assert {(r + 1, given.columns[c]) for r, c in zip(rows, columns, strict=True)} == WRONG
    assert fixed["shoe"].dtype.kind == "i"
    assert fixed["height_cm"][3] == round(fixed["height_cm"][3], 1)  # as finely as the others
    assert run("cells", people, "--changes", changes).exit_code == 0
    listed = pd.read_csv(changes)
    assert set(zip(listed["row"], listed["column"], strict=True)) == WRONG


def test_a_list_of_changes_undoes_them(people, tmp_path):
    given = pd.read_csv(people)
    given.loc[77, "weight_kg"] = 70012.34567890123
    given.to_csv(people, index=False)
    out, changes = tmp_path / "fixed.csv", tmp_path / "changes.csv"
    assert run("cells", people, "--output", out, "--changes", changes).exit_code == 0
    fixed = pd.read_csv(out)
    assert not fixed.equals(given)
    for line in pd.read_csv(changes).itertuples():
        fixed.loc[line.row - 1, line.column] = line.value
    pd.testing.assert_frame_equal(fixed, given, check_exact=True)
    filled = tmp_path / "filled.csv"
    assert run("cells", people, "-o", filled, "--fill-gaps").exit_code == 0
    assert pd.read_csv(filled)["bp"].notna().all()


def test_the_table_itself_and_one_file_for_two_are_refused(people, tmp_path):
    out = tmp_path / "x.csv"
    refused = run("cells", people, "-o", people, "--force")
    assert refused.exit_code == 2
    assert "table itself" in refused.stderr
    refused = run("cells", people, "-o", out, "--changes", out)
    assert refused.exit_code == 2
    assert "different files" in refused.stderr
    out.write_text("mine")
    assert run("cells", people, "-o", out).exit_code == 2
    assert out.read_text() == "mine"


@pytest.mark.parametrize("n_rows", [20, 20_000])
def test_the_map_has_a_place_for_each_wrong_cell(tmp_path, n_rows):
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(5), 0.7 + 0.3 * np.eye(5), n_rows).round(3)
    X[7, 2], X[n_rows - 1, 4] = 30.0, -30.0
    table, report = tmp_path / "t.csv", tmp_path / "t.html"
    pd.DataFrame(X, columns=["a", "<q>", "c", "d", "e"]).to_csv(table, index=False)
    assert run("cells", table, "--report", report).exit_code == 0
    text = report.read_text()
    assert 'class="above"' in text
    assert 'class="below"' in text
    assert "row 8, c: 30" in text
    assert f"row {n_rows}, e: -30" in text
    assert "<q>" not in text
    assert "<script" not in text
    assert len(text) < 200_000
