"""Entropic Outlier Sparsification: learn from data in which some rows are wrong, and find them.

Names are imported when they are first used, so ``import eosparse`` and the command start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:  # for type checkers and editors; at run time, see __getattr__
    from eosparse.affinities import (
        EntropicAffinities,
        UnreachedPerplexityWarning,
        entropic_affinities,
    )
    from eosparse.core import (
        CollapseError,
        DegenerateDataWarning,
        LostClassWarning,
        MaskingWarning,
        Status,
    )
    from eosparse.estimators import (
        EOSPCA,
        EOSCells,
        EOSClassifier,
        EOSDetector,
        EOSGaussianMixture,
        EOSKMeans,
        EOSRegressor,
        LabelIssues,
        SPAClassifier,
        find_label_issues,
    )
    from eosparse.fitting.alpha_path import AlphaPath
    from eosparse.rows import open_rows

__all__ = [
    "EOSPCA",
    "AlphaPath",
    "CollapseError",
    "DegenerateDataWarning",
    "EOSCells",
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

# Names that are not in eosparse.estimators.
_ELSEWHERE = {
    "AlphaPath": "fitting.alpha_path",
    "CollapseError": "core",
    "DegenerateDataWarning": "core",
    "EntropicAffinities": "affinities",
    "LostClassWarning": "core",
    "MaskingWarning": "core",
    "Status": "core",
    "UnreachedPerplexityWarning": "affinities",
    "entropic_affinities": "affinities",
    "open_rows": "rows",
}
_SUBPACKAGES = (
    "affinities",
    "checks",
    "core",
    "datasets",
    "estimators",
    "inference",
    "models",
    "plots",
    "rows",
    "tables",
)


def __getattr__(name: str) -> object:
    if name in _SUBPACKAGES:
        return import_module(f"eosparse.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'eosparse' has no attribute {name!r}")
    home = import_module(f"eosparse.{_ELSEWHERE.get(name, 'estimators')}")
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
