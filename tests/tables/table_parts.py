"""A table in one file and in parts, and whether both give the same numbers."""

import json
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from eosparse.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def make_table(n=1000):
    """Numbers, a category, dates, levels, true and false, numbers as text; gaps and mistakes."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05])
    table = pd.DataFrame(
        {
            "key": [f"k{i:05d}" for i in range(n)],
            "sex": sex,
            "height": rng.normal(165, 7, n) + 12 * (sex == "m"),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "grade": rng.integers(1, 6, n),
            "is_member": rng.random(n) < 0.3,
            "count": rng.integers(0, 10**6, n),
        }
    )
    table["weight"] = table["height"] - 100 + rng.normal(0, 7, n)
    table["price"] = [f"{price:.2f}" for price in rng.normal(50, 5, n)]
    table.loc[[7, 500, n - 1], "price"] = "?"
    table.loc[n // 2, "weight"] = 700.0
    table.loc[n - 20, "height"] = 1.7
    table.loc[3, "price"] = "900.5"
    return table


def add_gaps(table):
    rng = np.random.default_rng(1)
    table = table.copy()
    for name in ("height", "weight", "sex"):
        table.loc[rng.random(len(table)) < 0.02, name] = np.nan
    return table


def to_lines(frame):
    return frame.to_json(
        orient="records", lines=True, date_format="iso", double_precision=15
    ).encode()


def write_packed(path, content):
    path.write_bytes(content)


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "csv.xz": lambda frame, path: frame.to_csv(path, index=False),
    "csv.zst": lambda frame, path: write_packed(
        path, pa.compress(frame.to_csv(index=False).encode(), "zstd", asbytes=True)
    ),
    "jsonl": lambda frame, path: write_packed(path, to_lines(frame)),
    "jsonl.xz": lambda frame, path: write_packed(path, lzma.compress(to_lines(frame))),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False, row_group_size=97),
    "feather": lambda frame, path: frame.to_feather(path),
}


def write_parts(frame, folder, ending, n_parts=3):
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        WRITERS[ending](frame.iloc[rows].reset_index(drop=True), folder / f"part-{i}.{ending}")
    return folder


def detect(source, *arguments):
    found = run("detect", source, "--json", "--top", 0, *arguments)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def check_same(streamed, whole):
    assert streamed["n_flagged"] == whole["n_flagged"] > 0
    for name in ("alpha", "effective_rows"):
        assert streamed["model"][name] == pytest.approx(whole["model"][name], rel=1e-9)
    assert streamed["model"]["rung"] == whole["model"]["rung"]
    for found, wanted in zip(streamed["flagged"], whole["flagged"], strict=True):
        assert (found["row"], found["id"]) == (wanted["row"], wanted["id"])
        for name in ("p_value", "distance", "weight"):
            assert found[name] == pytest.approx(wanted[name], rel=1e-9, abs=1e-300)
        assert [r["column"] for r in found["reasons"]] == [r["column"] for r in wanted["reasons"]]
        assert [r["value"] for r in found["reasons"]] == [r["value"] for r in wanted["reasons"]]
    for found, wanted in zip(streamed["columns"], whole["columns"], strict=True):
        assert (found["name"], found["role"], found["kind"]) == (
            wanted["name"], wanted["role"], wanted["kind"]
        )  # fmt: skip
