"""Statements that define: tables, views, functions, catalogs, databases, models, connections."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.table.sql.nodes.base import Expression, Identifier, Node, Option, Query, Statement, TypeNode
from firesteel.table.sql.nodes.expressions import DateTimeLiteral, IntervalLiteral


@dataclass(frozen=True)
class Constraint(Node):
    """``[CONSTRAINT name] PRIMARY KEY (a, b) [NOT ENFORCED]``; ``kind`` is PRIMARY KEY or UNIQUE."""

    kind: str
    columns: tuple[str, ...]
    name: str | None = None
    enforced: bool | None = None


@dataclass(frozen=True)
class Column(Node):
    """A column of a definition."""


@dataclass(frozen=True)
class PhysicalColumn(Column):
    """``name type [constraint] [COMMENT 'text']``; the constraint has no columns, it is of this one."""

    name: Identifier
    type: TypeNode
    constraint: Constraint | None = None
    comment: str | None = None


@dataclass(frozen=True)
class ComputedColumn(Column):
    """``name AS expression [COMMENT 'text']``."""

    name: Identifier
    expression: Expression
    comment: str | None = None


@dataclass(frozen=True)
class MetadataColumn(Column):
    """``name type METADATA [FROM 'key'] [VIRTUAL] [COMMENT 'text']``."""

    name: Identifier
    type: TypeNode
    key: str | None = None
    virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class Watermark(Node):
    """``WATERMARK FOR column AS expression``."""

    column: Identifier
    expression: Expression


@dataclass(frozen=True)
class TableSchema(Node):
    """What stands in the parentheses behind a table's name; ``names`` where only columns are named, for a CTAS."""

    columns: tuple[Column, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    watermark: Watermark | None = None
    names: tuple[Identifier, ...] = ()


@dataclass(frozen=True)
class Distribution(Node):
    """``BY HASH (a) INTO 4 BUCKETS``; ``kind`` is HASH, RANGE or nothing."""

    columns: tuple[str, ...] = ()
    kind: str | None = None
    buckets: int | None = None


@dataclass(frozen=True)
class LikeOption(Node):
    """``INCLUDING ALL``: what to do with which feature of the other table."""

    strategy: str
    feature: str


@dataclass(frozen=True)
class TableLike(Node):
    """``LIKE t (options)``."""

    table: Identifier
    options: tuple[LikeOption, ...] = ()


@dataclass(frozen=True)
class TableDefinition(Node):
    """What CREATE TABLE, REPLACE TABLE and CREATE MATERIALIZED TABLE have in common."""

    name: Identifier
    schema: TableSchema | None = None
    comment: str | None = None
    distribution: Distribution | None = None
    partitioned_by: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class CreateTable(Statement):
    """CREATE TABLE, with LIKE or AS if it has them; ``or_replace`` for CREATE OR REPLACE TABLE ... AS."""

    table: TableDefinition
    like: TableLike | None = None
    query: Query | None = None
    temporary: bool = False
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True)
class ReplaceTable(Statement):
    """``REPLACE TABLE t ... AS query``."""

    table: TableDefinition
    query: Query
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class StartMode(Node):
    """``START_MODE = FROM_NOW(INTERVAL '1' DAY)``: where the query of a materialized table begins to read."""

    mode: str
    argument: IntervalLiteral | DateTimeLiteral | None = None


@dataclass(frozen=True)
class CreateMaterializedTable(Statement):
    """CREATE [OR ALTER] MATERIALIZED TABLE."""

    table: TableDefinition
    query: Query
    freshness: IntervalLiteral | None = None
    refresh_mode: str | None = None
    start_mode: StartMode | None = None
    or_alter: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    """CREATE VIEW."""

    name: Identifier
    query: Query
    columns: tuple[str, ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True)
class Resource(Node):
    """``JAR 'path'`` or ``ARTIFACT 'path'`` of a function."""

    kind: str
    path: str


