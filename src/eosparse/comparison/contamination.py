"""Panels A to F: Gaussian rows with outliers among them, and a harder grid of the same kind."""

from __future__ import annotations

from functools import partial

import numpy as np

from eosparse.comparison.ledger import Grid, Setting
from eosparse.comparison.measures import estimation_errors, measures
from eosparse.comparison.peers import (
    AS_THE_AUTHOR,
    EOS,
    PEERS,
    Find,
    eos_as_the_author,
    timed,
    warm,
)
from eosparse.comparison.store import Row
from eosparse.core import CollapseError, FloatArray
from eosparse.datasets import make_contaminated
from eosparse.datasets.contaminated import compute_inlier_covariance

AUTHOR = "EOS, author's α"
# Rules were developed on tables with smaller seeds; these are others.
_FIRST_SEED = 50_000

# What the author chose by hand.
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
_ALPHAS = (0.09, 0.1, *(round(0.15 + 0.05 * k, 2) for k in range(18)), 2.0, 4.0)


def find_outliers(setting: Setting, method: str, repetition: int) -> Row:
    """Draw a table, let a method judge it, and compare with the truth."""
    X, truth = make_contaminated(
        setting["rows"],
        setting["columns"],
        setting["share"],
        outliers=setting["outliers"],
        inliers=setting["inliers"],
        random_state=_FIRST_SEED + repetition,
    )
    finding, seconds = timed(_finder(setting, method), X, repetition)
    covariance = compute_inlier_covariance(setting["columns"], setting["inliers"])
    errors = estimation_errors(finding, covariance)
    return measures(finding, truth) | errors | {"seconds": seconds}


def _finder(setting: Setting, method: str) -> Find:
    return eos_as_the_author(setting["alpha"]) if method == AUTHOR else PEERS[method].find


def _settings(
    rows: int, columns: int, share: float, outliers: str = "uniform", inliers: str = "independent"
) -> Setting:
    return {
        "rows": rows,
        "columns": columns,
        "share": share,
        "outliers": outliers,
        "inliers": inliers,
        # Some methods are slow for want of rows, not for their number.
        "scarce": rows < 5 * columns,
    }


METHODS = (EOS, AUTHOR, *(name for name in PEERS if name != EOS))


def panel_c(quick: bool) -> Grid:
    """Rows from 250 to 128,000: cost (C) and precision (D)."""
    sizes = (250, 1000, 2000) if quick else ALPHA_BY_ROWS
    settings = [_settings(n, 100, 0.02) | {"alpha": ALPHA_BY_ROWS[n]} for n in sizes]
    return Grid("c", tuple(settings), METHODS, find_outliers, warm, ("scarce",))


def panel_e(quick: bool) -> Grid:
    """Columns from 3 to 1000."""
    columns = (3, 10, 50) if quick else ALPHA_BY_COLUMNS
    settings = [_settings(2000, d, 0.02) | {"alpha": ALPHA_BY_COLUMNS[d]} for d in columns]
    return Grid("e", tuple(settings), METHODS, find_outliers, warm, ("scarce",))


def panel_f(quick: bool) -> Grid:
    """Outliers from 1 % to 30 %."""
    shares = (0.02, 0.3) if quick else ALPHA_BY_SHARE
    settings = [_settings(1000, 150, p) | {"alpha": ALPHA_BY_SHARE[p]} for p in shares]
    return Grid("f", tuple(settings), METHODS, find_outliers, warm, ("scarce",))


def harder(quick: bool) -> Grid:
    """Clustered and radial outliers up to 45 %, among independent and correlated inliers."""
    settings = [
        _settings(max(1000, 20 * d), d, p, outliers, inliers)
        for d in ((10,) if quick else (5, 20, 50))
        for outliers in ("clustered", "radial")
        for inliers in ("independent", "autoregressive")
        for p in ((0.1, 0.45) if quick else (0.1, 0.3, 0.4, 0.45))
    ]
    methods = (EOS, *METHODS[2:])
    return Grid("harder", tuple(settings), methods, find_outliers, warm, ("columns",), 20)


def _weights(X: FloatArray, alpha: float) -> FloatArray:
    from eosparse import EOSDetector

    detector = EOSDetector(alpha, **AS_THE_AUTHOR, random_state=0)
    return len(X) * np.asarray(detector.fit(X).weights_)


def weigh(setting: Setting, method: str, repetition: int, *, with_rows: bool) -> Row:  # noqa: ARG001
    """Return weights of a table of panels A and B: of all outliers and of some other rows."""
    X, truth = make_contaminated(2000, 100, 0.02, random_state=_FIRST_SEED + repetition)
    try:
        weights = _weights(X, setting["alpha"])
    except CollapseError as error:
        return {"collapsed": str(error)}
    kept = np.concatenate([np.flatnonzero(truth), np.flatnonzero(~truth)[:: 1 if with_rows else 8]])
    row: Row = {
        "is outlier": truth[kept].tolist(),
        "T·w": [float(f"{w:.4g}") for w in weights[kept]],
    }
    if with_rows:
        row |= {"x1": X[kept, 0].round(3).tolist(), "x2": X[kept, 1].round(3).tolist()}
    return row


weigh_with_rows = partial(weigh, with_rows=True)
weigh_rows = partial(weigh, with_rows=False)


def panel_a(quick: bool) -> Grid:  # noqa: ARG001  # one picture in either case
    """Draw weights in two of the columns."""
    return Grid("a", ({"alpha": 0.2},), (AUTHOR,), weigh_with_rows, repetitions=1)


def panel_b(quick: bool) -> Grid:
    """Weights along α."""
    alphas = _ALPHAS[::4] if quick else _ALPHAS
    settings = tuple({"alpha": alpha} for alpha in alphas)
    return Grid("b", settings, (AUTHOR,), weigh_rows, repetitions=1)
