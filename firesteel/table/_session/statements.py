"""Statements carried out: a table from the kind of statement to the function that does it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from firesteel.errors import ProgramError, UnsupportedError
from firesteel.table._session.altering import alter
from firesteel.table._session.catalogs import Catalogs, ObjectError
from firesteel.table._session.jobs import InsertOf, Jobs
from firesteel.table._session.showing import describe, show, show_create, show_current
from firesteel.table.catalog import CatalogBaseTable, CatalogDatabase
from firesteel.table.catalog.in_memory import GenericInMemoryCatalog
from firesteel.table.definitions import table_of
from firesteel.table.from_sql import expression_of
from firesteel.table.logical import Relation, resolve_query
from firesteel.table.logical.errors import query_error
from firesteel.table.resolution import resolve
from firesteel.table.schema import Schema
from firesteel.table.sql import unparse
from firesteel.table.sql.nodes import base, ddl, queries, statements
from firesteel.table.table_result import TableResult
from firesteel.table.types import DataTypes

__all__ = ["Statements"]

Do = Callable[["Statements", Any], TableResult]


class Statements:
    """Carries out the statements of one session."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.catalogs: Catalogs = jobs.catalogs
        self._set: list[InsertOf] | None = None

    def run(self, statement: base.Statement) -> TableResult:
        """Carry out one statement."""
        do = DOING.get(type(statement))
        if do is None:
            name = type(statement).__name__
            raise UnsupportedError(str(query_error(statement, f"{name}: this statement is not supported.")))
        return do(self, statement)

    # ---- queries -------------------------------------------------------------------------------------------

    def relation(self, query: base.Query) -> Relation:
        """What a query means."""
        session = self.jobs.session()
        with self.catalogs.knowing_functions():
            return resolve_query(query, self.catalogs.tables(session), session)

    def insert_of(self, statement: statements.Insert) -> InsertOf:
        """What an INSERT writes where."""
        if statement.on_conflict not in (None, "DEDUPLICATE"):
            raise UnsupportedError(
                str(query_error(statement, f"ON CONFLICT DO {statement.on_conflict}: not supported."))
            )
        session = self.jobs.session()
        partition = tuple(
            (each.column, resolve(expression_of(each.value), (), session))
            for each in statement.partition
            if each.value is not None
        )
        columns = tuple(column.simple for column in statement.columns)
        path = self.catalogs.path(statement.table.parts)
        relation = self.relation(statement.query)
        return InsertOf(path, relation, columns, partition, _options_hint(statement.hints), statement.overwrite)


def _options_hint(hints: tuple[queries.Hint, ...]) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for hint in hints:
        if hint.name.upper() == "OPTIONS":
            pairs += hint.options
    return tuple(pairs)


def _query(do: Statements, statement: statements.QueryStatement) -> TableResult:
    return do.jobs.query(do.relation(statement.query))


def _insert(do: Statements, statement: statements.Insert) -> TableResult:
    return do.jobs.insert([do.insert_of(statement)])


def _statement_set(do: Statements, statement: statements.StatementSet) -> TableResult:
    return do.jobs.insert([do.insert_of(each) for each in statement.inserts])


def _execute(do: Statements, statement: statements.Execute) -> TableResult:
    return do.run(statement.statement)


def _explain(do: Statements, statement: statements.Explain) -> TableResult:
    return TableResult.listing(
        [("result", DataTypes.STRING())], [(explained(do, statement.statement, statement.details),)]
    )


def explained(do: Statements, statement: base.Statement, details: tuple[str, ...] = ()) -> str:
    """The plans of a statement as text."""
    if isinstance(statement, statements.Execute):
        return explained(do, statement.statement, details)
    if isinstance(statement, statements.QueryStatement):
        return do.jobs.explain_query(do.relation(statement.query), details)
    if isinstance(statement, statements.Insert):
        return do.jobs.explain_inserts([do.insert_of(statement)], details)
    if isinstance(statement, statements.StatementSet):
        return do.jobs.explain_inserts([do.insert_of(each) for each in statement.inserts], details)
    raise UnsupportedError("EXPLAIN is for queries, INSERT and statement sets.")


# ---- definitions -----------------------------------------------------------------------------------------------------


def _create_table(do: Statements, statement: ddl.CreateTable) -> TableResult:
    path = do.catalogs.path(statement.table.name.parts)
    if statement.query is not None:
        return _create_as(do, statement, path)
    table = table_of(statement.table)
    if statement.like is not None:
        table = _like(table, do.catalogs.stored(do.catalogs.path(statement.like.table.parts)), statement.like)
    do.catalogs.create(path, table, statement.temporary, statement.if_not_exists)
    return TableResult.ok()


