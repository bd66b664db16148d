"""FROM: tables, queries in it, joins, UNNEST, and the functions that put rows into windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from firesteel.errors import UnsupportedError
from firesteel.table.functions import FunctionError, find_function
from firesteel.table.logical.errors import did_you_mean, query_error
from firesteel.table.logical.expressions import Expressions, Queries
from firesteel.table.logical.grouping import milliseconds
from firesteel.table.logical.plan import (
    Correlate,
    Join,
    Project,
    Relation,
    Scan,
    Snapshot,
    Unnest,
    WindowTable,
)
from firesteel.table.logical.scope import From, Scope, Source, nullable_fields
from firesteel.table.resolution import ColumnValue, Typed, resolve
from firesteel.table.sql.nodes import base, queries
from firesteel.table.sql.nodes import expressions as sql
from firesteel.table.tree import Apply, Known
from firesteel.table.types import (
    ArrayType,
    DataTypes,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowField,
    RowType,
    TimestampType,
)

__all__ = ["Sources", "Tables", "renamed"]

Found = tuple[Relation, From]
# What a function of windows gets behind the table and the column, in order; the last may be left out.
_WINDOWS = {
    "TUMBLE": ("SIZE", "OFFSET"),
    "HOP": ("SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("STEP", "SIZE", "OFFSET"),
    "SESSION": ("GAP",),
}


_UNSUPPORTED = {
    queries.Snapshot: "FOR SYSTEM_TIME AS OF without a join",
    queries.MatchRecognize: "MATCH_RECOGNIZE",
    queries.Sample: "TABLESAMPLE",
    queries.Pivot: "PIVOT",
    queries.Unpivot: "UNPIVOT",
}


class Tables(Protocol):
    """Where tables are found by their names: a catalog, or the WITH of a query before it."""

    def find(self, name: base.Identifier) -> tuple[Relation, tuple[str, ...]]:
        """The rows of a table and its full name; an error says that there is none."""


class _Resolver(Queries, Protocol):
    tables: Tables

    def relation(self, query: base.Query, parent: Scope | None) -> Relation:
        """The plan of any query."""


def renamed(relation: Relation, names: tuple[str, ...]) -> Relation:
    """The same rows with other names for the columns."""
    fields = tuple(RowField(name, field.data_type) for name, field in zip(names, relation.fields))
    if fields == relation.fields:
        return relation
    values = (ColumnValue(field.data_type, at, field.name) for at, field in enumerate(relation.fields))
    return Project(fields, relation, tuple(values))


class Sources:
    """Resolves what stands behind FROM; `parent` is the scope of the query around this one."""

    def __init__(self, resolver: _Resolver, parent: Scope | None) -> None:
        self._resolver = resolver
        self._parent = parent

    def of(self, node: base.TableReference) -> Found:
        """The rows of a FROM clause, and the names in it."""
        resolve_kind: Callable[..., Found] | None = self._KINDS.get(type(node))
        if resolve_kind is None:
            name = _UNSUPPORTED.get(type(node), type(node).__name__)
            raise UnsupportedError(str(query_error(node, f"{name} is not supported in FROM.")))
        return resolve_kind(self, node)

    def _named(self, path: tuple[str, ...], relation: Relation) -> Found:
        return relation, From((Source(path, relation.fields),))

    def _table(self, node: queries.Table) -> Found:
        relation, path = self._resolver.tables.find(node.name)
        options = tuple(pair for hint in node.hints if hint.name.upper() == "OPTIONS" for pair in hint.options)
        if options:
            if not isinstance(relation, Scan):
                raise query_error(node, f"OPTIONS are for tables, {node.name} is a query.")
            relation = replace(relation, options=options)
        return self._named(path, relation)

    def _derived(self, node: queries.DerivedTable) -> Found:
        return self._named((), self._resolver.relation(node.query, self._parent))

    def _aliased(self, node: queries.Aliased) -> Found:
        relation, _ = self.of(node.table)
        if node.columns:
            fields = relation.fields
            if len(node.columns) != len(fields):
                names = ", ".join(f"'{field.name}'" for field in fields)
                raise query_error(
                    node,
                    f"List of column aliases must have same degree as table; table has {len(fields)} columns "
                    f"({names}), whereas alias list has {len(node.columns)} columns.",
                )
            relation = _renamed_source(relation, node.columns)
        return self._named((node.alias,), relation)

    # Joins

    def _join(self, node: queries.Join) -> Found:
        left, left_names = self.of(node.left)
        right, right_names, lateral = self._right(node.right, left_names)
        self._check_names(node, left_names, right_names)
        kind = "INNER" if node.kind in {"CROSS", "COMMA"} else node.kind
        if lateral and kind in {"RIGHT", "FULL"}:
            raise query_error(node, f"a {kind} JOIN cannot have a right side that reads the rows of the left one.")
        shifted = right_names.shifted(len(left.fields))
        left_fields, right_fields = left.fields, right.fields
        inner = From((*left_names.sources, *shifted.sources), {**left_names.merged, **shifted.merged})
        condition, using = self._condition(node, inner, left_names, shifted)
        if kind in {"RIGHT", "FULL"}:
            left_names, left_fields = left_names.nullable(), nullable_fields(left_fields)
        if kind in {"LEFT", "FULL"}:
            shifted, right_fields = shifted.nullable(), nullable_fields(right_fields)
        names = _merged(node, kind, using, left_names, shifted)
        make = Correlate if lateral else Join
        return make((*left_fields, *right_fields), left, right, kind, condition), names

    def _right(self, node: base.TableReference, left: From) -> tuple[Relation, From, bool]:
        inside = node.table if isinstance(node, queries.Aliased) else node
        if isinstance(inside, queries.Snapshot):
            written = replace(node, table=inside.table) if isinstance(node, queries.Aliased) else inside.table
            relation, names = self.of(written)
            period = Expressions(Scope(left, self._parent), self._resolver, "FOR SYSTEM_TIME").typed(inside.period)
            if not isinstance(period.type, (TimestampType, LocalZonedTimestampType)):
                raise query_error(inside, f"the time of FOR SYSTEM_TIME AS OF is a TIMESTAMP, got {period.type}.")
            return Snapshot(relation.fields, relation, period), names, False
        lateral = isinstance(inside, queries.Unnest) or bool(getattr(inside, "lateral", False))
        if isinstance(inside, queries.TableFunction) and inside.call.name.simple.upper() in _WINDOWS:
            lateral = False
        if not lateral:
            return (*self.of(node), False)
        return (*Sources(self._resolver, Scope(left, self._parent)).of(node), True)

    def _check_names(self, node: queries.Join, left: From, right: From) -> None:
        known = {source.path for source in left.sources if source.path}
        for source in right.sources:
            if source.path in known:
                raise query_error(node.right, f"Duplicate relation name '{source.path[-1]}' in FROM clause.")

    def _condition(
        self, node: queries.Join, both: From, left: From, right: From
    ) -> tuple[Typed | None, tuple[str, ...]]:
        using = _common_names(left, right) if node.natural else node.using
        if node.condition is not None:
            scope = Scope(both, self._parent)
            return Expressions(scope, self._resolver, "ON").condition(node.condition), ()
        pairs = []
        for name in using:
            sides = [Scope(side).find((name,), node) for side in (left, right)]
            pairs.append(Apply("=", tuple(map(Known, sides))))
        if not pairs:
            return None, ()
        return resolve(pairs[0] if len(pairs) == 1 else Apply("AND", tuple(pairs)), (), self._resolver.session), using

    # Rows out of values

    def _unnest(self, node: queries.Unnest) -> Found:
        scope = Scope(From(), self._parent)
        values = tuple(map(Expressions(scope, self._resolver, "UNNEST").typed, node.values))
        fields: list[RowField] = []
        for value, written in zip(values, node.values):
            fields += _elements(value, written, len(fields))
        if node.ordinality:
            fields.append(RowField("ORDINALITY", DataTypes.INT(False)))
        return self._named((), Unnest(tuple(fields), values, node.ordinality))

    # Windows

    def _function(self, node: queries.TableFunction) -> Found:
        kind = node.call.name.simple.upper()
        if kind not in _WINDOWS:
            raise query_error(node, _no_rows(kind))
        given = _window_arguments(kind, node.call)
        table = given["DATA"]
        if isinstance(table, sql.Subquery):
            table = sql.TableArgument(table.query, pos=table.pos)
        if not isinstance(table, sql.TableArgument):
            raise query_error(table, f"the first argument of {kind} is a table: TABLE name, or a query.")
        if isinstance(table.table, base.Identifier):
            source = self._resolver.tables.find(table.table)[0]
        else:
            source = self._resolver.relation(table.table, self._parent)
        time = _time_column(kind, given["TIMECOL"], source)
        lengths = {name: self._length(given[name]) for name in _WINDOWS[kind] if name in given}
        offset = lengths.pop("OFFSET", 0)
        keys = tuple(_column_index(name, source, table) for name in table.partition_by)
        point = source.fields[time].data_type
        fields = (
            RowField("window_start", DataTypes.TIMESTAMP(3, False)),
            RowField("window_end", DataTypes.TIMESTAMP(3, False)),
            RowField("window_time", point.not_null()),
        )
        window = WindowTable((*source.fields, *fields), source, kind, time, tuple(lengths.values()), offset, keys)
        _check_lengths(window, node)
        return self._named((), window)

    def _length(self, node: base.Expression) -> int:
        return milliseconds(Expressions(Scope(), self._resolver, "FROM").typed(node), node)

    _KINDS: dict[type, Callable[..., Found]] = {
        queries.Table: _table,
        queries.DerivedTable: _derived,
        queries.Aliased: _aliased,
        queries.Join: _join,
        queries.Unnest: _unnest,
        queries.TableFunction: _function,
    }


def _no_rows(name: str) -> str:
    try:
        find_function(name)
    except FunctionError as error:
        return str(error)
    return f"{name} gives a value and no rows: it cannot stand in FROM."


def _renamed_source(relation: Relation, names: tuple[str, ...]) -> Relation:
    """The rows of UNNEST and VALUES can have their names at once."""
    fields = tuple(RowField(name, field.data_type) for name, field in zip(names, relation.fields))
    return replace(relation, fields=fields) if isinstance(relation, Unnest) else renamed(relation, names)


def _common_names(left: From, right: From) -> tuple[str, ...]:
    names = [column.name for source in left.sources for column in source.columns if column.name not in source.hidden]
    others = {column.name for source in right.sources for column in source.columns}
    return tuple(name for name in dict.fromkeys(names) if name in others)


def _merged(node: queries.Join, kind: str, using: tuple[str, ...], left: From, right: From) -> From:
    """The names of both sides, where columns of USING are one."""
    merged = {**left.merged, **right.merged}
    for name in using:
        sides = [Scope(side).find((name,), node) for side in (left, right)]
        merged[name] = (
            resolve(Apply("COALESCE", tuple(map(Known, sides)))) if kind == "FULL" else sides[kind == "RIGHT"]
        )
    hidden = frozenset(using)
    others = tuple(
        replace(source, hidden=source.hidden | (hidden & {column.name for column in source.columns}))
        for source in right.sources
    )
    return From((*left.sources, *others), merged)


def _elements(value: Typed, node: base.Node, at: int) -> list[RowField]:
    """The columns of what is in an array, a multiset or a map."""
    kind = value.type
    if isinstance(kind, MapType):
        return [RowField("KEY", kind.key_type), RowField("VALUE", kind.value_type)]
    if not isinstance(kind, (ArrayType, MultisetType)):
        raise query_error(node, f"UNNEST takes an array, a multiset or a map, got {kind}.")
    if isinstance(kind.element_type, RowType):
        return list(kind.element_type.fields)
    return [RowField(f"EXPR${at}", kind.element_type)]


def _window_arguments(kind: str, call: sql.FunctionCall) -> dict[str, base.Expression]:
    names = ("DATA", "TIMECOL", *_WINDOWS[kind])
    given: dict[str, base.Expression] = {}
    for at, argument in enumerate(call.arguments):
        name, value = (
            (argument.name.upper(), argument.value) if isinstance(argument, sql.NamedArgument) else ("", argument)
        )
        if not name and at < len(names):
            name = names[at]
        if name not in names or name in given:
            raise query_error(argument, f"{kind} takes {', '.join(names)}{did_you_mean(name, names)}")
        given[name] = value
    missing = [name for name in names if name not in given and name != "OFFSET"]
    if missing:
        raise query_error(call, f"{kind} takes {', '.join(names)}: {', '.join(missing)} is missing.")
    return given


def _column_index(name: str, source: Relation, node: base.Node) -> int:
    names = [field.name for field in source.fields]
    if name not in names:
        raise query_error(node, f"Unknown identifier '{name}'{did_you_mean(name, names)}")
    return names.index(name)


def _time_column(kind: str, node: base.Expression, source: Relation) -> int:
    if not isinstance(node, sql.FunctionCall) or node.name.simple.upper() != "DESCRIPTOR" or len(node.arguments) != 1:
        raise query_error(node, f"{kind} takes the column of times as DESCRIPTOR(column).")
    column = node.arguments[0]
    if not isinstance(column, base.Identifier):
        raise query_error(column, f"{kind} takes the column of times by its name.")
    index = _column_index(column.simple, source, column)
    data_type = source.fields[index].data_type
    if not isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        raise query_error(
            column, f"{kind} requires the timecol to be TIMESTAMP or TIMESTAMP_LTZ, but {column} is {data_type}."
        )
    return index


def _check_lengths(window: WindowTable, node: base.Node) -> None:
    if any(length <= 0 for length in window.lengths):
        raise query_error(node, f"the lengths of {window.kind} have to be positive.")
    if window.kind == "CUMULATE" and window.lengths[1] % window.lengths[0]:
        raise query_error(node, "CUMULATE needs a size that is a multiple of its step.")
