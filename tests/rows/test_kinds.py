"""Kinds of columns, from a sample of rows."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosparse.rows import ColumnKind, Kind, recognise_kinds

RNG = np.random.default_rng(17)


def recognise(column, given=None, mass=None):
    column = np.asarray(column, dtype=float)
    mass = np.ones(len(column)) if mass is None else mass
    (found,) = recognise_kinds(column[:, None], mass, ["c"], {} if given is None else {"c": given})
    return found


def zero_inflated(n_rows, share):
    column = RNG.gamma(2.0, size=n_rows)
    column[: int(share * n_rows)] = 0.0
    return column


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (RNG.normal(size=1000), Kind.NUMBER),
        (RNG.normal(50, 5, 1000).round(), Kind.NUMBER),
        (RNG.normal(size=1000).round(1), Kind.NUMBER),
        (RNG.standard_t(2, size=1000).round(), Kind.NUMBER),  # 0 in 26 %, ±1 in 21 % of the rows
        (RNG.geometric(0.25, size=1000), Kind.NUMBER),
        (RNG.integers(0, 2, 1000), Kind.LEVELS),
        (RNG.integers(1, 11, 1000), Kind.LEVELS),
        (RNG.integers(1, 12, 1000), Kind.NUMBER),
        (RNG.poisson(1.5, 1000), Kind.LEVELS),
        (RNG.integers(1, 6, 60), Kind.NUMBER),  # 12 rows per value
        (RNG.integers(1, 4, 60), Kind.LEVELS),
        (RNG.integers(1, 3, 30), Kind.LEVELS),
        (RNG.integers(1, 3, 19), Kind.NUMBER),  # too few rows to tell
        (np.append(np.full(20, 2.0), 3.0), Kind.NUMBER),  # a stray, and no level
        (zero_inflated(1000, 0.41), Kind.HEAP),
        (zero_inflated(2000, 0.99), Kind.HEAP),
        (zero_inflated(1000, 0.1), Kind.NUMBER),
        (np.minimum(RNG.exponential(size=1000), 1.0), Kind.HEAP),
        (np.append(np.zeros(999), 7), Kind.LEVELS),
        (np.full(1000, 5), Kind.IGNORED),
        (np.full(5, 5), Kind.IGNORED),
    ],
)
def test_kinds_follow_from_how_often_values_occur(column, kind):
    assert recognise(column).kind is kind


@pytest.mark.parametrize("n_values", [2, 4, 9])
@pytest.mark.parametrize("share", [0.03, 0.2])
def test_gross_mistakes_that_all_differ_make_no_numbers_of_levels(n_values, share):
    column = np.arange(1000.0) % n_values
    n_wrong = round(share * 1000)
    column[:n_wrong] = RNG.integers(6 * n_values, 60 * n_values, n_wrong)
    found = recognise(RNG.permuted(column))
    assert found.kind is Kind.LEVELS
    assert found.why == f"{n_values} values in {100 * (1 - share):.0f} % of the rows"


@pytest.mark.parametrize("n_values", [2, 5, 10])
def test_a_gross_mistake_or_two_changes_no_kind(n_values):
    ratings = np.arange(400.0) % n_values + 1
    ratings[:2] = 999, -17.3
    assert recognise(ratings).kind is Kind.LEVELS


def test_many_strays_are_no_levels():
    ratings = RNG.integers(1, 6, 1000).astype(float)
    ratings[:100] = RNG.normal(size=100)
    assert recognise(ratings).kind is Kind.NUMBER


def test_reasons_are_phrases():
    assert recognise(np.arange(90) % 3).why == "3 different values"
    assert recognise(zero_inflated(1000, 0.41)) == ColumnKind(
        "c", Kind.HEAP, "0 in 41 % of the rows", 0.0
    )
    assert recognise(np.full(9, 5.0)).why == "always 5"
    assert recognise(np.full(9, np.nan)).why == "no values"
    ratings = np.arange(400.0) % 10
    ratings[:2] = 999, -17.3
    assert recognise(ratings).why == "10 values in 99 % of the rows"


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("as_text", [True, False])
def test_given_kinds_are_taken(kind, as_text):
    found = recognise([1.0, 2.0, 2.0, 3.0], kind.value if as_text else kind)
    assert found.kind is kind
    assert found.heap == (2.0 if kind is Kind.HEAP else None)


def test_a_constant_column_is_ignored_whatever_was_said():
    assert recognise(np.ones(100), "heap").kind is Kind.IGNORED


def test_unknown_columns_and_kinds_are_named():
    with pytest.raises(ValueError, match=r"no column 'size'\. It has 'x0', 'x1', "):
        recognise_kinds(
            np.zeros((3, 20)), np.ones(3), [f"x{i}" for i in range(20)], {"size": "number"}
        )
    with pytest.raises(
        ValueError, match=r"'ordinal' of column 'c' is unknown\. Choose one of 'num"
    ):
        recognise([1.0, 2.0], "ordinal")
    with pytest.raises(ValueError, match="3 of column 'c' is unknown"):
        recognise([1.0, 2.0], 3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 30))
def test_weights_count_rows_and_the_order_does_not(seed, copies, n_zeros):
    rng = np.random.default_rng(seed)
    column = np.append(np.zeros(n_zeros), rng.integers(0, rng.integers(2, 30), 40))
    plain = recognise(np.repeat(column, copies))
    assert recognise(column, mass=np.full(len(column), float(copies))) == plain
    assert recognise(rng.permutation(np.repeat(column, copies))) == plain
    assert pickle.loads(pickle.dumps(plain)) == plain
