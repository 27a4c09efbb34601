"""What every fit promises, and what it may refuse.

A fit either returns statements without NaN that agree with each other and with those of the same
rows in another order, unit, multiplicity or precision, or it is refused by an error of `REFUSALS`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from eosparse import EOSPCA, EOSDetector, EOSGaussianMixture, EOSKMeans
from eosparse.core import FloatArray, IntArray
from eosparse.rows import find_rare_writing

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "auto": EOSDetector,
    "margins": lambda: EOSDetector(model="margins"),
    "groups": lambda: EOSDetector(model="groups"),
    "local": lambda: EOSDetector(model="local"),
    "gaussian": lambda: EOSDetector(model="gaussian"),
    "clusters": lambda: EOSDetector(model="clusters"),
    "subspace": lambda: EOSDetector(model="subspace"),
    "mixture": lambda: EOSDetector(model="mixture"),
    "regression": lambda: EOSDetector(model="regression"),
    "EOSPCA": lambda: EOSPCA(2),
    "EOSKMeans": lambda: EOSKMeans(3),
    "EOSGaussianMixture": lambda: EOSGaussianMixture(2),
}
# These take data frames with text as well.
MIXED = ("auto", "margins", "groups", "local")
# These take missing values.
WITH_GAPS = (*MIXED, "gaussian", "EOSPCA", "EOSGaussianMixture")
# These see the columns as they are: all of them may be multiplied by one number only.
EUCLIDEAN = ("EOSPCA", "EOSKMeans")
# All that a fit of finite numbers may answer instead of a result: a `ValueError` with one of these.
REFUSALS = (
    r"all rows of X are equal",
    r"whose square (does not fit|is out of the range of)",
    r"the weights gather(ed)? on",
    r"the weighted rows determine no fit",
    r"is more than the n_samples=",
    r"X has no column of numbers",
    r"no model of the bulk fits these rows",
    r"like an identifier or free text",
    r"holds numbers as text",
)
# These fit mixtures.
MIXTURES = ("groups", "mixture", "EOSGaussianMixture")
# How far p-values of twins may differ. The fall of the objective ends an alternation, so that θ has
# half of its digits, and α is refined to three. Steps of a mixture are short: it ends earlier.
_TOLERANCE, _MIXTURE_TOLERANCE = 1e-3, 1e-2
_OF_WEIGHTS = 1e-6


@dataclass(frozen=True)
class Statements:
    """What a fit says about its training rows."""

    flags: Any
    weights: FloatArray
    p_values: FloatArray
    scores: FloatArray
    offset: float


class BrokenPromiseError(Exception):
    """A fit said something that cannot be, or raised what it may not."""


@dataclass(frozen=True)
class Twin:
    """The same rows written down differently, and which of the rows each of its rows is.

    Attributes
    ----------
    values, prior
        The rows, and their prior weights.
    places : array
        For each row of the original, its first row here.
    rows : array or None
        For each row here, the row of the original; None if these are the same.
    """

    values: FloatArray
    prior: FloatArray | None
    places: IntArray
    rows: IntArray | None = None

    def join(self, labels: pd.DataFrame | None) -> Any:
        """Return the rows with columns of text beside them, if there are any."""
        if labels is None or not labels.shape[1]:
            return self.values
        numbers = pd.DataFrame(self.values, columns=[f"x{j}" for j in range(self.values.shape[1])])
        beside = labels if self.rows is None else labels.iloc[self.rows]
        return numbers.join(beside.reset_index(drop=True))


def state(name: str, values: Any, prior: FloatArray | None = None) -> Statements | None:
    """Fit, and return the statements, checked; None if the fit is refused by a documented error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's: an overflow, or NaN
        try:
            fitted = ESTIMATORS[name]().fit(values, sample_weight=prior)
        except ValueError as error:
            if any(re.search(pattern, str(error)) for pattern in REFUSALS):
                return None
            raise
        p_values = fitted.p_values_ if hasattr(fitted, "p_values_") else fitted.p_values(values)
        said = Statements(
            np.asarray(fitted.is_outlier_), np.asarray(fitted.weights_, dtype=np.float64),
            np.asarray(p_values, dtype=np.float64),
            np.asarray(fitted.score_samples(values), dtype=np.float64), float(fitted.offset_),
        )  # fmt: skip
        again = fitted.predict(values) == -1 if isinstance(fitted, EOSDetector) else said.flags
    _demand(bool((again == said.flags).all()), "predict(X) differs from is_outlier_")
    check_statements(said)
    return said


