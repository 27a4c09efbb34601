"""Parameters, checked: errors name the parameter and what it may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import Callback, FloatArray, check_alpha, check_choice, check_number, check_whole
from eosparse.fitting.gaussian_choices import FitOptions
from eosparse.fitting.model_choices import NAMED_MODELS
from eosparse.fitting.progress import Progress
from eosparse.fitting.read_out import Rule, RuleKind
from eosparse.models import STRUCTURES, GaussianModel
from eosparse.rows import MemoryRows, Table

if TYPE_CHECKING:
    from eosparse.estimators.detector import EOSDetector


def fit_options(detector: EOSDetector, table: Table) -> FitOptions:
    """Check the parameters of the fit."""
    _check_model(detector)
    check_alpha(detector.alpha)
    check_number("shrinkage", detector.shrinkage, "[0, 1)", words=("auto",))
    check_number("efficiency", detector.efficiency, "(0, 1)", words=(None,))
    check_number("perplexity", detector.perplexity, "(1, inf)", words=(None,))
    check_number("tol", detector.tol, "[0, inf)")
    check_whole("max_iter", detector.max_iter, 1)
    if detector.callback is not None and not callable(detector.callback):
        raise ValueError(f"callback={detector.callback!r} must be callable or None.")
    if detector.covariance not in STRUCTURES:
        raise ValueError(f"covariance={detector.covariance!r} must be one of {STRUCTURES}.")
    if detector.covariance != "full" and detector.shrinkage not in ("auto", 0):
        raise ValueError(
            f"shrinkage={detector.shrinkage!r} applies to covariance='full' only, not to "
            f"{detector.covariance!r}."
        )
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
        start=_start(detector, table),
        tol=detector.tol,
        max_iter=detector.max_iter,
        callbacks=_callbacks(detector),
        checkpoint=_checkpoint(detector.checkpoint),
    )


_MEMBERS = ("errors", "statistics", "solve", "smallest_size")
# Parameters that concern a Gaussian alone, and what they are if nobody asks for them.
_GAUSSIAN_ONLY = {
    "covariance": "full",
    "shrinkage": "auto",
    "perplexity": None,
    "start": "deterministic",
    "checkpoint": None,
}


def _check_model(detector: EOSDetector) -> None:
    model = detector.model
    if isinstance(model, str):
        check_choice("model", model, ("gaussian", *NAMED_MODELS))
        if model == "gaussian":
            return
    missing = [] if isinstance(model, str) else [m for m in _MEMBERS if not hasattr(model, m)]
    if missing or isinstance(model, type):
        raise ValueError(
            f"model={model!r} is neither a name nor an error model"
            + (f": it has no {missing[0]!r}." if missing else ", but a class: call it.")
        )
    if isinstance(model, GaussianModel):
        raise ValueError("model: a Gaussian has choices of its own: use model='gaussian'.")
    for name, default in _GAUSSIAN_ONLY.items():
        value = getattr(detector, name)
        if not (value is default or (isinstance(value, str) and value == default)):
            raise ValueError(f"{name} applies to model='gaussian' only, not to model={model!r}.")


def _callbacks(detector: EOSDetector) -> tuple[Callback, ...]:
    own = () if detector.callback is None else (detector.callback,)
    return (Progress(), *own) if detector.verbose else own


def _checkpoint(path: str | Path | None) -> Path | None:
    if path is None:
        return None
    if not isinstance(path, (str, Path)):
        raise ValueError(f"checkpoint={path!r} must be a path or None.")
    if not Path(path).absolute().parent.is_dir():
        raise ValueError(f"checkpoint={str(path)!r}: there is no folder {Path(path).parent}.")
    return Path(path)


def _start(detector: EOSDetector, table: Table) -> str | FloatArray:
    known = ("deterministic", "random", "uniform")
    if isinstance(detector.start, str):
        if detector.start not in known:
            raise ValueError(f"start={detector.start!r} must be one of {known} or weights.")
        return detector.start
    if not isinstance(table, MemoryRows):
        raise ValueError("start: given weights need the rows in memory; use 'deterministic'.")
    weights, n_samples = np.asarray(detector.start, dtype=np.float64), len(table.values)
    if weights.shape != (n_samples,):
        raise ValueError(f"start has shape {weights.shape}, but X has {n_samples} rows.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
        raise ValueError("start must be finite, non-negative weights, not all zero.")
    return weights


def flagging_rule(detector: EOSDetector) -> Rule:
    """Return the one rule by which rows are flagged."""
    check_number("fdr", detector.fdr, "(0, 1)")
    check_number("level", detector.level, "(0, 1)", words=(None,))
    check_number("weight_cut", detector.weight_cut, "(0, inf)", words=(None,))
    check_number("contamination", detector.contamination, "(0, 0.5]", words=(None,))
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
