"""Checks of parameters: what is accepted, and what the error says."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosparse.core import check_alpha, check_choice, check_number, check_whole


@pytest.mark.parametrize(
    ("interval", "accepted", "refused"),
    [
        ("(0, 1)", (0.5, 1e-300), (0, 1, -1, 2)),
        ("[0, 1)", (0, 0.0, np.float32(0.5)), (1, -1e-300)),
        ("(0, 1]", (1, Fraction(1, 3)), (0, 1.0000001)),
        ("[0, inf)", (0, 1e300, np.int8(3)), (np.inf, -1)),
        ("(0, inf]", (np.inf, 3), (0, -np.inf)),
    ],
)
def test_ends_of_an_interval(interval, accepted, refused):
    for value in accepted:
        check_number("fdr", value, interval)
    for value in (*refused, np.nan, True, np.True_, None, "one", [0.5], 1j):
        with pytest.raises(ValueError, match=r"^fdr=.* must be a number in ") as caught:
            check_number("fdr", value, interval)
        assert f"fdr={value!r} must be a number in {interval}." in str(caught.value)


def test_words_are_accepted_beside_numbers():
    for value in ("auto", None, 0.5):
        check_number("shrinkage", value, "[0, 1)", words=("auto", None))
    with pytest.raises(ValueError, match=r"must be a number in \[0, 1\) or 'auto' or None\."):
        check_number("shrinkage", "some", "[0, 1)", words=("auto", None))


@given(st.integers(-5, 5) | st.floats(-5, 5) | st.booleans(), st.integers(-3, 3))
def test_whole_numbers(value, low):
    if isinstance(value, int) and not isinstance(value, bool) and value >= low:
        check_whole("max_iter", value, low)
    else:
        with pytest.raises(ValueError, match=f"must be a whole number in \\[{low}, inf\\)"):
            check_whole("max_iter", value, low)


def test_any_whole_number():
    check_whole("target", np.int64(-7), -np.inf)
    with pytest.raises(ValueError, match=r"^target='y' must be a whole number\.$"):
        check_whole("target", "y", -np.inf)


def test_choices():
    check_choice("start", "random", ("random", "uniform"))
    for value in ("lucky", 3, None, ["random"]):
        with pytest.raises(ValueError, match=r"^start=.* must be one of \('random', 'uniform'\)"):
            check_choice("start", value, ("random", "uniform"))


def test_alpha_may_be_infinite():
    for value in (1e-300, 3, np.inf, "auto"):
        check_alpha(value)
    for value in (0.0, -np.inf, np.nan, None, "all"):
        with pytest.raises(ValueError, match=r"^alpha=.* must be a number in \(0, inf\] or 'auto'"):
            check_alpha(value)
    check_alpha(None, words=(None,))
