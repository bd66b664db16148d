"""Several aggregates over the same rows: their accumulators together, with FILTER, DISTINCT and NULLs looked after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from firesteel.table.evaluation import Evaluator, evaluator
from firesteel.table.functions.aggregates import Aggregator
from firesteel.table.functions.collections import element_key
from firesteel.table.logical.plan import AggregateCall, OverCall
from firesteel.table.physical.rows import row_function

__all__ = ["Accumulators", "AggregateCalls"]

Accumulators = list[Any]
"""An accumulator for each call. They belong to whoever asked for them."""


class _Plain:
    """A call without DISTINCT."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator
        self.create, self.value = aggregator.create, aggregator.value
        self.add, self.take_back, self.merge = aggregator.accumulate, aggregator.retract, aggregator.merge
        self.takes_nulls = aggregator.takes_nulls


class _Distinct:
    """A call that sees each value once: how often each is there stands beside the accumulator."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator
        self.takes_nulls = aggregator.takes_nulls

    def create(self) -> Any:
        return ({}, self._aggregator.create())

    def add(self, accumulator: Any, *values: Any) -> Any:
        seen, inner = accumulator
        key = element_key(values)
        times, _ = seen.get(key, (0, values))
        seen[key] = (times + 1, values)
        return (seen, inner if times else self._aggregator.accumulate(inner, *values))

    def take_back(self, accumulator: Any, *values: Any) -> Any:
        seen, inner = accumulator
        key = element_key(values)
        times, _ = seen.get(key, (1, values))
        if times > 1:
            seen[key] = (times - 1, values)
            return accumulator
        seen.pop(key, None)
        return (seen, self._aggregator.retract(inner, *values))

    def merge(self, accumulator: Any, other: Any) -> Any:
        seen, inner = accumulator
        for key, (times, values) in other[0].items():
            before, _ = seen.get(key, (0, values))
            seen[key] = (before + times, values)
            if not before:
                inner = self._aggregator.accumulate(inner, *values)
        return (seen, inner)

    def value(self, accumulator: Any) -> Any:
        return self._aggregator.value(accumulator[1])


class AggregateCalls:
    """What some calls make of rows. Made where it is used: functions of rows are not sent."""

    def __init__(self, calls: Sequence[AggregateCall | OverCall]) -> None:
        made = [each.function.make(each.call) for each in calls]
        self._parts = [_Distinct(one) if each.distinct else _Plain(one) for one, each in zip(made, calls)]
        self._arguments: list[Callable[[Any], tuple[Any, ...]]] = [row_function(each.arguments) for each in calls]
        self._filters: list[Evaluator | None] = [
            None if each.filter is None else evaluator(each.filter) for each in calls
        ]

    def create(self) -> Accumulators:
        """The accumulators of no rows."""
        return [part.create() for part in self._parts]

    def add(self, accumulators: Accumulators, row: Any) -> None:
        """Add a row."""
        for at, values in self._seen(row):
            accumulators[at] = self._parts[at].add(accumulators[at], *values)

    def take_back(self, accumulators: Accumulators, row: Any) -> None:
        """Take a row back."""
        for at, values in self._seen(row):
            accumulators[at] = self._parts[at].take_back(accumulators[at], *values)

    def merge(self, accumulators: Accumulators, others: Accumulators) -> None:
        """Add what others were given; they stay as they are."""
        for at, part in enumerate(self._parts):
            accumulators[at] = part.merge(accumulators[at], others[at])

    def values(self, accumulators: Accumulators) -> tuple[Any, ...]:
        """The results."""
        return tuple([part.value(each) for part, each in zip(self._parts, accumulators)])

    def _seen(self, row: Any) -> list[tuple[int, tuple[Any, ...]]]:
        """Which calls take the row, and the values that it has for them."""
        found = []
        for at, (part, arguments, keep) in enumerate(zip(self._parts, self._arguments, self._filters)):
            if keep is not None and keep(row) is not True:
                continue
            values = arguments(row)
            if part.takes_nulls or None not in values:
                found.append((at, values))
        return found
