"""The paper itself: the closed form and the one loop."""

from eosparse.core.acceleration import Extrapolates, extrapolated
from eosparse.core.alternation import (
    Callback,
    CollapseError,
    DescentError,
    ErrorModel,
    Iteration,
    Result,
    Rows,
    Statistics,
    Status,
    Strata,
    Visit,
    alternate,
    solve_from_weights,
    visit,
)
from eosparse.core.arrays import BoolArray, FloatArray, IntArray
from eosparse.core.path import alpha_path, longest_plateau
from eosparse.core.weights import (
    OptimalWeights,
    WeightSummary,
    alpha_for_perplexity,
    mixed,
    optimal_weights,
)

__all__ = [
    "BoolArray",
    "Callback",
    "CollapseError",
    "DescentError",
    "ErrorModel",
    "Extrapolates",
    "FloatArray",
    "IntArray",
    "Iteration",
    "OptimalWeights",
    "Result",
    "Rows",
    "Statistics",
    "Status",
    "Strata",
    "Visit",
    "WeightSummary",
    "alpha_for_perplexity",
    "alpha_path",
    "alternate",
    "extrapolated",
    "longest_plateau",
    "mixed",
    "optimal_weights",
    "solve_from_weights",
    "visit",
]
