"""Reads topics: tables with a column ``value``, to which rows are only ever added."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from typing import Any

from firesteel.datastream.connectors.base import (
    Boundedness,
    CoordinatorContext,
    ReaderContext,
    ReadResult,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)


def sizes(path: str, prefix: str) -> dict[str, int]:
    """Topic -> the number of its last row, of all topics whose name begins like this."""
    with closing(sqlite3.connect(path)) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if name.startswith(prefix)
        ]
        last = {name: connection.execute(f'SELECT max(rowid) FROM "{name}"').fetchone()[0] for name in names}
    return {name: rowid or 0 for name, rowid in last.items()}


class TopicSource(Source):
    """Reads all topics whose name begins with a prefix, also those that come later.

    :param bounded: Read what is there when the job begins, and end.
    :param interval_ms: How often to look for new topics and rows.
    """

    def __init__(self, path: str, prefix: str, bounded: bool = False, interval_ms: int = 200) -> None:
        self._path = path
        self._prefix = prefix
        self._bounded = bounded
        self._interval_ms = interval_ms

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self._bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return TopicEnumerator(partial(sizes, self._path, self._prefix), self._bounded, self._interval_ms)

    def create_reader(self) -> SourceReader:
        return TopicReader(self._path)

    def initial_position(self, split: SourceSplit) -> int:
        return 0


class TopicEnumerator(SplitEnumerator):
    """In the driver. Asks the database in a thread of its own, so that the job goes on meanwhile."""

    def __init__(self, ask: Any, bounded: bool, interval_ms: int) -> None:
        self._ask = ask
        self._bounded = bounded
        self._interval_ms = interval_ms
        self._known: set[str] = set()
        self._new: list[SourceSplit] = []
        self._sizes: dict[str, int] = {}
        self._looks = 0
        self._asking = False
        self._next_look = 0

    def open(self, context: CoordinatorContext) -> None:
        self._context = context
        self._topics = context.metrics.counter("discoveredTopics")

    def start(self, restored: Any | None) -> None:
        self._known = set(restored or ())

    def discover_splits(self, now: int) -> list[SourceSplit]:
        if not self._asking and now >= self._next_look and not (self._bounded and self._looks):
            self._asking = True
            self._next_look = now + self._interval_ms
            self._context.call_async(self._ask, self._found)
        new, self._new = self._new, []
        return new

    def _found(self, found: dict[str, int] | None, error: Exception | None) -> None:
        """Called between two epochs, so there is nothing to lock."""
        self._asking = False
        if error is not None:
            raise error
        assert found is not None
        self._looks += 1
        self._sizes = found
        for name in found:
            if name not in self._known:
                self._known.add(name)
                self._new.append(SourceSplit(name, payload=found[name] if self._bounded else None))
                self._topics.inc()

    def no_more_splits(self) -> bool:
        return self._bounded and self._looks > 0 and not self._new

    def has_data(self, split: SourceSplit, position: int, now: int) -> bool:
        return self._bounded or self._sizes.get(split.split_id, 0) > position

    def next_data_time(self, now: int) -> int | None:
        return None if self._bounded or self._asking else self._next_look

    def snapshot(self) -> list[str]:
        """What was found and not handed out yet is found again."""
        return sorted(self._known - {split.split_id for split in self._new})


class TopicReader(SourceReader):
    """In a task."""

    gives_away = True

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def open(self, context: ReaderContext) -> None:
        self._connection = sqlite3.connect(self._path)

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        assert self._connection is not None
        rows = self._connection.execute(
            f'SELECT rowid, value FROM "{split.split_id}" WHERE rowid > ? ORDER BY rowid LIMIT ?',
            (position, max_records),
        ).fetchall()
        end = split.payload
        rows = [row for row in rows if end is None or row[0] <= end]
        position = rows[-1][0] if rows else position
        return ReadResult([value for _, value in rows], position, finished=end is not None and position >= end)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
