"""Fills the blocks of the pages.

A block begins with ``<!-- figure: name -->`` and ends with ``<!-- end -->``. What stands between is
replaced by what the function of that name makes from the CSV files, and a line with their commits.
A single number in a sentence, ``<!-- number: name -->3 %<!-- end -->``, has no such line.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.pages import cells, detector, labels, models, readme, real_tables, speed, tables
from benchmarks.pages.markdown import join_parts
from benchmarks.pages.source import Show, Source
from eosparse.rows.whole_file import write_text

ROOT = Path(__file__).parents[2]
SHOWN: dict[str, Show] = (
    detector.SHOWN
    | speed.SHOWN
    | models.SHOWN
    | labels.SHOWN
    | tables.SHOWN
    | real_tables.SHOWN
    | cells.SHOWN
    | readme.SHOWN
)
BLOCK = re.compile(r"<!-- (?P<kind>figure|number): (?P<name>\w+) -->.*?<!-- end -->", re.S)


def write_pages() -> None:
    """Fill all blocks of all pages."""
    for page in list_pages():
        old = page.read_text(encoding="utf-8")
        if (new := fill_blocks(old)) != old:
            write_text(page, new)
            print(f"wrote {page.relative_to(ROOT)}")


def list_pages() -> list[Path]:
    """Return the pages that may have blocks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def fill_blocks(text: str) -> str:
    """Return the text of a page with all its blocks filled."""

    def fill(block: re.Match[str]) -> str:
        kind, name = block["kind"], block["name"]
        content = SHOWN[name](Source()) if kind == "number" else f"\n\n{show(name)}\n\n"
        return f"<!-- {kind}: {name} -->{content}<!-- end -->"

    return BLOCK.sub(fill, text)


def show(name: str) -> str:
    """Return the content of a block."""
    source = Source()
    try:
        body = SHOWN[name](source)
    except FileNotFoundError:
        return "*Not run yet.*"
    return f"{body}\n\n{join_parts(source.format_commits())}"
