"""`detect`, `labels` and `score`, as a person runs them."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

from eosparse.cli.app import app


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A messy table with four mistakes."""
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    n = 500
    table = pd.DataFrame(
        {
            "patient_id": [f"P{i:05d}" for i in range(n)],
            "visit": pd.date_range("2024-01-01", periods=n).astype(str),
            "sex": rng.choice(["f", "m"], n),
            "height_cm": rng.normal(170, 9, n).round(1),
            "comment": [f"seen by the doctor on round {i}" for i in range(n)],
        }
    )
    table["weight_kg"] = (table["height_cm"] - 100 + rng.normal(0, 7, n)).round(1)
    table["bp"] = rng.normal(125, 12, n).round()
    table.loc[5, "height_cm"] = 1.71
    table.loc[77, "weight_kg"] = 700
    table.loc[200, "bp"] = 12
    table.loc[300, ["height_cm", "weight_kg"]] = [150, 110]
    path = tmp_path / "people.csv"
    table.to_csv(path, index=False)
    return path


MISTAKES = {6, 78, 201, 301}


def test_detect_prints_rows_reasons_and_columns_that_are_not_used(people):
    found = run("detect", people)
    assert found.exit_code == 0, found.output
    assert "4 of 500 rows in people.csv are outliers" in found.stdout
    assert "weight_kg=700" in found.stdout
    assert "P00077" in found.stdout
    assert "comment (free text" in found.stdout
    assert "Categories that tell nothing of the numbers: sex" in found.stdout


def test_json_is_json_and_complete(people):
    found = run("detect", people, "--json")
    summary = json.loads(found.stdout)
    assert {row["row"] for row in summary["flagged"]} == MISTAKES
    assert summary["flagged"][0]["reasons"][0]["column"] == "weight_kg"
    assert summary["model"]["status"] == "converged"


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_output_has_all_rows_in_their_order(people, tmp_path, ending):
    out = tmp_path / f"out{ending}"
    assert run("detect", people, "--output", out).exit_code == 0
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".xlsx": pd.read_excel}
    judged, given = readers[ending](out), pd.read_csv(people)
    assert judged["patient_id"].tolist() == given["patient_id"].tolist()
    assert set(np.flatnonzero(judged["eos_is_outlier"]) + 1) == MISTAKES
    assert judged["eos_weight"].mean() == pytest.approx(1.0)
    assert judged["eos_p_value"].between(0, 1).all()
    assert "weight_kg=700" in judged["eos_reason"][77]


def test_you_decide_how_missing_values_are_handled(people):
    table = pd.read_csv(people)
    table.loc[[10, 20], "bp"] = np.nan
    table.to_csv(people, index=False)
    out = people.with_name("out.csv")
    kept = run("detect", people, "-o", out)
    assert kept.exit_code == 0, kept.output
    judged = pd.read_csv(out)
    assert judged["eos_p_value"].notna().all()
    assert set(np.flatnonzero(judged["eos_is_outlier"]) + 1) == MISTAKES
    refused = run("detect", people, "--missing", "error")
    assert refused.exit_code == 2
    assert "'bp' 2" in refused.stderr
    assert "--missing drop" in refused.stderr
    assert run("detect", people, "--missing", "drop", "-o", out, "--force").exit_code == 0
    judged = pd.read_csv(out)
    assert len(judged) == len(table)
    assert judged["eos_p_value"].isna().sum() == 2


def test_a_row_without_any_value_gets_no_verdict(people):
    table = pd.read_csv(people)
    table.loc[10] = np.nan
    table.to_csv(people, index=False)
    found = run("detect", people, "--json")
    assert found.exit_code == 0, found.output
    summary = json.loads(found.stdout)
    assert 11 not in {row["row"] for row in summary["flagged"]}
    assert any("1 row has no value at all" in note for note in summary["notes"])


def test_standard_input(people):
    found = run("detect", "-", "--columns", "height_cm,weight_kg", input=people.read_bytes())
    assert found.exit_code == 0, found.output
    assert "standard input" in found.stdout
    assert "2 columns" in found.stdout


