"""The paper itself: the closed form and the one loop."""

from eosparse.core.alternation import (
    Callback,
    DescentError,
    Iteration,
    Result,
    State,
    Status,
    alternate,
    solve_from_prior,
    visit,
)
from eosparse.core.arrays import BoolArray, FloatArray, IntArray
from eosparse.core.model import (
    CollapseError,
    ErrorModel,
    Foresight,
    Statistics,
    Trail,
    Visit,
)
from eosparse.core.moments import (
    Moments,
    centred_moments,
    has_lost_digits,
    rough_moments,
    weighted_moments,
)
from eosparse.core.notices import (
    DegenerateDataWarning,
    LostClassWarning,
    MaskingWarning,
    warn_caller,
)
from eosparse.core.numbers import (
    LARGEST_SQUARED,
    check_alpha,
    check_choice,
    check_number,
    check_whole,
)
from eosparse.core.path import alpha_path, longest_plateau
from eosparse.core.perplexity import (
    RowwiseWeights,
    alpha_for_perplexity,
    rowwise_weights,
    rowwise_weights_for_perplexity,
)
from eosparse.core.quantiles import (
    centre_and_spread,
    chi_squared_quantile,
    interpolate_quantiles,
    weighted_quantiles,
)
from eosparse.core.rows import Mergeable, Rows, Strata, fold_blocks, has_gaps, has_mass
from eosparse.core.triangles import (
    factor_lower,
    factor_plainly,
    find_condition,
    invert_lower,
)
from eosparse.core.weights import OptimalWeights, WeightSummary, optimal_weights

__all__ = [
    "LARGEST_SQUARED",
    "BoolArray",
    "Callback",
    "CollapseError",
    "DegenerateDataWarning",
    "DescentError",
    "ErrorModel",
    "FloatArray",
    "Foresight",
    "IntArray",
    "Iteration",
    "LostClassWarning",
    "MaskingWarning",
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
    "Trail",
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
    "chi_squared_quantile",
    "factor_lower",
    "factor_plainly",
    "find_condition",
    "fold_blocks",
    "has_gaps",
    "has_lost_digits",
    "has_mass",
    "interpolate_quantiles",
    "invert_lower",
    "longest_plateau",
    "optimal_weights",
    "rough_moments",
    "rowwise_weights",
    "rowwise_weights_for_perplexity",
    "solve_from_prior",
    "visit",
    "warn_caller",
    "weighted_moments",
    "weighted_quantiles",
]
