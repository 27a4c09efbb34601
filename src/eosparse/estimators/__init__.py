"""What people import."""

from eosparse.estimators.alpha_path import AlphaPath
from eosparse.estimators.detector import EOSDetector
from eosparse.estimators.notices import DegenerateDataWarning, MaskingWarning

__all__ = ["AlphaPath", "DegenerateDataWarning", "EOSDetector", "MaskingWarning"]
