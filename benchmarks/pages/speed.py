"""Blocks of docs/large-data.md, and a number that docs/cluster.md quotes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.pages.markdown import join_parts, make_table
from benchmarks.pages.source import Show, Source


def show_a(source: Source) -> str:
    table = source.read("speed_a")
    formats = {"rows": ",d", "columns": ",d", "np.cov, s": ".3f", "fit, s": ".3f"}
    formats |= {"times np.cov": ".2f", "wanted": ".3g", "passes": "d"}
    return make_table(table, formats)


def show_a_wide(source: Source) -> str:
    formats = {"rows": ",d", "columns": ",d", "fit, s": ".2f", "wanted, s": ".3g", "passes": "d"}
    return make_table(source.read("speed_a_wide"), formats)


def show_b(source: Source) -> str:
    table = source.read("speed_b")
    seconds = [
        note if isinstance(note, str) else f"{spent:.3f}"
        for spent, note in zip(table["seconds"], table["note"], strict=True)
    ]
    formats = {"detector": "", "seconds": "", "times eosparse": ".1f", "AUC": ".4f"}
    return make_table(table.assign(seconds=seconds), formats)


def show_c(source: Source) -> str:
    table = source.read("speed_c")
    table["growth"] = "in " + table["along"]
    formats = {"growth": "", "rows": ",d", "columns": ",d", "seconds": ".3f", "passes": "d"}
    exponents = table.groupby("along")["exponent"].first()
    return join_parts(
        make_table(table, formats),
        f"The exponent in rows is {exponents['rows']:.2f}, and {_find_last_slope(table):.2f} "
        "between the two largest tables; below a million rows, the search for a start dominates, "
        "whose time does not depend on the number of rows. "
        f"The exponent in columns is {exponents['columns']:.2f}{_format_wanted(table)}. Exponents "
        "are slopes of a line through log seconds (per row, for the exponent in columns) against "
        "log rows or log columns.",
    )


def _find_last_slope(table: pd.DataFrame) -> float:
    last = table[table["along"] == "rows"].tail(2)
    return float(np.diff(np.log(last["seconds"]))[0] / np.diff(np.log(last["rows"]))[0])


def _format_wanted(table: pd.DataFrame) -> str:
    """Return the wanted exponent in columns; older files have none."""
    if "wanted" not in table:
        return ""
    return f" (wanted: at most {table['wanted'].max():g})"


def show_d(source: Source) -> str:
    row = source.read("speed_d").iloc[0]
    return join_parts(
        f"A table of {row['rows']:,.0f} rows × {row['columns']:.0f} columns, "
        f"{row['GB on disk']:.1f} GB of Parquet with pyarrow's default settings, is fitted in "
        f"{row['fit, s']:.0f} s: {row['passes']:.0f} passes of the alternation, plus those for "
        f"samples, law and cut-off. Peak memory is {row['peak MB']:.0f} MB, "
        f"{row['MB above idle import']:.0f} MB more than an idle import. A pass takes "
        f"{row['a pass, s']:.2f} s and a bare pyarrow scan of the same columns "
        f"{row['a bare scan, s']:.2f} s: a factor of {row['pass / scan']:.2f}."
    )


def show_e(source: Source) -> str:
    formats = {"rows in": "", "fit, s": ".2f", "times memory, 1 thread": ".2f", "passes": "d"}
    table = source.read("speed_e")
    table["rows in"] = table["rows in"].str.replace(r"\b1 (\w+)s$", r"1 \1", regex=True)
    return make_table(table, formats)


def show_f(source: Source) -> str:
    formats = {"columns": "d", "method": "", "rows per second": ",.0f"}
    return make_table(source.read("speed_f"), formats | {"times isolation forest": ".1f"})


def show_g(source: Source) -> str:
    stages, limits = source.read("speed_g"), source.read("speed_g_limits")
    formats = {"rows": ",d", "columns": "d", "stage": "", "ms": ".0f", "share": ".0%"}
    of = limits.set_index("what")["value"]
    return join_parts(
        make_table(stages, formats),
        f"A pass over the first table reaches {of['a pass, GFlop/s']:.0f} GFlop/s, where BLAS "
        f"reaches {of['BLAS at its best, GFlop/s']:.0f} on large matrices, and reads "
        f"{of['a pass, GB/s read']:.1f} GB/s, where a single thread can sum "
        f"{of['one thread summing the rows, GB/s']:.1f} GB/s. A compiled pass takes "
        f"{of['a pass, ms']:.0f} ms, and a pass with NumPy and BLAS "
        f"{of['a pass by NumPy and BLAS, ms']:.0f} ms.",
    )


def show_pass_time(source: Source) -> str:
    """Return the time of a pass, which docs/cluster.md quotes."""
    limits = source.read("speed_g_limits").set_index("what")["value"]
    return f"{limits['a pass, ms']:.0f} ms"


SHOWN: dict[str, Show] = {
    "speed_a": show_a,
    "speed_a_wide": show_a_wide,
    "speed_b": show_b,
    "speed_c": show_c,
    "speed_d": show_d,
    "speed_e": show_e,
    "speed_f": show_f,
    "speed_g": show_g,
    "pass_time": show_pass_time,
}
