"""Reports are complete, inert and small; tests/browser checks how they behave."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from eosparse import EOSDetector
from eosparse.cli.app import app
from eosparse.report.html import render_inert_json
from eosparse.tables import TableFile, outlier_map, recognise_columns, take_cells
from eosparse.tables.detection import score_training_rows

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>"


def report_of(frame, path, *options, command=("detect",)):
    table = path / "table.csv"
    frame.to_csv(table, index=False)
    out = path / "report.html"
    arguments = [command[0], str(table), *command[1:], "--report", str(out), "--force", *options]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    return out.read_text(encoding="utf-8")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    frame.insert(0, "name", [f"secret{i}" for i in range(300)])
    frame.loc[7, "b"] = 30
    return frame


def data_of(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found.group(1))


def test_only_flagged_rows_are_embedded_unless_asked(frame, tmp_path):
    text = report_of(frame, tmp_path)
    assert "secret7" in text
    assert "secret8" not in text
    assert "only the cells of flagged rows" in text
    assert "secret8" in report_of(frame, tmp_path, "--embed", "all")
    frame["level"] = ["sealed" if i == 3 else str(0.5 + i % 7) for i in range(len(frame))]
    frame["site"] = "undisclosed"
    options = ("--missing", "drop", "--embed")
    assert all(cell in report_of(frame, tmp_path, *options, "flagged") for cell in
               ("secret7", "sealed", "undisclosed"))  # fmt: skip
    nothing = report_of(frame, tmp_path, *options, "none")
    assert not any(cell in nothing for cell in ("secret7", "sealed", "undisclosed"))
    assert all(r["value"] is None for row in data_of(nothing)["flagged"] for r in row["reasons"])


def test_nothing_is_fetched_and_only_our_script_may_run(frame, tmp_path):
    text = report_of(frame, tmp_path)
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert "default-src 'none'" in text
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}'", text)
    assert not re.search(r"\son\w+=", text.split("<script")[0])


def test_hostile_names_and_cells_are_text(frame, tmp_path):
    frame = frame.rename(columns={"b": HOSTILE})
    frame.loc[7, "name"] = HOSTILE
    text = report_of(frame, tmp_path)
    assert text.count("<script") == 2
    assert "<img" not in text
    assert data_of(text)["flagged"][0]["reasons"][0]["column"] == HOSTILE


def test_json_cannot_leave_its_element():
    text = render_inert_json({"x": "</script>\u2028&<!--"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"x": "</script>\u2028&<!--"}


def test_a_large_table_makes_a_small_file(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(25_000, 8)), columns=[f"column {i}" for i in range(8)])
    frame.iloc[:8000] += 9
    frame = frame.round(3)
    text = report_of(frame, tmp_path)
    assert len(text.encode()) < 3_000_000
    data = data_of(text)
    assert len(data["flagged"]) == 2000
    assert "lists the first 2,000 of" in text
    assert sum(data["map"]["is_flagged"]) == 4000
    assert len(data["map"]["row"]) == 8000


def test_a_table_without_outliers(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    text = report_of(frame, tmp_path)
    assert "No row is flagged." in text
    assert "is an outlier" in text


@pytest.fixture
def skewed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": np.exp(rng.normal(size=800)), "size": rng.normal(size=800)})
    frame.loc[7, "size"] = 30
    return frame


def test_bent_columns_have_a_picture(skewed, tmp_path):
    text = report_of(skewed, tmp_path)
    (picture,) = data_of(text)["map"]["margins"]
    assert picture["column"] == "income"
    assert picture["words"].startswith("skewed to the right: ")
    assert sum(picture["counts"]) + picture["n_beyond"] == 800
    # The law expects about as many values as there are, in every part of the picture.
    expected = np.array(picture["expected"]).reshape(-1, 4).mean(axis=1)
    assert expected.sum() == pytest.approx(sum(picture["counts"]), rel=0.02)
    assert np.abs(expected - picture["counts"]).max() < 30
    assert "Columns that were bent" in text
    assert data_of(text)["map"]["path"] is None
    assert 'id="alpha"' not in text
    hidden = report_of(skewed, tmp_path, "--embed", "none")
    assert data_of(hidden)["map"]["margins"] == []


def test_gaps_of_bent_columns_are_not_in_their_picture(skewed, tmp_path):
    skewed.loc[20:59, "income"] = np.nan
    (picture,) = data_of(report_of(skewed, tmp_path))["map"]["margins"]
    assert sum(picture["counts"]) + picture["n_beyond"] == 760
    assert np.isfinite(picture["edges"] + picture["expected"]).all()


def test_a_report_promises_nothing_that_does_not_hold(frame, tmp_path):
    frame["rain"] = np.maximum(np.random.default_rng(1).normal(size=len(frame)), 0)
    text = report_of(frame, tmp_path)
    assert "No error rate can be promised" in text
    assert "false-discovery" not in text
    assert "are false alarms:" not in text
    data = data_of(text)
    assert data["map"]["label"].startswith("surprise")
    assert data["flagged"][0]["row"] == 8


def test_groups_are_listed(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1000, 3)), columns=["x0", "x1", "x2"])
    frame.loc[:299, "x0"] += 12
    text = report_of(frame, tmp_path)
    assert re.search(r'<td class="number">300</td><td class="number">30.0%</td><td>outliers', text)
    assert "--groups kinds" in text
    assert len(data_of(text)["flagged"]) == 300
    assert re.search(r"<bdi>x0 = 1[12]\.?\d*, x1 = ", text)
    hidden = report_of(frame, tmp_path, "--embed", "none")
    assert not re.search(r"<bdi>x0 = ", hidden)


def test_labels_report(frame, tmp_path):
    frame["kind"] = np.where(frame["a"] > 0, "left", "right")
    frame["a"] += np.sign(frame["a"])
    frame.loc[7, "kind"] = "left" if frame.loc[7, "kind"] == "right" else "right"
    text = report_of(frame, tmp_path, command=("labels", "--target", "kind"))
    assert "Given and suggested" in text
    assert data_of(text)["flagged"][0]["row"] == 8
    assert "balanced accuracy" in text


def test_confused_classes_are_listed_worst_first(tmp_path):
    rng = np.random.default_rng(0)
    kinds = np.repeat(["ant", "bee", "cat"], 120)
    x, y = np.repeat([0.0, 8.0, 0.0], 120), np.repeat([0.0, 0.0, 8.0], 120)
    frame = pd.DataFrame({"x": x, "y": y}) + rng.normal(size=(360, 2))
    kinds[:6], kinds[240:252] = "cat", "bee"
    text = report_of(frame.assign(kind=kinds), tmp_path, command=("labels", "--target", "kind"))
    pairs = re.findall(
        r"<tr><td><bdi>(\w+)</bdi></td><td><bdi>(\w+)</bdi></td><td class=.number.>(\d+)</td>", text
    )
    assert pairs[:2] == [("bee", "cat", "12"), ("cat", "ant", "6")]
    assert "correct after all: the classes overlap little enough" in text
    assert "own kind" not in text


def test_the_path_of_training_rows_needs_no_second_search(frame, monkeypatch):
    numbers = frame[["a", "b", "c"]]
    detector = EOSDetector().fit(numbers)
    expected = detector.path(numbers)
    monkeypatch.setattr(EOSDetector, "_climb", None)
    path = outlier_map.follow_training(detector, numbers)
    np.testing.assert_array_equal(path.alphas, expected.alphas)
    np.testing.assert_array_equal(path.is_outlier, expected.is_outlier)


def test_the_path_of_the_rows_shown_is_that_of_all_rows(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(10_000, 4)), columns=list("abcd"))
    frame.iloc[:200] += rng.normal(0, 6, (200, 4))
    columns = recognise_columns(frame)
    cells = take_cells(frame, columns)
    detector = EOSDetector().fit(frame)
    scored = score_training_rows(TableFile(frame, "table"), columns, cells, detector)
    whole = outlier_map.map_outliers(scored).path
    monkeypatch.setattr(outlier_map, "_MAX_PATH_NUMBERS", 1000)
    sampled = outlier_map.map_outliers(scored).path
    assert (whole.is_of_sample, sampled.is_of_sample) == (False, True)
    chosen = [path.n_flagged[path.chosen] for path in (whole, sampled)]
    assert chosen[1] == pytest.approx(chosen[0], rel=0.03)
    assert sampled.effective_rows[0] == pytest.approx(whole.effective_rows[0], rel=0.01)
