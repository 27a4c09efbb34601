"""``eosparse demo``: find mistakes in data that ship with the package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

    from eosparse import EOSDetector
    from eosparse.tables.summary import DetectionSummary


def demo(
    picture: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("demo.png"),
    report: Annotated[Path, typer.Option(help="HTML report to write.")] = Path("demo.html"),
) -> None:
    """Find outliers in a synthetic blood panel.

    Explains the outliers, and writes a picture and a report.
    """
    import pandas as pd

    from eosparse import EOSDetector
    from eosparse.datasets import load_blood_panel
    from eosparse.report.html import write_detection_report
    from eosparse.tables import TableFile, recognise_columns, take_cells
    from eosparse.tables.detection import score_training_rows, summarise_detection
    from eosparse.tables.outlier_map import map_outliers

    panel = load_blood_panel()
    frame = pd.DataFrame(panel.X, columns=list(panel.feature_names))
    columns = recognise_columns(frame)
    detector = EOSDetector().fit(frame)
    cells = take_cells(frame, columns)
    scored = score_training_rows(TableFile(frame, "blood panel"), columns, cells, detector)
    summary = summarise_detection(scored)
    print(format_demo(summary, panel.mistakes))
    draw_demo(detector, frame, picture)
    print(f"\nPicture: {picture}")
    write_detection_report(summary, map_outliers(scored), frame, report, embed="flagged")
    print(f"Report: {report}")


def format_demo(summary: DetectionSummary, mistakes: Sequence[str]) -> str:
    """Return the flagged rows with p-values and reasons, and how many mistakes were found."""
    from eosparse.report.text import format_model, format_p_value
    from eosparse.tables.reasons import format_reasons

    n_planted = sum(mistake != "" for mistake in mistakes)
    n_found = sum(mistakes[row.row - 1] != "" for row in summary.flagged)
    n_flagged, model = len(summary.flagged), summary.model
    rate = f"false-discovery rate {model.fdr:g}" if model.promise else "no rate is promised"
    return "\n".join(
        [
            f"{len(mistakes)} blood panels (synthetic): {format_model(model)}",
            f"{n_flagged} rows are outliers ({rate}), counted from 1:",
            "",
            f"{'row':>4}  {'p-value':>8}  why",
            *(
                f"{row.row:>4}  {format_p_value(row.p_value):>8}  {format_reasons(row.reasons)}"
                for row in summary.flagged
            ),
            "",
            f"Mistakes planted: {n_planted}; found: {n_found}; "
            f"false alarms: {n_flagged - n_found}.",
        ]
    )


def draw_demo(detector: EOSDetector, frame: pd.DataFrame, picture: Path) -> None:
    """Draw two columns with their ellipses, and the distances of all rows."""
    from eosparse.plots import OutlierMapDisplay, ToleranceEllipseDisplay
    from eosparse.rows.whole_file import replace_when_complete

    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("The picture needs matplotlib: pip install 'eosparse[plots]'.") from error
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    ToleranceEllipseDisplay.from_estimator(detector, frame, (0, 1), ax=left)
    OutlierMapDisplay.from_estimator(detector, frame, ax=right)
    left.set(title="Two of eight columns", xlabel=frame.columns[0], ylabel=frame.columns[1])
    right.set_title("All columns together")
    with replace_when_complete(picture) as partial:
        figure.savefig(partial, dpi=120, format=picture.suffix.removeprefix(".") or "png")
