"""Blocks of docs/detector-figures.md."""

from __future__ import annotations

import pandas as pd

from benchmarks.pages.markdown import (
    format_percent,
    format_range,
    join_parts,
    list_words,
    make_table,
)
from benchmarks.pages.source import Show, Source

_OURS = "eosparse"
_SHARE, _PRECISE = ".3f", ".4f"


def show_a(source: Source) -> str:
    table = source.read("detector_a")
    seen, new = (format_range(100 * table[name], ".2f") for name in ("training rows", "new rows"))
    return join_parts(
        f"Below the level are {seen} % of the training rows, and {new} % of new rows."
    )


def show_b(source: Source) -> str:
    table = source.read("detector_b")
    lines = [_summarise_discoveries(*group) for group in table.groupby("contamination")]
    formats = dict.fromkeys(lines[0], "")
    ours = table[table["method"] == _OURS]
    n_above = (ours["false discoveries"] - ours["false discoveries ±"] > 0.05).sum()
    lowest = ours.loc[ours["recall"].idxmin()]
    radial = ours[(ours["outliers"] == "radial") & (ours["columns"] >= 10)]
    return join_parts(
        f"The 95 % interval lies above .05 in {n_above} of the {len(ours)} settings.",
        make_table(pd.DataFrame(lines), formats),
        f"The lowest recall belongs to {lowest['outliers']} outliers in {lowest['columns']} "
        f"columns. From ten columns on, the recall of radial outliers is at least "
        f"{radial['recall'].min():.3f}.",
    )


def _summarise_discoveries(contamination: float, table: pd.DataFrame) -> dict[str, str]:
    """Return a line: means over the settings with as many outliers."""
    ours, peer = (table[(table["method"] == _OURS) == is_ours] for is_ours in (True, False))
    false, recall = ours["false discoveries"], ours["recall"]
    peer_recall = peer["recall"].mean()
    has_outliers = contamination > 0
    return {
        "outliers": format_percent(contamination),
        "eosparse: false discoveries": f"{false.mean():.3f} (largest {false.max():.3f})",
        "recall": f"{recall.mean():.3f}" if has_outliers else "-",
        "lowest recall": f"{recall.min():.3f}" if has_outliers else "-",
        "FastMCD with its χ² cut-off: false discoveries": f"{peer['false discoveries'].mean():.3f}",
        "its recall": f"{peer_recall:.3f}" if has_outliers else "-",
    }


def show_c(source: Source) -> str:
    table = source.read("detector_c")
    peers = [name for name in table if "(" in name]
    means = table.groupby(["columns", "contamination"], as_index=False)[
        [_OURS, *peers, "true inliers"]
    ].mean()
    formats = {"columns": "d", "contamination": format_percent}
    formats |= dict.fromkeys([_OURS, *peers, "true inliers"], _PRECISE)
    strict = table[(table["columns"] >= 10) & (table["contamination"] <= 0.4)]
    return join_parts(
        make_table(means, formats),
        f"The lowest value of eosparse for D ≥ 10 and up to 40 % is {strict[_OURS].min():.4f}. "
        + _name_settings_behind(table, peers),
    )


def _name_settings_behind(table: pd.DataFrame, peers: list[str]) -> str:
    gap = table[peers].max(axis=1) - table[_OURS]
    behind = table[gap > 1e-9]
    if behind.empty:
        return f"In none of the {len(table)} settings is a peer ahead."
    named = [
        f"D = {line['columns']} {line['inliers']} {format_percent(line['contamination'])}"
        for _, line in behind.iterrows()
    ]
    return (
        f"In {len(behind)} of the {len(table)} settings a peer is ahead, by at most "
        f"{gap.max():.4f} ({', '.join(named)})."
    )


def show_d(source: Source) -> str:
    table = source.read("detector_d")
    many = table[table["columns"] >= 10].groupby("method", sort=False, as_index=False)
    lowest = many[["precision", "recall"]].min().rename(columns={"method": "rule"})
    return make_table(lowest, {"rule": "", "precision": _SHARE, "recall": _SHARE})


def show_e(source: Source) -> str:
    table = source.read("detector_e_means")
    ours = table[table["method"].str.startswith(_OURS)]
    ahead = table[table["mean rank"] < ours["mean rank"].min()]["method"]
    ranks = (
        f"Better mean ranks have {list_words(ahead)}."
        if len(ahead)
        else "No method has a better mean rank."
    )
    formats = {"method": "", "AUC-ROC": ".2f", "AUC-PR": ".1f", "mean rank": ".1f", "sets": "d"}
    return join_parts(make_table(table, formats, empty=""), ranks)


def show_f(source: Source) -> str:
    formats = {"estimator": "", "seconds": _SHARE, "times eosparse": ".1f", "error of Σ": _SHARE}
    return make_table(source.read("detector_f"), formats)


def show_g(source: Source) -> str:
    formats = {"rows": "d", "columns": ",d", "kind": ""}
    formats |= {"training rows": ".2%", "new rows": ".2%", "rows with weight": ".0%"}
    formats |= {"warned": ".0%", "repetitions": "d"}
    return make_table(source.read("detector_g"), formats)


def show_h(source: Source) -> str:
    return _show_outcomes(source.read("detector_h"))


def show_h_auto(source: Source) -> str:
    return _show_outcomes(source.read("detector_h_auto"))


def _show_outcomes(table: pd.DataFrame) -> str:
    outcomes = ["right", "warned", "neither"]
    total = table[outcomes].sum()
    cells = table.groupby(["outliers", "share"], sort=False)[outcomes].sum()
    shown = cells.astype(str).agg(" / ".join, axis=1).unstack().reset_index()
    shown.columns = ["outliers", *(format_percent(share) for share in shown.columns[1:])]
    return join_parts(
        f"Of {total.sum()} tables, {total['right']} are right, {total['warned']} are not but come "
        f"with a warning, and {total['neither']} are neither.",
        make_table(shown, dict.fromkeys(shown, "")),
        _name_columns_of_neither(table),
    )


def _name_columns_of_neither(table: pd.DataFrame) -> str:
    counts = table.groupby("columns")["neither"].sum()
    counts = counts[counts > 0]
    named = [f"{count} in {columns} columns" for columns, count in counts.items()]
    return f"Neither: {', '.join(named)}." if named else ""


SHOWN: dict[str, Show] = {
    "detector_a": show_a,
    "detector_b": show_b,
    "detector_c": show_c,
    "detector_d": show_d,
    "detector_e": show_e,
    "detector_f": show_f,
    "detector_g": show_g,
    "detector_h": show_h,
    "detector_h_auto": show_h_auto,
}
