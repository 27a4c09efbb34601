"""Labelled data, and ways to spoil the labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

from eosparse.comparison.data_folder import DataFolder
from eosparse.core import FloatArray

Labels = NDArray[np.int_]
FROM_FOLDER = ("pollen2014", "longevity", "heart_failure", "neurons")
SETS = ("wdbc", *FROM_FOLDER, "wine", "digits")
# Splits with smaller numbers served to choose defaults; the figures are printed on others.
_FIRST_SPLIT = 2000


class Split(NamedTuple):
    """Training rows with given and true labels, and test rows with true ones."""

    X: FloatArray
    given: Labels
    truth: Labels
    X_test: FloatArray
    y_test: Labels


def available() -> list[str]:
    """Sets that can be loaded; says what is missing."""
    data = DataFolder.given(None)
    missing = data.missing(f"{name}.npz" for name in FROM_FOLDER)
    if missing is not None:
        print(f"left out: {missing}")
    return [name for name in SETS if name not in FROM_FOLDER or data.has(f"{name}.npz")]


def load(name: str, data: DataFolder | None = None) -> tuple[FloatArray, Labels]:
    """Return rows and labels from 0; the two-class version where there is one."""
    shipped = {"wdbc": load_breast_cancer, "wine": load_wine, "digits": load_digits}
    if name in shipped:
        X, y = shipped[name](return_X_y=True)
        return (X[:600], y[:600]) if name == "digits" else (X, y)
    folder = data or DataFolder.given(None)
    if (missing := folder.missing([f"{name}.npz"])) is not None:
        raise FileNotFoundError(missing)
    # Class names, which are not read, are Python objects in some of the files.
    with np.load(folder.path / f"{name}.npz", allow_pickle=True) as file:
        return file["X"].astype(np.float64), file["y_bin"].astype(int)


def spoilt(y: Labels, noise: str, p: float, rng: np.random.Generator) -> Labels:
    """Return labels of which some are wrong.

    "exact": round(p·T) rows get another label. "paper": round(p·T) rows drawn with replacement do.
    "one class": round(p·T1) of the T1 rows of class 1 get the label 0.
    """
    y, n_classes = y.copy(), len(np.unique(y))
    if noise == "one class":
        members = np.flatnonzero(y == 1)
        y[rng.choice(members, round(p * len(members)), replace=False)] = 0
        return y
    count = round(p * len(y))
    rows = np.unique(rng.choice(len(y), count, replace=noise == "paper"))
    y[rows] = (y[rows] + rng.integers(1, n_classes, len(rows))) % n_classes
    return y


def split(
    name: str, noise: str, p: float, repetition: int, data: DataFolder | None = None
) -> Split:
    """Split 3:1 within classes, and spoil the training labels."""
    X, y = load(name, data)
    X, X_test, truth, y_test = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=_FIRST_SPLIT + repetition
    )
    given = spoilt(truth, noise, p, np.random.default_rng(10_000 + _FIRST_SPLIT + repetition))
    return Split(X, given, truth, X_test, y_test)
