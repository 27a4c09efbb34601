"""The law of local distances: wider for a tail that goes on from the middle, not for outliers."""

import numpy as np
import pytest
from scipy.special import ndtri

from eosparse.inference import UpperNormal

# Quantiles in place of random numbers: what is compared is free of chance.
LEVELS = (np.arange(2000) + 0.5) / 2000
NORMAL = ndtri(LEVELS)


def find_central_law(errors):
    return UpperNormal._through(errors, np.linspace(0.5, 0.8, 31))


def test_it_is_the_normal_law_of_normal_errors():
    law = UpperNormal.of_errors(3 + 2 * NORMAL)
    np.testing.assert_allclose([law.centre, law.spread], [3, 2], rtol=0.05)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_errors_apart_do_not_widen_it(share):
    n_apart = round(share * len(NORMAL))
    errors = np.append(NORMAL[n_apart:], np.full(n_apart, 12.0))
    law = UpperNormal.of_errors(errors)
    assert law == find_central_law(errors)
    assert (law.p_values(np.array([12.0])) < 1e-6).all()


def test_a_tail_that_goes_on_from_the_middle_is_believed():
    exponential = -np.log1p(-LEVELS)
    law = UpperNormal.of_errors(exponential)
    central = find_central_law(exponential)
    assert law.spread > 1.15 * central.spread
    assert (law.p_values(exponential) < 1e-6).sum() < (central.p_values(exponential) < 1e-6).sum()


def test_units_do_not_matter():
    heavy = np.sign(NORMAL) * np.abs(NORMAL) ** 1.3
    law, other = UpperNormal.of_errors(heavy), UpperNormal.of_errors(5 + 4 * heavy)
    np.testing.assert_allclose([other.centre, other.spread], [5 + 4 * law.centre, 4 * law.spread])
