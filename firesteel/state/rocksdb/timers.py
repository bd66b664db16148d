"""Timers: those that are due next in memory, the others on disk in order of time.

On disk a timer is ``t<time><number>``, so that firing is a scan from the beginning, and ``u<key><namespace><time>``, by
which it is found to be deleted or not set twice.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from firesteel.state import codec
from firesteel.state.rocksdb.space import NUMBER, SAMPLE, Space, average_bytes, in_parts
from firesteel.state.tables import Delta
from firesteel.state.timers import Timer, TimerQueue

_BY_TIME, _BY_KEY = b"t", b"u"
_OFFSET = 1 << 63
_LOAD_AT_ONCE = 1000


class RocksTimerQueue(TimerQueue):
    """A set of timers, ordered by time."""

    def __init__(self, space: Space, on_fire: Callable[[], None]) -> None:
        super().__init__()
        self._space = space
        self._on_fire = on_fire
        self._on_disk = 0
        self._disk_next: tuple[int, int] | None = None
        """Time and number of the first timer on disk."""
        self._tracking = False
        self._fired = 0

    def __len__(self) -> int:
        return len(self._sequence) + self._on_disk

    def __iter__(self) -> Iterator[Timer]:
        yield from [timer for _, _, timer in self._stored()]
        yield from list(self._sequence)

    # ---- the disk ------------------------------------------------------------------------------------------------

    def _time_key(self, timestamp: int, number: int) -> bytes:
        return self._space.prefix + _BY_TIME + NUMBER.pack(timestamp + _OFFSET) + NUMBER.pack(number)

    def _unique_key(self, timer: Timer) -> bytes:
        key, namespace, timestamp = timer
        encode = self._space.keys.encode
        return self._space.prefix + _BY_KEY + encode(key) + encode(namespace) + NUMBER.pack(timestamp + _OFFSET)

    def _number_on_disk(self, timer: Timer) -> int | None:
        if not self._on_disk:
            return None
        data = self._space.disk.get(self._unique_key(timer))
        return None if data is None else int(NUMBER.unpack(data)[0])

    def _stored(self) -> Iterator[tuple[int, int, Timer]]:
        """Time, number and timer of all on disk, in order."""
        if not self._on_disk:
            return
        prefix = self._space.prefix + _BY_TIME
        for encoded, data in self._space.disk.scan(prefix):
            timestamp = NUMBER.unpack_from(encoded, len(prefix))[0] - _OFFSET
            number = NUMBER.unpack_from(encoded, len(prefix) + 8)[0]
            key, namespace = codec.loads(data)
            yield timestamp, number, (key, namespace, timestamp)

    def _find_disk_next(self) -> None:
        first = next(self._stored(), None)
        self._disk_next = None if first is None else first[:2]

    def _load(self) -> None:
        """Bring the timers that come first on disk into memory."""
        deletes: list[bytes] = []
        for timestamp, number, timer in islice(self._stored(), _LOAD_AT_ONCE):
            self._sequence[timer] = number
            heapq.heappush(self._heap, (timestamp, number, timer[0], timer[1]))
            deletes += (self._time_key(timestamp, number), self._unique_key(timer))
        self._space.disk.write(deletes, ())
        self._on_disk -= len(deletes) // 2
        self._find_disk_next()

    # ---- timers --------------------------------------------------------------------------------------------------

    def add(self, key: Any, namespace: Any, timestamp: int) -> None:
        """Register a timer; one that is there already stays one."""
        timer = (key, namespace, timestamp)
        if timer not in self._sequence and self._number_on_disk(timer) is None:
            super().add(key, namespace, timestamp)

    def remove(self, key: Any, namespace: Any, timestamp: int) -> None:
        """Delete a timer; nothing happens if there is none."""
        timer = (key, namespace, timestamp)
        number = None if timer in self._sequence else self._number_on_disk(timer)
        if number is None:
            super().remove(key, namespace, timestamp)
            return
        self._space.disk.write([self._time_key(timestamp, number), self._unique_key(timer)], ())
        self._on_disk -= 1
        self.note_removed(timer)
        if self._disk_next == (timestamp, number):
            self._find_disk_next()

    def next_timestamp(self) -> int | None:
        """The time of the earliest timer."""
        first = super().next_timestamp()
        while self._disk_next is not None and (first is None or self._disk_next < self._heap[0][:2]):
            self._load()
            first = super().next_timestamp()
        return first

    def pop_due(self, until: int) -> Timer | None:
        """Take out the earliest timer if it is due at ``until``."""
        self._fired += 1
        if self._fired % _LOAD_AT_ONCE == 0:
            self._on_fire()  # no entry of state is in use between two timers
        return super().pop_due(until)

    # ---- memory and disk -----------------------------------------------------------------------------------------

    def settle(self) -> int:
        """Forget what has changed if nobody will ask."""
        if not self._tracking:
            self.forget_deltas()
        return 0

    def weight(self) -> int:
        """Roughly how many bytes of memory the timers use."""
        sample = list(islice(self._sequence, SAMPLE))
        return len(self._sequence) * (2 * average_bytes(sample)) if sample else 0

    def spill(self, fraction: float) -> None:
        """Move the timers that are due last to disk."""
        count = int(len(self._sequence) * fraction)
        if not count:
            return
        ordered = sorted((timer[2], number, timer) for timer, number in self._sequence.items())
        kept, moved = ordered[:-count], ordered[-count:]
        puts: list[tuple[bytes, bytes]] = []
        for timestamp, number, timer in moved:
            puts.append((self._time_key(timestamp, number), codec.dumps(timer[:2])))
            puts.append((self._unique_key(timer), NUMBER.pack(number)))
        self._space.disk.write((), puts)
        self._on_disk += len(moved)
        first = moved[0][:2]
        self._disk_next = first if self._disk_next is None else min(first, self._disk_next)
        self._sequence = {timer: number for _, number, timer in kept}
        self._heap = [(timestamp, number, timer[0], timer[1]) for timestamp, number, timer in kept]

    # ---- snapshots -----------------------------------------------------------------------------------------------

    def start_tracking(self) -> None:
        """A full copy is taken: the next delta is what happens from now on."""
        self._tracking = True
        self.forget_deltas()

    def take_delta(self) -> Delta | None:
        """Timers added and removed since the last call, or None; all timers in the first call."""
        if self._tracking:
            return super().take_delta()
        self.start_tracking()
        return self.full() if len(self) else None

    def full_parts(self) -> Iterator[Delta]:
        """All timers in several changes, in order of time; one at least."""
        in_memory = sorted((timer[2], number, timer) for timer, number in self._sequence.items())
        timers = (timer for _, _, timer in heapq.merge(in_memory, self._stored()))
        for puts in in_parts(timers):
            yield {"puts": puts, "removed": []}

    def full(self) -> Delta:
        """All timers as a delta from nothing; those of one time in the order of registration."""
        in_memory = [(number, timer) for timer, number in self._sequence.items()]
        everything = [*in_memory, *((number, timer) for _, number, timer in self._stored())]
        return {"puts": [timer for _, timer in sorted(everything, key=lambda pair: pair[0])], "removed": []}

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which keys belong to this subtask (None: all)."""
        super().apply(delta, owned)
        self._tracking = True
