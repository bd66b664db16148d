"""Tables by their names in catalogs: their columns with all types known, and the queries of views."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.errors import ProgramError
from firesteel.table.catalog import Catalog, CatalogBaseTable, ObjectPath
from firesteel.table.from_sql import expression_of
from firesteel.table.functions import Session
from firesteel.table.logical.errors import QueryError, did_you_mean, query_error
from firesteel.table.logical.plan import Relation, Scan
from firesteel.table.logical.queries import resolve_query
from firesteel.table.logical.sources import renamed
from firesteel.table.resolution import resolve
from firesteel.table.schema import Schema
from firesteel.table.sql import parse_data_type, parse_expression, parse_statement
from firesteel.table.sql.nodes import base
from firesteel.table.sql.nodes.statements import QueryStatement
from firesteel.table.types import DataType, LocalZonedTimestampType, RowField, TimeAttribute, TimestampType

__all__ = ["CatalogTables", "schema_fields"]


def schema_fields(schema: Schema, session: Session | None = None) -> tuple[RowField, ...]:
    """The columns of a schema in their order, with their types; the event time is marked as such."""
    declared = [
        RowField(each.name, _data_type(each.data_type)) for each in schema.columns if each.data_type is not None
    ]
    times = {each.column for each in schema.watermarks}
    marked = [_marked(field, times) for field in declared]
    found = {field.name: field for field in marked}
    for column in schema.columns:
        if column.expression is not None:
            value = resolve(expression_of(parse_expression(column.expression)), declared, session)
            found[column.name] = _marked(RowField(column.name, value.type), times)
    unknown = times - set(found)
    if unknown:
        name = sorted(unknown)[0]
        raise QueryError(
            f"the watermark is for column '{name}', which the table does not have{did_you_mean(name, found)}"
        )
    return tuple(found[column.name] for column in schema.columns)


def _data_type(declared: DataType | str) -> DataType:
    return parse_data_type(declared) if isinstance(declared, str) else declared


def _marked(field: RowField, times: set[str]) -> RowField:
    if field.name not in times:
        return field
    kind = field.data_type
    if not isinstance(kind, (TimestampType, LocalZonedTimestampType)) or kind.precision > 3:
        raise QueryError(
            f"the watermark is for column '{field.name}' of type {kind}; it has to be TIMESTAMP(p) or TIMESTAMP_LTZ(p) "
            "with p from 0 to 3."
        )
    return RowField(field.name, kind.with_attribute(TimeAttribute.ROWTIME))


class CatalogTables:
    """The tables of catalogs, with those of one session before them.

    :param temporary: tables that only this session has, by their full names, or the rows that they are.
    :param current: the catalog and the database that are meant where none is named.
    """

    def __init__(
        self,
        catalogs: Mapping[str, Catalog],
        current: tuple[str, str],
        temporary: Mapping[tuple[str, str, str], CatalogBaseTable | Relation] | None = None,
        session: Session | None = None,
        _open: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        self._catalogs = catalogs
        self._current = current
        self._temporary = temporary or {}
        self._session = session or Session()
        self._open = _open

    def find(self, name: base.Identifier) -> tuple[Relation, tuple[str, ...]]:
        """The rows of a table or view, and its full name."""
        for path in self._paths(name.parts):
            table = self._table(path)
            if table is not None:
                return self._relation(path, table, name), path
        raise self._unknown(name)

    def _paths(self, parts: tuple[str, ...]) -> list[tuple[str, str, str]]:
        """What a name may mean: Flink tries it in the current database, then as database and table, then in full."""
        catalog, database = self._current
        if len(parts) == 1:
            return [(catalog, database, parts[0])]
        if len(parts) == 2:
            return [(catalog, parts[0], parts[1])]
        return [(parts[0], parts[1], parts[2])] if len(parts) == 3 else []

    def _table(self, path: tuple[str, str, str]) -> CatalogBaseTable | Relation | None:
        if path in self._temporary:
            return self._temporary[path]
        catalog = self._catalogs.get(path[0])
        if catalog is None or not catalog.database_exists(path[1]):
            return None
        there = ObjectPath(path[1], path[2])
        return catalog.get_table(there) if catalog.table_exists(there) else None

    def _relation(self, path: tuple[str, str, str], table: CatalogBaseTable | Relation, node: base.Node) -> Relation:
        if isinstance(table, Relation):
            return table
        if not table.is_view:
            return Scan(schema_fields(table.get_unresolved_schema(), self._session), path)
        if path in self._open:
            raise query_error(node, f"the view {'.'.join(path)} reads itself.")
        query = table.get_expanded_query()
        statement = parse_statement(query or "")
        assert isinstance(statement, QueryStatement)
        inner = CatalogTables(self._catalogs, path[:2], self._temporary, self._session, (*self._open, path))
        try:
            found = resolve_query(statement.query, inner, self._session)
        except ProgramError as error:
            raise query_error(node, f"the view {'.'.join(path)} cannot be read: {error}") from error
        return renamed(found, tuple(column.name for column in table.get_unresolved_schema().columns))

    def _unknown(self, name: base.Identifier) -> QueryError:
        parts = name.parts
        catalog = parts[0] if len(parts) == 3 else self._current[0]
        database = parts[-2] if len(parts) > 1 else self._current[1]
        if catalog not in self._catalogs:
            return query_error(name, f"Catalog '{catalog}' not found{did_you_mean(catalog, self._catalogs)}")
        here = self._catalogs[catalog]
        if not here.database_exists(database):
            known = here.list_databases()
            return query_error(name, f"Database '{database}' not found in '{catalog}'{did_you_mean(database, known)}")
        names = [*here.list_tables(database), *(path[2] for path in self._temporary if path[:2] == (catalog, database))]
        where = f"{catalog}.{database}"
        return query_error(name, f"Object '{name.simple}' not found within '{where}'{did_you_mean(name.simple, names)}")
