"""Pictures of labels, tested by what is drawn."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import t as student
from sklearn.base import BaseEstimator, ClassifierMixin

from eosparse import LabelIssues, find_label_issues
from eosparse.inference import Promise
from eosparse.plots import LabelIssueMatrixDisplay, LabelNoiseDisplay


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


def issues_of(given, suggested, is_issue, classes):
    columns = {"given": given, "suggested": suggested, "is_issue": is_issue}
    promise = Promise(True, "they are as they are")
    table = pd.DataFrame(columns)
    return LabelIssues(table, {}, np.array(classes), "linear", lambda: promise, lambda: None)


def texts(ax):
    return {text.get_position(): text.get_text() for text in ax.texts}


def test_curves_are_means_with_intervals(ax):
    noise = [0.3, 0.0, 0.4]
    scores = {"EOS": [[0.8, 0.9, 1.0], [1, 1, 1], [0.5, 0.7, np.nan]], "plain": [0.7, 0.9, 0.6]}
    display = LabelNoiseDisplay.from_curve(noise, scores, score_name="accuracy", ax=ax)
    np.testing.assert_allclose(display.scores, [[0.9, 1.0, 0.6], [0.7, 0.9, 0.6]])
    half = student.ppf(0.975, 2) * 0.1 / np.sqrt(3)
    np.testing.assert_allclose(display.half_intervals[0, :2], [half, 0.0], atol=1e-15)
    assert np.isnan(display.half_intervals[1]).all()
    curve = ax.containers[0].lines[0]
    np.testing.assert_allclose(curve.get_xdata(), [0.0, 30.0, 40.0])
    np.testing.assert_allclose(curve.get_ydata(), [1.0, 0.9, 0.6])
    segments = ax.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose(segments[1][:, 1], [0.9 - half, 0.9 + half])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["EOS", "plain"]
    assert ax.get_ylabel() == "accuracy"


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that records the labels it is given, and predicts the first class."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        Recorder.seen.append((np.asarray(X), np.asarray(y)))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))


def test_the_given_share_of_labels_is_replaced(ax):
    Recorder.seen = []
    y = np.array(["a", "b", "c", "c"] * 30)
    X = np.arange(120.0)[:, None]
    display = LabelNoiseDisplay.from_estimators(
        {"one": Recorder(), "other": Recorder()},
        X,
        y,
        noise=(0.0, 0.1, 0.5),
        n_repetitions=2,
        ax=ax,
    )
    assert len(Recorder.seen) == 12
    wrong = [given != y[rows[:, 0].astype(int)] for rows, given in Recorder.seen]
    assert [int(mask.sum()) for mask in wrong] == [0, 0, 6, 6, 30, 30] * 2
    np.testing.assert_array_equal(wrong[2], wrong[3])
    assert (wrong[4][wrong[2]]).all()  # more noise keeps the labels that were wrong
    np.testing.assert_allclose(display.scores, 0.25)  # of right labels, which stay right
    assert ax.get_ylabel() == "accuracy"


def test_methods_differ_in_colour_line_and_marker(ax):
    names = [f"method {i}" for i in range(6)]
    LabelNoiseDisplay(np.array([0.0, 0.5]), np.ones((6, 2)), None, names).plot(ax=ax)
    lines = [container.lines[0] for container in ax.containers]
    assert len({line.get_color() for line in lines}) == 6
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == 6


def test_scores_of_another_length_are_refused():
    with pytest.raises(ValueError, match="'EOS' have shape"):
        LabelNoiseDisplay.from_curve([0.0, 0.1], {"EOS": [0.9, 0.8, 0.7]})
    with pytest.raises(ValueError, match="no scores"):
        LabelNoiseDisplay.from_curve([0.0, 0.1], {})


def test_flagged_labels_are_counted(ax):
    given = ["b", "b", "a", "c", "a", "b"]
    suggested = ["a", "a", "c", "c", "b", "c"]
    is_issue = [True, True, True, False, False, True]
    issues = issues_of(given, suggested, is_issue, ["a", "b", "c"])
    display = LabelIssueMatrixDisplay.from_issues(issues, ax=ax)
    assert display.counts.tolist() == [[0, 0, 1], [2, 0, 1], [0, 0, 0]]
    assert texts(ax) == {(2, 0): "1", (0, 1): "2", (2, 1): "1"}
    assert ax.get_title() == "4 labels flagged"
    np.testing.assert_array_equal(ax.images[0].get_array(), display.counts)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]


def test_flagged_labels_of_an_audit_are_drawn(ax):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    X[:, 0] += 2 * np.sign(X[:, 0])
    y[::12] = 1 - y[::12]
    issues = find_label_issues(X, y, random_state=0)
    display = LabelIssueMatrixDisplay.from_issues(issues, ax=ax)
    assert display.counts.sum() == issues.n_issues > 0
    flagged = issues.table[issues.table["is_issue"]]
    for given in (0, 1):
        for suggested in (0, 1):
            both = (flagged["given"] == given) & (flagged["suggested"] == suggested)
            assert display.counts[given, suggested] == both.sum()


def test_nothing_flagged_is_an_empty_matrix(ax):
    issues = issues_of(["a", "b"], ["a", "b"], [False, False], ["a", "b"])
    display = LabelIssueMatrixDisplay.from_issues(issues, ax=ax)
    assert display.counts.tolist() == [[0, 0], [0, 0]]
    assert texts(ax) == {}
    assert ax.get_title() == "0 labels flagged"
    ax.figure.draw_without_rendering()


def test_long_names_are_turned_and_shortened(ax):
    names = ["Schilddrüsenüberfunktion, leicht", "Schilddrüsenüberfunktion, schwer", "$ohne$"]
    LabelIssueMatrixDisplay(np.eye(3, dtype=int), names).plot(ax=ax)
    labels = ax.get_xticklabels()
    assert labels[0].get_text() == "Schilddrü…, leicht"
    assert labels[0].get_rotation() == 90
    ax.figure.draw_without_rendering()


def test_many_classes_have_no_numbers(ax):
    LabelIssueMatrixDisplay(np.ones((30, 30), dtype=int), list(map(str, range(30)))).plot(ax=ax)
    assert texts(ax) == {}


def test_a_regression_has_no_matrix():
    X = np.random.default_rng(0).normal(size=(60, 1))
    issues = find_label_issues(X, X[:, 0] + 0.1, task="regression", random_state=0)
    with pytest.raises(ValueError, match="regression"):
        LabelIssueMatrixDisplay.from_issues(issues)
