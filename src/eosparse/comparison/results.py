"""Write the results of a run: one CSV per panel, figures, and a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from eosparse.comparison import figures
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import compare_pairs
from eosparse.comparison.measures import MEASURES
from eosparse.comparison.panels import PANELS, make_grids
from eosparse.comparison.panels.adbench import SHRUNK, rank_methods
from eosparse.comparison.peers.classifiers import PLAIN
from eosparse.comparison.runner import OK, Grid, Plan, Row
from eosparse.comparison.tables import (
    cross_table,
    format_markdown,
    make_frame,
    make_table,
    make_weights_table,
)
from eosparse.rows.whole_file import replace_when_complete, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOISE = ("g", "h", "i")
_WEIGHTS = ("a", "b")
# Differences on the same splits: to the learner without EOS, and to tuned peers.
_TUNED = ("LogReg, C by CV", "SVM, C by CV", "CleanLearning, C by CV")
_PAIRS = (*PLAIN.items(), *(("EOS+SPA", peer) for peer in _TUNED))
_ERRORS = ("error of mean", "error of Σ")
# Which setting goes across, and what is shown, in the tables of the page.
_SHOWN = {
    "c": ("rows", ("seconds",)),
    "d": ("rows", (*MEASURES, *_ERRORS)),
    "e": ("columns", (*MEASURES, *_ERRORS, "seconds")),
    "f": ("share", (*MEASURES, *_ERRORS, "seconds")),
    "limits": ("table", MEASURES),
}


@dataclass(frozen=True)
class Run:
    """A run, finished or not.

    Attributes
    ----------
    folder : Path
        Where to write; files of the same name are replaced.
    requested : tuple of str
        Panels to write; others that have units are written as well.
    rows : list of dict
        Stored units.
    data : DataFolder
        Holds published values.
    plan : Plan
        Repetitions, and limits.
    quick : bool
        Which settings were run.
    machine : dict
        Machine, versions, date and command.
    notes : tuple of str
        What could not run, and why.
    """

    folder: Path
    requested: tuple[str, ...]
    rows: list[Row]
    data: DataFolder
    plan: Plan
    quick: bool
    machine: dict[str, str]
    notes: tuple[str, ...] = ()

    @cached_property
    def names(self) -> list[str]:
        """Panels to write, in their order."""
        begun = {row["grid"] for row in self.rows}
        return [name for name in PANELS if name in self.requested or begun & self._grid_names(name)]

    def _grid_names(self, name: str) -> set[str]:
        if self.data.explain_missing(PANELS[name].needs) is not None:
            return set()
        return {make(self.quick, self.data).name for make in PANELS[name].grids}

    @cached_property
    def grids(self) -> dict[str, Grid]:
        """Grids behind the panels, by name."""
        return {grid.name: grid for grid in make_grids(self.names, self.quick, self.data)}

    def count_planned(self, grid: str) -> int:
        """Return the repetitions planned for a grid."""
        return min(self.plan.repetitions, self.grids[grid].repetitions or self.plan.repetitions)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """One table per grid, and the ranking of methods on the ADBench sets."""
        found = {
            name: (make_weights_table if name in _WEIGHTS else make_table)(self.rows, grid)
            for name, grid in self.grids.items()
        }
        if "adbench" in found:
            found["adbench_sets"] = found["adbench"]
            found["adbench"] = self._rank_methods()
        return found

    def _rank_methods(self) -> pd.DataFrame:
        units = make_frame(self.rows, "adbench")
        if units.empty or not (units["status"] == OK).any():
            return pd.DataFrame(columns=["method", "AUC-ROC", "sets"])
        published = self.read_published("adbench_published.csv")
        known = None if published is None else published.set_index("dataset")
        return rank_methods(units[units["status"] == OK], known)

    def read_published(self, name: str) -> pd.DataFrame | None:
        """Return a table of published values; None if the file is missing."""
        return pd.read_csv(self.data.path / name) if self.data.has(name) else None


def write_results(run: Run) -> None:
    """Write tables, figures and the page."""
    shared = {
        panel: run.tables[grid] for panel, grid in figures.GRID_OF.items() if panel in run.names
    }
    for name, contents in (run.tables | shared).items():
        text = contents.to_csv(index=False, float_format="%.5g")
        write_text(run.folder / f"{name}.csv", text)
    text = json.dumps(run.machine, indent=1, ensure_ascii=False)
    write_text(run.folder / "run.json", text)
    pictures = _write_figures(run)
    write_text(run.folder / "README.md", _format_page(run, pictures))


def _write_figures(run: Run) -> dict[str, str]:
    """Write the figures; return the file name of each."""
    paper, drawn = run.read_published("paper_figure_values.csv"), {}
    for name in run.names:
        figure = figures.draw_panel(name, run.tables, paper)
        if figure is not None:
            drawn[name] = f"panel_{name}"
            _write_figure(figure, run.folder / drawn[name])
    if len(set(run.names) & set(figures.DRAWINGS)) > 1:
        drawn["nine"] = "figure"
        _write_figure(figures.draw_overview(run.tables, paper), run.folder / "figure")
    return drawn


def _write_figure(figure: Figure, path: Path) -> None:
    """Write PNG and SVG; the same figure gives the same file."""
    import matplotlib as mpl

    with replace_when_complete(path.with_suffix(".png")) as partial:
        figure.savefig(partial, dpi=130, format="png")
    with (
        replace_when_complete(path.with_suffix(".svg")) as partial,
        mpl.rc_context({"svg.hashsalt": "eosparse"}),
    ):
        figure.savefig(partial, format="svg", metadata={"Date": None})


def _format_page(run: Run, pictures: dict[str, str]) -> str:
    parts = ["# Results", _format_introduction(run), *(f"**Note.** {note}" for note in run.notes)]
    if "nine" in pictures:
        parts.append(_format_figure("The nine panels", pictures["nine"]))
    for name in run.names:
        title = PANELS[name].title
        parts.append(f"## {name.upper() if len(name) == 1 else name}: {title}")
        if name in pictures:
            parts.append(_format_figure(title, pictures[name]))
        parts += _format_panel(name, run)
    return "\n\n".join(part for part in parts if part) + "\n"


def _format_figure(title: str, stem: str) -> str:
    return f"![{title}]({stem}.png)\n\n([SVG]({stem}.svg))"


def _format_introduction(run: Run) -> str:
    plan, machine = run.plan, run.machine
    listed = pd.DataFrame({"what": list(machine), "value": list(machine.values())})
    fewer = [
        f"{name} {run.count_planned(name)}"
        for name in run.grids
        if run.count_planned(name) < plan.repetitions
    ]
    named_fewer = f" ({', '.join(fewer)})" if fewer else ""
    longer = [f"{grid.name} {grid.limit:g}" for grid in run.grids.values() if grid.limit]
    named_longer = f" ({', '.join(longer)})" if longer else ""
    return (
        f"Written by `{machine['command']}`. Values are means over {plan.repetitions} repetitions"
        f"{named_fewer} ± half of the 95 % interval (Student). A method gets fewer repetitions at "
        f"a setting, but at least {plan.least}, once its units there, including the drawing of "
        f"data, have taken {plan.budget:g} s; the number is then given in brackets. Below three, "
        f"marks in figures are hollow and have no interval. A unit is stopped after "
        f"{plan.limit:g} s{named_longer} of processor time, and the method is then skipped there "
        "and at larger settings of the same kind. All methods see the same tables. Seconds are "
        "processor time of one thread, including distances and scores.\n\n"
        "**Cut-offs.** Precision and recall refer to each method's own default cut-off: EOS "
        "keeps a false-discovery rate of 1 %; robust covariances flag rows beyond the 97.5 % "
        "quantile of χ², so at least 2.5 % of clean rows; PyOD's detectors flag a tenth of the "
        "rows, and the one-class SVM about half, whatever the data. With 2 % outliers that alone "
        "bounds their precision by .4, .2 and .04. *Precision at count* takes as many most "
        "outlying rows as there are outliers, which is the same rule for all.\n\n"
        + format_markdown(listed)
    )


def _format_panel(name: str, run: Run) -> list[str]:
    if name in _SHOWN:
        return _format_cross_table(name, run)
    if name in _WEIGHTS:
        return [_format_weights(run.tables[name]), f"[CSV]({name}.csv)"]
    if name in _NOISE:
        return _format_noise(name, run)
    return {"harder": _format_harder, "adbench": _format_adbench, "labels": _format_labels}[name](
        run
    )


def _format_cross_table(name: str, run: Run) -> list[str]:
    grid = figures.GRID_OF.get(name, name)
    contents, (across, values) = run.tables[grid], _SHOWN[name]
    parts = []
    for value in (value for value in values if value in contents):
        shown = cross_table(contents, across, value, run.count_planned(grid))
        parts.append(f"**{value}** by {across}\n\n" + format_markdown(shown))
    return [*parts, _format_failures(contents), f"[CSV]({name}.csv)"]


def _format_weights(weights: pd.DataFrame) -> str:
    if weights.empty:
        return "No weights."
    has_collapsed = weights["collapsed"].astype(bool)
    lines = []
    for alpha, group in weights[~has_collapsed].groupby("alpha"):
        is_outlier = group["is outlier"].astype(bool)
        is_low = group["T·w"] < 0.01
        lines.append(
            {"α": f"{alpha:g}", "outliers with T·w < .01": f"{is_low[is_outlier].mean():.1%}"}
            | {"other rows with T·w < .01": f"{is_low[~is_outlier].mean():.1%}"}
        )
    text = format_markdown(pd.DataFrame(lines))
    if has_collapsed.any():
        alphas = ", ".join(f"{alpha:g}" for alpha in weights.loc[has_collapsed, "alpha"])
        text += f"\n\nThe weights collapsed for α = {alphas}."
    return text


def _format_failures(contents: pd.DataFrame) -> str:
    """List what failed, was stopped or did not run."""
    bad = contents[contents["status"] != OK]
    if bad.empty:
        return "Every method finished at every setting."
    lines = [
        {"method": method, "settings": len(group), "what happened": status}
        for (method, status), group in bad.groupby(["method", "status"], sort=False)
    ]
    return "What did not finish:\n\n" + format_markdown(pd.DataFrame(lines))


def _format_noise(name: str, run: Run) -> list[str]:
    contents, parts = run.tables[name], []
    for noise, axis in (("exact", "exact flips"), ("paper", "the paper's axis")):
        mine = contents[contents["noise"] == noise]
        shown = cross_table(mine, "p", "AUC", run.count_planned(name))
        parts.append(f"AUC on correct labels, **{axis}**\n\n" + format_markdown(shown))
    gains = _format_gains(make_frame(run.rows, name))
    return [*parts, gains, _format_failures(contents), f"[CSV]({name}.csv)"]


def _format_gains(units: pd.DataFrame) -> str:
    """Return differences on the same splits: EOS minus the learner without it, or a peer."""
    if units.empty or "AUC" not in units:
        return ""
    by = ["data", "noise", "p"]
    parts = [compare_pairs(units, by, "AUC", ours, other) for ours, other in _PAIRS]
    parts = [part[part["splits"] > 1] for part in parts if (part["splits"] > 1).any()]
    if not parts:
        return ""
    whole = pd.concat(parts)
    whole["shown"] = [
        f"{line['difference']:+.4f} ± {line['±']:.4f} ({line['splits']})"
        for _, line in whole.iterrows()
    ]
    whole["at"] = whole["noise"] + " " + whole["p"].map("{:g}".format)
    whole["first minus second"] = whole["method"] + " minus " + whole["against"]
    wide = whole.pivot_table(
        index="first minus second", columns="at", values="shown", aggfunc="first", sort=False
    )
    caption = "Differences of AUC on the same splits (their number in brackets)"
    return f"{caption}\n\n" + format_markdown(wide.reset_index().fillna(""))


def _format_harder(run: Run) -> list[str]:
    contents, parts = run.tables["harder"], []
    for kind, mine in contents.groupby(["outliers", "inliers", "columns"], sort=False):
        for value in ("precision at count", "F1"):
            if value not in mine:
                continue
            shown = cross_table(mine, "share", value, run.count_planned("harder"))
            caption = f"**{value}**: {kind[0]} outliers, {kind[1]} inliers, {kind[2]} columns"
            parts.append(f"{caption}\n\n" + format_markdown(shown))
    return [*parts, _format_failures(contents), "[CSV](harder.csv)"]


def _format_adbench(run: Run) -> list[str]:
    shown = run.tables["adbench"].copy()
    for column in shown.columns.difference(["method", "sets"]):
        shown[column] = ["" if pd.isna(value) else f"{value:.2f}" for value in shown[column]]
    caption = (
        f"Means over sets, in percent. *Minus EOS* is the difference to {SHRUNK} over the sets "
        "that both finished, ± half of its 95 % interval over sets. That setting of ours was "
        "chosen on these very sets; the line EOS has the defaults. Methods that did not finish "
        "all sets come last, because their means are over other sets. Methods that draw random "
        "numbers ran with up to five seeds. Seconds are the sum over finished sets."
    )
    return [
        f"{caption}\n\n" + format_markdown(shown),
        _format_failures(run.tables["adbench_sets"]),
        "[Table](adbench.csv), [by set](adbench_sets.csv)",
    ]


def _format_labels(run: Run) -> list[str]:
    parts = []
    for data, mine in run.tables["labels"].groupby("data", sort=False):
        shown = cross_table(mine, "p", "AUC", run.count_planned("labels"))
        parts.append(f"AUC on correct labels: **{data}**\n\n" + format_markdown(shown))
    found = run.tables["finding"]
    found = found.assign(setting=found["data"] + ", " + found["p"].map("{:g}".format))
    for learner, mine in found.groupby("learner", sort=False):
        shown = cross_table(mine, "setting", "average precision", run.count_planned("finding"))
        caption = f"Finding the wrong labels, average precision: **{learner}**"
        parts.append(f"{caption}\n\n" + format_markdown(shown))
    return [
        *parts,
        _format_failures(run.tables["labels"]),
        _format_failures(found),
        "[CSV](labels.csv), [finding](finding.csv)",
    ]
