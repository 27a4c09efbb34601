"""Plots, drawn with matplotlib (``pip install 'eosparse[plots]'``).

Every plot is a display, as in scikit-learn: a class method computes the data from a fitted
estimator and draws them on `ax`, or on new axes. The display keeps the data, and `plot` draws them
again.
"""

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
