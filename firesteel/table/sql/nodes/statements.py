"""Statements that read, write, show and configure."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.table.sql.nodes.base import Expression, Identifier, Node, Query, Statement, TableReference
from firesteel.table.sql.nodes.ddl import PartitionValue
from firesteel.table.sql.nodes.expressions import FunctionCall, Row
from firesteel.table.sql.nodes.queries import Hint


@dataclass(frozen=True)
class QueryStatement(Statement):
    """A query by itself."""

    query: Query


@dataclass(frozen=True)
class Insert(Statement):
    """``INSERT INTO t [PARTITION (...)] [(columns)] query [ON CONFLICT DO ...]``."""

    table: Identifier
    query: Query
    columns: tuple[Identifier, ...] = ()
    partition: tuple[PartitionValue, ...] = ()
    overwrite: bool = False
    upsert: bool = False
    hints: tuple[Hint, ...] = ()
    on_conflict: str | None = None  # ERROR, NOTHING or DEDUPLICATE


@dataclass(frozen=True)
class Assignment(Node):
    """``column = value``."""

    column: Identifier
    value: Expression


@dataclass(frozen=True)
class Update(Statement):
    """``UPDATE t SET a = 1 WHERE ...``."""

    table: Identifier
    assignments: tuple[Assignment, ...]
    where: Expression | None = None
    alias: str | None = None
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Delete(Statement):
    """``DELETE FROM t WHERE ...``."""

    table: Identifier
    where: Expression | None = None
    alias: str | None = None
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class MergeInsert(Node):
    """``WHEN NOT MATCHED THEN INSERT (columns) VALUES (...)``."""

    values: Row
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merge(Statement):
    """``MERGE INTO t USING s ON ... WHEN MATCHED ... WHEN NOT MATCHED ...``."""

    table: Identifier
    source: TableReference
    condition: Expression
    update: tuple[Assignment, ...] = ()
    insert: MergeInsert | None = None
    alias: str | None = None
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Truncate(Statement):
    """``TRUNCATE TABLE t``."""

    table: Identifier


@dataclass(frozen=True)
class Call(Statement):
    """``CALL procedure(...)``."""

    call: FunctionCall


@dataclass(frozen=True)
class StatementSet(Statement):
    """``STATEMENT SET BEGIN ...; END``."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True)
class BeginStatementSet(Statement):
    """``BEGIN STATEMENT SET``."""


@dataclass(frozen=True)
class EndStatementSet(Statement):
    """``END``."""


@dataclass(frozen=True)
class Execute(Statement):
    """``EXECUTE`` a query, an INSERT or a statement set."""

    statement: Statement


@dataclass(frozen=True)
class ExecutePlan(Statement):
    """``EXECUTE PLAN 'file'``."""

    path: str


@dataclass(frozen=True)
class CompilePlan(Statement):
    """``COMPILE PLAN 'file' [IF NOT EXISTS] FOR ...``, or ``COMPILE AND EXECUTE PLAN 'file' FOR ...``."""

    path: str
    statement: Statement
    if_not_exists: bool = False
    execute: bool = False


@dataclass(frozen=True)
class Explain(Statement):
    """``EXPLAIN [details] statement``; details are ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN, PLAN_ADVICE."""

    statement: Statement
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class LikeFilter(Node):
    """``[NOT] LIKE 'pattern'`` of a SHOW."""

    pattern: str
    negated: bool = False
    ignore_case: bool = False


@dataclass(frozen=True)
class Show(Statement):
    """SHOW of a list: ``what`` is CATALOGS, DATABASES, TABLES, VIEWS, FUNCTIONS, USER FUNCTIONS, COLUMNS, and so on.

    ``source`` is behind FROM or IN, which ``preposition`` says; of PARTITIONS it is the table.
    """

    what: str
    source: Identifier | None = None
    preposition: str | None = None
    like: LikeFilter | None = None
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True)
class ShowCreate(Statement):
    """``SHOW CREATE TABLE t``; ``kind`` is TABLE, VIEW, CATALOG, MODEL, CONNECTION, [OR ALTER] MATERIALIZED TABLE."""

    kind: str
    name: Identifier


@dataclass(frozen=True)
class ShowCurrent(Statement):
    """``SHOW CURRENT CATALOG`` or ``DATABASE``."""

    kind: str


@dataclass(frozen=True)
class Describe(Statement):
    """``DESCRIBE [kind] [EXTENDED] name``; ``kind`` is TABLE, CATALOG, DATABASE, FUNCTION, MODEL or CONNECTION."""

    kind: str
    name: Identifier
    extended: bool = False
    column: str | None = None


@dataclass(frozen=True)
class DescribeJob(Statement):
    """``DESCRIBE JOB 'id'``."""

    job_id: str


@dataclass(frozen=True)
class StopJob(Statement):
    """``STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]``."""

    job_id: str
    savepoint: bool = False
    drain: bool = False


@dataclass(frozen=True)
class Use(Statement):
    """``USE [CATALOG] name``; ``kind`` is CATALOG or DATABASE."""

    kind: str
    name: Identifier


@dataclass(frozen=True)
class UseModules(Statement):
    """``USE MODULES a, b``."""

    modules: tuple[str, ...]


@dataclass(frozen=True)
class LoadModule(Statement):
    """``LOAD MODULE name [WITH (...)]``."""

    name: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class UnloadModule(Statement):
    """``UNLOAD MODULE name``."""

    name: str


@dataclass(frozen=True)
class SetOption(Statement):
    """``SET 'key' = 'value'``, or ``SET`` alone, which shows all."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class ResetOption(Statement):
    """``RESET 'key'``, or ``RESET`` alone, which resets all."""

    key: str | None = None


@dataclass(frozen=True)
class AlterScope(Statement):
    """``ALTER SYSTEM SET name = value``, ``ALTER SESSION RESET name``: read as Flink reads it, executed by nobody."""

    scope: str
    name: Identifier | None
    value: Expression | None = None


@dataclass(frozen=True)
class AddJar(Statement):
    """``ADD JAR 'path'``, or REMOVE JAR."""

    path: str
    remove: bool = False


@dataclass(frozen=True)
class AnalyzeTable(Statement):
    """``ANALYZE TABLE t [PARTITION (...)] COMPUTE STATISTICS [FOR COLUMNS a, b | FOR ALL COLUMNS]``."""

    table: Identifier
    partition: tuple[PartitionValue, ...] = ()
    columns: tuple[str, ...] = ()
    all_columns: bool = False


@dataclass(frozen=True)
class ClientCommand(Statement):
    """A command of the SQL client: HELP, CLEAR or QUIT."""

    command: str
