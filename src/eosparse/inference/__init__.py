"""From distances to statements: p-values, false-discovery control, explanations."""

from eosparse.inference.explanation import Explanation
from eosparse.inference.false_discovery import count_rejections
from eosparse.inference.fitted_gamma import FittedGamma
from eosparse.inference.label_noise import (
    Explained,
    LabelNoise,
    estimate_label_noise,
    explain_labels,
    most_likely_wrong,
    rising_with,
)
from eosparse.inference.law import Law
from eosparse.inference.mixture_law import MixtureLaw
from eosparse.inference.pull import NoPull, Pull, SelfPull
from eosparse.inference.ranking import area_under_curve, mean_area
from eosparse.inference.scaled_f import ScaledF

__all__ = [
    "Explained",
    "Explanation",
    "FittedGamma",
    "LabelNoise",
    "Law",
    "MixtureLaw",
    "NoPull",
    "Pull",
    "ScaledF",
    "SelfPull",
    "area_under_curve",
    "count_rejections",
    "estimate_label_noise",
    "explain_labels",
    "mean_area",
    "most_likely_wrong",
    "rising_with",
]
