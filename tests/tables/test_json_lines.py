"""JSON lines come out as they went in, in memory and streamed, and ever new keys are refused."""

import json
import lzma

import numpy as np
import pandas as pd
import pytest
from table_parts import detect, run

from eosparse import EOSDetector
from eosparse.rows import json_files, json_text
from eosparse.rows.json_text import split_members
from eosparse.tables import TableError, json_lines, read_table

# How a value is written, which no parser keeps.
ODD = [
    '"big": 9007199254740993', '"p": 1E5', '"p": 1.10', '"p":-0.0 ', '"t" : "00123"',
    '"t": "\\u0041"', '"n": null', '"l": [1.0, {"a": 2.50}]', '"e": ""', '"t": "a, \\"b\\" }"',
    '"t": "NA"', '"p": NaN', '"q": 123456789012345678901234567890', '"ö": "ß"',
    '"eos\\u005fnote": 1.0',
]  # fmt: skip


def make_lines(n=200):
    rng = np.random.default_rng(0)
    xs = [f"{x:.3f}" for x in rng.normal(size=n)]
    xs[17] = "9.5E2"
    return ["{" + f'"x": {x}, {ODD[i % len(ODD)]}' + "}" for i, x in enumerate(xs)]


def write_lines(lines, folder, ending="jsonl"):
    """Write a file and a folder of two, with blank lines between."""
    (folder / "parts").mkdir()
    keys = json.dumps(dict.fromkeys({k for line in lines for k in json.loads(line)}))
    parts = {"all": lines, "parts/0": [keys, *lines[:90]], "parts/1": [keys, *lines[90:]]}
    for name, part in parts.items():
        content = ("\n\n".join(part) + "\n").encode()
        packed = lzma.compress(content) if ending.endswith("xz") else content
        (folder / f"{name}.{ending}").write_bytes(packed)
    return [keys, *lines[:90], keys, *lines[90:]]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.xz"])
def test_lines_are_copied_as_they_are(tmp_path, ending):
    lines = make_lines()
    streamed = write_lines(lines, tmp_path, ending)
    for source, wanted in ((f"all.{ending}", lines), ("parts", streamed)):
        out = tmp_path / "out.jsonl"
        found = detect(tmp_path / source, "--columns", "x", "-o", out, "--force")
        assert found["flagged"][0]["row"] == wanted.index(lines[17]) + 1
        copied = out.read_text().splitlines()
        assert len(copied) == len(wanted)
        for line, given in zip(copied, wanted, strict=True):
            assert line.startswith(given[:-1].rstrip() + ', "eos_weight": ')
            assert list(json.loads(line))[-1] == "eos_reason"


@pytest.mark.parametrize("source", ["all.jsonl", "parts"])
def test_numbers_are_written_to_csv_as_they_are_in_json(tmp_path, source):
    write_lines(make_lines(), tmp_path)
    detect(tmp_path / source, "--columns", "x", "-o", tmp_path / "out.csv")
    cells = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    assert {"1E5", "1.10", "-0.0", "NaN"} <= set(cells["p"])
    assert set(cells["big"]) == {"9007199254740993", ""}
    assert set(cells["q"]) == {"123456789012345678901234567890", ""}
    assert "9.5E2" in set(cells["x"])


@pytest.mark.parametrize("source", ["all.jsonl", "parts"])
def test_scores_of_an_earlier_run_are_replaced_and_nothing_else(tmp_path, source):
    write_lines(make_lines(), tmp_path)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    detect(tmp_path / source, "--columns", "x", "-o", first)
    again = first
    if source == "parts":
        again = tmp_path / "again"
        again.mkdir()
        first.rename(again / "first.jsonl")
        first = again / "first.jsonl"
    found = run("detect", again, "--columns", "x", "-o", second)
    assert "new values in columns of an earlier run" in " ".join(found.stdout.split())
    for old, new in zip(
        first.read_text().splitlines(), second.read_text().splitlines(), strict=True
    ):
        members = [split_members(line) for line in (old, new)]
        assert list(members[0]) == list(members[1])
        mine = [{k: v for k, v in m.items() if not k.startswith("eos_w")} for m in members]
        assert {k: v for k, v in mine[0].items() if k[:4] != "eos_"} == {
            k: v for k, v in mine[1].items() if k[:4] != "eos_"
        }


