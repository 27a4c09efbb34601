"""Draw docs/images/labels.png from the table of figure b."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from benchmarks.bench import RESULTS

# Okabe and Ito's colours, which differ in lightness too.
_STYLES = {
    "EOS+SPA": ("#D55E00", "-", "o"),
    "SPA": ("#D55E00", ":", "o"),
    "EOS(LogReg)": ("#0072B2", "-", "s"),
    "LogReg": ("#0072B2", ":", "s"),
    "EOS(forest)": ("#009E73", "-", "^"),
    "forest": ("#009E73", ":", "^"),
    "EOS(boosting)": ("#CC79A7", "-", "D"),
    "boosting": ("#CC79A7", ":", "D"),
    "CleanLearning, C by CV": ("black", "--", "x"),
}
_TARGET = Path(__file__).parents[2] / "docs" / "images" / "labels.png"


def main() -> None:
    table = pd.read_csv(RESULTS / "labels_b.csv")
    table = table[table["noise"] == "exact"]
    figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
    for method, (colour, line, marker) in _STYLES.items():
        mine = table[table["method"] == method].sort_values("p")
        axes.errorbar(
            mine["p"], mine["auc"], mine["auc ±"], color=colour, linestyle=line, marker=marker,
            markersize=5, capsize=2, label=method,
        )  # fmt: skip
    axes.set_xlabel("share of wrong training labels")
    axes.set_ylabel("area under the ROC curve, right labels")
    axes.set_title("WDBC: learning from wrong labels (mean and 95 % interval)", fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, ncols=2, loc="lower left")
    _TARGET.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(_TARGET, dpi=150)


if __name__ == "__main__":
    main()
