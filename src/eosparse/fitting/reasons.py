"""What is said about a rung: its name, why it was taken, and whether it promises anything."""

from __future__ import annotations

from eosparse.fitting.rungs import Prepared
from eosparse.inference import Group, Promise, TailCheck

# Groups that hold a larger share together are no mere mistakes.
LARGE_SHARE = 0.05
# Of the rows, those beyond bent margins, or beyond one Gaussian before columns are bent.
MOST_BEYOND = 0.25
# The excess of a tail that is allowed if bends explain so many rows.
_CLOSE = 0.5
# Of the rows that are flagged, so many just beyond the others are a tail; of a group, so many.
_TAIL, _TAIL_OF_GROUP = 0.25, 0.5
# Of the rows that are flagged, those in groups, if the groups are all that is wrong.
_NEARLY_ALL = 0.95
# Of the rows that are flagged, those in groups, if groups are why so many are.
_MOST = 0.75
# Flagged rows just beyond the others, of which fewer are no reason to look for a tail.
_FEW_NEAR = 1.0
# Of the rows, those that are flagged and lie just beyond, if few rows tell the law.
_MOST_NEAR = 0.01
# The same if many rows tell it: such a law may be that of a middle, cut off where flags begin.
_MOST_NEAR_LAW = 0.03
# Fewer rows in the tail of the law cannot tell a heavier tail from errors.
_ROWS_OF_LAW = 100


def has_known_tail(check: TailCheck) -> bool:
    """Whether enough rows tell the tail of the law."""
    return check.tail >= _ROWS_OF_LAW


def may_flag_tail(check: TailCheck) -> bool:
    """Whether some flagged rows may be a tail of the others: many, if the law is well known."""
    least = _MOST_NEAR_LAW * check.total if has_known_tail(check) else _FEW_NEAR
    return check.near >= max(least, _FEW_NEAR)


def doubt_flags(promise: Promise, check: TailCheck) -> Promise:
    """Return no promise if flagged rows may be a tail of the others, which errors rarely are."""
    most = _MOST_NEAR_LAW if has_known_tail(check) else _MOST_NEAR
    if not promise or check.near < _FEW_NEAR or check.near <= most * check.total:
        return promise
    return _blame_tail(check)


def doubt_targets(promise: Promise, check: TailCheck) -> Promise:
    """Return no promise if flagged targets may be a tail: also if few are, but most of the flags.

    The law of residuals has one column only, and a learner that fits less well somewhere widens it.
    """
    if promise and flags_tail(check, ()):
        return _blame_tail(check)
    return doubt_flags(promise, check)


def _blame_tail(check: TailCheck) -> Promise:
    near = f"{check.near:.0f}"
    lie = "lies" if near == "1" else "lie"
    return Promise(
        False, f"{near} of the flagged rows {lie} just beyond the others, and may be a tail"
    )


def doubt_bends(promise: Promise, bent: TailCheck, plain: TailCheck) -> Promise:
    """Return no promise if bends explain many rows that may be outliers beside one Gaussian.

    Scattered outliers on one side of the others look like a skewed column, but not closely.
    """
    share = plain.flagged / plain.total
    if not promise or share <= MOST_BEYOND or bent.excess <= _CLOSE:
        return promise
    return Promise(False, f"{share:.0%} of the rows may be outliers, or skewed columns")


def flags_tail(check: TailCheck, groups: tuple[Group, ...]) -> bool:
    """Whether rows that are flagged lie just beyond the others: no gross errors, and no group."""
    in_groups = _count_in_groups(check, groups)
    if in_groups > _NEARLY_ALL * check.flagged:
        return False
    if in_groups > check.flagged / 2:
        return check.near > _TAIL_OF_GROUP * check.flagged
    return check.near > min(_TAIL * check.flagged, LARGE_SHARE * check.total)


def flags_slope(check: TailCheck) -> bool:
    """Whether rows that are flagged grow fewer farther out, as in a tail: many lie just beyond.

    Of outliers with three times the spread, most lie farther.
    """
    return check.near > _TAIL * check.flagged


def flags_many_near(check: TailCheck) -> bool:
    """Whether many rows are flagged, most of which lie just beyond the others."""
    return check.far > LARGE_SHARE * check.total and 2 * check.near > check.flagged


def flags_groups(check: TailCheck, groups: tuple[Group, ...]) -> bool:
    """Whether most rows that are flagged are in groups."""
    return _count_in_groups(check, groups) >= _MOST * check.flagged


def _count_in_groups(check: TailCheck, groups: tuple[Group, ...]) -> float:
    return check.total * sum(group.share for group in groups if group.is_outlier)


NAMES = {
    "gaussian": "one Gaussian",
    "margins": "one Gaussian after bending the columns",
    "groups": "a few groups",
    "local": "local distances",
}
NOT_FOUND = {
    "margins": "no bent column is closer to normal",
    "groups": "no small number of groups describes the rows",
}


def give_reason(rung: str, prepared: Prepared, failed: list[str]) -> str:
    """Say which rung was taken and why, in a sentence."""
    if rung == "gaussian":
        return "Good rows are described by one Gaussian."
    first = failed[0][0].upper() + failed[0][1:] if failed else ""
    told = {
        "margins": "Good rows are described by one Gaussian after skewed or heavy-tailed columns "
        "are bent to a normal law.",
        "groups": f"Good rows form {prepared.n_groups} groups.",
        "local": "Rows are compared with the rows nearest to them.",
    }[rung]
    return f"{told} {first}." if first else told


def decide(rung: str, check: TailCheck, groups: tuple[Group, ...]) -> Promise:
    """Say whether a rung promises its rate, by how well the rows follow its law."""
    if rung == "local":
        return Promise(False, "the rows follow no simple law")
    if not check.passes:
        return Promise(False, f"the rows do not follow the law of the model: {check.why_not}")
    if not check.convinces:
        return Promise(False, "it is not clear that the rows follow the law of the model")
    apart = [group for group in groups if group.is_outlier]
    share = sum(group.share for group in apart)
    if share > LARGE_SHARE:
        what = str(apart[0])
        if len(apart) > 1:
            n_rows = sum(group.n_rows for group in apart)
            what = f"{n_rows:,} rows ({share:.1%}) sit apart in {len(apart)} groups"
        return Promise(False, f"{what}, and only you can tell whether they are wrong")
    return Promise(True, "the p-values of the rows that belong are as the law says")
