"""Error functions g(x, θ), one model per file."""

from eosparse.errors.efficiency import (
    coupling_for_efficiency,
    covariance_parameters,
    largest_stable_coupling,
)
from eosparse.errors.gaussian import (
    STRUCTURES,
    GaussianError,
    Moments,
    Normal,
    SingularFitError,
    Structure,
    weighted_moments,
)
from eosparse.errors.shrinkage import effective_dimension, oas_shrinkage
from eosparse.errors.starts import (
    Candidate,
    StartSearch,
    centre_and_spread,
    weighted_quantiles,
)

__all__ = [
    "STRUCTURES",
    "Candidate",
    "GaussianError",
    "Moments",
    "Normal",
    "SingularFitError",
    "StartSearch",
    "Structure",
    "centre_and_spread",
    "coupling_for_efficiency",
    "covariance_parameters",
    "effective_dimension",
    "largest_stable_coupling",
    "oas_shrinkage",
    "weighted_moments",
    "weighted_quantiles",
]
