"""Tables: what a query gives, to be asked further, written, or run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.errors import ProgramError
from firesteel.table._session.building import Builder
from firesteel.table._session.jobs import InsertOf, Jobs
from firesteel.table.explain_detail import ExplainDetail
from firesteel.table.expression import Expression
from firesteel.table.expressions import col
from firesteel.table.logical.plan import Join, Relation
from firesteel.table.resolution import resolve
from firesteel.table.resolved_schema import ResolvedSchema, TableSchema
from firesteel.table.sql import parse_identifier
from firesteel.table.table_result import TableResult
from firesteel.table.types import RowField
from firesteel.table.values import from_stored

if TYPE_CHECKING:
    import pandas

__all__ = ["GroupedTable", "Table", "TablePipeline"]


class Table:
    """Rows that a query gives. Nothing runs before :meth:`execute` or :meth:`execute_insert`.

    ::

        orders.where(col("amount") > 10).group_by(col("shop")).select(col("shop"), col("amount").sum.alias("total"))
    """

    def __init__(self, relation: Relation, jobs: Jobs) -> None:
        self.relation = relation
        self._jobs = jobs

    def _with(self, relation: Relation) -> Table:
        return Table(relation, self._jobs)

    @property
    def _builder(self) -> Builder:
        return Builder(self._jobs.session())

    def _other(self, method: str, right: Table) -> Relation:
        if not isinstance(right, Table):
            raise ProgramError(f"{method}() needs a Table, got {right!r}.")
        if right._jobs is not self._jobs:
            raise ProgramError(f"{method}(): the tables belong to different table environments.")
        return right.relation

    def __getattr__(self, name: str) -> Expression:
        # table.a is the column a, as in PyFlink. Private names must fail: copy and pickle probe for them.
        if name.startswith("_") or name == "relation":
            raise AttributeError(name)
        names = [field.name for field in self.relation.fields]
        if name not in names:
            raise AttributeError(f"the table has no column {name!r}. There are {', '.join(names)}.")
        return col(name)

    # ---- rows ----------------------------------------------------------------------------------------------

    def select(self, *fields: Any) -> Table:
        """A row of these expressions for each row; one row for all, if they are aggregates."""
        with self._jobs.catalogs.knowing_functions():
            return self._with(self._builder.select(self.relation, fields))

    def alias(self, field: str, *fields: str) -> Table:
        """The same rows, with other names for the first columns."""
        return self._with(self._builder.renamed(self.relation, [field, *fields]))

    def filter(self, predicate: Any) -> Table:
        """The rows for which a condition is true."""
        with self._jobs.catalogs.knowing_functions():
            return self._with(self._builder.where(self.relation, predicate))

    def where(self, predicate: Any) -> Table:
        """The rows for which a condition is true."""
        return self.filter(predicate)

    def distinct(self) -> Table:
        """Each row once."""
        return self._with(self._builder.distinct(self.relation))

    def add_columns(self, *fields: Any) -> Table:
        """All columns, and others behind them."""
        with self._jobs.catalogs.knowing_functions():
            return self._with(self._builder.add_columns(self.relation, fields, replaces=False))

    def add_or_replace_columns(self, *fields: Any) -> Table:
        """All columns, and others behind them or in the place of those with the same name."""
        return self._with(self._builder.add_columns(self.relation, fields, replaces=True))

    def rename_columns(self, *fields: Any) -> Table:
        """All columns, some under other names: ``rename_columns(col("a").alias("b"))``."""
        return self._with(self._builder.rename_columns(self.relation, fields))

    def drop_columns(self, *fields: Any) -> Table:
        """All columns but these."""
        return self._with(self._builder.drop_columns(self.relation, fields))

    # ---- groups --------------------------------------------------------------------------------------------

    def group_by(self, *fields: Any) -> GroupedTable:
        """Groups by keys; select aggregates of them."""
        return GroupedTable(self.relation, self._jobs, fields)

    # ---- joins ---------------------------------------------------------------------------------------------

    def join(self, right: Table, join_predicate: Any = None) -> Table:
        """Pairs of rows for which a condition is true; without one, ``where`` has it."""
        return self._join("INNER", "join", right, join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Any = None) -> Table:
        """Pairs, and rows of this table that have no other one."""
        return self._join("LEFT", "left_outer_join", right, join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Any) -> Table:
        """Pairs, and rows of the other table that have no one here."""
        return self._join("RIGHT", "right_outer_join", right, join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Any) -> Table:
        """Pairs, and rows of either table that are alone."""
        return self._join("FULL", "full_outer_join", right, join_predicate)

    def _join(self, kind: str, method: str, right: Table, predicate: Any) -> Table:
        other = self._other(method, right)
        common = {field.name for field in self.relation.fields} & {field.name for field in other.fields}
        if common:
            raise ProgramError(
                f"{method}(): both tables have a column {sorted(common)[0]!r}. Rename one of them with alias() first."
            )
        left_null, right_null = kind in ("RIGHT", "FULL"), kind in ("LEFT", "FULL")
        fields = (
            *(_maybe_null(field, left_null) for field in self.relation.fields),
            *(_maybe_null(field, right_null) for field in other.fields),
        )
        condition = None
        if predicate is not None:
            inputs = (*self.relation.fields, *other.fields)
            condition = resolve(predicate.node, inputs, self._jobs.session())
        return self._with(Join(fields, self.relation, other, kind, condition))

    # ---- sets and order ------------------------------------------------------------------------------------

    def union(self, right: Table) -> Table:
        """The rows of both, each once."""
        return self._set("union", "UNION", right, False)

    def union_all(self, right: Table) -> Table:
        """The rows of both."""
        return self._set("union_all", "UNION", right, True)

    def intersect(self, right: Table) -> Table:
        """The rows that are in both, each once."""
        return self._set("intersect", "INTERSECT", right, False)

    def intersect_all(self, right: Table) -> Table:
        """The rows that are in both, as often as in both."""
        return self._set("intersect_all", "INTERSECT", right, True)

    def minus(self, right: Table) -> Table:
        """The rows that are not in the other table, each once."""
        return self._set("minus", "EXCEPT", right, False)

    def minus_all(self, right: Table) -> Table:
        """The rows that are not in the other table, as often as they are more."""
        return self._set("minus_all", "EXCEPT", right, True)

    def _set(self, method: str, operator: str, right: Table, all_rows: bool) -> Table:
        other = self._other(method, right)
        return self._with(self._builder.set_operation(self.relation, other, operator, all_rows))

    def order_by(self, *fields: Any) -> Table:
        """The rows in order: ``order_by(col("a").desc)``."""
        return self._with(self._builder.order_by(self.relation, fields))

    def offset(self, offset: int) -> Table:
        """The rows without the first ones."""
        return self._with(self._builder.limited(self.relation, offset, None))

    def fetch(self, fetch: int) -> Table:
        """The first rows."""
        return self._with(self._builder.limited(self.relation, 0, fetch))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """The first rows behind some that are left out."""
        return self._with(self._builder.limited(self.relation, offset, fetch))

    # ---- schema --------------------------------------------------------------------------------------------

    def get_schema(self) -> TableSchema:
        """The columns, as PyFlink's older class."""
        fields = self.relation.fields
        return TableSchema([field.name for field in fields], [field.data_type for field in fields])

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns."""
        return ResolvedSchema(self.relation.fields)

    def print_schema(self) -> None:
        """Write the columns to standard output."""
        print(self.get_resolved_schema())  # noqa: T201

    # ---- running -------------------------------------------------------------------------------------------

    def execute(self) -> TableResult:
        """Run the query; the rows come while the job runs."""
        return self._jobs.query(self.relation)

    def insert_into(self, table_path: str) -> TablePipeline:
        """The rows on their way into a table: ``execute()`` runs it, a statement set may take it."""
        return TablePipeline(self.relation, self._jobs, table_path, False)

    def execute_insert(self, table_path: str, overwrite: bool = False) -> TableResult:
        """Write the rows into a table."""
        return TablePipeline(self.relation, self._jobs, table_path, overwrite).execute()

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plans: the query's meaning, and the operators that carry it out."""
        return self._jobs.explain_query(self.relation, [detail.name for detail in extra_details])

    def to_pandas(self) -> pandas.DataFrame:
        """Run the query and give its final rows as a pandas DataFrame. All input must end."""
        import pandas

        rows = self._jobs.final_rows(self.relation)
        converters = [from_stored(field.data_type) for field in self.relation.fields]
        columns = {
            field.name: [convert(row[at]) for row in rows]
            for at, (field, convert) in enumerate(zip(self.relation.fields, converters))
        }
        return pandas.DataFrame(columns)

    def __str__(self) -> str:
        return f"Table({', '.join(f'{field.name}: {field.data_type}' for field in self.relation.fields)})"

    def __repr__(self) -> str:
        return str(self)


