"""Which boxes SPA uses: coverings of the rows, each with a share, and alpha.

Numbers of boxes, feature weights, units and temperatures are chosen together, on the labels as they
are. Boxes are fitted without labels, so that held-out labels cost no further fit. Two things speak
for a covering:

- **What it says about held-out labels**: the log-likelihood that it gains over the shares of the
  classes. Its probabilities may be made sharper first, as a higher temperature would have to be
  forgiven otherwise; overconfidence is not forgiven.
- **What its columns say about each other**, without labels. Clusters show in several columns at
  once, so that a column is explained by a box that was found without it. Boxes around noise
  explain the columns they were cut from, and no other.

With many wrong labels, the first hardly tells coverings apart, and the best of many is the
luckiest. So no single one is taken: coverings, and the temperatures of each, get shares by the
closed form of the paper. The prior is the second, less where there are many boxes, whose labels
are the votes of few rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from scipy.special import logsumexp, softmax

from eosparse.core import FloatArray, IntArray, optimal_weights
from eosparse.fitting.folds import assign_folds, split_by_fold
from eosparse.fitting.spa_coverings import Covering, Coverings
from eosparse.fitting.spa_fit import (
    FittedBoxes,
    LabelledTable,
    SPASettings,
    Units,
    affiliate,
    bisect_by,
    find_starts,
    fit_boxes,
)
from eosparse.inference import estimate_label_noise
from eosparse.models import Boxes, smooth_labels, sum_by_class

# What "auto" compares. Numbers of boxes fall, because the columns of many boxes are a start for
# fewer; regularisations of the feature weights are in units of the mean variance of a column.
BOXES = (64, 32, 16, 12, 8, 6, 4, 3, 2)
EPSILONS = (None, 0.4, 0.2, 0.1)
TEMPERATURES = (1.0, 0.5, 0.25, 2.0, 4.0)
# Fewer rows per box say little about its labels.
_ROWS_PER_BOX = 4
# Coverings are chosen on about this many rows, where an AUC has a standard error of about 0.01.
_MOST_ROWS = 3000
_FOLDS = 5
# Probabilities may be raised to these powers before they are compared with labels.
_SHARPNESS = (1.0, 1.5, 2.5, 4.0, 6.0, 10.0)
# Alpha of the shares: a log-likelihood that is larger by this gives e times the share.
_ALPHA = 2.0
# Of the number of boxes in the prior: half a unit for every e-fold.
_POWER_OF_BOXES = 0.5
# Columns of any boxes explain each other by chance to about this part.
_LEAST_STRUCTURE = 0.01
# Coverings beyond the best ones, or with shares below, change predictions by next to nothing.
_MOST_COVERINGS = 32
_SMALLEST_SHARE = 1e-3
# How well columns explain each other is measured on no more than this many distances.
_MOST_DISTANCES = 2**20
# Given the boxes, weights are iterated until they settle, which takes them farther than the two
# passes around a learner. A larger alpha makes up for it. Towards half of the labels being wrong it
# would fall to zero, where weights follow whichever label a box has by chance.
_CONTRAST, _SMALLEST_ALPHA = 2.0, 1.6


@dataclass(frozen=True)
class SPAChoice:
    """Coverings, alpha and noise rate; the rate is NaN unless alpha was chosen."""

    coverings: Coverings
    alpha: float
    noise_rate: float


@dataclass(frozen=True)
class _Candidate:
    """A covering, its held-out probabilities, and the logarithm of its share up to a constant."""

    covering: Covering
    held_out: FloatArray
    log_share: float


def choose_coverings(
    tables: Mapping[Units, LabelledTable],
    candidates: list[SPASettings],
    alpha: float | Literal["auto"],
    random_state: np.random.RandomState,
) -> SPAChoice:
    """Fit the candidates, give them shares on held-out rows, and choose alpha.

    Without two distinct rows of a class no row can be held out: the first candidate is taken, and
    alpha "auto" is infinite.

    Parameters
    ----------
    tables : mapping
        The rows, in the units of each candidate.
    candidates : list of SPASettings
        As from `list_candidates`; one more alone is taken as it is.
    alpha : float or "auto"
        A given alpha stays.
    random_state : RandomState
        For folds and random starts.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> table = LabelledTable(X / 20, np.asarray, (X[:, 0] > 19).astype(int), np.ones(40), 2)
    >>> base = SPASettings(8, 1.0, 0.0, None, n_init=1, tol=1e-9, max_iter=50)
    >>> candidates = list_candidates(base, 40, boxes=(2, 8))
    >>> choice = choose_coverings({"equal": table}, candidates, 1.5, np.random.RandomState(0))
    >>> [covering.n_boxes for covering in choice.coverings.parts], choice.alpha
    ([2, 8], 1.5)
    """
    given = np.inf if alpha == "auto" else float(alpha)
    samples = {units: table.thin(_MOST_ROWS) for units, table in tables.items()}
    sample = next(iter(samples.values()))
    # By the rows as they were given: working coordinates may be rotated.
    folds = assign_folds(sample.raw, sample.classes, sample.prior, _FOLDS, random_state)
    if folds.max() < 1 or (len(candidates) == 1 and alpha != "auto"):
        first = candidates[0]
        part = samples[first.units]
        fitted = fit_boxes(part, first, find_starts(part, first, random_state))
        covering = Covering(first, part.columns, fitted)
        chosen, held_out = Coverings((covering,)), None
    else:
        chosen, held_out = _share(_judge_all(samples, candidates, folds, random_state))
    coverings = _extend(chosen, tables, samples, candidates[0].epsilon_label)
    if alpha != "auto" or held_out is None:
        return SPAChoice(coverings, given, np.nan)
    noise = estimate_label_noise(held_out, sample.classes, sample.prior * (folds >= 0))
    chosen_alpha = max(_CONTRAST * noise.cautious_gap, _SMALLEST_ALPHA)
    return SPAChoice(coverings, chosen_alpha, noise.rate)


def list_candidates(
    base: SPASettings,
    n_rows: int,
    *,
    boxes: Iterable[int] = (),
    epsilons: Iterable[float | None] = (),
    temperatures: Iterable[float] = (),
    units: Iterable[Units] = (),
) -> list[SPASettings]:
    """Return the settings among which "auto" chooses; those of `base` where nothing is listed.

    Examples
    --------
    >>> base = SPASettings(8, 1.0, 0.0, None, n_init=1, tol=1e-9, max_iter=500)
    >>> candidates = list_candidates(base, 100, boxes=BOXES)
    >>> [settings.n_boxes for settings in candidates]
    [25, 16, 12, 8, 6, 4, 3, 2]
    """
    most = max(n_rows // _ROWS_PER_BOX, 2)
    # As keys, which keeps the order: limits make some numbers of boxes the same.
    sizes = {min(k, most): None for k in boxes} or {base.n_boxes: None}
    return [
        replace(base, units=unit, epsilon_features=epsilon, n_boxes=k, temperature=temperature)
        for unit, epsilon, k, temperature in product(
            tuple(units) or (base.units,),
            tuple(epsilons) or (base.epsilon_features,),
            sizes,
            tuple(temperatures) or (base.temperature,),
        )
    ]


def _judge_all(
    samples: Mapping[Units, LabelledTable],
    candidates: list[SPASettings],
    folds: IntArray,
    random_state: np.random.RandomState,
) -> list[_Candidate]:
    """Fit the boxes of all candidates; those of different temperatures are the same."""
    judged: list[_Candidate] = []
    starts: dict[tuple[Units, int, bool], list[Boxes]] = {}
    metrics: dict[tuple[Units, float | None], FloatArray] = {}
    n_weighed = len({settings.epsilon_features for settings in candidates}) - 1
    families: dict[SPASettings, list[float]] = {}
    for settings in candidates:
        unit = replace(settings, temperature=1.0, epsilon_label=0.0)
        families.setdefault(unit, []).append(settings.temperature)
    for unit, temperatures in families.items():
        table, kind = samples[unit.units], (unit.units, unit.epsilon_features)
        learns = unit.epsilon_features is not None
        key = unit.units, unit.n_boxes, learns
        if key not in starts:
            starts[key] = find_starts(table, unit, random_state)
        finer = [bisect_by(table, metrics[kind], unit.n_boxes)] if kind in metrics else []
        fitted = fit_boxes(table, unit, starts[key] + finer)
        if learns:
            metrics[kind] = fitted.boxes.feature_weights
        structure = max(measure_structure(table, fitted), _LEAST_STRUCTURE)
        # Equal weights are one candidate beside several that choose columns: they count alike.
        count = n_weighed if n_weighed > 0 and not learns else 1
        prior = float(np.log(structure * count) - _POWER_OF_BOXES * np.log(unit.n_boxes))
        judged.append(_judge(table, unit, fitted, temperatures, folds, prior))
    return judged


def _judge(
    table: LabelledTable,
    settings: SPASettings,
    fitted: FittedBoxes,
    temperatures: list[float],
    folds: IntArray,
    prior: float,
) -> _Candidate:
    """Return boxes at temperatures with shares, by what each gains on held-out labels."""
    distances = fitted.boxes.distances(table.values)
    held_out = [
        predict_held_out(table, affiliate(distances, temperature * fitted.scatter), folds)
        for temperature in temperatures
    ]
    gains = np.array([measure_gain(table, part, folds) for part in held_out]) / _ALPHA
    shares = softmax(gains)
    mixed = replace(fitted, temperatures=dict(zip(temperatures, shares.tolist(), strict=True)))
    return _Candidate(
        Covering(settings, table.columns, mixed),
        np.tensordot(shares, np.stack(held_out), axes=1),
        float(logsumexp(gains) - np.log(len(gains))) + prior,
    )


def predict_held_out(table: LabelledTable, affiliations: FloatArray, folds: IntArray) -> FloatArray:
    """Return class probabilities of rows from the labels of the other folds.

    Examples
    --------
    >>> import numpy as np
    >>> table = LabelledTable(np.eye(2), np.asarray, np.array([0, 1, 0, 1]), np.ones(4), 2)
    >>> affiliations = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> predict_held_out(table, affiliations, np.array([0, 0, 1, 1])).round(2).tolist()
    [[0.95, 0.05], [0.05, 0.95], [0.95, 0.05], [0.05, 0.95]]
    """
    weighted = affiliations * table.prior[:, None]
    probabilities = np.tile(table.class_shares, (len(folds), 1))
    for train, test in split_by_fold(folds):
        counts = sum_by_class(weighted[train], table.classes[train], table.n_classes).T
        pseudo_rows = table.pseudo_mass * float(table.prior.sum())
        labels = smooth_labels(counts, table.class_shares, pseudo_rows)
        probabilities[test] = affiliations[test] @ labels
    return probabilities


def measure_gain(table: LabelledTable, probabilities: FloatArray, folds: IntArray) -> float:
    """Return the log-likelihood of the labels, less that of the shares of the classes.

    Probabilities that would be better if they were sharper are made so.

    Examples
    --------
    >>> import numpy as np
    >>> table = LabelledTable(np.eye(2), np.asarray, np.array([0, 1]), np.ones(2), 2)
    >>> folds = np.array([0, 1])
    >>> measure_gain(table, np.full((2, 2), 0.5), folds)
    0.0
    >>> round(measure_gain(table, np.array([[0.6, 0.4], [0.4, 0.6]]), folds), 2)
    1.35
    """
    shares = np.log(table.class_shares)
    evidence = np.log(np.maximum(probabilities, 1e-300)) - shares
    own = np.arange(len(evidence)), table.classes
    held_out = table.prior * (folds >= 0)
    return max(
        float(held_out @ (power * evidence[own] - logsumexp(power * evidence + shares, axis=1)))
        for power in _SHARPNESS
    )


def measure_structure(table: LabelledTable, fitted: FittedBoxes) -> float:
    """Return which part of the variance of columns is explained by boxes found without them.

    Each column is predicted from the affiliations that the other columns give, with the penalty of
    generalised cross-validation for the number of boxes. Columns count by their feature weights.
    The result is one if columns were rotated, since the coordinates then are no columns.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    >>> table = LabelledTable(X, np.asarray, np.repeat([0, 1], 20), np.ones(40), 2)
    >>> settings = SPASettings(2, 1.0, 0.0, None, n_init=1, tol=1e-9, max_iter=50)
    >>> fitted = fit_boxes(table, settings, find_starts(table, settings))
    >>> round(measure_structure(table, fitted), 2)
    1.0
    """
    boxes = fitted.boxes
    if len(boxes.feature_weights) != table.n_features:
        return 1.0
    n_boxes, mass = len(boxes.centers), float(table.prior.sum())
    sample = table.thin(max(_MOST_DISTANCES // (n_boxes * table.n_features), 100))
    values, share = sample.values, sample.prior / sample.prior.sum()
    distances = boxes.distances(values)
    softness = max(fitted.scatter, 1e-300)
    explained = total = 0.0
    for column in np.flatnonzero(boxes.feature_weights > 1e-3 * boxes.feature_weights.max()):
        own, centers = values[:, column], boxes.centers[:, column]
        weight = float(boxes.feature_weights[column])
        others = distances - weight * np.square(own[:, None] - centers)
        predicted = softmax(-others / softness, axis=1) @ centers
        variance = float(share @ np.square(own - share @ own))
        if variance > 0:
            total += weight
            explained += weight * (1.0 - float(share @ np.square(own - predicted)) / variance)
    penalty = (mass / max(mass - n_boxes, 1.0)) ** 2
    return 1.0 - (1.0 - explained / total) * penalty if total > 0 else 0.0


def _share(judged: list[_Candidate]) -> tuple[Coverings, FloatArray]:
    """Return the coverings that count, by the closed form, and their held-out probabilities."""
    shares = optimal_weights([-candidate.log_share for candidate in judged], 1.0).weights
    order = np.argsort(-shares, kind="stable")[:_MOST_COVERINGS]
    order = order[shares[order] >= _SMALLEST_SHARE * shares[order[0]]]
    kept = shares[order] / shares[order].sum()
    parts = [
        replace(judged[i].covering, share=float(share))
        for i, share in zip(order, kept, strict=True)
    ]
    held_out = sum(share * judged[i].held_out for i, share in zip(order, kept, strict=True))
    return Coverings(tuple(parts)), np.asarray(held_out)


def _extend(
    chosen: Coverings,
    tables: Mapping[Units, LabelledTable],
    samples: Mapping[Units, LabelledTable],
    epsilon_label: float,
) -> Coverings:
    """Fit coverings of a sample on to all rows, and to labels if these are to count."""
    if all(tables[units] is samples[units] for units in tables) and epsilon_label == 0:
        return chosen
    return Coverings(
        tuple(part.refine(tables[part.settings.units], epsilon_label) for part in chosen.parts)
    )
