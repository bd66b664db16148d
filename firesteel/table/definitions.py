"""From CREATE TABLE as it is written to the table that a catalog keeps."""

from __future__ import annotations

from firesteel.table.catalog import CatalogBaseTable
from firesteel.table.logical import QueryError, schema_fields
from firesteel.table.logical.errors import query_error
from firesteel.table.schema import Schema
from firesteel.table.sql import to_data_type, unparse
from firesteel.table.sql.nodes import ddl

__all__ = ["schema_of", "table_of"]


def table_of(definition: ddl.TableDefinition) -> CatalogBaseTable:
    """The table that a definition without LIKE and AS describes; its columns are resolved once, to be sure of them."""
    schema = schema_of(definition.schema) if definition.schema is not None else Schema()
    fields = schema_fields(schema)
    names = {field.name for field in fields}
    for key in definition.partitioned_by:
        if key not in names:
            raise query_error(definition, f"Partition column '{key}' not defined in the table schema.")
    return CatalogBaseTable.create_table(
        schema, list(definition.partitioned_by), dict(definition.options), definition.comment
    )


def schema_of(written: ddl.TableSchema) -> Schema:
    """The schema that stands in the parentheses of CREATE TABLE."""
    builder = Schema.new_builder()
    constraints = _constraints(written)
    keys = {name for each in constraints if each.kind == "PRIMARY KEY" for name in each.columns}
    seen: set[str] = set()
    for column in written.columns:
        _add_column(builder, column, seen, keys)
    if written.watermark is not None:
        builder.watermark(".".join(written.watermark.column.parts), unparse(written.watermark.expression))
    for constraint in constraints:
        _add_key(builder, constraint, seen)
    return builder.build()


def _add_column(builder: Schema.Builder, column: ddl.Column, seen: set[str], keys: set[str]) -> None:
    assert isinstance(column, (ddl.PhysicalColumn, ddl.ComputedColumn, ddl.MetadataColumn))
    name = column.name.simple
    if name in seen:
        raise query_error(column, f"A column named '{name}' already exists in the table.")
    seen.add(name)
    if isinstance(column, ddl.ComputedColumn):
        builder.column_by_expression(name, unparse(column.expression))
    elif isinstance(column, ddl.MetadataColumn):
        builder.column_by_metadata(name, to_data_type(column.type), column.key, column.virtual)
    else:
        data_type = to_data_type(column.type)
        builder.column(name, data_type.not_null() if name in keys else data_type)  # a key is never NULL
    if column.comment is not None:
        builder.with_comment(column.comment)


def _constraints(written: ddl.TableSchema) -> list[ddl.Constraint]:
    own = [
        ddl.Constraint(found.kind, (column.name.simple,), found.name, found.enforced, pos=found.pos)
        for column in written.columns
        if isinstance(column, ddl.PhysicalColumn) and (found := column.constraint) is not None
    ]
    return [*own, *written.constraints]


def _add_key(builder: Schema.Builder, constraint: ddl.Constraint, columns: set[str]) -> None:
    if constraint.kind != "PRIMARY KEY":
        raise query_error(constraint, f"{constraint.kind} constraint is not supported yet.")
    if constraint.enforced is not False:
        raise _not_enforced(constraint)
    for name in constraint.columns:
        if name not in columns:
            raise query_error(constraint, f"Primary key column '{name}' is not defined in the schema.")
    if constraint.name is None:
        builder.primary_key(*constraint.columns)
    else:
        builder.primary_key_named(constraint.name, *constraint.columns)


def _not_enforced(constraint: ddl.Constraint) -> QueryError:
    return query_error(
        constraint, "Flink doesn't own the data: a PRIMARY KEY has to say NOT ENFORCED, since nobody enforces it."
    )
