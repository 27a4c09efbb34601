"""Numbers as people write them are read as they are meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosparse.rows.number_text import find_decimal_mark, find_notation, tell_decimal_mark

UNITS = [
    ("", ""),
    ("$", ""),
    ("€ ", ""),
    ("", " %"),
    ("", "%"),
    ("", " ct"),
    ("", "mm"),
    ("CHF ", ""),
]
amounts = st.integers(-(10**9), 10**9).map(lambda cents: cents / 100)


def write(number, mark, thousands, unit):
    """A number with two decimals, as a spreadsheet shows it."""
    text = f"{abs(number):,.2f}".replace(",", "t").replace(".", mark).replace("t", thousands)
    return ("-" if number < 0 else "") + unit[0] + text + unit[1]


@given(
    st.lists(amounts, min_size=1, max_size=20),
    st.sampled_from([(".", ","), (",", "."), (".", "'"), (",", "\u00a0"), (".", ""), (",", "")]),
    st.sampled_from(UNITS),
)
def test_any_amount_is_read_as_it_was_written(numbers, marks, unit):
    cells = [write(number, *marks, unit) for number in numbers]
    notation = find_notation(cells)
    assert [notation.parse(cell) for cell in cells] == numbers
    assert notation.parse(notation.write(f"{numbers[0]:.2f}")) == numbers[0]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=10))
def test_what_python_writes_is_read_again(numbers):
    cells = [repr(number) for number in numbers]
    notation = find_notation([*cells, "0.5", "0.25"])
    assert notation.decimal == "." or not any("." in cell for cell in cells)
    assert [notation.parse(cell) for cell in cells] == numbers


@pytest.mark.parametrize(
    ("number", "mark"),
    [
        ("1.5", "."), ("1,5", ","), ("0.643", "."), ("0,643", ","), ("1643.5", "."),
        ("1,234.5", "."), ("1.234,5", ","), ("1,234,567", "."), ("1.234.567", ","),
        ("1.643", None), ("1,643", None), ("-12.000", None), ("17", None), ("x", None),
        ("1.5e-3", "."), ("1,5e-3", ","),
    ],
)  # fmt: skip
def test_which_numbers_tell_their_decimal_mark(number, mark):
    assert tell_decimal_mark(number) == mark
    assert find_decimal_mark([number], usual="?") == (mark or "?")


@pytest.mark.parametrize(
    "cells",
    [
        ["1,23,456"], ["1.2.3"], ["12,34.5"], ["--5"], ["5-"], ["$"], ["%"], ["1 2"], ["0x1F"],
        ["1_000"], ["five"], ["12 kg 3"], ["5 kg", "5 lb"], ["€5", "$5"], ["+-5"], [""], [" "],
    ],
)  # fmt: skip
def test_other_cells_are_no_numbers(cells):
    assert find_notation(cells) is None
