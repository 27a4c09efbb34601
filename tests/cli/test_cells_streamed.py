"""``eosparse cells`` of folders and large files: the same cells as of one file in memory."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from eosparse.cli.app import app


def run(*arguments):
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert found.exit_code == 0, found.output
    return found


def make_table():
    rng = np.random.default_rng(1)
    n = 900
    sex = rng.choice(["f", "m"], n)
    height = rng.normal(140, 6, n) + 40 * (sex == "m")
    table = pd.DataFrame(
        {
            "code": [f"{i:06d}" for i in range(n)],
            "sex": sex,
            "height": height.round(1),
            "weight": (0.9 * height - 85 + rng.normal(0, 4, n)).round(2),
            "shoe": (0.25 * height + rng.normal(0, 0.6, n)).round().astype(int),
            "visit": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "remark": [f"seen {i}, twice" for i in range(n)],
        }
    )
    tallest = table["height"].nlargest(2).index
    table.loc[tallest, "sex"] = "f"
    table.loc[[3, 700], "height"] = [17.2, 1700.0]
    table.loc[450, "shoe"] = 420
    table.loc[451, "weight"] = -64.5
    table.loc[rng.choice(n, 40, replace=False), "weight"] = np.nan
    return table


def store(table, folder, extension, **options):
    """Write a table as one file, and in three parts; return both places."""
    write = pd.DataFrame.to_parquet if extension == "parquet" else pd.DataFrame.to_csv
    parts = folder / "parts"
    parts.mkdir()
    for i in range(3):
        part = table.iloc[300 * i : 300 * (i + 1)]
        write(part, parts / f"{i}.{extension}", index=False, **options)
    write(table, folder / f"whole.{extension}", index=False, **options)
    return folder / f"whole.{extension}", parts


LAYOUTS = {
    "parquet": ("parquet", {}),
    "csv": ("csv", {}),
    "decimal comma": ("csv", {"sep": ";", "decimal": ","}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fills", [False, True])
def test_a_folder_gives_the_cells_of_one_file(tmp_path, layout, fills):
    extension, options = LAYOUTS[layout]
    whole, parts = store(make_table(), tmp_path, extension, **options)
    summaries, lists, copies = [], [], []
    for place, name in ((whole, "memory"), (parts, "streamed")):
        output, changes = tmp_path / f"{name}.{extension}", tmp_path / f"{name}-list.{extension}"
        filling = ["--fill-gaps"] if fills else []
        arguments = ["cells", place, "-o", output, "--changes", changes, "--json", *filling]
        summaries.append(json.loads(run(*arguments).stdout))
        read = pd.read_parquet if extension == "parquet" else pd.read_csv
        text = {} if extension == "parquet" else {"dtype": str, "sep": options.get("sep", ",")}
        copies.append(read(output, **text))
        lists.append(read(changes, **text))
    memory, streamed = summaries
    assert any(cell["column"] == "sex" for cell in streamed["cells"])
    for name in ("n_cells", "n_wrong", "n_rows", "n_wrong_rows", "promise", "promise_reason"):
        assert memory[name] == streamed[name], name
    assert {(cell["row"], cell["column"]) for cell in streamed["cells"]} >= {
        (4, "height"), (701, "height"), (451, "shoe"), (452, "weight"),
    }  # fmt: skip
    for mine, theirs in zip(memory["cells"], streamed["cells"], strict=True):
        assert mine.pop("p_value") == pytest.approx(theirs.pop("p_value"), rel=1e-6, abs=1e-300)
        assert mine == theirs
    pd.testing.assert_frame_equal(*copies)
    columns = ["row", "identifier", "column", "value", "expected", "low", "high"]
    ours, others = (one[columns].sort_values(["row", "column"]) for one in lists)
    pd.testing.assert_frame_equal(
        ours.reset_index(drop=True), others.reset_index(drop=True), check_dtype=False
    )


def test_cells_of_text_stay_as_they_are_but_for_the_repaired_ones(tmp_path):
    table = make_table()
    table["height"] = [f" {height:.3f}" for height in table["height"]]
    _, parts = store(table, tmp_path, "csv")
    run("cells", parts, "-o", tmp_path / "out.csv")
    before = pd.concat(
        pd.read_csv(part, dtype=str, keep_default_na=False) for part in sorted(parts.iterdir())
    ).reset_index(drop=True)
    after = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    changed = np.argwhere((before != after).drop(columns="sex").to_numpy())
    assert {(3, 1), (700, 1), (450, 3), (451, 2)} == set(map(tuple, changed.tolist()))
    assert 100 < float(after.loc[3, "height"]) < 200


def test_lines_of_json_stay_as_they_are_but_for_the_repaired_ones(tmp_path):
    table, parts = make_table(), tmp_path / "parts"
    parts.mkdir()
    lines = table.assign(visit=table["visit"].astype(str)).to_json(
        orient="records", lines=True, double_precision=2
    )
    lines = [line.replace('"shoe":', '"shoe" : ') for line in lines.splitlines()]
    for i in range(3):
        part = "\n".join(lines[300 * i : 300 * (i + 1)]) + "\n"
        (parts / f"{i}.jsonl").write_text(part)
    said = json.loads(run("cells", parts, "-o", tmp_path / "out.jsonl", "--json").stdout)
    after = (tmp_path / "out.jsonl").read_text().splitlines()
    changed = [i for i, (old, new) in enumerate(zip(lines, after, strict=True)) if old != new]
    assert changed == sorted({cell["row"] - 1 for cell in said["cells"]})
    assert {3, 450, 451, 700} <= set(changed)
    assert json.loads(after[3])["height"] > 150
    assert json.loads(after[3])["code"] == "000003"


def test_formulas_are_neutralised(tmp_path):
    table = make_table().assign(remark="=1+1")
    _, parts = store(table, tmp_path, "csv")
    run("cells", parts, "-o", tmp_path / "out.csv", "--safe")
    after = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert set(after["remark"]) == {"'=1+1"}


def test_a_report_is_refused(tmp_path):
    _, parts = store(make_table(), tmp_path, "csv")
    found = CliRunner().invoke(app, ["cells", str(parts), "--report", str(tmp_path / "r.html")])
    assert found.exit_code == 2
    assert "fits into memory" in found.stderr


def test_no_part_of_the_table_is_written_over(tmp_path):
    _, parts = store(make_table(), tmp_path, "csv")
    target = str(parts / "1.csv")
    found = CliRunner().invoke(app, ["cells", str(parts), "-o", target, "--force"])
    assert found.exit_code == 2
    assert "one of the input files" in found.stderr
