"""Plots of rows: tests of what is drawn."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.stats import chi2

from eosparse import AlphaPath, EOSClassifier, EOSDetector, SPAClassifier
from eosparse.core import Status
from eosparse.datasets import load_blood_panel, make_contaminated
from eosparse.plots import (
    AlphaPathDisplay,
    DistanceQQDisplay,
    ExplanationDisplay,
    OutlierMapDisplay,
    ToleranceEllipseDisplay,
    WeightsDisplay,
)
from eosparse.plots._matplotlib import BLUE, FLAGGED, format_name
from eosparse.plots.outlier_map import compute_classical_distances


@pytest.fixture(scope="module")
def fitted():
    X, _ = make_contaminated(300, 3, 0.1, random_state=0)
    return EOSDetector().fit(X), X


@pytest.fixture(scope="module")
def clean():
    """A detector that flags no row."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    detector = EOSDetector(fdr=1e-6).fit(X)
    assert not detector.is_outlier_.any()
    return detector, X


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


def offsets(ax):
    """Return the points drawn as kept and as flagged."""
    return [np.asarray(points.get_offsets()) for points in ax.collections[:2]]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    return next(line for line in ax.get_lines() if line.get_label() == label)


def test_every_weight_is_drawn_in_its_own_order(fitted, ax):
    detector, _ = fitted
    WeightsDisplay.from_estimator(detector, order="row", ax=ax)
    kept, flagged = offsets(ax)
    expected = 300 * detector.weights_[~detector.is_outlier_]
    np.testing.assert_array_equal(kept[:, 0], np.flatnonzero(~detector.is_outlier_))
    np.testing.assert_allclose(kept[:, 1], expected)
    assert len(flagged) == detector.is_outlier_.sum()
    assert flagged[:, 1].min() >= 1e-6  # smaller weights are drawn here
    assert list(line(ax, "T·w = 0.01").get_ydata()) == [0.01, 0.01]


def test_sorted_weights_decrease(fitted, ax):
    detector, _ = fitted
    display = WeightsDisplay.from_estimator(detector, ax=ax)
    kept, flagged = offsets(ax)
    both = np.concatenate([kept, flagged])
    both = both[np.argsort(both[:, 0])]
    assert (np.diff(both[:, 1]) <= 0).all()
    assert ax.get_yscale() == "log"
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


def test_weights_with_nothing_flagged(clean, ax):
    WeightsDisplay.from_estimator(clean[0], ax=ax)
    assert legend(ax) == ["200 kept", "0 flagged", "T·w = 0.01"]


@pytest.mark.parametrize("model", [EOSClassifier(), SPAClassifier(random_state=0)])
def test_weights_of_classifiers(model, ax):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0).astype(int)
    y[:6] = 1 - y[:6]
    display = WeightsDisplay.from_estimator(model.fit(X, y), ax=ax)
    assert display.relative_weights.mean() == pytest.approx(1.0)
    np.testing.assert_array_equal(display.is_outlier, display.relative_weights < 0.01)


def test_zero_weights_are_drawn_and_order_is_checked(ax):
    weights = np.array([2.0, 1.0, 0.0])
    WeightsDisplay(weights, weights < 0.01).plot(ax=ax)
    ax.figure.draw_without_rendering()
    assert offsets(ax)[1][0, 1] == 1e-6
    with pytest.raises(ValueError, match="order"):
        WeightsDisplay(weights, weights < 0.01, order="size").plot(ax=ax)


def test_the_path_shows_counts_and_sizes_with_the_plateau_and_alpha(fitted, ax):
    detector, X = fitted
    path = detector.path(X)
    display = AlphaPathDisplay.from_path(path, chosen=detector.alpha_, ax=ax)
    usable = [status is not Status.COLLAPSED for status in path.statuses]
    counts = line(ax, "flagged rows")
    np.testing.assert_array_equal(counts.get_xdata(), path.alphas[usable])
    np.testing.assert_array_equal(counts.get_ydata(), path.n_flagged[usable])
    sizes = display.size_ax_.get_lines()[0]
    np.testing.assert_array_equal(sizes.get_ydata(), path.effective_sizes[usable])
    run = path.alphas[path.plateau]
    shade = ax.patches[0]
    assert shade.get_x() == pytest.approx(run.min())
    assert shade.get_x() + shade.get_width() == pytest.approx(run.max())
    assert run.min() <= path.plateau_alpha <= run.max()
    assert line(ax, f"α = {detector.alpha_:.3g}, used").get_xdata()[0] == detector.alpha_
    assert ax.get_xscale() == "log"


