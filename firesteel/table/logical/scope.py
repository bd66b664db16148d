"""Which names a query can see, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from firesteel.table.logical.errors import QueryError, did_you_mean, query_error
from firesteel.table.logical.plan import OuterColumn
from firesteel.table.logical.rewriting import mapped
from firesteel.table.resolution import ColumnValue, Typed, resolve
from firesteel.table.sql.nodes.base import Node
from firesteel.table.tree import Apply, Constant, Known
from firesteel.table.types import RowField, RowType, StructuredType, SymbolType

__all__ = ["From", "Scope", "Source", "shifted"]

_SYMBOL = SymbolType(False)


@dataclass(frozen=True)
class Source:
    """A table of a FROM clause: the names it goes by, and its columns, of which the first is at `start`.

    `path` is an alias, or catalog, database and table; of nothing it is empty. Columns in `hidden` are the ones that
    USING has joined to those of another table: seen behind the table's own name only.
    """

    path: tuple[str, ...]
    columns: tuple[RowField, ...]
    start: int = 0
    hidden: frozenset[str] = frozenset()

    def matches(self, names: tuple[str, ...]) -> bool:
        """Whether these names are the last of its own."""
        return bool(names) and self.path[-len(names) :] == names

    def find(self, name: str, node: Node | None) -> ColumnValue | None:
        """A column by its name."""
        found = [at for at, column in enumerate(self.columns) if column.name == name]
        if len(found) > 1:
            raise query_error(node, f"Column '{name}' is ambiguous.")
        return self.column(found[0]) if found else None

    def column(self, position: int) -> ColumnValue:
        """A column by its position."""
        column = self.columns[position]
        return ColumnValue(column.data_type, self.start + position, column.name)


@dataclass(frozen=True)
class From:
    """What a FROM clause gives: its tables, and the columns that USING or NATURAL has made one of two."""

    sources: tuple[Source, ...] = ()
    merged: dict[str, Typed] = field(default_factory=dict)

    def shifted(self, by: int) -> From:
        """The same behind other columns."""
        sources = tuple(replace(each, start=each.start + by) for each in self.sources)
        return From(sources, {name: shifted(value, by) for name, value in self.merged.items()})

    def nullable(self) -> From:
        """The same where rows may be missing."""
        sources = tuple(replace(each, columns=nullable_fields(each.columns)) for each in self.sources)
        return From(sources, {name: mapped(value, _nullable) for name, value in self.merged.items()})


def nullable_fields(fields: tuple[RowField, ...]) -> tuple[RowField, ...]:
    """Columns that may all be NULL."""
    return tuple(RowField(each.name, each.data_type.nullable()) for each in fields)


def _nullable(value: Typed) -> Typed | None:
    return replace(value, type=value.type.nullable()) if isinstance(value, ColumnValue) else None


def shifted(value: Typed, by: int) -> Typed:
    """An expression whose row has as many columns more before its own."""
    return mapped(value, lambda each: replace(each, index=each.index + by) if isinstance(each, ColumnValue) else None)


def _from_within(value: Typed) -> Typed:
    """A value of the row of an outer query."""

    def outer(each: Typed) -> Typed | None:
        if isinstance(each, ColumnValue):
            return OuterColumn(each.type, 1, each.index, each.name)
        return replace(each, depth=each.depth + 1) if isinstance(each, OuterColumn) else None

    return mapped(value, outer)


def field_of(row: Typed, name: str) -> Typed:
    """A field of a row."""
    return resolve(Apply("GET", (Known(row), Constant(name, _SYMBOL))))


@dataclass(frozen=True)
class Scope:
    """The tables of a query, and the scope of the query around it.

    `visible` says what a value of a row is for those who look in from a sub-query: of a query with GROUP BY, one of
    its keys.
    """

    tables: From = field(default_factory=From)
    parent: Scope | None = None
    visible: Callable[[Typed, Node], Typed] | None = None

    def find(self, parts: tuple[str, ...], node: Node) -> Typed:
        """The column, or the field in a column, that a name of one or more parts means."""
        found = self.find_or_none(parts, node)
        if found is None:
            raise self._unknown(parts, node)
        return found

    def find_or_none(self, parts: tuple[str, ...], node: Node) -> Typed | None:
        """The same; None if the name means nothing here or further out."""
        own = self._qualified(parts, node) or self._column(parts, node)
        if own is not None or self.parent is None:
            return own
        outer = self.parent.find_or_none(parts, node)
        if outer is not None and self.parent.visible is not None:
            outer = self.parent.visible(outer, node)
        return None if outer is None else _from_within(outer)

    def _qualified(self, parts: tuple[str, ...], node: Node) -> Typed | None:
        for length in range(min(len(parts) - 1, 3), 0, -1):
            for source in self.tables.sources:
                if source.matches(parts[:length]):
                    found = source.find(parts[length], node)
                    if found is None:
                        return None if length > 1 else self._no_column_in(source, parts, node)
                    return self._path(found, parts, length + 1, node)
        return None

    def _no_column_in(self, source: Source, parts: tuple[str, ...], node: Node) -> Typed | None:
        if self._column(parts, node) is not None:
            return None
        hint = did_you_mean(parts[1], (each.name for each in source.columns))
        raise query_error(node, f"Column '{'.'.join(parts[1:])}' not found in table '{parts[0]}'{hint}")

    def _column(self, parts: tuple[str, ...], node: Node) -> Typed | None:
        name = parts[0]
        if name in self.tables.merged:
            return self._path(self.tables.merged[name], parts, 1, node)
        found = [
            column
            for source in self.tables.sources
            if name not in source.hidden and (column := source.find(name, node)) is not None
        ]
        if len(found) > 1:
            raise query_error(node, f"Column '{name}' is ambiguous.")
        return self._path(found[0], parts, 1, node) if found else None

    def _path(self, value: Typed, parts: tuple[str, ...], start: int, node: Node) -> Typed:
        for at in range(start, len(parts)):
            kind = value.type
            names = kind.field_names() if isinstance(kind, (RowType, StructuredType)) else []
            if parts[at] not in names:
                where = f"table '{'.'.join(parts[: start - 1])}'" if start > 1 else "any table"
                missing = ".".join(parts[start - 1 :])
                raise query_error(node, f"Column '{missing}' not found in {where}{did_you_mean(parts[at], names)}")
            value = field_of(value, parts[at])
        return value

    def _unknown(self, parts: tuple[str, ...], node: Node) -> QueryError:
        scopes = list(self._scopes())
        if len(parts) > 1:
            known = (source.path[-1] for scope in scopes for source in scope.tables.sources if source.path)
            return query_error(node, f"Table '{'.'.join(parts[:-1])}' not found{did_you_mean(parts[0], known)}")
        names = (column.name for scope in scopes for source in scope.tables.sources for column in source.columns)
        return query_error(node, f"Column '{parts[0]}' not found in any table{did_you_mean(parts[0], names)}")

    def _scopes(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def star(self, prefix: tuple[str, ...], node: Node) -> list[tuple[str, Typed, str]]:
        """The columns that ``*`` or ``t.*`` means: their names, what they are, and what they are called in full."""
        if not prefix:
            found = [each for source in self.tables.sources for each in self._all(source, node, False)]
            if not found:
                raise query_error(node, "'*' needs a FROM clause.")
            return found
        for source in self.tables.sources:
            if source.matches(prefix):
                return self._all(source, node, True)
        row = self.find_or_none(prefix, node)
        if row is None:
            raise self._unknown((*prefix, "*"), node)
        if not isinstance(row.type, (RowType, StructuredType)):
            raise query_error(node, f"Column '{'.'.join(prefix)}' is {row.type}: only a row has columns for '*'.")
        return [(name, field_of(row, name), ".".join((*prefix, name))) for name in row.type.field_names()]

    def _all(self, source: Source, node: Node, own: bool) -> list[tuple[str, Typed, str]]:
        found: list[tuple[str, Typed, str]] = []
        for column in source.columns:
            value: Typed | None = source.find(column.name, node)
            if not own and column.name in source.hidden:
                continue
            if not own and column.name in self.tables.merged:
                value = self.tables.merged[column.name]
            assert value is not None
            found.append((column.name, value, ".".join((*source.path[-1:], column.name))))
        return found
