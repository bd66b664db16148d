"""Windows: what an assigner assigns records to, and how windows are written as bytes.

Windows are dict keys on the hot path, so those with fields are tuples: they are made, hashed and compared in
C.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from firesteel.common.serializer import TypeSerializer
from firesteel.common.time import MAX_WATERMARK
from firesteel.errors import StateError

if TYPE_CHECKING:
    from firesteel.model.assigners import MergingWindowAssigner


class Window(ABC):
    """A group of records that is evaluated together. Windows are immutable and hashable by value."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The largest timestamp that belongs to the window; its results carry it."""


class TimeWindow(tuple[int, int], Window):
    """The time from ``start`` (inclusive) to ``end`` (exclusive), in milliseconds.

    >>> window = TimeWindow(0, 60_000)
    >>> window.max_timestamp()
    59999
    """

    __slots__ = ()

    start: int = property(itemgetter(0), doc="The first millisecond of the window.")  # type: ignore[assignment]
    end: int = property(itemgetter(1), doc="The first millisecond after the window.")  # type: ignore[assignment]

    def __new__(cls, start: int, end: int) -> TimeWindow:
        return tuple.__new__(cls, (start, end))

    def __getnewargs__(self) -> tuple[int, int]:
        return self[0], self[1]

    def max_timestamp(self) -> int:
        return self[1] - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the windows overlap or touch; such windows merge."""
        return self[0] <= other[1] and self[1] >= other[0]

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that contains both."""
        return TimeWindow(min(self[0], other[0]), max(self[1], other[1]))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window that contains ``timestamp``, negative ones included.

        >>> TimeWindow.get_window_start_with_offset(-1, 0, 10)
        -10
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]) -> None:
        """Find the groups of windows that overlap or touch, and report each group of more than one to ``callback``."""
        group: list[TimeWindow] = []
        covered: TimeWindow | None = None
        for window in sorted(set(windows)):
            if covered is not None and covered.intersects(window):
                group.append(window)
                covered = covered.cover(window)
                continue
            if covered is not None and len(group) > 1:
                callback.merge(group, covered)
            group, covered = [window], window
        if covered is not None and len(group) > 1:
            callback.merge(group, covered)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self[0]}, end={self[1]})"


class CountWindow(tuple[int], Window):
    """A window of a certain number of records.

    :param id: The number of the window of its key, from 0.
    """

    __slots__ = ()

    id: int = property(itemgetter(0), doc="The number of the window of its key, from 0.")  # type: ignore[assignment]

    def __new__(cls, id: int) -> CountWindow:
        return tuple.__new__(cls, (id,))

    def __getnewargs__(self) -> tuple[int]:
        return (self[0],)

    def max_timestamp(self) -> int:
        return MAX_WATERMARK

    def __repr__(self) -> str:
        return f"CountWindow(id={self[0]})"


class GlobalWindow(Window):
    """The one window that contains everything. There is a single instance."""

    __slots__ = ()

    _instance: GlobalWindow | None = None

    def __new__(cls) -> GlobalWindow:
        if GlobalWindow._instance is None:
            GlobalWindow._instance = object.__new__(cls)
        return GlobalWindow._instance

    @staticmethod
    def get() -> GlobalWindow:
        """The single instance."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        return MAX_WATERMARK

    def __reduce__(self) -> tuple[Any, ...]:
        return GlobalWindow, ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"


_TWO_LONGS: Final = struct.Struct(">qq")
_LONG: Final = struct.Struct(">q")


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Writes a :class:`TimeWindow` as 16 bytes: start and end, big-endian."""

    def serialize(self, element: TimeWindow, stream: BinaryIO) -> None:
        """Write a window."""
        stream.write(_TWO_LONGS.pack(*element))

    def deserialize(self, stream: BinaryIO) -> TimeWindow:
        """Read a window."""
        return TimeWindow(*_TWO_LONGS.unpack(_read(stream, _TWO_LONGS.size, "TimeWindow")))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Writes a :class:`CountWindow` as 8 bytes: its number, big-endian."""

    def serialize(self, element: CountWindow, stream: BinaryIO) -> None:
        """Write a window."""
        stream.write(_LONG.pack(element.id))

    def deserialize(self, stream: BinaryIO) -> CountWindow:
        """Read a window."""
        return CountWindow(*_LONG.unpack(_read(stream, _LONG.size, "CountWindow")))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Writes the :class:`GlobalWindow` as one byte, 0."""

    def serialize(self, element: GlobalWindow, stream: BinaryIO) -> None:
        """Write the window."""
        stream.write(b"\0")

    def deserialize(self, stream: BinaryIO) -> GlobalWindow:
        """Read the window."""
        _read(stream, 1, "GlobalWindow")
        return GlobalWindow.get()


def _read(stream: BinaryIO, size: int, what: str) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise StateError(f"A stored {what} takes {size} bytes, but only {len(data)} are left in the stream.")
    return data
