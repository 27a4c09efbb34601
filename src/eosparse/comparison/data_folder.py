"""Data that we may not ship: where they are expected, and where to get them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_AUTHOR = "the author's EOS repository, github.com/horenkoi"
SOURCES = {
    "pollen2014.npz": "Pollen et al. 2014, study SRP041736; a matrix with labels is in the SIMLR "
    "repository, github.com/BatzoglouLabSU/SIMLR. Arrays X (log10(1+x)), y (11 kinds of cells), "
    "y_bin (neural or not)",
    "longevity.npz": f"{_AUTHOR}. Arrays X, y_bin",
    "heart_failure.npz": "UCI, 'Heart failure clinical records' (CC BY 4.0). Arrays X, y_bin",
    "neurons.npz": "the author's SPARTAn repository, github.com/horenkoi/SPARTAn. Arrays X, y_bin",
    "paper_figure_values.csv": f"read from the figures in {_AUTHOR}. Columns figure, algorithm, "
    "x, y, ci_half",
    "adbench": "the classical sets of github.com/Minqi824/ADBench, as adbench/*.npz. Arrays X, y",
    "adbench_published.csv": "published AUC-ROC (percent) of detectors on these sets, from the "
    "table of github.com/vicliv/DTE. Column dataset, then one per detector",
}


@dataclass(frozen=True)
class DataFolder:
    """A folder with data for comparisons.

    Attributes
    ----------
    path : Path
        The folder, which need not exist.

    Examples
    --------
    >>> DataFolder(Path("nowhere")).has("neurons.npz")
    False
    """

    path: Path

    @classmethod
    def locate(cls, path: Path | str | None) -> DataFolder:
        """Return the given folder, else ``EOSPARSE_DATA``, else ``./data``."""
        return cls(Path(path or os.environ.get("EOSPARSE_DATA") or "data"))

    def has(self, name: str) -> bool:
        """Whether a file, or a folder with arrays, is there."""
        place = self.path / name
        return place.is_file() or any(place.glob("*.npz"))

    def explain_missing(self, names: Iterable[str]) -> str | None:
        """Return which files are missing, their sources and where to put them; None if none is."""
        lacking = [name for name in names if not self.has(name)]
        if not lacking:
            return None
        parts = [f"{name} is missing (source: {SOURCES[name]})" for name in lacking]
        place = self.path.resolve()
        pronoun = "it" if len(lacking) == 1 else "them"
        return (
            f"{'; '.join(parts)}. Put {pronoun} into {place}, or name another folder with --data "
            "or the environment variable EOSPARSE_DATA."
        )
