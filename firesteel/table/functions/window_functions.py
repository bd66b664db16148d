"""Functions that look at the other rows of their window: their number, their rank, their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.table.functions.conditional import to_common
from firesteel.table.functions.definition import Call, Function, FunctionKind, call_error, register
from firesteel.table.functions.signatures import ANY, INTEGER, Check, check_arguments
from firesteel.table.types import DataType, DataTypes, common_type

__all__ = ["WindowFunction"]

BIGINT, DOUBLE = DataTypes.BIGINT(False), DataTypes.DOUBLE(False)


@dataclass(frozen=True)
class WindowFunction:
    """How such a function works: from the rows of a partition, in order, one value for each.

    `compute` gets the arguments of each row, and for each row the number of its group of peers: those that the order
    holds for equal.
    """

    compute: Callable[[Sequence[tuple[Any, ...]], Sequence[int]], list[Any]]


def _window(
    name: str,
    checks: tuple[Check, ...],
    result: Callable[[Call], DataType],
    make: Callable[[Call], WindowFunction],
    least: int | None = None,
) -> None:
    def infer(call: Call) -> DataType:
        check_arguments(call, checks, least)
        return result(call)

    register(Function(name, infer, make, strict=False, kind=FunctionKind.WINDOW))


def _numbers(name: str, result: DataType, compute: Callable[[Sequence[int]], list[Any]]) -> None:
    _window(name, (), lambda call: result, lambda call: WindowFunction(lambda rows, peers: compute(peers)))


def _ranks(peers: Sequence[int]) -> list[int]:
    """One more than the rows before those that are equal."""
    first: dict[int, int] = {}
    return [first.setdefault(peer, at) for at, peer in enumerate(peers, 1)]


def _dense_ranks(peers: Sequence[int]) -> list[int]:
    seen: dict[int, int] = {}
    return [seen.setdefault(peer, len(seen) + 1) for peer in peers]


def _percent_ranks(peers: Sequence[int]) -> list[float]:
    others = len(peers) - 1
    return [(rank - 1) / others if others else 0.0 for rank in _ranks(peers)]


def _cumulative(peers: Sequence[int]) -> list[float]:
    last = {peer: at for at, peer in enumerate(peers, 1)}
    return [last[peer] / len(peers) for peer in peers]


_numbers("ROW_NUMBER", BIGINT, lambda peers: list(range(1, len(peers) + 1)))
_numbers("RANK", BIGINT, _ranks)
_numbers("DENSE_RANK", BIGINT, _dense_ranks)
_numbers("PERCENT_RANK", DOUBLE, _percent_ranks)
_numbers("CUME_DIST", DOUBLE, _cumulative)


def _make_ntile(call: Call) -> WindowFunction:
    buckets = call.literal(0)
    if not isinstance(buckets, int) or buckets < 1:
        raise call_error(call, "the number of buckets has to be positive")

    def compute(rows: Sequence[tuple[Any, ...]], peers: Sequence[int]) -> list[int]:
        size, larger = divmod(len(rows), buckets)
        border = larger * (size + 1)
        return [at // (size + 1) + 1 if at < border else larger + (at - border) // size + 1 for at in range(len(rows))]

    return WindowFunction(compute)


_window("NTILE", (INTEGER,), lambda call: BIGINT, _make_ntile)


def _neighbour_type(call: Call) -> DataType:
    if len(call.types) < 3:
        return call.types[0].nullable()
    merged = common_type([call.types[0], call.types[2]])
    if merged is None:
        raise call_error(call, "the value and its default have no common type")
    return merged


def _make_neighbour(sign: int) -> Callable[[Call], WindowFunction]:
    def make(call: Call) -> WindowFunction:
        offset = sign * call.literal(1, 1)
        cast = to_common(call.types[0], _neighbour_type(call), call.session)

        def compute(rows: Sequence[tuple[Any, ...]], peers: Sequence[int]) -> list[Any]:
            values = [row[0] if cast is None else cast(row[0]) for row in rows]
            found = []
            for at, row in enumerate(rows):
                there = 0 <= at + offset < len(rows)
                found.append(values[at + offset] if there else row[2] if len(row) > 2 else None)
            return found

        return WindowFunction(compute)

    return make


_window("LAG", (ANY, INTEGER, ANY), _neighbour_type, _make_neighbour(-1), least=1)
_window("LEAD", (ANY, INTEGER, ANY), _neighbour_type, _make_neighbour(1), least=1)
