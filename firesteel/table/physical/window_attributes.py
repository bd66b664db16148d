"""Which columns of a relation say in which window a row is: they are handed on from table to table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.table.logical.plan import Aggregate, Filter, Join, Over, Project, Relation, WindowTable
from firesteel.table.physical.conditions import JoinCondition
from firesteel.table.physical.window_times import Windows
from firesteel.table.resolution import ColumnValue
from firesteel.table.types import LocalZonedTimestampType

__all__ = ["WindowColumns", "window_columns", "without_windows"]


@dataclass(frozen=True)
class WindowColumns:
    """Columns with the start, the end and the time of a row's window.

    :param windows: Which windows these are.
    """

    windows: Windows
    starts: frozenset[int]
    ends: frozenset[int]
    times: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.starts and self.ends)


def window_columns(relation: Relation, zone: str = "UTC") -> WindowColumns | None:
    """The columns with the windows of a relation's rows; None if there is not at least a start and an end."""
    found = _columns(relation, zone)
    return found if found else None


def _columns(relation: Relation, zone: str) -> WindowColumns | None:
    if isinstance(relation, WindowTable):
        width = len(relation.input.fields)
        kind = relation.input.fields[relation.time].data_type
        windows = Windows(
            relation.kind,
            relation.lengths,
            relation.offset,
            zone if isinstance(kind, LocalZonedTimestampType) else None,
        )
        return WindowColumns(windows, frozenset({width}), frozenset({width + 1}), frozenset({width + 2}))
    if isinstance(relation, (Filter, Over)):
        return _columns(relation.input, zone)
    if isinstance(relation, Project):
        return _kept(_columns(relation.input, zone), relation.expressions)
    if isinstance(relation, Aggregate) and relation.window is None and len(relation.grouping_sets) == 1:
        return _kept(_columns(relation.input, zone), relation.keys)
    if isinstance(relation, Join):
        return _columns(relation.left, zone) if relation.kind in ("INNER", "LEFT") else None
    return None


def _kept(found: WindowColumns | None, expressions: Any) -> WindowColumns | None:
    if found is None:
        return None

    def places(columns: frozenset[int]) -> frozenset[int]:
        return frozenset(
            at for at, each in enumerate(expressions) if isinstance(each, ColumnValue) and each.index in columns
        )

    return WindowColumns(found.windows, places(found.starts), places(found.ends), places(found.times))


def without_windows(condition: JoinCondition, pairs: set[int]) -> JoinCondition:
    """The condition of a join without the pairs that only say that windows are the same."""
    kept = [at for at in range(len(condition.left)) if at not in pairs]
    return JoinCondition(
        tuple(condition.left[at] for at in kept),
        tuple(condition.right[at] for at in kept),
        tuple(condition.null_safe[at] for at in kept),
        condition.rest,
    )
