"""The summary of a search for rows that do not belong: plain data, ready for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import eosparse
from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.estimators import EOSDetector
from eosparse.rows import spread_out
from eosparse.tables import Column, Numbers, Role, TableFile
from eosparse.tables.columns import name_of_rows
from eosparse.tables.numbers import number_cells

if TYPE_CHECKING:
    import pandas as pd

Summary = dict[str, Any]
# Rows that pictures show besides the flagged ones.
_MOST_SHOWN = 4000
_MOST_REASONS = 3
_SMALLEST_SHARE = 0.1


def summarise(
    table: TableFile,
    columns: list[Column],
    numbers: Numbers,
    detector: EOSDetector,
    *,
    notes: tuple[str, ...] = (),
) -> Summary:
    """Return all that is worth saying of a fitted detector and its table.

    Parameters
    ----------
    table : TableFile
        The table.
    columns : list of Column
        What its columns were taken for.
    numbers : Numbers
        The part of it that was used.
    detector : EOSDetector
        Fitted to these numbers.
    notes : tuple of str
        Further remarks, such as warnings.

    Returns
    -------
    dict
        Text, numbers and lists only. Rows are counted from 1, as in the file below its header.
    """
    verdict = Verdict.of_training(detector)
    return _summary(table, columns, numbers, detector, verdict, notes)


@dataclass(frozen=True)
class Verdict:
    """What a detector says of each row of some numbers."""

    p_values: FloatArray
    weights: FloatArray
    is_outlier: BoolArray

    @classmethod
    def of_training(cls, detector: EOSDetector) -> Verdict:
        """Of the rows that the detector was made of; a weight of 1 is that of an average row."""
        weights = np.asarray(detector.weights_)
        return cls(
            np.asarray(detector.p_values_), len(weights) * weights, np.asarray(detector.is_outlier_)
        )

    @classmethod
    def of_new(cls, detector: EOSDetector, numbers: Numbers, level: float | None) -> Verdict:
        """Of new rows; flagged beyond the model's cut, or by level."""
        values = _named(detector, numbers, np.arange(len(numbers.values)))
        p_values = np.asarray(detector.p_values(values))
        judge = detector._judge
        weights = judge.relative_weights(judge.fit.measure(numbers.values))
        flagged = p_values < level if level is not None else detector.predict(values) == -1
        return cls(p_values, weights, np.asarray(flagged))


def judged_by_model(
    table: TableFile,
    columns: list[Column],
    numbers: Numbers,
    detector: EOSDetector,
    level: float | None = None,
) -> tuple[Summary, pd.DataFrame]:
    """Return the summary of new rows judged by a detector, and the table with what was found."""
    verdict = Verdict.of_new(detector, numbers, level)
    summary = _summary(table, columns, numbers, detector, verdict, ())
    summary["model"] |= {"level": level}
    return summary, with_findings(table.frame, numbers, verdict, summary)


def with_findings(
    frame: pd.DataFrame, numbers: Numbers, verdict: Verdict, summary: Summary
) -> pd.DataFrame:
    """Return all rows in their order with what was found; rows left out have no findings."""
    judged = frame.copy()
    for name, values in (("eos_weight", verdict.weights), ("eos_p_value", verdict.p_values)):
        whole = np.full(len(frame), np.nan)
        whole[numbers.is_kept] = values
        judged[name] = whole
    is_outlier = np.zeros(len(frame), dtype=bool)
    is_outlier[numbers.is_kept] = verdict.is_outlier
    judged["eos_is_outlier"] = is_outlier
    judged["eos_reason"] = reason_column(summary)
    return judged


def reason_column(summary: Summary) -> Any:
    """Return a text for every row of the table; empty for rows that are not flagged."""
    reasons = np.full(summary["table"]["n_rows"], "", dtype=object)
    for row in summary["flagged"]:
        reasons[row["row"] - 1] = inert(reason_text(row["reasons"]))
    return reasons


