"""The code of the pages runs, and prints the text below it.

The blocks of a page run in order, in one namespace and one folder. ``<!-- not run: reason -->``
above a block skips it. A ``text`` block directly below code is compared with the output line by
line; lines of dots stand for anything.
"""

import ast
import contextlib
import inspect
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import eosparse.datasets
import eosparse.plots
import eosparse.tables
from eosparse.cli.app import app
from eosparse.models import TableModel

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
BLOCK = re.compile(
    r"(?P<skipped><!-- not run: [^>]+ -->\n+)?^```(?P<kind>[\w{}-]*)\n(?P<body>.*?)^```$",
    re.S | re.M,
)


@dataclass(frozen=True)
class Block:
    """A block of code or text, and the number of its first line."""

    kind: str
    body: str
    line: int
    is_run: bool


def read_blocks(page):
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["kind"],
            found["body"],
            text.count("\n", 0, found.start("body")) + 1,
            found["skipped"] is None,
        )
        for found in BLOCK.finditer(text)
    ]


def run_python(block, page, names):
    code = compile("\n" * (block.line - 1) + block.body, page.name, "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return printed.getvalue()


def run_commands(block, page):
    printed = []
    for number, line in enumerate(block.body.splitlines(), block.line):
        if line.startswith("$ eosparse "):
            arguments = shlex.split(line.removeprefix("$ eosparse "), comments=True)
            expected = re.search(r"# exit code (\d+)", line)
            result = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
            assert result.exit_code == int(expected[1] if expected else 0), (
                f"{page.name}:{number}: {result.output}"
            )
            printed.append(result.output)
    return "".join(printed)


def prepare_large_data():
    Path("rows").mkdir()
    rng = np.random.default_rng(0)
    for part in range(2):
        frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
        frame["count"] = 1
        frame["id"] = np.arange(300) + 300 * part
        frame.to_parquet(f"rows/{part}.parquet", index=False)


PREPARED = {"large-data": prepare_large_data}


def run_page(page):
    """Run a page; yield its text blocks below code, with the output of that code."""
    names, printed = {"__name__": "__main__"}, None
    for block in read_blocks(page):
        if block.kind == "text":
            if printed is not None:
                yield block, printed
        elif not block.is_run:
            printed = None
        elif block.kind == "python":
            printed = run_python(block, page, names)
        elif block.kind == "console":
            printed = run_commands(block, page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_its_code_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    PREPARED.get(page.stem, lambda: None)()
    for block, printed in run_page(page):
        got = [line.rstrip() for line in printed.splitlines()]
        for number, line in enumerate(block.body.splitlines(), block.line):
            if line.strip(" .…"):
                assert line.rstrip() in got, f"{page.name}:{number}: {line}\n\n{printed}"


def test_the_reference_has_every_public_name():
    shown = re.findall(r"auto(?:class|function|exception):: (\S+)", (DOCS / "api.md").read_text())
    names = {name.rpartition(".")[2] for name in shown}
    for module in (eosparse, eosparse.datasets, eosparse.plots, eosparse.tables):
        assert set(module.__all__) <= names


def test_the_table_of_methods_is_that_of_table_model():
    page = (DOCS / "error-models.md").read_text(encoding="utf-8")
    section = page.split("### Methods you can override")[1].split("\n## ")[0]
    for name in (name for name in dir(TableModel) if not name.startswith("_")):
        member = getattr(TableModel, name)
        parameters = list(inspect.signature(member).parameters)[1:] if callable(member) else ()
        shown = f"`{name}({', '.join(parameters)})`" if parameters else f"`{name}`"
        assert shown in section or name in ("errors", "statistics", "solve"), shown


def test_fractions_have_braces():
    # docutils reads \\frac12 as 12 over the next symbol.
    for file in (*PAGES, *(DOCS.parent / "src").rglob("*.py")):
        assert not re.search(r"\\[td]?frac(?!{)", file.read_text(encoding="utf-8")), file


def test_there_are_pages():
    assert {"index", "start", "theory", "faq"} <= {page.stem for page in PAGES}


def list_messages():
    """Yield all strings of the sources, with … in place of formatted values."""
    for file in (DOCS.parent / "src" / "eosparse").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(p.value if isinstance(p, ast.Constant) else "…" for p in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_explained_messages_exist():
    rows = re.findall(r"^\| (.*?) \|", (DOCS / "faq.md").read_text(encoding="utf-8"), re.M)
    quoted = [
        quote for row in rows for quote in re.findall(r"`([^`]+ [^`]+)`(?! \(from scikit)", row)
    ]
    known = list(list_messages())
    assert len(quoted) > 30
    assert not [quote for quote in quoted if not any(quote in message for message in known)]
