"""From relations to running jobs: plans, results, inserts, EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.options import RUNTIME_MODE
from firesteel.common.options import table as options
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import ProgramError, UnsupportedError
from firesteel.table._session.catalogs import Catalogs, Path
from firesteel.table.catalog import CatalogBaseTable
from firesteel.table.changelog import ADDS
from firesteel.table.functions import Session
from firesteel.table.logical.errors import did_you_mean
from firesteel.table.logical.plan import Project, Relation, Scan
from firesteel.table.physical import operators
from firesteel.table.physical.node import PhysicalNode
from firesteel.table.physical.planner import Planner
from firesteel.table.physical.program import Program, shown
from firesteel.table.physical.scan import scanned, stored_fields
from firesteel.table.physical.sink import sink_node
from firesteel.table.resolution import ColumnValue, ConstantValue, Typed, resolve
from firesteel.table.table_config import TableConfig
from firesteel.table.table_result import TableResult
from firesteel.table.tree import Apply, Known, TypeNode
from firesteel.table.types import ArrayType, DataType, DataTypes, MapType, RowField, RowType
from firesteel.table.types.casting import can_cast_implicitly

__all__ = ["InsertOf", "Jobs"]

_ = operators.ALL


@dataclass(frozen=True)
class InsertOf:
    """Rows that are to be written into a table.

    :param columns: The columns that the rows have, if not all in their order.
    :param partition: Columns that have the same value in all rows.
    """

    path: Path
    relation: Relation
    columns: tuple[str, ...] = ()
    partition: tuple[tuple[str, Typed], ...] = ()
    hint: tuple[tuple[str, str], ...] = ()
    overwrite: bool = False


class Jobs:
    """Runs the queries of one session in a stream environment."""

    def __init__(
        self, environment: StreamExecutionEnvironment, config: TableConfig, catalogs: Catalogs, batch: bool
    ) -> None:
        self.environment, self.config, self.catalogs, self.batch = environment, config, catalogs, batch

    def session(self) -> Session:
        """What functions may ask of the session as it is now."""
        return Session(self.config.get_local_timezone(), current_database=self.catalogs.current_database)

    def planner(self) -> Planner:
        """A planner for the next job."""
        settings = self.config.get_configuration().to_dict()
        return Planner(self.environment, self._scan, self.session(), settings, self.batch)

    def _scan(self, relation: Scan, planner: Planner) -> PhysicalNode:
        assert len(relation.path) == 3
        catalog, database, name = relation.path
        table = self.catalogs.stored((catalog, database, name))
        if relation.options and not self.config.get_configuration().get(options.DYNAMIC_OPTIONS):
            raise ProgramError(f"OPTIONS hint is allowed only when '{options.DYNAMIC_OPTIONS.key}' is set to true.")
        return scanned(relation.path, table, planner, relation.options)

    # ---- running -------------------------------------------------------------------------------------------

    def query(self, relation: Relation) -> TableResult:
        """Run a query, and give its rows to whoever reads them."""
        planner = self.planner()
        node = planner.translate(relation)
        with self._apart():
            results = Program().stream(node).execute_and_collect("collect")
        job = results.get_job_client()
        return TableResult(relation.fields, results, job=job, session=planner.session, with_kinds=not self.batch)

    def final_rows(self, relation: Relation) -> list[tuple[Any, ...]]:
        """Run a query to its end, and give the rows that are there then, in the order in which they came."""
        rows: list[tuple[Any, ...] | None] = []
        places: dict[str, list[int]] = {}
        with self._apart():
            changes = Program().stream(self.planner().translate(relation)).execute_and_collect("collect")
        for kind, row in changes:
            found = places.setdefault(repr(row), [])
            if ADDS[kind]:
                found.append(len(rows))
                rows.append(row)
            elif found:
                rows[found.pop()] = None
        return [row for row in rows if row is not None]

    def insert(self, inserts: Sequence[InsertOf]) -> TableResult:
        """Write rows into tables, in one job."""
        if not inserts:
            raise ProgramError("there is nothing to insert: add an INSERT to the statement set first.")
        nodes = self.insert_nodes(inserts)
        with self._apart():
            program = Program()
            for node in nodes:
                program.stream(node)
            names = [".".join(each.path) for each in inserts]
            job = self.environment.execute_async(f"insert-into_{','.join(names)}")
        fields = [RowField(name, DataTypes.BIGINT(False)) for name in names]
        result = TableResult(fields, [(0, (-1,) * len(fields))], job=job, session=self.session())
        if self.config.get_configuration().get(options.DML_SYNC):
            result.wait()
        return result

    def insert_nodes(self, inserts: Sequence[InsertOf]) -> list[PhysicalNode]:
        """The sinks of inserts, which share what they have in common."""
        planner = self.planner()
        return [self._insert_node(each, planner) for each in inserts]

    def _insert_node(self, insert: InsertOf, planner: Planner) -> PhysicalNode:
        table = self.catalogs.stored(insert.path)
        if table.is_view:
            raise ProgramError(f"{'.'.join(insert.path)} is a view: nothing can be written into it.")
        if insert.overwrite:
            raise UnsupportedError(
                f"table {'.'.join(insert.path)}: INSERT OVERWRITE is not supported. Use INSERT INTO."
            )
        relation = written_relation(insert, table, planner.session)
        return sink_node(insert.path, table, planner.translate(relation), planner, insert.hint)

    def _apart(self) -> Any:
        """A job of tables is one by itself, whatever else the program has built."""
        self.environment.get_configuration().set(RUNTIME_MODE, "STREAMING")
        return self.environment.graph.apart()

    # ---- EXPLAIN -------------------------------------------------------------------------------------------

    def explain_query(self, relation: Relation, details: Sequence[str] = ()) -> str:
        """The plans of a query as text."""
        return self._explained([relation], [self.planner().translate(relation)], details)

    def explain_inserts(self, inserts: Sequence[InsertOf], details: Sequence[str] = ()) -> str:
        """The plans of inserts as text."""
        return self._explained([each.relation for each in inserts], self.insert_nodes(inserts), details)

    def _explained(self, relations: Sequence[Relation], nodes: Sequence[PhysicalNode], details: Sequence[str]) -> str:
        modes = "CHANGELOG_MODE" in details
        parts = [
            ("Abstract Syntax Tree", [line for each in relations for line in logical_lines(each)]),
            ("Optimized Physical Plan", [line for each in nodes for line in shown(each, modes)]),
            ("Optimized Execution Plan", [line for each in nodes for line in shown(each)]),
        ]
        texts = [f"== {title} ==\n" + "\n".join(lines) + "\n" for title, lines in parts]
        if "JSON_EXECUTION_PLAN" in details:
            texts.append(f"== Physical Execution Plan ==\n{self._json_plan(nodes)}\n")
        return "\n".join(texts)

    def _json_plan(self, nodes: Sequence[PhysicalNode]) -> str:
        with self._apart():
            program = Program()
            for node in nodes:
                stream = program.stream(node)
                if node.name != "Sink":
                    stream.print()
            return self.environment.get_execution_plan()


def logical_lines(relation: Relation, prefix: str = "", own: str = "") -> Iterator[str]:
    """The lines of a logical plan, each relation with its inputs below it."""
    yield f"{prefix}{own}{relation.describe()}"
    below = prefix + {"": "", "+- ": "   ", ":- ": ":  "}[own]
    inputs = relation.inputs()
    for at, each in enumerate(inputs):
        yield from logical_lines(each, below, "+- " if at == len(inputs) - 1 else ":- ")


def written_relation(insert: InsertOf, table: CatalogBaseTable, session: Session) -> Relation:
    """The rows as the table stores them: every column at its place, with its type, NULL where nothing is said."""
    relation, name = insert.relation, ".".join(insert.path)
    targets = stored_fields(table.get_unresolved_schema(), for_writing=True)
    known = [field.name for field in targets]
    fixed = dict(insert.partition)
    columns = insert.columns or tuple(each for each in known if each not in fixed)
    for column in (*columns, *fixed):
        if column not in known:
            raise ProgramError(f"table {name} has no column '{column}'{did_you_mean(column, known)}")
    if len(columns) != len(relation.fields):
        query = ", ".join(f"{field.name}: {field.data_type}" for field in relation.fields)
        sink = ", ".join(f"{field.name}: {field.data_type}" for field in targets)
        raise ProgramError(
            f"Column types of query result and sink for '{name}' do not match. Cause: Different number of columns.\n"
            f"Query schema: [{query}]\nSink schema:  [{sink}]"
        )
    values: list[Typed] = []
    for target in targets:
        if target.name in fixed:
            source: Typed = fixed[target.name]
        elif target.name in columns:
            at = columns.index(target.name)
            source = ColumnValue(relation.fields[at].data_type, at, relation.fields[at].name)
        else:
            source = ConstantValue(target.data_type.nullable(), None)
        values.append(_as_type(source, target.data_type, name, target.name, session))
    return Project(targets, relation, tuple(values))


def _as_type(value: Typed, target: DataType, table: str, column: str, session: Session) -> Typed:
    if value.type.nullable() == target.nullable():
        return value
    if not _fits(value.type.nullable(), target.nullable()):
        raise ProgramError(
            f"Column types of query result and sink for '{table}' do not match. Cause: Incompatible types for sink "
            f"column '{column}': the query has {value.type}, the table {target}. CAST the column in the query."
        )
    return resolve(
        Apply("CAST", (Known(value), TypeNode(target.with_nullability(value.type.is_nullable)))), (), session
    )


def _fits(source: DataType, target: DataType) -> bool:
    """Whether values of a type can be written as another one; of constructed types, whether their parts can."""
    if isinstance(source, (ArrayType, MapType)) and type(source) is type(target):
        return all(
            _fits(one.nullable(), other.nullable()) for one, other in zip(source.parameters(), target.parameters())
        )
    if isinstance(source, RowType) and isinstance(target, RowType) and len(source.fields) == len(target.fields):
        return all(
            _fits(one.data_type.nullable(), other.data_type.nullable())
            for one, other in zip(source.fields, target.fields)
        )
    return source == target or can_cast_implicitly(source, target)