def inert(text: str) -> str:
    """Return text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _summary(
    table: TableFile,
    columns: list[Column],
    numbers: Numbers,
    detector: EOSDetector,
    verdict: Verdict,
    notes: tuple[str, ...],
) -> Summary:
    kept = np.flatnonzero(numbers.is_kept)
    flagged = np.flatnonzero(verdict.is_outlier)
    return {
        "kind": "detection",
        "eosparse": eosparse.__version__,
        "table": {"name": table.name, "n_rows": len(table.frame), "n_used": len(kept)},
        "columns": column_summaries(columns),
        "notes": [*table.notes, *numbers.notes, *notes, *_doubts(verdict)],
        "model": model_summary(detector, len(numbers.names)),
        "n_flagged": len(flagged),
        "flagged": flagged_rows(table.frame, columns, numbers, detector, verdict, flagged),
        "usual": usual_values(table.frame, columns, numbers, verdict.is_outlier),
    }


def column_summaries(columns: list[Column]) -> list[Summary]:
    """Return what columns were taken for."""
    return [
        {"name": c.name, "role": str(c.role), "why": c.why, "n_missing": c.n_missing}
        for c in columns
    ]


# More rows than this part with hardly any weight, and no flag, are not an accident.
_MOST_IN_DOUBT = 0.1


def _doubts(verdict: Verdict) -> list[str]:
    """Say so if many rows have no part in the fit and yet are not flagged."""
    in_doubt = (verdict.weights < 1e-3) & ~verdict.is_outlier
    if in_doubt.mean() <= _MOST_IN_DOUBT:
        return []
    return [
        f"{np.count_nonzero(in_doubt):,} rows have hardly any weight and yet are not flagged: the "
        "fit holds the others only, as happens with more columns than rows. The order of the rows "
        "can be trusted, the p-values cannot, and too few may be flagged. Use fewer columns."
    ]


def model_summary(detector: EOSDetector, n_columns: int) -> Summary:
    """Return how the answer was found."""
    return {
        "alpha": float(detector.alpha_),
        "is_alpha_chosen": detector.alpha == "auto",
        "fdr": float(detector.fdr),
        "shrinkage": float(detector.shrinkage_),
        "n_columns": n_columns,
        "passes": int(detector.n_iter_),
        "status": str(detector.status_),
        "effective_rows": float(detector.effective_sample_size_),
        "objective": [float(value) for value in detector.objective_history_],
    }


def flagged_rows(
    frame: pd.DataFrame,
    columns: list[Column],
    numbers: Numbers,
    detector: EOSDetector,
    verdict: Verdict,
    rows: IntArray,
) -> list[Summary]:
    """Describe some rows of the numbers: how sure, why, and what they hold."""
    if len(rows) == 0:
        return []
    place = np.flatnonzero(numbers.is_kept)[rows]
    values = _named(detector, numbers, rows)
    found = Described(
        place, verdict.p_values[rows], np.sqrt(detector.mahalanobis(values)), verdict.weights[rows]
    )
    return described(frame.iloc[place], columns, detector, values, found)


class Described(NamedTuple):
    """Numbers about some rows: their place, from 0, and how far out they are."""

    place: IntArray
    p_values: FloatArray
    distances: FloatArray
    weights: FloatArray


def described(
    cells: pd.DataFrame, columns: list[Column], detector: EOSDetector, values: Any, found: Described
) -> list[Summary]:
    """Describe rows by their cells in the table and the values that were judged; worst first."""
    name = name_of_rows(columns)
    names = [shown(cell) for cell in cells[name]] if name is not None else [None] * len(cells)
    shares = _shares(detector, values)
    used = tuple(str(column) for column in values.columns)
    places = {name: i for i, name in enumerate(cells.columns)}
    rows: list[Summary] = [
        {
            "row": int(found.place[i]) + 1,
            "id": names[i],
            "p_value": float(found.p_values[i]),
            "distance": float(found.distances[i]),
            "weight": float(found.weights[i]),
            "reasons": [
                {
                    "column": used[n],
                    "value": shown(cells.iat[i, places[used[n]]]),
                    "share": float(shares[i, n]),
                }
                for n in most_of(shares[i])
            ],
        }
        for i in range(len(cells))
    ]
    return sorted(rows, key=lambda row: (row["p_value"], -row["distance"]))


def _named(detector: EOSDetector, numbers: Numbers, rows: IntArray) -> Any:
    """Return rows as the detector was given them, with names."""
    import pandas as pd

    return pd.DataFrame(numbers.values[rows], columns=list(detector.feature_names_in_))


def _shares(detector: EOSDetector, values: Any) -> FloatArray:
    """Share of each row's squared distance that each column has."""
    contributions = detector.explain(values).contributions
    shares: FloatArray = contributions / np.maximum(
        contributions.sum(axis=1, keepdims=True), 1e-300
    )
    return shares


def most_of(shares: FloatArray) -> list[int]:
    """Return the columns with most of a row's distance; the first three if none has much."""
    order = [int(i) for i in np.argsort(-shares, kind="stable")[:_MOST_REASONS]]
    return [i for i in order if shares[i] >= _SMALLEST_SHARE] or order


def usual_values(
    frame: pd.DataFrame, columns: list[Column], numbers: Numbers, is_outlier: Any
) -> dict[str, str]:
    """Say what is usual in each column used, among rows that were not flagged."""
    import pandas as pd

    place = np.flatnonzero(numbers.is_kept)[~np.asarray(is_outlier, dtype=bool)]
    usual = frame.iloc[place]
    names = [column.name for column in columns if column.role is Role.NUMBER]
    cells = pd.DataFrame(number_cells(usual, names), columns=names)
    quantiles = cells.quantile([0.05, 0.5, 0.95]).to_numpy().T
    said = {
        name: f"{low:.4g} to {high:.4g}, median {middle:.4g}"
        for name, (low, middle, high) in zip(names, quantiles, strict=True)
    }
    for column in columns:
        if column.role is Role.CATEGORY:
            counts = usual[column.name].value_counts(normalize=True)
            said[column.name] = f"{shown(counts.index[0])} in {counts.iloc[0]:.0%}"
    return said


