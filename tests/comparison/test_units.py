"""Units: kept at once, gone on with after a kill, none lost or run twice, failures said."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from unit_work import grid

from eosparse.comparison.store import OtherRunError, Store
from eosparse.comparison.units import FAILED, OK, TOO_SLOW, Ledger, Plan, run_grids

PLAN = Plan(repetitions=3, least=3, budget=10.0, limit=30.0)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "out")


def run(store, grids, plan=PLAN, **options):
    with store.opened({"version": 1}):
        run_grids(grids, plan, store, 2, **options)
    return store.kept()


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


def test_what_goes_wrong_is_a_row_that_says_so(store, tmp_path):
    methods = ("good", "broken", "dies")
    rows = run(store, [grid(tmp_path, methods, n_settings=1)], Plan(1, 1, 10.0, 30.0))
    by_method = {row["method"]: row for row in rows}
    assert by_method["good"]["status"] == OK
    assert by_method["broken"]["status"] == FAILED
    assert by_method["broken"]["reason"] == "ValueError: does not work"
    assert by_method["dies"]["status"] == FAILED
    assert "ended" in by_method["dies"]["reason"]


def test_a_method_over_the_limit_is_stopped_and_not_tried_at_like_settings(store, tmp_path):
    rows = run(store, [grid(tmp_path, ("slow", "good"))], Plan(2, 2, 10.0, 2.0))
    slow = [row for row in rows if row["method"] == "slow"]
    # Both settings may have been handed out before the first was stopped.
    assert {row["status"] for row in slow} == {TOO_SLOW}
    assert len(slow) <= 2
    assert sum(row["method"] == "good" for row in rows) == 4


def test_slow_methods_get_fewer_repetitions(tmp_path):
    ledger = Ledger(Plan(repetitions=50, least=3, budget=10.0, limit=60.0))
    one = grid(tmp_path)

    def repetitions(seconds):
        setting = one.settings[0]
        method = f"takes {seconds}"
        for repetition in range(50):
            if not ledger.wants(one, setting, method, repetition):
                return repetition
            ledger.enter(
                {"grid": "g", "setting": setting, "method": method, "repetition": repetition}
                | {"status": OK, "took": seconds}
            )
        return 50

    assert repetitions(0.1) == 50
    assert repetitions(1.0) == 10
    assert repetitions(9.0) == 3


def test_time_left_falls_to_zero(store, tmp_path):
    left = []
    run(store, [grid(tmp_path)], observe=lambda standing: left.append(standing.seconds_left))
    assert len(left) == 6
    assert left[-1] == 0.0


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    script = Path(__file__).with_name("unit_work.py")
    command = [sys.executable, str(script), str(tmp_path)]
    process = subprocess.Popen(command, start_new_session=True)
    units = tmp_path / "units.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if units.exists() and len(units.read_text().splitlines()) >= 8:
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = Store(tmp_path).kept()
    assert 8 <= len(before) < 30
    with units.open("a") as file:
        file.write('{"grid": "g", "cut o')  # a line that the kill left unfinished

    subprocess.run(command, check=True, timeout=120)
    after = Store(tmp_path).kept()
    assert after[: len(before)] == before
    done = Counter((row["setting"]["x"], row["repetition"]) for row in after)
    assert len(done) == 30
    assert set(done.values()) == {1}
    # Only what was under way when it was killed was begun a second time.
    begun = Counter((tmp_path / "trace").read_text().splitlines())
    assert sum(begun.values()) - 30 <= 2
    kept_before = {f"{row['setting']['x']} good {row['repetition']}" for row in before}
    assert all(begun[unit] == 1 for unit in kept_before)


def test_two_runs_do_not_share_a_folder(store):
    second = Store(store.folder)
    with (
        store.opened({"version": 1}),
        pytest.raises(OtherRunError, match="in use"),
        second.opened({}),
    ):
        pass


def test_units_made_otherwise_are_not_mixed(store, tmp_path):
    rows = run(store, [grid(tmp_path)])
    with (
        pytest.raises(OtherRunError, match="version=1; this run has version=2"),
        store.opened({"version": 2}),
    ):
        pass
    assert store.kept() == rows
    with store.opened({"version": 2}, fresh=True):
        assert store.kept() == []


def test_lines_are_json(store, tmp_path):
    run(store, [grid(tmp_path)])
    for line in (store.folder / "units.jsonl").read_text().splitlines():
        assert {"grid", "setting", "method", "repetition", "status"} <= set(json.loads(line))
