"""Windows of time as the SQL window functions have them, in milliseconds.

Windows are cut on the clock of the wall: of a TIMESTAMP_LTZ that is the session's time zone, of a TIMESTAMP the time
itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from firesteel.table.functions.dates import instant_of_local, local_of_instant

__all__ = ["Windows"]

_MILLI = 1_000_000


@dataclass(frozen=True)
class Windows:
    """Which windows there are.

    :param kind: TUMBLE, HOP, CUMULATE or SESSION.
    :param lengths: In Flink's order: size; slide and size; step and size; gap.
    :param zone: The time zone on whose wall the windows are cut; None: times have none.
    """

    kind: str
    lengths: tuple[int, ...]
    offset: int = 0
    zone: str | None = None

    @property
    def size(self) -> int:
        """How long a window is, at the most; of a session, how long its gap."""
        return self.lengths[-1]

    @property
    def pane(self) -> int:
        """The length of the parts that windows share: each window is made of whole ones."""
        if self.kind == "HOP":
            return math.gcd(*self.lengths)
        return self.lengths[0]

    @property
    def step(self) -> int:
        """How far the ends of two windows are from each other."""
        return self.lengths[0]

    def local(self, instant: int) -> int:
        """What the clock on the wall shows at a time."""
        if self.zone is None or self.zone == "UTC":
            return instant
        return local_of_instant(instant * _MILLI, self.zone) // _MILLI

    def instant(self, local: int) -> int:
        """When the clock on the wall shows a time."""
        if self.zone is None or self.zone == "UTC":
            return local
        return instant_of_local(local * _MILLI, self.zone) // _MILLI

    def pane_of(self, local: int) -> int:
        """The start of the pane in which a time is."""
        return local - (local - self.offset) % self.pane

    def windows_of(self, local: int) -> Iterator[tuple[int, int]]:
        """Start and end of the windows in which a time is, in order of their ends."""
        if self.kind == "CUMULATE":
            start = local - (local - self.offset) % self.size
            first = local - (local - self.offset) % self.step + self.step
            for end in range(first, start + self.size + 1, self.step):
                yield start, end
            return
        start = local - (local - self.offset) % self.step
        earliest = start - (self.size - 1 - (local - start)) // self.step * self.step
        for each in range(earliest, start + 1, self.step):
            yield each, each + self.size

    def start_of(self, end: int) -> int:
        """Where the window that ends there begins."""
        if self.kind == "CUMULATE":
            return end - self.step - (end - self.step - self.offset) % self.size
        return end - self.size

    def panes_of(self, end: int) -> range:
        """The starts of the panes of the window that ends there."""
        return range(self.start_of(end), end, self.pane)

    def next_end(self, end: int) -> int | None:
        """The end of the next window that may share panes with the one that ends there."""
        if self.kind == "TUMBLE" or (self.kind == "CUMULATE" and end - self.start_of(end) == self.size):
            return None
        return end + self.step
