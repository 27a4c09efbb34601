"""Benchmarks: their packages can be imported, and their runs can be interrupted."""

from importlib import import_module

import pandas as pd
import pytest
from benchmarks.bench import Bench, run_command
from unit_work import square

from eosparse.comparison.runner import Store


@pytest.mark.parametrize("package", ["detector", "labels", "models", "speed", "tables"])
def test_packages_import(package):
    import_module(f"benchmarks.{package}.__main__")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command with one figure, and return its table."""

    def figure(bench: Bench) -> None:
        settings = [{"x": x, "folder": str(tmp_path)} for x in (3, 1, 2)]
        bench.report("squares", "Squares", None, bench.run_units("squares", square, settings))

    def run(*options):
        monkeypatch.setattr("sys.argv", ["benchmarks", "--out", str(tmp_path), *options])
        run_command("test", "A test.", {"squares": figure})
        return pd.read_csv(tmp_path / "squares.csv")

    return run


def test_rows_have_the_order_of_the_settings(run):
    assert run("--workers", "1")["square"].tolist() == [9, 1, 4]


def test_failed_units_are_named_and_run_again(run, tmp_path):
    (tmp_path / "fail").touch()
    with pytest.raises(SystemExit, match="1 of 3 units failed, the first with ValueError: one"):
        run("--workers", "1")
    assert not (tmp_path / "squares.csv").exists()
    (tmp_path / "fail").unlink()
    assert run("--workers", "1")["square"].tolist() == [9, 1, 4]
    # Units that did not fail ran once; those of a finished run are deleted.
    assert sorted((tmp_path / "trace").read_text().split()) == ["1", "1", "2", "3"]
    assert Store(tmp_path / ".units" / "test").read_units() == []


def test_unknown_figures_are_refused(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("cubes")
    assert "choose from squares" in capsys.readouterr().err
