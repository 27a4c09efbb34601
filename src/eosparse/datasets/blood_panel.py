"""A synthetic blood panel with typical mistakes.

The table contains no person's data. It is drawn from a fixed seed, with means, spreads and
correlations of the size that textbooks give for healthy adults. Some rows then get the mistakes of
clinical tables: a unit not converted, two columns swapped, a misplaced decimal point, values that
are plausible on their own but not together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eosparse.core import FloatArray

COLUMNS = (
    "haemoglobin_g_dl",
    "haematocrit_pct",
    "red_cells_10e12_l",
    "glucose_mg_dl",
    "creatinine_mg_dl",
    "urea_mg_dl",
    "sodium_mmol_l",
    "potassium_mmol_l",
)
_MEAN = np.array([14.2, 42.6, 4.75, 92.0, 0.92, 31.0, 140.0, 4.2])
_SPREAD = np.array([1.1, 3.1, 0.36, 8.5, 0.15, 7.5, 2.1, 0.32])
_CORRELATION = {
    ("haemoglobin_g_dl", "haematocrit_pct"): 0.95,
    ("haemoglobin_g_dl", "red_cells_10e12_l"): 0.82,
    ("haematocrit_pct", "red_cells_10e12_l"): 0.86,
    ("creatinine_mg_dl", "urea_mg_dl"): 0.55,
    ("haemoglobin_g_dl", "creatinine_mg_dl"): 0.30,
    ("haematocrit_pct", "creatinine_mg_dl"): 0.28,
    ("red_cells_10e12_l", "creatinine_mg_dl"): 0.25,
    ("sodium_mmol_l", "potassium_mmol_l"): -0.20,
    ("glucose_mg_dl", "urea_mg_dl"): 0.15,
}


class BloodPanel(NamedTuple):
    """A table, its column names, and the mistake in each row.

    Attributes
    ----------
    X : ndarray of shape (400, 8)
        The table.
    feature_names : tuple of str
        Names of the columns, with their units.
    mistakes : tuple of str
        The mistake in each row; an empty string if there is none.

    Examples
    --------
    >>> from eosparse.datasets import load_blood_panel
    >>> panel = load_blood_panel()
    >>> panel.feature_names[0], panel.mistakes[133]
    ('haemoglobin_g_dl', 'potassium: decimal point slipped')
    """

    X: FloatArray
    feature_names: tuple[str, ...]
    mistakes: tuple[str, ...]


def load_blood_panel() -> BloodPanel:
    """Load 400 synthetic blood panels, 16 of them with a mistake.

    Returns
    -------
    BloodPanel
        The table, its column names, and the mistake in each row.

    Examples
    --------
    >>> from eosparse.datasets import load_blood_panel
    >>> panel = load_blood_panel()
    >>> panel.X.shape, sum(mistake != "" for mistake in panel.mistakes)
    ((400, 8), 16)
    """
    rng = np.random.default_rng(20220222)
    correlation = np.eye(len(COLUMNS))
    for (one, other), value in _CORRELATION.items():
        i, j = COLUMNS.index(one), COLUMNS.index(other)
        correlation[i, j] = correlation[j, i] = value
    drawn = rng.multivariate_normal(np.zeros(len(COLUMNS)), correlation, size=400)
    X = _MEAN + _SPREAD * drawn
    mistakes = [""] * len(X)
    rows = rng.choice(len(X), size=16, replace=False)
    for row, (name, make_mistake) in zip(rows, _MISTAKES * 4, strict=True):
        make_mistake(X[row])
        mistakes[row] = name
    return BloodPanel(np.round(X, 2), COLUMNS, tuple(mistakes))


def _convert_glucose(row: FloatArray) -> None:
    row[3] /= 18.016  # mg/dl to mmol/l


def _swap_columns(row: FloatArray) -> None:
    row[0], row[4] = row[4], row[0]


def _shift_decimal_point(row: FloatArray) -> None:
    row[7] *= 10


def _exchange_haematocrit(row: FloatArray) -> None:
    # Another person's haematocrit: plausible on its own, impossible with this haemoglobin.
    row[1] = _MEAN[1] - 1.6 * (row[1] - _MEAN[1]) - np.copysign(4.0, row[1] - _MEAN[1])


_MISTAKES = [
    ("glucose in mmol/l", _convert_glucose),
    ("haemoglobin and creatinine swapped", _swap_columns),
    ("potassium: decimal point slipped", _shift_decimal_point),
    ("haematocrit of another sample", _exchange_haematocrit),
]
