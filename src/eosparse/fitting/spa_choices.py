"""Choices of SPA on held-out rows: the number of boxes, the temperature and alpha."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from eosparse.core import FloatArray, IntArray
from eosparse.fitting.folds import assign_folds, split_by_fold
from eosparse.fitting.spa_fit import (
    FittedBoxes,
    LabelledTable,
    SPASettings,
    fit_boxes,
    fit_plain_labels,
)
from eosparse.inference import compute_mean_auc, estimate_label_noise

# What "auto" compares: numbers of boxes, and temperatures in units of the mean squared distance.
# The first of each is preferred.
_BOXES = (64, 32, 16, 8)
_TEMPERATURES = (1.0, 0.5, 2.0, 4.0)
# Fewer rows per box say little about its labels.
_ROWS_PER_BOX = 4
# Settings are chosen on about this many rows, where an AUC has a standard error of about 0.01.
_MOST_ROWS = 3000
# Their spread is the standard error by which settings are compared.
_FOLDS = 5
# Given the boxes, weights are iterated until they settle, which takes them farther than the two
# passes around a learner. A larger alpha makes up for it.
_CONTRAST = 2.0


@dataclass(frozen=True)
class SPAChoice:
    """Settings, alpha and noise rate; the rate is NaN unless alpha was chosen."""

    settings: SPASettings
    alpha: float
    noise_rate: float


def choose_settings(
    table: LabelledTable,
    settings: SPASettings,
    alpha: float | Literal["auto"],
    random_state: np.random.RandomState,
    *,
    chooses_boxes: bool,
    chooses_temperature: bool,
) -> SPAChoice:
    """Choose the settings and the alpha that are left open, on held-out rows.

    Without two distinct rows of a class no row can be held out: the settings stay as they are, and
    alpha "auto" is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> table = LabelledTable(X / 20, np.asarray, (X[:, 0] > 19).astype(int), np.ones(40), 2)
    >>> base = SPASettings(8, 1.0, 0.1, None, n_init=1, tol=1e-9, max_iter=50)
    >>> choice = choose_settings(
    ...     table,
    ...     base,
    ...     1.5,
    ...     np.random.RandomState(0),
    ...     chooses_boxes=True,
    ...     chooses_temperature=False,
    ... )
    >>> choice.settings.n_boxes, choice.alpha
    (10, 1.5)
    """
    given = np.inf if alpha == "auto" else float(alpha)
    if not (chooses_boxes or chooses_temperature or alpha == "auto"):
        return SPAChoice(settings, given, np.nan)
    sample = table.thin(_MOST_ROWS)
    # By the rows as they were given: working coordinates may be rotated.
    folds = assign_folds(sample.raw, sample.classes, sample.prior, _FOLDS, random_state)
    if folds.max() < 1:
        return SPAChoice(settings, given, np.nan)
    n_distinct = len(np.unique(sample.values, axis=0))
    candidates = list_candidates(
        settings, n_distinct, chooses_boxes=chooses_boxes, chooses_temperature=chooses_temperature
    )
    settings, held_out = _compare_candidates(sample, candidates, folds, random_state)
    if alpha != "auto":
        return SPAChoice(settings, given, np.nan)
    noise = estimate_label_noise(held_out, sample.classes, sample.prior * (folds >= 0))
    return SPAChoice(settings, _CONTRAST * noise.cautious_gap, noise.rate)


def list_candidates(
    base: SPASettings, n_rows: int, *, chooses_boxes: bool, chooses_temperature: bool
) -> list[SPASettings]:
    """Return the settings among which "auto" chooses, the preferred one first.

    Examples
    --------
    >>> base = SPASettings(8, 1.0, 0.1, None, n_init=1, tol=1e-9, max_iter=500)
    >>> candidates = list_candidates(base, 100, chooses_boxes=True, chooses_temperature=False)
    >>> [settings.n_boxes for settings in candidates]
    [25, 16, 8]
    """
    most = max(n_rows // _ROWS_PER_BOX, 2)
    boxes = {min(k, most): None for k in _BOXES} if chooses_boxes else {base.n_boxes: None}
    temperatures = _TEMPERATURES if chooses_temperature else (base.temperature,)
    return [
        replace(base, n_boxes=k, temperature=temperature)
        for k, temperature in product(boxes, temperatures)
    ]


def _compare_candidates(
    table: LabelledTable,
    candidates: list[SPASettings],
    folds: IntArray,
    random_state: np.random.RandomState,
) -> tuple[SPASettings, FloatArray]:
    """Return the settings whose held-out probabilities rank the labels best, and those.

    Wrong labels lower the AUC of every candidate in the same proportion, so on average the order is
    the same as on right labels. They also add noise: the first candidate is left only for one that
    is better by more than the standard error over the folds.
    """
    held_out = [np.zeros((len(table.raw), table.n_classes)) for _ in candidates]
    areas = []
    for train, test in split_by_fold(folds):
        part, rest = table.take(train), table.take(test)
        boxes: dict[SPASettings, FittedBoxes] = {}
        for settings, probabilities in zip(candidates, held_out, strict=True):
            unit = replace(settings, temperature=1.0)
            if unit not in boxes:
                boxes[unit] = fit_boxes(part, unit, random_state)
            softness = boxes[unit].softness * settings.temperature
            fitted = replace(boxes[unit], softness=softness)
            labels = fit_plain_labels(part, part.affiliate(fitted))
            probabilities[test] = fitted.affiliations(rest.values) @ labels
        areas.append([compute_mean_auc(held[test], rest.classes, rest.prior) for held in held_out])
    best = _find_best(np.array(areas))
    return candidates[best], held_out[best]


def _find_best(areas: FloatArray) -> int:
    """Return the candidate (column) with the highest mean, if it is clearly above the first."""
    known = areas[~np.isnan(areas).any(axis=1)]  # a fold may hold one class only
    if len(known) < 2:
        return 0
    best = int(np.argmax(known.mean(axis=0)))
    gain = known[:, best] - known[:, 0]
    return best if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)) else 0
