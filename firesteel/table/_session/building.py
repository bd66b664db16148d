"""Relations that calls of the Table API make: names found, types known, aggregates taken out of expressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from firesteel.errors import ProgramError
from firesteel.table._expression.base import node_of, symbol
from firesteel.table.functions import Argument, Call, FunctionKind, Session, find_function
from firesteel.table.logical.plan import (
    Aggregate,
    AggregateCall,
    Filter,
    Project,
    Relation,
    SetOperation,
    Sort,
    SortKey,
)
from firesteel.table.logical.queries import unique_names
from firesteel.table.resolution import ColumnValue, ConstantValue, ResolveError, Typed, resolve
from firesteel.table.tree import Apply, Column, Constant, Known, Node, TypeNode
from firesteel.table.types import BooleanType, RowField, common_type

__all__ = ["Builder", "Named"]


@dataclass(frozen=True)
class Named:
    """An expression and the name of its column, if it has one."""

    node: Node
    name: str | None


def named(node: Node) -> Named:
    """An expression without the alias around it."""
    if isinstance(node, Apply) and node.function == "AS":
        alias = node.arguments[1]
        assert isinstance(alias, Constant)
        return Named(node.arguments[0], str(alias.value))
    return Named(node, node.parts[-1] if isinstance(node, Column) else None)


class Builder:
    """Makes relations out of relations, for one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    # ---- rows ----------------------------------------------------------------------------------------------

    def nodes(self, relation: Relation, expressions: Iterable[Any]) -> list[Node]:
        """The trees of expressions; ``*`` is all columns."""
        found: list[Node] = []
        for each in expressions:
            node = _column(each) if isinstance(each, str) else node_of(each)
            if isinstance(node, Column) and node.parts[-1] == "*":
                found += [Column((field.name,)) for field in relation.fields]
            elif isinstance(node, Apply) and node.function == "FLATTEN":
                found += self._flattened(node, relation)
            else:
                found += _without(node, relation)
        return found

    def _flattened(self, node: Apply, relation: Relation) -> list[Node]:
        value = resolve(node.arguments[0], relation.fields, self._session)
        names: list[str] = getattr(value.type, "field_names", list)()
        if not names:
            return [node.arguments[0]]
        return [Apply("GET", (node.arguments[0], symbol(name))) for name in names]

    def select(self, relation: Relation, expressions: Sequence[Any]) -> Relation:
        """A projection; with aggregates in it, over all rows together."""
        nodes = [named(node) for node in self.nodes(relation, expressions)]
        if any(has_aggregate(each.node) for each in nodes):
            return self.aggregate(relation, [], expressions)
        return self._project(relation, nodes)

    def _project(self, relation: Relation, nodes: Sequence[Named]) -> Relation:
        values = [resolve(each.node, relation.fields, self._session) for each in nodes]
        names = [each.name or f"_c{at}" for at, each in enumerate(nodes)]
        fields = tuple(RowField(name, value.type) for name, value in zip(names, values))
        self._refuse_twice(names)
        return Project(fields, relation, tuple(values))

    @staticmethod
    def _refuse_twice(names: Sequence[str]) -> None:
        twice = [name for at, name in enumerate(names) if name in names[:at]]
        if twice:
            raise ProgramError(f"the column '{twice[0]}' is there twice. Give one of them another name with alias().")

    def where(self, relation: Relation, condition: Any) -> Relation:
        """The rows for which a condition is true."""
        value = resolve(node_of(condition), relation.fields, self._session)
        if not isinstance(value.type, BooleanType):
            raise ProgramError(f"where() needs a condition of type BOOLEAN, {node_of(condition)} is {value.type}.")
        return Filter(relation.fields, relation, value)

    def renamed(self, relation: Relation, names: Sequence[str]) -> Relation:
        """The same rows; the first columns have other names."""
        if len(names) > len(relation.fields):
            raise ProgramError(f"there are {len(relation.fields)} columns, and {len(names)} names for them.")
        kept = [field.name for field in relation.fields[len(names) :]]
        self._refuse_twice([*names, *kept])
        return self.projected(relation, range(len(relation.fields)), [*names, *kept])

    def projected(self, relation: Relation, positions: Iterable[int], names: Sequence[str] | None = None) -> Relation:
        """Some columns, by their positions."""
        chosen = [(at, relation.fields[at]) for at in positions]
        values = tuple(ColumnValue(field.data_type, at, field.name) for at, field in chosen)
        called = [field.name for _, field in chosen] if names is None else names
        fields = tuple(RowField(name, field.data_type) for name, (_, field) in zip(called, chosen))
        return Project(fields, relation, values)

    # ---- columns -------------------------------------------------------------------------------------------

    def add_columns(self, relation: Relation, expressions: Sequence[Any], replaces: bool) -> Relation:
        """All columns, and others behind them; or in the place of those with the same name."""
        new = [named(node) for node in self.nodes(relation, expressions)]
        known = {field.name: Named(Column((field.name,)), field.name) for field in relation.fields}
        added = []
        for each in new:
            if replaces and each.name in known:
                known[each.name] = each
            else:
                added.append(each)
        return self._project(relation, [*known.values(), *added])

    def rename_columns(self, relation: Relation, expressions: Sequence[Any]) -> Relation:
        """All columns, some of them under other names."""
        names = {field.name: field.name for field in relation.fields}
        for each in map(node_of, expressions):
            one = named(each)
            if not isinstance(one.node, Column) or one.name is None or one.node.parts[-1] not in names:
                raise ProgramError(f"rename_columns() needs columns with alias(), got {each}.")
            names[one.node.parts[-1]] = one.name
        return self.renamed(relation, list(names.values()))

    def drop_columns(self, relation: Relation, expressions: Sequence[Any]) -> Relation:
        """All columns but some."""
        gone = set()
        for node in self.nodes(relation, expressions):
            value = resolve(node, relation.fields, self._session)
            if not isinstance(value, ColumnValue):
                raise ProgramError(f"drop_columns() needs columns, got {node}.")
            gone.add(value.index)
        return self.projected(relation, [at for at in range(len(relation.fields)) if at not in gone])

    # ---- groups --------------------------------------------------------------------------------------------

    def aggregate(self, relation: Relation, keys: Sequence[Any], expressions: Sequence[Any]) -> Relation:
        """Groups by keys, and what is selected of them."""
        key_nodes = [named(node) for node in self.nodes(relation, keys)]
        groups = _Groups(relation, key_nodes, self._session)
        selected = [named(node) for node in self.nodes(relation, expressions)]
        outer = [Named(groups.outside(each.node), each.name or _name(each.node)) for each in selected]
        node = groups.relation()
        counted = [Named(each.node, each.name or f"EXPR${at}") for at, each in enumerate(outer)]
        return self._project(node, counted)

    def distinct(self, relation: Relation) -> Relation:
        """Each row once."""
        keys = tuple(ColumnValue(field.data_type, at, field.name) for at, field in enumerate(relation.fields))
        return Aggregate(relation.fields, relation, keys, (tuple(range(len(keys))),))

    # ---- order, sets ---------------------------------------------------------------------------------------

    def order_by(self, relation: Relation, expressions: Sequence[Any]) -> Relation:
        """The rows in order."""
        keys = []
        for node in self.nodes(relation, expressions):
            descending = isinstance(node, Apply) and node.function == "DESC"
            inner = node.arguments[0] if isinstance(node, Apply) and node.function in ("ASC", "DESC") else node
            keys.append(SortKey(resolve(inner, relation.fields, self._session), descending, not descending))
        return Sort(relation.fields, relation, tuple(keys))

    def limited(self, relation: Relation, offset: int, fetch: int | None) -> Relation:
        """Some of the rows."""
        if isinstance(relation, Sort) and relation.fetch is None and not (offset and relation.offset):
            return replace(relation, offset=relation.offset or offset, fetch=fetch)
        return Sort(relation.fields, relation, (), offset, fetch)

    def set_operation(self, left: Relation, right: Relation, operator: str, all_rows: bool) -> Relation:
        """UNION, INTERSECT or MINUS."""
        if len(left.fields) != len(right.fields):
            raise ProgramError(
                f"{operator} needs tables with as many columns each, got {len(left.fields)} and {len(right.fields)}."
            )
        fields = []
        for one, other in zip(left.fields, right.fields):
            kind = common_type([one.data_type, other.data_type])
            if kind is None:
                raise ProgramError(f"{operator}: column '{one.name}' is {one.data_type} and {other.data_type}.")
            fields.append(RowField(one.name, kind))
        sides = [self._cast(side, fields) for side in (left, right)]
        return SetOperation(tuple(fields), sides[0], sides[1], operator, all_rows)

    def _cast(self, relation: Relation, fields: Sequence[RowField]) -> Relation:
        if all(one.data_type.nullable() == other.data_type.nullable() for one, other in zip(relation.fields, fields)):
            return relation
        values = []
        for at, (own, target) in enumerate(zip(relation.fields, fields)):
            column: Typed = ColumnValue(own.data_type, at, own.name)
            if own.data_type.nullable() != target.data_type.nullable():
                column = resolve(Apply("CAST", (Known(column), TypeNode(target.data_type))), (), self._session)
            values.append(column)
        return Project(tuple(fields), relation, tuple(values))


