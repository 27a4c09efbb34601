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
    LabelExplanation,
    LabelNoise,
    estimate_label_noise,
    explain_labels,
    flag_wrong_labels,
    make_monotone,
)
from eosparse.inference.mixture_law import MixtureLaw
from eosparse.inference.ranking import compute_auc, compute_mean_auc

__all__ = [
    "DistanceLaw",
    "Explanation",
    "FittedGamma",
    "LabelExplanation",
    "LabelNoise",
    "MixtureLaw",
    "ScaledF",
    "SelfPull",
    "compute_auc",
    "compute_mean_auc",
    "estimate_label_noise",
    "explain_labels",
    "flag_wrong_labels",
    "make_monotone",
    "rejected_mass",
]
