"""File extensions, and files that are written completely or not at all."""

import os

import pandas as pd
import pytest

from eosparse import open_rows
from eosparse.rows.formats import FORMATS, UnknownFormatError, find_format
from eosparse.rows.whole_file import replace_when_complete, write_text


def test_no_extension_stands_for_two_formats():
    extensions = [extension for found in FORMATS for extension in found.extensions]
    assert len(extensions) == len(set(extensions))


@pytest.mark.parametrize(
    ("name", "found"),
    [("a.csv", "CSV"), ("a.2024.TSV", "TSV"), ("a.txt.gz", "CSV"), ("a.pq", "Parquet")],
)
def test_formats_are_found_by_extension(name, found):
    assert find_format(name).name == found


@pytest.mark.parametrize("name", ["a", "a.doc", "a.gz", "csv"])
def test_other_extensions_are_refused_with_those_that_work(name):
    with pytest.raises(UnknownFormatError, match=r"unrecognised file extension.*\.csv.*\.parquet"):
        find_format(name)


def test_workbooks_cannot_be_streamed():
    assert find_format("a.xlsx").name == "XLSX"
    with pytest.raises(UnknownFormatError, match=r"XLSX files are read into memory"):
        find_format("a.xlsx", streamed=True)


@pytest.mark.parametrize("ending", [".csv", ".txt", ".tab", ".csv.gz", ".tsv.bz2", ".feather"])
def test_what_is_listed_can_be_streamed(tmp_path, ending):
    frame = pd.DataFrame({"a": [1.0, 2.5], "b": [3.0, 4.0]})
    path = tmp_path / f"rows{ending}"
    if find_format(path).separator is None:
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep=find_format(path).separator)
    assert open_rows(path).n_present == 2


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "notes.txt"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError), replace_when_complete(path) as partial:
        partial.write_text("half ☕", encoding="ascii")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_a_block_that_writes_nothing_is_an_error(tmp_path):
    nothing = replace_when_complete(tmp_path / "notes.txt")
    with pytest.raises(OSError, match="nothing was written"), nothing:
        pass
    assert os.listdir(tmp_path) == []
