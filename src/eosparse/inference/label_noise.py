"""From held-out class probabilities to a statement about the labels.

Wrong labels and overlapping classes both make a learner disagree with the labels it is given. They
differ in where it disagrees: with overlapping classes where the learner is unsure, with wrong
labels everywhere alike. So the noise rate is read from the half of the rows of each predicted class
of which the learner is most confident, and the overlap from the excess in the other half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression, minimize_scalar

from eosparse.core import BoolArray, FloatArray, IntArray, weighted_quantiles

# Limits of the noise rate. Below 1 in 500, a few hundred rows cannot distinguish it from zero, and
# alpha is 6 already; towards 0.5, two classes say nothing, and alpha would fall to zero.
_SMALLEST_RATE, _LARGEST_RATE = 0.002, 0.45
# At 0.5 the classes are the same and alpha would be infinite; at 0.45 it is ten times as large.
_LARGEST_OVERLAP = 0.45
# Less confidence than this left by the noise cannot be read: the overlap is divided by it.
_SMALLEST_CONTRAST = 0.05
# Pseudo-rows that pull the noise of a class towards the mean: they matter for classes with a few
# rows only.
_PSEUDO_ROWS = 5.0
# The same in an explanation, for each class beyond two: with many classes, some overlap more than
# others, which looks like mistakes between them.
_PSEUDO_ROWS_PER_CLASS = 20.0
# `explain_labels` first assumes this much noise. It must be positive: no noise stays no noise.
_FIRST_RATE = 0.05
# One probability of zero must not rule out a class, whatever the sharpness.
_SMALLEST_PROBABILITY = 1e-9
# Range of the logarithm of the sharpness: from 1/20, almost all overlap, to 2. Learners of wrong
# labels are less sure than they should be, but overlap that is sharpened away looks like mistakes.
_SHARPNESS_RANGE = (-3.0, 0.7)
# The logarithm of the first sharpness need not be known better than this.
_FIRST_PRECISION = 0.1
# `explain_labels` stops when no chance in the noise matrix, and no logarithm of the sharpness,
# changes by more than this, which is far below their standard errors, or after this many rounds.
_SETTLED = 1e-3
_MOST_ROUNDS = 100
# Share of the false-discovery rate that expected chances may use up: they are somewhat too sure
# where the learner is, as boosting often is.
_GUARD = 0.8
# Keeps logarithms and quotients finite.
_TINY = 1e-300


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
        Chance that a row of each class (row of the matrix) is given each label (column).
    overlap : float
        Error rate of the learner on the half of the rows it is less sure of, corrected for the
        noise, minus its standard error.
    largest_overlap : float
        The same plus its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> LabelNoise(0.2, np.array([0.2, 0.2]), np.eye(2), overlap=0.0).gap  # log(0.8 / 0.2)
    1.3862943611198906
    """

    rate: float
    class_rates: FloatArray
    matrix: FloatArray
    overlap: float
    largest_overlap: float = 1.0

    @property
    def gap(self) -> float:
        """The α that suits this noise: the gap between the errors of right and wrong labels.

        Where labels are wrong at a rate ρ, the errors -log P(y|x) of a right and of a wrong label
        of two classes differ by log((1-ρ)/ρ) at most. With α of that size a wrong label starts
        with 1/e of the weight of a right one, and falls further as the fit improves. With less
        noise α grows, and learning becomes ordinary.
        """
        rate = float(np.clip(self.rate, _SMALLEST_RATE, _LARGEST_RATE))
        return float(np.log((1 - rate) / rate))

    @property
    def cautious_gap(self) -> float:
        """The same, larger if there are many classes or if they overlap.

        Wrong labels spread over M - 1 classes, which makes each of them rarer and the gap wider by
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

    Examples
    --------
    >>> import numpy as np
    >>> probabilities = np.tile([0.9, 0.1], (10, 1))
    >>> given = np.array([0] * 8 + [1] * 2)  # two labels contradict the learner
    >>> estimate_label_noise(probabilities, given, np.ones(10)).rate
    0.2
    """
    n_classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    is_wrong = predicted != classes
    is_sure = _mark_surer_half(probabilities.max(axis=1), predicted, prior)
    rate, error = _measure_share(is_wrong, prior * is_sure)
    rest, rest_error = _measure_share(is_wrong, prior * ~is_sure)
    excess, deviation = rest - rate, float(np.hypot(error, rest_error))
    scale = max(1 - rate * n_classes / (n_classes - 1), _SMALLEST_CONTRAST)
    rates = [
        _measure_share(is_wrong, prior * (is_sure & (classes == label)), otherwise=rate)[0]
        for label in range(n_classes)
    ]
    matrix = _estimate_noise_matrix(predicted, classes, prior * is_sure, rate, n_classes)
    least, most = (
        float(np.clip(limit / scale, 0.0, 1.0))
        for limit in (excess - deviation, excess + deviation)
    )
    return LabelNoise(rate, np.array(rates), matrix, least, most)