def test_the_path_of_an_estimator_marks_its_alpha(clean, ax):
    detector, X = clean
    display = AlphaPathDisplay.from_estimator(detector, X, ax=ax)
    assert display.chosen == detector.alpha_


def test_a_path_that_collapses_at_once_is_drawn(ax):
    path = AlphaPath(
        alphas=np.array([0.3]),
        n_flagged=np.array([-1]),
        effective_sizes=np.array([1.0]),
        weights=np.zeros((1, 9)),
        statuses=(Status.COLLAPSED,),
        is_outlier=np.zeros((1, 9), dtype=bool),
    )
    display = AlphaPathDisplay.from_path(path, ax=ax)
    assert (display.plateau, display.collapsed) == (None, 0.3)
    assert len(display.alphas) == 0
    ax.figure.draw_without_rendering()


def test_distances_follow_their_p_values(fitted, ax):
    detector, _ = fitted
    display = DistanceQQDisplay.from_estimator(detector, ax=ax)
    assert (np.diff(display.distances) >= 0).all()
    assert (np.diff(display.quantiles) > 0).all()
    # A row is above the line where its p-value is below its share of rows at least as far.
    tail = 1 - (np.arange(300) + 0.5) / 300
    p_values = np.sort(detector.p_values_)[::-1]
    np.testing.assert_array_equal(display.distances > display.quantiles, p_values < tail)
    kept, flagged = offsets(ax)
    assert (len(kept), len(flagged)) == ((~detector.is_outlier_).sum(), detector.is_outlier_.sum())
    assert flagged[:, 1].min() > kept[:, 1].max()
    ends = line(ax, "equal")
    np.testing.assert_array_equal(ends.get_xdata(), ends.get_ydata())


def test_quantiles_of_chi2_and_new_rows(fitted, ax):
    detector, X = fitted
    display = DistanceQQDisplay.from_estimator(detector, X[:50], law="chi2", ax=ax)
    np.testing.assert_allclose(display.quantiles**2, chi2.ppf((np.arange(50) + 0.5) / 50, 3))
    np.testing.assert_allclose(display.distances**2, np.sort(detector.mahalanobis(X[:50])))
    assert "χ² with 3 degrees of freedom" in ax.get_xlabel()
    with pytest.raises(ValueError, match="law"):
        DistanceQQDisplay.from_estimator(detector, law="normal")


def test_far_rows_make_the_axes_logarithmic(ax):
    X = np.random.default_rng(0).normal(size=(100, 1))
    near = DistanceQQDisplay.from_estimator(EOSDetector().fit(X), ax=ax)
    assert near.ax_.get_yscale() == "linear"
    X[0] = 1e6
    far = DistanceQQDisplay.from_estimator(EOSDetector().fit(X), ax=Figure().subplots())
    assert (far.ax_.get_xscale(), far.ax_.get_yscale()) == ("log", "log")


def test_outlier_map_against_classical_distances(fitted, ax):
    detector, X = fitted
    OutlierMapDisplay.from_estimator(detector, X, against="classical", ax=ax)
    kept, flagged = offsets(ax)
    centred = X - X.mean(axis=0)
    inverse = np.linalg.inv(np.cov(X, rowvar=False, bias=True))
    squared = np.einsum("ij,jk,ik->i", centred, inverse, centred)
    np.testing.assert_allclose(kept[:, 0] ** 2, squared[~detector.is_outlier_])
    np.testing.assert_allclose(flagged[:, 1] ** 2, detector.mahalanobis(X)[detector.is_outlier_])
    assert ax.get_xlabel() == "classical distance"


def test_classical_distances_do_not_depend_on_units():
    X = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_allclose(
        compute_classical_distances(X * [1e-9, 1, 1e9]), compute_classical_distances(X)
    )
    doubled = np.column_stack([X, X[:, 0]])
    np.testing.assert_allclose(compute_classical_distances(doubled), compute_classical_distances(X))


