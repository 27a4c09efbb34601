"""Labelled data, and ways to make some of the labels wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from eosparse.comparison.data_folder import DataFolder
from eosparse.core import FloatArray

Labels = NDArray[np.int_]
FROM_FOLDER = ("pollen2014", "longevity", "heart_failure", "neurons")
SETS = ("wdbc", *FROM_FOLDER, "wine", "digits")
# Our defaults were chosen on splits with smaller numbers.
_FIRST_SPLIT = 2000


class Split(NamedTuple):
    """Training rows with given and true labels, and test rows with true labels."""

    X: FloatArray
    given: Labels
    truth: Labels
    X_test: FloatArray
    y_test: Labels


def list_available() -> list[str]:
    """Return the sets that can be loaded, and print what is missing for the others."""
    data = DataFolder.locate(None)
    missing = data.explain_missing(f"{name}.npz" for name in FROM_FOLDER)
    if missing is not None:
        print(f"Left out: {missing}")
    return [name for name in SETS if name not in FROM_FOLDER or data.has(f"{name}.npz")]


def load_set(name: str, data: DataFolder | None = None) -> tuple[FloatArray, Labels]:
    """Return rows and labels from 0 up; two classes if the set has such a version.

    Examples
    --------
    >>> X, y = load_set("wine")
    >>> X.shape, sorted(set(y.tolist()))
    ((178, 13), [0, 1, 2])
    """
    shipped = {"wdbc": load_breast_cancer, "wine": load_wine, "digits": load_digits}
    if name in shipped:
        X, y = shipped[name](return_X_y=True)
        # A third of the digits: ten classes make many methods slow.
        return (X[:600], y[:600]) if name == "digits" else (X, y)
    folder = data or DataFolder.locate(None)
    if (missing := folder.explain_missing([f"{name}.npz"])) is not None:
        raise FileNotFoundError(missing)
    # Class names of some files are Python objects, which are not read: pickles could run code.
    with np.load(folder.path / f"{name}.npz") as file:
        return file["X"].astype(np.float64), file["y_bin"].astype(int)


def corrupt_labels(
    y: Labels, noise: str, p: float, rng: np.random.Generator, X: FloatArray | None = None
) -> Labels:
    """Return a copy of the labels, some of them wrong.

    Parameters
    ----------
    y : array of int
        Right labels.
    noise : {"exact", "paper", "one class", "pairwise", "near others"}
        "exact": round(p·T) rows get another label. "paper": round(p·T) rows drawn with replacement
        do. "one class": round(p·T1) of the T1 rows of class 1 get the label 0. "pairwise": as
        "exact", but every class is taken for the next one only. "near others": as "exact", but the
        nearer a row is to rows of another class, the likelier it gets the label of that class.
    p : float
        How many, from 0 to 1.
    rng : Generator
        Draws the rows.
    X : array of shape (n_rows, n_columns), optional
        The rows; only "near others" needs them.

    Examples
    --------
    >>> y = np.array([0, 1] * 5)
    >>> int((corrupt_labels(y, "exact", 0.3, np.random.default_rng(0)) != y).sum())
    3
    """
    y, n_classes = y.copy(), len(np.unique(y))
    if noise == "one class":
        members = np.flatnonzero(y == 1)
        y[rng.choice(members, round(p * len(members)), replace=False)] = 0
        return y
    count = round(p * len(y))
    if noise == "near others" and X is not None:
        chance, other = measure_nearness(X, y)
        rows = rng.choice(len(y), count, replace=False, p=chance)
        y[rows] = other[rows]
        return y
    if noise == "pairwise":
        rows = rng.choice(len(y), count, replace=False)
        y[rows] = (y[rows] + 1) % n_classes
        return y
    rows = np.unique(rng.choice(len(y), count, replace=noise == "paper"))
    y[rows] = (y[rows] + rng.integers(1, n_classes, len(rows))) % n_classes
    return y


def measure_nearness(X: FloatArray, y: Labels) -> tuple[FloatArray, Labels]:
    """Return how likely each row is taken for another class, and for which: that of nearby rows.

    The chance is proportional to the fourth power of d/(d + e), where d and e are the distances, in
    standardised columns, to the fifth nearest row of the own class and of the other class.

    Examples
    --------
    >>> X = np.array([[0.0]] * 6 + [[1.0]] * 6 + [[0.9]])
    >>> chance, other = measure_nearness(X, np.repeat([0, 1, 0], [6, 6, 1]))
    >>> int(chance.argmax()), int(other[12])
    (12, 1)
    """
    Z = StandardScaler().fit_transform(X)
    squares = (Z**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0.0))
    np.fill_diagonal(distances, np.inf)
    classes = np.unique(y)
    fifth = np.column_stack(
        [np.partition(distances[:, y == label], 4, axis=1)[:, 4] for label in classes]
    )
    rows, own = np.arange(len(y)), np.searchsorted(classes, y)
    mine = fifth[rows, own]
    fifth[rows, own] = np.inf
    nearness = (mine / (mine + fifth.min(axis=1) + 1e-12)) ** 4 + 1e-6
    return nearness / nearness.sum(), classes[fifth.argmin(axis=1)]


def split_set(
    name: str, noise: str, p: float, repetition: int, data: DataFolder | None = None
) -> Split:
    """Split a set 3:1 within classes, and make some of the training labels wrong.

    Parameters
    ----------
    name : str
        One of `SETS`.
    noise, p : str, float
        See `corrupt_labels`.
    repetition : int
        Which split.
    data : DataFolder, optional
        Where data that are not shipped are.

    Examples
    --------
    >>> split = split_set("wine", "exact", 0.2, 0)
    >>> len(split.X), len(split.X_test), int((split.given != split.truth).sum())
    (133, 45, 27)
    """
    X, y = load_set(name, data)
    X, X_test, truth, y_test = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=_FIRST_SPLIT + repetition
    )
    given = corrupt_labels(
        truth, noise, p, np.random.default_rng(10_000 + _FIRST_SPLIT + repetition), X
    )
    return Split(X, given, truth, X_test, y_test)
