"""What a thread has emitted and the engine has not yet taken: a bounded buffer of source events."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from firesteel.model.source import SourceEvents
from firesteel.runtime.records import copied

__all__ = ["EventBuffer", "EventList", "SourceClosed"]

Event = tuple[Any, ...]


class SourceClosed(BaseException):
    """Raised in the thread of a source that goes on emitting after its job has ended, so that the thread ends.

    Not an ``Exception``: a source's own error handling must not swallow it.
    """


class EventList:
    """Source events in order, neighbouring records kept together. Not thread-safe."""

    def __init__(self) -> None:
        self.entries: list[Event] = []
        self.records = 0

    @staticmethod
    def of(entries: list[Event]) -> EventList:
        """A list of these events."""
        events = EventList()
        events.entries = list(entries)
        events.records = sum(len(entry[1]) for entry in entries if entry[0] == "records")
        return events

    def add_record(self, value: Any, timestamp: int | None) -> None:
        """Append a record."""
        last = self.entries[-1] if self.entries else None
        if last is None or last[0] != "records" or (last[2] is None) != (timestamp is None):
            last = ("records", [], None if timestamp is None else [])
            self.entries.append(last)
        last[1].append(copied(value))
        if timestamp is not None:
            last[2].append(timestamp)
        self.records += 1

    def add_sign(self, *sign: Any) -> None:
        """Append a watermark or a change of idleness."""
        self.entries.append(sign)

    def extend(self, other: EventList) -> None:
        """Append all events of another list."""
        self.entries.extend(other.entries)
        self.records += other.records

    def split_off(self, max_records: int) -> list[Event]:
        """Take events off the beginning, with at most ``max_records`` records."""
        taken: list[Event] = []
        room = max_records
        for index, entry in enumerate(self.entries):
            if entry[0] == "records" and len(entry[1]) > room:
                self.records -= max_records
                rest = _part(entry, room, None)
                if room:
                    taken.append(_part(entry, 0, room))
                self.entries = [rest, *self.entries[index + 1 :]]
                return taken
            if entry[0] == "records":
                room -= len(entry[1])
            taken.append(entry)
        self.entries, self.records = [], 0
        return taken


def _part(entry: Event, start: int, stop: int | None) -> Event:
    kind, values, timestamps = entry
    return kind, values[start:stop], None if timestamps is None else timestamps[start:stop]


class EventBuffer:
    """Events between the thread of a source, which adds, and the engine, which takes.

    :param capacity: With this many records in the buffer the adding thread waits.
    :param wake: Called, from the adding thread, when the buffer was empty and is not any more.
    """

    def __init__(self, capacity: int, wake: Callable[[], None]) -> None:
        self._capacity = capacity
        self._wake = wake
        self._mutex = threading.Lock()
        self._room = threading.Condition(self._mutex)
        self._events = EventList()
        self._closed = False

    def add_record(self, value: Any, timestamp: int | None = None) -> None:
        """Add a record; waits while the buffer is full."""
        with self._mutex:
            while self._events.records >= self._capacity and not self._closed:
                self._room.wait()
            self._raise_if_closed()
            was_empty = not self._events.entries
            self._events.add_record(value, timestamp)
        if was_empty:
            self._wake()

    def add_sign(self, *sign: Any) -> None:
        """Add a watermark or a change of idleness. These do not count towards the capacity."""
        with self._mutex:
            self._raise_if_closed()
            was_empty = not self._events.entries
            self._events.add_sign(*sign)
        if was_empty:
            self._wake()

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise SourceClosed("the job has ended: nothing can be emitted any more")

    def drain(self) -> EventList:
        """Take everything."""
        with self._mutex:
            events, self._events = self._events, EventList()
            self._room.notify_all()
        return events

    def take(self, max_records: int) -> SourceEvents:
        """Take events with at most ``max_records`` records."""
        with self._mutex:
            taken = self._events.split_off(max_records)
            self._room.notify_all()
        return SourceEvents(taken)

    def is_empty(self) -> bool:
        """Whether there is nothing to take."""
        return not self._events.entries

    def close(self) -> None:
        """Make the adding thread stop: it gets :class:`SourceClosed` now or when it adds again."""
        with self._mutex:
            self._closed = True
            self._room.notify_all()
