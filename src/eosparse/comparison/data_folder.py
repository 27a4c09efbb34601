"""Data that are not ours to ship: where they are looked for, and where to get them."""

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
    """A folder with data for comparisons; files that are missing can be named."""

    path: Path

    @classmethod
    def given(cls, path: Path | str | None) -> DataFolder:
        """Return the folder given, else ``EOSPARSE_DATA``, else ``./data``."""
        return cls(Path(path or os.environ.get("EOSPARSE_DATA") or "data"))

    def has(self, name: str) -> bool:
        """Whether a file is there; a folder must hold arrays."""
        place = self.path / name
        return place.is_file() or any(place.glob("*.npz"))

    def missing(self, names: Iterable[str]) -> str | None:
        """Say which files are missing, where they come from and where to put them; else None."""
        lacking = [name for name in names if not self.has(name)]
        if not lacking:
            return None
        parts = [f"{name} is missing (source: {SOURCES[name]})" for name in lacking]
        place = self.path.resolve()
        return f"{'; '.join(parts)}. Put it into {place}, or name a folder: --data, EOSPARSE_DATA."
