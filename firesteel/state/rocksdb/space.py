"""One table's part of the database: how its keys and values are written."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, Protocol

from firesteel.state import codec
from firesteel.state.rocksdb.disk import Disk
from firesteel.state.rocksdb.keys import KeyCodec
from firesteel.state.tables import Delta

STAMP: Final = struct.Struct(">q")
NUMBER: Final = struct.Struct(">Q")
_LENGTH: Final = struct.Struct(">I")
SAMPLE: Final = 16
"""How many objects to look at for :func:`average_bytes`."""
PART: Final = 5000
"""How many entries one part of a full copy has at the most, unless they are large."""
_PART_BYTES = 8 << 20
_OBJECT_BYTES = 200
"""What an entry costs in memory beyond its bytes: slots in dicts and sets, headers of objects."""


class Spillable(Protocol):
    """A table or timer queue that keeps a part of its content in memory."""

    def weight(self) -> int:
        """Roughly how many bytes of memory it uses."""

    def spill(self, fraction: float) -> None:
        """Move this part of what is in memory to disk."""

    def settle(self) -> int:
        """Note what has changed; returns how many entries that is."""

    def start_tracking(self) -> None:
        """Note changes from now on, for ``take_delta``."""

    def full_parts(self) -> Iterator[Delta]:
        """Everything in several deltas; one at least, so that the restored backend knows of the table."""


class Space:
    """A part of the database, told from others by the beginning of its keys.

    :param expires: Values are pairs ``(value, stamp)``; the stamp is written in front, as 8 bytes.
    """

    def __init__(self, disk: Disk, keys: KeyCodec, number: int, expires: bool) -> None:
        self.disk = disk
        self.keys = keys
        self.prefix = number.to_bytes(2, "big")
        self.expires = expires
        self.sequence = 0

    def next_number(self) -> bytes:
        """A number that is larger than all before, in 8 bytes that sort like it."""
        self.sequence += 1
        return NUMBER.pack(self.sequence)

    def by_bytes(self, keys: Iterable[Any]) -> list[Any]:
        """Keys in the order of their bytes: that of the disk, whatever of it is in memory just now."""
        return sorted(keys, key=self.keys.encode)

    def pack(self, value: Any) -> bytes:
        """A value as bytes."""
        if self.expires:
            return STAMP.pack(value[1]) + codec.dumps(value[0])
        return codec.dumps(value)

    def unpack(self, data: bytes, start: int = 0) -> Any:
        """The value in bytes."""
        if self.expires:
            return codec.loads(memoryview(data)[start + 8 :]), STAMP.unpack_from(data, start)[0]
        return codec.loads(memoryview(data)[start:])

    def stamp(self, data: bytes, start: int = 0) -> int:
        """The stamp of a value in bytes, without reading the value."""
        stamp: int = STAMP.unpack_from(data, start)[0]
        return stamp

    def pack_key(self, key: Any) -> bytes:
        """What has to be stored beside a key's own bytes to get exactly that key back: mostly nothing."""
        if self.keys.is_plain(key):
            return b"\0"
        data = codec.dumps(key)
        return b"\1" + _LENGTH.pack(len(data)) + data

    def skip_key(self, data: bytes, start: int = 0) -> int:
        """Where what :meth:`pack_key` wrote ends."""
        if data[start] == 0:
            return start + 1
        return start + 5 + int(_LENGTH.unpack_from(data, start + 1)[0])

    def read_key(self, encoded: bytes, at: int, data: bytes, start: int = 0) -> tuple[Any, int, int]:
        """The key whose bytes begin at ``at`` in ``encoded``, where they end, and where its part of ``data`` ends."""
        key, end = self.keys.decode(encoded, at)
        after = self.skip_key(data, start)
        if data[start]:
            key = codec.loads(data[start + 5 : after])
        return key, end, after


def in_parts(entries: Iterator[Any]) -> Iterator[list[Any]]:
    """Lists of some thousand entries each, of fewer if they are large; one list at least."""
    part = list(islice(entries, SAMPLE))
    yield part
    while part:
        part = list(islice(entries, max(1, min(PART, _PART_BYTES // average_bytes(part[:SAMPLE])))))
        if part:
            yield part


def average_bytes(sample: list[Any]) -> int:
    """Roughly how much memory one of these objects uses."""
    if not sample:
        return _OBJECT_BYTES
    return _OBJECT_BYTES + 2 * len(codec.dumps(sample)) // len(sample)
