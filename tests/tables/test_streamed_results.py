"""Copies, reports, models and scores of a table on disk are those of the same rows in memory."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from table_parts import WRITERS, add_gaps, check_same, detect, make_table, run, write_parts

from eosparse.tables import stream_judging, survey

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", " =x", "\t=x", "-1.5", "+49", "a", ""]


def write_formulas(path):
    """Write a table with formulas in cells and in the header."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(0, 9, (200, 2)).round(2), columns=["x", "-y"])
    frame.loc[30, "x"] = 900.25
    frame["=note"] = np.resize(FORMULAS, 200)
    WRITERS[path.suffix[1:]](frame, path)


@pytest.mark.parametrize(
    ("source", "ending"), [("csv", "csv"), ("csv", "csv.gz"), ("tsv", "csv"), ("parquet", "tsv")]
)
def test_safe_copies_of_parts_are_those_of_one_file(tmp_path, source, ending):
    (tmp_path / "parts").mkdir()
    for path in (tmp_path / f"all.{source}", tmp_path / "parts" / f"all.{source}"):
        write_formulas(path)
        detect(path if path.parent == tmp_path else path.parent, "--safe", "-o",
               tmp_path / f"{path.parent.name == 'parts'}.{ending}")  # fmt: skip
    separator = "\t" if ending == "tsv" else ","
    streamed, whole = (
        pd.read_csv(tmp_path / f"{name}.{ending}", sep=separator, dtype=str, keep_default_na=False)
        for name in (True, False)
    )
    assert list(streamed.columns[:3]) == ["x", "'-y", "'=note"]
    numbers = {"x": float, "'-y": float}
    pd.testing.assert_frame_equal(
        streamed.iloc[:, :3].astype(numbers), whole.iloc[:, :3].astype(numbers)
    )
    wanted = [f"'{cell}" if cell.strip(" \t")[:1] in ("=", "@") or cell in FORMULAS[1:3] else cell
              for cell in FORMULAS]  # fmt: skip
    assert streamed["'=note"].tolist()[:10] == wanted


