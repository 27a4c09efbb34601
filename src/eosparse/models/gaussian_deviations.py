"""How far a row lies from the middle of a Gaussian, and by which columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import FloatArray, has_gaps
from eosparse.models.gaussian_gaps import fill_gaps
from eosparse.models.normal import Normal, inverse_root

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel


def whiten(model: GaussianModel, block: FloatArray, theta: Normal, alpha: float) -> FloatArray:
    """Return rows that are as far apart as their deviations are.

    Any root of V makes them so, and a triangular one takes a tenth of the time.
    """
    assert model.coordinates is not None
    if model.gaps is not None and has_gaps(block):
        block = fill_gaps(model, block, theta)
    if model.coordinates.basis is not None:
        return find_deviations(model, block, theta, alpha)
    white = theta.whiten(model.coordinates.standardise(block) - theta.location)
    return np.asarray(np.sqrt(1 - model.coupling(alpha)) * white)


def find_deviations(
    model: GaussianModel, block: FloatArray, theta: Normal, alpha: float
) -> FloatArray:
    """Return the signed, standardised deviation of each column; squares sum to the distance.

    They are ``V^(-1/2) (x-μ)`` with the symmetric root, in columns that each have variance
    one: of all whitened coordinates those closest to the columns (Garthwaite and Koch, 2016).
    Where the rows do not span all columns, the working scale stands in for that variance.
    """
    assert model.coordinates is not None
    if model.gaps is not None and has_gaps(block):
        block = fill_gaps(model, block, theta)
    coordinates, scaled = model.coordinates, model.coordinates.standardise(block)
    white: FloatArray
    if theta.covariance.ndim == 1:
        white = (scaled - theta.location) / theta.factor
    elif coordinates.basis is None:
        unit = np.sqrt(np.diag(theta.covariance))
        correlation = theta.covariance / unit / unit[:, None]
        white = (scaled - theta.location) / unit @ inverse_root(correlation)
    else:
        basis = coordinates.basis
        inside = scaled @ basis - theta.location
        white = np.asarray(inside @ inverse_root(theta.covariance) @ basis.T)
        off = coordinates.off_span(block) > 0
        rest = scaled[off] - scaled[off] @ basis @ basis.T
        white[off] += rest / np.sqrt(model.off_span_variance)
    return np.asarray(np.sqrt(1 - model.coupling(alpha)) * white)