def test_existing_files_are_refused_before_any_work(people, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("mine")
    refused = run("detect", people, "-o", out)
    assert refused.exit_code == 2
    assert out.read_text() == "mine"
    assert run("detect", people, "-o", out, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detect", "nothing.csv"], "File not found"),
        (["detect", "{people}", "--columns", "shoe"], "no column 'shoe'"),
        (["detect", "{people}", "--alpha", "-1"], "alpha"),
        (["labels", "{people}", "--target", "shoe"], "no column 'shoe'"),
        (["detect", "{people}", "--output", "out.doc"], "unrecognised file extension"),
        (["detect", "{people}", "--kind", "shoe=levels"], "no column 'shoe'"),
        (["detect", "{people}", "--kind", "bp=nominal"], "'nominal' of column 'bp' is unknown"),
        (["detect", "{people}", "--kind", "bp"], "write COLUMN=KIND"),
        (["detect", "{people}", "--kind", "sex=number"], "'sex' cannot be of kind 'number'"),
        (["detect", "{people}", "--model", "gaussian", "--kind", "bp=levels"], "kinds applies to"),
        (["detect", "{people}", "--model", "spline"], "'spline' is not one of"),
        (["detect", "{people}", "--groups", "ignore"], "'ignore' is not one of"),
    ],
)
def test_usage_errors_are_explained(people, arguments, message):
    found = run(*(argument.format(people=people) for argument in arguments))
    assert found.exit_code == 2
    assert message in found.output


def test_a_collapse_has_its_own_exit_code(people):
    found = run("detect", people, "--alpha", "0.0001")
    assert found.exit_code == 3
    assert "Use a larger alpha" in found.stderr


def test_warnings_are_notes(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(180, 3)), columns=list("abc"))
    table.loc[:150, "c"] = 0.0
    table.to_csv(tmp_path / "t.csv", index=False)
    found = run("detect", tmp_path / "t.csv", "--model", "gaussian", "--json")
    assert any("of the rows have c = 0" in note for note in json.loads(found.stdout)["notes"])


def test_a_saved_model_scores_another_table(people, tmp_path):
    model = tmp_path / "m.eos"
    assert run("detect", people, "--save-model", model).exit_code == 0
    # Another order, an additional column, an unknown category.
    new = pd.read_csv(people).iloc[::-1].assign(more=1)
    new["sex"] = new["sex"].where(new.index != 0, "unknown")
    new = new[new.columns[::-1]]
    new.to_csv(tmp_path / "new.csv", index=False)
    found = run("score", model, tmp_path / "new.csv", "--json")
    assert found.exit_code == 0, found.output
    rows = {500 - row["row"] + 1 for row in json.loads(found.stdout)["flagged"]}
    assert rows == MISTAKES


def test_unseen_categories_are_named_and_not_blamed(people, tmp_path):
    model = tmp_path / "m.eos"
    assert run("detect", people, "--save-model", model).exit_code == 0
    new = pd.read_csv(people).drop(index=[5, 77, 200, 300])
    new.loc[new.index[:3], "sex"] = ["x", "d", "x"]
    new.to_csv(tmp_path / "new.csv", index=False)
    summary = json.loads(run("score", model, tmp_path / "new.csv", "--json").stdout)
    assert any("not seen 'd', 'x' in column 'sex'" in note for note in summary["notes"])
    assert summary["flagged"] == []


def test_a_model_needs_its_columns(people, tmp_path):
    model = tmp_path / "m.eos"
    run("detect", people, "--save-model", model)
    pd.read_csv(people).drop(columns="bp").to_csv(tmp_path / "new.csv", index=False)
    found = run("score", model, tmp_path / "new.csv")
    assert found.exit_code == 2
    assert "lacks columns that the model uses: 'bp'" in found.stderr


def detected(path, *options):
    found = run("detect", path, "--json", *options)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_the_rung_and_its_reason_are_told(people):
    summary = detected(people)
    model = summary["model"]
    assert (model["rung"], model["promise"]) == ("gaussian", True)
    assert model["reason"] == "Good rows are described by one Gaussian."
    kinds = {column["name"]: column["kind"] for column in summary["columns"]}
    assert kinds == {
        "patient_id": None, "visit": None, "sex": "category", "height_cm": "number",
        "comment": None, "weight_kg": "number", "bp": "number",
    }  # fmt: skip
    assert "Good rows are described by one Gaussian." in run("detect", people).stdout


