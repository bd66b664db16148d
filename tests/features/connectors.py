"""Sources and sinks made for tests: they leave marks that can be read wherever a subtask ran."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from firesteel.datastream import RuntimeContext
from firesteel.model.sink import CommitRequest, Committer, Sink, SinkWriter, WriterContext
from firesteel.model.source import (
    Boundedness,
    ReaderContext,
    ReadResult,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)


class TaggedNumbers(Source):
    """Each subtask emits ``(subtask, 0)``, ``(subtask, 1)``, ... and writes every number it reads to a file.

    :param log: A directory for the files, or None.
    """

    def __init__(self, count: int, log: Path | None = None) -> None:
        self.count = count
        self.log = log

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return _OnePerSubtask(parallelism)

    def create_reader(self) -> SourceReader:
        return _TaggingReader(self.count, self.log)

    def initial_position(self, split: SourceSplit) -> int:
        return 0


class _OnePerSubtask(SplitEnumerator):
    def __init__(self, parallelism: int) -> None:
        self._waiting = [SourceSplit(f"split-{index}") for index in range(parallelism)]

    def discover_splits(self, now: int) -> list[SourceSplit]:
        found, self._waiting = self._waiting, []
        return found


class _TaggingReader(SourceReader):
    def __init__(self, count: int, log: Path | None) -> None:
        self._count = count
        self._log = log
        self._subtask = -1

    def open(self, context: ReaderContext) -> None:
        self._subtask = context.subtask_index

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        end = min(self._count, position + max_records)
        values = [(self._subtask, n) for n in range(position, end)]
        if self._log is not None:
            append_lines(self._log / f"read-{self._subtask}", values)
        return ReadResult(values, end, finished=end == self._count)


class CommittedFile(Sink):
    """Appends the records of each commit, as one JSON line, to a file."""

    guarantee = "exactly-once"

    def __init__(self, path: Path) -> None:
        self.path = path

    def create_writer(self) -> SinkWriter:
        return _PendingRecords()

    def create_committer(self) -> Committer:
        return _FileCommitter(self.path)


class _PendingRecords(SinkWriter):
    def __init__(self) -> None:
        self._pending: list[Any] = []

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        self._pending = []

    def write(self, value: Any, context: WriterContext) -> None:
        self._pending.append(value)

    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        pending, self._pending = self._pending, []
        return pending


class _FileCommitter(Committer):
    def __init__(self, path: Path) -> None:
        self._path = path

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        append_lines(self._path, [[request.committable for request in requests]])


def append_lines(path: Path, values: Sequence[Any]) -> None:
    """Append each value as a line of JSON: works from any process."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(value) + "\n" for value in values)


def read_lines(path: Path) -> list[Any]:
    """What :func:`append_lines` wrote; lists where there were tuples."""
    return list(_lines(path)) if path.exists() else []


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