def test_outlier_map_against_a_column_or_an_array(fitted):
    _, X = fitted
    frame = pd.DataFrame(X, columns=["länge", "x" * 200, "$cost$"])
    detector = EOSDetector().fit(frame)
    for against, name, values in (
        ("länge", "länge", X[:, 0]),
        (-2, "x" * 200, X[:, 1]),
        ("$cost$", "$cost$", X[:, 2]),
        (np.arange(300) * 2, "", np.arange(300) * 2),
        (pd.Series(np.arange(300), name="day"), "day", np.arange(300)),
    ):
        ax = Figure().subplots()
        display = OutlierMapDisplay.from_estimator(detector, frame, against=against, ax=ax)
        np.testing.assert_array_equal(offsets(ax)[0][:, 0], values[~detector.is_outlier_])
        assert display.against_name == name
        assert ax.get_xlabel() == format_name(name, 60)
        ax.figure.draw_without_rendering()
    with pytest.raises(ValueError, match="no column 'breite'"):
        OutlierMapDisplay.from_estimator(detector, frame, against="breite")
    with pytest.raises(ValueError, match="no column 3"):
        OutlierMapDisplay.from_estimator(detector, frame, against=3)
    with pytest.raises(ValueError, match="one number per row"):
        OutlierMapDisplay.from_estimator(detector, frame, against=np.arange(7))


def test_outlier_map_against_the_row_number(ax):
    display = OutlierMapDisplay(np.array([1.0, 9.0]), np.array([False, True]), 3.0).plot(ax=ax)
    assert display.against is None
    assert legend(ax) == ["1 kept", "1 flagged", "cut-off"]
    np.testing.assert_array_equal(offsets(ax)[1], [[1.0, 9.0]])


