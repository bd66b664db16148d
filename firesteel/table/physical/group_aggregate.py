"""GROUP BY without windows: the groups and their aggregates, changed with every row, or at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from firesteel.operators import Operator, RowBatch, map_table, value_table
from firesteel.table.changelog import (
    ADDS,
    DELETE,
    INSERT,
    INSERT_ONLY,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    ChangelogMode,
)
from firesteel.table.logical.plan import Aggregate, AggregateCall, GroupingCall
from firesteel.table.physical.accumulating import Accumulators, PreparedCall, prepared_calls, shown_calls
from firesteel.table.physical.expiry import Expiry
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.options import mini_batch_size, state_ttl
from firesteel.table.physical.planner import Planner, UnsupportedQueryError, translation
from firesteel.table.physical.rows import row_function, written
from firesteel.table.resolution import Typed

__all__ = ["GroupAggregateOperator", "GroupSettings", "PrepareOperator"]


class PrepareOperator(Operator):
    """Makes of each row what its groups need: ``(kind, key, arguments)``, once for each grouping set.

    With several sets the number of the set is the first part of the key, and keys that it does not have are NULL.
    """

    def __init__(
        self, keys: tuple[Typed, ...], sets: tuple[tuple[int, ...], ...], arguments: tuple[Typed, ...]
    ) -> None:
        self._keys, self._sets, self._arguments = keys, sets, arguments

    def open(self) -> None:
        """Make the functions of a row."""
        self._key_of, self._arguments_of = row_function(self._keys), row_function(self._arguments)

    def process(self, batch: Any) -> None:
        """Each row by itself."""
        key_of, arguments_of, timestamps = self._key_of, self._arguments_of, batch.timestamps
        self.cursor = cursor = iter(batch.values)
        prepared = [(kind, key_of(row), arguments_of(row)) for kind, row in cursor]
        if len(self._sets) != 1:
            masks = [[index in each for index in range(len(self._keys))] for each in self._sets]
            prepared = [
                (kind, (number, *(part if has else None for part, has in zip(key, mask))), arguments)
                for kind, key, arguments in prepared
                for number, mask in enumerate(masks)
            ]
            if timestamps is not None:
                timestamps = [stamp for stamp in timestamps for _ in masks]
        self.output.emit(RowBatch(prepared, timestamps))


@dataclass(frozen=True)
class GroupSettings:
    """What a group aggregation is told.

    :param calls: The aggregates, over prepared values.
    :param groupings: For each column behind the keys the number of its aggregate, or what it is in each grouping set.
    :param retracts: Whether rows are taken back.
    :param final: Whether only the end of the input gives results.
    :param global_group: Whether there is one group, which is there even if no row is.
    :param expanded: Whether the first part of a key is the number of a grouping set.
    :param ttl: How many milliseconds a group is remembered; 0 for ever.
    :param bundle: How many rows are put together before results go on; 0 for none.
    """

    calls: tuple[PreparedCall, ...]
    columns: tuple[int | tuple[Any, ...], ...]
    retracts: bool
    final: bool = False
    global_group: bool = False
    expanded: bool = False
    ttl: int = 0
    bundle: int = 0


# A group is a list: how many rows it has, when it was written, its results so far, its accumulators.
_COUNT, _WRITTEN, _RESULTS, _ACCUMULATORS = range(4)


class GroupAggregateOperator(Operator):
    """The groups of a key each, and what has changed of them.

    State: ``groups``, and for each DISTINCT aggregate how often each value is there.
    """

    takes_sorted_input = False

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._expiry = Expiry(settings.ttl)
        self._bundle: dict[Any, list[tuple[bool, Any, int | None]]] = {}
        self._bundled = 0

    def open(self) -> None:
        """Declare the state."""
        keyed = self.context.keyed_state
        assert keyed is not None
        self._groups = value_table(keyed, "groups")
        self._accumulators = Accumulators(
            self._settings.calls, self._settings.retracts, lambda number: map_table(keyed, f"distinct-{number}")
        )
        self._plain = self._settings.columns == tuple(range(len(self._settings.calls)))

    def process(self, batch: Any) -> None:
        """Change groups row by row, or remember the rows until there are enough."""
        if self._settings.bundle:
            self._collect(batch)
            return
        timestamps = batch.timestamps
        self.cursor = cursor = iter(batch.values)
        if self._settings.final:
            for kind, key, arguments in cursor:
                self._change(key, [(ADDS[kind], arguments)])
            return
        changes: list[Any] = []
        stamps: list[int] | None = None if timestamps is None else []
        for at, (kind, key, arguments) in enumerate(cursor):
            before = len(changes)
            self._change_and_tell(key, [(ADDS[kind], arguments)], changes)
            if stamps is not None:
                stamps.extend([timestamps[at]] * (len(changes) - before))
        self.output.emit(RowBatch(changes, stamps))

    # ---- one group -----------------------------------------------------------------------------------------

    def _group(self, key: Any) -> list[Any] | None:
        group = self._groups.entries.get(key)
        if group is not None and self._expiry.has_expired(group[_WRITTEN], self.context.clock.now):
            self._forget(key)
            return None
        return group

    def _forget(self, key: Any) -> None:
        self._groups.remove(key)
        self._accumulators.forget(key)

    def _change(self, key: Any, rows: Sequence[tuple[bool, Any]]) -> list[Any] | None:
        """Apply rows to a group; gives it, unless it was not there and only lost rows, or has none any more."""
        group = self._group(key)
        if group is None:
            rows = _from_first_added(rows)
            if not rows:
                return None
            group = [0, 0, None, self._accumulators.create()]
        apply, accumulators = self._accumulators.apply, group[_ACCUMULATORS]
        for adds, arguments in rows:
            apply(key, accumulators, adds, arguments)
            group[_COUNT] += 1 if adds else -1
        if group[_COUNT] == 0 and self._settings.retracts:
            self._forget(key)
        else:
            group[_WRITTEN] = self.context.clock.now
            self._groups.put(key, group)
        return group

    def _change_and_tell(self, key: Any, rows: Sequence[tuple[bool, Any]], changes: list[Any]) -> None:
        group = self._change(key, rows)
        if group is None:
            return
        before = group[_RESULTS]
        if group[_COUNT] == 0 and self._settings.retracts:
            if before is not None:
                changes.append((DELETE, self._row(key, before)))
            return
        after = group[_RESULTS] = self._accumulators.values(group[_ACCUMULATORS])
        if before is None:
            changes.append((INSERT, self._row(key, after)))
        elif self._settings.ttl or before != after:
            changes.append((UPDATE_BEFORE, self._row(key, before)))
            changes.append((UPDATE_AFTER, self._row(key, after)))

    def _row(self, key: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._plain:
            return (*key[1:], *results) if self._settings.expanded else key + results
        grouping_set = key[0] if self._settings.expanded else 0
        columns = [results[each] if isinstance(each, int) else each[grouping_set] for each in self._settings.columns]
        return (*(key[1:] if self._settings.expanded else key), *columns)

    # ---- bundles, and the end ------------------------------------------------------------------------------

    def _collect(self, batch: Any) -> None:
        bundle, timestamps = self._bundle, batch.timestamps
        for at, (kind, key, arguments) in enumerate(batch.values):
            stamp = None if timestamps is None else timestamps[at]
            rows = bundle.get(key)
            if rows is None:
                bundle[key] = [(ADDS[kind], arguments, stamp)]
            else:
                rows.append((ADDS[kind], arguments, stamp))
        self._bundled += len(batch.values)
        if self._bundled >= self._settings.bundle:
            self._flush()

    def _flush(self) -> None:
        """Work off the bundle: each group changes once."""
        bundle, self._bundle, self._bundled = self._bundle, {}, 0
        changes: list[Any] = []
        stamps: list[Any] = []
        for key, rows in bundle.items():
            if self._settings.final:
                self._change(key, [(adds, arguments) for adds, arguments, _ in rows])
                continue
            self._change_and_tell(key, [(adds, arguments) for adds, arguments, _ in rows], changes)
            stamps.extend([rows[-1][2]] * (len(changes) - len(stamps)))
        self.output.emit(RowBatch(changes, None if None in stamps else stamps))

    def advance_watermark(self, watermark: int) -> None:
        """What came before it goes on before it."""
        self._flush()
        super().advance_watermark(watermark)

    def settle(self) -> None:
        """Nobody waits for a bundle longer than for the rows that are there."""
        self._flush()

    def end_epoch(self) -> None:
        """A bundle does not outlive an epoch; groups that are too old are forgotten."""
        self._flush()
        self._expiry.sweep(
            self.context.clock.now, self._groups.entries, lambda group: int(group[_WRITTEN]), self._forget
        )

    def finish(self) -> None:
        """If only the end counts, this is it."""
        self._flush()
        if not self._settings.final:
            return
        groups = self._groups.entries
        values = self._accumulators.values
        rows = [(INSERT, self._row(key, values(group[_ACCUMULATORS]))) for key, group in groups.items()]
        if not rows and self._settings.global_group:
            rows = [(INSERT, self._row((), values(self._accumulators.create())))]
        self.output.emit(RowBatch(rows, None))


def _from_first_added(rows: Sequence[tuple[bool, Any]]) -> Sequence[tuple[bool, Any]]:
    """A group that is not there loses nothing: its rows begin with the first that is added."""
    for at, (adds, _) in enumerate(rows):
        if adds:
            return rows[at:]
    return ()


@translation(Aggregate)
def translate_aggregate(relation: Aggregate, planner: Planner) -> PhysicalNode:
    """Groups by keys; one subtask has them all if there are no keys."""
    if relation.window is not None:
        raise UnsupportedQueryError(f"GROUP BY {relation.window.kind}: there is no operator for this yet.")
    source = planner.translate(relation.input)
    aggregates = [each for each in relation.calls if isinstance(each, AggregateCall)]
    calls, arguments = prepared_calls(aggregates)
    sets = relation.grouping_sets
    settings = GroupSettings(
        calls,
        _columns(relation),
        retracts=not source.mode.is_insert_only,
        final=planner.batch,
        global_group=sets == ((),) and not relation.keys,
        expanded=len(sets) != 1,
        ttl=state_ttl(planner.options),
        bundle=mini_batch_size(planner.options),
    )
    prepare = partial(PrepareOperator, relation.keys, sets, arguments)

    def connect(streams: Any) -> Any:
        prepared = streams[0].transform("GroupKeys", None, prepare)
        result = prepared.key_by(itemgetter(1)).transform(
            "GroupAggregate", None, partial(GroupAggregateOperator, settings)
        )
        return result if relation.keys else result.force_non_parallel()

    mode = INSERT_ONLY if planner.batch else ChangelogMode(updates=True, deletes=not source.mode.is_insert_only)
    keys = (frozenset(range(len(relation.keys))),) if len(sets) == 1 else ()
    return PhysicalNode(
        "GroupAggregate", _detail(relation, aggregates, source), relation.fields, mode, connect, (source,), keys
    )


def _columns(relation: Aggregate) -> tuple[int | tuple[Any, ...], ...]:
    """What stands behind the keys: an aggregate by its number, or a value for each grouping set."""
    columns: list[int | tuple[Any, ...]] = []
    aggregates = 0
    for call in relation.calls:
        if isinstance(call, AggregateCall):
            columns.append(aggregates)
            aggregates += 1
        elif isinstance(call, GroupingCall):
            columns.append(tuple(_grouping(call, number, relation) for number in range(len(relation.grouping_sets))))
        else:
            raise UnsupportedQueryError(f"{call.name} of a window needs a GROUP BY with a window.")
    return tuple(columns)


def _grouping(call: GroupingCall, number: int, relation: Aggregate) -> int:
    present = relation.grouping_sets[number]
    if call.name == "GROUP_ID":
        return relation.grouping_sets[:number].count(present)
    bits = 0
    for key in call.keys:
        bits = bits * 2 + (key not in present)
    return bits


def _detail(relation: Aggregate, aggregates: list[AggregateCall], source: PhysicalNode) -> str:
    names = [field.name for field in source.fields]
    keys = [written(key, names) for key in relation.keys]
    sets = f"groupingSets={len(relation.grouping_sets)}, " if len(relation.grouping_sets) != 1 else ""
    grouped = f"groupBy=[{', '.join(keys)}], " if keys else ""
    return f"{grouped}{sets}select=[{', '.join([*keys, *shown_calls(aggregates, names)])}]"
