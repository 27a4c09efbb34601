"""Blocks of docs/labels.md."""

from __future__ import annotations

import pandas as pd

from benchmarks.pages.markdown import join_parts, list_words, make_table
from benchmarks.pages.source import Show, Source
from eosparse.comparison.peers.classifiers import PLAIN

_SETTING = ["noise", "p"]
_FINDERS = {"find_label_issues": "eosparse", "cleanlab": "cleanlab"}
_OTHER_FINDERS = ("self-confidence", "nearest rows")


def _mark(difference: float, half: float) -> str:
    """Return a sign if a difference is significant."""
    if difference > half:
        return " **+**"
    return " **−**" if difference < -half else ""


def _show_all(table: pd.DataFrame) -> str:
    return make_table(table, {name: "g" if name == "p" else "" for name in table})


def show_a(source: Source) -> str:
    table = source.read("labels_a")
    lines = [_format_line_a(line) for _, line in table.iterrows()]
    behind = (table["author's EOS+SPA"] - table["EOS+SPA"]).max()
    return join_parts(
        _show_all(pd.DataFrame(lines)),
        f"EOS+SPA is at most {behind:.4f} below the author's curve. At most, it costs "
        f"{-table['EOS+SPA - SPA'].min():.4f} compared with plain SPA: the soft boxes alone make "
        "plain SPA robust.",
    )


def _format_line_a(line: pd.Series) -> dict[str, object]:
    gain, half, author = line["EOS+SPA - SPA"], line["difference ±"], line["author's EOS+SPA"]
    return {
        "p": line["p"],
        "EOS+SPA": f"{line['EOS+SPA']:.4f} ± {line['EOS+SPA ±']:.4f}",
        "SPA": f"{line['SPA']:.4f} ± {line['SPA ±']:.4f}",
        "difference": f"{gain:.4f} ± {half:.4f}{_mark(gain, half)}",
        "the author's EOS+SPA": f"{author:.4f}",
        "less that": f"{line['EOS+SPA'] - author:+.4f}",
    }


def show_b(source: Source) -> str:
    table = source.read("labels_b")
    wide = table.pivot_table(index="method", columns=_SETTING, values="auc", sort=False)
    return _show_all(_name_settings(wide.loc[_order_methods(wide.index)].map("{:.4f}".format)))


def _order_methods(names: pd.Index) -> list[str]:
    """Return each model with EOS above the same model without, and then the other peers."""
    pairs = [name for pair in PLAIN.items() for name in pair if name in names]
    return [*pairs, *(name for name in names if name not in pairs)]


def _name_settings(wide: pd.DataFrame) -> pd.DataFrame:
    """Name the columns by the share of wrong labels, and where these are in one class."""
    wide.columns = [f"{p:g}" if noise == "exact" else f"{noise} {p:g}" for noise, p in wide.columns]
    return wide.reset_index()


def show_c(source: Source) -> str:
    gains, best = source.read("labels_c"), source.read("labels_b_best")
    cells = [_format_gain(d, half) for d, half in zip(gains["difference"], gains["±"], strict=True)]
    gains["cell"] = cells
    wide = gains.pivot_table(
        index="method", columns=_SETTING, values="cell", aggfunc="first", sort=False
    )
    below = best[best["difference"] < -best["±"]]
    return join_parts(
        _show_all(_name_settings(wide)),
        f"The best EOS method at each p is significantly below a peer in {len(below)} of "
        f"{len(best)} comparisons{_name_below(below)}.",
    )


def _format_gain(difference: float, half: float) -> str:
    return f"{difference:+.4f} ± {half:.4f}{_mark(difference, half)}"


def _name_below(below: pd.DataFrame) -> str:
    lines = below[["against", "noise", "p"]].itertuples(index=False)
    named = [f"{peer} ({noise} {p:g})" for peer, noise, p in lines]
    return f": {list_words(named)}" if named else ""


def show_d(source: Source) -> str:
    table, gains = source.read("labels_d"), source.read("labels_d_gains")
    key = ["data", "noise", "p", "method"]
    table = table.merge(gains[[*key, "difference", "±"]], how="left", on=key)
    columns = zip(table["auc"], table["difference"], table["±"], strict=True)
    table["cell"] = [f"{auc:.3f}{_mark(gain, half)}" for auc, gain, half in columns]
    wide = table.pivot_table(
        index=["data", "p"], columns="method", values="cell", aggfunc="first", sort=False
    )
    return _show_all(wide[_order_methods(wide.columns)].fillna("-").reset_index())


def show_e(source: Source) -> str:
    table = source.read("labels_e").replace({"method": _FINDERS})
    index = ["data", "learner", "p"]
    wide = table.pivot_table(index=index, columns="method", values="average precision", sort=False)
    seconds = table.pivot_table(index=index, columns="method", values="seconds", sort=False)
    methods = [*_FINDERS.values(), *_OTHER_FINDERS]
    shown = _embolden(wide[methods], wide.max(axis=1), ".3f")
    for name in _FINDERS.values():
        shown[f"seconds: {name}"] = seconds[name].map("{:.2f}".format)
    n_best = (wide["eosparse"] == wide.max(axis=1)).sum()
    means = [f"{wide[name].mean():.3f} for {name}" for name in methods]
    times = (seconds["eosparse"] / seconds["cleanlab"]).groupby(level="learner", sort=False)
    ratios = [f"{ratio:.2f} with {name}" for name, ratio in times.median().items()]
    return join_parts(
        _show_all(shown.reset_index()),
        f"eosparse is best in {n_best} of {len(wide)} settings. The means are {list_words(means)}. "
        f"The median time, relative to that of cleanlab, is {list_words(ratios)}.",
    )