@pytest.mark.parametrize("rung", ["margins", "groups", "local"])
def test_every_model_can_be_asked_for(people, tmp_path, rung):
    table = pd.read_csv(people)
    if rung == "margins":  # there is nothing to bend otherwise
        table["bp"] = np.exp(table["bp"] / 20)
    if rung == "groups":
        table["bp"] += 200 * (table.index % 2)
    table.to_csv(people, index=False)
    model = tmp_path / "m.eos"
    summary = detected(people, "--model", rung, "--save-model", model)
    assert summary["model"]["rung"] == rung
    assert {6, 78} <= {row["row"] for row in summary["flagged"]}
    again = json.loads(run("score", model, people, "--json").stdout)
    for name in ("rung", "reason"):
        assert again["model"][name] == summary["model"][name]
    assert again["model"]["promise"] is False  # whatever the training table promised
    assert (again["model"]["chance"] is not None) == summary["model"]["promise"]
    assert [row["row"] for row in again["flagged"]] == [row["row"] for row in summary["flagged"]]
    assert again["groups"] == summary["groups"]


def test_groups_are_fitted_if_asked_for_though_one_is_enough(people):
    summary = detected(people, "--model", "groups")
    assert summary["model"]["rung"] == "groups"


def test_one_gaussian_takes_numbers_only(people):
    summary = detected(people, "--model", "gaussian")
    assert summary["model"]["rung"] is None
    sex = next(column for column in summary["columns"] if column["name"] == "sex")
    assert (sex["role"], sex["why"]) == ("ignored", "one Gaussian takes only numbers")


def test_kinds_can_be_given(people):
    summary = detected(people, "--kind", "sex=ignored", "--kind", "bp=category")
    columns = {column["name"]: column for column in summary["columns"]}
    assert columns["sex"]["role"] == "ignored"
    assert columns["bp"]["kind"] == "category"


@pytest.fixture
def two_groups(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1000, 3)), columns=["x0", "x1", "x2"])
    table.loc[:299, "x0"] += 12
    table.to_csv(tmp_path / "groups.csv", index=False)
    return tmp_path / "groups.csv"


def test_groups_are_one_statement_and_no_promise(two_groups):
    summary = detected(two_groups)
    (group,) = summary["groups"]
    assert (group["n_rows"], group["columns"], group["is_outlier"]) == (300, ["x0"], True)
    assert group["centre"]["x0"] == pytest.approx(12, abs=0.3)
    assert summary["model"]["promise"] is False
    printed = run("detect", two_groups, "--top", "0").stdout
    assert "No error rate can be promised because 300 rows (30.0%) sit apart" in printed
    assert "--groups kinds" in printed
    assert "false" not in printed
    kinds = detected(two_groups, "--groups", "kinds")
    assert kinds["n_flagged"] < 5
    assert not any(found["is_outlier"] for found in kinds["groups"])


def test_dates_are_used(people):
    table = pd.read_csv(people)
    rng = np.random.default_rng(1)
    days = pd.Series(rng.normal(0, 200, len(table)).round())
    table["born"] = (pd.Timestamp("1980-01-01") + pd.to_timedelta(days, "D")).dt.strftime(
        "%d.%m.%Y"
    )
    table.loc[9, "born"] = "01.02.2080"
    table.to_csv(people, index=False)
    summary = detected(people)
    assert {row["row"] for row in summary["flagged"]} == MISTAKES | {10}
    found = next(row for row in summary["flagged"] if row["row"] == 10)
    assert found["reasons"][0]["column"] == "born"
    assert found["reasons"][0]["value"] == "01.02.2080"
    born = next(column for column in summary["columns"] if column["name"] == "born")
    assert (born["role"], born["kind"]) == ("date", "date")


