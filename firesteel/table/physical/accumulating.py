"""The aggregates of a group: all of them together, added to and taken back from row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.errors import UnsupportedError
from firesteel.operators import MapTable
from firesteel.table.functions import Call, Function
from firesteel.table.functions.aggregates import Aggregator
from firesteel.table.logical.plan import AggregateCall
from firesteel.table.physical.rows import written
from firesteel.table.resolution import Typed

__all__ = ["Accumulators", "PreparedCall", "argument_expressions", "prepared_calls", "shown_calls"]


@dataclass(frozen=True)
class PreparedCall:
    """An aggregate whose arguments are positions in a tuple of prepared values.

    :param filter: The position of the condition, if there is one.
    """

    function: Function
    call: Call
    arguments: tuple[int, ...]
    distinct: bool = False
    filter: int | None = None


def prepared_calls(calls: Sequence[AggregateCall]) -> tuple[tuple[PreparedCall, ...], tuple[Typed, ...]]:
    """The calls over prepared values, and the expressions that give these, each once."""
    expressions: list[Typed] = []

    def position(expression: Typed) -> int:
        if expression not in expressions:
            expressions.append(expression)
        return expressions.index(expression)

    found = []
    for each in calls:
        if each.order:
            raise UnsupportedError(f"{each.function.name}: an aggregate with an order of its rows is not supported.")
        arguments = tuple(map(position, each.arguments))
        condition = None if each.filter is None else position(each.filter)
        found.append(PreparedCall(each.function, each.call, arguments, each.distinct, condition))
    return tuple(found), tuple(expressions)


def argument_expressions(calls: Sequence[AggregateCall]) -> tuple[Typed, ...]:
    """The expressions that the arguments of the calls are."""
    return prepared_calls(calls)[1]


def shown_calls(calls: Sequence[AggregateCall], names: Sequence[str]) -> list[str]:
    """The calls as a plan shows them."""
    texts = []
    for each in calls:
        arguments = ", ".join(written(argument, names) for argument in each.arguments) or "*"
        condition = "" if each.filter is None else f" FILTER {written(each.filter, names)}"
        texts.append(f"{each.function.name}({'DISTINCT ' if each.distinct else ''}{arguments}){condition}")
    return texts


Step = tuple[Callable[..., Any], Callable[..., Any], tuple[int, ...], int | None, bool, MapTable | None]


class Accumulators:
    """All aggregates of an operator. The accumulators of a group are one list.

    :param retracts: Whether rows are taken back too; otherwise many aggregates need to remember less.
    :param seen: Makes the table in which the values of a DISTINCT aggregate are counted, from a number.
    """

    def __init__(
        self, calls: Sequence[PreparedCall], retracts: bool, seen: Callable[[int], MapTable] | None = None
    ) -> None:
        self.aggregators = [_aggregator(each, retracts) for each in calls]
        self._steps: list[Step] = []
        self._seen: list[MapTable] = []
        for number, (each, aggregator) in enumerate(zip(calls, self.aggregators)):
            table = seen(number) if each.distinct and seen is not None else None
            if table is not None:
                self._seen.append(table)
            skips = bool(each.arguments) and not aggregator.takes_nulls
            self._steps.append((aggregator.accumulate, aggregator.retract, each.arguments, each.filter, skips, table))
        self._values = [aggregator.value for aggregator in self.aggregators]

    def create(self) -> list[Any]:
        """The accumulators of a new group."""
        return [aggregator.create() for aggregator in self.aggregators]

    def apply(self, key: Any, accumulators: list[Any], adds: bool, prepared: Sequence[Any]) -> None:
        """Add a row to a group, or take it back."""
        for index, (accumulate, retract, positions, condition, skips, seen) in enumerate(self._steps):
            if condition is not None and prepared[condition] is not True:
                continue
            values = [prepared[position] for position in positions]
            if skips and None in values:
                continue
            if seen is not None and not _changes(seen, key, tuple(values), adds):
                continue
            change = accumulate if adds else retract
            accumulators[index] = change(accumulators[index], *values)

    def values(self, accumulators: list[Any]) -> tuple[Any, ...]:
        """The results of a group."""
        return tuple([value(accumulator) for value, accumulator in zip(self._values, accumulators)])

    def forget(self, key: Any) -> None:
        """The group is gone: what was remembered beside its accumulators too."""
        for table in self._seen:
            table.remove(key)


def _aggregator(call: PreparedCall, retracts: bool) -> Aggregator:
    aggregator: Aggregator = call.function.make(call.call)
    return aggregator if retracts else aggregator.for_insertions()


def _changes(seen: MapTable, key: Any, value: Any, adds: bool) -> bool:
    """Count a value of a DISTINCT aggregate; whether it has come for the first time, or gone for the last."""
    counts = seen.entries.get(key)
    before = 0 if counts is None else counts.get(value, 0)
    after = before + 1 if adds else before - 1
    if after == 0:
        seen.remove_key(key, value)
    else:
        seen.put(key, value, after)
    return before == 0 if adds else after == 0
