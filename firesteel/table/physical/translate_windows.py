"""Windows of time in queries: the tables of TUMBLE and its kin, groups by their windows, the older group windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from firesteel.table.changelog import INSERT_ONLY
from firesteel.table.functions.casting import nanos_per_tick
from firesteel.table.logical.plan import (
    Aggregate,
    AggregateCall,
    Filter,
    Project,
    Relation,
    WindowProperty,
    WindowTable,
)
from firesteel.table.physical.accumulating import shown_calls
from firesteel.table.physical.calc import projected
from firesteel.table.physical.conditions import attribute_of, columns_of, traced
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import RULES, Planner, UnsupportedQueryError, translation
from firesteel.table.physical.rows import KeyOf, written
from firesteel.table.physical.window_attributes import WindowColumns, window_columns
from firesteel.table.physical.window_contents import AttachedAggregate
from firesteel.table.physical.window_times import Windows
from firesteel.table.physical.windows import SessionAggregate, SessionTable, WindowAggregate, WindowRows
from firesteel.table.resolution import ColumnValue, ConstantValue, Typed
from firesteel.table.types import DataType, LocalZonedTimestampType, RowField, TimeAttribute

__all__ = ["group_windows", "translate_window_table"]

_START, _END, _TIME = range(3)


def checked_time(data_type: DataType, what: str, batch: bool = False) -> bool:
    """Whether a time is event time (or processing time); in a stream it has to be one of both."""
    attribute = attribute_of(data_type)
    if attribute is TimeAttribute.PROCTIME:
        return False
    if attribute is TimeAttribute.REGULAR and not batch:
        raise UnsupportedQueryError(
            f"{what} requires a time attribute, but the column is {data_type}: declare a WATERMARK for it, or use "
            "PROCTIME()."
        )
    if nanos_per_tick(data_type) != 1_000_000:
        raise UnsupportedQueryError(f"{what} takes times of milliseconds, got {data_type}: declare it with 3 digits.")
    return True


def _zone(data_type: DataType, planner: Planner) -> str | None:
    return planner.session.time_zone if isinstance(data_type, LocalZonedTimestampType) else None


def _shown(kind: str, lengths: Sequence[int]) -> str:
    return f"{kind}({', '.join(f'{length} ms' for length in lengths)})"


@translation(WindowTable)
def translate_window_table(relation: WindowTable, planner: Planner) -> PhysicalNode:
    """Each row with its windows."""
    source = planner.translate(relation.input)
    point = relation.input.fields[relation.time].data_type
    time = relation.time if checked_time(point, relation.kind, planner.batch) else None
    windows = Windows(relation.kind, relation.lengths, relation.offset, _zone(point, planner))
    key = KeyOf(
        ColumnValue(relation.fields[at].data_type, at, relation.fields[at].name) for at in relation.partition_by
    )

    def connect(streams: Sequence[Any]) -> Any:
        if relation.kind != "SESSION":
            return streams[0].transform("WindowTableFunction", None, partial(WindowRows, windows, time))
        result = streams[0].key_by(key).transform("WindowTableFunction", None, partial(SessionTable, windows, time))
        return result if relation.partition_by else result.force_non_parallel()

    detail = f"window=[{_shown(relation.kind, relation.lengths)}]"
    return PhysicalNode("WindowTableFunction", detail, relation.fields, source.mode, connect, (source,))


# ---- groups by windows -----------------------------------------------------------------------------------------------


def group_windows(relation: Relation, planner: Planner) -> PhysicalNode | None:
    """Groups by the start and the end of windows, and the older GROUP BY TUMBLE(...)."""
    if not isinstance(relation, Aggregate):
        return None
    if relation.window is not None:
        return _older(relation, planner)
    found = window_columns(relation.input, planner.session.time_zone)
    columns = [each.index for each in relation.keys if isinstance(each, ColumnValue)]
    if found is None or not found.starts & set(columns) or not found.ends & set(columns):
        return None
    if len(relation.grouping_sets) != 1:
        raise UnsupportedQueryError("GROUPING SETS over windows: there is no operator for this yet.")
    start = next(at for at in columns if at in found.starts)
    end = next(at for at in columns if at in found.ends)
    roles = [_role(each, found) for each in relation.keys]
    keys = tuple(each for each, role in zip(relation.keys, roles) if role is None)
    table = _direct(relation.input)
    calls = tuple(each for each in relation.calls if isinstance(each, AggregateCall))
    if table is not None and (table.kind != "SESSION" or _partitions(relation, keys, table)):
        operator, source = _aligned(relation, table, found, start, calls, planner)
    else:
        source = planner.translate(relation.input)
        operator = partial(AttachedAggregate, (start, end), calls, found.windows.zone)
    node = _aggregated(relation, keys, calls, operator, source, found.windows)
    return _arranged(node, relation, roles, keys)


def _role(key: Typed, found: WindowColumns) -> int | None:
    for role, columns in enumerate((found.starts, found.ends, found.times)):
        if isinstance(key, ColumnValue) and key.index in columns:
            return role
    return None


def _direct(relation: Relation) -> WindowTable | None:
    """The table of windows, if nothing between it and its groups asks for a window."""
    asked: list[set[int]] = []
    while not isinstance(relation, WindowTable):
        if isinstance(relation, Filter):
            asked.append(columns_of(relation.condition))
        elif isinstance(relation, Project):
            kept = {at: each.index for at, each in enumerate(relation.expressions) if isinstance(each, ColumnValue)}
            computed = [columns_of(each) for each in relation.expressions if not isinstance(each, ColumnValue)]
            if any(column not in kept for columns in asked for column in columns):
                return None
            asked = [{kept[column] for column in columns} for columns in asked] + computed
        else:
            return None
        relation = relation.input
    width = len(relation.input.fields)
    return relation if all(column < width for columns in asked for column in columns) else None


def _partitions(relation: Aggregate, keys: tuple[Typed, ...], table: WindowTable) -> bool:
    """Whether the groups within a session are those of its partition."""
    found = [traced(relation.input, each.index) for each in keys if isinstance(each, ColumnValue)]
    return len(found) == len(keys) and {index for _, index in found} == set(table.partition_by)


def _aligned(
    relation: Aggregate,
    table: WindowTable,
    found: WindowColumns,
    start: int,
    calls: tuple[AggregateCall, ...],
    planner: Planner,
) -> tuple[Any, PhysicalNode]:
    """Groups straight from the rows: in the place of the window's start stands the time of the row."""
    if table.kind == "HOP" and table.lengths[1] % table.lengths[0]:
        slide, size = table.lengths
        raise UnsupportedQueryError(
            "HOP table function based aggregate requires size must be an integral multiple of slide, but got size "
            f"{size} ms and slide {slide} ms."
        )
    point = table.input.fields[table.time].data_type
    event_time = checked_time(point, table.kind, planner.batch)
    kind = SessionAggregate if table.kind == "SESSION" else WindowAggregate
    source = planner.translate(_with_times(relation.input, table))
    return partial(kind, found.windows, start if event_time else None, calls), source


