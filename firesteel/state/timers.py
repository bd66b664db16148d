"""Timers of one operator in one time domain: unique per key, namespace and time; fired in order of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from firesteel.state.tables import ABSENT, Change

# (key, namespace, timestamp)
Timer = tuple[Any, Any, int]


class TimerQueue:
    """A set of timers with a heap over it.

    The set is the truth and is what a checkpoint stores; the heap may hold timers that have been deleted since, which
    are passed over when they come up. Ties in time are broken by the order of registration, also after a restore.
    """

    def __init__(self) -> None:
        self._sequence: dict[Timer, int] = {}
        self._heap: list[tuple[int, int, Any, Any]] = []
        self._next_sequence = 0
        self._dirty: set[Timer] = set()

    def __len__(self) -> int:
        return len(self._sequence)

    def __iter__(self) -> Iterator[Timer]:
        return iter(self._sequence)

    def add(self, key: Any, namespace: Any, timestamp: int) -> None:
        """Register a timer; one that is there already stays one."""
        timer = (key, namespace, timestamp)
        if timer in self._sequence:
            return
        sequence = self._next_sequence
        self._next_sequence = sequence + 1
        self._sequence[timer] = sequence
        self._dirty.add(timer)
        heapq.heappush(self._heap, (timestamp, sequence, key, namespace))

    def remove(self, key: Any, namespace: Any, timestamp: int) -> None:
        """Delete a timer; nothing happens if there is none."""
        timer = (key, namespace, timestamp)
        if self._sequence.pop(timer, ABSENT) is not ABSENT:
            self._dirty.add(timer)

    def next_timestamp(self) -> int | None:
        """The time of the earliest timer."""
        while self._heap:
            timestamp, sequence, key, namespace = self._heap[0]
            if self._sequence.get((key, namespace, timestamp)) == sequence:
                return timestamp
            heapq.heappop(self._heap)
        return None

    def pop_due(self, until: int) -> Timer | None:
        """Take out the earliest timer if it is due at ``until``."""
        due = self.next_timestamp()
        if due is None or due > until:
            return None
        timestamp, _, key, namespace = heapq.heappop(self._heap)
        timer = (key, namespace, timestamp)
        del self._sequence[timer]
        self._dirty.add(timer)
        return timer

    def take_change(self) -> Change | None:
        """Timers added and removed since the last call, or None."""
        if not self._dirty:
            return None
        puts = sorted(
            ((self._sequence[timer], timer) for timer in self._dirty if timer in self._sequence),
            key=lambda item: item[0],
        )
        removed = [timer for timer in self._dirty if timer not in self._sequence]
        self._dirty.clear()
        return {"puts": [timer for _, timer in puts], "removed": removed}

    def full(self) -> Change:
        """All timers as a change from nothing, in order of registration."""
        return {"puts": sorted(self._sequence, key=self._sequence.__getitem__), "removed": []}

    def apply(self, change: Change, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored change. ``owned``: which keys belong to this subtask (None: all)."""
        for key, namespace, timestamp in change["removed"]:
            self.remove(key, namespace, timestamp)
        for key, namespace, timestamp in change["puts"]:
            if owned is None or owned(key):
                self.add(key, namespace, timestamp)
        self._dirty.clear()
