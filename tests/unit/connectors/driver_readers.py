"""Runs a driver reader the way the engine does: wait until woken, take, look whether it has ended."""

from __future__ import annotations

import pickle
import threading
from typing import Any
from unittest.mock import create_autospec

from firesteel.model.functions import RuntimeContext
from firesteel.model.source import DriverReader, DriverSource

PATIENCE = 10.0


class Driven:
    """One subtask, with what was taken from it."""

    def __init__(
        self, source: DriverSource, restored: Any = None, subtask_index: int = 0, parallelism: int = 1
    ) -> None:
        self.woken = threading.Event()
        self.reader: DriverReader = source.create_driver_reader(subtask_index, parallelism)
        self.entries: list[tuple[Any, ...]] = []
        self.state: Any = None
        self.context = create_autospec(RuntimeContext, instance=True)
        self.context.get_index_of_this_subtask.return_value = subtask_index
        self.reader.open(self.context, restored, self.woken.set)

    def __enter__(self) -> Driven:
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.close()

    @property
    def values(self) -> list[Any]:
        return values_of(self.entries)

    def wait(self) -> None:
        """Until the reader has something to say."""
        assert self.woken.wait(PATIENCE), "the reader has not called wake()"

    def take(self, max_records: int = 1_000) -> list[Any]:
        """Take once; the state makes the way through a checkpoint."""
        events, state = self.reader.take(max_records)
        taken = values_of(events.entries)
        assert len(taken) <= max_records
        self.entries.extend(events.entries)
        self.state = pickle.loads(pickle.dumps(state))
        return taken

    def take_until(self, count: int, max_records: int = 1_000) -> None:
        """Take until there are so many records."""
        while len(self.values) < count:
            self.take_next(max_records)

    def take_next(self, max_records: int = 1_000) -> bool:
        """Take as soon as there is something; False when the reader has ended."""
        while not self.reader.has_data():
            if self.reader.is_finished():
                return False
            self.wait()
            self.woken.clear()
        self.take(max_records)
        return True

    def take_all(self, max_records: int = 1_000) -> list[Any]:
        """Take until the reader has ended."""
        while self.take_next(max_records):
            pass
        assert self.reader.is_finished()
        return self.values


def values_of(entries: list[tuple[Any, ...]]) -> list[Any]:
    return [value for entry in entries if entry[0] == "records" for value in entry[1]]
