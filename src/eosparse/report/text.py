"""A summary as lines for a terminal, in plain words."""

from __future__ import annotations

from eosparse.report.detection import Summary, reason_text


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
        f"{count:,} {are} not belong, {share:.2g} of the {rows}. Of these {expected} should be a "
        f"false alarm (false-discovery rate {model['fdr']:g})."
    ).replace(f"{share:.2g} of", f"{share:.2%} of")


def left_out(summary: Summary) -> list[str]:
    """Name the columns that were not used, and why; and those that were encoded."""
    unused = [c for c in summary["columns"] if c["role"] not in ("number", "category", "target")]
    encoded = [c for c in summary["columns"] if c["role"] == "category"]
    lines = []
    if unused:
        said = ", ".join(f"{c['name']} ({c['why']})" for c in unused[:10])
        more = f", and {len(unused) - 10} more" if len(unused) > 10 else ""
        lines.append(f"Not used: {said}{more}.")
    if encoded:
        said = ", ".join(f"{c['name']} ({c['why']})" for c in encoded[:10])
        lines.append(f"Rows are compared with their own kind in: {said}.")
    return lines


def model_line(summary: Summary) -> str:
    """Say how the answer was found."""
    model = summary["model"]
    how = "chosen" if model["is_alpha_chosen"] else "given"
    shrunk = f", covariance shrunk by {model['shrinkage']:.2g}" if model["shrinkage"] else ""
    return (
        f"{model['n_columns']} columns, alpha={model['alpha']:.4g} ({how}){shrunk}, "
        f"{model['passes']} passes, {model['status']}."
    )


def p_value_text(p: float) -> str:
    """Return a p-value that can be read."""
    return "< 1e-99" if p < 1e-99 else f"{p:.1e}"


def lines_of_rows(summary: Summary, most: int) -> list[tuple[str, str, str, str]]:
    """Return row, name, p-value and reasons of the most outlying rows."""
    return [
        (str(r["row"]), r["id"] or "", p_value_text(r["p_value"]), reason_text(r["reasons"]))
        for r in summary["flagged"][:most]
    ]