def _with_times(relation: Relation, table: WindowTable) -> Relation:
    if relation is table:
        width = len(table.input.fields)
        own = [ColumnValue(each.data_type, at, each.name) for at, each in enumerate(table.input.fields)]
        windows = [own[table.time], *(ConstantValue(each.data_type, None) for each in table.fields[width + 1 :])]
        return Project(table.fields, table.input, (*own, *windows))
    assert isinstance(relation, (Filter, Project))
    return replace(relation, input=_with_times(relation.input, table))


def _aggregated(
    relation: Aggregate,
    keys: tuple[Typed, ...],
    calls: tuple[AggregateCall, ...],
    operator: Any,
    source: PhysicalNode,
    windows: Windows,
) -> PhysicalNode:
    """The groups: the rest of the keys, what the calls give, and start, end and time of the window."""
    names = [each.name for each in source.fields]
    shown = [written(each, names) for each in keys]
    fields = (
        *(RowField(f"$key{at}", each.type) for at, each in enumerate(keys)),
        *(RowField(f"$call{at}", each.call.result or relation.fields[0].data_type) for at, each in enumerate(calls)),
        *(RowField(name, relation.fields[0].data_type) for name in ("$start", "$end", "$time")),
    )

    def connect(streams: Sequence[Any]) -> Any:
        result = streams[0].key_by(KeyOf(keys)).transform("WindowAggregate", None, operator)
        return result if keys else result.force_non_parallel()

    detail = (
        f"groupBy=[{', '.join(shown)}], window=[{_shown(windows.kind, windows.lengths)}], "
        f"select=[{', '.join([*shown, *shown_calls(calls, names)])}]"
    )
    return PhysicalNode("WindowAggregate", detail, fields, INSERT_ONLY, connect, (source,))


def _arranged(
    node: PhysicalNode, relation: Aggregate, roles: list[int | None], keys: tuple[Typed, ...]
) -> PhysicalNode:
    """The columns in the order in which the relation has them."""
    calls = sum(isinstance(each, AggregateCall) for each in relation.calls)
    windows, places, plain, aggregates = len(keys) + calls, [], 0, len(keys)
    for role in roles:
        places.append(plain if role is None else windows + role)
        plain += role is None
    for call in relation.calls:
        if isinstance(call, AggregateCall):
            places.append(aggregates)
            aggregates += 1
        elif isinstance(call, WindowProperty):
            places.append(windows + {"START": _START, "END": _END}.get(call.name, _TIME))
        else:
            raise UnsupportedQueryError(f"{call.name} over windows: there is no operator for this yet.")
    values = tuple(ColumnValue(field.data_type, at, node.fields[at].name) for field, at in zip(relation.fields, places))
    return projected(node, Project(relation.fields, relation, values))


def _older(relation: Aggregate, planner: Planner) -> PhysicalNode:
    """GROUP BY TUMBLE(...), HOP(...) or SESSION(...)."""
    window = relation.window
    assert window is not None
    if len(relation.grouping_sets) != 1:
        raise UnsupportedQueryError(f"GROUPING SETS with {window.kind}: there is no operator for this yet.")
    if not isinstance(window.time, ColumnValue):
        raise UnsupportedQueryError(f"{window.kind} takes a column with the time.")
    event_time = checked_time(window.time.type, f"GROUP BY {window.kind}", planner.batch)
    windows = Windows(window.kind, window.lengths, 0, _zone(window.time.type, planner))
    calls = tuple(each for each in relation.calls if isinstance(each, AggregateCall))
    kind = SessionAggregate if window.kind == "SESSION" else WindowAggregate
    operator = partial(kind, windows, window.time.index if event_time else None, calls)
    node = _aggregated(relation, relation.keys, calls, operator, planner.translate(relation.input), windows)
    return _arranged(node, relation, [None] * len(relation.keys), relation.keys)


RULES.append(group_windows)
