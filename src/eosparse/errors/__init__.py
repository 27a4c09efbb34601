"""Error functions g(x, θ), one model per file."""

from eosparse.errors import fused
from eosparse.errors.answers import Answers
from eosparse.errors.box_starts import bisected
from eosparse.errors.cluster_starts import cluster_starts
from eosparse.errors.clusters import ClusterError, ClusterSums
from eosparse.errors.custom import CustomError, WeightedRows
from eosparse.errors.efficiency import (
    coupling_for_efficiency,
    covariance_parameters,
    largest_stable_coupling,
    largest_uncaptured_coupling,
)
from eosparse.errors.gaussian import (
    STRUCTURES,
    GaussianError,
    Moments,
    Normal,
    SingularFitError,
    Structure,
    centred_moments,
    has_lost_digits,
    times_transposed,
    weighted_moments,
)
from eosparse.errors.learner import Fitted, LearnerError, NumberedRows, RowWeights
from eosparse.errors.lengths import spatial_median, squared_distances
from eosparse.errors.linear import Line, LinearError, least_absolute_residuals
from eosparse.errors.mixture import Mixture, MixtureError, MixtureMoments
from eosparse.errors.shrinkage import effective_dimension, oas_shrinkage
from eosparse.errors.spa import Boxes, BoxLabelError, BoxSums, Labelled, SPAError, box_sums
from eosparse.errors.starts import (
    Candidate,
    StartSearch,
    centre_and_spread,
    weighted_quantiles,
)
from eosparse.errors.subspace import Plane, SubspaceError

__all__ = [
    "STRUCTURES",
    "Answers",
    "BoxLabelError",
    "BoxSums",
    "Boxes",
    "Candidate",
    "ClusterError",
    "ClusterSums",
    "CustomError",
    "Fitted",
    "GaussianError",
    "Labelled",
    "LearnerError",
    "Line",
    "LinearError",
    "Mixture",
    "MixtureError",
    "MixtureMoments",
    "Moments",
    "Normal",
    "NumberedRows",
    "Plane",
    "RowWeights",
    "SPAError",
    "SingularFitError",
    "StartSearch",
    "Structure",
    "SubspaceError",
    "WeightedRows",
    "bisected",
    "box_sums",
    "centre_and_spread",
    "centred_moments",
    "cluster_starts",
    "coupling_for_efficiency",
    "covariance_parameters",
    "effective_dimension",
    "fused",
    "has_lost_digits",
    "largest_stable_coupling",
    "largest_uncaptured_coupling",
    "least_absolute_residuals",
    "oas_shrinkage",
    "spatial_median",
    "squared_distances",
    "times_transposed",
    "weighted_moments",
    "weighted_quantiles",
]
