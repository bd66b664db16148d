"""SHOW and DESCRIBE: what is there, as tables of texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from firesteel.errors import UnsupportedError
from firesteel.table._session.catalogs import Catalogs, ObjectError
from firesteel.table.catalog import CatalogBaseTable, CatalogPartitionSpec, ObjectPath
from firesteel.table.functions import functions
from firesteel.table.logical import Relation, schema_fields
from firesteel.table.logical.errors import query_error
from firesteel.table.sql.nodes import statements
from firesteel.table.table_result import TableResult
from firesteel.table.types import DataTypes, RowField

if TYPE_CHECKING:
    from firesteel.table._session.statements import Statements

__all__ = ["created_table", "describe", "show", "show_create", "show_current", "user_functions"]

_TEXT = DataTypes.STRING()


def _names(column: str, names: Iterable[str], like: statements.LikeFilter | None) -> TableResult:
    return TableResult.listing([(column, _TEXT)], [(name,) for name in names if _is_like(name, like)])


def _is_like(name: str, like: statements.LikeFilter | None) -> bool:
    if like is None:
        return True
    pattern = "".join({"%": ".*", "_": "."}.get(each, re.escape(each)) for each in like.pattern)
    found = re.fullmatch(pattern, name, re.IGNORECASE if like.ignore_case else 0) is not None
    return found != like.negated


def show(do: Statements, statement: statements.Show) -> TableResult:
    """SHOW of a list."""
    catalogs, source = do.catalogs, statement.source
    here = (catalogs.current_catalog, catalogs.current_database)
    if statement.what in ("TABLES", "VIEWS"):
        catalog, database = here if source is None else catalogs.database_path(source.parts)
        if not catalogs.catalog(catalog).database_exists(database):
            raise ObjectError(f"Database '{catalog}'.'{database}' doesn't exist.")
        if statement.what == "TABLES":
            return _names("table name", catalogs.table_names(catalog, database), statement.like)
        return _names("view name", catalogs.view_names(catalog, database), statement.like)
    if statement.what == "DATABASES":
        name = catalogs.current_catalog if source is None else source.simple
        return _names("database name", sorted(catalogs.catalog(name).list_databases()), statement.like)
    if statement.what == "CATALOGS":
        return _names("catalog name", sorted(catalogs.all), statement.like)
    if statement.what in ("FUNCTIONS", "USER FUNCTIONS"):
        built_in = [] if statement.what.startswith("USER") else [each.name.lower() for each in functions()]
        return _names("function name", sorted({*built_in, *user_functions(do.catalogs)}), statement.like)
    if statement.what == "COLUMNS" and source is not None:
        return _columns(do, source.parts, statement.like)
    if statement.what == "MODULES":
        return _names("module name", ["core"], None)
    if statement.what == "FULL MODULES":
        return TableResult.listing([("module name", _TEXT), ("used", DataTypes.BOOLEAN())], [("core", True)])
    if statement.what == "JARS":
        return _names("jars", [], None)
    if statement.what == "PARTITIONS" and source is not None:
        return _partitions(do, statement)
    raise UnsupportedError(str(query_error(statement, f"SHOW {statement.what} is not supported.")))


def user_functions(catalogs: Catalogs) -> list[str]:
    """The functions of the session that are known in the current database."""
    here = (catalogs.current_catalog, catalogs.current_database)
    known = {*catalogs.system_functions, *(path[2] for path in catalogs.functions if path[:2] == here)}
    return sorted(name.lower() for name in known)


def show_current(do: Statements, statement: statements.ShowCurrent) -> TableResult:
    """The catalog or database in use."""
    is_catalog = statement.kind == "CATALOG"
    value = do.catalogs.current_catalog if is_catalog else do.catalogs.current_database
    return TableResult.listing([(f"current {statement.kind.lower()} name", _TEXT)], [(value,)])


def _partitions(do: Statements, statement: statements.Show) -> TableResult:
    assert statement.source is not None
    catalog, database, name = do.catalogs.path(statement.source.parts)
    wanted = {each.column: str(getattr(each.value, "value", each.value)) for each in statement.partition}
    found = do.catalogs.catalog(catalog).list_partitions(
        ObjectPath(database, name), CatalogPartitionSpec(wanted) if wanted else None
    )
    texts = ["/".join(f"{key}={value}" for key, value in each.get_partition_spec().items()) for each in found]
    return _names("partition name", texts, None)


# ---- tables ----------------------------------------------------------------------------------------------------------


def describe(do: Statements, statement: statements.Describe) -> TableResult:
    """The columns of a table, or the properties of a database or catalog."""
    if statement.kind == "TABLE":
        return _columns(do, statement.name.parts, None)
    pairs: list[tuple[str, Any]]
    if statement.kind == "DATABASE":
        catalog, name = do.catalogs.database_path(statement.name.parts)
        database = do.catalogs.catalog(catalog).get_database(name)
        pairs = [("name", name), ("comment", database.get_comment() or "")]
        pairs += [(f"option:{key}", value) for key, value in database.get_properties().items()]
    elif statement.kind == "CATALOG":
        do.catalogs.catalog(statement.name.simple)
        pairs = [("name", statement.name.simple), ("type", "generic_in_memory"), ("comment", "")]
    else:
        raise UnsupportedError(str(query_error(statement, f"DESCRIBE {statement.kind} is not supported.")))
    return TableResult.listing([("info name", _TEXT), ("info value", _TEXT)], pairs)


def _columns(do: Statements, parts: Sequence[str], like: statements.LikeFilter | None) -> TableResult:
    table = do.catalogs.get(do.catalogs.path(parts))
    rows = _described(table, do) if isinstance(table, CatalogBaseTable) else _plain(table)
    commented = any(row[6] for row in rows)
    columns = [
        ("name", _TEXT),
        ("type", _TEXT),
        ("null", DataTypes.BOOLEAN()),
        ("key", _TEXT),
        ("extras", _TEXT),
        ("watermark", _TEXT),
        *([("comment", _TEXT)] if commented else []),
    ]
    kept = [row[: len(columns)] for row in rows if _is_like(row[0], like)]
    return TableResult.listing(columns, kept)


def _plain(relation: Relation) -> list[tuple[Any, ...]]:
    return [(field.name, _type(field), field.data_type.is_nullable, "", "", "", "") for field in relation.fields]


def _type(field: RowField) -> str:
    return field.data_type.nullable().text()


def _described(table: CatalogBaseTable, do: Statements) -> list[tuple[Any, ...]]:
    schema = table.get_unresolved_schema()
    key = () if schema.primary_key is None else schema.primary_key.columns
    watermarks = {each.column: each.expression for each in schema.watermarks}
    rows = []
    for column, field in zip(schema.columns, schema_fields(schema, do.jobs.session())):
        extras = ""
        if column.expression is not None:
            extras = f"AS {column.expression}"
        elif column.is_metadata:
            origin = "" if column.metadata_key is None else f" FROM '{column.metadata_key}'"
            extras = f"METADATA{origin}{' VIRTUAL' if column.is_virtual else ''}"
        rows.append(
            (
                field.name,
                _type(field),
                field.data_type.is_nullable,
                f"PRI({', '.join(key)})" if field.name in key else "",
                extras,
                watermarks.get(field.name, ""),
                column.comment or "",
            )
        )
    return rows


def show_create(do: Statements, statement: statements.ShowCreate) -> TableResult:
    """The statement that makes a table or view."""
    if statement.kind not in ("TABLE", "VIEW"):
        raise UnsupportedError(str(query_error(statement, f"SHOW CREATE {statement.kind} is not supported.")))
    path = do.catalogs.path(statement.name.parts)
    table = do.catalogs.stored(path)
    if table.is_view != (statement.kind == "VIEW"):
        other = "VIEW" if table.is_view else "TABLE"
        raise ObjectError(
            f"SHOW CREATE {statement.kind}: {'.'.join(path)} is a {other.lower()}. Use SHOW CREATE {other}."
        )
    return TableResult.listing([("result", _TEXT)], [(created_table(path, table, path in do.catalogs.temporary),)])


def created_table(path: Sequence[str], table: CatalogBaseTable, temporary: bool) -> str:
    """CREATE TABLE or CREATE VIEW, as Flink writes it."""
    name = ".".join(f"`{part}`" for part in path)
    kind = "TEMPORARY " if temporary else ""
    schema = table.get_unresolved_schema()
    if table.is_view:
        names = ",\n".join(f"  `{column.name}`" for column in schema.columns)
        comment = f"\nCOMMENT '{table.get_comment()}'" if table.get_comment() else ""
        return f"CREATE {kind}VIEW {name} (\n{names}\n){comment}\nAS {table.get_expanded_query()}"
    lines = [f"  {_column_text(column)}" for column in schema.columns]
    lines += [f"  WATERMARK FOR `{each.column}` AS {each.expression}" for each in schema.watermarks]
    lines += [f"  {schema.primary_key}"] if schema.primary_key is not None else []
    text = f"CREATE {kind}TABLE {name} (\n" + ",\n".join(lines) + "\n)"
    if table.get_comment():
        text += f"\nCOMMENT '{table.get_comment()}'"
    if table.get_partition_keys():
        text += f"\nPARTITIONED BY ({', '.join(f'`{key}`' for key in table.get_partition_keys())})"
    options = ",\n".join(f"  '{key}' = '{value}'" for key, value in table.get_options().items())
    return f"{text}\nWITH (\n{options}\n)\n" if options else f"{text}\n"


def _column_text(column: Any) -> str:
    comment = "" if column.comment is None else " COMMENT '" + column.comment.replace("'", "''") + "'"
    if column.expression is not None:
        return f"`{column.name}` AS {column.expression}{comment}"
    kind = column.data_type if isinstance(column.data_type, str) else column.data_type.serializable()
    origin = "" if column.metadata_key is None else f" FROM '{column.metadata_key}'"
    metadata = f" METADATA{origin}{' VIRTUAL' if column.is_virtual else ''}" if column.is_metadata else ""
    return f"`{column.name}` {kind}{metadata}{comment}"
