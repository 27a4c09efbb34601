"""What people import, one class per file; each file is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and editors; at run time, see __getattr__
    from eosparse.estimators.cells import EOSCells
    from eosparse.estimators.classifier import EOSClassifier
    from eosparse.estimators.detector import EOSDetector
    from eosparse.estimators.kmeans import EOSKMeans
    from eosparse.estimators.label_audit import find_label_issues
    from eosparse.estimators.label_issues import LabelIssues
    from eosparse.estimators.mixture import EOSGaussianMixture
    from eosparse.estimators.pca import EOSPCA
    from eosparse.estimators.regressor import EOSRegressor
    from eosparse.estimators.spa import SPAClassifier

_FILES = {
    "EOSPCA": "pca",
    "EOSCells": "cells",
    "EOSClassifier": "classifier",
    "EOSDetector": "detector",
    "EOSGaussianMixture": "mixture",
    "EOSKMeans": "kmeans",
    "EOSRegressor": "regressor",
    "LabelIssues": "label_issues",
    "SPAClassifier": "spa",
    "find_label_issues": "label_audit",
}

__all__ = [
    "EOSPCA",
    "EOSCells",
    "EOSClassifier",
    "EOSDetector",
    "EOSGaussianMixture",
    "EOSKMeans",
    "EOSRegressor",
    "LabelIssues",
    "SPAClassifier",
    "find_label_issues",
]


def __getattr__(name: str) -> object:
    if name not in _FILES:
        raise AttributeError(f"module 'eosparse.estimators' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"eosparse.estimators.{_FILES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FILES})
