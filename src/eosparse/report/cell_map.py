"""The cell map: wrong cells in their places, coloured by direction, as SVG.

Rows of a long table share a line, so that the picture stays as high as a page.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from eosparse.tables.cell_audit import CellLine, CellSummary

_WIDTH, _HEIGHT, _MOST_LINES, _LEAST_STEP = 940, 520, 260, 2.0
# Room for the names of the columns above, and of the rows to the left.
_ABOVE, _LEFT, _RIGHT = 110, 60, 40
_MOST_NAMES = 60


@dataclass(frozen=True)
class MapCell:
    """A rectangle of the map: where it is, what colour it has, and what it says."""

    x: float
    y: float
    width: float
    height: float
    direction: str
    text: str


@dataclass(frozen=True)
class CellMap:
    """The cell map of a table."""

    width: int
    height: int
    cells: tuple[MapCell, ...]
    names: tuple[tuple[float, str], ...]
    rows: tuple[tuple[float, str], ...]
    rows_per_line: int


def draw_cell_map(summary: CellSummary) -> CellMap:
    """Place wrong cells; several of the same line and column share a rectangle.

    Examples
    --------
    >>> from eosparse.tables.cell_audit import CellSummary
    >>> from eosparse.tables.summary import TableSummary
    >>> nothing = CellSummary(TableSummary("t.csv", 20, 20), (), (), 0.01, True, "", 0, 0, 0, 0, ())
    >>> draw_cell_map(nothing).rows_per_line
    1
    """
    names = [column.name for column in summary.columns if column.role.is_used]
    n_rows = summary.table.n_rows
    per_line = max(1, -(-n_rows // _MOST_LINES))
    n_lines = -(-n_rows // per_line)
    step_x = (_WIDTH - _LEFT - _RIGHT) / max(len(names), 1)
    step_y = max(min(16.0, _HEIGHT / max(n_lines, 1)), _LEAST_STEP)
    places: dict[tuple[int, int], list[CellLine]] = defaultdict(list)
    for cell in summary.cells:
        places[(cell.row - 1) // per_line, names.index(cell.column)].append(cell)
    cells = tuple(
        MapCell(
            _LEFT + column * step_x,
            _ABOVE + line * step_y,
            max(step_x - 1, 1.0),
            max(step_y - 0.5, 3.0),
            _find_direction(found),
            _describe(found),
        )
        for (line, column), found in sorted(places.items())
    )
    every = max(1, -(-len(names) // _MOST_NAMES))
    labels = tuple((_LEFT + (j + 0.5) * step_x, names[j]) for j in range(0, len(names), every))
    ticks = range(0, n_lines, max(1, n_lines // 10))
    rows = tuple((_ABOVE + (k + 0.5) * step_y, f"{k * per_line + 1:,}") for k in ticks)
    return CellMap(_WIDTH, int(_ABOVE + n_lines * step_y + 10), cells, labels, rows, per_line)


def _find_direction(cells: list[CellLine]) -> str:
    above = {cell.is_above if cell.low is not None else None for cell in cells}
    if above == {True}:
        return "above"
    return "below" if above == {False} else "other"


def _describe(cells: list[CellLine]) -> str:
    first = cells[0]
    text = f"row {first.row}, {first.column}: {first.value}, expected {first.expected}"
    return text if len(cells) == 1 else f"{text}, and {len(cells) - 1} more"
