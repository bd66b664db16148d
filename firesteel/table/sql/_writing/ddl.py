"""Definitions, as text."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.table.sql._writing.registry import (
    words,
    write,
    write_all,
    write_name,
    write_names,
    write_options,
    write_string,
    writes,
)
from firesteel.table.sql.nodes import ddl
from firesteel.table.sql.nodes.base import Identifier, Option, Query


def flag(given: bool, word: str) -> str | None:
    """A word, if it is meant."""
    return word if given else None


def comment(text: str | None) -> str | None:
    """COMMENT and its text, if there is one."""
    return None if text is None else f"COMMENT {write_string(text)}"


def with_options(options: Iterable[Option]) -> str | None:
    """WITH and options, if there are any."""
    given = tuple(options)
    return f"WITH {write_options(given)}" if given else None


def as_query(query: Query | None) -> str | None:
    """AS and a query, if there is one."""
    return None if query is None else f"AS {write(query)}"


def identifiers(names: Iterable[Identifier]) -> str:
    """Names in parentheses."""
    return f"({write_all(names)})"


@writes(ddl.Constraint)
def _constraint(node: ddl.Constraint) -> str:
    name = None if node.name is None else f"CONSTRAINT {write_name(node.name)}"
    enforced = {None: None, True: "ENFORCED", False: "NOT ENFORCED"}[node.enforced]
    return words(name, node.kind, write_names(node.columns) if node.columns else None, enforced)


@writes(ddl.PhysicalColumn)
def _physical(node: ddl.PhysicalColumn) -> str:
    constraint = None if node.constraint is None else write(node.constraint)
    return words(write(node.name), write(node.type), constraint, comment(node.comment))


@writes(ddl.ComputedColumn)
def _computed(node: ddl.ComputedColumn) -> str:
    return words(write(node.name), "AS", write(node.expression), comment(node.comment))


@writes(ddl.MetadataColumn)
def _metadata(node: ddl.MetadataColumn) -> str:
    key = None if node.key is None else f"FROM {write_string(node.key)}"
    virtual = flag(node.virtual, "VIRTUAL")
    return words(write(node.name), write(node.type), "METADATA", key, virtual, comment(node.comment))


@writes(ddl.Watermark)
def _watermark(node: ddl.Watermark) -> str:
    return f"WATERMARK FOR {write(node.column)} AS {write(node.expression)}"


@writes(ddl.TableSchema)
def _schema(node: ddl.TableSchema) -> str:
    watermark = [] if node.watermark is None else [node.watermark]
    return f"({write_all([*node.names, *node.columns, *node.constraints, *watermark])})"


@writes(ddl.Distribution)
def _distribution(node: ddl.Distribution) -> str:
    by = words("BY", node.kind, write_names(node.columns)) if node.columns else None
    return words(by, None if node.buckets is None else f"INTO {node.buckets} BUCKETS")


@writes(ddl.TableLike)
def _like(node: ddl.TableLike) -> str:
    options = " ".join(f"{each.strategy} {each.feature}" for each in node.options)
    return words("LIKE", write(node.table), f"({options})" if options else None)


@writes(ddl.TableDefinition)
def _table(node: ddl.TableDefinition) -> str:
    return words(
        write(node.name),
        None if node.schema is None else write(node.schema),
        comment(node.comment),
        None if node.distribution is None else f"DISTRIBUTED {write(node.distribution)}",
        f"PARTITIONED BY {write_names(node.partitioned_by)}" if node.partitioned_by else None,
        with_options(node.options),
    )


@writes(ddl.CreateTable)
def _create_table(node: ddl.CreateTable) -> str:
    return words(
        "CREATE",
        flag(node.or_replace, "OR REPLACE"),
        flag(node.temporary, "TEMPORARY"),
        "TABLE",
        flag(node.if_not_exists, "IF NOT EXISTS"),
        write(node.table),
        None if node.like is None else write(node.like),
        as_query(node.query),
    )


@writes(ddl.ReplaceTable)
def _replace_table(node: ddl.ReplaceTable) -> str:
    exists = flag(node.if_not_exists, "IF NOT EXISTS")
    return words("REPLACE", flag(node.temporary, "TEMPORARY"), "TABLE", exists, write(node.table), as_query(node.query))


@writes(ddl.StartMode)
def _start_mode(node: ddl.StartMode) -> str:
    return node.mode if node.argument is None else f"{node.mode}({write(node.argument)})"


@writes(ddl.CreateMaterializedTable)
def _create_materialized_table(node: ddl.CreateMaterializedTable) -> str:
    return words(
        "CREATE",
        flag(node.or_alter, "OR ALTER"),
        "MATERIALIZED TABLE",
        write(node.table),
        None if node.start_mode is None else f"START_MODE = {write(node.start_mode)}",
        None if node.freshness is None else f"FRESHNESS = {write(node.freshness)}",
        None if node.refresh_mode is None else f"REFRESH_MODE = {node.refresh_mode}",
        as_query(node.query),
    )


@writes(ddl.CreateView)
def _create_view(node: ddl.CreateView) -> str:
    return words(
        "CREATE",
        flag(node.or_replace, "OR REPLACE"),
        flag(node.temporary, "TEMPORARY"),
        "VIEW",
        flag(node.if_not_exists, "IF NOT EXISTS"),
        write(node.name),
        write_names(node.columns) if node.columns else None,
        comment(node.comment),
        as_query(node.query),
    )


def _language(language: str | None) -> str | None:
    return None if language is None else f"LANGUAGE {language}"


@writes(ddl.CreateFunction)
def _create_function(node: ddl.CreateFunction) -> str:
    resources = ", ".join(f"{each.kind} {write_string(each.path)}" for each in node.resources)
    return words(
        "CREATE",
        flag(node.or_replace, "OR REPLACE"),
        flag(node.temporary, "TEMPORARY"),
        flag(node.system, "SYSTEM"),
        "FUNCTION",
        flag(node.if_not_exists, "IF NOT EXISTS"),
        write(node.name),
        f"AS {write_string(node.class_name)}",
        _language(node.language),
        f"USING {resources}" if resources else None,
        with_options(node.options),
    )


@writes(ddl.AlterFunction)
def _alter_function(node: ddl.AlterFunction) -> str:
    return words(
        "ALTER",
        flag(node.temporary, "TEMPORARY"),
        flag(node.system, "SYSTEM"),
        "FUNCTION",
        flag(node.if_exists, "IF EXISTS"),
        write(node.name),
        f"AS {write_string(node.class_name)}",
        _language(node.language),
    )


@writes(ddl.CreateCatalog)
def _create_catalog(node: ddl.CreateCatalog) -> str:
    exists = flag(node.if_not_exists, "IF NOT EXISTS")
    return words("CREATE CATALOG", exists, write_name(node.name), comment(node.comment), with_options(node.options))


@writes(ddl.CreateDatabase)
def _create_database(node: ddl.CreateDatabase) -> str:
    exists = flag(node.if_not_exists, "IF NOT EXISTS")
    return words("CREATE DATABASE", exists, write(node.name), comment(node.comment), with_options(node.options))


@writes(ddl.CreateModel)
def _create_model(node: ddl.CreateModel) -> str:
    return words(
        "CREATE",
        flag(node.temporary, "TEMPORARY"),
        "MODEL",
        flag(node.if_not_exists, "IF NOT EXISTS"),
        write(node.name),
        None if node.inputs is None else f"INPUT {write(node.inputs)}",
        None if node.outputs is None else f"OUTPUT {write(node.outputs)}",
        comment(node.comment),
        with_options(node.options),
        as_query(node.query),
    )


@writes(ddl.CreateConnection)
def _create_connection(node: ddl.CreateConnection) -> str:
    return words(
        "CREATE",
        flag(node.temporary, "TEMPORARY"),
        flag(node.system, "SYSTEM"),
        "CONNECTION",
        flag(node.if_not_exists, "IF NOT EXISTS"),
        write(node.name),
        comment(node.comment),
        f"WITH {write_options(node.options)}",
    )


@writes(ddl.Drop)
def _drop(node: ddl.Drop) -> str:
    return words(
        "DROP",
        flag(node.temporary, "TEMPORARY"),
        flag(node.system, "SYSTEM"),
        node.kind,
        flag(node.if_exists, "IF EXISTS"),
        write(node.name),
        {None: None, True: "CASCADE", False: "RESTRICT"}[node.cascade],
    )


@writes(ddl.PartitionValue)
def _partition_value(node: ddl.PartitionValue) -> str:
    name = write_name(node.column)
    return name if node.value is None else f"{name} = {write(node.value)}"


def partition(values: Iterable[ddl.PartitionValue]) -> str | None:
    """PARTITION and its values, if there are any."""
    text = write_all(values)
    return f"PARTITION ({text})" if text else None


@writes(ddl.Alter)
def _alter(node: ddl.Alter) -> str:
    return words("ALTER", node.kind, flag(node.if_exists, "IF EXISTS"), write(node.name), write(node.action))


@writes(ddl.SetOptions)
def _set_options(node: ddl.SetOptions) -> str:
    return f"SET {write_options(node.options)}"


@writes(ddl.ResetOptions)
def _reset_options(node: ddl.ResetOptions) -> str:
    return f"RESET ({', '.join(map(write_string, node.keys))})"


@writes(ddl.SetComment)
def _set_comment(node: ddl.SetComment) -> str:
    return f"COMMENT {write_string(node.comment)}"


@writes(ddl.RenameTo)
def _rename_to(node: ddl.RenameTo) -> str:
    return f"RENAME TO {write(node.name)}"


@writes(ddl.RenameColumn)
def _rename_column(node: ddl.RenameColumn) -> str:
    return f"RENAME {write(node.old)} TO {write(node.new)}"


@writes(ddl.ColumnPosition)
def _column_position(node: ddl.ColumnPosition) -> str:
    after = None if node.after is None else f"AFTER {write(node.after)}"
    return words(write(node.column), flag(node.first, "FIRST"), after)


@writes(ddl.ChangeSchema)
def _change_schema(node: ddl.ChangeSchema) -> str:
    watermark = [] if node.watermark is None else [node.watermark]
    return f"{node.verb} ({write_all([*node.columns, *node.constraints, *watermark])})"


@writes(ddl.ChangeDistribution)
def _change_distribution(node: ddl.ChangeDistribution) -> str:
    return f"{node.verb} DISTRIBUTION {write(node.distribution)}"


@writes(ddl.DropColumns)
def _drop_columns(node: ddl.DropColumns) -> str:
    return f"DROP {identifiers(node.columns)}"


@writes(ddl.DropPart)
def _drop_part(node: ddl.DropPart) -> str:
    return words("DROP", node.kind, None if node.name is None else write_name(node.name))


@writes(ddl.Partition)
def _partition(node: ddl.Partition) -> str:
    options = None if node.options is None else f"WITH {write_options(node.options)}"
    return words(partition(node.values), options)


@writes(ddl.AddPartitions)
def _add_partitions(node: ddl.AddPartitions) -> str:
    return words("ADD", flag(node.if_not_exists, "IF NOT EXISTS"), *map(write, node.partitions))


@writes(ddl.DropPartitions)
def _drop_partitions(node: ddl.DropPartitions) -> str:
    return words("DROP", flag(node.if_exists, "IF EXISTS"), write_all(node.partitions))


@writes(ddl.AlterQuery)
def _alter_query(node: ddl.AlterQuery) -> str:
    return f"AS {write(node.query)}"


@writes(ddl.Suspend)
def _suspend(node: ddl.Suspend) -> str:
    return "SUSPEND"


@writes(ddl.Resume)
def _resume(node: ddl.Resume) -> str:
    return words("RESUME", with_options(node.options))


@writes(ddl.Refresh)
def _refresh(node: ddl.Refresh) -> str:
    return words("REFRESH", partition(node.partition))


@writes(ddl.SetFreshness)
def _set_freshness(node: ddl.SetFreshness) -> str:
    return f"SET FRESHNESS = {write(node.freshness)}"


@writes(ddl.SetRefreshMode)
def _set_refresh_mode(node: ddl.SetRefreshMode) -> str:
    return f"SET REFRESH_MODE = {node.mode}"
