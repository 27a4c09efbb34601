"""Blocks of docs/cell-figures.md."""

from __future__ import annotations

from functools import partial

from benchmarks.pages.markdown import make_table
from benchmarks.pages.source import Show, Source


def _show(source: Source, name: str) -> str:
    table = source.read(name)
    table = table.drop(columns=[column for column in table if column.endswith("repetitions")])
    return make_table(table, dict.fromkeys(table, _format), empty="-")


def _format(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


SHOWN: dict[str, Show] = {
    name: partial(_show, name=name)
    for name in ("cells_a", "cells_b", "cells_c", "cells_c_peer", "cells_c_disk", "cells_d")
}
