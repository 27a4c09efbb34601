"""How text files are written: recognised from their first bytes, or refused by name."""

import bz2
import gzip
import lzma

import pyarrow as pa
import pytest

from eosparse.rows.compression import (
    compression_of_name,
    find_compression,
    open_compressed,
    open_decompressed,
)
from eosparse.rows.dialect import Dialect, Hints, sniff_dialect
from eosparse.rows.formats import TableError

PLAIN = b"a,b\n1.5,2\n3.5,4\n"


def test_a_plain_file_has_the_usual_dialect():
    assert sniff_dialect(PLAIN, "t.csv") == Dialect(("a", "b"))


@pytest.mark.parametrize(
    ("content", "names", "found"),
    [
        ("a;b\n1,5;2\n2,5;3\n", "ab", {"separator": ";", "decimal": ","}),
        ("a\tb\n1\t2\n", "ab", {"separator": "\t"}),
        ("a|b\n1|2\n", "ab", {"separator": "|"}),
        ("a b\n1 2\n10  3\n", "ab", {"separator": " "}),
        ("a\n1\n2\n", "a", {"separator": ","}),
        ("sep=;\na;b\n1;2\n", "ab", {"separator": ";", "n_skipped": 1}),
        ("'a','b'\n'1','2'\n", "ab", {"quote": "'"}),
        # What stands between semicolons is one cell.
        ("a,b\n1,x;y;z\n2,x;y;z\n", "ab", {"separator": ","}),
        # Titles, comments, blank lines.
        ("Lab 3\na,b\n1,2\n", "ab", {"n_skipped": 1}),
        ("Lab 3;;\n\na;b;c\n1;2;3\n", "abc", {"n_skipped": 2}),
        ("# one, two\n# three\na,b,c\n1,2,3\n", "abc", {"n_skipped": 2}),
        ("Lab 3, 2024\na,b,c\n1,2,3\n4,5,6\n", "abc", {"n_skipped": 1}),
        # Separators at the end of lines shift nothing.
        ("a,b\n1,2,\n3,4,\n", "ab", {"has_trailing": True}),
        ("a,b,\n1,2,\n3,4,\n", "ab", {"has_trailing": True}),
        # R leaves out the name of the first column.
        ('"a","b"\n"x",1,2\n"y",3,4\n', ["Unnamed: 0", "a", "b"], {"has_row_names": True}),
        (",a\n0,1\n1,2\n", ["Unnamed: 0", "a"], {"has_row_names": False}),
        # Line ends.
        ("a,b\r1,2\r3,4\r", "ab", {"line_end": "\r"}),
        ("a,b\r\n1,2\r\n", "ab", {"line_end": "\r\n"}),
        ('"a\nx",b\n1,2\n', ["a\nx", "b"], {"n_header_lines": 2}),
        # Names that are numbers, above numbers.
        ("country,2019,2020\nA,1,2\n", ["country", "2019", "2020"], {}),
        ("s,400,402,404,406,408\nx,1,2,3,4,5\n", ["s", "400", "402", "404", "406", "408"], {}),
        # Decimal marks.
        ("a;b\n1.643;x\n1.503,5;y\n", "ab", {"decimal": ","}),
        ("a;b\n1,643;x\n1,234;y\n", "ab", {"decimal": ","}),
        ("a;b\n1.643;x\n1.234;y\n", "ab", {"decimal": "."}),
        ('a,b\n"1,234.5",x\n"1,643",y\n', "ab", {"decimal": "."}),
    ],
)
def test_dialects(content, names, found):
    dialect = sniff_dialect(content.encode(), "t.csv")
    assert dialect.names == tuple(names)
    assert {key: getattr(dialect, key) for key in found} == found


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("cp1252", "cp1252"),
        ("utf-32", "utf-32"),
    ],
)
def test_encodings(written, found):
    dialect = sniff_dialect("größe,b\n1,2\n".encode(written), "t.csv")
    assert (dialect.encoding, dialect.names) == (found, ("größe", "b"))


def test_bytes_that_windows_does_not_know_are_kept():
    assert sniff_dialect(b"a,b\n\x81\xe4,2\n", "t.csv").encoding == "latin-1"


@pytest.mark.parametrize(
    ("extension", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
    ],
)
def test_compressions_are_recognised_by_their_bytes(tmp_path, extension, compress):
    path, name = tmp_path / "t.csv", compression_of_name(f"t.csv{extension}")
    path.write_bytes(compress(PLAIN))
    for source in (path, path.read_bytes()):
        assert sniff_dialect(source, "t.csv") == Dialect(("a", "b"), compression=name)
    with open_compressed(tmp_path / "u", name) as file:
        file.write(PLAIN)
    assert find_compression((tmp_path / "u").read_bytes()) == name
    with open_decompressed(tmp_path / "u", name, "u") as file:
        assert file.read() == PLAIN
    broken = path.read_bytes()[:-5]
    with (
        pytest.raises(TableError, match=r"t\.csv cannot be decompressed"),
        open_decompressed(broken, name, "t.csv") as file,
    ):
        file.read()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv is empty"),
        (b"\n \n", "t.csv is empty"),
        (b"a,a\n1,2\n", "several columns named 'a'"),
        (b"1,2\n3,4\n", "line 1 looks like a row"),
        (b"5.1,3.5,setosa\n4.9,3.0,setosa\n", "line 1 looks like a row .5.1, 3.5, setosa.*header"),
        (b"Anna,1987\nBen,1990\n", "line 1 looks like a row"),
        (b"a,b\n1,\x002\n3,4\n5,6\n7,8\n", "zero bytes"),
    ],
)
def test_what_cannot_be_understood_is_refused(content, message):
    with pytest.raises(TableError, match=message):
        sniff_dialect(content, "t.csv")


@pytest.mark.parametrize(
    ("content", "hints", "found"),
    [
        (b"1,2\n3,4\n", Hints(has_header=True), Dialect(("1", "2"))),
        (
            b"1,2\n3,4\n",
            Hints(has_header=False),
            Dialect(("column_1", "column_2"), n_header_lines=0),
        ),
        (b"a:b\n1:2\n", Hints(separator=":"), Dialect(("a", "b"), separator=":")),
        (
            "größe\n1\n".encode("cp437"),
            Hints(encoding="cp437"),
            Dialect(("größe",), encoding="cp437"),
        ),
        (b"a;b\n", Hints(usual_separator=";"), Dialect(("a", "b"), separator=";")),
    ],
)
def test_what_you_say_decides(content, hints, found):
    assert sniff_dialect(content, "t.csv", hints) == found


@pytest.mark.parametrize("encoding", ["utf-99", "ascii"])
def test_encodings_that_do_not_fit_are_named(encoding):
    with pytest.raises(TableError, match=encoding):
        sniff_dialect("größe\n1\n".encode(), "t.csv", Hints(encoding=encoding))


def test_long_files_are_recognised_from_their_beginning():
    content = b'a,b\n"x\ny",2\n' + b'"x\ny",3\n' * 100_000
    assert sniff_dialect(content, "t.csv") == Dialect(("a", "b"))
