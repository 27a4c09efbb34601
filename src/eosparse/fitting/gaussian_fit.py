"""The outcome of a Gaussian fit: it answers for any row, seen or new."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eosparse.core import FloatArray, Moments, Result, Rows, weighted_moments
from eosparse.inference import DistanceLaw, FittedGamma, ScaledF, SelfPull
from eosparse.models import GaussianModel, Normal
from eosparse.models.raw_gaussian import RawGaussian
from eosparse.rows import Coordinates


@dataclass(frozen=True)
class GaussianFit:
    """A fitted Gaussian error: everything the detector reports is read from here."""

    coordinates: Coordinates
    model: GaussianModel
    result: Result[Normal]
    n_rows: float

    @property
    def theta(self) -> Normal:
        """Location and (uncorrected) covariance in working coordinates."""
        return self.result.theta

    @property
    def coupling(self) -> float:
        """Return c of the weights ``exp(-c·m/2)``."""
        return self.model.coupling(self.result.alpha)

    @property
    def location(self) -> FloatArray:
        """Location in the units of the columns."""
        return self.coordinates.location(self.theta.location)

    @property
    def covariance(self) -> FloatArray:
        """Corrected covariance in the units of the columns."""
        raw = self.coordinates.covariance(self.theta.covariance, self.model.off_span_variance)
        return raw / (1 - self.coupling)

    def uncorrected_distances(self, values: FloatArray) -> FloatArray:
        """Squared distances m of some rows in the metric of V."""
        distances = RawGaussian(self.model, self.coordinates).distances(values, self.theta)
        if self.coordinates.basis is not None:
            distances += self.coordinates.off_span(values) / self.model.off_span_variance
        return distances

    def corrected(self, uncorrected: FloatArray) -> FloatArray:
        """Squared Mahalanobis distances in the metric of the corrected covariance."""
        return (1 - self.coupling) * uncorrected

    def left_out(self, uncorrected: FloatArray) -> FloatArray:
        """Corrected distances of training rows from the fit without each."""
        return self.pull.undone(uncorrected)

    def taken_in(self, left_out: FloatArray) -> FloatArray:
        """Return the uncorrected distances again."""
        return self.pull.done(left_out)

    def weights(self, uncorrected: FloatArray) -> FloatArray:
        """Weights of training rows of prior weight one."""
        return self.pull.weights(uncorrected)

    @cached_property
    def pull(self) -> SelfPull:
        """How the weight of a training row depends on its distance, and moves the fit."""
        leverage = {
            "full": 1 - self.model.shrinkage,
            "diag": 3 / (self.model.n_features + 2),
            "spherical": 1 / self.model.n_features,
        }[self.model.structure]
        at_location = self.model.errors(self.theta.location[None, :], self.theta)[0]
        log_peak = (self.result.objective - at_location) / self.result.alpha
        return SelfPull(self.coupling, float(np.exp(log_peak)), leverage)

    def distance_at_weight(self, relative_weight: float) -> float:
        """Return the squared (corrected) distance at which T·w has a given value."""
        drop = np.log(self.pull.peak * self.n_rows / relative_weight)
        return float((1 - self.coupling) * 2 * max(drop, 0.0) / self.coupling)

    def deviations(self, values: FloatArray) -> FloatArray:
        """Signed, standardised deviation of each column, whose squares sum to the distance.

        They are ``V^(-1/2) (x-μ)`` with the symmetric root, in columns that each have variance
        one: of all whitened coordinates those closest to the columns (Garthwaite and Koch, 2016).
        Where the rows do not span all columns, the working scale stands in for that variance.
        """
        theta, corrected = self.theta, np.sqrt(1 - self.coupling)
        scaled = self.coordinates.scaled(values)
        white: FloatArray
        if theta.covariance.ndim == 1:
            white = (scaled - theta.location) / theta.factor
        elif self.coordinates.basis is None:
            unit = np.sqrt(np.diag(theta.covariance))
            correlation = theta.covariance / unit / unit[:, None]
            white = (scaled - theta.location) / unit @ _inverse_root(correlation)
        else:
            white = self._deviations_in_span(scaled, self.coordinates.basis)
            off = self.coordinates.off_span(values) > 0
            rest = scaled[off] - scaled[off] @ self.coordinates.basis @ self.coordinates.basis.T
            white[off] += rest / np.sqrt(self.model.off_span_variance)
        return np.asarray(corrected * white)

    def _deviations_in_span(self, scaled: FloatArray, basis: FloatArray) -> FloatArray:
        inside = scaled @ basis - self.theta.location
        return np.asarray(inside @ _inverse_root(self.theta.covariance) @ basis.T)

    def law(self, uncorrected: Rows[FloatArray]) -> DistanceLaw:
        """Law of the distance of a new row that belongs, from those of the training rows."""

        def one(distances: FloatArray, prior: FloatArray | None) -> Moments:
            weights = self.pull.weights(distances)
            if prior is not None:
                weights *= prior
            both = np.column_stack([distances, self.pull.undone(distances)])
            return weighted_moments(both, weights, diagonal=True)

        moments = uncorrected.fold(one)
        mean, variance = float(moments.mean[1]), float(moments.scatter[1])
        if self.model.structure == "full" and self.model.shrinkage == 0.0:
            size = self.result.effective_size
            law = ScaledF.of_fit(self.coordinates.rank, size, self.coupling)
            return law.matched(mean, self.pull)
        # The weights fall with m; what they do to the law of loo follows from the slope of m.
        slope = (1 - self.coupling) * (float(moments.mean[0]) / max(mean, 1e-300)) ** 2
        return FittedGamma.of_weighted(mean, variance, self.coupling / 2 * slope)


def gaussian(fit: object, asked: str) -> GaussianFit:
    """Return a fit that is asked for something which only a Gaussian has."""
    if not isinstance(fit, GaussianFit):
        raise AttributeError(f"{asked} needs a Gaussian: use EOSDetector(model='gaussian').")
    return fit


def _inverse_root(matrix: FloatArray) -> FloatArray:
    """Symmetric inverse square root of a positive definite matrix."""
    variances, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors / np.sqrt(variances)) @ vectors.T)
