"""The commands `reproduce` and `compare`, as a person runs them."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from eosparse.cli.app import app
from eosparse.comparison import panels, results, tables
from eosparse.comparison.data_folder import SOURCES, DataFolder
from eosparse.comparison.label_sets import corrupt_labels, load_set, split_set
from eosparse.comparison.panels import PANELS, non_gaussian
from eosparse.comparison.panels.labels import CLASSIFIERS
from eosparse.comparison.peers import PEERS
from eosparse.comparison.results import Run, write_results
from eosparse.comparison.runner import OK, Plan
from eosparse.datasets import make_contaminated

PNG, SVG = b"\x89PNG", b"<?xml"


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """The command sets it for its workers."""
    monkeypatch.setenv("EOSPARSE_DATA", "")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of the right form, with data of our own."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for name, columns in (("longevity", 6), ("pollen2014", 30)):
        y = rng.integers(0, 2, 120)
        X = rng.normal(size=(120, columns)) + y[:, None]
        np.savez(folder / f"{name}.npz", X=X, y_bin=y)
    (folder / "adbench").mkdir()
    for seed in (1, 2):
        X, y = make_contaminated(150, 3, 0.1, random_state=seed)
        np.savez(folder / "adbench" / f"{seed}_set.npz", X=X, y=y.astype(int))
    published = pd.DataFrame({"dataset": ["1_set", "2_set"], "MCD": [90.0, 80.0]})
    published.to_csv(folder / "adbench_published.csv", index=False)
    (folder / "paper_figure_values.csv").write_text(
        "figure,algorithm,x,y,ci_half\nFig_G,EOS+SPA,0.3,0.99,0.01\n"
    )
    return folder


@pytest.fixture
def shortened(monkeypatch):
    """One repetition of the first setting of every grid, with few columns."""
    whole = panels.make_grids

    def narrow(setting):
        return setting | ({"columns": min(setting["columns"], 20)} if "columns" in setting else {})

    def make_grids(names, quick, data):
        grids = whole(names, quick, data)
        return [replace(grid, settings=(narrow(grid.settings[0]),)) for grid in grids]

    for module in (panels, results):
        monkeypatch.setattr(module, "make_grids", make_grids)
    monkeypatch.setattr(panels, "QUICK", Plan(1, 1, 1.0, 60.0))


@pytest.mark.usefixtures("shortened")
def test_every_panel_runs(data, tmp_path):
    out = tmp_path / "out"
    command = ["reproduce", "--data", str(data), "--out", str(out)]
    outcome = CliRunner().invoke(app, command)
    assert outcome.exit_code == 0, outcome.output
    page = (out / "README.md").read_text(encoding="utf-8")
    for name, panel in PANELS.items():
        assert panel.title in page
        assert (out / f"panel_{name}.png").read_bytes().startswith(PNG)
        assert (out / f"panel_{name}.svg").read_bytes().startswith(SVG)
    assert (out / "figure.png").read_bytes().startswith(PNG)
    names = "a b c d e f g h i harder limits adbench labels finding"
    for name in names.split():
        assert len(pd.read_csv(out / f"{name}.csv")) > 0
    described = ("machine", "numpy", "date", "command", "scikit-learn")
    assert all(f"| {what} |" in page for what in described)
    detected = pd.read_csv(out / "e.csv").set_index("method")
    assert detected.loc["EOS", "status"] == OK
    assert detected.loc["EOS", "recall"] > 0.8
    units = (out / "units.jsonl").read_text()
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0
    assert (out / "units.jsonl").read_text() == units


@pytest.mark.usefixtures("shortened")
def test_missing_data_are_named_and_the_rest_runs(tmp_path):
    empty, out = tmp_path / "nothing", tmp_path / "out"
    command = ["reproduce", "a", "h", "adbench", "--data", str(empty), "--out", str(out)]
    outcome = CliRunner().invoke(app, command)
    assert outcome.exit_code == 0, outcome.output
    assert "longevity.npz is missing (source: " in outcome.output
    assert SOURCES["adbench"].split(",")[0] in outcome.output
    assert str(empty) in outcome.output
    assert (out / "panel_a.png").exists()
    page = (out / "README.md").read_text(encoding="utf-8")
    assert "Panel h is left out: longevity.npz is missing" in page


def test_nothing_to_run_is_an_error_and_writes_nothing(tmp_path):
    out = tmp_path / "out"
    outcome = CliRunner().invoke(
        app, ["reproduce", "h", "--data", str(tmp_path), "--out", str(out)]
    )
    assert outcome.exit_code == 1
    assert not out.exists()


@pytest.mark.usefixtures("shortened")
def test_methods_that_cannot_run_are_listed_as_not_run(tmp_path, monkeypatch):
    def explain_missing(method):
        return "Rscript is not installed" if method.endswith("(R)") else None

    for module in (panels, tables):
        monkeypatch.setattr(module, "explain_missing", explain_missing)
    outcome = CliRunner().invoke(app, ["reproduce", "limits", "--out", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    status = pd.read_csv(tmp_path / "limits.csv").set_index("method")["status"]
    assert status["OGK (R)"] == "not run: Rscript is not installed"
    assert "OGK (R)" not in (tmp_path / "units.jsonl").read_text()


@pytest.mark.usefixtures("shortened")
def test_a_page_can_be_written_of_nothing_and_of_little(tmp_path, data):
    def run(rows):
        return Run(
            tmp_path, tuple(PANELS), rows, DataFolder(data), panels.QUICK, True, {"command": "x"}
        )

    write_results(run([]))
    assert "not run yet" in (tmp_path / "README.md").read_text(encoding="utf-8")
    setting = {"data": "wdbc", "noise": "exact", "p": 0.0}
    unit = {"grid": "g", "setting": setting, "method": "LDA", "repetition": 0}
    write_results(run([unit | {"status": OK, "took": 1.0, "AUC": 0.9, "seconds": 0.1}]))
    assert "| LDA | 0.900 |" in (tmp_path / "README.md").read_text(encoding="utf-8")
    # One repetition of one table, of which no interval is known; and weights that collapsed.
    setting = non_gaussian.make_grid(True).settings[0]
    few = {"grid": "limits", "setting": setting, "method": "EOS"}
    alone = few | {"repetition": 0, "status": OK, "took": 1.0, "AUC-ROC": 0.5, "seconds": 0.1}
    collapsed = {"grid": "a", "setting": {"alpha": 0.2}, "method": "EOS", "repetition": 0}
    write_results(run([alone, collapsed | {"status": OK, "took": 1.0, "collapsed": True}]))
    assert (tmp_path / "panel_limits.png").read_bytes().startswith(PNG)
    assert (tmp_path / "panel_a.png").read_bytes().startswith(PNG)


def test_unknown_panels_are_refused():
    outcome = CliRunner().invoke(app, ["reproduce", "z"])
    assert outcome.exit_code == 2
    assert "Choose from a, b, c" in outcome.output


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path):
    place = tmp_path / "results"
    place.write_text("mine")
    outcome = CliRunner().invoke(app, ["reproduce", "a", "--out", str(place)])
    assert outcome.exit_code == 2
    assert "is a file, not a folder" in " ".join(outcome.output.replace("│", "").split())
    assert place.read_text() == "mine"


@pytest.mark.parametrize("package", ["pebble", "filelock", "matplotlib"])
def test_what_is_not_installed_is_named_before_anything_runs(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    outcome = CliRunner().invoke(app, ["reproduce", "a", "--out", str(tmp_path / "out")])
    assert outcome.exit_code == 2
    assert f"Comparisons need {package}: pip install 'eosparse[bench]'." in outcome.output
    assert not (tmp_path / "out").exists()


def test_ctrl_c_writes_the_results_so_far_and_says_how_to_resume(tmp_path):
    # A process in the background may have been started without Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-m", "eosparse.cli", "reproduce", "c", "--out", str(tmp_path)]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=os.environ
    )
    deadline = time.monotonic() + 300  # a busy machine is no defect
    while not (tmp_path / "units.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Run the same command to resume." in message
    assert "The run was stopped" in (tmp_path / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def own(tmp_path):
    X, truth = make_contaminated(200, 3, 0.1, random_state=0)
    table = pd.DataFrame(X, columns=["height", "weight", "age"])
    table["patient_id"] = np.arange(1000, 1200)
    table["name"], table["constant"] = [f"row {i}" for i in range(200)], 1.0
    table["bad"] = np.where(truth, "yes", "no")
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    return path


def test_compare_prints_the_table_of_all_peers(own, tmp_path):
    out = tmp_path / "found.csv"
    command = ["compare", str(own), "--truth", "bad", "--out", str(out)]
    outcome = CliRunner().invoke(app, command)
    assert outcome.exit_code == 0, outcome.output
    assert "200 rows, 3 columns, 20 outliers." in outcome.output
    summary = "Left out: 'patient_id' (identifier), 'name' (identifier), 'constant' (constant)."
    assert summary in outcome.output
    found = pd.read_csv(out).set_index("method")
    assert set(found.index) >= {"EOS", "EOS, auto", "isolation forest", "LOF", "kNN"}
    assert found.loc["EOS", "AUC-ROC"] > 0.99
    assert (found["AUC-ROC"].dropna().diff().dropna() <= 0).all()
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 2
    assert "--force" in again.output


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda t: t, ["--truth", "nothing"], "no column 'nothing'"),
        (lambda t: t, ["--truth", "bad", "--outlier", "maybe"], "no row is an"),
        (
            lambda t: t.assign(bad=np.where(t["bad"] == "yes", -1, 1)),
            ["--truth", "bad"],
            "Name the one that marks outliers",
        ),
        (lambda t: t.assign(bad=0), ["--truth", "bad"], "no row is an outlier"),
        (lambda t: t.assign(bad=None), ["--truth", "bad"], "'bad' is empty in row 1"),
        (
            lambda t: t.assign(age=t["age"].where(t.index != 7)),
            ["--truth", "bad"],
            "Column 'age' has 1 missing",
        ),
        (lambda t: t[["name", "bad"]], ["--truth", "bad"], "no numeric columns"),
    ],
)
def test_compare_names_what_is_wrong_with_a_table(own, change, options, message):
    change(pd.read_csv(own)).to_csv(own, index=False)
    outcome = CliRunner().invoke(app, ["compare", str(own), *options])
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.output.replace("│", "").split())


def test_exact_noise_flips_as_many_as_it_says():
    y = np.arange(200) % 2
    rng = np.random.default_rng(0)
    assert (corrupt_labels(y, "exact", 0.3, rng) != y).sum() == 60
    # With replacement: 1 - exp(-p) of all rows, on average.
    flipped = [(corrupt_labels(y, "paper", 0.5, rng) != y).mean() for _ in range(50)]
    assert np.mean(flipped) == pytest.approx(1 - np.exp(-0.5), abs=0.01)
    one_class = corrupt_labels(y, "one class", 0.4, rng)
    assert (one_class != y).sum() == 40
    assert (one_class[y == 0] == 0).all()


def test_splits_are_seeded_and_leave_test_labels_alone():
    one, same, other = (split_set("wdbc", "exact", 0.2, r) for r in (0, 0, 1))
    assert np.array_equal(one.given, same.given)
    assert not np.array_equal(one.X, other.X)
    assert (one.given != one.truth).mean() == pytest.approx(0.2, abs=0.002)
    X, y = load_set("wdbc")
    known = {tuple(row): label for row, label in zip(X, y, strict=True)}
    assert all(known[tuple(r)] == label for r, label in zip(one.X_test, one.y_test, strict=True))


def test_a_set_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"neurons\.npz is missing"):
        load_set("neurons", DataFolder(tmp_path))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name.endswith("by CV")])
def test_what_is_tuned_is_tuned(name):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    model = PEERS[name].run().fit(rng.normal(size=(90, 3)) + y[:, None], y)
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
