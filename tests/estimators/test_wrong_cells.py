"""EOSCells: wrong cells, what they should have been, and how sure it is."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from eosparse import EOSCells, EOSDetector

NAMES = list("abcdef")


def draw_table(rng, n_rows=800, share=0.02, shift=8.0):
    X = rng.multivariate_normal(np.arange(6), 0.75 + 0.25 * np.eye(6), n_rows)
    truth = X.copy()
    wrong = rng.random(X.shape) < share
    X[wrong] += shift * rng.choice([-1, 1], wrong.sum())
    return X, wrong, truth


@pytest.fixture(scope="module")
def table():
    return draw_table(np.random.default_rng(0))


@pytest.fixture(scope="module")
def fitted(table):
    return EOSCells().fit(pd.DataFrame(table[0], columns=NAMES))


def test_wrong_cells_are_found_and_repaired(table, fitted):
    X, wrong, truth = table
    found = fitted.is_wrong_cell_
    assert found[wrong].mean() > 0.97
    assert (found & ~wrong).sum() <= 0.03 * found.sum()
    repaired = fitted.transform(pd.DataFrame(X, columns=NAMES))
    np.testing.assert_array_equal(repaired[~found], X[~found])
    error = np.sqrt(np.mean((repaired - truth)[wrong & found] ** 2))
    assert error < 0.7  # the conditional deviation is 0.54, that of a median 1
    assert fitted.promise_
    inside = (fitted.expected_low_ < truth) & (truth < fitted.expected_high_)
    assert inside[~wrong].mean() == pytest.approx(0.95, abs=0.02)
    assert inside[wrong].mean() == pytest.approx(0.95, abs=0.06)
    np.testing.assert_allclose(fitted.covariance_, 0.75 + 0.25 * np.eye(6), atol=0.12)


@pytest.mark.parametrize("seed", range(4))
def test_clean_tables_have_uniform_p_values_and_hardly_a_wrong_cell(seed):
    X, _, _ = draw_table(np.random.default_rng(seed), share=0.0)
    cells = EOSCells().fit(X)
    assert cells.is_wrong_cell_.sum() <= 1
    for level in (0.01, 0.1, 0.5):
        bound = 5 * np.sqrt(level / X.size)
        assert (cells.cell_p_values_ < level).mean() == pytest.approx(level, abs=bound)
    # Nothing is wrong: the covariance is that of all rows, but for their weights.
    np.testing.assert_allclose(cells.covariance_, np.cov(X.T), atol=0.06)


def test_with_many_columns_cells_are_found_where_most_rows_are_spoilt():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(40), 0.6 + 0.4 * np.eye(40), 600)
    wrong = rng.random(X.shape) < 0.03
    X[wrong] = 9.0
    assert wrong.any(axis=1).mean() > 0.6
    cells = EOSCells().fit(X)
    assert cells.is_wrong_cell_[wrong].mean() > 0.99
    assert (cells.is_wrong_cell_ & ~wrong).sum() <= 0.03 * wrong.sum()
    np.testing.assert_allclose(cells.location_, 0.0, atol=0.2)


def test_rows_that_are_wrong_as_a_whole_are_told_apart():
    X, _, _ = draw_table(np.random.default_rng(1), share=0.0)
    X[:30] = np.random.default_rng(2).uniform(-30, 30, (30, 6))
    X[100, 2] = 40.0
    cells = EOSCells().fit(X)
    assert cells.is_wrong_row_[:30].mean() > 0.9
    assert cells.is_wrong_row_[30:].sum() == 0
    assert cells.is_outlier_[:30].all()
    assert cells.is_outlier_[100]
    assert np.flatnonzero(cells.is_wrong_cell_[100]).tolist() == [2]


def test_units_and_the_order_of_rows_change_nothing(table, fitted):
    X, _, _ = table
    order = np.random.default_rng(3).permutation(len(X))
    permuted = EOSCells().fit(X[order])
    np.testing.assert_array_equal(permuted.is_wrong_cell_, fitted.is_wrong_cell_[order])
    scaled = EOSCells().fit(X * [1, 1e6, 1e-3, 1, 1, 1] + 7)
    np.testing.assert_array_equal(scaled.is_wrong_cell_, fitted.is_wrong_cell_)
    single = EOSCells().fit(X.astype(np.float32))
    assert (single.is_wrong_cell_ != fitted.is_wrong_cell_).sum() <= 1
    assert single.transform(X.astype(np.float32)).dtype == np.float32


def test_storages_agree(table, fitted, tmp_path):
    dask = pytest.importorskip("dask.dataframe")
    X, _, _ = table
    frame = pd.DataFrame(X, columns=NAMES)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    there = EOSCells().fit(tmp_path / "rows.parquet")
    np.testing.assert_allclose(there.covariance_, fitted.covariance_, rtol=1e-9)
    assert there.cell_cut_ == pytest.approx(fitted.cell_cut_)
    np.testing.assert_array_equal(there.find_wrong(there.judge(frame)), fitted.is_wrong_cell_)
    with pytest.raises(AttributeError, match="rows in memory"):
        _ = there.is_wrong_cell_
    on_cluster = EOSCells().fit(dask.from_pandas(frame, npartitions=3))
    np.testing.assert_allclose(on_cluster.covariance_, fitted.covariance_, rtol=1e-9)


def test_gaps_are_expected_too_and_say_nothing(table):
    X, wrong, truth = table
    X = X.copy()
    gaps = np.random.default_rng(4).random(X.shape) < 0.1
    X[gaps] = np.nan
    cells = EOSCells(fill_gaps=True).fit(X)
    assert not cells.is_wrong_cell_[gaps].any()
    assert np.isnan(cells.cell_p_values_[gaps]).all()
    assert cells.is_wrong_cell_[wrong & ~gaps].mean() > 0.95
    repaired = cells.transform(X)
    assert np.isfinite(repaired).all()
    assert np.sqrt(np.mean((repaired - truth)[gaps] ** 2)) < 0.75
    kept = clone(cells).set_params(fill_gaps=False).fit(X).transform(X)
    np.testing.assert_array_equal(np.isnan(kept), gaps)


def test_skewed_columns_are_judged_and_repaired_in_their_own_units():
    rng = np.random.default_rng(0)
    X = np.exp(rng.multivariate_normal(np.zeros(4), 0.8 + 0.2 * np.eye(4), 1500))
    truth, wrong = X.copy(), rng.random(X.shape) < 0.01
    X[wrong] *= 100
    cells = EOSCells().fit(X)
    assert cells.is_wrong_cell_[wrong].mean() > 0.95
    assert (cells.is_wrong_cell_ & ~wrong).sum() <= 0.1 * wrong.sum()
    assert (cells.expected_ > 0).all()
    ratio = np.log(cells.expected_ / truth)[wrong]
    assert np.sqrt(np.mean(ratio**2)) < 0.8


def make_frame():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 600)
    height = rng.normal(np.where(sex == "m", 180, 166), 6)
    weight = 0.9 * height - 90 + rng.normal(0, 6, 600)
    frame = pd.DataFrame({"sex": sex, "height": height, "weight": weight})
    frame["shoe"] = (0.25 * height + rng.normal(0, 0.8, 600)).round().astype(int)
    frame.loc[3, "height"] = 17.8
    frame.loc[5, "shoe"] = 420
    frame.loc[9, ["sex", "height", "weight", "shoe"]] = ["m", 149.0, 45.0, 37]
    return frame


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas])
def test_data_frames_come_back_as_they_were(make):
    frame = make(make_frame())
    cells = EOSCells().fit(frame)
    listed = cells.list_wrong(frame)
    assert {(cell.row, cell.column) for cell in listed} == {(3, "height"), (5, "shoe"), (9, "sex")}
    told = {cell.column: cell for cell in listed}
    assert (told["sex"].value, told["sex"].expected) == ("m", "f")
    assert 150 < told["height"].low < told["height"].expected < told["height"].high < 200
    repaired = cells.repair(frame)
    assert type(repaired) is type(frame)
    assert repaired["sex"][9] == "f"
    assert 36 < repaired["shoe"][5] < 50
    assert repaired["shoe"].dtype == frame["shoe"].dtype
    assert frame["shoe"][5] == 420  # the original is not touched
    assert listed.to_frame()["row"].tolist() == [cell.row for cell in listed]


def test_a_group_in_a_column_is_no_heap_of_wrong_cells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    X[rng.random(500) < 0.4, 3] += 40
    cells = EOSCells().fit(X)
    assert not cells.promise_
    assert "'x3'" in cells.promise_.reason
    assert cells.is_wrong_cell_.sum() <= 2


def _plant_near_cells(share, length):
    """Return rows whose wrong cells lie where good rows vary least, and their correlation."""
    rng, places = np.random.default_rng(0), np.arange(20)
    correlation = (-0.9) ** np.abs(places[:, None] - places)
    X = rng.multivariate_normal(np.zeros(20), correlation, 400)
    wrong = rng.random(X.shape) < share
    for row, is_wrong in zip(X, wrong, strict=True):
        part = correlation[np.ix_(is_wrong, is_wrong)]
        values, vectors = np.linalg.eigh(part)
        if len(values):
            row[is_wrong] = length * np.sqrt(len(values) * values[0]) * vectors[:, 0]
    return X, wrong, correlation


@pytest.mark.parametrize(
    ("share", "length", "most", "least"), [(0.1, 2, 1.5, 0.6), (0.15, 1, 2.6, 0.35)]
)
def test_wrong_cells_that_lie_near_do_not_widen_the_law(share, length, most, least):
    X, wrong, correlation = _plant_near_cells(share, length)
    cells = EOSCells().fit(X)
    ratio = np.linalg.solve(correlation, cells.covariance_)
    assert np.trace(ratio) - 20 - np.linalg.slogdet(ratio)[1] < most
    apart = cells.cell_p_values_ < 0.01
    assert 2 * (apart & wrong).sum() / (apart.sum() + wrong.sum()) > least


def test_variances_of_clean_tables_are_not_too_small():
    rng = np.random.default_rng(0)
    covariance = 0.6 + 0.4 * np.eye(6)
    X = rng.multivariate_normal(np.zeros(6), covariance, 4000)
    spreads = [1 / np.diag(np.linalg.inv(c)) for c in (EOSCells().fit(X).covariance_, np.cov(X.T))]
    assert np.allclose(*spreads, rtol=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_the_tail_of_one_skewed_column_among_others_is_not_wrong(seed):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(6), 0.6 + 0.4 * np.eye(6), 1000)
    X[:, 0] = np.exp(X[:, 0])
    assert EOSCells().fit(X).is_wrong_cell_.sum() <= 2


@pytest.mark.parametrize("law", ["t", "gamma"])
def test_cells_of_another_law_are_hardly_flagged_and_nothing_is_promised(law):
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, (800, 5)) if law == "t" else rng.gamma(0.7, size=(800, 5))
    X[:, 1:] += X[:, :-1]
    cells = EOSCells().fit(X)
    assert cells.is_wrong_cell_.mean() < 0.005
    assert not (cells.promise_ and cells.is_wrong_cell_.sum() > 2)


def test_few_rows_for_many_columns_are_shrunk():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(40, 3))
    X = factors @ rng.normal(size=(3, 60)) + 0.5 * rng.normal(size=(40, 60))
    X[3, 7] = 60.0
    cells = EOSCells().fit(X)
    assert cells.is_wrong_cell_[3, 7]
    assert cells.is_wrong_cell_.mean() < 0.01


@pytest.mark.parametrize("bend", [False, True])
def test_the_detector_says_which_cells_would_make_a_row_belong(table, bend):
    X, wrong, truth = table
    X = np.exp(X / 2) if bend else X
    detector = EOSDetector().fit(X)
    assert detector.rung_ == ("margins" if bend else "gaussian")
    rows = np.flatnonzero(detector.is_outlier_)
    found = {(int(rows[cell.row]), int(cell.column[1:])) for cell in detector.corrections(X[rows])}
    expected = {(i, j) for i, j in np.argwhere(wrong).tolist() if i in set(rows)}
    assert len(found & expected) >= 0.9 * len(expected)
    assert len(found - expected) <= 0.1 * len(found)
    for cell in detector.corrections(X[rows]):
        told = truth[rows[cell.row], int(cell.column[1:])]
        assert abs(np.log(cell.expected) * 2 - told if bend else cell.expected - told) < 4


def test_corrections_need_one_gaussian():
    X = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.raises(ValueError, match="Use EOSCells"):
        EOSDetector(model="clusters").fit(X).corrections(X)


def test_a_saved_estimator_says_the_same(fitted, table):
    again = pickle.loads(pickle.dumps(fitted))
    frame = pd.DataFrame(table[0], columns=NAMES)
    np.testing.assert_array_equal(again.judge(frame).p_values, fitted.judge(frame).p_values)


def test_without_wrong_cells_it_agrees_with_the_detector():
    X, _, _ = draw_table(np.random.default_rng(5), share=0.0)
    rows = EOSDetector(model="gaussian", efficiency=0.99).fit(X)
    cells = EOSCells().fit(X)
    np.testing.assert_allclose(cells.location_, rows.location_, atol=0.01)
    np.testing.assert_allclose(cells.covariance_, rows.covariance_, atol=0.03)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="no column of numbers"):
        EOSCells().fit(pd.DataFrame({"a": list("xyzx") * 30, "b": list("uvuv") * 30}))
    with pytest.raises(ValueError, match="fdr"):
        EOSCells(fdr=2).fit(np.random.default_rng(0).normal(size=(50, 2)))


def test_wrong_cells_of_a_file_are_those_of_the_rows_in_memory(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, _, _ = draw_table(np.random.default_rng(3), share=0.02)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    for part in range(2):
        half = slice(part * len(X) // 2, (part + 1) * len(X) // 2)
        table = pa.table({name: values[half] for name, values in columns.items()})
        parquet.write_table(table, tmp_path / f"part{part}.parquet")
    files = str(tmp_path / "part*.parquet")
    streamed = EOSCells().fit(files)
    written = parquet.read_table(streamed.write_wrong(files, tmp_path / "wrong.parquet"))
    listed = EOSCells().fit(X).list_wrong(X).to_frame().sort_values(["row", "column"])
    found = written.to_pandas().sort_values(["row", "column"])
    assert len(listed) > 5
    assert found[["row", "column"]].values.tolist() == listed[["row", "column"]].values.tolist()
    for name in ("value", "expected", "low", "high"):
        np.testing.assert_allclose(found[name], listed[name].astype(float), rtol=1e-7)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        streamed.write_wrong(files, tmp_path / "wrong.parquet")
    with pytest.raises(TypeError, match="list_wrong"):
        streamed.write_wrong(table.to_pandas(), tmp_path / "other.parquet")


def test_a_column_that_stands_alone_is_a_group_and_not_wrong():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 8)) @ rng.normal(size=(8, 8))
    X[:60, 3] += 30
    X[100, 5] += 200
    cells = EOSCells().fit(X)
    assert np.argwhere(cells.is_wrong_cell_).tolist() == [[100, 5]]
    assert not cells.promise_
    assert "'x3' lie apart, and may be a group" in cells.promise_.reason


@pytest.mark.parametrize(("share", "are_found"), [(0.1, True), (0.2, False)])
def test_rows_that_are_wrong_as_a_whole_make_no_groups_of_columns_if_they_are_few(share, are_found):
    # With a fifth of the cells besides, more than a quarter of each column lies apart.
    rng = np.random.default_rng(6)
    X = rng.multivariate_normal(np.zeros(12), 0.8 + 0.2 * np.eye(12), 600)
    wrong = rng.random(X.shape) < 0.2
    X[wrong] = rng.choice([-9.0, 9.0], wrong.sum())
    n_rows = round(share * len(X))
    X[:n_rows] = rng.uniform(-20, 20, (n_rows, 12))
    flagged = EOSCells().fit(X).is_wrong_cell_[n_rows:]
    assert flagged[wrong[n_rows:]].mean() == pytest.approx(float(are_found), abs=0.1)


def test_a_bend_does_not_push_the_end_of_a_column_out():
    # A left tail, and a few prices that many rows share above it: a curve through the tail and the
    # middle ends below these.
    rng = np.random.default_rng(0)
    price = (0.32 - rng.gamma(1.0, 0.17, 1000)).round(2)
    price[:80] = rng.choice([0.54, 0.64], 80)
    X = np.column_stack([rng.normal(size=(1000, 2)), price])
    assert not EOSCells().fit(X).is_wrong_cell_[:80, 2].any()
