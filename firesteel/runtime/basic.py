"""Operators without a context: map, flat_map, filter and the rolling reduce. Each works on a whole batch at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import compress, repeat
from typing import Any

from firesteel.common.time import MAX_WATERMARK
from firesteel.model.functions import FilterFunction, FlatMapFunction, MapFunction, ReduceFunction
from firesteel.model.functions.adapt import bound_call, emitting
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.emission import USUAL_RESULTS, flat_results_of
from firesteel.runtime.records import UNCHANGEABLE
from firesteel.runtime.user_function import FunctionOperator
from firesteel.state.backend import KeyScope, value_table


class MapCall:
    """A function from record to record, as it is called for the records of a batch.

    :ivar as_it_is: What the function returns can be handed on without a look at it: nobody keeps it.
    """

    __slots__ = ("as_it_is", "call")

    def __init__(self, operator: FunctionOperator, method: str) -> None:
        self.call = bound_call(operator.function, method)
        self.as_it_is = operator.nothing_is_kept_by(self.call)

    def run(self, operator: FunctionOperator, batch: RowBatch) -> None:
        """Emit one result per record, with the record's key in scope on keyed streams."""
        operator.cursor = cursor = iter(batch.values)
        call, own, unchangeable = self.call, operator.own, UNCHANGEABLE
        keyed = operator.context.keyed_state
        if keyed is not None and batch.keys is not None:
            scope = keyed.scope
            results = [
                made if (made := call(value)).__class__ in unchangeable else own(made)
                for value, scope.key in zip(cursor, batch.keys)
            ]
        elif self.as_it_is:
            results = [call(value) for value in cursor]
        else:
            # Copied before the function is called again. What cannot change needs no copy: the usual cases, without
            # a call.
            results = [
                made
                if (
                    (made := call(value)).__class__ is tuple
                    and len(made) == 2
                    and made[0].__class__ in unchangeable
                    and made[1].__class__ in unchangeable
                )
                or made.__class__ in unchangeable
                else own(made)
                for value in cursor
            ]
        operator.output.emit(RowBatch(results, batch.timestamps))


def flat_map_batch(operator: FunctionOperator, call: Callable[[Any], Iterable[Any] | None], batch: RowBatch) -> None:
    """Emit any number of results per record, with the record's key in scope on keyed streams."""
    operator.cursor = cursor = iter(batch.values)
    keyed = operator.context.keyed_state
    scope = KeyScope() if keyed is None else keyed.scope
    own, unchangeable = operator.own, UNCHANGEABLE
    results: list[Any] = []
    counts: list[int] = []
    for value, scope.key in zip(cursor, repeat(None) if batch.keys is None else batch.keys):
        made = call(value)
        before = len(results)
        if made is not None:
            if made.__class__ not in USUAL_RESULTS:
                made = flat_results_of(made)
            results.extend([each if each.__class__ in unchangeable else own(each) for each in made])
        counts.append(len(results) - before)
    timestamps = batch.timestamps
    if timestamps is not None:
        timestamps = [stamp for stamp, count in zip(timestamps, counts) for _ in range(count)]
    operator.output.emit(RowBatch(results, timestamps))


class MapOperator(FunctionOperator):
    """Exactly one result per record."""

    def __init__(self, function: MapFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Find out how the function is called."""
        super().open()
        self._map = MapCall(self, "map")

    def process(self, batch: RowBatch) -> None:
        """Map all records."""
        self._map.run(self, batch)


class FilterOperator(FunctionOperator):
    """Keeps the records for which the function says so."""

    def __init__(self, function: FilterFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Find out how the function is called."""
        super().open()
        self._keep = bound_call(self.function, "filter")
        self._as_it_is = self.nothing_is_kept_by(self._keep)

    def process(self, batch: RowBatch) -> None:
        """Filter all records."""
        keep, own, unchangeable = self._keep, self.own, UNCHANGEABLE
        self.cursor = cursor = iter(batch.values)
        if self.context.keyed_state is not None and batch.keys is not None:
            scope, numbers = self.context.keyed_state.scope, range(len(batch))
            kept = [(own(value), index) for value, index, scope.key in zip(cursor, numbers, batch.keys) if keep(value)]
            self._emit_kept(batch, kept)
        elif batch.timestamps is None and self._as_it_is:
            self.output.emit(RowBatch([value for value in cursor if keep(value)]))
        elif batch.timestamps is None:
            made = [value if value.__class__ in unchangeable else own(value) for value in cursor if keep(value)]
            self.output.emit(RowBatch(made))
        elif self._as_it_is:
            verdicts = [keep(value) for value in cursor]
            stamps = list(compress(batch.timestamps, verdicts))
            self.output.emit(RowBatch(list(compress(batch.values, verdicts)), stamps))
        else:
            self._emit_kept(batch, [(own(value), index) for index, value in enumerate(cursor) if keep(value)])

    def _emit_kept(self, batch: RowBatch, kept: list[tuple[Any, int]]) -> None:
        stamps = batch.timestamps
        values = [value for value, _ in kept]
        self.output.emit(RowBatch(values, None if stamps is None else [stamps[index] for _, index in kept]))


class FlatMapOperator(FunctionOperator):
    """Any number of results per record."""

    def __init__(self, function: FlatMapFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Find out which style the function is written in."""
        super().open()
        self._call = emitting(self.function, "flat_map", 1, self.own)

    def process(self, batch: RowBatch) -> None:
        """Map all records."""
        flat_map_batch(self, self._call, batch)


class ReduceOperator(FunctionOperator):
    """The rolling reduce of a keyed stream: one result per record, or one per key in BATCH mode."""

    def __init__(self, function: ReduceFunction) -> None:
        super().__init__(function)
        self._final: list[Any] = []

    def open(self) -> None:
        """Declare the state: one aggregate per key."""
        super().open()
        assert self.context.keyed_state is not None
        self._table = value_table(self.context.keyed_state, "_reduce")

    def process(self, batch: RowBatch) -> None:
        """Reduce each record into its key's aggregate."""
        assert batch.keys is not None and self.context.keyed_state is not None
        entries, reduce = self._table.batch_entries, bound_call(self.function, "reduce")
        scope, own, unchangeable = self.context.keyed_state.scope, self.own, UNCHANGEABLE
        self.cursor = cursor = iter(batch.values)
        results: list[Any] = []
        for value, scope.key in zip(cursor, batch.keys):
            key = scope.key
            current = entries.get(key)
            entries[key] = result = value if current is None else reduce(current, value)
            results.append(result if result.__class__ in unchangeable else own(result))
        self._table.dirty.update(batch.keys)
        if not self.context.batch_mode:
            self.output.emit(RowBatch(results, batch.timestamps))

    def end_key(self) -> None:
        """In BATCH mode: the aggregate is final."""
        assert self.context.keyed_state is not None
        self._final.append(self.own(self._table.entries[self.context.keyed_state.scope.key]))
        if len(self._final) >= self.context.batch_records:
            self.end_epoch()

    def end_epoch(self) -> None:
        """Emit the final aggregates."""
        if self._final:
            final, self._final = self._final, []
            self.output.emit(RowBatch(final, [MAX_WATERMARK] * len(final)))

    def advance_watermark(self, watermark: int) -> None:
        """Results come before the watermark."""
        self.end_epoch()
        super().advance_watermark(watermark)
