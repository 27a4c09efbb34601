"""``eosparse demo``: the main job, on data that ship with the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from eosparse import EOSDetector
from eosparse.core import FloatArray
from eosparse.datasets import load_blood_panel


def demo(
    picture: Annotated[Path, typer.Option(help="PNG to write.")] = Path("demo.png"),
    report: Annotated[Path, typer.Option(help="HTML report to write.")] = Path("demo.html"),
) -> None:
    """Flag the rows of a blood panel that do not belong, say why, and draw them."""
    panel = load_blood_panel()
    detector = EOSDetector().fit(panel.X)
    print(told(detector, panel.X, panel.feature_names, panel.mistakes))
    draw(detector, panel.X, panel.feature_names, picture)
    print(f"\nPicture: {picture}")
    write_report(panel.X, panel.feature_names, report)
    print(f"Report: {report}")


def write_report(X: FloatArray, names: Sequence[str], path: Path) -> None:
    """Write the report that ``eosparse detect`` would write of the same table."""
    import pandas as pd

    from eosparse.report.detection import pictured, summarise
    from eosparse.report.html import write_detection
    from eosparse.tables import TableFile, as_numbers, recognised

    frame = pd.DataFrame(X, columns=list(names))
    columns = recognised(frame)
    numbers = as_numbers(frame, columns)
    detector = EOSDetector().fit(frame)
    summary = summarise(TableFile(frame, "csv", "blood panel"), columns, numbers, detector)
    write_detection(summary, pictured(detector, numbers), frame, path, embed="flagged")


def told(
    detector: EOSDetector, X: FloatArray, names: Sequence[str], mistakes: Sequence[str]
) -> str:
    """Return the flagged rows with p-values and reasons, as text."""
    flagged = np.flatnonzero(detector.is_outlier_)
    flagged = flagged[np.argsort(detector.p_values_[flagged], kind="stable")].tolist()
    explanation = replace(detector.explain(X), feature_names=tuple(names))
    planted = sum(mistake != "" for mistake in mistakes)
    hits = sum(mistakes[row] != "" for row in flagged)
    lines = [
        f"{len(X)} blood panels (synthetic), {X.shape[1]} columns; alpha={detector.alpha_:.3f} "
        f"chosen, {detector.n_iter_} pass{'es' * (detector.n_iter_ != 1)}, {detector.status_}.",
        f"{len(flagged)} rows do not belong (false-discovery rate {detector.fdr:g}):",
        "",
        f"{'row':>4}  {'p-value':>8}  why",
    ]
    for row in flagged:
        reasons = [
            f"{name}={X[row, names.index(name)]:g} ({share:.0%})"
            for name, share in explanation.top(row, 3)
            if share >= 0.1
        ]
        lines.append(f"{row:>4}  {_readable(detector.p_values_[row]):>8}  {', '.join(reasons)}")
    lines += [
        "",
        f"Mistakes planted: {planted}; found: {hits}; false alarms: {len(flagged) - hits}.",
    ]
    return "\n".join(lines)


def _readable(p_value: float) -> str:
    return "< 1e-99" if p_value < 1e-99 else f"{p_value:.1e}"


def draw(detector: EOSDetector, X: FloatArray, names: Sequence[str], picture: Path) -> None:
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
