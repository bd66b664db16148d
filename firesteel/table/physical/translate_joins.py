"""Joins of relations: which operator joins them, by what, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from firesteel.table.changelog import INSERT_ONLY, ChangelogMode, merged
from firesteel.table.logical.plan import Filter, Join, Relation, Snapshot
from firesteel.table.physical.conditions import (
    JoinCondition,
    attribute_of,
    both,
    columns_of,
    conjuncts,
    has_query,
    interval_bounds,
    join_condition,
    shifted,
)
from firesteel.table.physical.final_rows import finally_only
from firesteel.table.physical.joins_interval import IntervalJoin
from firesteel.table.physical.joins_regular import RegularJoin, SemiJoin
from firesteel.table.physical.joins_temporal import VersionedJoin
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.options import state_ttl
from firesteel.table.physical.planner import RULES, Planner, UnsupportedQueryError, translation
from firesteel.table.physical.rows import KeyOf, written
from firesteel.table.physical.window_attributes import window_columns, without_windows
from firesteel.table.physical.window_contents import WindowJoin
from firesteel.table.resolution import ColumnValue, Typed, resolve
from firesteel.table.tree import Apply, Known
from firesteel.table.types import DataType, TimeAttribute

__all__ = ["Done", "joined", "semi_joined"]


@dataclass(frozen=True)
class Done(Relation):
    """A relation whose node is known already, for those above it."""

    node: PhysicalNode = field(compare=False)


@translation(Done)
def translate_done(relation: Any, planner: Planner) -> PhysicalNode:
    """The node."""
    node: PhysicalNode = relation.node
    return node


def joined(
    name: str,
    sides: tuple[PhysicalNode, PhysicalNode],
    condition: JoinCondition,
    operator: Any,
    relation: Relation,
    mode: ChangelogMode,
    kind: str,
) -> PhysicalNode:
    """A node that joins two others by the keys of a condition."""
    left, right = sides
    names = [each.name for each in (*left.fields, *right.fields)]
    shown = [
        f"{written(one, names)} = {written(other, names[len(left.fields) :])}"
        for one, other in zip(condition.left, condition.right)
    ] + [written(each, names) for each in condition.rest]

    def connect(streams: Sequence[Any]) -> Any:
        keys = KeyOf(condition.left), KeyOf(condition.right)
        one, other = (stream.key_by(key) for stream, key in zip(streams, keys))
        result = one.connect(other).transform(name, None, operator)
        return result if condition.left else result.force_non_parallel()

    detail = f"joinType=[{kind}], where=[{' AND '.join(shown) or 'true'}]"
    return PhysicalNode(name, detail, relation.fields, mode, connect, sides)


@translation(Join)
def translate_join(relation: Join, planner: Planner) -> PhysicalNode:
    """A join of any kind of two relations."""
    if isinstance(relation.right, Snapshot):
        return _temporal(relation, relation.right, planner)
    condition = join_condition(relation.condition, len(relation.left.fields))
    return (
        _window_join(relation, condition, planner)
        or _interval_join(relation, condition, planner)
        or _regular(relation, condition, planner)
    )


def _sides(relation: Join, planner: Planner) -> tuple[PhysicalNode, PhysicalNode]:
    return planner.translate(relation.left), planner.translate(relation.right)


def _widths(relation: Join) -> tuple[int, int]:
    return len(relation.left.fields), len(relation.right.fields)


def _regular(relation: Join, condition: JoinCondition, planner: Planner) -> PhysicalNode:
    sides = _sides(relation, planner)
    ttl = state_ttl(planner.options)
    operator: Any = partial(
        RegularJoin, relation.kind, _widths(relation), condition.residual, condition.null_safe, (ttl, ttl)
    )
    mode = merged(side.mode for side in sides)
    if relation.kind != "INNER":
        mode = replace(mode, deletes=True)
    return finally_only(joined("Join", sides, condition, operator, relation, mode, relation.kind), planner)


def semi_joined(
    left: PhysicalNode, right: PhysicalNode, condition: JoinCondition, anti: bool, relation: Relation, planner: Planner
) -> PhysicalNode:
    """The rows of the left side that have, or have not, a partner on the right."""
    ttl = state_ttl(planner.options)
    operator: Any = partial(SemiJoin, anti, condition.residual, condition.null_safe, (ttl, ttl))
    mode = merged((left.mode, right.mode))
    mode = replace(mode, deletes=True) if anti else mode
    kind = "LeftAntiJoin" if anti else "LeftSemiJoin"
    return finally_only(joined("Join", (left, right), condition, operator, relation, mode, kind), planner)


# ---- bounds of time --------------------------------------------------------------------------------------------------


def _types(relation: Join) -> list[DataType]:
    return [each.data_type for side in (relation.left, relation.right) for each in side.fields]


def _interval_join(relation: Join, condition: JoinCondition, planner: Planner) -> PhysicalNode | None:
    width = len(relation.left.fields)
    equal = _equal_times(condition, relation)
    conditions = [*condition.rest, *equal]
    found = interval_bounds(conditions, width, _types(relation))
    if found is None:
        return None
    sides = _sides(relation, planner)
    if not all(side.mode.is_insert_only for side in sides):
        return None
    bounds, rest = found
    if equal:
        kept = [at for at in range(len(condition.left)) if not _is_time_pair(condition, at, relation)]
        condition = JoinCondition(
            tuple(condition.left[at] for at in kept),
            tuple(condition.right[at] for at in kept),
            tuple(condition.null_safe[at] for at in kept),
        )
    condition = replace(condition, rest=tuple(rest))
    operator: Any = partial(
        IntervalJoin, relation.kind, bounds, _widths(relation), condition.residual, condition.null_safe
    )
    return joined("IntervalJoin", sides, condition, operator, relation, INSERT_ONLY, relation.kind)


def _is_time_pair(condition: JoinCondition, at: int, relation: Join) -> bool:
    pair = (condition.left[at], condition.right[at])
    return not condition.null_safe[at] and all(
        isinstance(each, ColumnValue) and attribute_of(each.type) is TimeAttribute.ROWTIME for each in pair
    )


def _equal_times(condition: JoinCondition, relation: Join) -> list[Typed]:
    """Equal times of both sides, as conditions: an interval of no length."""
    width = len(relation.left.fields)
    return [
        resolve(Apply("=", (Known(condition.left[at]), Known(shifted(condition.right[at], width)))))
        for at in range(len(condition.left))
        if _is_time_pair(condition, at, relation)
    ]


# ---- windows ---------------------------------------------------------------------------------------------------------


def _window_join(relation: Join, condition: JoinCondition, planner: Planner) -> PhysicalNode | None:
    zone = planner.session.time_zone
    left, right = window_columns(relation.left, zone), window_columns(relation.right, zone)
    if left is None or right is None or not condition.left:
        return None
    pairs = {
        (one.index, other.index): at
        for at, (one, other) in enumerate(zip(condition.left, condition.right))
        if isinstance(one, ColumnValue) and isinstance(other, ColumnValue)
    }
    starts = [pairs[pair] for pair in pairs if pair[0] in left.starts and pair[1] in right.starts]
    ends = [pairs[pair] for pair in pairs if pair[0] in left.ends and pair[1] in right.ends]
    sides = _sides(relation, planner)
    if not starts or not ends or not all(side.mode.is_insert_only for side in sides):
        return None
    at_ends = (condition.left[ends[0]], condition.right[ends[0]])
    assert isinstance(at_ends[0], ColumnValue) and isinstance(at_ends[1], ColumnValue)
    columns = at_ends[0].index, at_ends[1].index
    kept = without_windows(condition, {*starts, *ends})
    operator: Any = partial(
        WindowJoin, relation.kind, columns, _widths(relation), kept.residual, kept.null_safe, left.windows.zone
    )
    return joined("WindowJoin", sides, kept, operator, relation, INSERT_ONLY, relation.kind)


# ---- versions --------------------------------------------------------------------------------------------------------


def _temporal(relation: Join, snapshot: Snapshot, planner: Planner) -> PhysicalNode:
    period = snapshot.period
    if attribute_of(period.type) is TimeAttribute.PROCTIME:
        raise UnsupportedQueryError(
            "FOR SYSTEM_TIME AS OF a processing time: tables that can be looked up are not supported here yet."
        )
    if not isinstance(period, ColumnValue) or attribute_of(period.type) is not TimeAttribute.ROWTIME:
        raise UnsupportedQueryError("FOR SYSTEM_TIME AS OF takes the event time or PROCTIME() of the left table.")
    if relation.kind not in ("INNER", "LEFT"):
        raise UnsupportedQueryError(f"FOR SYSTEM_TIME AS OF joins INNER or LEFT, not {relation.kind}.")
    times = [at for at, each in enumerate(snapshot.fields) if attribute_of(each.data_type) is TimeAttribute.ROWTIME]
    if not times:
        raise UnsupportedQueryError(
            "the versioned table of FOR SYSTEM_TIME AS OF has no event time: declare a WATERMARK and a PRIMARY KEY."
        )
    condition = join_condition(relation.condition, len(relation.left.fields))
    if not condition.left:
        raise UnsupportedQueryError("FOR SYSTEM_TIME AS OF needs equality with the key of the versioned table.")
    sides = planner.translate(relation.left), planner.translate(snapshot.input)
    operator: Any = partial(
        VersionedJoin, (period.index, times[0]), len(snapshot.fields), relation.kind == "LEFT", condition.residual
    )
    return joined("TemporalJoin", sides, condition, operator, relation, sides[0].mode, relation.kind)


# ---- conditions behind joins -----------------------------------------------------------------------------------------


def filtered_join(relation: Relation, planner: Planner) -> PhysicalNode | None:
    """A filter behind an inner join: what one side can say is asked there, the rest is a condition of the join."""
    if not isinstance(relation, Filter) or not isinstance(relation.input, Join) or relation.input.kind != "INNER":
        return None
    join, width = relation.input, len(relation.input.left.fields)
    if isinstance(join.right, Snapshot) or has_query(relation.condition):
        return None
    left, right, rest = [], [], list(conjuncts(join.condition))
    for each in conjuncts(relation.condition):
        columns = columns_of(each)
        if columns and max(columns) < width:
            left.append(each)
        elif columns and min(columns) >= width:
            right.append(shifted(each, -width))
        else:
            rest.append(each)
    changed = replace(join, left=_filtered(join.left, left), right=_filtered(join.right, right), condition=both(rest))
    return planner.translate(changed)


def _filtered(relation: Relation, conditions: list[Typed]) -> Relation:
    condition = both(conditions)
    return relation if condition is None else Filter(relation.fields, relation, condition)


RULES.append(filtered_join)
