"""Long work shows progress, can be interrupted, and goes on after a kill."""

import io
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from eosparse import DegenerateDataWarning, EOSDetector, Status
from eosparse.fitting.progress import Progress
from eosparse.rows import spread_out


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    X[:300] += 4
    return X


KILLED = """
import sys, time
import numpy as np
from eosparse import EOSDetector

def slowly(iteration):
    print(iteration.number, flush=True)
    time.sleep(0.2)

options = {"tol": 0.0, "start": "uniform", "max_iter": 12, "checkpoint": sys.argv[2]}
EOSDetector(0.9, callback=slowly, **options).fit(np.load(sys.argv[1]))
"""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_killed_process_goes_on_where_it_stood(table, tmp_path):
    np.save(tmp_path / "X.npy", table)
    checkpoint = tmp_path / "fit.npz"
    script = [sys.executable, "-c", KILLED, str(tmp_path / "X.npy"), str(checkpoint)]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) == 4:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    numbers = []
    parameters = {"alpha": 0.9, "tol": 0.0, "start": "uniform", "max_iter": 12}
    resumed = EOSDetector(
        **parameters, checkpoint=checkpoint, callback=lambda it: numbers.append(it.number)
    ).fit(table)
    whole = EOSDetector(**parameters).fit(table)
    assert numbers[0] == 5  # four passes were not lost
    np.testing.assert_array_equal(resumed.objective_history_, whole.objective_history_)
    np.testing.assert_array_equal(resumed.covariance_, whole.covariance_)
    assert resumed.n_iter_ == whole.n_iter_
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_a_finished_checkpoint_is_one_pass_from_the_end(table, tmp_path):
    first = EOSDetector(alpha=0.9, start="uniform", checkpoint=tmp_path / "c").fit(table)
    passes = []
    parameters = {"alpha": 0.9, "start": "uniform", "checkpoint": tmp_path / "c"}
    again = EOSDetector(**parameters, callback=lambda it: passes.append(it.number)).fit(table)
    assert passes == [first.n_iter_]
    np.testing.assert_array_equal(again.covariance_, first.covariance_)


def test_more_passes_can_be_asked_for_later(table, tmp_path):
    parameters = {"alpha": 0.9, "start": "uniform", "checkpoint": tmp_path / "c"}
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        EOSDetector(**parameters, max_iter=3).fit(table)
    whole = EOSDetector(alpha=0.9, start="uniform").fit(table)
    longer = EOSDetector(**parameters).fit(table)
    np.testing.assert_array_equal(longer.objective_history_, whole.objective_history_)


def test_a_fallback_uses_the_same_checkpoint(tmp_path):
    """Bulk on a plane: the first attempts collapse, and the covariance is shrunk."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    X[:200, 2] = X[:200, 0] + X[:200, 1]
    for start in ("uniform", "deterministic"):
        with pytest.warns(DegenerateDataWarning):
            EOSDetector(start=start, checkpoint=tmp_path / start, model="gaussian").fit(X)


def test_rows_that_changed_are_named(table, tmp_path):
    large = np.tile(table, (10, 1)) + np.random.default_rng(2).normal(size=(30_000, 3)) / 9
    parameters = {"alpha": 0.9, "start": "uniform", "checkpoint": tmp_path / "c"}
    with pytest.warns(ConvergenceWarning):
        EOSDetector(**parameters, max_iter=3).fit(large)
    sampled = spread_out(30_000, 1000)
    changed = large + 5
    changed[sampled] = large[sampled]
    with pytest.raises(ValueError, match="rows that have changed"):
        EOSDetector(**parameters).fit(changed)


def test_checkpoints_of_other_fits_are_refused(table, tmp_path):
    path = tmp_path / "c.npz"
    EOSDetector(checkpoint=path, alpha=0.9, start="uniform").fit(table)
    before = path.read_bytes()
    for parameters, X in (({"alpha": 0.8}, table), ({"alpha": 0.9}, table + 1)):
        with pytest.raises(ValueError, match="belongs to a fit of other rows"):
            EOSDetector(**parameters, start="uniform", checkpoint=path).fit(X)
    assert path.read_bytes() == before
    for content in (b"something else", b""):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not an eosparse checkpoint"):
            EOSDetector(checkpoint=path).fit(table)
    with pytest.raises(ValueError, match="there is no folder"):
        EOSDetector(checkpoint=tmp_path / "nowhere" / "c").fit(table)
    with pytest.raises(ValueError, match="must be a path"):
        EOSDetector(checkpoint=3).fit(table)


def test_an_interrupt_keeps_the_best_state(table, storage):
    # A process in the background may have been started without Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(iteration):
        if iteration.number == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)

    detector = EOSDetector(0.9, tol=0.0, start="uniform", callback=interrupt)
    X = storage(table)
    with pytest.warns(ConvergenceWarning, match="interrupted after"):
        detector.fit(X)
    assert detector.status_ is Status.INTERRUPTED
    assert (np.diff(detector.objective_history_) <= 0).all()
    assert len(detector.score_samples(X)) == len(table)


def test_progress_is_shown(table, capsys):
    EOSDetector(0.9, start="uniform", verbose=True).fit(table)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("pass 1, objective ")
    assert " s left" in lines[-2]
    assert lines[-1].endswith("judging the rows")


def test_a_terminal_gets_a_bar(table):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    EOSDetector(0.9, start="uniform", callback=Progress(terminal)).fit(table)
    shown = terminal.getvalue()
    assert shown.count("\r") >= 2
    assert shown.endswith("\n")
    assert "[####################]" in shown
