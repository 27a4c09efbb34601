"""A summary as lines for a terminal, in plain words."""

from __future__ import annotations

from eosparse.report.detection import Summary
from eosparse.tables.columns import HOLDS_NUMBERS


def headline(summary: Summary) -> str:
    """Say in one sentence what was found, and how sure that is."""
    table, model, count = summary["table"], summary["model"], summary["n_flagged"]
    rows = f"{table['n_used']:,} rows of {table['name']}"
    if count == 0:
        return f"None of the {rows} stands out (false-discovery rate {model['fdr']:g})."
    share = count / table["n_used"]
    wrong = model["fdr"] * count
    expected = "fewer than one" if wrong < 1 else f"about {wrong:.0f}"
    are = "row does" if count == 1 else "rows do"
    return (
        f"{count:,} {are} not belong, {share:.2%} of the {rows}. Of these {expected} should be a "
        f"false alarm (false-discovery rate {model['fdr']:g})."
    )


def label_headline(summary: Summary) -> str:
    """Say in one sentence how many labels are probably wrong."""
    table, count = summary["table"], summary["n_flagged"]
    of = f"of the {table['n_used']:,} rows of {table['name']}"
    if count == 0:
        return f"No label in {summary['target']} {of} is probably wrong."
    are = "label is" if count == 1 else "labels are"
    return (
        f"{count:,} {are} probably wrong in {summary['target']}, {count / table['n_used']:.2%} "
        f"{of} (about {summary['model']['fdr']:.0%} of these may be right)."
    )


def quality_line(summary: Summary) -> str:
    """Say how a model does with and without the doubtful rows."""
    quality = summary["quality"]
    if quality["with"] is None or quality["without"] is None:
        return "How a model does without the doubtful rows cannot be told from so few."
    return (
        f"A model's {quality['measure']} on held-out rows that are not doubted: "
        f"{quality['with']:.3f} learned from all rows, {quality['without']:.3f} without the "
        "doubtful ones."
    )


def noise_line(summary: Summary) -> str:
    """Say the share of wrong labels, by class."""
    rates = summary["noise_rates"]
    if list(rates) == ["all"]:
        return f"Estimated share of wrong labels: {rates['all']:.1%}."
    shown = ", ".join(f"{name} {rate:.1%}" for name, rate in list(rates.items())[:8])
    more = f", and {len(rates) - 8} more classes" if len(rates) > 8 else ""
    return f"Estimated share of wrong labels by class given: {shown}{more}."


def left_out(summary: Summary) -> list[str]:
    """Name the columns that were not used, and why; and those that are more than numbers."""
    unused = [c for c in summary["columns"] if c["role"] not in ("number", "category", "target")]
    encoded = [c for c in summary["columns"] if c["role"] == "category"]
    mended = [c for c in summary["columns"] if c["role"] == "number" and c["why"] != HOLDS_NUMBERS]
    lines = {
        "Not used": unused,
        "Read as numbers": mended,
        "Rows are compared with their own kind in": encoded,
    }
    return [f"{what}: {_listed(columns)}." for what, columns in lines.items() if columns]


def _listed(columns: list[Summary], most: int = 10) -> str:
    said = ", ".join(f"{c['name']} ({c['why']})" for c in columns[:most])
    return said if len(columns) <= most else f"{said}, and {len(columns) - most} more"


def model_line(summary: Summary) -> str:
    """Say how the answer was found."""
    model = summary["model"]
    how = "chosen" if model["is_alpha_chosen"] else "given"
    shrunk = f", covariance shrunk by {model['shrinkage']:.2g}" if model["shrinkage"] else ""
    return (
        f"{model['n_columns']:,} columns, alpha={model['alpha']:.4g} ({how}){shrunk}, "
        f"{model['passes']} pass{'es' * (model['passes'] != 1)}, {model['status']}."
    )


def p_value_text(p: float) -> str:
    """Return a p-value that can be read."""
    return "< 1e-99" if p < 1e-99 else f"{p:.1e}"
