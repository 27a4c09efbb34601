"""Tables that estimators are given: frames with more than numbers."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from eosparse import EOSDetector
from eosparse.fitting.table_input import open_new, open_training, read_new
from eosparse.rows import Kind
from eosparse.rows.levels import UNSEEN


class Taker(BaseEstimator):
    """An estimator that takes kinds."""

    _takes_kinds = True
    offset_ = 0.0

    def __init__(self, kinds=None):
        self.kinds = kinds

    def fit(self, X):
        """Open the rows."""
        self.rows_ = open_training(self, X)
        return self


class Other(BaseEstimator):
    """One that does not."""


COLUMNS = {
    "age": [31.0, 27.0, 45.0, 60.0, 22.0],
    "sex": ["m", "f", "f", "m", "m"],
    "is_member": [True, False, True, True, False],
}
NUMBERS = [[31, 1, 1], [27, 0, 0], [45, 0, 1], [60, 1, 1], [22, 1, 0]]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_opened_by_their_types(make):
    estimator = Taker()
    rows = open_training(estimator, make(COLUMNS), np.arange(1.0, 6.0))
    assert rows.values.tolist() == NUMBERS
    assert rows.columns == tuple(COLUMNS)
    assert rows.mass == 15
    assert estimator.n_features_in_ == 3
    assert estimator.feature_names_in_.tolist() == list(COLUMNS)
    assert estimator._reader.kinds == {"sex": Kind.CATEGORY, "is_member": Kind.LEVELS}
    estimator = pickle.loads(pickle.dumps(estimator))
    new = make({"age": [1.0], "sex": ["x"], "is_member": [True]})
    assert open_new(estimator, new).values.tolist() == [[1, UNSEEN, 1]]
    assert read_new(estimator, new, "explain").tolist() == [[1, UNSEEN, 1]]


def test_kinds_of_the_estimator_are_used():
    frame = pd.DataFrame({**COLUMNS, "name": list("vwxyz")})
    estimator = Taker(kinds={"name": "ignored"})
    assert open_training(estimator, frame).values[:, 3].tolist() == [0] * 5
    with pytest.raises(ValueError, match=r"kinds=\{'name': 'ignored'\}"):
        open_training(Taker(), frame)
    with pytest.raises(ValueError, match="no column 'nme'"):
        open_training(Taker({"nme": "ignored"}), frame)


def test_new_rows_must_be_such_a_frame():
    estimator = Taker()
    open_training(estimator, pd.DataFrame(COLUMNS))
    with pytest.raises(TypeError, match="pass a pandas or polars DataFrame"):
        open_new(estimator, np.zeros((2, 3)))
    with pytest.raises(TypeError, match="pass a pandas or polars DataFrame"):
        open_new(estimator, "table.csv")
    with pytest.raises(ValueError, match="same order"):
        open_new(estimator, pd.DataFrame(COLUMNS)[["sex", "age", "is_member"]])
    with pytest.raises(ValueError, match="0 sample"):
        open_new(estimator, pd.DataFrame(COLUMNS)[:0])


def test_feature_names_are_checked_in_the_words_of_scikit_learn():
    mixed, numeric = Taker(), Taker()
    frame = pd.DataFrame(COLUMNS)
    open_training(mixed, frame)
    open_training(numeric, frame.assign(sex=1.0, is_member=0.0))
    for new in (["sex", "age", "is_member"], ["age", "sex", "member"], ["age", "sex"], ["a", "b"]):
        rows = pd.DataFrame(np.zeros((1, len(new))), columns=new)
        messages = []
        for estimator in (mixed, numeric):
            with pytest.raises(ValueError, match="feature names") as caught:
                open_new(estimator, rows)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


def test_few_rows_are_too_few():
    with pytest.raises(ValueError, match="minimum of 4"):
        open_training(Taker(), pd.DataFrame(COLUMNS)[:3])
    with pytest.raises(ValueError, match="rows that count"):
        open_training(Taker(), pd.DataFrame(COLUMNS), np.array([1.0, 1, 1, 0, 0]))


@pytest.mark.parametrize("X", [np.ones((5, 2)), pd.DataFrame(np.ones((5, 2)), columns=["a", "b"])])
def test_tables_of_numbers_need_no_reader(X):
    estimator = Taker()
    open_training(estimator, pd.DataFrame(COLUMNS))
    open_training(estimator, X)
    assert not hasattr(estimator, "_reader")
    assert hasattr(estimator, "feature_names_in_") == isinstance(X, pd.DataFrame)


def test_other_estimators_refuse_text():
    with pytest.raises(ValueError, match="could not convert"):
        open_training(Other(), pd.DataFrame(COLUMNS))


def test_booleans_of_a_detector_are_the_numbers_they_were():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=(300, 2)), rng.random(300) < 0.5])
    frame = pd.DataFrame(values, columns=list("abc")).astype({"c": bool})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a 0/1 column is no Gaussian
        plain, read = EOSDetector().fit(values), EOSDetector().fit(frame)
    np.testing.assert_array_equal(plain.weights_, read.weights_)
    np.testing.assert_array_equal(plain.predict(values), read.predict(frame))
