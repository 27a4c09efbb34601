"""Blocks of docs/real-tables.md."""

from __future__ import annotations

from functools import partial

import pandas as pd

from benchmarks.pages.markdown import Format, join_parts, make_table
from benchmarks.pages.source import Show, Source

_OURS, _GAUSSIAN, _MCD = "eosparse", "eosparse, one Gaussian", "FastMCD (scikit-learn)"
_SHARE = ".3f"


def show_bulks(source: Source, rate: float) -> str:
    """Return a line per bulk at one rate: where it is promised, and where it is not."""
    table = source.read("real_tables_a")
    ours = table[(table["method"] == _OURS) & (table["fdr"] == rate)]
    lines = [_summarise_bulk(bulk, part, table) for bulk, part in ours.groupby("bulk", sort=False)]
    promised = ours[ours["promise"] == "yes"]
    above = promised["false discoveries"] - promised["false discoveries ±"] > rate
    clean = promised["clean: flags anything"] - promised["clean: flags anything ±"] > rate
    return join_parts(
        make_table(pd.DataFrame(lines), dict.fromkeys(lines[0], "")),
        f"Where the rate is promised, the interval of the false discoveries lies above it for "
        f"{above.sum()} of {len(promised)} bulks with outliers, and for {clean.sum()} of clean "
        "ones.",
    )


def _summarise_bulk(bulk: str, ours: pd.DataFrame, table: pd.DataFrame) -> dict[str, str]:
    yes, no = (ours[(ours["promise"] == "yes") == is_yes] for is_yes in (True, False))
    others = table[table["bulk"] == bulk].groupby("method")["false discoveries"].mean()
    counts = [part[["tables with outliers", "clean tables"]].sum().sum() for part in (yes, no)]
    return {
        "bulk": bulk,
        "promised": f"{counts[0] / sum(counts):.0%}",
        "false discoveries, promised": _format_mean(yes, "false discoveries"),
        "not promised": _format_mean(no, "false discoveries"),
        "clean tables with flags, promised": _format_mean(yes, "clean: flags anything"),
        "clean rows flagged, promised": _format_mean(yes, "clean: rows flagged"),
        "not promised ": _format_mean(no, "clean: rows flagged"),
        "recall, promised": _format_mean(yes, "recall"),
        "not promised  ": _format_mean(no, "recall"),
        "one Gaussian: false discoveries": f"{others[_GAUSSIAN]:.3f}",
        "FastMCD: false discoveries": f"{others[_MCD]:.3f}",
    }


def _format_mean(part: pd.DataFrame, name: str) -> str:
    """Return "mean ± half"; a dash if there is no such table."""
    part = part.dropna(subset=name)
    if part.empty:
        return "-"
    mean, half = part[name].iloc[0], part[f"{name} ±"].iloc[0]
    return f"{mean:.3f}" if pd.isna(half) else f"{mean:.3f} ± {half:.3f}"


def show_rungs(source: Source) -> str:
    table = source.read("real_tables_a_rungs")
    rungs = [name for name in table if name not in ("bulk", "promised", "promised ±", "tables")]
    formats: dict[str, Format] = {"bulk": "", "promised": ".0%"}
    return make_table(table, formats | dict.fromkeys(rungs, ".0%") | {"tables": "d"})


def show_as_they_are(source: Source) -> str:
    formats: dict[str, Format] = {"by": "`{}`".format, "among": ""}
    formats |= dict.fromkeys(["tables", "answered", "as they are"], "d")
    formats |= {"median flagged": ".1%", "mean flagged": ".1%", "mean flagged ±": ".1%"}
    formats |= dict.fromkeys(["above 5 %", "above 10 %", "nothing flagged", "promised"], "d")
    return make_table(source.read("real_tables_b"), formats)


def show_many(source: Source) -> str:
    table = source.read("real_tables_b_many")
    if table.empty:
        return "No table."
    formats: dict[str, Format] = {"table": "", "by": "`{}`".format, "given": "", "rows": "d"}
    formats |= {"columns": "d", "flagged": ".1%", "rung": "", "promise": ""}
    return make_table(table, formats)


