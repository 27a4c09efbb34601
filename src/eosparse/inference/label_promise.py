"""May a false-discovery rate of flagged labels be promised?

Nothing but labels tells mistakes from classes that overlap: a class of which the learner is sure
and that is given another label one time in ten looks like one with a tenth of its labels wrong. So
the rate is promised only where overlap cannot make up much of what is flagged: if labels are not
contradicted far more often where the learner is less sure, and by less than they are contradicted
where it is surest; and if the flags do not come from classes that hardly have any, as those of rows
between classes do where only other classes have mistakes. A learner that does not fit makes
mistakes of its own. It shows where more than a quarter of the labels seem to be wrong, where the
nearest rows side with the labels that are flagged, and where classes that overlap are explained
only if it should be far surer than it is.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.inference.label_noise import LabelNoise, estimate_label_noise
from eosparse.inference.promise import Promise, TailCheck

# Excess of contradicted labels where the learner is less sure, plus one standard error.
_MOST_OVERLAP = 0.25
# With more labels wrong, a learner that does not fit is the likelier explanation.
_MOST_NOISE = 0.25
# The sharpness that the explanation of the labels asks of the learner, unless classes are apart: if
# that excess is smaller than this.
_MOST_SHARPNESS, _APART = 1.5, 0.05
# Of fewer flagged labels, one or two correct ones on rare rows are too large a share.
_FEWEST_FLAGGED = 10
# A class with a smaller part of the flags than this times its part of mistakes made evenly has few.
_FEW = 0.5
# Share of the flagged labels that the nearest rows doubt too. Rows near a wrong label mostly have
# the right one.
_FEWEST_AGREE = 0.8


def promise_labels(
    probabilities: FloatArray,
    classes: IntArray,
    prior: FloatArray,
    is_issue: BoolArray,
    votes: FloatArray | None = None,
    *,
    fdr: float = 0.1,
    sharpness: float = 1.0,
) -> Promise:
    """Say whether the false-discovery rate of flagged labels can be promised.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Class probabilities of each row by a learner that did not see its label.
    classes : array of shape (n_samples,)
        Given class of each row, as a number from 0.
    prior : array of shape (n_samples,)
        Prior weights.
    is_issue : array of bool of shape (n_samples,)
        Which labels are flagged.
    votes : array of shape (n_samples, n_classes), optional
        Shares of the classes among the nearest rows.
    fdr : float, default=0.1
        The rate at which labels are flagged.
    sharpness : float, default=1.0
        Of the explanation of the labels, see `explain_labels`.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.arange(300) % 2
    >>> sure = np.where(truth[:, None] == [0, 1], 0.999, 0.001)
    >>> labels = np.where(np.arange(300) % 10 == 0, 1 - truth, truth)
    >>> str(promise_labels(sure, labels, np.ones(300), labels != truth))
    'yes: the classes overlap little enough to tell mistakes from rows between them'
    """
    noise = estimate_label_noise(probabilities, classes, prior)
    doubt = _doubt_learner(noise)
    if doubt is None and is_issue.any():
        doubt = _doubt_flags(classes, prior, is_issue, fdr) or _doubt_explanation(noise, sharpness)
        if doubt is None and votes is not None:
            doubt = _doubt_neighbours(_agree(probabilities, classes, is_issue, votes))
    if doubt is not None:
        return Promise(False, doubt)
    return Promise(
        True, "the classes overlap little enough to tell mistakes from rows between them"
    )


def _doubt_learner(noise: LabelNoise) -> str | None:
    """Say why what the learner makes of the labels promises nothing; None if it does."""
    if noise.rate > _MOST_NOISE:
        return (
            f"{noise.rate:.0%} of the labels are contradicted even where the prediction is surest: "
            "as many mistakes cannot be told from a model that does not fit"
        )
    if noise.largest_overlap <= _MOST_OVERLAP:
        return None
    if noise.overlap > _MOST_OVERLAP / 2:
        return "the classes overlap, and mistakes cannot be told from rows between them"
    return "so few rows do not tell whether the classes overlap"


def _doubt_flags(
    classes: IntArray, prior: FloatArray, is_issue: BoolArray, fdr: float
) -> str | None:
    """Say why the flags promise nothing: because they are few, of all labels or of a class."""
    n_flagged = int(np.count_nonzero(is_issue))
    if n_flagged < _FEWEST_FLAGGED:
        return (
            f"fewer than {_FEWEST_FLAGGED} labels are flagged: one or two rare rows would break it"
        )
    shares, flagged = (np.bincount(classes, m) / m.sum() for m in (prior, prior * is_issue))
    # Rows of the other classes are those that may have been given this label by mistake.
    even = (1 - shares) / (len(shares) - 1)
    few = float(flagged[flagged < _FEW * even].sum())
    if few > fdr:
        return f"{few:.0%} of the flagged labels are of classes with far fewer flags than others"
    return None


def _doubt_explanation(noise: LabelNoise, sharpness: float) -> str | None:
    """Say why overlap may explain flagged labels; None if it hardly does."""
    if noise.largest_overlap > noise.rate:
        return "the classes may overlap more than labels are wrong"
    if sharpness > _MOST_SHARPNESS and noise.largest_overlap > _APART:
        return "the predictions are too unsure to tell mistakes from rows between the classes"
    return None


def _doubt_neighbours(agreement: float) -> str | None:
    if agreement >= _FEWEST_AGREE:
        return None
    return "the nearest rows side with many of the labels that are flagged: the model may not fit"


def _agree(
    probabilities: FloatArray, classes: IntArray, is_issue: BoolArray, votes: FloatArray
) -> float:
    """Return the share of flagged labels for whose suggestion more of the nearest rows vote."""
    flagged = np.flatnonzero(is_issue)
    suggested = probabilities[flagged].argmax(axis=1)
    return float((votes[flagged, suggested] > votes[flagged, classes[flagged]]).mean())


def check_targets(deviations: FloatArray, prior: FloatArray, is_issue: BoolArray) -> TailCheck:
    """Compare deviations, in units of their standard deviation, with a Gaussian law.

    Examples
    --------
    >>> import numpy as np
    >>> rng, none, ones = np.random.default_rng(0), np.zeros(1000, dtype=bool), np.ones(1000)
    >>> check_targets(rng.normal(size=1000), ones, none).passes
    True
    """
    p_values = 2 * norm.sf(np.abs(deviations))
    flagged_at = float(p_values[is_issue].max()) if is_issue.any() else 0.0
    return TailCheck.of(p_values, prior, flagged_at)


def promise_targets(check: TailCheck) -> Promise:
    """Say whether the false-discovery rate of flagged targets can be promised.

    It can if the other deviations are Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> rng, none, ones = np.random.default_rng(0), np.zeros(1000, dtype=bool), np.ones(1000)
    >>> str(promise_targets(check_targets(rng.normal(size=1000), ones, none)))
    'yes: the residuals of the other rows are Gaussian'
    >>> bool(promise_targets(check_targets(rng.standard_t(2, size=1000), ones, none)))
    False
    """
    if check.convinces:
        return Promise(True, "the residuals of the other rows are Gaussian")
    return Promise(False, f"the residuals are not Gaussian: {check.why_not}")
