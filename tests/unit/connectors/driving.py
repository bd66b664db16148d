"""Runs a source the way the engine does, without the engine: enumerator and reader, positions kept outside."""

from __future__ import annotations

import pickle
from typing import Any

from firesteel.model.source import ReaderContext, Source, SourceReader, SourceSplit

_opened: list[SourceReader] = []


def splits_of(source: Source, parallelism: int = 1, now: int = 0) -> list[SourceSplit]:
    enumerator = source.create_enumerator(parallelism)
    enumerator.start(None)
    splits = list(enumerator.discover_splits(now))
    assert enumerator.no_more_splits()
    assert list(enumerator.discover_splits(now)) == []
    restored = source.create_enumerator(parallelism)
    restored.start(pickle.loads(pickle.dumps(enumerator.snapshot())))
    assert list(restored.discover_splits(now)) == [], "a restored enumerator must not hand out splits again"
    assert restored.no_more_splits()
    return splits


def open_reader(source: Source) -> SourceReader:
    """A reader as a task has it: the source has been pickled on the way."""
    reader: SourceReader = pickle.loads(pickle.dumps(source)).create_reader()
    reader.open(ReaderContext(0, 1))
    _opened.append(reader)
    return reader


def close_readers() -> None:
    """Close what the test has left open (closing twice does no harm)."""
    while _opened:
        _opened.pop().close()


def read_split(
    source: Source, split: SourceSplit, max_records: int = 3, now: int = 0, fresh: bool = False
) -> list[Any]:
    """Everything in a split. ``fresh``: with a new reader for each read, as after a failure."""
    reader = open_reader(source)
    position = source.initial_position(split)
    values: list[Any] = []
    while True:
        result = reader.read(split, position, max_records, now)
        assert len(result.values) <= max_records
        assert result.timestamps is None or len(result.timestamps) == len(result.values)
        values.extend(result.values)
        position = pickle.loads(pickle.dumps(result.position))
        if result.finished:
            reader.close()
            return values
        assert result.values, "a bounded split must give records until it ends"
        if fresh:
            reader.close()
            reader = open_reader(source)


def read_all(source: Source, parallelism: int = 1, **options: Any) -> list[list[Any]]:
    """Everything, by split."""
    return [read_split(source, split, **options) for split in splits_of(source, parallelism)]
