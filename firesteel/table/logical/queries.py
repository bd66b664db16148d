"""From a query as it is written to its logical plan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from firesteel.errors import UnsupportedError
from firesteel.table.from_sql import Given
from firesteel.table.functions import Session
from firesteel.table.logical.errors import query_error
from firesteel.table.logical.expressions import Expressions, Overs, has_aggregate, sort_key
from firesteel.table.logical.grouping import GroupedExpressions, Grouping
from firesteel.table.logical.plan import (
    Aggregate,
    Filter,
    Over,
    Project,
    Relation,
    SetOperation,
    Sort,
    SortKey,
    Values,
)
from firesteel.table.logical.rewriting import Settled, mapped, replaced
from firesteel.table.logical.scope import From, Scope, Source
from firesteel.table.logical.sources import Sources, Tables, renamed
from firesteel.table.resolution import ColumnValue, Typed, resolve
from firesteel.table.sql import unparse
from firesteel.table.sql.nodes import base, queries
from firesteel.table.sql.nodes import expressions as sql
from firesteel.table.tree import Apply, Known, TypeNode
from firesteel.table.types import DataType, NullType, RowField, common_type

__all__ = ["resolve_query"]


def resolve_query(query: base.Query, tables: Tables, session: Session | None = None) -> Relation:
    """The logical plan of a query over tables; errors say where in the text they are.

    Columns of the same name get a number behind it, as in Flink.
    """
    try:
        found = QueryResolver(tables, session or Session()).relation(query, None)
    except RecursionError:
        raise query_error(query, "the query has too many expressions or sub-queries in each other.") from None
    return renamed(found, unique_names([field.name for field in found.fields]))


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Each name once: a second one gets 0 behind it, and so on."""
    used: set[str] = set()
    found = []
    for name in names:
        attempt, number = name, 0
        while attempt in used:
            attempt, number = f"{name}{number}", number + 1
        used.add(attempt)
        found.append(attempt)
    return tuple(found)


class _WithTables:
    """The tables of a WITH clause, before all others."""

    def __init__(self, outer: Tables) -> None:
        self._outer = outer
        self._own: dict[str, Relation] = {}

    def add(self, name: str, relation: Relation) -> None:
        self._own[name] = relation

    def find(self, name: base.Identifier) -> tuple[Relation, tuple[str, ...]]:
        if len(name.parts) == 1 and name.simple in self._own:
            return self._own[name.simple], name.parts
        return self._outer.find(name)


