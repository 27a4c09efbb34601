"""The parameters of a detector, checked: errors name the parameter and what it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import FloatArray
from eosparse.errors import STRUCTURES
from eosparse.estimators.gaussian_choices import FitOptions
from eosparse.estimators.read_out import Rule, RuleKind

if TYPE_CHECKING:
    from eosparse.estimators.detector import EOSDetector


def fit_options(detector: EOSDetector, n_samples: int) -> FitOptions:
    """Check the parameters of the fit."""
    _one_of("alpha", detector.alpha, ("auto",), low=0.0)
    _one_of("shrinkage", detector.shrinkage, ("auto",), low=0.0, high=1.0, closed=True)
    _in_range("efficiency", detector.efficiency, 0.0, 1.0)
    _in_range("perplexity", detector.perplexity, 1.0, np.inf)
    _in_range("tol", detector.tol, -1e-300, np.inf)
    _in_range("max_iter", detector.max_iter, 0, np.inf)
    if detector.covariance not in STRUCTURES:
        raise ValueError(f"covariance={detector.covariance!r} must be one of {STRUCTURES}.")
    number = None if detector.alpha == "auto" else detector.alpha
    sources = {
        "alpha": number,
        "efficiency": detector.efficiency,
        "perplexity": detector.perplexity,
    }
    given = [name for name, value in sources.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} both set alpha: give only one of them.")
    return FitOptions(
        structure=detector.covariance,
        shrinkage=detector.shrinkage,
        alpha=detector.alpha,
        efficiency=detector.efficiency,
        perplexity=detector.perplexity,
        start=_start(detector, n_samples),
        tol=detector.tol,
        max_iter=detector.max_iter,
        callback=detector.callback,
    )


def _start(detector: EOSDetector, n_samples: int) -> str | FloatArray:
    known = ("deterministic", "random", "uniform")
    if isinstance(detector.start, str):
        if detector.start not in known:
            raise ValueError(f"start={detector.start!r} must be one of {known} or weights.")
        return detector.start
    weights = np.asarray(detector.start, dtype=np.float64)
    if weights.shape != (n_samples,):
        raise ValueError(f"start has shape {weights.shape}, but X has {n_samples} rows.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
        raise ValueError("start must be finite, non-negative weights, not all zero.")
    return weights


def flagging_rule(detector: EOSDetector) -> Rule:
    """Return the one rule by which rows are flagged."""
    _in_range("fdr", detector.fdr, 0.0, 1.0)
    _in_range("level", detector.level, 0.0, 1.0)
    _in_range("weight_cut", detector.weight_cut, 0.0, np.inf)
    _in_range("contamination", detector.contamination, 0.0, np.nextafter(0.5, 1.0))
    given: dict[RuleKind, float | None] = {
        "level": detector.level,
        "weight_cut": detector.weight_cut,
        "contamination": detector.contamination,
    }
    chosen = [Rule(kind, value) for kind, value in given.items() if value is not None]
    if len(chosen) > 1:
        names = " and ".join(rule.kind for rule in chosen)
        raise ValueError(f"{names} each decide which rows are flagged: give only one.")
    return chosen[0] if chosen else Rule("fdr", detector.fdr)


def _in_range(name: str, value: float | None, low: float, high: float) -> None:
    """Raise unless value is None or a number strictly between low and high."""
    if value is None:
        return
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool) or not low < value < high:
        raise ValueError(f"{name}={value!r} must be a number between {low:g} and {high:g}.")


def _one_of(
    name: str,
    value: object,
    words: tuple[str, ...],
    *,
    low: float,
    high: float = np.inf,
    closed: bool = False,
) -> None:
    """Raise unless value is one of some words or a number in a range."""
    if isinstance(value, str):
        if value not in words:
            raise ValueError(f"{name}={value!r} must be a number or one of {words}.")
        return
    if closed and value == low:
        return
    _in_range(name, value, low, high)  # type: ignore[arg-type]  # checked there
