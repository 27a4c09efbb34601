"""Entropic Outlier Sparsification: learn from data in which some rows are wrong, and find them."""

from eosparse.affinities import (
    EntropicAffinities,
    UnreachedPerplexityWarning,
    entropic_affinities,
)
from eosparse.core import CollapseError, Status
from eosparse.estimators import (
    EOSPCA,
    AlphaPath,
    DegenerateDataWarning,
    EOSClassifier,
    EOSDetector,
    EOSGaussianMixture,
    EOSKMeans,
    EOSRegressor,
    LabelIssues,
    LostClassWarning,
    MaskingWarning,
    SPAClassifier,
    find_label_issues,
)
from eosparse.rows import open_rows

__version__ = "0.1.0"

__all__ = [
    "EOSPCA",
    "AlphaPath",
    "CollapseError",
    "DegenerateDataWarning",
    "EOSClassifier",
    "EOSDetector",
    "EOSGaussianMixture",
    "EOSKMeans",
    "EOSRegressor",
    "EntropicAffinities",
    "LabelIssues",
    "LostClassWarning",
    "MaskingWarning",
    "SPAClassifier",
    "Status",
    "UnreachedPerplexityWarning",
    "entropic_affinities",
    "find_label_issues",
    "open_rows",
]