def _column(name: str) -> Node:
    return Column(tuple(name.split("."))) if name != "*" else Column(("*",))


def _without(node: Node, relation: Relation) -> list[Node]:
    """Columns that are chosen by what they are not, or by a range."""
    if not isinstance(node, Apply) or node.function not in ("WITHCOLUMNS", "WITHOUTCOLUMNS", "WITHALLCOLUMNS"):
        return [node]
    names = [field.name for field in relation.fields]
    chosen: list[str] = names if node.function == "WITHALLCOLUMNS" else []
    for each in node.arguments:
        chosen += _range(each, names)
    wanted = chosen if node.function != "WITHOUTCOLUMNS" else [name for name in names if name not in chosen]
    return [Column((name,)) for name in wanted]


def _range(node: Node, names: list[str]) -> list[str]:
    def position(end: Node) -> int:
        if isinstance(end, Column) and end.parts[-1] in names:
            return names.index(end.parts[-1])
        if isinstance(end, Constant) and end.value in names:
            return names.index(end.value)
        if isinstance(end, Constant) and isinstance(end.value, int) and 1 <= end.value <= len(names):
            return int(end.value) - 1
        raise ProgramError(f"{end} is no column. There are {', '.join(names)}.")

    if isinstance(node, Apply) and node.function == "RANGETO":
        return names[position(node.arguments[0]) : position(node.arguments[1]) + 1]
    if isinstance(node, Column) and node.parts[-1] == "*":
        return names
    return [names[position(node)]]


