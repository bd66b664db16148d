"""A source of records that the program holds in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from firesteel.connectors.single_pass import SinglePassEnumerator
from firesteel.errors import ConfigurationError
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator
from firesteel.runtime.records import all_copied

__all__ = ["CollectionSource"]


class CollectionSource(Source):
    """The records of a collection, in order, in one subtask.

    The records travel to the worker with the job. The position of the split is the index of the next record.

    :param items: The records. They are copied now: changing the collection or a record later has no effect.
    """

    def __init__(self, items: Iterable[Any]) -> None:
        if isinstance(items, (str, bytes)):
            raise ConfigurationError(
                f"a collection of records was expected, got {items!r:.80}. Put it into a list to make it one record."
            )
        self._items = all_copied(list(items))

    @property
    def boundedness(self) -> Boundedness:
        """Bounded: it ends with the last record."""
        return Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """One split, whatever the parallelism; further subtasks would have nothing to read."""
        return SinglePassEnumerator([SourceSplit("collection")])

    def create_reader(self) -> SourceReader:
        """A reader that slices the list."""
        return _CollectionReader(self._items)

    def initial_position(self, split: SourceSplit) -> int:
        """The index of the first record."""
        return 0


class _CollectionReader(SourceReader):
    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        values = self._items[position : position + max_records]
        end = position + len(values)
        return ReadResult(values, end, finished=end >= len(self._items))
