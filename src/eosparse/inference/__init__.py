"""From distances to statements: p-values, false-discovery control, explanations."""

from eosparse.inference.combinations import Combination, Combinations, find_combinations
from eosparse.inference.explanation import Explanation
from eosparse.inference.false_discovery import count_beyond, count_rejections
from eosparse.inference.fitted_gamma import FittedGamma
from eosparse.inference.groups_apart import Group, find_groups_apart
from eosparse.inference.label_noise import (
    LabelExplanation,
    LabelNoise,
    estimate_label_noise,
    explain_labels,
    flag_wrong_labels,
    make_monotone,
)
from eosparse.inference.label_promise import (
    check_targets,
    promise_labels,
    promise_targets,
)
from eosparse.inference.law import Law
from eosparse.inference.mixture_law import MixtureLaw
from eosparse.inference.promise import Promise, TailCheck, have_joint_tails
from eosparse.inference.pull import NoPull, Pull, SelfPull
from eosparse.inference.ranking import compute_auc, compute_mean_auc
from eosparse.inference.scaled_f import ScaledF
from eosparse.inference.upper_normal import UpperNormal

__all__ = [
    "Combination",
    "Combinations",
    "Explanation",
    "FittedGamma",
    "Group",
    "LabelExplanation",
    "LabelNoise",
    "Law",
    "MixtureLaw",
    "NoPull",
    "Promise",
    "Pull",
    "ScaledF",
    "SelfPull",
    "TailCheck",
    "UpperNormal",
    "check_targets",
    "compute_auc",
    "compute_mean_auc",
    "count_beyond",
    "count_rejections",
    "estimate_label_noise",
    "explain_labels",
    "find_combinations",
    "find_groups_apart",
    "flag_wrong_labels",
    "have_joint_tails",
    "make_monotone",
    "promise_labels",
    "promise_targets",
]