def _embolden(wide: pd.DataFrame, best: pd.Series, how: str) -> pd.DataFrame:
    """Return formatted cells, the best of each line in bold."""
    return wide.apply(
        lambda column: [
            f"**{value:{how}}**" if value == top else f"{value:{how}}"
            for value, top in zip(column, best, strict=True)
        ]
    )


def show_f(source: Source) -> str:
    table = source.read("labels_f")
    index = ["outliers in", "columns", "p"]
    wide = table.pivot_table(index=index, columns="method", values="error", sort=False)
    wide = wide.loc[["y", "X"]]
    return _show_all(_embolden(wide, wide.min(axis=1), ".3f").reset_index())


def show_g(source: Source) -> str:
    formats = {"model": "", "α given, times plain": ".1f", "α given, fits": "d"}
    formats |= {"auto, times plain": ".1f", "auto, fits": "d", "CleanLearning, times plain": ".1f"}
    return make_table(source.read("labels_g"), formats)


def show_g_spa(source: Source) -> str:
    table = source.read("labels_g_spa")
    table["ms per pass"] = 1000 * table["per pass"]
    formats = {"rows": "d", "columns": "d", "boxes": "d", "ms per pass": ".1f"}
    return make_table(table, formats | {"times the first": ".2f"})


def show_h(source: Source) -> str:
    table, gains = source.read("labels_h"), source.read("labels_h_gains")
    means = table.groupby(["p", "method"], as_index=False, sort=False)["auc"].mean()
    key = ["data", "p", "method"]
    table = table.merge(gains[[*key, "difference", "±"]], how="left", on=key)
    table = pd.concat([table, means.assign(data="mean")])
    columns = zip(table["auc"], table["difference"], table["±"], strict=True)
    table["cell"] = [f"{auc:.4f}{_mark(gain, half)}" for auc, gain, half in columns]
    wide = table.pivot_table(
        index=["data", "p"], columns="method", values="cell", aggfunc="first", sort=False
    )
    return _show_all(wide.reset_index())


_FLAGS = {
    "runs": "d",
    "promised": "d",
    "promised and flagged": "d",
    "false share, promised": ".3f",
    "false share, not promised": ".3f",
    "found share": ".3f",
}


def show_i(source: Source) -> str:
    table = source.read("labels_i")
    false = float((table["false share, promised"] * table["promised"]).sum())
    flagging = table["promised and flagged"].sum()
    return join_parts(
        make_table(table, {"data": ""} | _FLAGS),
        f"Of {table['runs'].sum()} runs, {table['promised'].sum()} promise the rate, and "
        f"{flagging} of these flag labels. In these, the mean share of correct labels among the "
        f"flagged ones is {false / flagging:.3f}, at a rate of 0.1. In the table, runs that flag "
        "nothing count as 0.",
    )


def show_i_kinds(source: Source) -> str:
    table = source.read("labels_i_kinds")
    table["sum"] = table["false share, promised"].fillna(0.0) * table["promised"]
    sums = table.groupby("learner", sort=False)[["sum", "promised and flagged"]].sum()
    shares = [f"{line.iloc[0] / line.iloc[1]:.3f} with {name}" for name, line in sums.iterrows()]
    return join_parts(
        make_table(table, {"noise": "", "p": "g", "learner": ""} | _FLAGS),
        "In the runs that promise the rate and flag labels, the mean share of correct labels among "
        f"them is {list_words(shares)}.",
    )


def show_j(source: Source) -> str:
    table, ranks = source.read("labels_j"), source.read("labels_j_ranks")
    names = ["find_label_issues", "cleanlab", *_OTHER_FINDERS]
    best = (ranks["find_label_issues"] == ranks[names].max(axis=1)).sum()
    means = [f"{ranks[name].mean():.3f} for {_FINDERS.get(name, name)}" for name in names]
    return join_parts(
        make_table(table.drop(columns="data"), {"learner": ""} | _FLAGS),
        f"In the ranking, eosparse is best in {best} of {len(ranks)} settings. The means are "
        f"{list_words(means)}.",
    )


def show_k(source: Source) -> str:
    table, gains = source.read("labels_k"), source.read("labels_k_gains")
    against = gains.drop(columns="method").rename(columns={"against": "method"})
    key = ["data", "noise", "p", "method"]
    table = table.merge(against[[*key, "difference", "±"]], how="left", on=key)
    columns = zip(table["auc"], table["auc ±"], table["difference"], table["±"], strict=True)
    table["cell"] = [f"{a:.3f} ± {half:.3f}{_mark(gain, own)}" for a, half, gain, own in columns]
    index = ["data", "noise", "p"]
    wide = table.pivot_table(
        index=index, columns="method", values="cell", aggfunc="first", sort=False
    )
    wide.insert(0, "splits", table.groupby(index, sort=False)["repetitions"].first())
    return _show_all(wide.fillna("-").reset_index())


SHOWN: dict[str, Show] = {
    "labels_a": show_a,
    "labels_b": show_b,
    "labels_c": show_c,
    "labels_d": show_d,
    "labels_e": show_e,
    "labels_f": show_f,
    "labels_g": show_g,
    "labels_g_spa": show_g_spa,
    "labels_h": show_h,
    "labels_i": show_i,
    "labels_i_kinds": show_i_kinds,
    "labels_j": show_j,
    "labels_k": show_k,
}