def shown(value: Any, most: int = 200) -> str:
    """Return a cell as text, shortened; numbers in up to six digits."""
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def reason_text(reasons: list[Summary]) -> str:
    """Return reasons in one line."""
    said = ", ".join(f"{r['column']}={r['value']} ({_percent(r['share'])})" for r in reasons)
    is_spread = bool(reasons) and reasons[0]["share"] < _SMALLEST_SHARE
    return f"many columns, first {said}" if is_spread else said


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{share:.2%}"


def pictured(detector: EOSDetector, numbers: Numbers) -> Summary:
    """Return what pictures need: points of a map, quantiles, and the way along α.

    Of many flagged rows the most outlying are there, and of many others an even sample; how many
    are left out is said.
    """
    is_outlier = np.asarray(detector.is_outlier_)
    flagged, others = np.flatnonzero(is_outlier), np.flatnonzero(~is_outlier)
    farthest = np.argsort(np.asarray(detector.p_values_)[flagged], kind="stable")[:_MOST_SHOWN]
    sampled = others[spread_out(len(others), min(_MOST_SHOWN, len(others)))]
    rows = np.sort(np.concatenate([flagged[farthest], sampled]))
    distances = np.sqrt(detector.mahalanobis(_named(detector, numbers, rows)))
    place = np.flatnonzero(numbers.is_kept)
    return {
        "row": [int(n) + 1 for n in place[rows]],
        "distance": _rounded(distances),
        "is_flagged": [int(flag) for flag in is_outlier[rows]],
        "cut": float(np.sqrt(-detector.offset_)),
        "n_left_out": len(is_outlier) - len(rows),
        "quantiles": _quantiles(detector),
        "path": _path(detector, numbers, rows),
    }


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _quantiles(detector: EOSDetector, most: int = 600) -> Summary:
    """Ordered p-values of all rows against what they would be if every row belonged."""
    p_values = np.sort(np.asarray(detector.p_values_, dtype=np.float64))
    n = len(p_values)
    expected = (np.arange(n) + 0.5) / n
    # Most of the picture is in the small ones.
    chosen = np.unique(np.geomspace(1, n, min(n, most)).astype(int)) - 1
    return {
        "expected": _rounded(-np.log10(expected[chosen])),
        "observed": _rounded(-np.log10(np.maximum(p_values[chosen], 1e-300))),
    }


# A path of more numbers would take longer than all the rest.
_MOST_PATH_NUMBERS = 1_000_000


def _path(detector: EOSDetector, numbers: Numbers, rows: IntArray) -> Summary:
    """Return counts along α, and weights of the rows shown; of large tables from these alone."""
    import warnings

    import pandas as pd

    n_rows, is_of_sample = len(numbers.values), numbers.values.size > _MOST_PATH_NUMBERS
    used = rows if is_of_sample else np.arange(n_rows)
    mass = _mass(np.asarray(detector.is_outlier_), used)
    frame = pd.DataFrame(numbers.values[used], columns=list(detector.feature_names_in_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a path ends in collapse
        path = detector.path(frame, sample_weight=mass if is_of_sample else None)
    n_flagged = np.where(path.n_flagged < 0, -1, np.round(path.is_outlier @ mass))
    # A hexadecimal digit for each row: weights from 0 to twice the average.
    relative = (path.weights / mass * n_rows)[:, np.searchsorted(used, rows)]
    digits = np.round(7.5 * np.clip(relative, 0.0, 2.0)).astype(int)
    return {
        "alphas": _rounded(path.alphas),
        "n_flagged": [int(n) for n in n_flagged],
        "effective_rows": _rounded(np.nan_to_num(path.effective_sizes)),
        "weights": ["".join("0123456789abcdef"[d] for d in line) for line in digits],
        "plateau": [path.plateau.start, path.plateau.stop],
        "chosen": int(np.argmin(np.abs(np.log(path.alphas / detector.alpha_)))),
        "is_of_sample": is_of_sample,
    }


def _mass(is_outlier: BoolArray, rows: IntArray) -> FloatArray:
    """Return how many rows each of some rows stands for: all flagged ones, and all others."""
    mass: FloatArray = np.ones(len(rows))
    for flag in (True, False):
        of_kind = is_outlier[rows] == flag
        n_shown, n_all = np.count_nonzero(of_kind), np.count_nonzero(is_outlier == flag)
        mass[of_kind] = n_all / max(int(n_shown), 1)
    return mass
