"""Tables of stored units: a line per method and setting, with intervals and what went wrong."""

from __future__ import annotations

from typing import Any

import pandas as pd

from eosparse.comparison.intervals import summarise
from eosparse.comparison.measures import MEASURES
from eosparse.comparison.peers import explain_missing
from eosparse.comparison.runner import OK, TOO_SLOW, Grid, Row

DETECTION = [*MEASURES, "error of mean", "error of Σ", "seconds"]
VALUES = {
    "g": ["AUC", "seconds"],
    "h": ["AUC", "seconds"],
    "i": ["AUC", "seconds"],
    "labels": ["AUC", "seconds"],
    "finding": ["average precision", "seconds"],
}


def make_frame(rows: list[Row], grid: str) -> pd.DataFrame:
    """Return the units of a grid, one line each, with a column for every setting.

    Examples
    --------
    >>> make_frame([{"grid": "f", "setting": {"share": 0.1}, "method": "EOS"}], "f")
       share method
    0    0.1    EOS
    """
    mine = [row for row in rows if row["grid"] == grid]
    flat = [
        {**row["setting"], **{name: value for name, value in row.items() if name != "setting"}}
        for row in mine
    ]
    return pd.DataFrame(flat).drop(columns=["grid", "folder"], errors="ignore")


def make_table(rows: list[Row], grid: Grid) -> pd.DataFrame:
    """Return means with half intervals, repetitions and a status for every method and setting.

    Examples
    --------
    >>> grid = Grid("f", ({"share": 0.1},), ("EOS",), work=lambda *unit: {})
    >>> make_table([], grid)
       share method  repetitions       status
    0    0.1    EOS            0  not run yet
    """
    keys = _list_cells(grid)
    by = list(keys.columns)
    units = make_frame(rows, grid.name)
    values = VALUES.get(grid.name, DETECTION)
    if units.empty:
        return _add_status(keys.assign(repetitions=0), {}, by, grid)
    units = units.reindex(columns=[*dict.fromkeys([*units.columns, *values])])
    good = units[units["status"] == OK]
    if good.empty:
        summary = keys.assign(repetitions=0)
    else:
        summary = keys.merge(summarise(good, by, values), how="left", on=by)
        summary["repetitions"] = summary["repetitions"].fillna(0).astype(int)
    bad = units[units["status"] != OK]
    reasons = {tuple(key): _summarise_failures(group) for key, group in bad.groupby(by, sort=False)}
    return _add_status(summary, reasons, by, grid)


def _list_cells(grid: Grid) -> pd.DataFrame:
    cells = [{**setting, "method": method} for setting in grid.settings for method in grid.methods]
    return pd.DataFrame(cells).drop(columns=["folder"], errors="ignore")


def _summarise_failures(group: pd.DataFrame) -> str:
    last = group.iloc[-1]
    many = f"{len(group)} times " if len(group) > 1 else ""
    return f"{many}{last['status']}: {last['reason']}"


def _add_status(
    summary: pd.DataFrame, reasons: dict[Any, str], by: list[str], grid: Grid
) -> pd.DataFrame:
    """Add the status of each cell."""
    family = [*grid.family, "method"]
    slow = {
        tuple(line[name] for name in family)
        for _, line in summary.iterrows()
        if TOO_SLOW in reasons.get(tuple(line[name] for name in by), "")
    }

    def describe(line: Any) -> str:
        if (reason := reasons.get(tuple(line[name] for name in by))) is not None:
            return reason
        if line["repetitions"] > 0:
            return OK
        if (missing := explain_missing(line["method"])) is not None:
            return f"not run: {missing}"
        is_slow = tuple(line[name] for name in family) in slow
        return f"{TOO_SLOW}: at an earlier setting" if is_slow else "not run yet"

    return summary.assign(status=[describe(line) for _, line in summary.iterrows()])


def make_weights_table(rows: list[Row], grid: Grid) -> pd.DataFrame:
    """Return the weights of panels A and B, one line per row and α."""
    parts = []
    for row in rows:
        if row["grid"] != grid.name or row["status"] != OK:
            continue
        if "collapsed" in row:
            parts.append(pd.DataFrame({"collapsed": [True]}).assign(alpha=row["setting"]["alpha"]))
            continue
        names = [name for name in ("is outlier", "x1", "x2", "T·w") if name in row]
        part = pd.DataFrame({name: row[name] for name in names})
        parts.append(part.assign(alpha=row["setting"]["alpha"], collapsed=False))
    if not parts:
        return pd.DataFrame(columns=["is outlier", "T·w", "alpha", "collapsed"])
    return pd.concat(parts, ignore_index=True).sort_values("alpha", kind="stable")


def format_markdown(table: pd.DataFrame) -> str:
    r"""Return a table in Markdown; vertical bars in cells are escaped.

    Examples
    --------
    >>> print(format_markdown(pd.DataFrame({"a": ["x|y"]})))
    | a |
    | --- |
    | x\|y |
    """
    head = [str(column) for column in table.columns]
    lines = [head, ["---"] * len(head), *table.astype(str).to_numpy().tolist()]
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def cross_table(table: pd.DataFrame, across: str, value: str, planned: int) -> pd.DataFrame:
    """Return methods down and settings across, each cell as ``mean ± half interval``.

    A cell also has the number of repetitions if there are fewer than planned, or what went wrong.

    Parameters
    ----------
    table : DataFrame
        As `make_table` returns it.
    across : str
        The setting whose values are the columns.
    value : str
        The measure to show.
    planned : int
        Repetitions that were planned.

    Examples
    --------
    >>> line = {"method": "EOS", "p": 0.1, "AUC": 0.9, "AUC ±": 0.05, "repetitions": 2}
    >>> cross_table(pd.DataFrame([line | {"status": "ok"}]), "p", "AUC", planned=50)
      method                0.1
    0    EOS  0.900 ± 0.050 (2)
    """
    columns = list(dict.fromkeys(table[across]))
    lines = []
    for method, mine in table.groupby("method", sort=False):
        by_setting = {line[across]: line for _, line in mine.iterrows()}
        cells = {str(c): _format_cell(by_setting.get(c), value, planned) for c in columns}
        lines.append({"method": method} | cells)
    return pd.DataFrame(lines)


def _format_cell(line: Any, value: str, planned: int) -> str:
    if line is None:
        return ""
    if line["repetitions"] == 0 or pd.isna(line.get(value)):
        return str(line["status"]).split(":")[0] if line["repetitions"] == 0 else ""
    half = line[f"{value} ±"]
    text = f"{line[value]:.3g}" if value == "seconds" else f"{line[value]:.3f}"
    if pd.notna(half):
        text += f" ± {half:.1g}" if value == "seconds" else f" ± {half:.3f}"
    return text if line["repetitions"] >= planned else f"{text} ({line['repetitions']})"
