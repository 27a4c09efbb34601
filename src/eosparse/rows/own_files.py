"""Files that pyarrow's datasets do not read, with what `FileRows` asks of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema


def _everything() -> Any:
    """Return pyarrow's expression of a file that holds all of its columns itself."""
    import pyarrow.dataset

    return pyarrow.dataset.scalar(True)  # an expression


@dataclass(frozen=True)
class OwnFile:
    """A file that we read ourselves.

    Attributes
    ----------
    path : str
        The file.
    physical_schema : Schema
        Its columns and their types.
    """

    path: str
    physical_schema: Schema
    partition_expression: Any = field(default_factory=_everything, repr=False, compare=False)

    format: ClassVar[None] = None

    def read(self, names: Sequence[str], batch_size: int) -> Iterator[RecordBatch]:
        """Read some columns, batch by batch."""
        raise NotImplementedError


@dataclass(frozen=True)
class OwnFiles:
    """Files that we read ourselves, of one format; the schema is that of the first."""

    fragments: tuple[OwnFile, ...]

    @property
    def files(self) -> list[str]:
        """Their paths."""
        return [fragment.path for fragment in self.fragments]

    @property
    def schema(self) -> Schema:
        """The columns and their types."""
        return self.fragments[0].physical_schema

    def get_fragments(self) -> Iterator[OwnFile]:
        """Yield the files."""
        return iter(self.fragments)

    def count_rows(self) -> int:
        """Return the number of rows."""
        first = self.schema.names[:1]
        batches = (file.read(first, 2**16) for file in self.fragments)
        return sum(len(records) for file in batches for records in file)