def test_repaired_cells_replace_only_themselves(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    lines = [f'{{"a": {x:.2e}, "b": {x + y:.3f}, "code": "0{i}"}}'
             for i, (x, y) in enumerate(zip(a, rng.normal(0, 0.1, 300), strict=True))]  # fmt: skip
    lines[40] = '{"a": 1.0e0, "b": -90.50, "code": "040"}'
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    found = run("cells", tmp_path / "rows.jsonl", "-o", tmp_path / "fixed.jsonl", "--json")
    changed = {(c["row"] - 1) for c in json.loads(found.stdout)["cells"]}
    fixed = (tmp_path / "fixed.jsonl").read_text().splitlines()
    assert 40 in changed
    for i, (old, new) in enumerate(zip(lines, fixed, strict=True)):
        assert (old == new) is (i not in changed)
    assert split_members(fixed[40])["code"] == '"040"'


def test_json_lines_are_rows_on_disk(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True, double_precision=15)
    read = pd.read_json(tmp_path / "rows.jsonl", lines=True)
    on_disk = EOSDetector(model="gaussian").fit(str(tmp_path / "rows.jsonl"))
    in_memory = EOSDetector(model="gaussian").fit(read)
    np.testing.assert_allclose(on_disk.score_samples(read), in_memory.score_samples(read))


REFUSED = {
    "no JSON": ('{"x": 1}\n{"x": }', r"line 2 is not JSON"),
    "no object": ('{"x": 1}\n[1]', r"line 2 is no object"),
    "twice": ('{"x": 1, "x": 2}', r"line 1 is not JSON: a key occurs twice"),
    "deep": ('{"x": ' + "[" * 100_000, r"line 1 is nested too deeply"),
    "bytes": (b'{"x": "\xff"}', r"line 1 is not UTF-8"),
    "empty": ("\n\n", "no columns|is empty"),
    "no keys": ("{}\n{}", "no columns"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("is_streamed", [False, True], ids=["memory", "streamed"])
def test_what_is_no_table_is_refused_by_line(tmp_path, name, is_streamed):
    content, message = REFUSED[name]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = run("detect", tmp_path if is_streamed else path)
    assert found.exit_code == 2
    assert pd.Series([" ".join(found.stderr.split())]).str.contains(message).all(), found.stderr


def test_ever_new_keys_and_endless_lines_are_refused(tmp_path, monkeypatch):
    """Lines with a key of their own each would fill the memory with gaps."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"k{i}": 1}}\n' for i in range(200)))
    monkeypatch.setattr(json_files, "MOST_KEYS", 100)
    monkeypatch.setattr(json_lines, "MOST_KEYS", 100)
    for source in (path, tmp_path):
        found = run("detect", source)
        assert found.exit_code == 2
        assert "different keys" in found.stderr
    monkeypatch.setattr(json_lines, "MOST_KEYS", 1000)
    monkeypatch.setattr(json_lines, "MOST_BYTES_IN_MEMORY", 100_000)
    with pytest.raises(TableError, match="too many lines for memory"):
        read_table(path)
    monkeypatch.setattr(json_text, "_MOST_LINE_BYTES", 50)
    path.write_text('{"x": "' + "a" * 100 + '"}')
    with pytest.raises(TableError, match="line 1 is longer than 50 bytes"):
        read_table(path)


@pytest.mark.parametrize("ending", ["csv.xz", "csv.gz", "csv.zst", "csv.bz2", "jsonl.xz"])
def test_damaged_files_of_a_folder_are_named(tmp_path, ending):
    from table_parts import WRITERS

    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 3)), columns=list("abc"))
    path = tmp_path / f"rows.{ending}"
    if ending in WRITERS:
        WRITERS[ending](frame, path)
    else:
        frame.to_csv(path, index=False)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    found = run("detect", tmp_path)
    assert found.exit_code == 2, found.output
    assert f"rows.{ending} cannot be" in " ".join(found.stderr.split())


def test_packed_text_is_recognised_by_its_bytes(tmp_path):
    """A name that does not tell the compression."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "b"])
    frame.loc[3, "a"] = 99.0
    (tmp_path / "rows.csv").write_bytes(lzma.compress(frame.to_csv(index=False).encode()))
    assert [row["row"] for row in detect(tmp_path)["flagged"]] == [4]


def test_workbooks_of_a_folder_are_refused_by_name(tmp_path):
    pd.DataFrame({"a": [1.0]}).to_excel(tmp_path / "rows.xlsx", index=False)
    found = run("detect", tmp_path)
    assert found.exit_code == 2
    assert "XLSX files are read into memory" in " ".join(found.stderr.split())
