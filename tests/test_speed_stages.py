"""The stages of a fit whose time is measured exist: a figure of hours must not fail at its end."""

import pytest
from benchmarks.speed.limits import _STAGES


@pytest.mark.parametrize(("label", "owner", "name"), _STAGES)
def test_a_stage_that_is_measured_exists(label, owner, name):
    assert callable(getattr(owner, name)), label
