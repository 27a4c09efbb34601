"""From held-out class probabilities to a statement about the labels.

Wrong labels and classes that overlap both make a learner disagree with the labels it is given. What
tells them apart is where it disagrees: overlapping classes where the learner is unsure, wrong
labels everywhere alike. So the noise rate is read from the half of the rows of each predicted class
of which the learner is most confident, and the overlap from what the other half has in excess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression, minimize_scalar

from eosparse.core import BoolArray, FloatArray, IntArray, weighted_quantiles

# A noise rate beyond these cannot be told from them: no row was wrong, or labels say nothing.
_SMALLEST_RATE, _LARGEST_RATE = 0.002, 0.45
_LARGEST_OVERLAP = 0.45
# Rows that draw the noise of a class towards the mean.
_PSEUDO_ROWS = 5.0


@dataclass(frozen=True)
class LabelNoise:
    """What held-out probabilities say about the labels.

    Attributes
    ----------
    rate : float
        Estimated share of wrong labels.
    class_rates : array of shape (n_classes,)
        The same among the rows given each class.
    matrix : array of shape (n_classes, n_classes)
        Chance that a row of each class (line) is given each label (column).
    overlap : float
        Error rate of the learner on the half of the rows it is less sure of, freed of the noise,
        less its standard error.
    """

    rate: float
    class_rates: FloatArray
    matrix: FloatArray
    overlap: float

    @property
    def gap(self) -> float:
        """The α that suits this noise: the gap between the errors of right and wrong labels.

        Where labels are wrong at a rate ρ, the errors -log P(y|x) of a right and of a wrong label
        of two classes differ by log((1-ρ)/ρ) at most. With α of that size a wrong label starts
        with 1/e of the weight of a right one, and falls further as the fit improves. Without noise
        α grows beyond bounds: ordinary learning.
        """
        rate = float(np.clip(self.rate, _SMALLEST_RATE, _LARGEST_RATE))
        return float(np.log((1 - rate) / rate))

    @property
    def cautious_gap(self) -> float:
        """The same, enlarged where classes are many or overlap.

        Wrong labels spread over M - 1 classes, so that each is the rarer, and the gap wider by
        log(M - 1); and a row between two classes is not wrong.
        """
        n_classes = len(self.class_rates)
        overlap = min(self.overlap * 0.5 * n_classes / (n_classes - 1), _LARGEST_OVERLAP)
        return (self.gap + float(np.log(n_classes - 1))) / (1 - 2 * overlap)


def estimate_label_noise(
    probabilities: FloatArray, classes: IntArray, prior: FloatArray
) -> LabelNoise:
    """Estimate the share of wrong labels from held-out probabilities.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Class probabilities of each row by a learner that did not see its label.
    classes : array of shape (n_samples,)
        Given class of each row, as a number from 0.
    prior : array of shape (n_samples,)
        Prior weights.

    Returns
    -------
    LabelNoise
    """
    n_classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    is_wrong = predicted != classes
    is_sure = _surer_half(probabilities.max(axis=1), predicted, prior)
    rate, error = _share(is_wrong, prior * is_sure)
    rest, rest_error = _share(is_wrong, prior * ~is_sure)
    excess = max(rest - rate - np.hypot(error, rest_error), 0.0)
    scale = max(1 - rate * n_classes / (n_classes - 1), 0.05)
    given = (classes == c for c in range(n_classes))
    rates = [_share(is_wrong, prior * (is_sure & mine), otherwise=rate)[0] for mine in given]
    matrix = _noise_matrix(predicted, classes, prior * is_sure, rate, n_classes)
    return LabelNoise(rate, np.array(rates), matrix, min(excess / scale, 1.0))


def _surer_half(confidence: FloatArray, predicted: IntArray, prior: FloatArray) -> BoolArray:
    """Mark the rows of each predicted class that are predicted with more confidence than most.

    Each class has its own half: where only one class is mislabelled, the learner is less sure of
    all its rows.
    """
    is_sure = np.zeros(len(predicted), dtype=np.bool_)
    for label in np.unique(predicted[prior > 0]):
        mine = predicted == label
        middle = weighted_quantiles(confidence[mine], prior[mine], (0.5,))
        is_sure[mine] = confidence[mine] >= middle
    return is_sure


def _noise_matrix(
    predicted: IntArray, classes: IntArray, mass: FloatArray, rate: float, n_classes: int
) -> FloatArray:
    """Shares of the given labels among the rows predicted as each class, drawn to the mean rate."""
    even = _even_noise(rate, n_classes)
    counts = np.bincount(predicted * n_classes + classes, mass, n_classes**2)
    filled = counts.reshape(n_classes, n_classes) + _PSEUDO_ROWS * even
    matrix: FloatArray = filled / filled.sum(axis=1, keepdims=True)
    return matrix


def _share(is_wrong: BoolArray, weights: FloatArray, otherwise: float = 0.0) -> tuple[float, float]:
    """Weighted share and its standard error; `otherwise` where no row has weight."""
    total = float(weights.sum())
    if total == 0:
        return otherwise, 0.0
    share = float(weights @ is_wrong) / total
    return share, float(np.sqrt(share * (1 - share) / total))


@dataclass(frozen=True)
class Explained:
    """Given labels explained by classes that overlap and by labels that are wrong.

    A row of class k is given the label j with chance ``N_kj``; which class it is of, the learner
    says, more or less surely than it is right: ``P(j | x) = Σ_k p_k(x)^s N_kj / Σ_k p_k(x)^s``.
    Sharpness s and noise N are those of the largest likelihood. A small s takes disagreement for
    overlap, noise takes it for mistakes; the confident rows tell which.

    Attributes
    ----------
    sharpness : float
        s.
    matrix : array of shape (n_classes, n_classes)
        N: chance that a row of each class (line) is given each label (column).
    chances : array of shape (n_samples,)
        Chance that each label is wrong, by Bayes' rule.
    misfit : float
        Minus the log-likelihood.
    """

    sharpness: float
    matrix: FloatArray
    chances: FloatArray
    misfit: float


def explain_labels(
    probabilities: FloatArray, classes: IntArray, matrix: FloatArray | None = None
) -> Explained:
    """Find sharpness and noise that explain the given labels best.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Class probabilities of each row by a learner that did not see its label.
    classes : array of shape (n_samples,)
        Given class of each row, as a number from 0.
    matrix : array of shape (n_classes, n_classes), optional
        A guess of the noise; a little noise is tried anyway.

    Returns
    -------
    Explained

    Examples
    --------
    >>> import numpy as np
    >>> sure = np.tile([0.99, 0.01], (100, 1))
    >>> labels = np.zeros(100, dtype=int)
    >>> labels[7] = 1
    >>> explained = explain_labels(sure, labels)
    >>> int(explained.chances.argmax()), bool(explained.chances[7] > 0.5)
    (7, True)
    """
    n_classes = probabilities.shape[1]
    guesses = [_even_noise(_FIRST_RATE, n_classes)] + ([] if matrix is None else [matrix])
    logs = np.log(np.clip(probabilities, _SMALLEST_PROBABILITY, 1.0))
    return min((_explained(logs, classes, guess) for guess in guesses), key=lambda e: e.misfit)


_FIRST_RATE = 0.05
_SMALLEST_PROBABILITY = 1e-9
_SHARPNESS_RANGE = (-3.0, 2.5)  # of its logarithm
_MOST_ROUNDS = 60


def _explained(logs: FloatArray, classes: IntArray, matrix: FloatArray) -> Explained:
    """Alternate the sharpness and the noise, each best for the other."""
    rows = np.arange(len(classes))
    for _ in range(_MOST_ROUNDS):

        def misfit(log_sharpness: float, matrix: FloatArray = matrix) -> float:
            joint = _sharpened(logs, float(np.exp(log_sharpness))) * matrix[:, classes].T
            return -float(np.log(np.maximum(joint.sum(axis=1), 1e-300)).sum())

        found = minimize_scalar(misfit, bounds=_SHARPNESS_RANGE, method="bounded")
        joint = _sharpened(logs, float(np.exp(found.x))) * matrix[:, classes].T
        shares = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        before, matrix = matrix, _noise_of_shares(shares, classes)
        if np.abs(matrix - before).max() < 1e-6:
            break
    chances: FloatArray = np.clip(1.0 - shares[rows, classes], 0.0, 1.0)
    return Explained(float(np.exp(found.x)), matrix, chances, float(found.fun))


def _sharpened(logs: FloatArray, sharpness: float) -> FloatArray:
    scaled = sharpness * (logs - logs.max(axis=1, keepdims=True))
    powers = np.exp(scaled)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _noise_of_shares(shares: FloatArray, classes: IntArray) -> FloatArray:
    """Noise matrix from the share of each class in each row, drawn to the mean rate."""
    n_classes = shares.shape[1]
    rate = 1.0 - float(shares[np.arange(len(classes)), classes].mean())
    counts = np.stack([np.bincount(classes, shares[:, k], n_classes) for k in range(n_classes)])
    filled = counts + _PSEUDO_ROWS * _even_noise(rate, n_classes)
    matrix: FloatArray = filled / filled.sum(axis=1, keepdims=True)
    return matrix


def _even_noise(rate: float, n_classes: int) -> FloatArray:
    even = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(even, 1 - rate)
    return even


def rising_with(doubt: FloatArray, chances: FloatArray) -> FloatArray:
    """Make chances rise with the doubt of the model, changing them as little as that needs.

    Examples
    --------
    >>> import numpy as np
    >>> rising_with(np.array([0.9, 0.1, 0.5]), np.array([0.6, 0.0, 0.8])).tolist()
    [0.7, 0.0, 0.7]
    """
    order = np.argsort(doubt, kind="stable")
    risen = np.empty_like(chances)
    risen[order] = isotonic_regression(chances[order]).x
    return risen


def most_likely_wrong(chances: FloatArray, fdr: float) -> BoolArray:
    """Mark the largest set of most likely wrong rows whose expected share of right ones is ≤ fdr.

    Examples
    --------
    >>> import numpy as np
    >>> most_likely_wrong(np.array([0.99, 0.5, 0.95, 0.1]), 0.05).tolist()
    [True, False, True, False]
    """
    order = np.argsort(-chances, kind="stable")
    expected = np.cumsum(1 - chances[order]) / np.arange(1, len(chances) + 1)
    count = int(np.searchsorted(expected, fdr, side="right"))
    marked = np.zeros(len(chances), dtype=np.bool_)
    marked[order[:count]] = True
    return marked