def _name(node: Node) -> str | None:
    return node.parts[-1] if isinstance(node, Column) else None


def has_aggregate(node: Node) -> bool:
    """Whether an expression is over groups of rows."""
    if not isinstance(node, Apply) or node.function == "OVER":
        return False
    return _is_aggregate(node) or any(map(has_aggregate, node.arguments))


def _is_aggregate(node: Apply) -> bool:
    function = node.function
    if not isinstance(function, str):
        return getattr(function, "kind", None) is FunctionKind.AGGREGATE
    if function == "DISTINCT":
        return True
    try:
        return find_function(function).kind is FunctionKind.AGGREGATE
    except ProgramError:
        return False


class _Groups:
    """Collects the aggregates of expressions, and gives the relation that computes them."""

    def __init__(self, source: Relation, keys: Sequence[Named], session: Session) -> None:
        self._source, self._session = source, session
        self._nodes = [each.node for each in keys]
        self._keys = [resolve(each.node, source.fields, session) for each in keys]
        self._names = [each.name or f"$key{at}" for at, each in enumerate(keys)]
        self._calls: list[AggregateCall] = []

    def outside(self, node: Node) -> Node:
        """The expression over the groups' rows."""
        if node in self._nodes:
            return self._key(self._nodes.index(node))
        if isinstance(node, Apply) and _is_aggregate(node):
            return self._call(node)
        if isinstance(node, Column):
            if node.parts[-1] in self._names:
                return self._key(self._names.index(node.parts[-1]))
            raise ResolveError(f"{node} is neither a key of the groups nor inside of an aggregate.")
        if isinstance(node, Apply):
            return Apply(node.function, tuple(self.outside(each) for each in node.arguments))
        return node

    def _key(self, at: int) -> Node:
        return Known(ColumnValue(self._keys[at].type, at, self._names[at]))

    def _call(self, node: Apply) -> Node:
        distinct = node.function == "DISTINCT"
        inner = node.arguments[0] if distinct else node
        if not isinstance(inner, Apply):
            raise ResolveError(f"distinct is of an aggregate, {inner} is none.")
        arguments = tuple(resolve(each, self._source.fields, self._session) for each in inner.arguments)
        function = find_function(inner.function) if isinstance(inner.function, str) else inner.function
        known = tuple(
            Argument(each.type, isinstance(each, ConstantValue), getattr(each, "value", None)) for each in arguments
        )
        call = Call(function.name, known, self._session)
        result = function.infer(call)
        found = AggregateCall(function, replace(call, result=result), arguments, distinct)
        if found not in self._calls:
            self._calls.append(found)
        at = len(self._keys) + self._calls.index(found)
        return Known(ColumnValue(result, at, function.name))

    def relation(self) -> Relation:
        """The groups."""
        names = unique_names([*self._names, *(f"$agg{at}" for at in range(len(self._calls)))])
        kinds = [*(key.type for key in self._keys), *(call.call.result for call in self._calls)]
        fields = tuple(RowField(name, kind) for name, kind in zip(names, kinds) if kind is not None)
        sets = (tuple(range(len(self._keys))),)
        return Aggregate(fields, self._source, tuple(self._keys), sets, tuple(self._calls))