def _create_as(do: Statements, statement: ddl.CreateTable, path: tuple[str, str, str]) -> TableResult:
    assert statement.query is not None
    relation = do.relation(statement.query)
    if do.catalogs.find(path) is not None and statement.if_not_exists:
        return TableResult.ok()
    declared = table_of(statement.table)
    builder = Schema.new_builder()
    own = declared.get_unresolved_schema()
    for field in relation.fields:
        if all(column.name != field.name for column in own.columns):
            builder.column(field.name, field.data_type)
    builder.from_schema(own)
    table = CatalogBaseTable(
        builder.build(), declared.get_options(), declared.get_comment(), declared.get_partition_keys()
    )
    do.catalogs.create(path, table, statement.temporary, False)
    columns = tuple(field.name for field in relation.fields)
    return do.jobs.insert([InsertOf(path, relation, columns)])


def _like(table: CatalogBaseTable, other: CatalogBaseTable, like: ddl.TableLike) -> CatalogBaseTable:
    """A table with what another one has: by default everything, its own options before the other's."""
    chosen = {option.feature.upper(): option.strategy.upper() for option in like.options}
    whole = chosen.get("ALL", "INCLUDING")

    def takes(feature: str) -> bool:
        return chosen.get(feature, whole) != "EXCLUDING"

    source, own = other.get_unresolved_schema(), table.get_unresolved_schema()
    mine = {column.name for column in own.columns}
    kept = [
        column
        for column in source.columns
        if column.name not in mine
        and (column.expression is None or takes("GENERATED"))
        and (not column.is_metadata or takes("METADATA"))
    ]
    watermarks = own.watermarks or (source.watermarks if takes("WATERMARKS") else ())
    key = own.primary_key or (source.primary_key if takes("CONSTRAINTS") else None)
    partitions = table.get_partition_keys() or (other.get_partition_keys() if takes("PARTITIONS") else [])
    options = {**(other.get_options() if takes("OPTIONS") else {}), **table.get_options()}
    schema = Schema((*kept, *own.columns), watermarks, key)
    return CatalogBaseTable(schema, options, table.get_comment() or other.get_comment(), partitions)


def _create_view(do: Statements, statement: ddl.CreateView) -> TableResult:
    relation = do.relation(statement.query)
    if statement.columns and len(statement.columns) != len(relation.fields):
        raise query_error(
            statement,
            f"the view names {len(statement.columns)} columns, and its query has {len(relation.fields)}.",
        )
    names = statement.columns or [field.name for field in relation.fields]
    builder = Schema.new_builder()
    for name, field in zip(names, relation.fields):
        builder.column(name, field.data_type)
    text = unparse(statement.query)
    view = CatalogBaseTable.create_view(text, text, builder.build(), {}, statement.comment)
    path = do.catalogs.path(statement.name.parts)
    if statement.or_replace and do.catalogs.find(path) is not None:
        do.catalogs.drop(path, True, path in do.catalogs.temporary, True)
    do.catalogs.create(path, view, statement.temporary, statement.if_not_exists)
    return TableResult.ok()


def _create_database(do: Statements, statement: ddl.CreateDatabase) -> TableResult:
    catalog, name = do.catalogs.database_path(statement.name.parts)
    database = CatalogDatabase(dict(statement.options), statement.comment)
    do.catalogs.catalog(catalog).create_database(name, database, statement.if_not_exists)
    return TableResult.ok()


def _create_catalog(do: Statements, statement: ddl.CreateCatalog) -> TableResult:
    options = dict(statement.options)
    kind = options.get("type")
    if kind != "generic_in_memory":
        raise ProgramError(
            f"CREATE CATALOG {statement.name}: 'type' is {kind!r}; there is 'generic_in_memory'. "
            "register_catalog() of the environment takes any Catalog."
        )
    if statement.if_not_exists and statement.name in do.catalogs.all:
        return TableResult.ok()
    default = options.get("default-database", "default")
    do.catalogs.register(statement.name, GenericInMemoryCatalog(statement.name, default))
    return TableResult.ok()


