"""A summary of wrong cells as text for a terminal."""

from __future__ import annotations

from eosparse.tables.cell_audit import CellLine, CellSummary


def format_cells_headline(summary: CellSummary) -> str:
    """Return the result in one or two sentences."""
    cells = f"{summary.n_cells:,} cells in {summary.table.name}"
    if summary.n_wrong == 0:
        said = f"None of the {cells} is wrong."
    else:
        are = "is wrong" if summary.n_wrong == 1 else "are wrong"
        rows = "1 row" if summary.n_rows == 1 else f"{summary.n_rows:,} rows"
        said = f"{summary.n_wrong:,} of {cells} {are}, in {rows}."
    if summary.promise and summary.n_wrong == 0:
        return f"{said[:-1]} (false-discovery rate {summary.fdr:g})."
    if summary.promise:
        return f"{said} Expect about {summary.fdr:.0%} of these to be right after all."
    return f"{said} No error rate can be promised because {summary.promise_reason}."


def format_cells_details(summary: CellSummary) -> list[str]:
    """Return sentences on the rows and the columns."""
    lines = []
    if summary.n_wrong_rows:
        have = "row has" if summary.n_wrong_rows == 1 else "rows have"
        lines.append(f"{summary.n_wrong_rows:,} {have} more wrong cells than right ones.")
    unused = [f"{c.name} ({c.why})" for c in summary.columns if not c.role.is_used]
    return lines + ([f"Not used: {', '.join(unused)}."] if unused else [])


def tabulate_cells(cells: tuple[CellLine, ...]) -> dict[str, list[str]]:
    """Return the columns of a table of wrong cells, as text."""
    table = {
        "row": [str(cell.row) for cell in cells],
        "id": [cell.identifier or "" for cell in cells],
        "column": [cell.column for cell in cells],
        "value": [cell.value for cell in cells],
        "expected": [cell.expected for cell in cells],
        "95 % interval": ["" if c.low is None else f"{c.low} to {c.high}" for c in cells],
        "p-value": [format_small(cell.p_value) for cell in cells],
    }
    return table if any(table["id"]) else {k: v for k, v in table.items() if k != "id"}


def format_small(p_value: float) -> str:
    """Return a p-value with two digits.

    Examples
    --------
    >>> format_small(0.00123), format_small(0.0)
    ('0.0012', '< 1e-99')
    """
    return "< 1e-99" if p_value < 1e-99 else f"{p_value:.2g}"