def test_ellipses_by_column_names(fitted, ax):
    _, X = fitted
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    detector = EOSDetector().fit(frame)
    display = ToleranceEllipseDisplay.from_estimator(detector, frame, ("c", 0), ax=ax)
    np.testing.assert_array_equal(display.points, X[:, [2, 0]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "a")


def test_robust_components(ax):
    X, _ = make_contaminated(400, 6, 0.1, inliers="factor", random_state=0)
    X *= 10.0 ** np.arange(6)
    detector = EOSDetector().fit(X)
    display = ToleranceEllipseDisplay.from_components(detector, X, ax=ax)
    unit = np.sqrt(np.diag(detector.covariance_))
    variances = np.linalg.eigvalsh(detector.covariance_ / np.outer(unit, unit))[::-1]
    distances = np.square(display.robust) @ (1 / variances[:2])
    np.testing.assert_allclose(distances, chi2.ppf(0.99, 2))
    # Good rows have about these variances, and no correlation.
    kept = display.points[~detector.is_outlier_]
    np.testing.assert_allclose(kept.var(axis=0), variances[:2], rtol=0.2)
    assert abs(np.corrcoef(kept.T)[0, 1]) < 0.2
    assert ax.get_xlabel() == f"robust component 1 ({100 * variances[0] / 6:.0f} %)"
    with pytest.raises(ValueError, match="two of the 6"):
        ToleranceEllipseDisplay.from_components(detector, X, (0, 6))


def test_a_single_column_has_no_ellipse():
    X = np.random.default_rng(0).normal(size=(100, 1))
    detector = EOSDetector().fit(X)
    with pytest.raises(ValueError, match="two of the 1 "):
        ToleranceEllipseDisplay.from_components(detector, X)
    with pytest.raises(ValueError, match="no column 1"):
        ToleranceEllipseDisplay.from_estimator(detector, X)


def test_bars_show_shares_and_original_values(ax):
    panel = load_blood_panel()
    detector = EOSDetector().fit(panel.X)
    display = ExplanationDisplay.from_estimator(
        detector, panel.X, rows=[133, 224], feature_names=panel.feature_names, ax=ax
    )
    np.testing.assert_allclose(display.shares.sum(axis=1), 1.0)
    widths = [bar.get_width() for bar in ax.patches]
    expected = np.sort(100 * display.shares, axis=1)[:, ::-1][:, :4]
    np.testing.assert_allclose(widths, expected.ravel())
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == "potassium_mmol_l = 47.18"
    assert labels[4] == "glucose_mg_dl = 5.68"
    colours = [to_hex(bar.get_facecolor()).upper() for bar in ax.patches]
    assert (colours[0], colours[4]) == (FLAGGED, BLUE)  # potassium too high, glucose too low
    texts = [text.get_text() for text in ax.texts]
    distance = np.sqrt(detector.mahalanobis(panel.X[[133]])[0])
    assert f"row 133: distance {distance:.3g}" in texts
    assert "99 %" in texts


def test_which_rows_are_explained_and_their_names(fitted, clean):
    detector, X = fitted
    order = np.argsort(-detector.mahalanobis(X))
    display = ExplanationDisplay.from_estimator(detector, X, ax=Figure().subplots())
    assert list(display.row_names) == [f"row {row}" for row in order[:3]]
    frame = pd.DataFrame(X, index=[f"Probe №{i}" for i in range(300)])
    named = ExplanationDisplay.from_estimator(detector, frame, rows=7, ax=Figure().subplots())
    assert list(named.row_names) == ["Probe №7"]
    given = ExplanationDisplay.from_estimator(
        detector, X, rows=-1, row_names=range(300), ax=Figure().subplots()
    )
    assert list(given.row_names) == ["299"]
    nothing = ExplanationDisplay.from_estimator(*clean, ax=Figure().subplots())
    assert list(nothing.row_names) == [f"row {np.argmax(clean[0].mahalanobis(clean[1]))}"]
    with pytest.raises(ValueError, match="2 names for 300 rows"):
        ExplanationDisplay.from_estimator(detector, X, row_names=["a", "b"])


def test_a_polars_frame_has_no_row_names(fitted, ax):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(fitted[1], schema=["a", "b", "c"])
    detector = EOSDetector().fit(frame)
    display = ExplanationDisplay.from_estimator(detector, frame, rows=[4], ax=ax)
    assert list(display.row_names) == ["row 4"]
    np.testing.assert_array_equal(display.values[0], fitted[1][4])


def test_a_single_column_and_long_or_unusual_names(ax):
    X = np.random.default_rng(0).normal(size=(100, 1))
    X[3] = 20.0
    name = "Größe in µm, gemessen am " + "sehr " * 30 + "frühen Morgen"
    display = ExplanationDisplay.from_estimator(
        EOSDetector().fit(X), X, feature_names=[name], row_names=["$a_1$\n"] * 100, ax=ax
    )
    (label,) = [label.get_text() for label in ax.get_yticklabels()]
    assert label == "Größe in µm, g…frühen Morgen = 20"
    assert display.shares.tolist() == [[1.0]]
    ax.figure.draw_without_rendering()


def test_a_row_at_the_location_has_zero_shares(ax):
    display = ExplanationDisplay(np.zeros((1, 2)), np.ones((1, 2)), ["a", "b"], ["row 0"])
    display.plot(ax=ax)
    assert display.shares.tolist() == [[0.0, 0.0]]


@pytest.fixture(scope="module", params=["margins", "groups", "local"])
def climbed(request):
    """A detector of each rung that is not one Gaussian, and a frame with text and dates."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["a", "b"], 300), "x": np.exp(rng.normal(size=300))})
    frame["y"] = rng.normal(size=300)
    if request.param == "groups":
        frame["x"] = rng.normal(20 * (np.arange(300) % 2), 1)
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.normal(0, 99, 300), "D")
    frame.loc[7, "y"] = 40.0
    detector = EOSDetector(model=request.param).fit(frame)
    assert detector.is_outlier_[7]
    return detector, frame


def test_rows_of_every_rung_can_be_mapped(climbed):
    detector, frame = climbed
    display = OutlierMapDisplay.from_estimator(detector, frame)
    assert np.isfinite(display.distances).all()
    assert (display.distances >= 0).all()
    np.testing.assert_array_equal(display.distances > display.cut, display.is_outlier)
    is_gaussian = detector.rung_ == "margins"
    assert display.ax_.get_ylabel().startswith("robust distance" if is_gaussian else "surprise")


def test_quantiles_and_reasons_of_every_rung(climbed):
    detector, frame = climbed
    for rows in (None, frame):
        display = DistanceQQDisplay.from_estimator(detector, rows)
        assert np.isfinite(display.distances).all()
        assert (np.diff(display.distances) >= 0).all()
        assert display.is_outlier[-1]
    reasons = ExplanationDisplay.from_estimator(detector, frame, rows=[7])
    assert int(reasons.shares[0].argmax()) == list(frame.columns).index("y")
    WeightsDisplay.from_estimator(detector)


def test_an_ellipse_needs_one_gaussian(climbed):
    detector, frame = climbed
    with pytest.raises(ValueError, match=r"needs one Gaussian .* EOSDetector\(model='gaussian'\)"):
        ToleranceEllipseDisplay.from_estimator(detector, frame)
    with pytest.raises(ValueError, match="needs one Gaussian"):
        ToleranceEllipseDisplay.from_components(detector, frame)
