"""Keyed state in BATCH mode: of one key at a time, and gone when the key is done."""

from __future__ import annotations

import logging
from typing import Any

from firesteel.state.backend import HashMapBackend
from firesteel.state.timers import TimerQueue

log = logging.getLogger("firesteel.state")


class _ClosableQueue(TimerQueue):
    """A timer queue that takes no more timers at the end of a key: they could follow one another for ever."""

    closed = False
    warned = False

    def add(self, key: Any, namespace: Any, timestamp: int) -> None:
        if not self.closed:
            super().add(key, namespace, timestamp)
        elif not self.warned:
            self.warned = True
            log.warning(
                "a timer for %s was registered while the last timers of key %r fired. In BATCH mode that is the end of "
                "the key: such timers are ignored",
                timestamp,
                key,
            )

    def clear(self) -> None:
        """Forget all timers."""
        while (due := self.next_timestamp()) is not None:
            self.pop_due(due)
        self.take_delta()


class OneKeyBackend(HashMapBackend):
    """State of the key in work, in memory. Input that is sorted by key needs no more."""

    def make_timers(self, name: str) -> TimerQueue:
        """A new timer queue."""
        return _ClosableQueue()

    def close_timers(self, closed: bool) -> None:
        """Take no more timers, or take them again."""
        for queue in self.queues.values():
            assert isinstance(queue, _ClosableQueue)
            queue.closed = closed

    def forget_key(self) -> None:
        """The key is done: all of its state and timers go."""
        for declared in self.tables.values():
            declared.table.take_delta()
            declared.table.entries.clear()
        for queue in self.queues.values():
            assert isinstance(queue, _ClosableQueue)
            queue.clear()