def _drop(do: Statements, statement: ddl.Drop) -> TableResult:
    if statement.kind in ("TABLE", "VIEW"):
        path = do.catalogs.path(statement.name.parts)
        do.catalogs.drop(path, statement.kind == "VIEW", statement.temporary, statement.if_exists)
    elif statement.kind == "DATABASE":
        _drop_database(do, statement)
    elif statement.kind == "FUNCTION":
        _drop_function(do, statement)
    elif statement.kind == "CATALOG":
        do.catalogs.unregister(statement.name.simple, statement.if_exists)
    else:
        raise UnsupportedError(str(query_error(statement, f"DROP {statement.kind} is not supported.")))
    return TableResult.ok()


def _create_function(do: Statements, statement: ddl.CreateFunction) -> TableResult:
    if statement.language != "PYTHON":
        raise UnsupportedError(
            str(query_error(statement, "a function is in LANGUAGE PYTHON: AS 'module.name', made with udf or udaf."))
        )
    if not statement.temporary:
        raise UnsupportedError(str(query_error(statement, "only TEMPORARY functions can be created.")))
    name = statement.name.parts[-1].upper()
    path = do.catalogs.path(statement.name.parts)
    there = name in do.catalogs.system_functions if statement.system else (*path[:2], name) in do.catalogs.functions
    if there and not statement.or_replace:
        if statement.if_not_exists:
            return TableResult.ok()
        raise ObjectError(f"Function {'.'.join(statement.name.parts)} already exists.")
    function = _imported(statement).named(statement.name.parts[-1])
    if statement.system:
        do.catalogs.system_functions[name] = function
    else:
        do.catalogs.functions[path[0], path[1], name] = function
    return TableResult.ok()


def _imported(statement: ddl.CreateFunction) -> Any:
    module, _, attribute = statement.class_name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise query_error(statement, f"'{statement.class_name}' cannot be imported: {error}.") from error
    if not hasattr(found, "named"):
        raise query_error(statement, f"'{statement.class_name}' is no function made with udf or udaf.")
    return found


def _drop_function(do: Statements, statement: ddl.Drop) -> None:
    name = statement.name.parts[-1].upper()
    path = do.catalogs.path(statement.name.parts)
    if statement.system:
        found = do.catalogs.system_functions.pop(name, None)
    else:
        found = do.catalogs.functions.pop((path[0], path[1], name), None)
    if found is None and not statement.if_exists:
        raise ObjectError(f"Function {'.'.join(statement.name.parts)} does not exist.")


def _drop_database(do: Statements, statement: ddl.Drop) -> None:
    catalog, name = do.catalogs.database_path(statement.name.parts)
    if (catalog, name) == (do.catalogs.current_catalog, do.catalogs.current_database):
        raise ObjectError("Cannot drop a database which is currently in use.")
    found = do.catalogs.catalog(catalog)
    if statement.cascade and found.database_exists(name):
        for table in found.list_tables(name):
            do.catalogs.drop((catalog, name, table), table in found.list_views(name), False, True)
    found.drop_database(name, statement.if_exists)


# ---- the session -----------------------------------------------------------------------------------------------------


def _use(do: Statements, statement: statements.Use) -> TableResult:
    if statement.kind == "CATALOG":
        do.catalogs.use_catalog(statement.name.simple)
    else:
        do.catalogs.use_database(statement.name.parts)
    return TableResult.ok()


def _set(do: Statements, statement: statements.SetOption) -> TableResult:
    if statement.key is None:
        settings = do.jobs.config.get_configuration().to_dict()
        columns = [("key", DataTypes.STRING()), ("value", DataTypes.STRING())]
        return TableResult.listing(columns, sorted(settings.items()))
    do.jobs.config.set(statement.key, statement.value)
    return TableResult.ok()


def _reset(do: Statements, statement: statements.ResetOption) -> TableResult:
    configuration = do.jobs.config.get_configuration()
    keys = list(configuration.key_set()) if statement.key is None else [statement.key]
    for key in keys:
        if statement.key is not None or key.startswith("table."):
            configuration.remove_config(key)
    return TableResult.ok()


DOING: dict[type[base.Statement], Do] = {
    statements.QueryStatement: _query,
    statements.Insert: _insert,
    statements.StatementSet: _statement_set,
    statements.Execute: _execute,
    statements.Explain: _explain,
    statements.Use: _use,
    statements.SetOption: _set,
    statements.ResetOption: _reset,
    ddl.CreateTable: _create_table,
    ddl.CreateView: _create_view,
    ddl.CreateFunction: _create_function,
    ddl.CreateDatabase: _create_database,
    ddl.CreateCatalog: _create_catalog,
    ddl.Drop: _drop,
    ddl.Alter: alter,
    statements.Show: show,
    statements.ShowCurrent: show_current,
    statements.ShowCreate: show_create,
    statements.Describe: describe,
}
