"""Runs a file sink the way the engine does, without the engine: writers, checkpoints, committer."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from firesteel.model.functions import RuntimeContext
from firesteel.model.sink import CommitRequest, Sink, SinkWriter, WriterContext
from tests.written_files import visible_files

_opened: list[SinkWriter] = []


class Context:
    """As much of a runtime context as a writer uses."""

    def __init__(self, subtask: int, attempt: int) -> None:
        self._subtask, self._attempt = subtask, attempt

    def get_index_of_this_subtask(self) -> int:
        return self._subtask

    def get_attempt_number(self) -> int:
        return self._attempt


def open_writer(sink: Sink, subtask: int = 0, attempt: int = 0, restored: Iterable[Any] = ()) -> SinkWriter:
    """A writer as a task has it: the sink has been pickled on the way."""
    writer: SinkWriter = pickle.loads(pickle.dumps(sink)).create_writer()
    states = pickle.loads(pickle.dumps(list(restored)))
    writer.open(cast(RuntimeContext, Context(subtask, attempt)), states)
    _opened.append(writer)
    return writer


def close_writers() -> None:
    """Close what the test has dropped, as a killed process would have."""
    while _opened:
        _opened.pop().close()


def write(writer: SinkWriter, values: Iterable[Any], now: int = 0, timestamp: int | None = None) -> None:
    for value in values:
        writer.write(value, WriterContext(timestamp, 0, now))


def prepare(writer: SinkWriter, end: bool = False) -> tuple[list[Any], Any]:
    """A checkpoint: what is to be committed, and the writer's state, both pickled on the way to the manifest."""
    writer.flush(end)
    committables = list(writer.prepare_commit(1))
    result: tuple[list[Any], Any] = pickle.loads(pickle.dumps((committables, writer.snapshot())))
    return result


def requests(committables: Iterable[Any]) -> list[CommitRequest]:
    """What the committer is asked when the checkpoint is complete."""
    return [CommitRequest(each, checkpoint_id=1) for each in committables]


def visible(base: Path) -> dict[str, str]:
    """What a reader sees: the files without hidden ones, and their text."""
    return {path.relative_to(base).as_posix(): path.read_text(encoding="utf-8") for path in visible_files(base)}


def hidden(base: Path) -> list[str]:
    """The hidden files, by name."""
    return sorted(path.name for path in (base / ".inprogress").rglob("*") if path.is_file())


def lines(base: Path) -> list[str]:
    """The lines of all visible files, sorted."""
    return sorted(line for text in visible(base).values() for line in text.splitlines())
