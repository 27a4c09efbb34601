"""The file formats of tables, and the extensions that stand for them.

To add a format, add it to `FORMATS`. If pyarrow can stream it, `open_rows` needs no more; others
have a file of their own, as ``rows/json_files.py``. For tables in memory, add a reader in
``tables/reading.py`` and a writer in ``tables/writing.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class TableError(ValueError):
    """A table that cannot be used; the message says why and what to do.

    Examples
    --------
    >>> from eosparse.tables import TableError, read_table
    >>> try:
    ...     read_table("nowhere.csv")
    ... except TableError as error:
    ...     print(error)
    File not found: nowhere.csv.
    """


class UnknownFormatError(ValueError):
    """A file extension that stands for no known format."""


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    name : str
        What people call it.
    extensions : tuple of str
        Extensions of its files, in lower case.
    separator : str or None
        What separates cells by default; None unless the format is text.
    arrow_name : str or None
        The name by which pyarrow datasets stream it; None if they cannot.
    is_streamed : bool
        Whether it is read batch by batch.
    is_compressible : bool
        Whether a compressed file has a further extension; others are compressed inside.
    """

    name: str
    extensions: tuple[str, ...]
    separator: str | None = None
    arrow_name: str | None = None
    is_compressible: bool = False
    is_streamed: bool = True


CSV = Format("CSV", (".csv", ".txt"), ",", "csv", is_compressible=True)
TSV = Format("TSV", (".tsv", ".tab"), "\t", "csv", is_compressible=True)
PARQUET = Format("Parquet", (".parquet", ".pq"), arrow_name="parquet")
ARROW = Format("Arrow", (".arrow", ".feather", ".ipc"), arrow_name="arrow")
JSON_LINES = Format("JSON lines", (".jsonl", ".ndjson"), is_compressible=True)
XLSX = Format("XLSX", (".xlsx",), is_streamed=False)
FORMATS = (CSV, TSV, PARQUET, ARROW, JSON_LINES, XLSX)

# Extensions that may follow the one of a text format, and the names of these compressions.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}


def find_format(path: str | Path, *, streamed: bool = False) -> Format:
    """Find the format of a file by its extension.

    Parameters
    ----------
    path : str or Path
        The file; it need not exist.
    streamed : bool, default=False
        Accept only formats that can be read block by block.

    Returns
    -------
    Format

    Raises
    ------
    UnknownFormatError
        If the extension stands for none of the formats.

    Examples
    --------
    >>> find_format("people.csv.gz").name
    'CSV'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    is_compressed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    if is_compressed:
        suffixes.pop()
    for candidate in FORMATS:
        if suffixes and suffixes[-1] in candidate.extensions:
            if is_compressed and not candidate.is_compressible:
                raise UnknownFormatError(
                    f"{path}: {candidate.name} files are compressed inside. Use a name that ends "
                    f"with {suffixes[-1]}."
                )
            if streamed and not candidate.is_streamed:
                raise UnknownFormatError(
                    f"{path}: {candidate.name} files are read into memory, and cannot be streamed "
                    "as files of a folder are. Name the files themselves, or save them as CSV or "
                    "Parquet."
                )
            return candidate
    known = [f for f in FORMATS if f.is_streamed or not streamed]
    extensions = ", ".join(extension for f in known for extension in f.extensions)
    raise UnknownFormatError(f"{path}: unrecognised file extension. Use one of {extensions}.")
