"""Several INSERTs as one job."""

from __future__ import annotations

from firesteel.errors import ProgramError
from firesteel.table._session.jobs import InsertOf
from firesteel.table._session.statements import Statements
from firesteel.table.explain_detail import ExplainDetail
from firesteel.table.sql import parse_statement
from firesteel.table.sql.nodes.statements import Insert
from firesteel.table.table import Table, TablePipeline
from firesteel.table.table_result import TableResult

__all__ = ["StatementSet"]


class StatementSet:
    """INSERTs that run as one job, which reads what they share once.

    ::

        inserts = t_env.create_statement_set()
        inserts.add_insert_sql("INSERT INTO big SELECT * FROM orders WHERE amount > 100")
        inserts.add_insert_sql("INSERT INTO small SELECT * FROM orders WHERE amount <= 100")
        inserts.execute().wait()
    """

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._inserts: list[InsertOf] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT that is written in SQL."""
        statement = parse_statement(stmt)
        if not isinstance(statement, Insert):
            raise ProgramError("add_insert_sql() takes an INSERT.")
        self._inserts.append(self._statements.insert_of(statement))
        return self

    def add_insert(self, target_path: str, table: Table, overwrite: bool = False) -> StatementSet:
        """Add the rows of a table, on their way into another one."""
        self._inserts.append(TablePipeline(table.relation, self._statements.jobs, target_path, overwrite).to_insert())
        return self

    def add(self, pipeline: TablePipeline) -> StatementSet:
        """Add what ``Table.insert_into`` has given."""
        self._inserts.append(pipeline.to_insert())
        return self

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plans."""
        return self._statements.jobs.explain_inserts(self._inserts, [detail.name for detail in extra_details])

    def execute(self) -> TableResult:
        """Run all as one job; the set is empty afterwards."""
        inserts, self._inserts = self._inserts, []
        return self._statements.jobs.insert(inserts)
