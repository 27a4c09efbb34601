"""Write what a run has found: one CSV per panel, figures, and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from eosparse.comparison import figures
from eosparse.comparison.adbench import SHRUNK, league
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import paired
from eosparse.comparison.panels import PANELS, grids_of
from eosparse.comparison.store import Row, write_atomically
from eosparse.comparison.tables import crossed, frame, markdown, table, weights_table
from eosparse.comparison.units import OK, Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write(
    folder: Path,
    names: list[str],
    rows: list[Row],
    data: DataFolder,
    plan: Plan,
    quick: bool,
    made: dict[str, str],
    notes: list[str],
) -> None:
    """Write all output for some panels into a folder.

    Parameters
    ----------
    folder : Path
        Where to write; files of the same name are replaced.
    names : list of str
        Panels.
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
    notes : list of str
        What could not be run, and why.
    """
    tables = _tables(names, rows, data, quick)
    paper = _read(data, "paper_figure_values.csv")
    for name, contents in tables.items():
        _write_csv(folder / f"{name}.csv", contents)
    write_atomically(folder / "run.json", json.dumps(made, indent=1, ensure_ascii=False))
    pictures = _draw(folder, names, tables, paper)
    page = _page(names, tables, pictures, plan, made, notes, rows)
    write_atomically(folder / "README.md", page)


def _tables(
    names: list[str], rows: list[Row], data: DataFolder, quick: bool
) -> dict[str, pd.DataFrame]:
    found: dict[str, pd.DataFrame] = {}
    for grid in grids_of(names, quick, data):
        if grid.name in "ab":
            found[grid.name] = weights_table(rows, grid)
        else:
            found[grid.name] = table(rows, grid)
    if "adbench" in found:
        found["adbench_sets"] = found["adbench"]
        found["adbench"] = _league(rows, data)
    return found


def _league(rows: list[Row], data: DataFolder) -> pd.DataFrame:
    units = frame(rows, "adbench")
    if units.empty or not (units["status"] == OK).any():
        return pd.DataFrame(columns=["method", "AUC-ROC", "sets"])
    published = _read(data, "adbench_published.csv")
    return league(
        units[units["status"] == OK],
        None if published is None else published.set_index("dataset"),
    )


def _read(data: DataFolder, name: str) -> pd.DataFrame | None:
    return pd.read_csv(data.path / name) if data.has(name) else None


def _write_csv(path: Path, contents: pd.DataFrame) -> None:
    write_atomically(path, contents.to_csv(index=False, float_format="%.5g"))


def _draw(
    folder: Path,
    names: list[str],
    tables: dict[str, pd.DataFrame],
    paper: pd.DataFrame | None,
) -> dict[str, str]:
    """Write the figures; return the file name of each."""
    drawn = {}
    for name in names:
        figure = figures.single(name, tables, paper)
        if figure is not None:
            drawn[name] = f"panel_{name}.png"
            _save(figure, folder / f"panel_{name}")
    if len(set(names) & set(figures.DRAWN)) > 1:
        drawn["nine"] = "figure.png"
        _save(figures.nine(tables, paper), folder / "figure")
    return drawn


def _save(figure: Figure, path: Path) -> None:
    """Write PNG and SVG; the same picture gives the same file."""
    import matplotlib as mpl

    figure.savefig(path.with_suffix(".png"), dpi=130)
    with mpl.rc_context({"svg.hashsalt": "eosparse"}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


# Which setting goes across, and what is shown, in the tables of the page.
_SHOWN = {
    "c": ("rows", ("seconds",)),
    "d": ("rows", ("precision", "recall", "AUC-ROC")),
    "e": ("columns", ("precision", "recall", "F1", "precision at count", "error of Σ", "seconds")),
    "limits": ("table", ("precision", "recall", "precision at count", "AUC-ROC")),
    "f": ("share", ("precision", "recall", "F1", "precision at count", "error of Σ", "seconds")),
}


def _page(
    names: list[str],
    tables: dict[str, pd.DataFrame],
    pictures: dict[str, str],
    plan: Plan,
    made: dict[str, str],
    notes: list[str],
    rows: list[Row],
) -> str:
    parts = ["# Results", _introduction(plan, made)]
    if notes:
        parts += [f"**Note.** {note}" for note in notes]
    if "nine" in pictures:
        parts.append(f"![The nine panels]({pictures['nine']})")
    for name in names:
        parts.append(f"## {name.upper() if len(name) == 1 else name}: {PANELS[name].title}")
        if name in pictures:
            svg = pictures[name].replace(".png", ".svg")
            parts.append(f"![{PANELS[name].title}]({pictures[name]})\n\n([SVG]({svg}))")
        parts += _panel(name, tables, plan, rows)
    return "\n\n".join(parts) + "\n"


def _introduction(plan: Plan, made: dict[str, str]) -> str:
    said = pd.DataFrame({"what": list(made), "value": list(made.values())})
    return (
        f"Written by `{made['command']}`. Means over {plan.repetitions} repetitions ± half of the "
        "95 % interval (Student). A method gets fewer repetitions at a setting once it has taken "
        f"{plan.budget:g} s there, at least {plan.least}; the number then stands in brackets. A "
        f"unit over {plan.limit:g} s is stopped. All methods see the same tables. Seconds are "
        "processor time of one thread. Precision and recall are those of each method's own cut; "
        "*precision at count* is that of as many most outlying rows as there are outliers, the "
        "same rule for all.\n\n" + markdown(said)
    )


def _panel(name: str, tables: dict[str, pd.DataFrame], plan: Plan, rows: list[Row]) -> list[str]:
    if name in _SHOWN:
        across, values = _SHOWN[name]
        contents = tables[figures.GRID_OF.get(name, name)]
        parts = [
            f"**{value}** by {across}\n\n"
            + markdown(crossed(contents, across, value, plan.repetitions))
            for value in values
            if value in contents
        ]
        return [*parts, _troubles(contents), f"[CSV]({figures.GRID_OF.get(name, name)}.csv)"]
    if name in "ab":
        return [_weights_said(tables[name]), f"[CSV]({name}.csv)"]
    if name in "ghi":
        return _noise_parts(name, tables[name], plan, rows)
    if name == "harder":
        return _harder_parts(tables[name], plan)
    if name == "adbench":
        return _adbench_parts(tables)
    return _label_parts(tables, plan)


def _weights_said(weights: pd.DataFrame) -> str:
    if weights.empty:
        return "No weights."
    collapsed = weights.loc[weights["collapsed"].astype(bool), "alpha"]
    kept = weights[~weights["collapsed"].astype(bool)]
    lines = []
    for alpha, group in kept.groupby("alpha"):
        bad = group["is outlier"].astype(bool)
        low = group["T·w"] < 0.01
        lines.append(
            {"α": f"{alpha:g}", "outliers with T·w < .01": f"{low[bad].mean():.1%}"}
            | {"other rows with T·w < .01": f"{low[~bad].mean():.1%}"}
        )
    said = markdown(pd.DataFrame(lines))
    if len(collapsed):
        said += "\n\nCollapsed, and so without an answer: α = "
        said += ", ".join(f"{alpha:g}" for alpha in collapsed) + "."
    return said


def _troubles(contents: pd.DataFrame) -> str:
    """List what failed, was too slow or was not run."""
    bad = contents[contents["status"] != OK]
    if bad.empty:
        return "Every method finished everywhere."
    lines = []
    for (method, status), group in bad.groupby(["method", "status"], sort=False):
        lines.append({"method": method, "settings": len(group), "what happened": status})
    return "What did not finish:\n\n" + markdown(pd.DataFrame(lines))


def _noise_parts(name: str, contents: pd.DataFrame, plan: Plan, rows: list[Row]) -> list[str]:
    parts = []
    for noise, axis in (("exact", "exact flips"), ("paper", "the paper's axis")):
        mine = contents[contents["noise"] == noise]
        shown = crossed(mine, "p", "AUC", plan.repetitions)
        parts.append(f"AUC on right labels, **{axis}**\n\n" + markdown(shown))
    parts.append(_gains(frame(rows, name)))
    return [*parts, _troubles(contents), f"[CSV]({name}.csv)"]


def _gains(units: pd.DataFrame) -> str:
    """Return differences between EOS and the same learner without it, on the same splits."""
    from eosparse.comparison.classifiers import PLAIN

    if units.empty or "AUC" not in units:
        return ""
    by = ["data", "noise", "p"]
    parts = [paired(units, by, "AUC", ours, plain) for ours, plain in PLAIN.items()]
    whole = pd.concat([part for part in parts if len(part)])
    whole["shown"] = [
        f"{d:+.4f} ± {h:.4f}" for d, h in zip(whole["difference"], whole["±"], strict=True)
    ]
    whole["at"] = whole["noise"] + " " + whole["p"].map("{:g}".format)
    wide = whole.pivot_table(
        index="method", columns="at", values="shown", aggfunc="first", sort=False
    )
    return "With EOS less without, same splits\n\n" + markdown(wide.reset_index().fillna(""))


def _harder_parts(contents: pd.DataFrame, plan: Plan) -> list[str]:
    parts = []
    for kind, mine in contents.groupby(["outliers", "inliers", "columns"], sort=False):
        shown = crossed(mine, "share", "precision at count", plan.repetitions)
        said = f"Precision at count: {kind[0]} outliers, {kind[1]} inliers, {kind[2]} columns"
        parts.append(f"{said}\n\n" + markdown(shown))
    return [*parts, _troubles(contents), "[CSV](harder.csv)"]


def _adbench_parts(tables: dict[str, pd.DataFrame]) -> list[str]:
    shown = tables["adbench"].copy()
    for column in shown.columns.difference(["method", "sets"]):
        shown[column] = ["" if pd.isna(value) else f"{value:.2f}" for value in shown[column]]
    said = (
        f"Means over sets, in percent; *less ours* is the difference to {SHRUNK}, on the sets that "
        "both finished, ± half of its 95 % interval over sets. Methods that did not finish all "
        "sets come last: their means are of other sets. Methods that draw random numbers ran with up "
        "to five seeds. Seconds are the sum over finished sets."
    )
    return [
        f"{said}\n\n" + markdown(shown),
        _troubles(tables["adbench_sets"]),
        "[Table](adbench.csv), [by set](adbench_sets.csv)",
    ]


def _label_parts(tables: dict[str, pd.DataFrame], plan: Plan) -> list[str]:
    parts = []
    for data, mine in tables["labels"].groupby("data", sort=False):
        shown = crossed(mine, "p", "AUC", min(plan.repetitions, 10))
        parts.append(f"AUC on right labels: **{data}**\n\n" + markdown(shown))
    found = tables["finding"]
    found = found.assign(setting=found["data"] + ", " + found["p"].map("{:g}".format))
    for learner, mine in found.groupby("learner", sort=False):
        shown = crossed(mine, "setting", "average precision", min(plan.repetitions, 10))
        parts.append(
            f"Finding the wrong labels, average precision: **{learner}**\n\n" + markdown(shown)
        )
    parts += [_troubles(tables["labels"]), "[CSV](labels.csv), [finding](finding.csv)"]
    return parts
