"""The law of the error of a Gaussian mixture.

Under component k alone, a row's error would be ``e_k + m_k/2D`` with its squared distance m_k. The
other components can only raise the density and so lower the error. With the shares π_k, therefore,

    P(g ≥ t) ≤ Σ_k π_k P(m_k ≥ 2D (t - e_k)),

with equality where components do not overlap. P-values from the right-hand side are right for
separate components, and too large, never too small, for others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eosparse.core import CollapseError, FloatArray
from eosparse.inference.scaled_f import ScaledF

# Shrinks a bracket by 2^-200: to neighbouring floats, unless it began astronomically wide.
_HALVINGS = 200


@dataclass(frozen=True)
class MixtureLaw:
    """Law of the error of a new row that belongs to a mixture.

    Attributes
    ----------
    shares : array of shape (n_components,)
        Corrected shares π_k.
    peaks : array of shape (n_components,)
        e_k, the error in the middle of each component.
    laws : tuple of ScaledF
        Law of the corrected distance (1-c)·m_k of each component.
    coupling : float
        c = 1/(αD).
    n_features : int
        D.
    """

    shares: FloatArray
    peaks: FloatArray
    laws: tuple[ScaledF, ...]
    coupling: float
    n_features: int

    @classmethod
    def of_fit(
        cls,
        shares: FloatArray,
        log_dets: FloatArray,
        peaks: FloatArray,
        *,
        n_features: int,
        alpha: float,
        kish_size: float,
    ) -> MixtureLaw:
        """Build the law from an uncorrected mixture.

        The weights are the density's power c. In separate components this narrows each covariance
        by 1-c, and draws the shares to the denser ones: they are proportional to
        ``π_k^(1/(1-c)) |V_k|^(-c/2(1-c))`` of the true shares, which is undone here.
        """
        coupling = 1 / (alpha * n_features)
        if coupling >= 1:
            raise CollapseError(
                f"alpha={alpha:.6g} is too small for a mixture: the weights gather on single rows. "
                f"Use a larger alpha, above 1 / n_features = {1 / n_features:.6g}."
            )
        with np.errstate(divide="ignore"):  # a component without rows
            logs = (1 - coupling) * np.log(shares) + coupling / 2 * log_dets
        true = np.exp(logs - logs.max())
        sizes = np.maximum(kish_size * shares, 2.0)
        laws = tuple(ScaledF.of_fit(n_features, float(size), coupling) for size in sizes)
        peaks = np.where(true > 0, peaks, 0.0)  # infinite without rows, and never asked for
        return cls(true / true.sum(), peaks, laws, coupling, n_features)

    def p_values(self, distances: FloatArray) -> FloatArray:
        """Return the probability of an error at least as large."""
        errors = np.asarray(distances, dtype=np.float64)
        factor = 2 * self.n_features * (1 - self.coupling)
        excess = np.minimum(errors, 1e300 / factor)  # finite also times the factor
        p: FloatArray = np.zeros(errors.shape)
        for share, peak, law in zip(self.shares, self.peaks, self.laws, strict=True):
            if share > 0:
                p += share * law.p_values(factor * np.maximum(excess - peak, 0.0))
        return np.minimum(p, 1.0)

    def distance_at(self, levels: FloatArray) -> FloatArray:
        """Return the errors with given p-values, by halving."""
        levels = np.asarray(levels, dtype=np.float64)
        low = np.full(levels.shape, float(self.peaks[self.shares > 0].min()))
        high = low + 1.0
        while (beyond := self.p_values(high) > levels).any() and high.max() < 1e300:
            high = np.where(beyond, low + 4 * (high - low), high)
        for _ in range(_HALVINGS):
            middle = low + (high - low) / 2
            is_low = self.p_values(middle) > levels
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        return high
