"""What people import."""

from eosparse.core import DegenerateDataWarning, LostClassWarning, MaskingWarning
from eosparse.estimators.classifier import EOSClassifier
from eosparse.estimators.detector import EOSDetector
from eosparse.estimators.kmeans import EOSKMeans
from eosparse.estimators.label_audit import LabelIssues, find_label_issues
from eosparse.estimators.mixture import EOSGaussianMixture
from eosparse.estimators.pca import EOSPCA
from eosparse.estimators.regressor import EOSRegressor
from eosparse.estimators.spa import SPAClassifier
from eosparse.fitting.alpha_path import AlphaPath

__all__ = [
    "EOSPCA",
    "AlphaPath",
    "DegenerateDataWarning",
    "EOSClassifier",
    "EOSDetector",
    "EOSGaussianMixture",
    "EOSKMeans",
    "EOSRegressor",
    "LabelIssues",
    "LostClassWarning",
    "MaskingWarning",
    "SPAClassifier",
    "find_label_issues",
]
