"""BITMAP: sets of whole numbers of 32 bits without sign, and their bytes in the portable format of Roaring bitmaps."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import groupby
from typing import Any

from firesteel.errors import FiresteelError
from firesteel.table.functions.aggregates import Aggregator, register_aggregate
from firesteel.table.functions.definition import Call
from firesteel.table.functions.numbers import wrapped
from firesteel.table.functions.signatures import ARRAY, BYTES, INTEGER, STRING, Check, gives, gives_nullable, scalar
from firesteel.table.types import BitmapType, DataTypes

__all__ = ["BitmapError", "bitmap_bytes", "bitmap_from_bytes"]

Bitmap = frozenset[int]
_COOKIE, _COOKIE_WITH_RUNS = 12346, 12347
_MOST_IN_ARRAY = 4096
_BITMAP: Check = ("a bitmap", lambda t: isinstance(t, BitmapType))
_RESULT = gives(BitmapType())


class BitmapError(FiresteelError, ValueError):
    """Bytes that are no bitmap."""


def bitmap_bytes(bitmap: Bitmap) -> bytes:
    """A bitmap as bytes: for each upper half of the numbers a container of the lower halves."""
    containers = [(key, list(group)) for key, group in groupby(sorted(bitmap), lambda number: number >> 16)]
    headers = b"".join(struct.pack("<HH", key, len(numbers) - 1) for key, numbers in containers)
    bodies = [_container([number & 0xFFFF for number in numbers]) for _, numbers in containers]
    start = 8 + 8 * len(containers)
    offsets = [start + sum(map(len, bodies[:at])) for at in range(len(bodies))]
    head = struct.pack("<II", _COOKIE, len(containers)) + headers + struct.pack(f"<{len(offsets)}I", *offsets)
    return head + b"".join(bodies)


def _container(numbers: list[int]) -> bytes:
    if len(numbers) <= _MOST_IN_ARRAY:
        return struct.pack(f"<{len(numbers)}H", *numbers)
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits.to_bytes(8192, "little")


def bitmap_from_bytes(data: bytes) -> Bitmap:
    """The bitmap that was written as bytes."""
    try:
        return frozenset(_read(data))
    except (struct.error, IndexError):
        raise BitmapError(f"{len(data)} bytes that are no bitmap: {data[:16]!r}.") from None


def _read(data: bytes) -> Iterator[int]:
    (cookie,) = struct.unpack_from("<I", data)
    with_runs = cookie & 0xFFFF == _COOKIE_WITH_RUNS
    if not with_runs and cookie != _COOKIE:
        raise IndexError("no cookie")
    count = (cookie >> 16) + 1 if with_runs else struct.unpack_from("<I", data, 4)[0]
    at = 4 + (count + 7) // 8 if with_runs else 8
    flags = int.from_bytes(data[4:at], "little") if with_runs else 0
    headers = [struct.unpack_from("<HH", data, at + 4 * index) for index in range(count)]
    at += 4 * count
    if not with_runs or count >= 4:
        at += 4 * count
    for index, (key, less_one) in enumerate(headers):
        numbers, at = _read_container(data, at, less_one + 1, bool(flags >> index & 1))
        yield from ((key << 16) + number for number in numbers)


def _read_container(data: bytes, at: int, size: int, runs: bool) -> tuple[list[int], int]:
    if runs:
        (count,) = struct.unpack_from("<H", data, at)
        pairs = [struct.unpack_from("<HH", data, at + 2 + 4 * index) for index in range(count)]
        return [number for first, more in pairs for number in range(first, first + more + 1)], at + 2 + 4 * count
    if size <= _MOST_IN_ARRAY:
        return list(struct.unpack_from(f"<{size}H", data, at)), at + 2 * size
    bits = int.from_bytes(data[at : at + 8192], "little")
    return [number for number in range(65536) if bits >> number & 1], at + 8192


def _unsigned(number: int) -> int:
    return number & 0xFFFFFFFF


scalar(
    "BITMAP_BUILD", (ARRAY,), _RESULT, lambda items: frozenset(_unsigned(item) for item in items if item is not None)
)
scalar("BITMAP_CARDINALITY", (_BITMAP,), gives(DataTypes.BIGINT()), len)
scalar("BITMAP_FROM_BYTES", (BYTES,), _RESULT, bitmap_from_bytes)
scalar("BITMAP_TO_BYTES", (_BITMAP,), gives(DataTypes.BYTES()), bitmap_bytes)
scalar(
    "BITMAP_TO_ARRAY",
    (_BITMAP,),
    gives(DataTypes.ARRAY(DataTypes.INT())),
    lambda bitmap: tuple(wrapped(number, 32) for number in sorted(bitmap)),
)
scalar(
    "BITMAP_TO_STRING",
    (_BITMAP,),
    gives(STRING),
    lambda bitmap: "{" + ",".join(map(str, sorted(bitmap))) + "}",
)

_OPERATIONS: dict[str, Callable[[Bitmap, Bitmap], Bitmap]] = {
    "AND": frozenset.intersection,
    "OR": frozenset.union,
    "XOR": frozenset.symmetric_difference,
    "ANDNOT": frozenset.difference,
}
for _name, _operation in _OPERATIONS.items():
    scalar(f"BITMAP_{_name}", (_BITMAP, _BITMAP), _RESULT, _operation)


class _Bitmaps(Aggregator):
    """Values with how often they came; `finish` makes the bitmap of those that are there."""

    def __init__(self, finish: Callable[[dict[Any, int]], Bitmap], count: bool) -> None:
        self._finish, self._count = finish, count

    def create(self) -> Any:
        return {}

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        return self.merge(accumulator, {values[0]: 1})

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return self.merge(accumulator, {values[0]: -1})

    def merge(self, accumulator: Any, other: Any) -> Any:
        for value, count in other.items():
            accumulator[value] = accumulator.get(value, 0) + count
            if not accumulator[value]:
                del accumulator[value]
        return accumulator

    def value(self, accumulator: Any) -> Any:
        there = {value: count for value, count in accumulator.items() if count > 0}
        if not there:
            return None
        bitmap = self._finish(there)
        return len(bitmap) if self._count else bitmap


def _build(numbers: dict[Any, int]) -> Bitmap:
    return frozenset(map(_unsigned, numbers))


def _combine(operation: Callable[[Bitmap, Bitmap], Bitmap]) -> Callable[[dict[Any, int]], Bitmap]:
    return lambda bitmaps: reduce(operation, bitmaps)


def _odd(bitmaps: dict[Any, int]) -> Bitmap:
    """A bitmap that came twice is as if it never had."""
    return reduce(frozenset.symmetric_difference, (each for each, count in bitmaps.items() if count % 2), frozenset())


for _name, _check, _finish in (
    ("BUILD", INTEGER, _build),
    ("AND", _BITMAP, _combine(frozenset.intersection)),
    ("OR", _BITMAP, _combine(frozenset.union)),
    ("XOR", _BITMAP, _odd),
):
    for _count in (False, True):

        def _make(call: Call, finish: Callable[[dict[Any, int]], Bitmap] = _finish, count: bool = _count) -> Aggregator:
            return _Bitmaps(finish, count)

        _kind = gives_nullable(DataTypes.BIGINT() if _count else BitmapType())
        register_aggregate(f"BITMAP_{_name}_{'CARDINALITY_' if _count else ''}AGG", (_check,), _kind, _make)
