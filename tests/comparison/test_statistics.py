"""Intervals, paired differences, measures and tables, against independent ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from eosparse.comparison.intervals import compare_pairs, compute_half_interval, summarise
from eosparse.comparison.measures import (
    measure_detection,
    measure_estimate,
    measure_precision_at_count,
)
from eosparse.comparison.panels.adbench import SHRUNK, rank_methods
from eosparse.comparison.peers import Detection
from eosparse.comparison.runner import OK, TOO_SLOW, Grid
from eosparse.comparison.tables import cross_table, format_markdown, make_table


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_half_interval_is_scipys(values):
    if np.ptp(values) < 1e-6:
        return
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert compute_half_interval(pd.Series(values)) == pytest.approx((high - low) / 2, rel=1e-9)


def test_one_value_has_no_interval():
    assert np.isnan(compute_half_interval(pd.Series([1.0])))


def test_summarise_counts_repetitions():
    rows = pd.DataFrame({"m": ["a", "a", "b"], "v": [1.0, 3.0, 5.0]})
    table = summarise(rows, ["m"], ["v"])
    assert table["v"].tolist() == [2.0, 5.0]
    assert table["repetitions"].tolist() == [2, 1]


def test_paired_differences_are_those_of_scipy():
    rng = np.random.default_rng(0)
    common = rng.normal(size=20)
    one, other = common + rng.normal(0.1, 0.01, 20), common
    rows = pd.DataFrame(
        {
            "p": 0.1,
            "repetition": [*range(20), *range(20)],
            "method": ["one"] * 20 + ["other"] * 20,
            "v": [*one, *other],
        }
    )
    table = compare_pairs(rows, ["p"], "v", "one", "other")
    interval = stats.ttest_rel(one, other).confidence_interval()
    assert table["difference"].item() == pytest.approx(np.mean(one - other))
    assert table["±"].item() == pytest.approx((interval.high - interval.low) / 2)
    assert table["splits"].item() == 20


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_measures_are_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(40) < 0.3
    truth[:2] = True, False
    scores = rng.normal(size=40) + truth
    flagged = scores > rng.normal()
    found = measure_detection(Detection(scores, flagged), truth)
    assert found["precision"] == metrics.precision_score(truth, flagged, zero_division=0)
    assert found["recall"] == metrics.recall_score(truth, flagged)
    assert found["F1"] == pytest.approx(metrics.f1_score(truth, flagged, zero_division=0))
    assert found["AUC-ROC"] == metrics.roc_auc_score(truth, scores)
    assert found["AUC-PR"] == metrics.average_precision_score(truth, scores)
    top = np.argsort(-scores)[: truth.sum()]
    assert found["precision at count"] == truth[top].mean()


def test_ties_at_the_cut_count_by_their_mean():
    truth = np.array([True, True, False, False])
    assert measure_precision_at_count(np.zeros(4), truth) == 0.5
    assert measure_precision_at_count(np.array([3.0, 1.0, 1.0, 1.0]), truth) == pytest.approx(2 / 3)
    assert measure_precision_at_count(np.array([3.0, 2.0, 1.0, 1.0]), truth) == 1.0


def test_scores_that_are_not_numbers_are_an_error():
    with pytest.raises(ValueError, match="1 scores"):
        measure_detection(
            Detection(np.array([0.0, np.nan]), np.zeros(2, bool)), np.array([True, False])
        )


def test_scores_that_overflow_are_most_outlying():
    truth = np.array([False, False, True])
    found = measure_detection(Detection(np.array([0.0, 1.0, np.inf]), truth), truth)
    assert found["AUC-ROC"] == 1.0


def test_errors_of_estimates():
    detection = Detection(np.zeros(2), np.zeros(2, bool), np.array([3.0, 4.0]), 2 * np.eye(2))
    errors = measure_estimate(detection, np.eye(2))
    assert errors == {"error of mean": 5.0, "error of Σ": pytest.approx(1.0)}
    assert measure_estimate(detection._replace(location=None), np.eye(2)) == {}


def unit(method, repetition, status=OK, **values):
    row = {"grid": "f", "setting": {"share": 0.1}, "method": method, "repetition": repetition}
    return row | {"status": status, "took": 1.0} | values


def test_tables_show_failures():
    rows = [
        unit("EOS", 0, precision=0.8, seconds=1.0),
        unit("EOS", 1, precision=1.0, seconds=3.0),
        unit("LOF", 0, TOO_SLOW, reason="over 2 s"),
        unit("ECOD", 0, "failed", reason="ValueError: no"),
    ]
    methods = ("EOS", "LOF", "ECOD", "kNN")
    grid = Grid("f", ({"share": 0.1},), methods, lambda *_: {})
    found = make_table(rows, grid).set_index("method")
    assert found.loc["EOS", "precision"] == pytest.approx(0.9)
    assert found.loc["EOS", "repetitions"] == 2
    assert found["status"].tolist() == [
        OK,
        "time limit: over 2 s",
        "failed: ValueError: no",
        "not run yet",
    ]
    cells = cross_table(found.reset_index(), "share", "precision", planned=50).set_index("method")
    half = compute_half_interval(pd.Series([0.8, 1.0]))
    assert cells["0.1"].tolist() == [
        f"0.900 ± {half:.3f} (2)",
        "time limit",
        "failed",
        "not run yet",
    ]


def test_only_settings_of_the_kind_are_called_too_slow():
    settings = tuple({"kind": kind, "n": n} for kind in "ab" for n in (1, 2))
    grid = Grid("f", settings, ("LOF",), lambda *_: {}, family=("kind",))
    slow = unit("LOF", 0, TOO_SLOW, reason="over 2 s") | {"setting": {"kind": "a", "n": 1}}
    assert make_table([slow], grid)["status"].tolist() == [
        "time limit: over 2 s",
        "time limit: at an earlier setting",
        "not run yet",
        "not run yet",
    ]


def test_markdown_cells_cannot_break_the_table():
    text = format_markdown(pd.DataFrame({"a": ["x|y\nz"]}))
    assert text.splitlines() == ["| a |", "| --- |", "| x\\|y z |"]


def test_league_compares_on_the_same_sets():
    rows = pd.DataFrame(
        {
            "set": ["s", "t", "s", "s", "t"],
            "method": ["one", "one", "two", SHRUNK, SHRUNK],
            "AUC-ROC": [0.9, 0.7, 0.95, 0.8, 0.5],
            "AUC-PR": [0.5, 0.3, 0.4, 0.5, 0.5],
            "seconds": [1.0, 3.0, 2.0, 1.0, 1.0],
        }
    )
    published = pd.DataFrame({"three": [85.0, 60.0, 1.0]}, index=["s", "t", "another"])
    table = rank_methods(rows, published).set_index("method")
    assert table.loc["one", "AUC-ROC"] == pytest.approx(80.0)
    assert table.loc["one", "mean rank"] == 1.5
    # Best on the only set that it finished, but last: its mean is not of the same sets.
    assert table.index[-1] == "two"
    assert table.loc["two", "minus EOS"] == pytest.approx(15.0)
    assert table.loc["one", "minus EOS"] == pytest.approx(15.0)
    half = stats.t.ppf(0.975, 1) * np.std([10.0, 20.0], ddof=1) / np.sqrt(2)
    assert table.loc["one", "±"] == pytest.approx(half)
    assert table.loc["three (published)", "AUC-ROC"] == 72.5
    assert table.loc["one", "seconds"] == 4.0