def test_a_copy_is_written_as_its_input_is(tmp_path):
    """Separator, decimal mark, encoding, line ends and missing names are those of the input."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(100, 9, size=(300, 2)).round(2), columns=["größe", "b"])
    frame.loc[30, "b"] = 900.25
    (tmp_path / "parts").mkdir()
    for path in (tmp_path / "all.csv", tmp_path / "parts" / "all.csv"):
        frame.to_csv(path, sep=";", decimal=",", encoding="cp1252", lineterminator="\r\n")
    detect(tmp_path / "parts", "-o", tmp_path / "streamed.csv")
    detect(tmp_path / "all.csv", "-o", tmp_path / "whole.csv")
    found, wanted = ((tmp_path / f"{name}.csv").read_bytes() for name in ("streamed", "whole"))
    assert found.split(b"\r\n")[0] == wanted.split(b"\r\n")[0]
    rows = [list(csv.reader(text.decode("cp1252").splitlines(), delimiter=";"))
            for text in (found, wanted)]  # fmt: skip
    for one, other in zip(*rows, strict=True):
        assert one[:3] + one[5:] == other[:3] + other[5:]
        if one[3] != "eos_weight":
            numbers = [[float(cell.replace(",", ".")) for cell in row[3:5]] for row in (one, other)]
            assert numbers[0] == pytest.approx(numbers[1], rel=1e-9)
            assert "." not in "".join(one[3:5])


def test_types_of_a_copy_are_those_of_one_file(tmp_path):
    """Text becomes numbers in Parquet only where nothing is lost, in whatever part."""
    rng = np.random.default_rng(0)
    cells = {
        "padded": ["00123", "5"], "large": ["9007199254740993", ""], "mark": ["NA", "x"],
        "power": ["1E5", "2"], "late": ["1"] * 199 + ["007"], "count": ["1", "22"],
        "gap": ["NA", "1.5"], "x": [f"{x:.3f}" for x in rng.normal(size=200)],
    }  # fmt: skip
    frame = pd.DataFrame({name: np.resize(texts, 200) for name, texts in cells.items()})
    frame.to_csv(tmp_path / "all.csv", index=False)
    write_parts(frame, tmp_path / "parts", "csv")
    for source, name in (("parts", "streamed"), ("all.csv", "whole")):
        found = run(
            "detect", tmp_path / source, "--columns", "x", "-o", tmp_path / f"{name}.parquet"
        )
        assert found.exit_code == 0, found.output
    streamed, whole = (pd.read_parquet(tmp_path / f"{n}.parquet") for n in ("streamed", "whole"))
    pd.testing.assert_frame_equal(streamed.iloc[:, :8], whole.iloc[:, :8])


def read_page(path):
    """Return the data of a report, and its text."""
    page = path.read_text(encoding="utf-8")
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.S)
    return json.loads(found[1]), page


def detect_with_report(source, path):
    assert run("detect", source, "--report", path, "--force").exit_code == 0
    return read_page(path)[0]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_report_of_parts_is_that_of_one_file(tmp_path, ending):
    """With few rows all of them are shown, and the pictures are the same."""
    table = add_gaps(make_table())
    WRITERS[ending](table, tmp_path / f"all.{ending}")
    whole = detect_with_report(tmp_path / f"all.{ending}", tmp_path / "w.html")
    parts = write_parts(table, tmp_path / "parts", ending)
    streamed = detect_with_report(parts, tmp_path / "s.html")
    assert streamed["cells"] == whole["cells"]
    assert streamed["usual"] == whole["usual"]
    assert streamed["map"]["row"] == whole["map"]["row"]
    assert streamed["map"]["n_left_out"] == 0
    for name in ("distance", "is_flagged"):
        assert streamed["map"][name] == pytest.approx(whole["map"][name], rel=1e-4)
    for name in ("expected", "observed"):
        found, wanted = (page["map"]["quantiles"][name] for page in (streamed, whole))
        assert found == pytest.approx(wanted, rel=1e-4)


def test_the_pictures_of_many_rows_are_drawn_from_a_sample(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 3)), columns=list("abc"))
    frame["skewed"] = np.exp(rng.normal(size=3000))
    frame.loc[:39, "a"] += 30
    whole_file = tmp_path / "all.csv"
    frame.to_csv(whole_file, index=False)
    whole = detect_with_report(whole_file, tmp_path / "w.html")
    monkeypatch.setattr(stream_judging, "MAX_SHOWN", 300)
    monkeypatch.setattr("eosparse.tables.stream_report.MAX_SHOWN", 300)
    parts = write_parts(frame, tmp_path / "parts", "csv")
    streamed = detect_with_report(parts, tmp_path / "s.html")
    shown = streamed["map"]
    n_flagged = len(whole["flagged"])
    assert sum(shown["is_flagged"]) == n_flagged == len(streamed["flagged"])
    assert len(shown["row"]) == n_flagged + 300
    assert shown["n_left_out"] == 3000 - len(shown["row"])
    assert np.ptp(shown["row"]) > 2900  # from all over the table
    assert "300 of the 2,9" in read_page(tmp_path / "s.html")[1]
    for found, wanted in zip(shown["margins"], whole["map"]["margins"], strict=True):
        n_values = sum(wanted["counts"]) + wanted["n_beyond"]
        assert sum(found["counts"]) + found["n_beyond"] == pytest.approx(n_values, abs=40)
    # The law of the p-values, at the median: half of the rows lie below a half.
    quantiles = shown["quantiles"]
    middle = np.interp(-np.log10(0.5), quantiles["expected"][::-1], quantiles["observed"][::-1])
    assert middle == pytest.approx(-np.log10(0.5), abs=0.06)


def score(model, source, *arguments):
    found = run("score", model, source, "--json", "--top", 0, *arguments)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


@pytest.mark.parametrize("ending", ["csv", "csv.xz", "jsonl", "parquet", "feather"])
def test_models_and_scores_of_parts_are_those_of_one_file(tmp_path, ending):
    """Fitted to parts or to one file, applied to parts or to one file: the same numbers."""
    table = add_gaps(make_table())
    new = table.sample(400, random_state=2).reset_index(drop=True)
    new.loc[3, "sex"] = "unknown"
    new.loc[[50, 350], "weight"] = [700.0, 1.5]
    new["is_member"] = new["is_member"].astype(object)
    new.loc[5, ["height", "weight", "sex", "seen", "price", "grade", "is_member", "count"]] = None
    new.loc[7, "price"] = "€"
    for name, frame in (("all", table), ("new", new)):
        WRITERS[ending](frame, tmp_path / f"{name}.{ending}")
        write_parts(frame, tmp_path / name, ending)
    detect(tmp_path / f"all.{ending}", "--save-model", tmp_path / "whole.eos")
    detect(tmp_path / "all", "--save-model", tmp_path / "streamed.eos")
    wanted = score(tmp_path / "whole.eos", tmp_path / f"new.{ending}", "-o", tmp_path / "w.csv")
    assert any("not seen 'unknown'" in note for note in wanted["notes"])
    whole = pd.read_csv(tmp_path / "w.csv")
    cases = [("streamed", f"new.{ending}"), ("whole", "new"), ("streamed", "new")]
    for number, (model, source) in enumerate(cases):
        out = tmp_path / f"{number}.csv"
        found = score(tmp_path / f"{model}.eos", tmp_path / source, "-o", out)
        check_same(found, wanted)
        assert set(wanted["notes"]) - set(found["notes"]) == set()
        for name in ("eos_weight", "eos_p_value"):
            np.testing.assert_allclose(pd.read_csv(out)[name], whole[name], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("arguments", [["--missing", "drop"], ["--level", "0.2"]])
def test_options_of_score_mean_the_same(tmp_path, arguments):
    table = add_gaps(make_table())
    WRITERS["csv"](table, tmp_path / "all.csv")
    parts = write_parts(table, tmp_path / "parts", "csv")
    detect(parts, "--save-model", tmp_path / "m.eos")
    found, wanted = (score(tmp_path / "m.eos", source, *arguments)
                     for source in (parts, tmp_path / "all.csv"))  # fmt: skip
    check_same(found, wanted)


def test_parts_that_do_not_fit_a_model_are_refused_by_name(tmp_path):
    table = make_table()
    detect(write_parts(table, tmp_path / "parts", "csv"), "--save-model", tmp_path / "m.eos")
    less = write_parts(table.drop(columns="grade"), tmp_path / "less", "csv")
    text = write_parts(table.assign(grade="x"), tmp_path / "text", "csv")
    for source, message in (
        (less, "less lacks columns that the model uses: 'grade'"),
        (text, "Column 'grade' held numbers when the model was fitted"),
    ):
        found = run("score", tmp_path / "m.eos", source)
        assert found.exit_code == 2
        assert message in " ".join(found.stderr.split())


def test_scores_from_a_sample_of_roles(tmp_path, monkeypatch):
    """A category that only the last rows hold is named all the same."""
    table = make_table(6000)
    detect(write_parts(table, tmp_path / "parts", "csv"), "--save-model", tmp_path / "m.eos")
    table.loc[5999, "sex"] = "late"
    new = write_parts(table, tmp_path / "new", "csv")
    monkeypatch.setattr(survey, "_MOST_ROWS", 1500)
    assert any("not seen 'late'" in note for note in score(tmp_path / "m.eos", new)["notes"])


@pytest.mark.parametrize("source", ["all.csv", "parts"])
def test_a_group_without_rows_does_not_spoil_the_saved_model(tmp_path, source):
    """Categories explain the groups, and nothing is left for the second one."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 300), "x": rng.normal(size=300)})
    frame["x"] += 4 * (frame["g"] == "b")
    frame["y"] = frame["x"] + rng.normal(0, 0.2, 300)
    frame.to_csv(tmp_path / "all.csv", index=False)
    write_parts(frame, tmp_path / "parts", "csv")
    options = ["--model", "groups", "--save-model", tmp_path / "m.eos"]
    detect(tmp_path / source, *options)
    assert score(tmp_path / "m.eos", tmp_path / source)["n_flagged"] == 0
