"""Blocks of docs/model-figures.md: whole files, and the sentences that quote them."""

from __future__ import annotations

from functools import partial

import pandas as pd

from benchmarks.pages.markdown import format_range, get_means, join_parts, make_table
from benchmarks.pages.source import Show, Source

# As the column of differences is named.
_LESS = " less the Gaussian's"


def show_whole(source: Source, name: str) -> str:
    """Return a file as it is."""
    return _show_frame(source.read(name))


def _show_frame(table: pd.DataFrame) -> str:
    return make_table(table, dict.fromkeys(table, _format_any), empty="")


def _format_any(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def show_components(source: Source) -> str:
    table = source.read("models_components")
    clean = table[table["share"] == 0]
    ours, classical = (get_means(clean[name]) for name in ("EOSPCA", "PCA (scikit-learn)"))
    return join_parts(
        _show_frame(table),
        f"On clean rows, EOSPCA costs {format_range(ours - classical, '.2f')} degrees compared "
        "with classical components.",
    )


def show_calibration(source: Source) -> str:
    table = source.read("models_calibration")
    right = table[table["rows of kind"] == "right"]
    mixtures, others = (
        right[(right["model"] == "mixture") == is_mixture] for is_mixture in (True, False)
    )
    seen, new = (_format_percents(others[name]) for name in ("training rows", "new rows"))
    return join_parts(
        _show_frame(table),
        f"If the assumptions hold, {seen} of the training rows fall below the level, and {new} of "
        f"the new rows; of mixtures, {_format_percents(mixtures['training rows'])} of the training "
        "rows.",
        " ".join(_compare_kind(table, kind) for kind in ("heavy", "unequal")),
    )


def _format_percents(shares: pd.Series) -> str:
    return f"{format_range(100 * shares, '.2g')} %"


def _compare_kind(table: pd.DataFrame, kind: str) -> str:
    part = table[table["rows of kind"] == kind]
    ranges = [
        f"{format_range(100 * group['training rows'], '.1f')} ({model})"
        for model, group in part.groupby("model", sort=False)
    ]
    return f"If rows are {kind}, the level of 1 % becomes, in percent, {', '.join(ranges)}."


def show_adbench(source: Source) -> str:
    table = source.read("models_adbench")
    rule = table[table["method"] == "picked by the rule"].iloc[0]
    roc, pr = (
        f"{rule[name + _LESS]:+.1f} ± {rule[f'{name} ±']:.1f}" for name in ("AUC-ROC", "AUC-PR")
    )
    return join_parts(
        _show_frame(table),
        f"The choices of the rule differ by {roc} points of AUC-ROC and {pr} points of AUC-PR.",
    )


SHOWN: dict[str, Show] = {
    name: partial(show_whole, name=name)
    for name in (
        "models_affinities",
        "models_affinities_ratios",
        "models_maps",
        "models_maps_gains",
        "models_clusters",
    )
} | {
    "models_components": show_components,
    "models_calibration": show_calibration,
    "models_adbench": show_adbench,
}
