"""Events in memory that wait for the watermark.

They are kept as sorted runs, in the order in which they came: a batch that goes on where the last run ends becomes part
of it, another one begins a run. One channel after the other in order of time therefore makes one run per channel, and a
watermark costs no more than the events that it reaches.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

_WORTH_CUTTING = 4096
Events = tuple[list[int], list[Any], list[Any]]
"""Times, values and keys, side by side."""


class _Run:
    """Events in order of time; those before ``begin`` are gone."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self.begin = 0

    def goes_on_with(self, times: list[int]) -> bool:
        return self.events[0][-1] <= times[0]

    def extend(self, events: Events) -> None:
        for column, more in zip(self.events, events):
            column += more

    def take(self, until: int) -> Events | None:
        """The events up to a time, or None."""
        times, values, keys = self.events
        begin, end = self.begin, bisect_right(times, until, self.begin)
        if begin == end:
            return None
        taken = times[begin:end], values[begin:end], keys[begin:end]
        self.begin = end
        if end > _WORTH_CUTTING and 2 * end > len(times):
            for column in self.events:
                del column[:end]
            self.begin = 0
        return taken

    def __len__(self) -> int:
        return len(self.events[0]) - self.begin


class WaitingEvents:
    """All events that wait."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, times: list[int], values: list[Any], keys: list[Any]) -> None:
        """Keep events, as they came."""
        if not times:
            return
        events = _sorted(([*times], [*values], [*keys]))
        if self._runs and self._runs[-1] and self._runs[-1].goes_on_with(events[0]):
            self._runs[-1].extend(events)
        else:
            self._runs.append(_Run(events))

    def take(self, until: int) -> Events:
        """Take out the events up to a time, in order of time and, where times are equal, as they came."""
        parts = [part for part in (run.take(until) for run in self._runs) if part is not None]
        self._runs = [run for run in self._runs if run]
        if len(parts) == 1:
            return parts[0]
        return _sorted(_joined(parts))

    def take_all(self) -> Iterator[tuple[Any, int, Any]]:
        """Take out everything: (value, time, key), as they came."""
        runs, self._runs = self._runs, []
        for run in runs:
            times, values, keys = run.events
            yield from zip(values[run.begin :], times[run.begin :], keys[run.begin :])


def _joined(parts: list[Events]) -> Events:
    times, values, keys = [], [], []
    for part in parts:
        times += part[0]
        values += part[1]
        keys += part[2]
    return times, values, keys


def _sorted(events: Events) -> Events:
    times, values, keys = events
    in_order = sorted(times)
    if in_order == times:
        return events
    places = sorted(range(len(times)), key=times.__getitem__)
    return in_order, [values[place] for place in places], [keys[place] for place in places]
