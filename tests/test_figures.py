"""Tables and numbers of the pages are those of the CSV files, whose commits are known."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from benchmarks.commits import REPRODUCED, RESULTS, read_commit, record_commit
from benchmarks.pages.numbers import find_loose_numbers
from benchmarks.pages.write import BLOCK, SHOWN, fill_blocks, list_pages

ROOT = Path(__file__).parents[1]
# Results are quoted in these sections, given by their first heading and the one they end before;
# elsewhere numbers are settings, or printed by code that other tests run.
SECTIONS = {
    "README.md": ("## When *not* to use it", "## Documentation"),
    "docs/detector-figures.md": (None, None),
    "docs/model-figures.md": (None, None),
    "docs/labels.md": (None, None),
    "docs/large-data.md": ("## Figures", None),
    "docs/real-tables.md": (None, None),
    "docs/tables.md": ("## Three tables, timed", "## The same in Python"),
}


def read_section(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    first, beyond = SECTIONS[page]
    start = text.index(f"\n{first}\n") if first else 0
    return text[start : text.index(f"\n{beyond}\n") if beyond else None]


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.stem)
def test_blocks_are_those_of_the_csv_files(page):
    text = page.read_text(encoding="utf-8")
    assert text == fill_blocks(text), "Run `make figures`."


def test_every_block_is_on_a_page():
    pages = "".join(page.read_text(encoding="utf-8") for page in list_pages())
    assert sorted(block["name"] for block in BLOCK.finditer(pages)) == sorted(SHOWN)
    assert pages.count("<!-- end -->") == len(SHOWN)


@pytest.mark.parametrize("page", SECTIONS)
def test_other_numbers_are_settings(page):
    loose = find_loose_numbers(read_section(page))
    assert not loose, f"{page}: make them from a CSV file, or list them as settings: {loose}"


def test_a_wrong_digit_in_a_block_is_found():
    text = (ROOT / "docs" / "detector-figures.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- figure: detector_a -->.*?(\d\.\d\d)", text, re.S)
    wrong = f"{text[: block.start(1)]}9.99{text[block.end(1) :]}"
    assert wrong != text
    assert fill_blocks(wrong) == fill_blocks(text)


@pytest.mark.parametrize(
    ("text", "loose"),
    [
        ("A fit takes 2.14 np.cov.", ["2.14"]),
        ("It flags .9 to 1.1 % of the rows.", [".9", "1.1 %"]),
        ("It finds 93 to 100 %, at 3°.", ["93", "100 %", "3°"]),
        ("<!-- settings: 0.9, 5 % -->\nAn efficiency of .9, 5 % or 6 %.", ["6 %"]),
        ("<!-- figure: detector_a -->\n0.91 %\n<!-- end --> and `fdr=0.05`", []),
        ("<!-- number: x -->23 %<!-- end --> of 20 rows, Python 3, 5 degrees of freedom", []),
    ],
)
def test_loose_numbers_are_found(text, loose):
    assert find_loose_numbers(text) == loose


def list_results():
    return sorted([*RESULTS.glob("*.csv"), *REPRODUCED.glob("*.csv")])


def ask_git(*arguments):
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
    )


def test_every_csv_file_has_a_commit():
    assert len(list_results()) > 60
    for path in list_results():
        assert re.match(r"[0-9a-f]{7}\b", read_commit(path)), path.name


def test_commits_have_files():
    recorded = json.loads((RESULTS / "commits.json").read_text(encoding="utf-8"))
    assert set(recorded) == {path.name for path in RESULTS.glob("*.csv")}


def test_commits_are_in_the_history():
    if not (ROOT / ".git").exists() or ask_git("rev-parse", "HEAD").returncode:
        pytest.skip("not a git checkout")
    if ask_git("rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        pytest.skip("a shallow checkout has no history")
    for commit in {read_commit(path)[:7] for path in list_results()}:
        assert not ask_git("merge-base", "--is-ancestor", commit, "HEAD").returncode, commit


def test_commits_are_recorded_with_the_scale(tmp_path):
    record_commit(tmp_path, "b.csv", 1.0)
    record_commit(tmp_path, "a.csv", 0.1)
    assert read_commit(tmp_path / "a.csv") == f"{read_commit(tmp_path / 'b.csv')}, scale 0.1"
    assert read_commit(tmp_path / "c.csv") == "unknown"
