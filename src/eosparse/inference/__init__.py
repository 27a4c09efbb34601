"""From distances to statements: p-values, false-discovery control, explanations."""

from eosparse.inference.distance_law import (
    DistanceLaw,
    FittedGamma,
    ScaledF,
    leave_one_out_distances,
)
from eosparse.inference.explanation import Explanation
from eosparse.inference.false_discovery import benjamini_hochberg

__all__ = [
    "DistanceLaw",
    "Explanation",
    "FittedGamma",
    "ScaledF",
    "benjamini_hochberg",
    "leave_one_out_distances",
]