class QueryResolver:
    """Resolves queries over some tables."""

    def __init__(self, tables: Tables, session: Session) -> None:
        self.tables = tables
        self.session = session

    def subquery(self, query: base.Query, scope: Scope) -> Relation:
        """The plan of a query that can see a scope around it."""
        return self.relation(query, scope)

    def relation(self, query: base.Query, parent: Scope | None) -> Relation:
        """The plan of any query."""
        if isinstance(query, queries.Select):
            return _SelectResolver(self, query, parent).relation(None)
        if isinstance(query, queries.OrderedQuery):
            return self._ordered(query, parent)
        if isinstance(query, queries.Values):
            return self._values(query, parent)
        if isinstance(query, queries.SetOperation):
            return self._set_operation(query, parent)
        if isinstance(query, queries.ExplicitTable):
            return self.tables.find(query.table)[0]
        if isinstance(query, queries.With):
            return self._with(query, parent)
        raise UnsupportedError(str(query_error(query, f"{type(query).__name__} cannot be resolved.")))

    def _with(self, node: queries.With, parent: Scope | None) -> Relation:
        if node.recursive:
            raise UnsupportedError(str(query_error(node, "WITH RECURSIVE is not supported, as in Flink.")))
        tables = _WithTables(self.tables)
        inner = QueryResolver(tables, self.session)
        for table in node.tables:
            found = inner.relation(table.query, parent)
            if table.columns and len(table.columns) != len(found.fields):
                raise query_error(
                    table,
                    f"Number of columns must match number of query columns: {table.name} names "
                    f"{len(table.columns)}, its query has {len(found.fields)}.",
                )
            tables.add(table.name, renamed(found, table.columns) if table.columns else found)
        return inner.relation(node.body, parent)

    def _values(self, node: queries.Values, parent: Scope | None) -> Relation:
        expressions = Expressions(Scope(From(), parent), self, "VALUES")
        rows = [tuple(map(expressions.typed, row.values)) for row in node.rows]
        for row, written in zip(rows, node.rows):
            if len(row) != len(rows[0]):
                raise query_error(
                    written,
                    f"Values passed to VALUES operator must have compatible types: the first row has "
                    f"{len(rows[0])} columns, this one {len(row)}.",
                )
            for value, part in zip(row, written.values):
                _refuse_null(value.type, part)
        fields = []
        for at in range(len(rows[0])):
            merged = _merged_type([row[at].type for row in rows])
            if merged is None:
                kinds = " and ".join(dict.fromkeys(str(row[at].type) for row in rows))
                raise query_error(
                    node, f"Values passed to VALUES operator must have compatible types: column {at + 1} has {kinds}."
                )
            fields.append(RowField(f"EXPR${at}", merged))
        cast = [tuple(_cast(value, field.data_type) for value, field in zip(row, fields)) for row in rows]
        return Values(tuple(fields), tuple(cast))

    # Set operations

    def _set_operation(self, node: queries.SetOperation, parent: Scope | None) -> Relation:
        operands: list[base.Query] = [node.right]
        nodes = [node]
        first: base.Query = node.left
        while isinstance(first, queries.SetOperation):  # a long chain leans to the left
            operands.append(first.right)
            nodes.append(first)
            first = first.left
        found = self.relation(first, parent)
        for operation, right in zip(reversed(nodes), reversed(operands)):
            found = self._combined(operation, found, self.relation(right, parent))
        return found

    def _combined(self, node: queries.SetOperation, left: Relation, right: Relation) -> Relation:
        name = node.operator + (" ALL" if node.all else "")
        if len(left.fields) != len(right.fields):
            raise query_error(
                node, f"Column count mismatch in {name}: {len(left.fields)} and {len(right.fields)} columns."
            )
        fields = []
        for at, (one, other) in enumerate(zip(left.fields, right.fields)):
            merged = _merged_type([one.data_type, other.data_type])
            if merged is None:
                raise query_error(
                    node, f"Type mismatch in column {at + 1} of {name}: {one.data_type} and {other.data_type}."
                )
            fields.append(RowField(one.name, merged))
        kinds = [field.data_type for field in fields]
        return SetOperation(tuple(fields), _as_types(left, kinds), _as_types(right, kinds), node.operator, node.all)

    # ORDER BY

    def _ordered(self, node: queries.OrderedQuery, parent: Scope | None) -> Relation:
        offset = 0 if node.offset is None else _row_count(node.offset, "OFFSET")
        fetch = None if node.fetch is None else _row_count(node.fetch, "LIMIT")
        if isinstance(node.query, queries.Select):
            return _SelectResolver(self, node.query, parent).relation(_Order(node.order_by, offset, fetch))
        found = self.relation(node.query, parent)
        expressions = Expressions(Scope(From((Source((), found.fields),))), self, "ORDER BY")
        keys = []
        for item in node.order_by:
            at = _ordinal(item.expression, len(found.fields))
            keys.append(sort_key(expressions.typed(item.expression) if at is None else _column(found, at), item))
        return Sort(found.fields, found, tuple(keys), offset, fetch)


_Key = tuple[Typed, sql.OrderItem]


@dataclass(frozen=True)
class _Order:
    """ORDER BY, OFFSET and LIMIT behind a SELECT."""

    items: tuple[sql.OrderItem, ...]
    offset: int
    fetch: int | None


