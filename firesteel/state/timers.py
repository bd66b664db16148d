"""Timers of one operator in one time domain: unique per key, namespace and time; fired in order of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from firesteel.state.tables import ABSENT, Delta

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
        self._added: dict[Timer, None] = {}
        """What a checkpoint has to add, in order of registration."""
        self._removed: dict[Timer, None] = {}
        """What the last checkpoint may have and the next has to remove, before it adds: some were registered again."""

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
        self._added[timer] = None
        heapq.heappush(self._heap, (timestamp, sequence, key, namespace))

    def remove(self, key: Any, namespace: Any, timestamp: int) -> None:
        """Delete a timer; nothing happens if there is none."""
        timer = (key, namespace, timestamp)
        if self._sequence.pop(timer, ABSENT) is not ABSENT:
            self.note_removed(timer)

    def note_removed(self, timer: Timer) -> None:
        """Note that a timer is gone. One that came since the last checkpoint was never stored."""
        if self._added.pop(timer, ABSENT) is ABSENT:
            self._removed[timer] = None

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
        self.note_removed(timer)
        return timer

    def take_delta(self) -> Delta | None:
        """Timers added and removed since the last call, or None."""
        if not self._added and not self._removed:
            return None
        delta = {"puts": list(self._added), "removed": list(self._removed)}
        self.forget_deltas()
        return delta

    def forget_deltas(self) -> None:
        """From now on, note changes anew."""
        self._added.clear()
        self._removed.clear()

    def full(self) -> Delta:
        """All timers as a delta from nothing, in order of registration."""
        return {"puts": list(self._sequence), "removed": []}

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which keys belong to this subtask (None: all)."""
        for key, namespace, timestamp in delta["removed"]:
            self.remove(key, namespace, timestamp)
        for key, namespace, timestamp in delta["puts"]:
            if owned is None or owned(key):
                self.add(key, namespace, timestamp)
        self.forget_deltas()
