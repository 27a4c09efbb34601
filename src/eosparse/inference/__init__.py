"""From distances to statements: p-values, false-discovery control, explanations."""

from eosparse.inference.distance_law import (
    DistanceLaw,
    FittedGamma,
    ScaledF,
    SelfPull,
)
from eosparse.inference.explanation import Explanation
from eosparse.inference.false_discovery import benjamini_hochberg

__all__ = [
    "DistanceLaw",
    "Explanation",
    "FittedGamma",
    "ScaledF",
    "SelfPull",
    "benjamini_hochberg",
]