class _SelectResolver:
    """Resolves one SELECT, clause by clause, in the order in which they work."""

    def __init__(self, resolver: QueryResolver, node: queries.Select, parent: Scope | None) -> None:
        self._resolver = resolver
        self._node = node
        self._parent = parent
        self._windows = {each.name: each.window for each in node.windows}

    def relation(self, order: _Order | None) -> Relation:
        """The plan, with the ORDER BY that may follow."""
        node = self._node
        source, scope = self._source()
        source = self._filtered(source, scope)
        items = self._items(scope)
        order_items = order.items if order is not None else ()
        grouping = self._grouping(scope, items, order_items)
        overs = Overs(0)
        expressions = self._expressions(scope, grouping, overs, len(source.fields))
        values = [expressions.typed(expression) for _, expression in items]
        for value, (_, written) in zip(values, items):
            _refuse_null(value.type, written)
        having = None if node.having is None else self._having(scope, grouping)
        keys, extra = self._order(order_items, items, values, expressions)
        qualify = None if node.qualify is None else self._qualify(expressions)
        rows = self._grouped(source, grouping, having)
        values, extra, qualify = self._behind(values, extra, qualify)
        rows = self._windowed(rows, overs, qualify)
        names = [name for name, _ in items]
        return self._projected(rows, names, values, keys, extra, order)

    def _source(self) -> tuple[Relation, Scope]:
        if self._node.source is None:
            return Values((), ((),)), Scope(From(), self._parent)
        relation, tables = Sources(self._resolver, self._parent).of(self._node.source)
        return relation, Scope(tables, self._parent)

    def _filtered(self, source: Relation, scope: Scope) -> Relation:
        if self._node.where is None:
            return source
        condition = Expressions(scope, self._resolver, "WHERE").condition(self._node.where)
        return Filter(source.fields, source, condition)

    def _items(self, scope: Scope) -> list[tuple[str, base.Expression]]:
        """Names and expressions of the columns; ``*`` is those that it stands for."""
        found: list[tuple[str, base.Expression]] = []
        for item in self._node.items:
            if isinstance(item.expression, sql.Star):
                star = item.expression
                found += [(name, Given(value, pos=star.pos)) for name, value, _ in scope.star(star.prefix, star)]
            else:
                found.append((item.alias or _natural_name(item.expression, len(found)), item.expression))
        return found

    # Groups

    def _grouping(
        self, scope: Scope, items: list[tuple[str, base.Expression]], order: tuple[sql.OrderItem, ...]
    ) -> Grouping | None:
        node = self._node
        grouped = node.group_by is not None or node.having is not None
        parts: list[base.Node] = [expression for _, expression in items]
        if not grouped and not any(map(has_aggregate, [*parts, *order])):
            return None
        return Grouping(Expressions(scope, self._resolver, "GROUP BY"), self._resolver, node.group_by)

    def _expressions(self, scope: Scope, grouping: Grouping | None, overs: Overs, width: int) -> Expressions:
        if grouping is None:
            overs.width = width
            return Expressions(scope, self._resolver, "SELECT", overs, self._windows)
        # How many columns groups have is known when all calls are: until then calls with OVER are numbered apart.
        overs.width = _FAR
        return GroupedExpressions(grouping, grouping.rows, self._resolver, overs=overs, windows=self._windows)

    def _having(self, scope: Scope, grouping: Grouping | None) -> Typed:
        assert grouping is not None and self._node.having is not None
        expressions = GroupedExpressions(grouping, grouping.rows, self._resolver)
        expressions.clause = "HAVING"
        return expressions.condition(self._node.having)

    def _grouped(self, source: Relation, grouping: Grouping | None, having: Typed | None) -> Relation:
        self._width = len(source.fields)
        if grouping is None:
            return source
        groups: Relation = grouping.node(source)
        self._width = len(groups.fields)
        return groups if having is None else Filter(groups.fields, groups, having)

    # OVER

    def _qualify(self, expressions: Expressions) -> Typed:
        assert self._node.qualify is not None
        expressions.clause = "QUALIFY"
        return expressions.condition(self._node.qualify)

    def _behind(
        self, values: list[Typed], extra: list[Typed], qualify: Typed | None
    ) -> tuple[list[Typed], list[Typed], Typed | None]:
        """Columns of calls with OVER, moved to where they are: behind those of the rows."""
        moved = [_nearer(value, self._width) for value in values]
        return (
            moved,
            [_nearer(value, self._width) for value in extra],
            None if qualify is None else _nearer(qualify, self._width),
        )

    def _windowed(self, rows: Relation, overs: Overs, qualify: Typed | None) -> Relation:
        if overs.calls:
            rows = Over((*rows.fields, *overs.fields), rows, tuple(overs.calls))
        return rows if qualify is None else Filter(rows.fields, rows, qualify)

    # ORDER BY

    def _order(
        self,
        order: tuple[sql.OrderItem, ...],
        items: list[tuple[str, base.Expression]],
        values: list[Typed],
        expressions: Expressions,
    ) -> tuple[list[_Key], list[Typed]]:
        """By what the rows that it gives are ordered, and the columns that are needed for that only."""
        extra: list[Typed] = []
        keys: list[_Key] = []
        by_name = {name: value for (name, _), value in reversed(list(zip(items, values)))}
        for item in order:
            at = _ordinal(item.expression, len(items))
            value = values[at] if at is not None else expressions.typed(_with_aliases(item.expression, by_name))
            if value in values:
                at = values.index(value) if at is None else at
                keys.append((ColumnValue(value.type, at, items[at][0]), item))
            elif self._node.quantifier == "DISTINCT":
                keys.append((_of_selected(value, values, item.expression), item))
            else:
                extra += [] if value in extra else [value]
                at = extra.index(value)
                keys.append((ColumnValue(value.type, len(items) + at, f"$order{at}"), item))
        return keys, extra

    def _projected(
        self,
        rows: Relation,
        names: list[str],
        values: list[Typed],
        keys: list[_Key],
        extra: list[Typed],
        order: _Order | None,
    ) -> Relation:
        fields = tuple(RowField(name, value.type) for name, value in zip(names, values))
        more = tuple(RowField(f"$order{at}", value.type) for at, value in enumerate(extra))
        found: Relation = Project((*fields, *more), rows, (*values, *extra))
        if self._node.quantifier == "DISTINCT":
            columns = tuple(_column(found, at) for at in range(len(fields)))
            found = Aggregate(fields, found, columns, (tuple(range(len(fields))),))
        if order is None:
            return found
        by: tuple[SortKey, ...] = tuple(sort_key(value, item) for value, item in keys)
        found = Sort(found.fields, found, by, order.offset, order.fetch)
        if extra:
            found = Project(fields, found, tuple(_column(found, at) for at in range(len(fields))))
        return found


