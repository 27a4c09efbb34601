"""The paper itself: the closed form and the one loop."""

from eosparse.core.acceleration import Foresees, Foresight, foreseen
from eosparse.core.alternation import (
    Callback,
    CollapseError,
    DescentError,
    ErrorModel,
    Iteration,
    Mergeable,
    Result,
    Rows,
    State,
    Statistics,
    Status,
    Strata,
    Visit,
    alternate,
    counts,
    fold_blocks,
    solve_from_prior,
    visit,
)
from eosparse.core.arrays import BoolArray, FloatArray, IntArray
from eosparse.core.moments import (
    Moments,
    centred_moments,
    has_lost_digits,
    weighted_moments,
)
from eosparse.core.numbers import check_alpha, check_choice, check_number, check_whole
from eosparse.core.path import alpha_path, longest_plateau
from eosparse.core.perplexity import (
    RowwiseWeights,
    alpha_for_perplexity,
    rowwise_weights,
    rowwise_weights_for_perplexity,
)
from eosparse.core.quantiles import centre_and_spread, weighted_quantiles
from eosparse.core.weights import OptimalWeights, WeightSummary, mixed, optimal_weights

__all__ = [
    "BoolArray",
    "Callback",
    "CollapseError",
    "DescentError",
    "ErrorModel",
    "FloatArray",
    "Foresees",
    "Foresight",
    "IntArray",
    "Iteration",
    "Mergeable",
    "Moments",
    "OptimalWeights",
    "Result",
    "Rows",
    "RowwiseWeights",
    "State",
    "Statistics",
    "Status",
    "Strata",
    "Visit",
    "WeightSummary",
    "alpha_for_perplexity",
    "alpha_path",
    "alternate",
    "centre_and_spread",
    "centred_moments",
    "check_alpha",
    "check_choice",
    "check_number",
    "check_whole",
    "counts",
    "fold_blocks",
    "foreseen",
    "has_lost_digits",
    "longest_plateau",
    "mixed",
    "optimal_weights",
    "rowwise_weights",
    "rowwise_weights_for_perplexity",
    "solve_from_prior",
    "visit",
    "weighted_moments",
    "weighted_quantiles",
]
