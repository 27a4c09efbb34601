"""``eosparse demo``: the main job, on data that ship with the package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eosparse import EOSDetector
from eosparse.datasets import load_blood_panel

if TYPE_CHECKING:
    import pandas as pd


def demo(
    picture: Annotated[Path, typer.Option(help="PNG to write.")] = Path("demo.png"),
    report: Annotated[Path, typer.Option(help="HTML report to write.")] = Path("demo.html"),
) -> None:
    """Flag the rows of a blood panel that do not belong, say why, and draw them."""
    import pandas as pd

    from eosparse.report.detection import pictured, summarise
    from eosparse.report.html import write_detection
    from eosparse.tables import TableFile, as_numbers, recognised

    panel = load_blood_panel()
    frame = pd.DataFrame(panel.X, columns=list(panel.feature_names))
    columns = recognised(frame)
    numbers = as_numbers(frame, columns)
    detector = EOSDetector().fit(frame)
    summary = summarise(TableFile(frame, "csv", "blood panel"), columns, numbers, detector)
    print(told(summary, panel.mistakes))
    draw(detector, frame, panel.feature_names, picture)
    print(f"\nPicture: {picture}")
    write_detection(summary, pictured(detector, numbers), frame, report, embed="flagged")
    print(f"Report: {report}")


def told(summary: dict[str, Any], mistakes: Sequence[str]) -> str:
    """Return the flagged rows with p-values and reasons, and how many were meant, as text."""
    from eosparse.report.detection import reason_text
    from eosparse.report.text import model_line, p_value_text

    flagged, fdr = summary["flagged"], summary["model"]["fdr"]
    planted = sum(mistake != "" for mistake in mistakes)
    hits = sum(mistakes[row["row"] - 1] != "" for row in flagged)
    return "\n".join(
        [
            f"{len(mistakes)} blood panels (synthetic): {model_line(summary)}",
            f"{len(flagged)} rows do not belong (false-discovery rate {fdr:g}); counted from 1:",
            "",
            f"{'row':>4}  {'p-value':>8}  why",
            *(
                f"{row['row']:>4}  {p_value_text(row['p_value']):>8}  {reason_text(row['reasons'])}"
                for row in flagged
            ),
            "",
            f"Mistakes planted: {planted}; found: {hits}; false alarms: {len(flagged) - hits}.",
        ]
    )


def draw(detector: EOSDetector, X: pd.DataFrame, names: Sequence[str], picture: Path) -> None:
    """Write the picture: two columns with their ellipses, and the distances of all rows."""
    from eosparse.plots import OutlierMapDisplay, ToleranceEllipseDisplay

    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("the picture needs matplotlib: pip install 'eosparse[plots]'.") from error
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    ToleranceEllipseDisplay.from_estimator(detector, X, (0, 1), ax=left)
    OutlierMapDisplay.from_estimator(detector, X, ax=right)
    left.set(title="Two of eight columns", xlabel=names[0], ylabel=names[1])
    right.set_title("All columns together")
    figure.savefig(picture, dpi=120)
