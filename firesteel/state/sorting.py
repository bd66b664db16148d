"""Sorting records by key, and those of a key by time, in bounded memory: what does not fit is sorted on disk.

Sorted runs are written to files that have no name in the file system, so that nothing is left of them whatever becomes
of the process. A run is a sequence of blocks; a block is its length in 8 bytes and a pickled list of pieces.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import fractions
import heapq
import os
import struct
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, repeat
from operator import itemgetter
from typing import IO, Any, NamedTuple

from firesteel.common import Row
from firesteel.common.time import MIN_WATERMARK
from firesteel.state import codec
from firesteel.state.key_groups import stable_hash

DEFAULT_SORT_MEMORY = 128 * 2**20
_PIECE = 4096
"""How many records a piece has at the most, and a block about."""
_OPEN_RUNS = 32
"""So many runs are merged at a time."""
_BYTES_PER_RECORD = 120
_BYTES_PER_PICKLED_BYTE = 3
"""What a record takes in memory, roughly: for its places in lists, its timestamp and its objects' headers; and more
than its pickled form for its content."""
_LENGTH = struct.Struct(">Q")


class Piece(NamedTuple):
    """Records of one key and one input, in order of time. ``order`` says where the key stands among others."""

    order: Any
    key: Any
    input_index: int
    values: list[Any]
    stamps: list[int | None]


def order_of(key: Any) -> tuple[Any, ...]:
    """Something that stands for a key and can be compared with that of any other key; equal for equal keys.

    Numbers, texts and tuples of these keep their own order.
    """
    if isinstance(key, (int, float)):
        return (0, key)
    if isinstance(key, str):
        return (1, key)
    if isinstance(key, bytes):
        return (2, key)
    if key is None:
        return (3,)
    if isinstance(key, tuple):
        return (4, tuple(map(order_of, key)))
    return _order_of_other(key)


def _order_of_other(key: Any) -> tuple[Any, ...]:
    if isinstance(key, (decimal.Decimal, fractions.Fraction)):
        finite = not isinstance(key, decimal.Decimal) or key.is_finite()
        return (0, fractions.Fraction(key) if finite else float(key))
    if isinstance(key, Row):
        return (5, tuple(map(order_of, key)))
    if isinstance(key, datetime.datetime):
        return (6, "aware", key.timestamp()) if key.tzinfo else (6, "naive", key.isoformat())
    if isinstance(key, (datetime.date, datetime.time, datetime.timedelta, uuid.UUID)):
        return (6, type(key).__name__, str(key))
    if isinstance(key, frozenset):
        return (7, tuple(sorted(map(order_of, key))))
    if dataclasses.is_dataclass(key):
        fields = (getattr(key, field.name) for field in dataclasses.fields(key) if field.compare)
        return (8, type(key).__qualname__, tuple(map(order_of, fields)))
    return (9, stable_hash(key))


class _Run:
    """A sorted sequence of pieces in a file."""

    def __init__(self, pieces: Iterable[Piece], directory: str | None) -> None:
        if directory is not None:
            os.makedirs(directory, exist_ok=True)
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="firesteel-sort-", dir=directory)  # noqa: SIM115
        block: list[tuple[Any, ...]] = []
        records = 0
        for piece in pieces:
            block.append(tuple(piece))
            records += len(piece.values)
            if records >= _PIECE:
                self._write(block)
                block, records = [], 0
        self._write(block)

    def _write(self, block: list[tuple[Any, ...]]) -> None:
        data = codec.dumps(block)
        self._file.write(_LENGTH.pack(len(data)))
        self._file.write(data)

    def __iter__(self) -> Iterator[Piece]:
        self._file.seek(0)
        while header := self._file.read(_LENGTH.size):
            for piece in codec.loads(self._file.read(_LENGTH.unpack(header)[0])):
                yield Piece(*piece)

    def close(self) -> None:
        """Give the space back."""
        self._file.close()


class KeySorter:
    """Takes keyed records in any order and gives them back key after key, those of a key in order of time.

    Records of a key that have the same time (or none at all) keep their order, and those of the first input come before
    those of the second.

    :param inputs: How many inputs there are.
    :param memory: How many bytes of records are kept before they are written to disk.
    :param directory: Where the files go; None means the system's temporary directory.
    """

    def __init__(self, inputs: int, memory: int = DEFAULT_SORT_MEMORY, directory: str | None = None) -> None:
        self._memory = memory
        self._directory = directory
        self._groups: list[dict[Any, tuple[list[Any], list[int | None]]]] = [{} for _ in range(inputs)]
        self._held = 0
        self._runs: list[_Run] = []

    @property
    def runs(self) -> int:
        """How many files there are."""
        return len(self._runs)

    def add(
        self, input_index: int, values: Sequence[Any], stamps: Sequence[int] | None, keys: Sequence[Any], size: int
    ) -> None:
        """Take records.

        :param size: How many bytes they are in pickled form.
        """
        groups = self._groups[input_index]
        times: Iterable[int | None] = repeat(None) if stamps is None else stamps
        for value, stamp, key in zip(values, times, keys):
            group = groups.get(key)
            if group is None:
                group = groups[key] = ([], [])
            group[0].append(value)
            group[1].append(stamp)
        self._held += len(values) * _BYTES_PER_RECORD + size * _BYTES_PER_PICKLED_BYTE
        if self._held > self._memory:
            self._spill()

    def _spill(self) -> None:
        self._runs.append(_Run(self._sorted_in_memory(), self._directory))
        for groups in self._groups:
            groups.clear()
        self._held = 0
        if len(self._runs) >= _OPEN_RUNS:
            merged = _Run(_merged(self._runs), self._directory)
            self._close_runs()
            self._runs = [merged]

    def pieces(self) -> Iterator[Piece]:
        """All records in order. Nothing can be added any more; what has been given out is forgotten."""
        if not self._runs:
            return self._sorted_in_memory()
        if self._held:
            self._spill()
        return _merged(self._runs)

    def _sorted_in_memory(self) -> Iterator[Piece]:
        orders = {key: order_of(key) for groups in self._groups for key in groups}
        for key in sorted(orders, key=orders.__getitem__):
            parts = [
                (index, *_in_order_of_time(*groups.pop(key)))
                for index, groups in enumerate(self._groups)
                if key in groups
            ]
            if len(parts) == 1:
                index, values, stamps = parts[0]
                for start in range(0, len(values), _PIECE):
                    end = start + _PIECE
                    yield Piece(orders[key], key, index, values[start:end], stamps[start:end])
            else:
                records = heapq.merge(*(_records(orders[key], key, *part) for part in parts), key=_time_and_input)
                yield from _in_pieces(orders[key], key, records)

    def close(self) -> None:
        """Forget everything."""
        self._close_runs()
        self._runs = []
        for groups in self._groups:
            groups.clear()

    def _close_runs(self) -> None:
        for run in self._runs:
            run.close()


def _in_order_of_time(values: list[Any], stamps: list[int | None]) -> tuple[list[Any], list[int | None]]:
    times = [MIN_WATERMARK if stamp is None else stamp for stamp in stamps]
    places = sorted(range(len(times)), key=times.__getitem__)
    return [values[place] for place in places], [stamps[place] for place in places]


_Record = tuple[int, int, Any, "int | None"]
_time_and_input = itemgetter(0, 1)


def _records(order: Any, key: Any, index: int, values: list[Any], stamps: list[int | None]) -> Iterator[_Record]:
    """The records of a piece as (time, input, value, timestamp)."""
    for value, stamp in zip(values, stamps):
        yield MIN_WATERMARK if stamp is None else stamp, index, value, stamp


def _in_pieces(order: Any, key: Any, records: Iterable[_Record]) -> Iterator[Piece]:
    for index, same_input in groupby(records, key=itemgetter(1)):
        values: list[Any] = []
        stamps: list[int | None] = []
        for _, _, value, stamp in same_input:
            values.append(value)
            stamps.append(stamp)
            if len(values) == _PIECE:
                yield Piece(order, key, index, values, stamps)
                values, stamps = [], []
        if values:
            yield Piece(order, key, index, values, stamps)


def _merged(runs: Sequence[Iterable[Piece]]) -> Iterator[Piece]:
    """The pieces of several runs as those of one. Of one key, no more than a piece of each run is in memory."""
    readers = [_Reader(iter(run)) for run in runs]
    while waiting := [reader for reader in readers if reader.head is not None]:
        order = min(reader.head.order for reader in waiting if reader.head is not None)
        having = [reader for reader in waiting if reader.head is not None and reader.head.order == order]
        if len(having) == 1:
            yield from having[0].pieces_of(order)
            continue
        key = having[0].head.key if having[0].head is not None else None
        records = [(record for piece in reader.pieces_of(order) for record in _records(*piece)) for reader in having]
        yield from _in_pieces(order, key, heapq.merge(*records, key=_time_and_input))


class _Reader:
    """Reads a run, one piece ahead."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._pieces = pieces
        self.head = next(pieces, None)

    def pieces_of(self, order: Any) -> Iterator[Piece]:
        """The pieces of the key that comes next."""
        while self.head is not None and self.head.order == order:
            piece, self.head = self.head, next(self._pieces, None)
            yield piece
