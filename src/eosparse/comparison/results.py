"""Write what a run has found: one CSV per panel, figures, and a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from eosparse.comparison import figures
from eosparse.comparison.adbench import SHRUNK, league
from eosparse.comparison.classifiers import PLAIN
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import paired
from eosparse.comparison.ledger import OK, Grid, Plan
from eosparse.comparison.measures import MEASURES
from eosparse.comparison.panels import PANELS, grids_of
from eosparse.comparison.store import Row
from eosparse.comparison.tables import crossed, frame, markdown, table, weights_table
from eosparse.rows.whole_file import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOISE = ("g", "h", "i")
_WEIGHTS = ("a", "b")
# What to subtract on the same splits: the learner itself, and tuned peers.
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
    """A run as far as it has come.

    Attributes
    ----------
    folder : Path
        Where to write; files of the same name are replaced.
    asked : tuple of str
        Panels asked for; others of which there are units are written as well.
    rows : list of dict
        Kept units.
    data : DataFolder
        For published values.
    plan : Plan
        Repetitions wanted.
    quick : bool
        Which settings were run.
    made : dict
        Machine, versions, date and command.
    notes : tuple of str
        What could not be run, and why.
    """

    folder: Path
    asked: tuple[str, ...]
    rows: list[Row]
    data: DataFolder
    plan: Plan
    quick: bool
    made: dict[str, str]
    notes: tuple[str, ...] = ()

    @cached_property
    def names(self) -> list[str]:
        """Panels to write, in their order."""
        begun = {row["grid"] for row in self.rows}
        return [name for name in PANELS if name in self.asked or begun & self._grid_names(name)]

    def _grid_names(self, name: str) -> set[str]:
        if self.data.missing(PANELS[name].needs) is not None:
            return set()
        return {make(self.quick, self.data).name for make in PANELS[name].grids}

    @cached_property
    def grids(self) -> dict[str, Grid]:
        """Grids behind the panels, by name."""
        return {grid.name: grid for grid in grids_of(self.names, self.quick, self.data)}

    def planned(self, grid: str) -> int:
        """Repetitions wanted in a grid."""
        return min(self.plan.repetitions, self.grids[grid].repetitions or self.plan.repetitions)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """One table per grid, and for ADBench one more."""
        found = {
            name: (weights_table if name in _WEIGHTS else table)(self.rows, grid)
            for name, grid in self.grids.items()
        }
        if "adbench" in found:
            found["adbench_sets"] = found["adbench"]
            found["adbench"] = self._league()
        return found

    def _league(self) -> pd.DataFrame:
        units = frame(self.rows, "adbench")
        if units.empty or not (units["status"] == OK).any():
            return pd.DataFrame(columns=["method", "AUC-ROC", "sets"])
        published = self.read("adbench_published.csv")
        known = None if published is None else published.set_index("dataset")
        return league(units[units["status"] == OK], known)

    def read(self, name: str) -> pd.DataFrame | None:
        """Return a table of published values; None if it is not there."""
        return pd.read_csv(self.data.path / name) if self.data.has(name) else None


def write(run: Run) -> None:
    """Write tables, figures and the page."""
    shared = {
        panel: run.tables[grid] for panel, grid in figures.GRID_OF.items() if panel in run.names
    }
    for name, contents in (run.tables | shared).items():
        text = contents.to_csv(index=False, float_format="%.5g")
        write_text(run.folder / f"{name}.csv", text)
    text = json.dumps(run.made, indent=1, ensure_ascii=False)
    write_text(run.folder / "run.json", text)
    pictures = _draw(run)
    write_text(run.folder / "README.md", _page(run, pictures))


def _draw(run: Run) -> dict[str, str]:
    """Write the figures; return the file name of each."""
    paper, drawn = run.read("paper_figure_values.csv"), {}
    for name in run.names:
        figure = figures.single(name, run.tables, paper)
        if figure is not None:
            drawn[name] = f"panel_{name}"
            _save(figure, run.folder / drawn[name])
    if len(set(run.names) & set(figures.DRAWN)) > 1:
        drawn["nine"] = "figure"
        _save(figures.nine(run.tables, paper), run.folder / "figure")
    return drawn


def _save(figure: Figure, path: Path) -> None:
    """Write PNG and SVG; the same picture gives the same file."""
    import matplotlib as mpl

    figure.savefig(path.with_suffix(".png"), dpi=130)
    with mpl.rc_context({"svg.hashsalt": "eosparse"}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _page(run: Run, pictures: dict[str, str]) -> str:
    parts = ["# Results", _introduction(run), *(f"**Note.** {note}" for note in run.notes)]
    if "nine" in pictures:
        parts.append(_picture("The nine panels", pictures["nine"]))
    for name in run.names:
        title = PANELS[name].title
        parts.append(f"## {name.upper() if len(name) == 1 else name}: {title}")
        if name in pictures:
            parts.append(_picture(title, pictures[name]))
        parts += _panel(name, run)
    return "\n\n".join(part for part in parts if part) + "\n"


def _picture(title: str, stem: str) -> str:
    return f"![{title}]({stem}.png)\n\n([SVG]({stem}.svg))"


def _introduction(run: Run) -> str:
    plan, made = run.plan, run.made
    said = pd.DataFrame({"what": list(made), "value": list(made.values())})
    fewer = [
        f"{name} {run.planned(name)}" for name in run.grids if run.planned(name) < plan.repetitions
    ]
    said_fewer = f" ({', '.join(fewer)})" if fewer else ""
    longer = [f"{grid.name} {grid.limit:g}" for grid in run.grids.values() if grid.limit]
    said_longer = f" ({', '.join(longer)})" if longer else ""
    return (
        f"Written by `{made['command']}`. Means over {plan.repetitions} repetitions"
        f"{said_fewer} ± half of the 95 % interval (Student). A "
        f"method gets fewer at a setting once its units there, the drawing of data included, have "
        f"taken {plan.budget:g} s, at least {plan.least}; the number then stands in brackets, and "
        "marks in figures are hollow and without an interval where it is below three. A unit over "
        f"{plan.limit:g} s{said_longer} of processor time is stopped, and the method is not tried "
        "there or at larger settings of the kind. All methods "
        "see the same tables. Seconds are processor time of one thread, that of distances "
        "and scores included.\n\n"
        "**Cuts.** Precision and recall are those of each method's own cut, with nothing set: "
        "ours keeps a false-discovery rate of 1 %; robust covariances flag rows beyond the 97.5 % "
        "quantile of χ², so at least 2.5 % of clean rows; PyOD's detectors flag a tenth of the "
        "rows, and the one-class SVM about half, whatever the data. With 2 % outliers that alone "
        "bounds their precision by .4, .2 and .04. *Precision at count* is that of as many most "
        "outlying rows as there are outliers, the same rule for all.\n\n" + markdown(said)
    )


def _panel(name: str, run: Run) -> list[str]:
    if name in _SHOWN:
        return _crossed_parts(name, run)
    if name in _WEIGHTS:
        return [_weights_said(run.tables[name]), f"[CSV]({name}.csv)"]
    if name in _NOISE:
        return _noise_parts(name, run)
    return {"harder": _harder_parts, "adbench": _adbench_parts, "labels": _label_parts}[name](run)


def _crossed_parts(name: str, run: Run) -> list[str]:
    grid = figures.GRID_OF.get(name, name)
    contents, (across, values) = run.tables[grid], _SHOWN[name]
    parts = []
    for value in (value for value in values if value in contents):
        shown = crossed(contents, across, value, run.planned(grid))
        parts.append(f"**{value}** by {across}\n\n" + markdown(shown))
    return [*parts, _troubles(contents), f"[CSV]({name}.csv)"]


def _weights_said(weights: pd.DataFrame) -> str:
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
    said = markdown(pd.DataFrame(lines))
    if has_collapsed.any():
        alphas = ", ".join(f"{alpha:g}" for alpha in weights.loc[has_collapsed, "alpha"])
        said += f"\n\nCollapsed, and so without an answer: α = {alphas}."
    return said


def _troubles(contents: pd.DataFrame) -> str:
    """List what failed, was too slow or was not run."""
    bad = contents[contents["status"] != OK]
    if bad.empty:
        return "Every method finished everywhere."
    lines = [
        {"method": method, "settings": len(group), "what happened": status}
        for (method, status), group in bad.groupby(["method", "status"], sort=False)
    ]
    return "What did not finish:\n\n" + markdown(pd.DataFrame(lines))


def _noise_parts(name: str, run: Run) -> list[str]:
    contents, parts = run.tables[name], []
    for noise, axis in (("exact", "exact flips"), ("paper", "the paper's axis")):
        mine = contents[contents["noise"] == noise]
        shown = crossed(mine, "p", "AUC", run.planned(name))
        parts.append(f"AUC on right labels, **{axis}**\n\n" + markdown(shown))
    gains = _gains(frame(run.rows, name))
    return [*parts, gains, _troubles(contents), f"[CSV]({name}.csv)"]


def _gains(units: pd.DataFrame) -> str:
    """Return differences on the same splits: EOS less the same learner without it, or a peer."""
    if units.empty or "AUC" not in units:
        return ""
    by = ["data", "noise", "p"]
    parts = [paired(units, by, "AUC", ours, other) for ours, other in _PAIRS]
    parts = [part[part["splits"] > 1] for part in parts if (part["splits"] > 1).any()]
    if not parts:
        return ""
    whole = pd.concat(parts)
    whole["shown"] = [
        f"{line['difference']:+.4f} ± {line['±']:.4f} ({line['splits']})"
        for _, line in whole.iterrows()
    ]
    whole["at"] = whole["noise"] + " " + whole["p"].map("{:g}".format)
    whole["first less second"] = whole["method"] + " less " + whole["against"]
    wide = whole.pivot_table(
        index="first less second", columns="at", values="shown", aggfunc="first", sort=False
    )
    said = "Differences of AUC on the same splits (their number in brackets)"
    return f"{said}\n\n" + markdown(wide.reset_index().fillna(""))


def _harder_parts(run: Run) -> list[str]:
    contents, parts = run.tables["harder"], []
    for kind, mine in contents.groupby(["outliers", "inliers", "columns"], sort=False):
        for value in ("precision at count", "F1"):
            if value not in mine:
                continue
            shown = crossed(mine, "share", value, run.planned("harder"))
            said = f"**{value}**: {kind[0]} outliers, {kind[1]} inliers, {kind[2]} columns"
            parts.append(f"{said}\n\n" + markdown(shown))
    return [*parts, _troubles(contents), "[CSV](harder.csv)"]


def _adbench_parts(run: Run) -> list[str]:
    shown = run.tables["adbench"].copy()
    for column in shown.columns.difference(["method", "sets"]):
        shown[column] = ["" if pd.isna(value) else f"{value:.2f}" for value in shown[column]]
    said = (
        f"Means over sets, in percent; *minus EOS* is the method's less that of {SHRUNK}, on the "
        "sets that both finished, ± half of its 95 % interval over sets. That setting of ours was "
        "chosen on these very sets; the line EOS has nothing set. Methods that did not finish "
        "all sets come last: their means are of other sets. Methods that draw random numbers ran "
        "with up to five seeds. Seconds are the sum over finished sets."
    )
    return [
        f"{said}\n\n" + markdown(shown),
        _troubles(run.tables["adbench_sets"]),
        "[Table](adbench.csv), [by set](adbench_sets.csv)",
    ]


def _label_parts(run: Run) -> list[str]:
    parts = []
    for data, mine in run.tables["labels"].groupby("data", sort=False):
        shown = crossed(mine, "p", "AUC", run.planned("labels"))
        parts.append(f"AUC on right labels: **{data}**\n\n" + markdown(shown))
    found = run.tables["finding"]
    found = found.assign(setting=found["data"] + ", " + found["p"].map("{:g}".format))
    for learner, mine in found.groupby("learner", sort=False):
        shown = crossed(mine, "setting", "average precision", run.planned("finding"))
        said = f"Finding the wrong labels, average precision: **{learner}**"
        parts.append(f"{said}\n\n" + markdown(shown))
    return [
        *parts,
        _troubles(run.tables["labels"]),
        _troubles(found),
        "[CSV](labels.csv), [finding](finding.csv)",
    ]
