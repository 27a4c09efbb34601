"""Pictures of a default detector, whatever the rung it took."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from eosparse import EOSDetector
from eosparse.plots import (
    AlphaPathDisplay,
    DistanceQQDisplay,
    ExplanationDisplay,
    OutlierMapDisplay,
    ToleranceEllipseDisplay,
    WeightsDisplay,
)

mpl.use("Agg")


def draw_ring(rng):
    angle = rng.uniform(0, 2 * np.pi, 400)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.02 * rng.normal(size=(400, 2))


TABLES = {
    "margins": lambda rng: np.exp(rng.normal(size=(400, 2))),
    "groups": lambda rng: rng.normal(size=(400, 2)) + 9 * (np.arange(400) % 2)[:, None],
    "local": draw_ring,
}


@pytest.fixture(scope="module", params=TABLES)
def fitted(request):
    table = pd.DataFrame(TABLES[request.param](np.random.default_rng(0)), columns=["a", "b"])
    detector = EOSDetector().fit(table)
    assert detector.rung_ == request.param
    return detector, table


@pytest.mark.parametrize("display", [DistanceQQDisplay, ExplanationDisplay, OutlierMapDisplay])
def test_pictures_of_every_rung_are_drawn(fitted, display):
    assert display.from_estimator(*fitted).ax_.has_data()


def test_weights_of_every_rung_are_drawn(fitted):
    assert WeightsDisplay.from_estimator(fitted[0]).ax_.has_data()


def test_paths_of_every_rung_are_drawn(fitted):
    detector, table = fitted
    path = detector.path(table)
    assert len(path.alphas) > 5
    assert AlphaPathDisplay.from_path(path, chosen=detector.alpha_).ax_.has_data()


def test_an_ellipse_is_refused_by_name(fitted):
    with pytest.raises(ValueError, match="needs one Gaussian"):
        ToleranceEllipseDisplay.from_estimator(*fitted)
