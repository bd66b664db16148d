"""What depends on an order: Top-N and deduplication behind ROW_NUMBER, OVER aggregates, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from firesteel.table.changelog import INSERT_ONLY, ChangelogMode
from firesteel.table.functions.definition import FunctionKind
from firesteel.table.logical.plan import (
    Aggregate,
    AggregateCall,
    Filter,
    Over,
    OverBound,
    OverCall,
    OverWindow,
    Project,
    Relation,
    Sort,
    SortKey,
)
from firesteel.table.physical.calc import projected
from firesteel.table.physical.conditions import attribute_of, both, columns_of, rank_bounds, traced
from firesteel.table.physical.final_rows import finally_only
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.options import state_ttl
from firesteel.table.physical.over import Frame, OverAggregate, OverInOrder
from firesteel.table.physical.planner import RULES, Planner, UnsupportedQueryError, translation
from firesteel.table.physical.rank import EarliestRow, FirstRow, LastRow, TopN
from firesteel.table.physical.rows import KeyOf, written
from firesteel.table.physical.sort import FinalSort, TimeSort
from firesteel.table.physical.translate_joins import Done
from firesteel.table.physical.window_attributes import window_columns
from firesteel.table.physical.window_contents import WindowDeduplicate, WindowTopN
from firesteel.table.resolution import ColumnValue, ConstantValue, Typed
from firesteel.table.types import DataTypes, TimeAttribute

__all__ = ["ranked", "translate_over", "translate_sort"]

_RETRACTED = ChangelogMode(updates=True, deletes=True)


def _keyed(
    name: str, detail: str, source: PhysicalNode, fields: Any, keys: Sequence[Typed], operator: Any, mode: ChangelogMode
) -> PhysicalNode:
    """A node whose operator has its rows by keys."""

    def connect(streams: Sequence[Any]) -> Any:
        result = streams[0].key_by(KeyOf(keys)).transform(name, None, operator)
        return result if keys else result.force_non_parallel()

    return PhysicalNode(name, detail, tuple(fields), mode, connect, (source,))


# ---- Top-N -----------------------------------------------------------------------------------------------------------


def ranked(relation: Relation, planner: Planner) -> PhysicalNode | None:
    """A filter that leaves only the first rows by ROW_NUMBER; whether their number is asked for, those above say."""
    above: list[Project] = []
    below = relation
    while isinstance(below, Project):
        above.append(below)
        below = below.input
    if not isinstance(below, Filter):
        return None
    over, rank = _numbered(below)
    if over is None:
        return None
    start, end, rest = rank_bounds(below.condition, rank)
    if end is None:
        return None
    needed = set(range(len(below.fields)))
    if above:
        needed = set(range(len(above[0].fields)))
        for each in above:
            needed = set().union(*(columns_of(each.expressions[at]) for at in needed))
    needed |= set().union(*map(columns_of, rest))
    node = _top(over, start, end, rank in needed, planner)
    for each in reversed(_between(below.input)):
        node = projected(node, each)
    condition = both(rest)
    rows: Relation = Done(below.fields, node)
    if condition is not None:
        rows = Filter(below.fields, rows, condition)
    for each in reversed(above):
        rows = replace(each, input=rows)
    return planner.translate(rows)


def _numbered(relation: Filter) -> tuple[Over | None, int]:
    """The ROW_NUMBER below a filter, and the column in which its number is there."""
    for at in range(len(relation.fields)):
        origin, index = traced(relation.input, at)
        if (
            isinstance(origin, Over)
            and index == len(origin.input.fields)
            and len(origin.calls) == 1
            and origin.calls[0].function.name == "ROW_NUMBER"
            and not any(isinstance(each, Filter) for each in _path(relation.input))
            and at in columns_of(relation.condition)
        ):
            return origin, at
    return None, 0


def _path(relation: Relation) -> list[Relation]:
    found: list[Relation] = []
    while isinstance(relation, (Project, Filter)):
        found.append(relation)
        relation = relation.input
    return found


def _between(relation: Relation) -> list[Project]:
    return [each for each in _path(relation) if isinstance(each, Project)]


def _top(over: Over, start: int, end: int, with_rank: bool, planner: Planner) -> PhysicalNode:
    window = over.calls[0].window
    source = planner.translate(over.input)
    names = [each.name for each in source.fields]
    by = ", ".join(written(each, names) for each in window.partition_by)
    order = ", ".join(written(each, names) for each in window.order_by)
    detail = f"rankRange=[rankStart={start}, rankEnd={end}], partitionBy=[{by}], orderBy=[{order}]"
    time = _order_of_time(window.order_by)
    found = _window_rank(over, start, end, with_rank, source, detail, time, planner)
    if found is None and (start, end) == (1, 1) and not with_rank and time is not None and source.mode.is_insert_only:
        found = _deduplicated(source, window, time, detail, planner)
    if found is None:
        found = _top_rows(over, source, start, end, with_rank, detail, planner)
    if with_rank:
        return found
    columns = [ColumnValue(each.data_type, at, each.name) for at, each in enumerate(source.fields)]
    number = ConstantValue(DataTypes.BIGINT(), None)
    return projected(found, Project(over.fields, over, (*columns, number)))


def _top_rows(
    over: Over, source: PhysicalNode, start: int, end: int, with_rank: bool, detail: str, planner: Planner
) -> PhysicalNode:
    window = over.calls[0].window
    operator = partial(
        TopN,
        window.order_by,
        start,
        end,
        with_rank,
        source.mode.is_insert_only,
        state_ttl(planner.options),
        _rising(over.input, source, window.order_by, window.partition_by),
    )
    fields = over.fields if with_rank else source.fields
    node = _keyed("Rank", detail, source, fields, window.partition_by, operator, _RETRACTED)
    return finally_only(node, planner)


def _rising(
    relation: Relation, source: PhysicalNode, order_by: Sequence[SortKey], partition_by: Sequence[Typed]
) -> tuple[int, ...] | None:
    """The key of rows that, in this order, only ever rise: counts and maxima of groups to which rows only come."""
    if len(order_by) != 1 or not source.unique_keys or source.mode.deletes or not source.mode.updates:
        return None
    (order,) = order_by
    if not isinstance(order.value, ColumnValue):
        return None
    origin, index = traced(relation, order.value.index)
    if not isinstance(origin, Aggregate) or index < len(origin.keys):
        return None
    call = origin.calls[index - len(origin.keys)]
    rising = {"COUNT": True, "MAX": True, "MIN": False}
    if not isinstance(call, AggregateCall) or rising.get(call.function.name) is not order.descending:
        return None
    partition = {each.index for each in partition_by if isinstance(each, ColumnValue)}
    for key in source.unique_keys:
        if len(partition) == len(partition_by) and partition <= key:
            return tuple(sorted(key))
    return None


def _order_of_time(order: Sequence[SortKey]) -> SortKey | None:
    """The one time attribute by which rows are ordered."""
    if len(order) == 1 and isinstance(order[0].value, ColumnValue):
        return order[0] if attribute_of(order[0].value.type) is not TimeAttribute.REGULAR else None
    return None


def _deduplicated(
    source: PhysicalNode, window: OverWindow, time: SortKey, detail: str, planner: Planner
) -> PhysicalNode:
    assert isinstance(time.value, ColumnValue)
    event_time = attribute_of(time.value.type) is TimeAttribute.ROWTIME
    ttl, column = state_ttl(planner.options), time.value.index
    if time.descending:
        operator: Any = partial(LastRow, column if event_time else None, ttl)
    else:
        operator = partial(EarliestRow, column) if event_time else partial(FirstRow, ttl)
    mode = ChangelogMode(updates=True) if time.descending else INSERT_ONLY
    node = _keyed("Deduplicate", detail, source, source.fields, window.partition_by, operator, mode)
    return finally_only(node, planner)


def _window_rank(
    over: Over,
    start: int,
    end: int,
    with_rank: bool,
    source: PhysicalNode,
    detail: str,
    time: SortKey | None,
    planner: Planner,
) -> PhysicalNode | None:
    """The first rows of each window, if the partition is one of windows."""
    window = over.calls[0].window
    found = window_columns(over.input, planner.session.time_zone)
    columns = {each.index for each in window.partition_by if isinstance(each, ColumnValue)}
    if found is None or not found.starts & columns or not found.ends & columns or not source.mode.is_insert_only:
        return None
    windows = found.starts | found.ends | found.times
    at = next(iter(sorted(found.ends & columns)))
    keys = [each for each in window.partition_by if not (isinstance(each, ColumnValue) and each.index in windows)]
    if time is not None and (start, end) == (1, 1) and not with_rank and isinstance(time.value, ColumnValue):
        operator: Any = partial(WindowDeduplicate, time.value.index, not time.descending, at, found.windows.zone)
        return _keyed("WindowDeduplicate", detail, source, source.fields, keys, operator, INSERT_ONLY)
    operator = partial(WindowTopN, window.order_by, start, end, with_rank, at, found.windows.zone)
    fields = over.fields if with_rank else source.fields
    return _keyed("WindowRank", detail, source, fields, keys, operator, INSERT_ONLY)


RULES.append(ranked)


# ---- OVER ------------------------------------------------------------------------------------------------------------


@translation(Over)
def translate_over(relation: Over, planner: Planner) -> PhysicalNode:
    """Aggregates over a frame that ends with the current row."""
    source = planner.translate(relation.input)
    window = relation.calls[0].window
    units = {_unit(each) for each in relation.calls}
    if len(units) > 1 or any(each.window != window for each in relation.calls):
        raise UnsupportedQueryError(
            "Unsupported use of OVER windows: all calls of a SELECT must have the same one. Use sub-queries."
        )
    for call in relation.calls:
        if call.function.name in ("LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST"):
            raise UnsupportedQueryError(f"{call.function.name} Function is not supported in stream mode.")
    frame = Frame(units.pop(), _preceding(window))
    order = window.order_by
    time = _order_of_time(order)
    names = [each.name for each in source.fields]
    detail = (
        f"partitionBy=[{', '.join(written(each, names) for each in window.partition_by)}], "
        f"orderBy=[{', '.join(written(each, names) for each in order)}]"
    )
    if time is not None and not time.descending and source.mode.is_insert_only:
        assert isinstance(time.value, ColumnValue)
        event_time = attribute_of(time.value.type) is TimeAttribute.ROWTIME
        operator: Any = partial(OverAggregate, time.value.index if event_time else None, frame, relation.calls)
        return _keyed("OverAggregate", detail, source, relation.fields, window.partition_by, operator, INSERT_ONLY)
    if frame.preceding is not None:
        raise UnsupportedQueryError("OVER with a bounded frame is ordered by a time attribute, in ascending order.")
    if any(each.descending for each in order):
        raise UnsupportedQueryError("OVER: the window can only be ordered in ASCENDING mode.")
    if any(each.function.kind is not FunctionKind.AGGREGATE for each in relation.calls):
        raise UnsupportedQueryError("OVER in another order than that of a time attribute takes aggregates only.")
    operator = partial(OverInOrder, order, frame.unit, relation.calls, state_ttl(planner.options))
    node = _keyed("OverAggregate", detail, source, relation.fields, window.partition_by, operator, _RETRACTED)
    return finally_only(node, planner)


def _unit(call: OverCall) -> str:
    """Functions that number rows look at each by itself."""
    return call.window.frame if call.function.kind is FunctionKind.AGGREGATE else "ROWS"


def _preceding(window: OverWindow) -> int | None:
    if window.upper != OverBound("CURRENT ROW") or window.lower.kind == "FOLLOWING":
        raise UnsupportedQueryError(
            "the frame of OVER has to end with CURRENT ROW: rows that follow are not known yet."
        )
    offset = window.lower.offset
    if window.lower.kind == "CURRENT ROW":
        return 0
    if offset is None:
        return None
    if not isinstance(offset, ConstantValue) or not isinstance(offset.value, int):
        raise UnsupportedQueryError("the length of the frame of OVER has to be a literal.")
    return offset.value


# ---- ORDER BY --------------------------------------------------------------------------------------------------------


@translation(Sort)
def translate_sort(relation: Sort, planner: Planner) -> PhysicalNode:
    """ORDER BY time, the first rows of an order, or, of a bounded table, any order."""
    source = planner.translate(relation.input)
    names = [each.name for each in source.fields]
    detail = f"orderBy=[{', '.join(written(each, names) for each in relation.keys)}]"
    if planner.batch:
        operator: Any = partial(FinalSort, relation.keys, relation.offset, relation.fetch)
        return _keyed("Sort", detail, source, relation.fields, (), operator, INSERT_ONLY)
    if relation.fetch is not None:
        return _first_rows(relation, source, detail, planner)
    time = _order_of_time(relation.keys[:1])
    if relation.offset or time is None or time.descending or not source.mode.is_insert_only:
        raise UnsupportedQueryError(
            "Sort on a non-time-attribute field is not supported: a stream is ordered by its time attribute first, "
            "ascending, or by anything with LIMIT."
        )
    assert isinstance(time.value, ColumnValue)
    if attribute_of(time.value.type) is TimeAttribute.PROCTIME:
        return replace(source, fields=relation.fields)
    operator = partial(TimeSort, time.value.index, relation.keys[1:])
    return _keyed("TemporalSort", detail, source, relation.fields, (), operator, INSERT_ONLY)


def _first_rows(relation: Sort, source: PhysicalNode, detail: str, planner: Planner) -> PhysicalNode:
    assert relation.fetch is not None
    start, end = relation.offset + 1, relation.offset + relation.fetch
    append_only = source.mode.is_insert_only
    row_key = _rising(relation.input, source, relation.keys, ())
    operator = partial(TopN, relation.keys, start, end, False, append_only, state_ttl(planner.options), row_key)
    name = "SortLimit" if relation.keys else "Limit"
    mode = INSERT_ONLY if append_only and not relation.keys else _RETRACTED
    detail = f"{detail}, offset=[{relation.offset}], fetch=[{relation.fetch}]"
    return _keyed(name, detail, source, relation.fields, (), operator, mode)