_FAR = 1_000_000


def _of_selected(value: Typed, values: list[Typed], node: base.Expression) -> Typed:
    """An expression of ORDER BY over the columns of a SELECT DISTINCT, which are all there is."""

    def change(each: Typed) -> Typed | None:
        if each in values:
            return ColumnValue(each.type, values.index(each), "")
        if isinstance(each, ColumnValue):
            raise query_error(node, f"Expression '{unparse(node)}' is not in the select clause.")
        return None

    return mapped(value, change)


def _nearer(value: Typed, width: int) -> Typed:
    def near(each: Typed) -> Typed | None:
        far = isinstance(each, ColumnValue) and each.index >= _FAR
        return replace(each, index=each.index - _FAR + width) if far else None  # type: ignore[call-arg, attr-defined]

    return mapped(value, near)


def _column(relation: Relation, at: int) -> ColumnValue:
    field = relation.fields[at]
    return ColumnValue(field.data_type, at, field.name)


def _natural_name(node: base.Expression, at: int) -> str:
    """The name of a column without AS: its own, or its number."""
    if isinstance(node, base.Identifier):
        return node.simple
    if isinstance(node, sql.ContextVariable):
        return node.name
    if isinstance(node, sql.FieldAccess) and isinstance(node.member, base.Identifier):
        return node.member.simple
    return f"EXPR${at}"


def _with_aliases(node: base.Expression, by_name: dict[str, Typed]) -> base.Expression:
    """ORDER BY knows the names that SELECT gives, and before those of the tables."""

    def known(part: base.Expression) -> Typed | None:
        simple = isinstance(part, base.Identifier) and len(part.parts) == 1
        return by_name.get(part.simple) if simple else None  # type: ignore[attr-defined]

    return replaced(node, known, Settled)


def _ordinal(node: base.Expression, count: int) -> int | None:
    """The position that a whole number in ORDER BY means."""
    if not isinstance(node, sql.NumberLiteral) or not re.fullmatch(r"\d+", node.text):
        return None
    at = int(node.text) - 1
    if not 0 <= at < count:
        raise query_error(node, f"Ordinal out of range: there are {count} columns, {node.text} is none of them.")
    return at


def _row_count(node: base.Expression, clause: str) -> int:
    if not isinstance(node, sql.NumberLiteral) or not re.fullmatch(r"\d+", node.text):
        raise query_error(node, f"{clause} takes a whole number.")
    return int(node.text)


def _refuse_null(kind: DataType, node: base.Node) -> None:
    if isinstance(kind, NullType):
        raise query_error(node, "Illegal use of 'NULL': CAST it to a type.")


def _merged_type(kinds: list[DataType]) -> DataType | None:
    return kinds[0] if all(kind == kinds[0] for kind in kinds) else common_type(kinds)


def _cast(value: Typed, target: DataType) -> Typed:
    if value.type.nullable() == target.nullable():
        return value
    return resolve(Apply("CAST", (Known(value), TypeNode(target))))


def _as_types(relation: Relation, kinds: list[DataType]) -> Relation:
    """The same rows, with columns of these types."""
    values = tuple(_cast(_column(relation, at), kind) for at, kind in enumerate(kinds))
    if all(isinstance(value, ColumnValue) for value in values):
        return relation
    fields = tuple(RowField(field.name, value.type) for field, value in zip(relation.fields, values))
    return Project(fields, relation, values)
