"""From distances to statements: p-values, false-discovery control, explanations."""

from eosparse.inference.distance_law import (
    DistanceLaw,
    FittedGamma,
    ScaledF,
    SelfPull,
)
from eosparse.inference.explanation import Explanation
from eosparse.inference.false_discovery import rejected_mass
from eosparse.inference.label_noise import (
    Explained,
    LabelNoise,
    estimate_label_noise,
    explain_labels,
    most_likely_wrong,
    rising_with,
)
from eosparse.inference.mixture_law import MixtureLaw
from eosparse.inference.ranking import area_under_curve, mean_area

__all__ = [
    "DistanceLaw",
    "Explained",
    "Explanation",
    "FittedGamma",
    "LabelNoise",
    "MixtureLaw",
    "ScaledF",
    "SelfPull",
    "area_under_curve",
    "estimate_label_noise",
    "explain_labels",
    "mean_area",
    "most_likely_wrong",
    "rejected_mass",
    "rising_with",
]
