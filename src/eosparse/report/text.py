"""A summary as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from eosparse.tables.columns import NO_EFFECT, PLAIN_NUMBERS, Column, Role
from eosparse.tables.reasons import format_reasons
from eosparse.tables.summary import (
    ConfusedPair,
    DetectionSummary,
    GroupSummary,
    LabelSummary,
    ModelSummary,
    Quality,
    ScoringSummary,
    Summary,
)


def format_headline(summary: Summary) -> str:
    """Return the result in one or two sentences."""
    if isinstance(summary, LabelSummary):
        return _format_label_headline(summary)
    model = summary.model
    if isinstance(model, ScoringSummary) and model.chance is not None:
        return _format_scoring_headline(summary, model.level, model.chance)
    if not model.promise:
        return _format_ranking_headline(summary)
    table, count = summary.table, summary.n_flagged
    rows = f"{table.n_used:,} rows in {table.name}"
    if count == 0:
        return f"None of the {rows} is an outlier (false-discovery rate {summary.model.fdr:g})."
    are_outliers = "is an outlier" if count == 1 else "are outliers"
    said = f"{count:,} of {rows} {are_outliers} ({count / table.n_used:.2%})"
    return f"{said}. {_format_false_alarms(summary.model.fdr, count)}"


def _format_scoring_headline(summary: DetectionSummary, level: float | None, chance: float) -> str:
    """Return the result for new rows, of which only the chance of a false alarm is known."""
    table, count = summary.table, summary.n_flagged
    row = "row" if table.n_used == 1 else "rows"
    rule = "the model's cut-off" if level is None else f"the p-value {level:g}"
    said = f"{count:,} of {table.n_used:,} {row} in {table.name} ({count / table.n_used:.2%})"
    said = f"{said} {'lies' if count == 1 else 'lie'} beyond {rule}."
    if count == 0:
        said = f"None of the {table.n_used:,} {row} in {table.name} lies beyond {rule}."
    n_false = chance * table.n_used
    expected = f"about {n_false:.0f}" if n_false >= 1 else "fewer than one"
    return f"{said} If all were like the good rows of the training table, {expected} would."


def _format_ranking_headline(summary: DetectionSummary) -> str:
    """Return the result where rows can be ranked, but no rate of false alarms is known."""
    table, count = summary.table, summary.n_flagged
    rows = f"{table.n_used:,} rows in {table.name}"
    stand_out = "stands out" if count == 1 else "stand out"
    said = f"{count:,} of {rows} {stand_out} ({count / table.n_used:.2%}); ranked."
    if count == 0:
        said = f"None of the {rows} stands out."
    reason = summary.model.promise_reason
    return f"{said} No error rate can be promised because {reason}."


def _format_label_headline(summary: LabelSummary) -> str:
    table, count = summary.table, summary.n_flagged
    labels = f"{table.n_used:,} labels in column {summary.target} of {table.name}"
    if count == 0:
        return f"None of the {labels} is probably wrong."
    are, model = "is" if count == 1 else "are", summary.model
    if not model.promise:
        return (
            f"{count:,} of {labels} {are} doubtful ({count / table.n_used:.2%}); ranked. No error "
            f"rate can be promised because {model.promise_reason}."
        )
    return (
        f"{count:,} of {labels} {are} probably wrong ({count / table.n_used:.2%}). About "
        f"{model.fdr:.0%} of these may be correct after all."
    )


def _format_false_alarms(fdr: float, count: int) -> str:
    n_false = round(fdr * count)
    expected = f"about {n_false}" if fdr * count >= 1 else "fewer than one"
    alarms = "false alarms" if n_false > 1 else "a false alarm"
    return f"Expect {expected} of these to be {alarms} (false-discovery rate {fdr:g})."


def format_details(summary: Summary) -> list[str]:
    """Return sentences on the model and on the columns."""
    if isinstance(summary, LabelSummary):
        lines = [_format_noise_rates(summary.noise_rates), *_format_pairs(summary.pairs)]
        lines.append(format_quality(summary.quality))
        use_of_categories = "Used as categories"
    else:
        options = name_kinds_options(summary.model)
        lines = [summary.model.reason, *(format_group(g, options) for g in summary.groups)]
        lines.append(format_model(summary.model))
        use_of_categories = "Compared within categories"
    categories = [c for c in summary.columns if c.role is Role.CATEGORY or c.kind == "category"]
    groups = {
        "Not used": [c for c in summary.columns if not (c.role.is_used or c.role is Role.TARGET)],
        "Read as numbers": [
            c
            for c in summary.columns
            if c.role is Role.NUMBER and c.why != PLAIN_NUMBERS and c.kind != "category"
        ],
        use_of_categories: [c for c in categories if c.kind_why != NO_EFFECT],
        "Categories that tell nothing of the numbers": [
            c for c in categories if c.kind_why == NO_EFFECT
        ],
        "Dates in days": [c for c in summary.columns if c.role is Role.DATE],
        "Of few values": [_show_kind(c) for c in summary.columns if c.kind in _FEW_VALUES],
    }
    return lines + [f"{name}: {_format_columns(group)}." for name, group in groups.items() if group]


# Pairs of classes in a line of text.
_MOST_PAIRS = 5
# Numbers that are not used as such.
_FEW_VALUES = ("levels", "heap")


def _show_kind(column: Column) -> Column:
    return replace(column, why=f"{column.kind}: {column.kind_why}")


def format_group(group: GroupSummary, options: str = "--groups kinds") -> str:
    """Return a sentence on a group of rows, and what to do if it is taken for something else."""
    near = " and ".join(format_centre(group, group.columns))
    by = " and ".join(repr(name) for name in group.columns)
    rows, place = f"{group.n_rows:,} rows ({group.share:.1%})", f" near {near}" if near else ""
    if not group.is_outlier:
        return f"{rows} form a group of good rows{place or f', by {by}'}."
    return (
        f"{rows} sit apart as a group{place}, by {by}. If they are a kind of their own and not "
        f"wrong, use {options}."
    )


def name_kinds_options(model: ModelSummary) -> str:
    """Return the options that make groups kinds; a model that was asked for has none."""
    return "--groups kinds" if model.rung else "--model auto --groups kinds"


def format_centre(group: GroupSummary, names: Sequence[str]) -> list[str]:
    """Return the middle of a group in some columns: numbers, and dates that are text already."""
    middles = ((name, group.centre[name]) for name in names if name in group.centre)
    return [f"{name} = {v if isinstance(v, str) else f'{v:.4g}'}" for name, v in middles]


def _format_columns(columns: Sequence[Column], max_columns: int = 10) -> str:
    shown = ", ".join(f"{column.name} ({column.why})" for column in columns[:max_columns])
    n_more = len(columns) - max_columns
    return shown if n_more <= 0 else f"{shown}, and {n_more} more"


def format_model(model: ModelSummary) -> str:
    """Return how the result was reached, in one line."""
    how = "automatic" if model.is_alpha_chosen else "given"
    shrunk = f", covariance shrunk by {model.shrinkage:.2g}" if model.shrinkage else ""
    passes = "1 pass" if model.passes == 1 else f"{model.passes} passes"
    columns = "1 column" if model.n_columns == 1 else f"{model.n_columns:,} columns"
    return f"{columns}, alpha={model.alpha:.4g} ({how}){shrunk}, {passes}, {model.status}."


def format_quality(quality: Quality) -> str:
    """Return how a model does with and without the flagged rows, in one sentence."""
    if quality.score_with is None or quality.score_without is None:
        return "There are too few rows to compare models with and without the flagged rows."
    measure = f"{quality.measure[0].upper()}{quality.measure[1:]}"
    return (
        f"{measure} of a model on held-out rows that are not flagged: {quality.score_with:.3f} "
        f"trained on all rows, {quality.score_without:.3f} trained without the flagged rows."
    )


def _format_noise_rates(rates: dict[str, float]) -> str:
    if list(rates) == ["all"]:
        return f"Estimated share of wrong labels: {rates['all']:.1%}."
    shown = ", ".join(f"{name} {rate:.1%}" for name, rate in list(rates.items())[:8])
    more = f", and {len(rates) - 8} more classes" if len(rates) > 8 else ""
    return f"Estimated share of wrong labels by class: {shown}{more}."


def _format_pairs(pairs: Sequence[ConfusedPair]) -> list[str]:
    """Return the most frequent pairs of given and suggested class, if there are several."""
    if len(pairs) < 2:
        return []
    shown = [f"{p.given} instead of {p.suggested} {p.count:,}" for p in pairs[:_MOST_PAIRS]]
    more = f", and {len(pairs) - _MOST_PAIRS} more pairs" if len(pairs) > _MOST_PAIRS else ""
    return [f"Given and suggested: {', '.join(shown)}{more}."]


def format_p_value(p: float) -> str:
    """Return a p-value with two digits.

    Examples
    --------
    >>> format_p_value(0.000321), format_p_value(0.0)
    ('3.2e-04', '< 1e-99')
    """
    return "< 1e-99" if p < 1e-99 else f"{p:.1e}"


def format_rows(summary: Summary, top: int) -> dict[str, list[str]]:
    """Return the first flagged rows as columns of text, by their headings."""
    cells: dict[str, Callable[[Any], str]] = {"row": lambda r: str(r.row)}
    if any(row.id for row in summary.flagged[:top]):
        cells["id"] = lambda r: _shorten(r.id or "")
    if isinstance(summary, DetectionSummary):
        cells["p-value"] = lambda r: format_p_value(r.p_value)
        cells["why (share of the distance)"] = lambda r: format_reasons(r.reasons)
    else:
        cells["P(wrong)"] = lambda r: f"{r.probability_wrong:.0%}"
        cells["given"] = lambda r: _shorten(r.given)
        cells["suggested"] = lambda r: _shorten(r.suggested)
        cells["why"] = lambda r: format_reasons(r.reasons)
    return {name: [cell(row) for row in summary.flagged[:top]] for name, cell in cells.items()}


def _shorten(text: str, max_length: int = 24) -> str:
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"
