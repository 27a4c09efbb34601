"""Every error that a user can cause ends in one sentence and a documented exit code."""

import csv
import errno
import os
import re
import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner

from eosparse.cli import faults
from eosparse.cli.app import app
from eosparse.cli.faults import describe_fault, handle_errors
from eosparse.core import CollapseError
from eosparse.rows.whole_file import write_text
from eosparse.tables import TableError


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "rows.csv"
    pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"]).to_csv(path, index=False)
    return path


FAULTS = [
    (TableError("x.csv is empty."), 2, "Error: x.csv is empty."),
    (CollapseError("a row"), 3, "No result: a row"),
    (MemoryError(), 4, "not enough memory"),
    (pa.ArrowMemoryError("malloc of size 9 failed"), 4, "not enough memory"),
    (OSError(errno.ENOSPC, "No space left on device", "o.csv"), 4, "no space left .* for o.csv"),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), 4, "no space left"),
    (OSError(errno.EROFS, "Read-only", "o.csv"), 2, "o.csv .*the file system is read-only"),
    (PermissionError(errno.EACCES, "no", "o.csv"), 2, "o.csv .*you lack the permission"),
    (IsADirectoryError(errno.EISDIR, "no", "o"), 2, "o cannot .*it is a folder"),
    (FileNotFoundError("No file matches 'x'."), 2, "Error: No file matches 'x'."),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), 2, "Convert the file to UTF-8"),
    (csv.Error("field larger than field limit (131072)"), 2, "not readable as CSV"),
    (RecursionError("maximum depth"), 2, "nested too deeply"),
    (ImportError("No module named 'zstandard'"), 2, r"pip install 'eosparse\[cli\]'"),
    (pa.ArrowInvalid("Invalid page"), 2, "Error: Invalid page"),
    (pa.ArrowNotImplementedError("nested"), 2, "Error: nested"),
]


@pytest.mark.parametrize(("error", "code", "message"), FAULTS, ids=lambda x: type(x).__name__)
def test_faults_have_a_sentence_and_a_code(error, code, message):
    said, found = describe_fault(error)
    assert found == code
    assert re.search(message, said)
    assert "\n" not in said


def test_unforeseen_errors_are_named_with_their_place(capsys, monkeypatch):
    def fail():
        with handle_errors():
            {}["absent"]

    with pytest.raises(typer.Exit) as caught:
        fail()
    assert caught.value.exit_code == 1
    said = capsys.readouterr().err
    assert "KeyError ('absent') in test_faults.py, line" in said
    assert "Traceback" not in said
    monkeypatch.setenv(faults.TRACEBACK, "1")
    with pytest.raises(typer.Exit):
        fail()
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("written", [[], ["a.txt"], ["a.txt", "b.txt"]])
def test_an_interruption_tells_what_was_written(tmp_path, capsys, written):
    write_text(tmp_path / "earlier.txt", "of another command")

    def write():
        with handle_errors():
            for name in written:
                write_text(tmp_path / name, "done")
            raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as caught:
        write()
    said = capsys.readouterr().err
    assert caught.value.exit_code == 130
    assert "earlier.txt" not in said
    assert all(str(tmp_path / name) in said for name in written)
    assert ("Nothing was written" in said) == (not written)


def test_an_error_tells_what_was_written_before(table, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "r.html")

    monkeypatch.setattr("eosparse.report.html.write_detection_report", fail)
    found = run("detect", table, "-o", tmp_path / "o.csv", "--report", tmp_path / "r.html")
    assert found.exit_code == 4
    assert f"Already written, and complete: {tmp_path / 'o.csv'}." in found.stderr
    assert len(pd.read_csv(tmp_path / "o.csv")) == 200


@pytest.mark.parametrize("is_folder", [False, True], ids=["memory", "streamed"])
def test_an_interrupted_fit_writes_nothing(table, tmp_path, monkeypatch, is_folder):
    """A fit that is interrupted in Python has a result; in the command nobody waits for it."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("eosparse.cli.progress.StatusLine.show_iteration", interrupt)
    if is_folder:
        (tmp_path / "parts").mkdir()
        table = table.rename(tmp_path / "parts" / "rows.csv").parent
    found = run("detect", table, "-o", tmp_path / "o.csv")
    assert found.exit_code == 130
    assert "Interrupted. Nothing was written." in found.stderr
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("command", [["detect"], ["cells"]], ids=lambda c: c[0])
@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("folder.csv", "is a folder"),
        ("missing/o.csv", "does not exist. Create it first"),
        ("rows.csv/o.csv", "does not exist. Create it first"),
        ("x" * 300 + ".csv", "too long"),
        ("/proc/o.csv", "cannot be written"),
        ("rows.csv", "already exists"),
        ("dangling.csv", "already exists"),
    ],
)
def test_where_one_cannot_write_is_found_before_the_fit(table, tmp_path, command, place, message):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nowhere")
    force = ["--force"] if "already" not in message else []
    found = run(*command, table, "-o", tmp_path / place, *force)
    assert found.exit_code == 2, found.output
    assert message in found.stderr


def test_two_outputs_cannot_share_a_file(table, tmp_path):
    found = run("detect", table, "-o", tmp_path / "x.csv", "--report", tmp_path / "x.csv")
    assert found.exit_code == 2
    assert "must be different files" in found.stderr


def test_a_full_disk_has_its_own_code_and_leaves_the_old_file(table, tmp_path):
    out = tmp_path / "o.csv"
    out.write_text("old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = subprocess.run(
        [sys.executable, "-m", "eosparse", "detect", table, "-o", out, "--force"],
        capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert "no space left on the disk" in done.stderr
    assert "Traceback" not in done.stderr
    assert out.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["o.csv", "rows.csv"]


def test_a_reader_that_leaves_is_no_error(table):
    done = subprocess.run(
        f"{sys.executable} -m eosparse detect {table} --json | head -c 1; echo ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1].endswith(("0", "141"))


HOSTILE = ["\x1b[31mred\x1b[0m", "[bold]b[/bold]", "d[/b]", "\x9b2J", "a\u202egpj", "tab\there"]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_controls_and_markup_in_names_and_cells_are_text(tmp_path, monkeypatch, name, form):
    monkeypatch.setenv("COLUMNS", "300")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 2)), columns=[name, "b"])
    frame["id"] = [f"{name}{i}" for i in range(100)]
    frame.loc[3, name] = 50.0
    folder = tmp_path / name
    folder.mkdir(parents=True)
    path = folder / f"{name.replace('/', '')}.parquet"
    frame.to_parquet(path)
    found = run("detect", path, "--id", "id", "-o", folder / "o.parquet", *form)
    assert found.exit_code == 0, found.output
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", found.output)
    shown = name.encode("unicode_escape").decode() if not form else None
    assert shown is None or f"{shown}=50" in found.output
    refused = run("detect", folder / "absent.csv")
    assert refused.exit_code == 2
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", refused.output)


def test_the_progress_line_takes_any_folder_name(monkeypatch):
    from eosparse.cli.progress import StatusLine

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with StatusLine() as status:
        for name in HOSTILE:
            status.show(f"Streaming {name}")
        assert status._progress is not None
        status._progress.refresh()
