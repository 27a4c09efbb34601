"""Pictures, drawn with matplotlib (extra ``eosparse[plots]``)."""

from eosparse.plots.outlier_map import OutlierMapDisplay
from eosparse.plots.tolerance_ellipse import ToleranceEllipseDisplay

__all__ = ["OutlierMapDisplay", "ToleranceEllipseDisplay"]
