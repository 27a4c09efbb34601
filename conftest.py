"""What the tests and the doctests share."""

import sys

import hypothesis
import pytest

# No test is timed, and all runs try the same examples, so that a failure is due to a change.
hypothesis.settings.register_profile(
    "eosparse",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("eosparse")


@pytest.fixture(autouse=True)
def close_figures():
    """Close the figures that a test or an example opened: matplotlib warns about many of them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
