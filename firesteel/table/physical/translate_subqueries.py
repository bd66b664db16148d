"""Sub-queries in conditions: IN and EXISTS as semi and anti joins, a query of one value as a join with that value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from firesteel.table.functions import Argument, Call, find_function
from firesteel.table.logical.plan import (
    Aggregate,
    AggregateCall,
    ExistsQuery,
    Filter,
    InQuery,
    Join,
    OuterColumn,
    Project,
    Relation,
    ScalarQuery,
)
from firesteel.table.logical.rewriting import mapped
from firesteel.table.physical.conditions import both, conjuncts, has_query, join_condition, shifted
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import RULES, Planner, UnsupportedQueryError
from firesteel.table.physical.translate_joins import Done, semi_joined
from firesteel.table.resolution import ColumnValue, ConstantValue, FunctionValue, Typed, resolve
from firesteel.table.tree import Apply, Known
from firesteel.table.types import RowField

__all__ = ["filtered_by_queries", "projected_queries"]


def filtered_by_queries(relation: Relation, planner: Planner) -> PhysicalNode | None:
    """A filter with sub-queries: one join for each of them, one upon the other."""
    if not isinstance(relation, Filter) or not has_query(relation.condition):
        return None
    plain = [each for each in conjuncts(relation.condition) if not has_query(each)]
    rows: Relation = relation.input
    condition = both(plain)
    if condition is not None:
        rows = Filter(rows.fields, rows, condition)
    for each in conjuncts(relation.condition):
        if has_query(each):
            rows = _with(rows, each, planner)
    return planner.translate(rows)


def _with(rows: Relation, condition: Typed, planner: Planner) -> Relation:
    """The rows for which a condition with a sub-query is true."""
    anti, inside = False, condition
    while isinstance(inside, FunctionValue) and inside.function.name == "NOT":
        anti, inside = not anti, inside.arguments[0]
    if isinstance(inside, (InQuery, ExistsQuery)):
        return _semi(rows, inside, anti, planner)
    values, joined = _with_values(rows, [condition])
    kept = Filter(joined.fields, joined, values[0])
    columns = tuple(ColumnValue(each.data_type, at, each.name) for at, each in enumerate(rows.fields))
    return Project(rows.fields, kept, columns)


# ---- IN and EXISTS ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Freed:
    """A query without its outer columns: what they were compared in are conditions of a join with the outer row.

    :param conditions: Over the outer row and then the query's own.
    """

    query: Relation
    conditions: tuple[Typed, ...]


def _semi(rows: Relation, query: InQuery | ExistsQuery, anti: bool, planner: Planner) -> Relation:
    width = len(rows.fields)
    conditions: list[Typed] = []
    freed = _freed(query.query, width)
    if isinstance(query, InQuery):
        anti = anti is not query.negated
        for at, operand in enumerate(query.operands):
            field = freed.query.fields[at]
            other = ColumnValue(field.data_type, width + at, field.name)
            conditions.append(_equal(operand, other, anti))
    conditions.extend(freed.conditions)
    condition = join_condition(both(conditions), width)
    node = semi_joined(planner.translate(rows), planner.translate(freed.query), condition, anti, rows, planner)
    return Done(rows.fields, node)


def _equal(operand: Typed, other: Typed, anti: bool) -> Typed:
    """Whether a value is that of the query; for NOT IN, whether it may be: NULL may be anything."""
    equal = Apply("=", (Known(operand), Known(other)))
    if not anti or not (operand.type.is_nullable or other.type.is_nullable):
        return resolve(equal)
    unknown = [Apply("IS NULL", (Known(each),)) for each in (operand, other) if each.type.is_nullable]
    return resolve(Apply("OR", (equal, *unknown)))


def _freed(query: Relation, width: int) -> _Freed:
    """Take the conditions with outer columns out of the WHERE of a query, which then gives all its columns too."""
    if not _is_correlated(query):
        return _Freed(query, ())
    projections: list[Project] = []
    below = query
    while isinstance(below, Project):
        projections.append(below)
        below = below.input
    if not isinstance(below, Filter) or _is_correlated(below.input):
        raise UnsupportedQueryError("a sub-query may use columns of the query around it in its WHERE only.")
    outer = [each for each in conjuncts(below.condition) if _has_outer(each)]
    inner = both([each for each in conjuncts(below.condition) if not _has_outer(each)])
    rows = below.input if inner is None else Filter(below.fields, below.input, inner)
    columns = tuple(ColumnValue(each.data_type, at, each.name) for at, each in enumerate(below.fields))
    own = _composed(projections) or columns
    if any(map(_has_outer, own)):
        raise UnsupportedQueryError("a sub-query may use columns of the query around it in its WHERE only.")
    freed = Project((*query.fields, *below.fields), rows, (*own, *columns))
    moved = tuple(_joined_columns(each, width, len(query.fields)) for each in outer)
    return _Freed(freed, moved)


def _composed(projections: list[Project]) -> tuple[Typed, ...] | None:
    """Projections, one upon the other, as one."""
    if not projections:
        return None
    values = projections[-1].expressions
    for each in reversed(projections[:-1]):
        values = tuple(_over(value, values) for value in each.expressions)
    return values


def _over(value: Typed, columns: tuple[Typed, ...]) -> Typed:
    """An expression with other ones in the place of its columns."""
    return mapped(value, lambda part: columns[part.index] if isinstance(part, ColumnValue) else None)


def _joined_columns(condition: Typed, width: int, offset: int) -> Typed:
    """A condition over a row and the outer one, as one over both: outer row, results of the query, its rows."""

    def change(each: Typed) -> Typed | None:
        if isinstance(each, OuterColumn):
            if each.depth != 1:
                raise UnsupportedQueryError("a sub-query may use columns of the query next around it only.")
            return ColumnValue(each.type, each.index, each.name)
        return replace(each, index=each.index + width + offset) if isinstance(each, ColumnValue) else None

    return mapped(condition, change)


def _has_outer(value: Typed) -> bool:
    found: list[Typed] = []

    def look(each: Typed) -> Typed | None:
        if isinstance(each, OuterColumn):
            found.append(each)
        if isinstance(each, (InQuery, ExistsQuery, ScalarQuery)) and _is_correlated(each.query):
            found.append(each)
        return None

    mapped(value, look)
    return bool(found)


def _is_correlated(relation: Relation) -> bool:
    """Whether a query reads columns of the one around it."""
    return any(map(_has_outer, _expressions(relation))) or any(map(_is_correlated, relation.inputs()))


def _expressions(relation: Relation) -> list[Typed]:
    found: list[Typed] = []
    _gather(tuple(vars(relation).values()), found)
    return found


def _gather(part: Any, found: list[Typed]) -> None:
    if isinstance(part, Typed):
        found.append(part)
    elif isinstance(part, tuple):
        for each in part:
            _gather(each, found)
    elif isinstance(part, AggregateCall):
        _gather((part.arguments, part.filter), found)


# ---- one value -------------------------------------------------------------------------------------------------------


def projected_queries(relation: Relation, planner: Planner) -> PhysicalNode | None:
    """Sub-queries of one value among the columns of a SELECT."""
    if not isinstance(relation, Project) or not any(map(has_query, relation.expressions)):
        return None
    values, joined = _with_values(relation.input, list(relation.expressions))
    return planner.translate(Project(relation.fields, joined, tuple(values)))


def _with_values(rows: Relation, expressions: list[Typed]) -> tuple[list[Typed], Relation]:
    """The expressions with columns in the place of their sub-queries, and the rows with these columns behind them."""
    joined = rows
    known: dict[int, Typed] = {}

    def change(each: Typed) -> Typed | None:
        nonlocal joined
        if not isinstance(each, ScalarQuery):
            if has_query(each) and not isinstance(each, FunctionValue):
                raise UnsupportedQueryError("IN and EXISTS stand in WHERE, joined by AND.")
            return None
        if id(each) not in known:
            joined, known[id(each)] = _with_value(joined, each)
        return known[id(each)]

    return [mapped(each, change) for each in expressions], joined


def _with_value(rows: Relation, query: ScalarQuery) -> tuple[Relation, Typed]:
    """The rows with the one value of a query behind them."""
    width = len(rows.fields)
    one, conditions = _single(query.query, width)
    fields = (*rows.fields, *(RowField(each.name, each.data_type.nullable()) for each in one.fields))
    joined = Join(fields, rows, one, "LEFT", both(conditions))
    value: Typed = ColumnValue(query.type.nullable(), width, one.fields[0].name)
    if _is_count(query.query):
        value = resolve(Apply("COALESCE", (Known(value), Known(ConstantValue(query.type.not_null(), 0)))))
    return joined, value


def _is_count(query: Relation) -> bool:
    while isinstance(query, Project):
        value = query.expressions[0]
        if not isinstance(value, ColumnValue):
            return False
        query = query.input
    return (
        isinstance(query, Aggregate)
        and not query.keys
        and isinstance(query.calls[0], AggregateCall)
        and query.calls[0].function.name == "COUNT"
    )


def _single(query: Relation, width: int) -> tuple[Relation, list[Typed]]:
    """The query with one row (for each value that its outer columns are compared with), and what it is joined by."""
    projections: list[Project] = []
    below = query
    while isinstance(below, Project):
        projections.append(below)
        below = below.input
    is_global = isinstance(below, Aggregate) and below.grouping_sets == ((),) and below.window is None
    if not _is_correlated(query):
        return (query if is_global else _one_row(query)), []
    if not is_global or _is_correlated_above(projections):
        raise UnsupportedQueryError("a sub-query of one value that uses outer columns has to be an aggregate.")
    assert isinstance(below, Aggregate)
    freed = _freed(below.input, width)
    pairs = join_condition(both(freed.conditions), width)
    if pairs.rest or not pairs.left:
        raise UnsupportedQueryError("a sub-query of one value has to compare outer columns by equality.")
    groups = replace(
        below,
        fields=(*(RowField(f"$by{at}", each.type) for at, each in enumerate(pairs.right)), *below.fields),
        input=freed.query,
        keys=pairs.right,
        grouping_sets=(tuple(range(len(pairs.right))),),
    )
    return _keyed_value(query, projections, groups, len(pairs.right)), [
        resolve(Apply("=", (Known(left), Known(ColumnValue(right.type, width + len(query.fields) + at, f"$by{at}")))))
        for at, (left, right) in enumerate(zip(pairs.left, pairs.right))
    ]


def _is_correlated_above(projections: list[Project]) -> bool:
    return any(_has_outer(value) for each in projections for value in each.expressions)


def _keyed_value(query: Relation, projections: list[Project], groups: Aggregate, keys: int) -> Relation:
    """The value of each group, and behind it what the group is by."""
    by = tuple(ColumnValue(each.data_type, at, each.name) for at, each in enumerate(groups.fields[:keys]))
    values = _composed(projections)
    if values is None:
        values = tuple(ColumnValue(each.data_type, at, each.name) for at, each in enumerate(query.fields))
    moved = tuple(shifted(each, keys) for each in values)
    return Project((*query.fields, *groups.fields[:keys]), groups, (*moved, *by))


def _one_row(query: Relation) -> Relation:
    """The one row of a query; more than one is an error."""
    field = query.fields[0]
    argument = ColumnValue(field.data_type, 0, field.name)
    call = Call("SINGLE_VALUE", (Argument(field.data_type),), result=field.data_type.nullable())
    single = AggregateCall(find_function("SINGLE_VALUE"), call, (argument,))
    return Aggregate((RowField(field.name, field.data_type.nullable()),), query, (), ((),), (single,))


RULES.append(filtered_by_queries)
RULES.append(projected_queries)
