"""The runner: units are kept at once and resumed after a kill; none is lost or run twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from unit_work import grid

from eosparse.comparison.runner import (
    FAILED,
    OK,
    TOO_SLOW,
    Plan,
    Schedule,
    Store,
    StoreError,
    Workers,
    run_grids,
    workers,
)

PLAN = Plan(repetitions=3, least=3, budget=10.0, limit=30.0)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "out")


def run(store, grids, plan=PLAN, **options):
    with store.open({"version": 1}):
        run_grids(grids, plan, store, Workers(2), **options)
    return store.read_units()


@pytest.fixture(scope="module")
def finished_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    run(Store(folder / "out"), [grid(folder)])
    return folder / "out"


@pytest.fixture
def finished(finished_folder, tmp_path):
    """The store of a finished run, to read and to spoil."""
    return Store(shutil.copytree(finished_folder, tmp_path / "finished"))


def test_every_unit_is_run_and_kept_once(store, tmp_path):
    rows = run(store, [grid(tmp_path, ("good", "other"))])
    done = Counter((row["setting"]["x"], row["method"], row["repetition"]) for row in rows)
    assert len(done) == 2 * 2 * 3
    assert set(done.values()) == {1}
    assert all(row["value"] == row["setting"]["x"] + row["repetition"] for row in rows)


def test_a_second_run_has_nothing_to_do(store, tmp_path):
    before = run(store, [grid(tmp_path)])
    assert run(store, [grid(tmp_path)]) == before
    assert len((tmp_path / "trace").read_text().splitlines()) == len(before)


def test_failures_are_rows_with_a_reason(store, tmp_path):
    methods = ("good", "broken", "dies")
    rows = run(store, [grid(tmp_path, methods, n_settings=1)], Plan(1, 1, 10.0, 30.0))
    by_method = {row["method"]: row for row in rows}
    assert by_method["good"]["status"] == OK
    assert by_method["broken"]["status"] == FAILED
    assert by_method["broken"]["reason"] == "ValueError: does not work"
    assert by_method["dies"]["status"] == FAILED
    assert "ended" in by_method["dies"]["reason"]


def test_a_method_over_the_limit_is_stopped_and_not_tried_again(store, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_SECONDS_TO_LOAD", 0.0)
    rows = run(store, [grid(tmp_path, ("slow", "good"))], Plan(2, 2, 10.0, 2.0))
    slow = [row for row in rows if row["method"] == "slow"]
    # Some may have been handed out before the first was stopped.
    assert {row["status"] for row in slow} == {TOO_SLOW}
    assert len(slow) < 4
    assert sum(row["method"] == "good" for row in rows) == 4


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no clock of processor time")
def test_the_limit_is_one_of_processor_time(store, tmp_path):
    rows = run(store, [grid(tmp_path, ("busy", "good"), n_settings=1)], Plan(1, 1, 10.0, 1.0))
    by_method = {row["method"]: row for row in rows}
    assert by_method["good"]["status"] == OK
    assert by_method["busy"]["status"] == TOO_SLOW
    # Not "by the clock", which is more patient.
    assert by_method["busy"]["reason"] == "over 1 s"


def row(unit, took, status=OK):
    return unit.row | {"status": status, "took": took}


@pytest.mark.parametrize(("seconds", "wanted"), [(0.1, 50), (1.0, 10), (9.0, 3)])
def test_slow_methods_get_fewer_repetitions(tmp_path, seconds, wanted):
    one = grid(tmp_path, n_settings=1)
    schedule = Schedule([one], Plan(repetitions=50, least=3, budget=10.0, limit=60.0))
    count = 0
    for unit in schedule.iterate_units():
        schedule.record(row(unit, seconds))
        count += 1
    assert count == wanted
    assert schedule.estimate_seconds_left() == 0.0


def test_a_method_too_slow_at_one_setting_is_still_repeated_at_smaller_ones(tmp_path):
    one = grid(tmp_path, n_settings=3)
    schedule = Schedule([one], Plan(repetitions=4, least=4, budget=10.0, limit=5.0))
    seen = Counter()
    for unit in schedule.iterate_units():
        seen[unit.setting["x"]] += 1
        slow = unit.setting["x"] == 1
        schedule.record(row(unit, 5.0 if slow else 0.1, TOO_SLOW if slow else OK))
    assert seen == {0: 4, 1: 1}


def test_settings_of_another_family_are_tried(tmp_path):
    one = grid(tmp_path, n_settings=3, family=("x",))
    schedule = Schedule([one], Plan(repetitions=2, least=2, budget=10.0, limit=5.0))
    seen = Counter()
    for unit in schedule.iterate_units():
        seen[unit.setting["x"]] += 1
        schedule.record(row(unit, 5.0, TOO_SLOW if unit.setting["x"] == 0 else OK))
    assert seen == {0: 1, 1: 2, 2: 2}


def test_time_left_falls_to_zero(store, tmp_path):
    left = []
    run(store, [grid(tmp_path)], observe=lambda standing: left.append(standing.seconds_left))
    assert left[-1] == 0.0


def test_a_killed_run_resumes(tmp_path):
    script = Path(__file__).with_name("unit_work.py")
    command = [sys.executable, str(script), str(tmp_path)]
    process = subprocess.Popen(command, start_new_session=True)
    kept = tmp_path / "units.jsonl"
    deadline = time.monotonic() + 300  # a busy machine is no defect
    while time.monotonic() < deadline:
        if kept.exists() and len(kept.read_text().splitlines()) >= 8:
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = Store(tmp_path).read_units()
    assert 8 <= len(before) < 30
    with kept.open("a") as file:
        file.write('{"grid": "g", "cut o')  # a line that the kill left unfinished

    subprocess.run(command, check=True, timeout=300)
    after = Store(tmp_path).read_units()
    assert after[: len(before)] == before
    done = Counter((row["setting"]["x"], row["repetition"]) for row in after)
    assert len(done) == 30
    assert set(done.values()) == {1}
    # Only what was under way when it was killed was begun a second time.
    begun = Counter((tmp_path / "trace").read_text().splitlines())
    assert sum(begun.values()) - 30 <= 2
    kept_before = {f"{row['setting']['x']} good {row['repetition']}" for row in before}
    assert all(begun[unit] == 1 for unit in kept_before)


def test_workers_end_when_only_the_parent_is_killed(tmp_path):
    script = Path(__file__).with_name("unit_work.py")
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path)])
    deadline = time.monotonic() + 300  # a busy machine is no defect
    while not (tmp_path / "units.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == []


def test_a_damaged_line_is_named(finished):
    path = finished.folder / "units.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:20], *lines[2:]]) + "\n")
    with pytest.raises(StoreError, match=r"Line 2 of .* is damaged"):
        finished.read_units()


def test_two_runs_do_not_share_a_folder(store):
    second = Store(store.folder)
    with (
        store.open({"version": 1}),
        pytest.raises(StoreError, match="in use"),
        second.open({}),
    ):
        pass


def test_units_of_another_version_are_refused(finished):
    rows = finished.read_units()
    with (
        pytest.raises(StoreError, match="version=1; this run has version=2"),
        finished.open({"version": 2}),
    ):
        pass
    assert finished.read_units() == rows != []
    with finished.open({"version": 2}, fresh=True):
        assert finished.read_units() == []


def test_the_units_of_some_grids_can_be_forgotten(finished):
    other = finished.read_units()[0] | {"grid": "other"}
    finished.append(other)
    with finished.open({"version": 1}, forget=lambda row: row["grid"] == "g"):
        assert finished.read_units() == [other]
    with (
        pytest.raises(StoreError, match="this run has version=2"),
        finished.open({"version": 2}, forget=lambda row: row["grid"] == "g"),
    ):
        pass


def test_lines_are_json(finished):
    lines = (finished.folder / "units.jsonl").read_text().splitlines()
    assert len(lines) == 6
    for line in lines:
        assert {"grid", "setting", "method", "repetition", "status"} <= set(json.loads(line))
