"""Pictures, drawn with matplotlib (extra ``eosparse[plots]``)."""

from eosparse.plots.alpha_path import AlphaPathDisplay
from eosparse.plots.distance_qq import DistanceQQDisplay
from eosparse.plots.explanation import ExplanationDisplay
from eosparse.plots.label_issues import LabelIssueMatrixDisplay
from eosparse.plots.label_noise import LabelNoiseDisplay
from eosparse.plots.outlier_map import OutlierMapDisplay
from eosparse.plots.tolerance_ellipse import ToleranceEllipseDisplay
from eosparse.plots.weights import WeightsDisplay

__all__ = [
    "AlphaPathDisplay",
    "DistanceQQDisplay",
    "ExplanationDisplay",
    "LabelIssueMatrixDisplay",
    "LabelNoiseDisplay",
    "OutlierMapDisplay",
    "ToleranceEllipseDisplay",
    "WeightsDisplay",
]
