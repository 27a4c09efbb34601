"""Every command that README and the pages show is run, or is listed here with a reason.

Blocks of the pages run in test_docs, except those marked "not run". These and README's run here,
on tables made for them; what takes too long is only checked for its options.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from eosparse.cli.app import app
from eosparse.datasets import load_blood_panel
from test_docs import DOCS, read_blocks

README = DOCS.parent / "README.md"
EVERYWHERE = [README, DOCS.parent / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
RUN_HERE = {
    "eosparse detect people.csv --report report.html",
    "eosparse labels people.csv --missing impute --target diagnosis",
    "eosparse cells people.csv --output repaired.csv",
    "eosparse detect - --json",
    "eosparse detect panel.csv --output judged.csv --force",
}
_LONG = "minutes to hours; tests/comparison/test_reproduce.py runs short ones"
_PEERS = "starts every peer, as tests/comparison/test_reproduce.py does"
ONLY_PARSED = {
    "eosparse compare table.csv --truth is_wrong --out compared.csv": _PEERS,
    "eosparse reproduce": _LONG,
    "eosparse reproduce e f --full": _LONG,
    "eosparse reproduce --data folder": _LONG,
}


def parts(line):
    """The commands of a line, between pipes and other marks of the shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    command = []
    for token in (*lexer, "|"):
        if set(token) <= set("|&;()<>"):
            yield command
            command = []
        else:
            command.append(token)


def shown():
    """All commands that begin with eosparse: page, line, command, and whether test_docs runs it."""
    for page in EVERYWHERE:
        for block in read_blocks(page):
            if block.kind in ("python", "text") or block.kind.startswith("{"):
                continue
            for number, line in enumerate(block.body.splitlines(), block.line):
                found = [
                    part for part in parts(line.removeprefix("$ ")) if part[:1] == ["eosparse"]
                ]
                is_run = page.parent == DOCS and block.kind == "console" and block.is_run
                for part in found:
                    yield f"{page.name}:{number}", shlex.join(part), is_run and len(found) == 1


def test_every_command_is_run_or_has_a_reason():
    unknown = {
        place: command
        for place, command, is_run in shown()
        if not is_run and command not in RUN_HERE and command not in ONLY_PARSED
    }
    assert unknown == {}


def test_what_is_listed_is_shown_somewhere():
    assert RUN_HERE | ONLY_PARSED.keys() <= {command for _, command, _ in shown()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    panel = load_blood_panel()
    table = pd.DataFrame(panel.X, columns=panel.feature_names)
    table.to_csv("panel.csv", index=False)
    sick = table["glucose_mg_dl"] + table["urea_mg_dl"] > 125
    people = table.assign(diagnosis=np.where(sick, "ill", "well"))
    people.loc[3, "sodium_mmol_l"] = np.nan
    people.to_csv("people.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("command", sorted(RUN_HERE))
def test_it_runs(folder, command):
    given = (folder / "panel.csv").read_bytes()
    result = CliRunner().invoke(app, shlex.split(command)[1:], input=given)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("command", ONLY_PARSED)
def test_its_options_exist(command):
    group = typer.main.get_command(app)
    name, *arguments = shlex.split(command)[1:]
    assert group.commands[name].make_context(name, arguments).params


def test_the_pipe_of_the_page_works_in_a_shell(folder):
    page = (DOCS / "command.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("$ cat panel.csv |"))
    Path("eosparse").write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m eosparse.cli "$@"'
    )
    Path("eosparse").chmod(0o755)
    python = Path(sys.executable).parent
    path = os.pathsep.join([str(folder), str(python), os.environ["PATH"]])
    done = subprocess.run(
        line.removeprefix("$ "),
        shell=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path},
        check=False,
    )
    assert (done.stdout, done.stderr) == ("16\n", "")
