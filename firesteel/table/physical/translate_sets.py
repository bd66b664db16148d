"""Set operations, and rows that are made of each row: UNNEST behind CROSS JOIN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from firesteel.operators import Operator, RowBatch
from firesteel.table.changelog import INSERT, INSERT_ONLY, RETRACT
from firesteel.table.evaluation import evaluator
from firesteel.table.logical.plan import Aggregate, Correlate, OuterColumn, Project, Relation, SetOperation, Unnest
from firesteel.table.logical.rewriting import mapped
from firesteel.table.physical.conditions import JoinCondition
from firesteel.table.physical.final_rows import finally_only, whole_row
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.options import state_ttl
from firesteel.table.physical.planner import Planner, UnsupportedQueryError, translation
from firesteel.table.physical.rows import written
from firesteel.table.physical.set_operations import CountedRows
from firesteel.table.physical.translate_joins import Done, semi_joined
from firesteel.table.resolution import ColumnValue, Typed
from firesteel.table.types import ArrayType, MapType, MultisetType, RowType

__all__ = ["UnnestOperator", "distinct_rows", "translate_correlate", "translate_set_operation"]


def _columns(relation: Relation) -> tuple[Typed, ...]:
    return tuple(ColumnValue(each.data_type, at, each.name) for at, each in enumerate(relation.fields))


def distinct_rows(relation: Relation) -> Relation:
    """Each row once."""
    return Aggregate(relation.fields, relation, _columns(relation), (tuple(range(len(relation.fields))),))


@translation(SetOperation)
def translate_set_operation(relation: SetOperation, planner: Planner) -> PhysicalNode:
    """UNION, INTERSECT and EXCEPT, with ALL or without."""
    if relation.operator == "UNION":
        together = replace(relation, all=True)
        return planner.translate(together if relation.all else distinct_rows(together))
    left, right = planner.translate(relation.left), planner.translate(relation.right)
    if relation.all:
        return _counted(relation, (left, right), planner)
    keys, other = _columns(relation.left), _columns(relation.right)
    condition = JoinCondition(keys, other, (True,) * len(keys))
    node = semi_joined(left, right, condition, relation.operator == "EXCEPT", relation, planner)
    return planner.translate(distinct_rows(Done(relation.fields, node)))


def _counted(relation: SetOperation, sides: tuple[PhysicalNode, PhysicalNode], planner: Planner) -> PhysicalNode:
    operator = partial(CountedRows, relation.operator, state_ttl(planner.options))
    name = f"{relation.operator.capitalize()}All"

    def connect(streams: Sequence[Any]) -> Any:
        one, other = (stream.key_by(whole_row) for stream in streams)
        return one.connect(other).transform(name, None, operator)

    shown = ", ".join(each.name for each in relation.fields)
    return finally_only(PhysicalNode(name, f"select=[{shown}]", relation.fields, RETRACT, connect, sides), planner)


# ---- UNNEST ----------------------------------------------------------------------------------------------------------


class UnnestOperator(Operator):
    """Each row with each element of its collections; without an element not at all, or, if `outer`, with NULL."""

    def __init__(
        self, values: tuple[Typed, ...], width: int, ordinality: bool, outer: bool, condition: Typed | None
    ) -> None:
        self._values, self._width, self._ordinality = values, width, ordinality
        self._outer, self._condition = outer, condition

    def open(self) -> None:
        """Make the functions of a row."""
        self._parts = [(evaluator(each), _elements(each)) for each in self._values]
        self._true = None if self._condition is None else evaluator(self._condition)

    def process(self, batch: Any) -> None:
        """Each row by itself."""
        results: list[Any] = []
        self.cursor = cursor = iter(batch.values)
        for kind, row in cursor:
            found = [row + each for each in self._elements_of(row)]
            if self._true is not None:
                found = [each for each in found if self._true(each) is True]
            if not found and self._outer:
                found = [row + (None,) * self._width]
            results.extend((kind, each) for each in found)
        self.output.emit(RowBatch(results))

    def _elements_of(self, row: Any) -> list[tuple[Any, ...]]:
        lists = [list(elements(value(row))) for value, elements in self._parts]
        found = []
        for at in range(max(map(len, lists))):
            parts = [each[at] if at < len(each) else None for each in lists]
            joined = tuple(item for part in parts for item in (part if part is not None else (None,)))
            found.append((*joined, at + 1) if self._ordinality else joined)
        return found


def _elements(value: Typed) -> Callable[[Any], list[tuple[Any, ...]]]:
    """The function that gives the elements of a collection, each as columns."""
    kind = value.type
    if isinstance(kind, MapType):
        return lambda found: [] if found is None else list(found.items())
    assert isinstance(kind, (ArrayType, MultisetType))
    row = isinstance(kind.element_type, RowType)
    empty = (None,) * len(kind.element_type.fields) if isinstance(kind.element_type, RowType) else ()

    def columns(element: Any) -> tuple[Any, ...]:
        if not row:
            return (element,)
        return empty if element is None else tuple(element)

    if isinstance(kind, MultisetType):
        return lambda found: [columns(each) for each, times in (found or {}).items() for _ in range(times)]
    return lambda found: [columns(each) for each in found or ()]


def _over_left(value: Typed) -> Typed:
    """An expression that reads the outer row, as one over that row."""

    def change(each: Typed) -> Typed | None:
        if isinstance(each, OuterColumn) and each.depth == 1:
            return ColumnValue(each.type, each.index, each.name)
        return None

    return mapped(value, change)


@translation(Correlate)
def translate_correlate(relation: Correlate, planner: Planner) -> PhysicalNode:
    """Rows that are made of each row of the left side."""
    right = relation.right
    renames = isinstance(right, Project) and all(
        isinstance(each, ColumnValue) and each.index == at for at, each in enumerate(right.expressions)
    )
    if isinstance(right, Project) and renames and len(right.fields) == len(right.input.fields):
        right = right.input
    if not isinstance(right, Unnest):
        raise UnsupportedQueryError(f"LATERAL with {right.describe()}: there is no operator for this yet.")
    source = planner.translate(relation.left)
    values = tuple(map(_over_left, right.values))
    operator = partial(
        UnnestOperator, values, len(right.fields), right.ordinality, relation.kind == "LEFT", relation.condition
    )
    names = [each.name for each in source.fields]
    return PhysicalNode(
        "Correlate",
        f"invocation=[UNNEST({', '.join(written(each, names) for each in values)})], joinType=[{relation.kind}]",
        relation.fields,
        source.mode,
        lambda streams: streams[0].transform("Correlate", None, operator),
        (source,),
    )


@translation(Unnest)
def translate_unnest(relation: Unnest, planner: Planner) -> PhysicalNode:
    """Elements of values that stand in the query."""
    operator = partial(UnnestOperator, relation.values, len(relation.fields), relation.ordinality, False, None)

    def connect(streams: Sequence[Any]) -> Any:
        return planner.environment.from_collection([(INSERT, ())]).transform("Correlate", None, operator)

    return PhysicalNode("Correlate", "invocation=[UNNEST]", relation.fields, INSERT_ONLY, connect)