def check_statements(said: Statements) -> None:
    """Raise unless the statements are numbers that agree with each other."""
    for what in ("weights", "p_values", "scores"):
        _demand(bool(np.isfinite(getattr(said, what)).all()), f"NaN or infinity in {what}")
    _demand(np.isfinite(said.offset), f"offset_ is {said.offset}")
    total = float(said.weights.sum())
    _demand(abs(total - 1) < _OF_WEIGHTS, f"weights sum to {total:.9g}")
    _demand(bool((said.weights >= 0).all()), "a negative weight")
    _demand(bool(((said.p_values >= 0) & (said.p_values <= 1)).all()), "a p-value beyond [0, 1]")
    flags = said.flags
    if flags.any() and not flags.all():
        for what, least, most in (
            ("p-value", said.p_values[~flags].min(), said.p_values[flags].max()),
            ("score", said.scores[~flags].min(), said.scores[flags].max()),
        ):
            _demand(most <= least, f"a flagged row has the {what} {most}, another one {least}")


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise BrokenPromiseError(otherwise)


def compare_statements(
    one: Statements | None, twin: Statements | None, places: Any, tolerance: float
) -> None:
    """Raise unless a fit and that of its twin say the same about every row."""
    if one is None or twin is None:
        _demand(one is twin, "refused in one form only")
        return
    flags = twin.flags[places]
    differing = int(np.count_nonzero(one.flags != flags))
    _demand(differing == 0, f"{differing} flags differ, {one.flags.sum()} against {flags.sum()}")
    gap = float(np.abs(one.p_values - twin.p_values[places]).max())
    _demand(gap <= tolerance, f"p-values differ by {gap:.2g}")


def permute(_: str, values: FloatArray, rng: np.random.Generator) -> Iterator[Twin]:
    """Yield the rows as they are, and in another order."""
    order = rng.permutation(len(values))
    yield Twin(values, None, np.arange(len(values)))
    yield Twin(values[order], None, np.argsort(order), order)


def change_units(name: str, values: FloatArray, rng: np.random.Generator) -> Iterator[Twin]:
    """Yield the rows as they are, and in units that differ by powers of two, and shifted."""
    size = 1 if name in EUCLIDEAN else values.shape[1]
    factors = np.exp2(rng.integers(-20, 20, size=size))
    # Shifted by about the spread: a longer way would cost digits.
    shift = np.round(rng.normal(size=values.shape[1])) * np.exp2(np.round(np.log2(_reach(values))))
    places = np.arange(len(values))
    yield Twin(values, None, places)
    yield Twin((values + shift) * factors, None, places)


def _reach(values: FloatArray) -> FloatArray:
    spread = np.subtract(*np.nanquantile(values, [0.75, 0.25], axis=0))
    return np.asarray(np.where(spread > 0, spread, 1.0))


def duplicate(_: str, values: FloatArray, rng: np.random.Generator) -> Iterator[Twin]:
    """Yield the rows with a prior weight each, and as often as that says."""
    counts = rng.integers(1, 4, len(values))
    yield Twin(values, counts.astype(np.float64), np.arange(len(values)))
    rows = np.repeat(np.arange(len(values)), counts)
    yield Twin(values[rows], None, np.cumsum(counts) - counts, rows)


def narrow(_: str, values: FloatArray, rng: np.random.Generator) -> Iterator[Twin]:  # noqa: ARG001
    """Yield rows that single precision can hold, in double and in single precision."""
    single, places = values.astype(np.float32), np.arange(len(values))
    yield Twin(single.astype(np.float64), None, places)
    yield Twin(single, None, places)


RELATIONS: dict[str, Callable[[str, FloatArray, np.random.Generator], Iterator[Twin]]] = {
    "permuted": permute,
    "other units": change_units,
    "duplicated": duplicate,
    "single precision": narrow,
}


def _is_written_oddly(values: FloatArray) -> bool:
    """Whether some numbers have rare decimals or signs, which they may have in one unit only."""
    everything, places = np.ones(len(values)), tuple(range(values.shape[1]))
    return find_rare_writing(values, everything, everything > 0, places) is not None


def check_promises(
    name: str,
    relation: str,
    values: FloatArray,
    rng: np.random.Generator,
    labels: pd.DataFrame | None = None,
) -> bool:
    """Raise if a fit breaks a promise; return whether it gave an answer."""
    one, twin = RELATIONS[relation](name, values, rng)
    may_be_odd = relation == "other units" and name in MIXED
    if may_be_odd and (_is_written_oddly(one.values) or _is_written_oddly(twin.values)):
        one, twin = permute(name, values, rng)
    said = state(name, one.join(labels), one.prior)
    tolerance = _MIXTURE_TOLERANCE if name in MIXTURES else _TOLERANCE
    other = state(name, twin.join(labels), twin.prior)
    compare_statements(said, other, twin.places, tolerance)
    return said is not None