def show_flags(source: Source) -> str:
    """Return recall and precision of the flags of our methods."""
    table = source.read("real_tables_c")
    shown = table.dropna(subset="recall").rename(columns={"method": "by"})
    cells = {name: _join_halves(shown, name) for name in ("recall", "precision", "flagged")}
    formats: dict[str, Format] = {"source": "", "planted": "", "by": ""}
    formats |= dict.fromkeys(cells, "") | {"promised": ".0%", "tables": "d"}
    return make_table(shown.assign(**cells), formats)


def show_ranking(source: Source) -> str:
    """Return average precisions, a column per method."""
    table = source.read("real_tables_c")
    return _spread(table.assign(cell=_join_halves(table, "average precision")), "method")


def show_gaps(source: Source) -> str:
    """Return what ours gains over each method, a column per method."""
    table = source.read("real_tables_c_gaps")
    cells = [f"{gap:+.3f} ± {half:.3f}" for gap, half in table[["difference", "±"]].to_numpy()]
    lost = table[table["difference"] + table["±"] < 0]
    named = [f"{source}, {planted}: {against}" for source, planted, against in
             lost[["source", "planted", "against"]].to_numpy()]  # fmt: skip
    return join_parts(
        _spread(table.assign(cell=cells), "against"),
        f"Significantly worse than: {'; '.join(named)}." if named else
        "In no column is eosparse significantly worse.",
    )  # fmt: skip


def show_kinds(source: Source) -> str:
    """Return the share found of each kind of mistake."""
    table = source.read("real_tables_c_kinds").dropna(subset="recall")
    return _spread(table.assign(cell=table["recall"].map("{:.2f}".format)), "kind")


def _join_halves(table: pd.DataFrame, name: str) -> list[str]:
    return [f"{mean:.3f} ± {half:.3f}" for mean, half in table[[name, f"{name} ±"]].to_numpy()]


def _spread(table: pd.DataFrame, across: str) -> str:
    """Return a table of cells, with a column for every value of one column."""
    order = {name: list(dict.fromkeys(table[name])) for name in ("source", "planted", across)}
    wide = table.pivot_table(
        index=["source", "planted"], columns=across, values="cell", aggfunc="first", sort=False
    )
    wide = wide[order[across]].reset_index()
    return make_table(wide, dict.fromkeys(wide, ""))


def show_adbench(source: Source) -> str:
    formats: dict[str, Format] = {"method": "", "AUC-ROC": ".2f", "AUC-PR": ".1f"}
    formats |= {"mean rank": ".1f", "sets": "d"}
    table = source.read("real_tables_d")
    for name in ("AUC-ROC", "AUC-PR"):
        gain = f"gain in {name}"
        table[gain] = [
            None if pd.isna(mean) else f"{mean:+.1f} ± {half:.1f}"
            for mean, half in table[[gain, f"{gain} ±"]].to_numpy()
        ]
        formats[gain] = ""
    return make_table(table, formats, empty="")


def show_gaussian(source: Source) -> str:
    table = source.read("real_tables_e")
    formats: dict[str, Format] = {"outliers": "", "share": ".0%", "first rung": ".0%"}
    formats |= {"same flags": ".0%"}
    formats |= {name: ".3f" for name in table if name.startswith(("recall", "false"))}
    return make_table(table, formats | {"tables": "d"}, empty="")


def show_panels(source: Source) -> str:
    table = source.read("real_tables_e_panels")
    formats: dict[str, Format] = {"panel": "", "first rung": ".0%", "same flags": ".0%"}
    formats |= {name: ".3f" for name in table if name.startswith(("recall", "false"))}
    return make_table(table, formats | {"tables": "d"})


SHOWN: dict[str, Show] = {
    "real_tables_a_strict": partial(show_bulks, rate=0.01),
    "real_tables_a_loose": partial(show_bulks, rate=0.05),
    "real_tables_a_rungs": show_rungs,
    "real_tables_b": show_as_they_are,
    "real_tables_b_many": show_many,
    "real_tables_c_flags": show_flags,
    "real_tables_c_ranking": show_ranking,
    "real_tables_c_gaps": show_gaps,
    "real_tables_c_kinds": show_kinds,
    "real_tables_d": show_adbench,
    "real_tables_e": show_gaussian,
    "real_tables_e_panels": show_panels,
}
