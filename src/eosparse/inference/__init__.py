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
    LabelNoise,
    calibrated,
    estimate_label_noise,
    most_likely_wrong,
    probability_wrong,
    rising_with,
)
from eosparse.inference.ranking import area_under_curve, mean_area

__all__ = [
    "DistanceLaw",
    "Explanation",
    "FittedGamma",
    "LabelNoise",
    "ScaledF",
    "SelfPull",
    "area_under_curve",
    "calibrated",
    "estimate_label_noise",
    "mean_area",
    "most_likely_wrong",
    "probability_wrong",
    "rejected_mass",
    "rising_with",
]
