"""Error functions g(x, θ), one model per file."""

from eosparse.models.base import Attempt, ErrorMoments, Request, TableModel
from eosparse.models.box_starts import bisect_rows, cut_rows, find_companions
from eosparse.models.cell_search import (
    RowCells,
    choose_cells,
    find_rivals,
    find_spreads,
    measure_cells,
)
from eosparse.models.cells import CellModel
from eosparse.models.cluster_starts import cluster_starts
from eosparse.models.clusters import ClusterModel
from eosparse.models.custom import CustomModel
from eosparse.models.efficiency import (
    coupling_for_efficiency,
    largest_stable_coupling,
    largest_uncaptured_coupling,
)
from eosparse.models.fit import Fit, Surprise
from eosparse.models.gaussian import GaussianModel
from eosparse.models.groups import shows_groups
from eosparse.models.learner import FittedLearner, LearnerModel, NumberedRows
from eosparse.models.lengths import spatial_median, squared_distances
from eosparse.models.linear import Line, LinearModel, least_absolute_residuals
from eosparse.models.mixture import Mixture, MixtureModel
from eosparse.models.neighbours import Metric, NeighbourModel, Neighbours
from eosparse.models.normal import Normal, SingularFitError
from eosparse.models.pairwise import close_gaps, draw_gaps, guess_law
from eosparse.models.shrinkage import oas_shrinkage
from eosparse.models.spa import (
    Boxes,
    BoxLabelModel,
    BoxSums,
    SPAModel,
    smooth_labels,
    sum_boxes,
    sum_by_class,
)
from eosparse.models.subspace import Plane, SubspaceModel

__all__ = [
    "Attempt",
    "BoxLabelModel",
    "BoxSums",
    "Boxes",
    "CellModel",
    "ClusterModel",
    "CustomModel",
    "ErrorMoments",
    "Fit",
    "FittedLearner",
    "GaussianModel",
    "LearnerModel",
    "Line",
    "LinearModel",
    "Metric",
    "Mixture",
    "MixtureModel",
    "NeighbourModel",
    "Neighbours",
    "Normal",
    "NumberedRows",
    "Plane",
    "Request",
    "RowCells",
    "SPAModel",
    "SingularFitError",
    "SubspaceModel",
    "Surprise",
    "TableModel",
    "bisect_rows",
    "choose_cells",
    "close_gaps",
    "cluster_starts",
    "coupling_for_efficiency",
    "cut_rows",
    "draw_gaps",
    "find_companions",
    "find_rivals",
    "find_spreads",
    "guess_law",
    "largest_stable_coupling",
    "largest_uncaptured_coupling",
    "least_absolute_residuals",
    "measure_cells",
    "oas_shrinkage",
    "shows_groups",
    "smooth_labels",
    "spatial_median",
    "squared_distances",
    "sum_boxes",
    "sum_by_class",
]
