"""Operators without a context: map, flat_map, filter and the rolling reduce. Each works on a whole batch at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import compress
from typing import Any

from firesteel.common.time import MAX_WATERMARK
from firesteel.model.functions import FilterFunction, FlatMapFunction, MapFunction, ReduceFunction
from firesteel.model.functions.adapt import bound_call, emitting
from firesteel.runtime.batch import Batch
from firesteel.runtime.operator import Operator
from firesteel.runtime.user_function import FunctionOperator
from firesteel.state.backend import KeyScope, value_table
from firesteel.state.tables import ABSENT


def map_batch(operator: Operator, call: Callable[[Any], Any], batch: Batch) -> None:
    """Emit one result per record, with the record's key in scope on keyed streams."""
    operator.cursor = cursor = iter(batch.values)
    keyed = operator.context.keyed_state
    if keyed is None or batch.keys is None:
        results = [call(value) for value in cursor]
    else:
        scope = keyed.scope
        results = []
        for value, key in zip(cursor, batch.keys):
            scope.key = key
            results.append(call(value))
    operator.output.emit(Batch(results, batch.timestamps))


def flat_map_batch(operator: Operator, call: Callable[[Any], Iterable[Any] | None], batch: Batch) -> None:
    """Emit any number of results per record, with the record's key in scope on keyed streams."""
    operator.cursor = cursor = iter(batch.values)
    keyed = operator.context.keyed_state
    scope = KeyScope() if keyed is None else keyed.scope
    results: list[Any] = []
    counts: list[int] = []
    for value, scope.key in zip(cursor, batch.values if batch.keys is None else batch.keys):
        made = call(value)
        before = len(results)
        if made is not None:
            results.extend(made)
        counts.append(len(results) - before)
    timestamps = batch.timestamps
    if timestamps is not None:
        timestamps = [stamp for stamp, count in zip(timestamps, counts) for _ in range(count)]
    operator.output.emit(Batch(results, timestamps))


class MapOperator(FunctionOperator):
    """Exactly one result per record."""

    def __init__(self, function: MapFunction) -> None:
        super().__init__(function)

    def process(self, batch: Batch) -> None:
        """Map all records."""
        map_batch(self, bound_call(self.function, "map"), batch)


class FilterOperator(FunctionOperator):
    """Keeps the records for which the function says so."""

    def __init__(self, function: FilterFunction) -> None:
        super().__init__(function)

    def process(self, batch: Batch) -> None:
        """Filter all records."""
        keep = bound_call(self.function, "filter")
        self.cursor = cursor = iter(batch.values)
        if self.context.keyed_state is not None and batch.keys is not None:
            self._process_keyed(batch)
        elif batch.timestamps is None:
            self.output.emit(Batch([value for value in cursor if keep(value)]))
        else:
            self._emit_selected(batch, [keep(value) for value in cursor])

    def _process_keyed(self, batch: Batch) -> None:
        assert self.context.keyed_state is not None and batch.keys is not None and self.cursor is not None
        scope, keep = self.context.keyed_state.scope, bound_call(self.function, "filter")
        verdicts = []
        for value, key in zip(self.cursor, batch.keys):
            scope.key = key
            verdicts.append(keep(value))
        self._emit_selected(batch, verdicts)

    def _emit_selected(self, batch: Batch, verdicts: list[Any]) -> None:
        timestamps = batch.timestamps
        kept = None if timestamps is None else list(compress(timestamps, verdicts))
        self.output.emit(Batch(list(compress(batch.values, verdicts)), kept))


class FlatMapOperator(FunctionOperator):
    """Any number of results per record."""

    def __init__(self, function: FlatMapFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Find out which style the function is written in."""
        super().open()
        self._call = emitting(self.function, "flat_map", 1)

    def process(self, batch: Batch) -> None:
        """Map all records."""
        flat_map_batch(self, self._call, batch)


class ReduceOperator(FunctionOperator):
    """The rolling reduce of a keyed stream: one result per record, or one per key at the end in BATCH mode."""

    def __init__(self, function: ReduceFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Declare the state: one aggregate per key."""
        super().open()
        assert self.context.keyed_state is not None
        self._table = value_table(self.context.keyed_state, "_reduce")

    def process(self, batch: Batch) -> None:
        """Reduce each record into its key's aggregate."""
        assert batch.keys is not None
        entries, reduce = self._table.batch_entries, bound_call(self.function, "reduce")
        self.cursor = cursor = iter(batch.values)
        results: list[Any] = []
        for value, key in zip(cursor, batch.keys):
            current = entries.get(key, ABSENT)
            entries[key] = result = value if current is ABSENT else reduce(current, value)
            results.append(result)
        self._table.dirty.update(batch.keys)
        if not self.context.batch_mode:
            self.output.emit(Batch(results, batch.timestamps))

    def finish(self) -> None:
        """In BATCH mode: emit the aggregate of every key, in order of the keys where they have one."""
        if self.context.batch_mode:
            entries = self._table.entries
            try:
                keys = sorted(entries)
            except TypeError:  # keys without an order: as they came
                keys = list(entries)
            self.output.emit(Batch([entries[key] for key in keys], [MAX_WATERMARK] * len(keys)))
