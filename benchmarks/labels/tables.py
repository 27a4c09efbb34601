"""Labelled data, and ways to spoil the labels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

FROM_FOLDER = ("pollen2014", "longevity", "heart_failure", "neurons")
SETS = ("wdbc", *FROM_FOLDER, "wine", "digits")
# Splits with smaller numbers served to choose defaults; the figures are printed on others.
_FIRST_SPLIT = 2000


class Split(NamedTuple):
    """Training rows with given and true labels, and test rows with true ones."""

    X: np.ndarray
    given: np.ndarray
    truth: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def available() -> list[str]:
    """Sets that can be loaded; says what is missing."""
    folder = os.environ.get("EOSPARSE_DATA")
    missing = [s for s in FROM_FOLDER if not folder or not (Path(folder) / f"{s}.npz").exists()]
    if missing:
        print(f"not found, left out: {', '.join(missing)} (put the .npz files in EOSPARSE_DATA)")
    return [name for name in SETS if name not in missing]


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels from 0; the two-class version where there is one."""
    if name == "wdbc":
        return load_breast_cancer(return_X_y=True)
    if name == "wine":
        return load_wine(return_X_y=True)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X[:600], y[:600]
    with np.load(Path(os.environ["EOSPARSE_DATA"]) / f"{name}.npz", allow_pickle=True) as file:
        return file["X"].astype(np.float64), file["y_bin"].astype(int)


def spoilt(y: np.ndarray, noise: str, p: float, rng: np.random.Generator) -> np.ndarray:
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


def split(name: str, noise: str, p: float, repetition: int) -> Split:
    """Split 3:1 within classes, and spoil the training labels."""
    X, y = load(name)
    X, X_test, truth, y_test = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=_FIRST_SPLIT + repetition
    )
    given = spoilt(truth, noise, p, np.random.default_rng(10_000 + _FIRST_SPLIT + repetition))
    return Split(X, given, truth, X_test, y_test)
