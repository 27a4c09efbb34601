"""Blocks of README.md: a few lines of the results."""

from __future__ import annotations

import pandas as pd

from benchmarks.pages.markdown import get_means, join_parts
from benchmarks.pages.source import Show, Source
from eosparse.comparison.peers.eos import EOS
from eosparse.comparison.tables import format_markdown

_PEERS = {
    "DetMCD (statsmodels)": "DetMCD",
    "FastMCD (scikit-learn)": "FastMCD",
    "OGK (statsmodels)": "OGK",
}
_CLUSTERED = "share of outliers among the top-ranked rows"
# In two columns a cluster overlaps with good rows, so that no method finds all of it.
_FEWEST_COLUMNS = 5


def show_measured(source: Source) -> str:
    rows = [
        _show_shares(source),
        _show_clustered(source),
        _show_labels(source),
        _show_clusters(source),
        _show_components(source),
    ]
    header = ("table", "eosparse", "peers in the same run", "printed by")
    return join_parts(format_markdown(pd.DataFrame(rows, columns=header)))


def _format_between(values: pd.Series, how: str = ".2f") -> str:
    """Return ".98–.99", or one number if both look alike."""
    low, high = (f"{value:{how}}".removeprefix("0") for value in (values.min(), values.max()))
    return low if low == high else f"{low}–{high}"


def _show_shares(source: Source) -> tuple[str, ...]:
    table = source.read("detector_d")
    ours = table[(table["panel"] == "F") & (table["method"] == "fdr=0.01")]
    found = ", ".join(_format_between(ours[name]) for name in ("precision", "recall"))
    shares = 100 * ours["contamination"]
    what = f"{shares.min():g}–{shares.max():g} % outliers, 1,000 × 150: precision, recall"
    return what, found, "[in another run](docs/results/README.md)", "`make bench-detector`"


def _show_clustered(source: Source) -> tuple[str, ...]:
    table = source.read("detector_c")
    table = table[table["columns"] >= _FEWEST_COLUMNS]
    peers = ", ".join(
        f"{short} {_format_between(table[name], '.3f')}" for name, short in _PEERS.items()
    )
    shares, columns = table["contamination"], table["columns"]
    what = (
        f"{100 * shares.min():g}–{100 * shares.max():g} % clustered outliers in "
        f"{columns.min()}–{columns.max()} independent and correlated columns: {_CLUSTERED}"
    )
    return what, _format_between(table["eosparse"], ".3f"), peers, "`make bench-detector`"


def _show_labels(source: Source) -> tuple[str, ...]:
    table = source.read_reproduced("g")
    table = table[(table["noise"] == "exact") & (table["p"] == 0.3)]
    area = table.set_index("method")["AUC"].map(lambda value: f"{value:.3f}".removeprefix("0"))
    peers = f"{area['LogReg']} without EOS, {area['LogReg, C by CV']} with tuned C"
    what = "30 % wrong labels (WDBC), logistic regression: AUC"
    return what, area["EOS(LogReg)"], peers, "`eosparse reproduce g --full`"


def _show_clusters(source: Source) -> tuple[str, ...]:
    table = source.read("models_clusters")
    far = table[(table["outliers"] == "far") & (table["share"] >= 0.2)]
    ours, means, medoids = (
        _format_between(get_means(far[name]))
        for name in ("EOSKMeans", "k-means (scikit-learn)", "k-medoids")
    )
    what = "six clusters, 20 % or more far outliers: adjusted Rand index"
    return what, ours, f"k-means {means}, k-medoids {medoids}", "`make bench-models`"


def _show_components(source: Source) -> tuple[str, ...]:
    table = source.read("models_components")
    clump = (table["outliers"] == "clump") & (table["share"] == 0.2) & (table["columns"] == 10)
    line = table[clump]
    names = {"PCA (scikit-learn)": "PCA", "FastMCD (scikit-learn)": "FastMCD"}
    names |= {"ROBPCA (rrcov)": "ROBPCA"}
    peers = ", ".join(
        f"{short} {get_means(line[name]).item():.0f}°" for name, short in names.items()
    )
    what = "three components, 20 % of the rows in a clump, 10 columns: angle to the truth"
    return what, f"{get_means(line['EOSPCA']).item():.0f}°", peers, "`make bench-models`"


def show_flagged_outliers(source: Source) -> str:
    """Return the median share of labelled outliers among the flagged rows of the ADBench sets."""
    table = source.read_reproduced("adbench_sets")
    return f"{100 * table.loc[table['method'] == EOS, 'precision'].median():.0f} %"


SHOWN: dict[str, Show] = {"measured": show_measured, "flagged_outliers": show_flagged_outliers}
