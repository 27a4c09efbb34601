"""Panels A to F: Gaussian rows with outliers among them, and a harder grid of the same kind."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from eosparse.comparison.measures import measure_detection, measure_estimate
from eosparse.comparison.peers import Task, list_peers
from eosparse.comparison.peers.eos import AUTHOR_OPTIONS, EOS, EOS_AUTO
from eosparse.comparison.peers.timing import time_detection, warm_up
from eosparse.comparison.runner import Grid, Row, Setting
from eosparse.core import CollapseError, FloatArray
from eosparse.datasets import make_contaminated
from eosparse.datasets.contaminated import compute_inlier_covariance

AUTHOR = "EOS, author's α"
# Our rules were developed on tables with smaller seeds.
_FIRST_SEED = 50_000

# The values that the author chose by hand.
ALPHA_BY_ROWS = dict(
    zip(
        (250 * 2**k for k in range(10)),
        (0.4, 0.4, 0.4, 0.3, 0.2, 0.2, 0.2, 0.25, 0.25, 0.25),
        strict=True,
    )
)
ALPHA_BY_COLUMNS = dict(
    zip(
        (3, 4, 6, 10, 20, 50, 100, 150, 200, 300, 400, 500, 1000),
        (0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.2, 0.3, 0.3, 0.25, 0.3, 0.4, 0.4),
        strict=True,
    )
)
ALPHA_BY_SHARE = dict(
    zip(
        (0.01, 0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3),
        (0.4, 0.4, 0.4, 0.3, 0.2, 0.2, 0.2, 0.25, 0.25),
        strict=True,
    )
)
# From where the weights collapse to where they hardly differ.
_ALPHAS = (0.09, 0.1, *(round(0.15 + 0.05 * k, 2) for k in range(18)), 2.0, 4.0)
# Panel B shows every 8th inlier, which is enough for a picture.
_INLIER_STEP = 8
# On tables of one Gaussian with outliers, our default takes the same model and needs no column.
PEER_DETECTORS = tuple(name for name in list_peers(Task.DETECT) if name not in (EOS, EOS_AUTO))
METHODS = (EOS, AUTHOR, *PEER_DETECTORS)


def find_outliers(setting: Setting, method: str, repetition: int) -> Row:
    """Draw a table, let a method judge its rows, and compare with the truth.

    Examples
    --------
    >>> setting = make_panel_f(quick=True).settings[0] | {"rows": 200, "columns": 3}
    >>> row = find_outliers(setting, "classical covariance", 0)
    >>> row["recall"]
    1.0
    """
    X, truth = make_contaminated(
        setting["rows"],
        setting["columns"],
        setting["share"],
        outliers=setting["outliers"],
        inliers=setting["inliers"],
        random_state=_FIRST_SEED + repetition,
    )
    options: dict[str, Any] = {}
    if method == AUTHOR:
        method, options = EOS, {"alpha": setting["alpha"]} | AUTHOR_OPTIONS
    detection, seconds = time_detection(method, X, repetition, **options)
    covariance = compute_inlier_covariance(setting["columns"], setting["inliers"])
    errors = measure_estimate(detection, covariance)
    return measure_detection(detection, truth) | errors | {"seconds": seconds}


def _make_setting(
    rows: int, columns: int, share: float, outliers: str = "uniform", inliers: str = "independent"
) -> Setting:
    return {
        "rows": rows,
        "columns": columns,
        "share": share,
        "outliers": outliers,
        "inliers": inliers,
        # Some methods are slow if rows are few for the columns, rather than many.
        "scarce": rows < 5 * columns,
    }


def make_panel_c(quick: bool) -> Grid:
    """Return a grid of 250 to 128,000 rows: cost (panel C) and precision (panel D)."""
    sizes = (250, 1000, 2000) if quick else ALPHA_BY_ROWS
    settings = [_make_setting(n, 100, 0.02) | {"alpha": ALPHA_BY_ROWS[n]} for n in sizes]
    return Grid("c", tuple(settings), METHODS, find_outliers, warm_up, ("scarce",))


def make_panel_e(quick: bool) -> Grid:
    """Return a grid of 3 to 1000 columns."""
    columns = (3, 10, 50) if quick else ALPHA_BY_COLUMNS
    settings = [_make_setting(2000, d, 0.02) | {"alpha": ALPHA_BY_COLUMNS[d]} for d in columns]
    return Grid("e", tuple(settings), METHODS, find_outliers, warm_up, ("scarce",))


def make_panel_f(quick: bool) -> Grid:
    """Return a grid of 1 % to 30 % outliers."""
    shares = (0.02, 0.3) if quick else ALPHA_BY_SHARE
    settings = [_make_setting(1000, 150, p) | {"alpha": ALPHA_BY_SHARE[p]} for p in shares]
    return Grid("f", tuple(settings), METHODS, find_outliers, warm_up, ("scarce",))


def make_harder(quick: bool) -> Grid:
    """Return a grid of clustered and radial outliers, up to 45 %, among two kinds of inliers."""
    settings = [
        _make_setting(max(1000, 20 * d), d, p, outliers, inliers)
        for d in ((10,) if quick else (5, 20, 50))
        for outliers in ("clustered", "radial")
        for inliers in ("independent", "autoregressive")
        for p in ((0.1, 0.45) if quick else (0.1, 0.3, 0.4, 0.45))
    ]
    # 20 repetitions: the grid has many settings, and their differences are large.
    methods = (EOS, *PEER_DETECTORS)
    return Grid("harder", tuple(settings), methods, find_outliers, warm_up, ("columns",), 20)


def _compute_weights(X: FloatArray, alpha: float) -> FloatArray:
    from eosparse import EOSDetector

    detector = EOSDetector(alpha, **AUTHOR_OPTIONS, random_state=0)
    return len(X) * np.asarray(detector.fit(X).weights_)


def weigh(setting: Setting, method: str, repetition: int, *, with_rows: bool) -> Row:  # noqa: ARG001
    """Return weights of a table of panels A and B: of all outliers and of some inliers."""
    X, truth = make_contaminated(2000, 100, 0.02, random_state=_FIRST_SEED + repetition)
    try:
        weights = _compute_weights(X, setting["alpha"])
    except CollapseError as error:
        return {"collapsed": str(error)}
    inliers = np.flatnonzero(~truth)[:: 1 if with_rows else _INLIER_STEP]
    shown = np.concatenate([np.flatnonzero(truth), inliers])
    row: Row = {
        "is outlier": truth[shown].tolist(),
        "T·w": [float(f"{w:.4g}") for w in weights[shown]],
    }
    if with_rows:
        row |= {"x1": X[shown, 0].round(3).tolist(), "x2": X[shown, 1].round(3).tolist()}
    return row


weigh_with_rows = partial(weigh, with_rows=True)
weigh_rows = partial(weigh, with_rows=False)


def make_panel_a(quick: bool) -> Grid:  # noqa: ARG001  # one picture in either case
    """Return the grid of weights in two of the columns."""
    return Grid("a", ({"alpha": 0.2},), (AUTHOR,), weigh_with_rows, repetitions=1)


def make_panel_b(quick: bool) -> Grid:
    """Return the grid of weights along α."""
    alphas = _ALPHAS[::4] if quick else _ALPHAS
    settings = tuple({"alpha": alpha} for alpha in alphas)
    return Grid("b", settings, (AUTHOR,), weigh_rows, repetitions=1)
