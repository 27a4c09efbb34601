"""Error functions g(x, θ), one model per file."""

from eosparse.errors import fused
from eosparse.errors.box_starts import bisected
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
from eosparse.errors.shrinkage import effective_dimension, oas_shrinkage
from eosparse.errors.spa import Boxes, BoxLabelError, BoxSums, Labelled, SPAError, box_sums
from eosparse.errors.starts import (
    Candidate,
    StartSearch,
    centre_and_spread,
    weighted_quantiles,
)

__all__ = [
    "STRUCTURES",
    "BoxLabelError",
    "BoxSums",
    "Boxes",
    "Candidate",
    "Fitted",
    "GaussianError",
    "Labelled",
    "LearnerError",
    "Moments",
    "Normal",
    "NumberedRows",
    "RowWeights",
    "SPAError",
    "SingularFitError",
    "StartSearch",
    "Structure",
    "bisected",
    "box_sums",
    "centre_and_spread",
    "centred_moments",
    "coupling_for_efficiency",
    "covariance_parameters",
    "effective_dimension",
    "fused",
    "has_lost_digits",
    "largest_stable_coupling",
    "largest_uncaptured_coupling",
    "oas_shrinkage",
    "times_transposed",
    "weighted_moments",
    "weighted_quantiles",
]
