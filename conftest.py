"""What the tests and the doctests share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def close_figures():
    """Close the figures that a test or an example opened: matplotlib warns about many of them."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