def test_a_combination_that_does_not_occur_is_the_reason(tmp_path):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 2000)
    table = pd.DataFrame({"sex": sex, "height": rng.normal(170, 9, 2000).round(1)})
    table["pregnant"] = np.where((sex == "f") & (rng.random(2000) < 0.3), "yes", "no")
    table.loc[np.flatnonzero(sex == "m")[3], "pregnant"] = "yes"
    table.to_csv(tmp_path / "t.csv", index=False)
    summary = detected(tmp_path / "t.csv", "--report", tmp_path / "r.html")
    (row,) = summary["flagged"]
    assert row["row"] == np.flatnonzero(sex == "m")[3] + 1
    assert {reason["column"]: reason["value"] for reason in row["reasons"]} == {
        "sex": "m", "pregnant": "yes",
    }  # fmt: skip


def test_a_level_out_of_range_is_the_reason(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    table["rating"] = rng.integers(1, 6, 400)
    table.loc[17, "rating"] = 999
    table.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.eos"
    (row,) = detected(tmp_path / "t.csv", "--save-model", model)["flagged"]
    assert (row["row"], row["reasons"]) == (
        18, [{"column": "rating", "value": "999", "share": 1.0}],
    )  # fmt: skip
    (again,) = json.loads(run("score", model, tmp_path / "t.csv", "--json").stdout)["flagged"]
    assert again["row"] == 18


@pytest.fixture
def tumours(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    table = load_breast_cancer(as_frame=True).frame.rename(columns={"target": "diagnosis"})
    table["diagnosis"] = np.where(table["diagnosis"] == 1, "benign", "malignant")
    wrong = np.random.default_rng(0).choice(len(table), 30, replace=False)
    table.loc[wrong, "diagnosis"] = np.where(
        table.loc[wrong, "diagnosis"] == "benign", "malignant", "benign"
    )
    path = tmp_path / "tumours.csv"
    table.to_csv(path, index=False)
    return path, set(wrong + 1)


def test_labels_finds_most_wrong_ones_and_suggests_the_right_ones(tumours, tmp_path):
    path, wrong = tumours
    out = tmp_path / "out.csv"
    found = run("labels", path, "--target", "diagnosis", "--json", "-o", out)
    assert found.exit_code == 0, found.output
    summary = json.loads(found.stdout)
    flagged = {row["row"] for row in summary["flagged"]}
    assert len(flagged & wrong) >= 16
    assert len(flagged - wrong) <= 3
    assert summary["task"] == "classification"
    quality = summary["quality"]
    assert quality["without"] >= quality["with"] - 0.01
    counts = np.array(summary["matrix"]["counts"])
    assert counts.sum() == summary["n_flagged"]
    assert np.trace(counts) == 0
    judged = pd.read_csv(out)
    assert set(np.flatnonzero(judged["eos_is_outlier"]) + 1) == flagged
    assert judged["eos_suggested"].isin(["benign", "malignant"]).all()


def test_labels_of_a_regression(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    table["price"] = 3 * table["a"] - table["b"] + rng.normal(0, 0.2, 300)
    table.loc[[4, 40], "price"] += 9
    table.loc[100, "price"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    found = run("labels", tmp_path / "t.csv", "--target", "price")
    assert found.exit_code == 0, found.output
    assert "labels in price are treated as numbers to predict" in found.stdout
    assert "1 row without a label was left out" in found.stdout
    summary = json.loads(run("labels", tmp_path / "t.csv", "--target", "price", "--json").stdout)
    assert {5, 41} <= {row["row"] for row in summary["flagged"]}


def test_labels_are_predicted_by_the_learner_that_is_asked_for(tmp_path, monkeypatch):
    """A line through prices that are zero for small flats would suggest prices below zero."""
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.uniform(0, 10, 300), "rooms": rng.uniform(1, 5, 300)})
    table["price"] = np.maximum(20 * (table["size"] - 5), 0) + rng.uniform(1, 2, 300)
    table.loc[[4, 40], "price"] = 900.0
    table.to_csv(tmp_path / "t.csv", index=False)
    for learner, told in (("auto", "boosted trees, which predict held-out labels better"),
                          ("linear", "predicted by a linear model.")):  # fmt: skip
        out = tmp_path / f"{learner}.csv"
        found = run("labels", tmp_path / "t.csv", "--target", "price", "--learner", learner,
                    "--output", out)  # fmt: skip
        assert found.exit_code == 0, found.output
        assert told in found.stdout
        judged = pd.read_csv(out)
        assert judged["eos_suggested"].min() >= 1.0
        assert judged["eos_is_outlier"][[4, 40]].all()


def test_classes_that_overlap_get_no_promise(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    kinds = np.where(table["a"] + rng.normal(0, 0.7, 400) > 0, "x", "y")
    table["kind"] = np.where(rng.random(400) < 0.25, np.where(kinds == "x", "y", "x"), kinds)
    table.to_csv(tmp_path / "t.csv", index=False)
    summary = json.loads(run("labels", tmp_path / "t.csv", "--target", "kind", "--json").stdout)
    assert summary["model"]["promise"] is False
    assert summary["model"]["promise_reason"]


def test_rows_without_a_label_stay_in_the_output(tumours, tmp_path):
    path, wrong = tumours
    table = pd.read_csv(path)
    table.loc[:49, "diagnosis"] = None
    table.to_csv(path, index=False)
    out = tmp_path / "out.csv"
    found = run("labels", path, "--target", "diagnosis", "--json", "-o", out)
    assert found.exit_code == 0, found.output
    flagged = {row["row"] for row in json.loads(found.stdout)["flagged"]}
    assert min(flagged) > 50
    assert len(flagged & wrong) > len(flagged) / 2
    judged = pd.read_csv(out)
    assert len(judged) == len(table)
    assert judged["eos_p_wrong"].isna().sum() == 50
    assert set(np.flatnonzero(judged["eos_is_outlier"]) + 1) == flagged


def test_hostile_cells_print_as_text(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["[bold]x", "=cmd()"])
    table.insert(0, "id", [f"[red]{i}[/red]" for i in range(200)])
    table.loc[3, "=cmd()"] = 50
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out.csv"
    found = run("detect", tmp_path / "t.csv", "-o", out)
    assert "[red]3[/red]" in found.stdout
    # A reason that looks like a formula is written as text.
    assert pd.read_csv(out)["eos_reason"][3].startswith("'=cmd()=50")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table in three files; row 701 has a mistake."""
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(900, 3)), columns=["a", "b", "c"])
    table["key"] = [f"k{i:04d}" for i in range(900)]
    table["kind"] = rng.choice(["x", "y"], 900)
    table.loc[700, "b"] = 40.0
    place = tmp_path / "rows"
    place.mkdir()
    for i in range(3):
        table[300 * i : 300 * (i + 1)].to_parquet(place / f"part-{i}.parquet", index=False)
    return place


def test_a_folder_is_streamed(folder, tmp_path):
    out = tmp_path / "out.parquet"
    found = run("detect", folder, "-o", out, "--json")
    assert found.exit_code == 0, found.output
    summary = json.loads(found.stdout)
    best = summary["flagged"][0]
    assert (best["row"], best["id"]) == (701, "k0700")
    assert best["reasons"][0]["column"] == "b"
    judged = pd.read_parquet(out)
    assert judged["key"].tolist() == [f"k{i:04d}" for i in range(900)]
    assert judged["eos_is_outlier"][700]
    roles = {column["name"]: column["role"] for column in summary["columns"]}
    assert roles["kind"] == "category"
    printed = run("detect", folder)
    assert "k0700" in printed.stdout


def test_reports_of_streamed_tables_cannot_hold_all_cells(folder, tmp_path):
    refused = run("detect", folder, "--report", tmp_path / "r.html", "--embed", "all")
    assert refused.exit_code == 2
    assert "fits into memory" in refused.stderr
    assert not (tmp_path / "r.html").exists()


def test_a_folder_of_csv_files_is_streamed_too(folder, tmp_path):
    place = tmp_path / "text"
    place.mkdir()
    for part in folder.iterdir():
        pd.read_parquet(part).to_csv(place / f"{part.stem}.csv", index=False)
    found = run("detect", place, "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["flagged"][0]["row"] == 701
