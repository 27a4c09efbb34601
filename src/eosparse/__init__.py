"""Entropic Outlier Sparsification: learn from data in which some rows are wrong, and find them."""

from eosparse.core import CollapseError, Status
from eosparse.estimators import AlphaPath, DegenerateDataWarning, EOSDetector, MaskingWarning

__version__ = "0.1.0"

__all__ = [
    "AlphaPath",
    "CollapseError",
    "DegenerateDataWarning",
    "EOSDetector",
    "MaskingWarning",
    "Status",
]
