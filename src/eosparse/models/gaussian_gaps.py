"""The Gaussian error of rows with gaps: expectation-maximisation under the weights.

A row with values in the columns o only has the error

    g = (1/2D) ( log det V_oo + (1-λ) m_o + λτ tr V⁻¹ ) + b_o

m_o being its squared distance there. Its fit replaces the missing values by what is expected and
adds their covariance, both at the old θ. That minimises a majorant of g which touches it there, so
the objective still falls. b_o does not depend on θ: with

    -b_o/α = c/2(1-λ) · log det P⁰_mm + k/2 · log(1-c)

for k gaps and a robust guess P⁰ of V⁻¹, good rows of every pattern weigh the same on average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import (
    FloatArray,
    Moments,
    Result,
    Visit,
    optimal_weights,
    weighted_moments,
)
from eosparse.models.gaps import fill_rows, match_chances, spread_of_gaps
from eosparse.models.normal import Normal

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel


# Variance off the span of the rows, in standardised columns: its inverse must leave enough digits.
_LEAST_OFF_SPAN = 1e-8


@dataclass(frozen=True)
class Gaps:
    """What a model knows of gaps.

    Attributes
    ----------
    law : Normal or None
        A robust guess of the law of good rows, in standardised columns, for the fit; None if no
        row that was fitted has a gap.
    share : float
        Of the values, those that are missing.
    coupling : float
        c of the fit by which rows are judged.
    """

    law: Normal | None
    share: float
    coupling: float = 0.0


def accept_gaps(model: GaussianModel, law: Normal, share: float) -> GaussianModel:
    """Return the model for rows with gaps, given a robust guess of the law of the columns."""
    assert model.coordinates is not None
    origin, scale = model.coordinates.origin, model.coordinates.scale
    guess = Normal((law.location - origin) / scale, law.covariance / np.outer(scale, scale))
    return replace(model, gaps=Gaps(guess, share))


def conclude(model: GaussianModel, result: Result[Normal]) -> GaussianModel:
    """Return the model by which rows are judged after a fit: new rows may have gaps at any time."""
    known = model.gaps or Gaps(None, 0.0)
    return replace(model, gaps=replace(known, coupling=model.coupling(result.alpha)))


def visit_gaps(
    model: GaussianModel, block: FloatArray, prior: FloatArray | None, theta: Normal, alpha: float
) -> Visit[Moments]:
    """Return summary and moments of a block with gaps."""
    scaled, lifted = _standardise(model, block), _lift(model, theta)
    filled, is_missing = fill_rows(lifted, scaled), np.isnan(scaled)
    errors = model.error_at(filled.distances, theta) + filled.log_dets / (2 * model.n_features)
    errors += _find_offsets(model, scaled, alpha)
    empty = is_missing.all(axis=1)
    if empty.any():  # no error, and no say
        prior = np.where(empty, 0.0, 1.0 if prior is None else prior)
    solution = optimal_weights(errors, alpha, prior)
    weights, is_diagonal = solution.weights, theta.covariance.ndim == 1
    moments = weighted_moments(filled.centred + lifted.location, weights, diagonal=is_diagonal)
    spread = spread_of_gaps(lifted, is_missing, weights) / ((1 - model.amount) * moments.mass)
    basis = None if model.coordinates is None else model.coordinates.basis
    mean, scatter = moments.mean, moments.scatter + spread
    if basis is not None:
        mean, scatter = mean @ basis, basis.T @ scatter @ basis
    return Visit(solution.summary, Moments(moments.mass, mean, scatter))


def measure_gaps(model: GaussianModel, block: FloatArray, theta: Normal) -> FloatArray:
    """Return squared distances of all columns that are as improbable as those of what is there."""
    assert model.gaps is not None
    scaled = _standardise(model, block)
    filled, n_there = fill_rows(_lift(model, theta), scaled), (~np.isnan(scaled)).sum(axis=1)
    scale = 1 / (1 - model.gaps.coupling)
    return match_chances(filled.distances, n_there, scaled.shape[1], scale)


def fill_gaps(model: GaussianModel, block: FloatArray, theta: Normal | None = None) -> FloatArray:
    """Return rows, as stored, with what is expected in their gaps; by the guess without a θ."""
    assert model.coordinates is not None
    assert model.gaps is not None
    law = model.gaps.law if theta is None else _lift(model, theta)
    assert law is not None
    scaled = model.coordinates.standardise(block)
    filled = fill_rows(law, scaled).centred + law.location
    return np.where(
        np.isnan(block), model.coordinates.origin + model.coordinates.scale * filled, block
    )


def _standardise(model: GaussianModel, block: FloatArray) -> FloatArray:
    return block if model.coordinates is None else model.coordinates.standardise(block)


def _lift(model: GaussianModel, theta: Normal) -> Normal:
    """Return θ in standardised columns, where rows may span only some directions."""
    coordinates = model.coordinates
    if coordinates is None or coordinates.basis is None:
        return theta
    basis, off_span = coordinates.basis, max(model.off_span_variance, _LEAST_OFF_SPAN)
    inner = theta.covariance - off_span * np.eye(coordinates.rank)
    return Normal(basis @ theta.location, basis @ inner @ basis.T + off_span * np.eye(len(basis)))


def _find_offsets(model: GaussianModel, scaled: FloatArray, alpha: float) -> FloatArray:
    """Return b of each row."""
    assert model.gaps is not None
    assert model.gaps.law is not None
    n_gaps, c = np.isnan(scaled).sum(axis=1), model.coupling(alpha)
    log_dets = fill_rows(model.gaps.law, scaled).log_dets - n_gaps * np.log1p(-c)
    per_gap = alpha * np.log1p(-c) if np.isfinite(alpha) else -(1 - model.amount) / model.n_features
    return np.asarray(-log_dets / (2 * model.n_features) - n_gaps / 2 * per_gap)
