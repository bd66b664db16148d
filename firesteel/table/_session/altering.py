"""ALTER of tables, views and databases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.errors import UnsupportedError
from firesteel.table._session.catalogs import ObjectError
from firesteel.table.catalog import CatalogBaseTable, CatalogDatabase, ObjectPath
from firesteel.table.definitions import schema_of
from firesteel.table.logical import schema_fields
from firesteel.table.logical.errors import did_you_mean, query_error
from firesteel.table.schema import Schema
from firesteel.table.sql import unparse
from firesteel.table.sql.nodes import ddl
from firesteel.table.table_result import TableResult

if TYPE_CHECKING:
    from firesteel.table._session.statements import Statements

__all__ = ["alter"]


def alter(do: Statements, statement: ddl.Alter) -> TableResult:
    """ALTER DATABASE, TABLE or VIEW."""
    if statement.kind == "DATABASE":
        _alter_database(do, statement)
    elif statement.kind in ("TABLE", "VIEW"):
        _alter_table(do, statement)
    else:
        raise UnsupportedError(str(query_error(statement, f"ALTER {statement.kind} is not supported.")))
    return TableResult.ok()


def _alter_database(do: Statements, statement: ddl.Alter) -> None:
    catalog, name = do.catalogs.database_path(statement.name.parts)
    found = do.catalogs.catalog(catalog)
    database = found.get_database(name)
    if not isinstance(statement.action, ddl.SetOptions):
        raise UnsupportedError(str(query_error(statement, "ALTER DATABASE only takes SET (...).")))
    properties = {**database.get_properties(), **dict(statement.action.options)}
    found.alter_database(name, CatalogDatabase(properties, database.get_comment()), False)


def _alter_table(do: Statements, statement: ddl.Alter) -> None:
    path = do.catalogs.path(statement.name.parts)
    if statement.if_exists and do.catalogs.find(path) is None:
        return
    if path in do.catalogs.temporary:
        raise ObjectError(f"'{'.'.join(path)}' is temporary: ALTER is for tables of a catalog.")
    table, action = do.catalogs.stored(path), statement.action
    catalog, place = do.catalogs.catalog(path[0]), ObjectPath(path[1], path[2])
    if isinstance(action, ddl.RenameTo):
        catalog.rename_table(place, action.name.parts[-1], False)
        return
    if isinstance(action, ddl.AlterQuery):
        changed = _with_query(do, table, action)
    elif isinstance(action, ddl.SetOptions):
        changed = table.with_options({**table.get_options(), **dict(action.options)})
    elif isinstance(action, ddl.ResetOptions):
        if "connector" in action.keys:
            raise ObjectError("ALTER TABLE RESET does not support changing 'connector'.")
        changed = table.with_options({k: v for k, v in table.get_options().items() if k not in action.keys})
    else:
        schema = _changed_schema(table.get_unresolved_schema(), action, statement)
        schema_fields(schema, do.jobs.session())
        changed = CatalogBaseTable(schema, table.get_options(), table.get_comment(), table.get_partition_keys())
    catalog.alter_table(place, changed, False)


def _with_query(do: Statements, view: CatalogBaseTable, action: ddl.AlterQuery) -> CatalogBaseTable:
    relation = do.relation(action.query)
    builder = Schema.new_builder()
    for field in relation.fields:
        builder.column(field.name, field.data_type)
    text = unparse(action.query)
    return CatalogBaseTable.create_view(text, text, builder.build(), view.get_options(), view.get_comment())


def _changed_schema(schema: Schema, action: ddl.AlterAction, statement: ddl.Alter) -> Schema:
    if isinstance(action, ddl.ChangeSchema):
        return _add_or_modify(schema, action, statement)
    if isinstance(action, ddl.RenameColumn):
        old, new = action.old.simple, action.new.simple
        _require(schema, old, statement)
        columns = tuple(replace(each, name=new) if each.name == old else each for each in schema.columns)
        return Schema(columns, schema.watermarks, schema.primary_key)
    if isinstance(action, ddl.DropColumns):
        gone = {each.simple for each in action.columns}
        for name in gone:
            _require(schema, name, statement)
        if schema.primary_key is not None and gone & set(schema.primary_key.columns):
            raise query_error(statement, f"The column {sorted(gone)[0]} is used as the primary key.")
        return Schema(
            tuple(each for each in schema.columns if each.name not in gone), schema.watermarks, schema.primary_key
        )
    if isinstance(action, ddl.DropPart) and action.kind == "WATERMARK":
        return Schema(schema.columns, (), schema.primary_key)
    if isinstance(action, ddl.DropPart) and action.kind in ("PRIMARY KEY", "CONSTRAINT"):
        if schema.primary_key is None:
            raise query_error(statement, "The base table does not define any primary key.")
        return Schema(schema.columns, schema.watermarks, None)
    raise UnsupportedError(str(query_error(statement, f"{type(action).__name__} is not supported.")))


def _require(schema: Schema, name: str, statement: ddl.Alter) -> None:
    names = [each.name for each in schema.columns]
    if name not in names:
        raise query_error(statement, f"The column `{name}` does not exist in the base table{did_you_mean(name, names)}")


def _add_or_modify(schema: Schema, action: ddl.ChangeSchema, statement: ddl.Alter) -> Schema:
    written = ddl.TableSchema(tuple(each.column for each in action.columns), (), action.watermark, pos=statement.pos)
    new = schema_of(written)
    columns = list(schema.columns)
    for position, column in zip(action.columns, new.columns):
        names = [each.name for each in columns]
        place = names.index(column.name) if column.name in names else len(columns)
        if action.verb == "ADD" and column.name in names:
            raise query_error(statement, f"Try to add a column `{column.name}` which already exists in the table.")
        if action.verb == "MODIFY":
            _require(schema, column.name, statement)
            del columns[place]
        if position.first:
            place = 0
        elif position.after is not None:
            _require(schema, position.after.simple, statement)
            place = [each.name for each in columns].index(position.after.simple) + 1
        columns.insert(place, column)
    key = schema.primary_key
    for constraint in action.constraints:
        if key is not None and action.verb == "ADD":
            raise query_error(statement, "The base table has already defined the primary key constraint.")
        builder = Schema.new_builder()
        if constraint.name is None:
            builder.primary_key(*constraint.columns)
        else:
            builder.primary_key_named(constraint.name, *constraint.columns)
        key = builder.build().primary_key
    return Schema(tuple(columns), new.watermarks or schema.watermarks, key)