def _mark_surer_half(confidence: FloatArray, predicted: IntArray, prior: FloatArray) -> BoolArray:
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


def _estimate_noise_matrix(
    predicted: IntArray, classes: IntArray, weights: FloatArray, rate: float, n_classes: int
) -> FloatArray:
    """Return the shares of given labels by predicted class, pulled towards the mean rate."""
    even = _make_even_noise(rate, n_classes)
    counts = np.bincount(predicted * n_classes + classes, weights, n_classes**2)
    filled = counts.reshape(n_classes, n_classes) + _PSEUDO_ROWS * even
    matrix: FloatArray = filled / filled.sum(axis=1, keepdims=True)
    return matrix


def _measure_share(
    is_wrong: BoolArray, weights: FloatArray, otherwise: float = 0.0
) -> tuple[float, float]:
    """Return a weighted share and its standard error; `otherwise` if no row has weight."""
    total = float(weights.sum())
    if total == 0:
        return otherwise, 0.0
    share = float(weights @ is_wrong) / total
    return share, float(np.sqrt(share * (1 - share) / total))


@dataclass(frozen=True)
class LabelExplanation:
    """Given labels explained by overlapping classes and by wrong labels.

    A row of class k is given the label j with chance ``N_kj``. Its class follows the learner's
    probabilities, which may be too sure or not sure enough:
    ``P(j | x) = Σ_k p_k(x)^s N_kj / Σ_k p_k(x)^s``. Sharpness s and noise N maximise the
    likelihood. A small s explains disagreement by overlap, noise explains it by mistakes; the
    confident rows decide between them.

    Attributes
    ----------
    sharpness : float
        s.
    matrix : array of shape (n_classes, n_classes)
        N: chance that a row of each class (row of the matrix) is given each label (column).
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
) -> LabelExplanation:
    """Find the sharpness and the noise that explain the given labels best.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Class probabilities of each row by a learner that did not see its label.
    classes : array of shape (n_samples,)
        Given class of each row, as a number from 0.
    matrix : array of shape (n_classes, n_classes), optional
        A first guess of the noise, to which a little is added for all classes alike.

    Returns
    -------
    LabelExplanation

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
    even = _make_even_noise(_FIRST_RATE, n_classes)
    guess = even if matrix is None else 0.9 * matrix + 0.1 * even
    logs = np.log(np.clip(probabilities, _SMALLEST_PROBABILITY, 1.0))
    return _fit_explanation(logs, classes, guess)