def _maybe_null(field: RowField, null: bool) -> RowField:
    return RowField(field.name, field.data_type.nullable()) if null else field


class GroupedTable:
    """Rows in groups: what is selected of them."""

    def __init__(self, relation: Relation, jobs: Jobs, keys: tuple[Any, ...]) -> None:
        self._relation, self._jobs, self._keys = relation, jobs, keys

    def select(self, *fields: Any) -> Table:
        """A row for each group, of its keys and of aggregates."""
        with self._jobs.catalogs.knowing_functions():
            relation = Builder(self._jobs.session()).aggregate(self._relation, self._keys, fields)
        return Table(relation, self._jobs)


class TablePipeline:
    """The rows of a table on their way into another one."""

    def __init__(self, relation: Relation, jobs: Jobs, target: str, overwrite: bool) -> None:
        self._relation, self._jobs, self._target, self._overwrite = relation, jobs, target, overwrite

    def to_insert(self) -> InsertOf:
        """What is to be written where."""
        path = self._jobs.catalogs.path(parse_identifier(self._target).parts)
        return InsertOf(path, self._relation, overwrite=self._overwrite)

    def execute(self) -> TableResult:
        """Write the rows."""
        return self._jobs.insert([self.to_insert()])

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plans."""
        return self._jobs.explain_inserts([self.to_insert()], [detail.name for detail in extra_details])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Write the plans to standard output."""
        print(self.explain(*extra_details))  # noqa: T201