@dataclass(frozen=True)
class CreateFunction(Statement):
    """CREATE [TEMPORARY [SYSTEM]] FUNCTION."""

    name: Identifier
    class_name: str
    language: str | None = None
    resources: tuple[Resource, ...] = ()
    options: tuple[Option, ...] = ()
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True)
class AlterFunction(Statement):
    """ALTER FUNCTION."""

    name: Identifier
    class_name: str
    language: str | None = None
    temporary: bool = False
    system: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class CreateCatalog(Statement):
    """CREATE CATALOG."""

    name: str
    comment: str | None = None
    options: tuple[Option, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateDatabase(Statement):
    """CREATE DATABASE."""

    name: Identifier
    comment: str | None = None
    options: tuple[Option, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateModel(Statement):
    """CREATE MODEL."""

    name: Identifier
    inputs: TableSchema | None = None
    outputs: TableSchema | None = None
    comment: str | None = None
    options: tuple[Option, ...] = ()
    query: Query | None = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateConnection(Statement):
    """CREATE CONNECTION."""

    name: Identifier
    comment: str | None = None
    options: tuple[Option, ...] = ()
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class Drop(Statement):
    """DROP of anything; ``kind`` is TABLE, VIEW, FUNCTION, CATALOG, DATABASE, MODEL, CONNECTION, MATERIALIZED TABLE."""

    kind: str
    name: Identifier
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool | None = None


@dataclass(frozen=True)
class PartitionValue(Node):
    """``column = value``; the value is left out in ANALYZE TABLE only."""

    column: str
    value: Expression | None = None


@dataclass(frozen=True)
class AlterAction(Node):
    """What an ALTER does."""


@dataclass(frozen=True)
class Alter(Statement):
    """ALTER of a catalog, database, table, materialized table, view, model or connection."""

    kind: str
    name: Identifier
    action: AlterAction
    if_exists: bool = False


@dataclass(frozen=True)
class SetOptions(AlterAction):
    """``SET ('key' = 'value')``."""

    options: tuple[Option, ...]


@dataclass(frozen=True)
class ResetOptions(AlterAction):
    """``RESET ('key')``."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class SetComment(AlterAction):
    """``COMMENT 'text'`` of a catalog."""

    comment: str


@dataclass(frozen=True)
class RenameTo(AlterAction):
    """``RENAME TO name``."""

    name: Identifier


@dataclass(frozen=True)
class RenameColumn(AlterAction):
    """``RENAME a TO b``."""

    old: Identifier
    new: Identifier


@dataclass(frozen=True)
class ColumnPosition(Node):
    """A column to add or to modify; ``after`` names a column, ``first`` puts it before all."""

    column: Column
    first: bool = False
    after: Identifier | None = None


@dataclass(frozen=True)
class ChangeSchema(AlterAction):
    """``ADD ...`` or ``MODIFY ...`` of columns, constraints and a watermark."""

    verb: str
    columns: tuple[ColumnPosition, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    watermark: Watermark | None = None


@dataclass(frozen=True)
class ChangeDistribution(AlterAction):
    """``ADD DISTRIBUTION ...`` or ``MODIFY DISTRIBUTION ...``."""

    verb: str
    distribution: Distribution


@dataclass(frozen=True)
class DropColumns(AlterAction):
    """``DROP a`` or ``DROP (a, b)``."""

    columns: tuple[Identifier, ...]


@dataclass(frozen=True)
class DropPart(AlterAction):
    """``DROP PRIMARY KEY``, ``DROP CONSTRAINT name``, ``DROP DISTRIBUTION``, ``DROP WATERMARK``."""

    kind: str
    name: str | None = None


@dataclass(frozen=True)
class Partition(Node):
    """``PARTITION (a = 1) [WITH (...)]``."""

    values: tuple[PartitionValue, ...]
    options: tuple[Option, ...] | None = None


@dataclass(frozen=True)
class AddPartitions(AlterAction):
    """``ADD [IF NOT EXISTS] PARTITION (...) PARTITION (...)``."""

    partitions: tuple[Partition, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropPartitions(AlterAction):
    """``DROP [IF EXISTS] PARTITION (...), PARTITION (...)``."""

    partitions: tuple[Partition, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class AlterQuery(AlterAction):
    """``AS query`` of a view or a materialized table."""

    query: Query


@dataclass(frozen=True)
class Suspend(AlterAction):
    """``SUSPEND`` of a materialized table."""


@dataclass(frozen=True)
class Resume(AlterAction):
    """``RESUME [WITH (...)]`` of a materialized table."""

    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Refresh(AlterAction):
    """``REFRESH [PARTITION (...)]`` of a materialized table."""

    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True)
class SetFreshness(AlterAction):
    """``SET FRESHNESS = INTERVAL ...`` of a materialized table."""

    freshness: IntervalLiteral


@dataclass(frozen=True)
class SetRefreshMode(AlterAction):
    """``SET REFRESH_MODE = FULL`` or ``CONTINUOUS`` of a materialized table."""

    mode: str