def _fit_explanation(logs: FloatArray, classes: IntArray, matrix: FloatArray) -> LabelExplanation:
    """Alternate between the class of each row, and the sharpness and noise that suit these.

    The sharpness is found by Newton's steps. Classes come first in all arrays: sums over a few
    classes take a fraction of the time when the rows of each lie side by side.
    """
    logs = np.ascontiguousarray((logs - logs.max(axis=1, keepdims=True)).T)
    squares, given = logs**2, np.eye(len(logs))[classes]
    place = _find_first_sharpness(logs, classes, matrix)
    for _ in range(_MOST_ROUNDS):
        sharpness = float(np.exp(place))
        clean = _sharpen(logs, sharpness)
        joint = clean * matrix.take(classes, axis=1)
        likelihoods = np.maximum(joint.sum(axis=0), _TINY)
        shares = joint / likelihoods
        means = (clean * logs).sum(axis=0)
        slope = float(np.vdot(shares, logs)) - float(means.sum())
        curvature = float(np.vdot(clean, squares)) - float(means @ means)
        step = min(max(slope / max(sharpness * curvature, _TINY), -1.0), 1.0)
        before, matrix = matrix, _estimate_noise_of_counts(shares @ given)
        last, place = place, min(max(place + step, _SHARPNESS_RANGE[0]), _SHARPNESS_RANGE[1])
        if max(float(np.abs(matrix - before).max()), abs(place - last)) < _SETTLED:
            break
    own = shares[classes, np.arange(len(classes))]
    chances: FloatArray = np.clip(1.0 - own, 0.0, 1.0)
    return LabelExplanation(sharpness, matrix, chances, -float(np.log(likelihoods).sum()))


def _find_first_sharpness(logs: FloatArray, classes: IntArray, matrix: FloatArray) -> float:
    """Return the logarithm of the sharpness that suits the first noise."""
    noise = matrix.take(classes, axis=1)

    def misfit(place: float) -> float:
        joint = _sharpen(logs, float(np.exp(place))) * noise
        return -float(np.log(np.maximum(joint.sum(axis=0), _TINY)).sum())

    found = minimize_scalar(
        misfit, bounds=_SHARPNESS_RANGE, method="bounded", options={"xatol": _FIRST_PRECISION}
    )
    return float(found.x)


def _sharpen(logs: FloatArray, sharpness: float) -> FloatArray:
    """Return probabilities to a power; the largest logarithm of each row is zero."""
    powers = np.exp(sharpness * logs)
    return np.asarray(powers / powers.sum(axis=0))


def _estimate_noise_of_counts(counts: FloatArray) -> FloatArray:
    """Return the noise matrix from the number of rows of each class that have each label."""
    n_classes = len(counts)
    rate = 1.0 - float(np.trace(counts) / counts.sum())
    pseudo = _PSEUDO_ROWS + _PSEUDO_ROWS_PER_CLASS * (n_classes - 2)
    other = rate / (n_classes - 1)
    filled = counts + pseudo * other
    # The diagonal; this function is called once per round, so that every call of NumPy counts.
    filled.ravel()[:: n_classes + 1] += pseudo * (1 - rate - other)
    matrix: FloatArray = filled / filled.sum(axis=1, keepdims=True)
    return matrix


def _make_even_noise(rate: float, n_classes: int) -> FloatArray:
    even = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(even, 1 - rate)
    return even


def make_monotone(doubt: FloatArray, chances: FloatArray) -> FloatArray:
    """Make chances rise with the doubt of the model, with the smallest change in squares.

    Examples
    --------
    >>> import numpy as np
    >>> make_monotone(np.array([0.9, 0.1, 0.5]), np.array([0.6, 0.0, 0.8])).tolist()
    [0.7, 0.0, 0.7]
    """
    order = np.argsort(doubt, kind="stable")
    risen = np.empty_like(chances)
    risen[order] = isotonic_regression(chances[order]).x
    return risen


def flag_wrong_labels(chances: FloatArray, fdr: float) -> BoolArray:
    """Flag as many labels as possible so that at most about `fdr` of the flagged ones are right.

    A part of the rate is kept for chances that are not exactly right.

    Parameters
    ----------
    chances : array of shape (n_samples,)
        Chance that each label is wrong.
    fdr : float
        Expected share of correct labels among those flagged, at most.

    Returns
    -------
    array of bool, of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> flag_wrong_labels(np.array([0.99, 0.5, 0.95, 0.1]), 0.05).tolist()
    [True, False, True, False]
    """
    order = np.argsort(-chances, kind="stable")
    expected = np.cumsum(1 - chances[order]) / np.arange(1, len(chances) + 1)
    count = int(np.searchsorted(expected, _GUARD * fdr, side="right"))
    is_flagged = np.zeros(len(chances), dtype=np.bool_)
    is_flagged[order[:count]] = True
    return is_flagged
