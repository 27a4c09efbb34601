"""Rows on disk: formats, keys, weights, and errors that say where."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from eosparse import EOSDetector, open_rows


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(900, 3))
    values[:40] += 9
    return pd.DataFrame(values, columns=["a", "b", "c"]).assign(
        id=[f"k{i}" for i in range(900)], w=rng.integers(0, 3, 900)
    )


@pytest.fixture
def folder(frame, tmp_path):
    for i in range(3):
        part = frame.iloc[300 * i : 300 * (i + 1)]
        part.to_parquet(tmp_path / f"part-{i}.parquet", row_group_size=100)
    return tmp_path


COLUMNS = ["a", "b", "c"]


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "tsv", "csv.gz"])
def test_formats(frame, tmp_path, ending):
    path = tmp_path / f"rows.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "feather":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    here = EOSDetector().fit(frame[COLUMNS])
    there = EOSDetector().fit(open_rows(path, COLUMNS))
    np.testing.assert_allclose(there.location_, here.location_, rtol=1e-9)
    assert there.feature_names_in_.tolist() == COLUMNS
    np.testing.assert_allclose(there.p_values(path), here.p_values(frame[COLUMNS]), rtol=1e-9)


def test_paths_globs_folders_lists_and_datasets(frame, folder):
    wanted = EOSDetector().fit(frame[COLUMNS]).location_
    paths = sorted(folder.glob("*.parquet"))
    for source in (folder, str(folder), f"{folder}/part-*.parquet", paths, ds.dataset(folder)):
        found = EOSDetector().fit(open_rows(source, COLUMNS)).location_
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    numbers = folder / "numbers.parquet"
    frame[COLUMNS].to_parquet(numbers)
    np.testing.assert_allclose(EOSDetector().fit(str(numbers)).location_, wanted, rtol=1e-9)


@pytest.mark.parametrize("name", [None, "patient"])
def test_the_index_of_a_frame_is_not_a_column(frame, tmp_path, name):
    frame.loc[frame["a"] > 0, COLUMNS].rename_axis(name).to_parquet(tmp_path / "some.parquet")
    assert open_rows(tmp_path).columns == tuple(COLUMNS)


def test_whole_numbers_in_csv_may_be_followed_by_others(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 50, size=(200_000, 2)), columns=["a", "b"])
    frame = frame.astype(object)
    frame.iloc[-1, 0] = 1.5
    frame.to_csv(tmp_path / "rows.csv", index=False)
    detector = EOSDetector().fit(tmp_path / "rows.csv")
    wanted = EOSDetector().fit(frame.astype(float))
    np.testing.assert_allclose(detector.location_, wanted.location_, rtol=1e-9)


def test_partitions_are_columns_that_must_be_named(frame, tmp_path):
    frame.assign(year=np.repeat([2001, 2002, 2003], 300)).drop(columns=["id", "w"]).to_parquet(
        tmp_path / "t", partition_cols=["year"]
    )
    assert open_rows(tmp_path / "t").columns == ("a", "b", "c")
    assert open_rows(tmp_path / "t", ["a", "year"]).columns == ("a", "year")


def test_a_filtered_dataset(frame, folder):
    some = ds.dataset(folder).filter(ds.field("w") > 0)
    here = EOSDetector().fit(frame.loc[frame["w"] > 0, COLUMNS])
    there = EOSDetector().fit(open_rows(some, COLUMNS))
    np.testing.assert_allclose(there.location_, here.location_, rtol=1e-9)


def test_a_column_of_weights(frame, folder):
    here = EOSDetector().fit(frame[COLUMNS], sample_weight=frame["w"])
    for there in (
        EOSDetector().fit(open_rows(folder, COLUMNS, weights="w")),
        EOSDetector().fit(open_rows(folder, COLUMNS), sample_weight="w"),
    ):
        np.testing.assert_allclose(there.location_, here.location_, rtol=1e-9)
        assert there.offset_ == pytest.approx(here.offset_, rel=1e-9)
        assert there.feature_names_in_.tolist() == COLUMNS
    every = frame.drop(columns="id")
    every.to_parquet(folder / "all.parquet")
    for rows in (folder / "all.parquet", open_rows(folder / "all.parquet")):
        there = EOSDetector().fit(rows, sample_weight="w")
        np.testing.assert_allclose(there.location_, here.location_, rtol=1e-9)
    with pytest.raises(ValueError, match=r"Column 'id' holds .*string"):
        EOSDetector().fit(open_rows(folder / "part-0.parquet", COLUMNS), sample_weight="id")
    with pytest.raises(TypeError, match="name of a column"):
        EOSDetector().fit(open_rows(folder, COLUMNS), sample_weight=frame["w"])


def test_scores_are_written_beside_their_keys(frame, folder):
    detector = EOSDetector().fit(frame[COLUMNS])
    output = folder.parent / "scores.parquet"
    detector.write_scores(folder, output, keys=["id"])
    scores = pd.read_parquet(output)
    assert scores["id"].tolist() == frame["id"].tolist()
    np.testing.assert_allclose(scores["eos_score"], detector.score_samples(frame[COLUMNS]))
    np.testing.assert_allclose(scores["eos_p_value"], detector.p_values(frame[COLUMNS]))
    np.testing.assert_allclose(scores["eos_weight"], 900 * detector.weights_, rtol=1e-6)
    assert scores["eos_is_outlier"].tolist() == (detector.predict(frame[COLUMNS]) < 0).tolist()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        detector.write_scores(folder, output)
    detector.write_scores(folder, output, overwrite=True)
    assert pd.read_parquet(output)["row"].tolist() == list(range(900))
    with pytest.raises(ValueError, match="no column 'key'"):
        detector.write_scores(folder, folder / "x.parquet", keys=["key"])
    with pytest.raises(TypeError, match="streams rows from disk"):
        detector.write_scores(frame[COLUMNS], folder / "x.parquet")


def test_training_rows_on_disk_are_not_kept(folder):
    detector = EOSDetector().fit(open_rows(folder, COLUMNS))
    with pytest.raises(AttributeError, match="weights_ is not kept for rows on disk"):
        _ = detector.weights_


@pytest.mark.parametrize("value", [None, np.nan, np.inf])
def test_a_gap_in_part_17_is_named_and_nothing_is_half_written(frame, tmp_path, value):
    folder = tmp_path / "rows"
    folder.mkdir()
    for i in range(20):
        part = frame[COLUMNS].iloc[40 * i : 40 * (i + 1)]
        table = pa.Table.from_pandas(part, preserve_index=False)
        if i == 17:
            column = pa.array([1.0] * 25 + [value] + [1.0] * 14, from_pandas=False)
            table = table.set_column(1, "b", column)
        pq.write_table(table, folder / f"part-{i:02}.parquet", row_group_size=10)
    with pytest.raises(ValueError, match=r"part-17.parquet, row group 2, row 25, column 'b'"):
        EOSDetector(model="clusters").fit(folder)
    detector = EOSDetector(model="clusters").fit(frame[COLUMNS])
    with pytest.raises(ValueError, match=r"part-17.parquet"):
        detector.write_scores(folder, tmp_path / "scores.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows"]


def test_a_broken_file_is_named(folder):
    path = folder / "part-1.parquet"
    data = bytearray(path.read_bytes())
    offset = pq.read_metadata(path).row_group(1).column(2).data_page_offset
    data[offset : offset + 40] = b"\xff" * 40
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"part-1.parquet, row group 1, column 'c' cannot be read"):
        EOSDetector().fit(open_rows(folder, COLUMNS))
    path.write_bytes(b"no parquet")
    with pytest.raises(ValueError, match=r"part-1.parquet.* cannot be read"):
        EOSDetector().fit(open_rows(folder, COLUMNS))


def test_bad_sources(frame, folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing-here"):
        EOSDetector().fit(str(tmp_path / "nothing-here*.parquet"))
    with pytest.raises(ValueError, match=r"Column 'id' holds .*string.*open_rows"):
        EOSDetector().fit(str(folder))
    with pytest.raises(ValueError, match="no column 'z'"):
        open_rows(folder, ["a", "z"])
    with pytest.raises(ValueError, match="2 columns, but EOSDetector was fitted to 3"):
        EOSDetector().fit(frame[COLUMNS].to_numpy()).predict(open_rows(folder, ["a", "b"]))
    frame[["a", "b"]].to_parquet(tmp_path / "ab.parquet")
    with pytest.raises(ValueError, match="no column 'c'"):
        EOSDetector().fit(frame[COLUMNS]).predict(str(tmp_path / "ab.parquet"))
    (tmp_path / "x.xlsx").write_bytes(b"")
    with pytest.raises(ValueError, match="read into memory"):
        open_rows(tmp_path / "x.xlsx")
    frame[COLUMNS].iloc[:0].to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="0 rows that count"):
        EOSDetector().fit(str(tmp_path / "empty.parquet"))


def test_parts_that_differ_are_named(frame, folder):
    """Another type or no such column in one of the files."""
    rows = open_rows(folder, COLUMNS)
    part = frame[COLUMNS].iloc[:50]
    part.assign(b="n/a").to_parquet(folder / "part-9.parquet")
    with pytest.raises(ValueError, match=r"part-9.parquet, column 'b' holds .*string"):
        EOSDetector().fit(open_rows(folder, COLUMNS))
    part.drop(columns="b").to_parquet(folder / "part-9.parquet")
    with pytest.raises(ValueError, match=r"part-9.parquet has no column 'b'"):
        EOSDetector().fit(open_rows(folder, COLUMNS))
    EOSDetector().fit(rows)  # opened before


def test_keys_of_several_types_get_the_first_one(frame, folder):
    detector = EOSDetector().fit(frame[COLUMNS])
    for i, kind in enumerate(("int64", "int32", "int64")):
        part = frame[COLUMNS].iloc[300 * i : 300 * (i + 1)]
        part.assign(id=np.arange(300 * i, 300 * (i + 1), dtype=kind)).to_parquet(
            folder / f"part-{i}.parquet"
        )
    output = detector.write_scores(folder, folder.parent / "keyed.parquet", keys=["id"])
    assert pd.read_parquet(output)["id"].tolist() == list(range(900))
    with pytest.raises(ValueError, match="one of the input files"):
        detector.write_scores(folder, folder / "part-0.parquet", keys=["id"], overwrite=True)


def test_unfinished_parts_and_tabs(frame, folder):
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "part-7.parquet").write_bytes(b"half")
    assert open_rows(folder, COLUMNS).n_present == 900
    frame[COLUMNS].to_csv(folder.parent / "rows.2024.TSV", sep="\t", index=False)
    assert open_rows(folder.parent / "rows.2024.TSV").columns == tuple(COLUMNS)


def test_no_weight_at_all(frame, folder):
    frame.assign(w=0).to_parquet(folder / "zero.parquet")
    with pytest.raises(ValueError, match="0 rows that count"):
        EOSDetector().fit(open_rows(folder / "zero.parquet", COLUMNS, weights="w"))


def test_partition_columns_are_read(frame, tmp_path):
    year = np.repeat([2001.0, 2002.0, 2003.0], 300) + frame["a"].round()
    table = frame[COLUMNS].assign(year=year.astype(int))
    table.to_parquet(tmp_path / "t", partition_cols=["year"])
    rows = open_rows(tmp_path / "t", ["a", "year"])
    values, _ = rows.take(np.arange(900))
    assert sorted(map(tuple, values)) == sorted(map(tuple, table[["a", "year"]].to_numpy(float)))
