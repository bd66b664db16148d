"""A source out of an input format: splits cut in the driver, read in the tasks."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from firesteel.common.io import InputFormat
from firesteel.connectors.open_splits import OpenSplits
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator
from firesteel.runtime.records import copied

__all__ = ["InputFormatSource"]


class InputFormatSource(Source):
    """The records of an :class:`InputFormat`. After a failure a split is read again, without what was read before.

    :param input_format: Its splits must come in the same order whenever the job is restarted.
    """

    def __init__(self, input_format: InputFormat) -> None:
        self._format = input_format

    @property
    def boundedness(self) -> Boundedness:
        """Bounded."""
        return Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Asks for the splits."""
        return _Enumerator(self._format, parallelism)

    def create_reader(self) -> SourceReader:
        """Reads them."""
        return _Reader(self._format)


class _Enumerator(SplitEnumerator):
    """Its snapshot is whether the splits are known to the engine."""

    def __init__(self, input_format: InputFormat, parallelism: int) -> None:
        self._format = input_format
        self._parallelism = parallelism
        self._done = False

    def start(self, restored: bool | None) -> None:
        self._done = bool(restored)

    def discover_splits(self, now: int) -> Iterable[SourceSplit]:
        if self._done:
            return []
        self._done = True
        splits = self._format.create_input_splits(self._parallelism)
        return [SourceSplit(f"split-{index}", split) for index, split in enumerate(splits)]

    def no_more_splits(self) -> bool:
        return self._done

    def snapshot(self) -> bool:
        return self._done


class _Reader(SourceReader):
    gives_away = True  # copies, if need be

    def __init__(self, input_format: InputFormat) -> None:
        self._format = input_format
        self._splits = OpenSplits(lambda split: _OpenFormat(self._format, split.payload))

    def read(self, split: SourceSplit, position: int | None, max_records: int, now: int) -> ReadResult:
        result = self._splits.get(split).read(position or 0, max_records)
        if result.finished:
            self._splits.close(split)
        return result

    def close(self) -> None:
        self._splits.close_all()


class _OpenFormat:
    """A copy of the format, on one split: formats know one open split only. The position counts the records."""

    def __init__(self, input_format: InputFormat, split: Any) -> None:
        self._format = copy.copy(input_format)
        self._split = split
        self._format.open(split)
        self._position = 0

    def read(self, position: int, max_records: int) -> ReadResult:
        if position < self._position:
            self._format.close()
            self._format.open(self._split)
            self._position = 0
        while self._position < position and not self._format.reached_end():
            self._format.next_record()
            self._position += 1
        values: list[Any] = []
        while len(values) < max_records and not self._format.reached_end():
            values.append(copied(self._format.next_record()))
        self._position += len(values)
        return ReadResult(values, self._position, finished=len(values) < max_records)

    def close(self) -> None:
        self._format.close()
