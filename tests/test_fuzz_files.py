"""Damaged tables are read or refused, whatever their bytes are; a small part of `make fuzz`."""

import io

import pytest
from benchmarks.fuzz.files import fuzz_files
from hypothesis import given, settings
from hypothesis import strategies as st

from eosparse.cli.faults import UNFORESEEN, describe_fault
from eosparse.tables import read_table

pytestmark = pytest.mark.no_cover


def test_damaged_tables_are_read_or_refused():
    found = fuzz_files(seed=1, seconds=30, most_cases=110)
    assert found.broken == []
    assert {outcome for _, outcome in found.counts} == {"read", "refused"}
    assert len({what.split(",")[0] for what, _ in found.counts}) >= 4


def find_code(data):
    """Return the exit code of the command for some bytes."""
    try:
        read_table("-", io.BytesIO(data))
    except Exception as error:  # whatever reaches a user
        return describe_fault(error)[1]
    return 0


@settings(max_examples=60)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_any_bytes_from_standard_input(data):
    assert find_code(data) != UNFORESEEN
