"""Where tables are made, and SQL is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from firesteel.common import Configuration
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.errors import ProgramError
from firesteel.table._session.bringing import ToRow, given_rows, given_stream, row_fields
from firesteel.table._session.catalogs import Catalogs
from firesteel.table._session.jobs import Jobs
from firesteel.table._session.showing import user_functions
from firesteel.table._session.statements import Statements, explained
from firesteel.table.catalog import Catalog, CatalogBaseTable
from firesteel.table.changelog import RETRACT, UPDATE_AFTER, UPDATE_BEFORE, ChangelogMode, upsert
from firesteel.table.environment_settings import EnvironmentSettings
from firesteel.table.explain_detail import ExplainDetail
from firesteel.table.functions import functions
from firesteel.table.physical.program import Program
from firesteel.table.schema import Schema
from firesteel.table.sql import parse_identifier, parse_statement
from firesteel.table.sql.nodes.base import Identifier
from firesteel.table.sql.nodes.statements import QueryStatement
from firesteel.table.statement_set import StatementSet
from firesteel.table.table import Table
from firesteel.table.table_config import TableConfig
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.table_result import TableResult
from firesteel.table.types import DataType
from firesteel.table.udf import UserDefinedFunctionWrapper

if TYPE_CHECKING:
    import pandas

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment:
    """Catalogs with tables in them, and the place where queries run.

    ::

        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.execute_sql("CREATE TABLE orders (shop STRING, amount INT) WITH ('connector' = 'datagen')")
        t_env.execute_sql("SELECT shop, SUM(amount) FROM orders GROUP BY shop").print()
    """

    def __init__(self, environment: StreamExecutionEnvironment, settings: EnvironmentSettings) -> None:
        self._config = TableConfig(environment.get_configuration())
        names = settings.get_built_in_catalog_name(), settings.get_built_in_database_name()
        self._catalogs = Catalogs(*names)
        self._jobs = Jobs(environment, self._config, self._catalogs, not settings.is_streaming_mode())
        self._statements = Statements(self._jobs)

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration, spark: Any | None = None) -> TableEnvironment:
        """A new environment.

        :param spark: The SparkSession to run on; one is made or found with the first job if None.
        """
        if isinstance(environment_settings, Configuration):
            environment_settings = EnvironmentSettings.new_instance().with_configuration(environment_settings).build()
        configuration = environment_settings.get_configuration()
        environment = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
        return TableEnvironment(environment, environment_settings)

    def get_config(self) -> TableConfig:
        """The session's settings."""
        return self._config

    # ---- SQL -----------------------------------------------------------------------------------------------

    def sql_query(self, query: str) -> Table:
        """The table that a query gives; nothing runs."""
        statement = parse_statement(query)
        if not isinstance(statement, QueryStatement):
            raise ProgramError("sql_query() takes a query. execute_sql() takes any statement.")
        return Table(self._statements.relation(statement.query), self._jobs)

    def execute_sql(self, stmt: str) -> TableResult:
        """Carry out one statement, of any kind."""
        return self._statements.run(parse_statement(stmt))

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """The plans of a query or INSERT."""
        return explained(self._statements, parse_statement(stmt), tuple(detail.name for detail in extra_details))

    def create_statement_set(self) -> StatementSet:
        """Begin a set of INSERTs that run as one job."""
        return StatementSet(self._statements)

    # ---- tables --------------------------------------------------------------------------------------------

    def from_elements(
        self, elements: Iterable[Any], schema: DataType | Sequence[str] | None = None, verify_schema: bool = True
    ) -> Table:
        """Rows of Python values as a table.

        ::

            t_env.from_elements([(1, "ann"), (2, "bob")], ["id", "name"])
            t_env.from_elements([(1,)], DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT())]))

        :param schema: The columns' names, or a row type; by itself the columns are called _1, _2, ...
        :param verify_schema: Values are always checked: what is not of its type could not be computed with.
        """
        rows = list(elements)
        fields = row_fields(rows, schema)
        return Table(given_rows(rows, fields, self._config.get_local_timezone()), self._jobs)

    def from_pandas(
        self, pdf: pandas.DataFrame, schema: DataType | Sequence[str] | None = None, splits_num: int = 1
    ) -> Table:
        """The rows of a pandas DataFrame as a table.

        :param splits_num: Has to be at least 1; the rows are read by one subtask, in their order.
        """
        if splits_num < 1:
            raise ProgramError(f"from_pandas(): splits_num is at least 1, got {splits_num}.")
        names = schema if schema is not None else [str(name) for name in pdf.columns]
        rows = [tuple(map(_plain, row)) for row in pdf.itertuples(index=False, name=None)]
        fields = row_fields(rows, names)
        return Table(given_rows(rows, fields, self._config.get_local_timezone()), self._jobs)

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """The table that a descriptor describes, without a name."""
        name = f"*anonymous_{descriptor.get_options().get('connector', 'table')}${len(self._catalogs.temporary) + 1}*"
        path = self._catalogs.path([name])
        self._catalogs.create(path, descriptor.to_catalog_table(), True, False)
        return self._scan(path)

    def from_path(self, path: str) -> Table:
        """A table or view by its name: ``orders``, ``shop.orders``, ``catalog.shop.orders``."""
        return self._scan(parse_identifier(path).parts)

    def scan(self, *table_path: str) -> Table:
        """A table or view by the parts of its name."""
        return self._scan(table_path)

    def _scan(self, parts: Sequence[str]) -> Table:
        session = self._jobs.session()
        relation, _ = self._catalogs.tables(session).find(Identifier(tuple(parts)))
        return Table(relation, self._jobs)

    def create_temporary_view(self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any) -> None:
        """Give a table, or a stream of a StreamTableEnvironment, a name in this session."""
        if not isinstance(table_or_data_stream, Table):
            raise ProgramError(f"create_temporary_view() takes a Table, got {table_or_data_stream!r}.")
        path = self._catalogs.path(parse_identifier(view_path).parts)
        self._catalogs.create(path, table_or_data_stream.relation, True, False)

    def create_temporary_table(self, path: str, descriptor: TableDescriptor, ignore_if_exists: bool = False) -> None:
        """A table that only this session has."""
        full = self._catalogs.path(parse_identifier(path).parts)
        self._catalogs.create(full, descriptor.to_catalog_table(), True, ignore_if_exists)

    def create_table(self, path: str, descriptor: TableDescriptor, ignore_if_exists: bool = False) -> bool:
        """A table in a catalog; whether it was made."""
        full = self._catalogs.path(parse_identifier(path).parts)
        if ignore_if_exists and self._catalogs.find(full) is not None:
            return False
        self._catalogs.create(full, descriptor.to_catalog_table(), False, ignore_if_exists)
        return True

    def drop_temporary_view(self, view_path: str) -> bool:
        """Forget a view of the session; whether there was one."""
        return self._catalogs.drop(self._catalogs.path(parse_identifier(view_path).parts), True, True, True)

    def drop_temporary_table(self, table_path: str) -> bool:
        """Forget a table of the session; whether there was one."""
        return self._catalogs.drop(self._catalogs.path(parse_identifier(table_path).parts), False, True, True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Remove a table; whether there was one."""
        path = self._catalogs.path(parse_identifier(table_path).parts)
        return self._catalogs.drop(path, False, False, ignore_if_not_exists)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Remove a view; whether there was one."""
        path = self._catalogs.path(parse_identifier(view_path).parts)
        return self._catalogs.drop(path, True, False, ignore_if_not_exists)

    def list_tables(self) -> list[str]:
        """The tables and views of the current database, those of the session too."""
        return self._catalogs.table_names(self._catalogs.current_catalog, self._catalogs.current_database)

    def list_views(self) -> list[str]:
        """The views of the current database, those of the session too."""
        return self._catalogs.view_names(self._catalogs.current_catalog, self._catalogs.current_database)

    def list_temporary_tables(self) -> list[str]:
        """The tables of the current database that only this session has."""
        return self._temporary(views=False)

    def list_temporary_views(self) -> list[str]:
        """The views of the current database that only this session has."""
        return self._temporary(views=True)

    def _temporary(self, views: bool) -> list[str]:
        here = (self._catalogs.current_catalog, self._catalogs.current_database)
        return sorted(
            path[2]
            for path, table in self._catalogs.temporary.items()
            if path[:2] == here and (not isinstance(table, CatalogBaseTable) or table.is_view) == views
        )

    # ---- functions -----------------------------------------------------------------------------------------

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Let a name mean a function of the user in this session, before the built-in ones: made with udf or udaf."""
        self._catalogs.system_functions[name.upper()] = _user_function(function).named(name)

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Let a name of a database mean a function of the user in this session: made with udf or udaf."""
        catalog, database, name = self._catalogs.path(parse_identifier(path).parts)
        if (catalog, database, name.upper()) in self._catalogs.functions:
            raise ProgramError(f"create_temporary_function(): there is a function {path!r} already. Drop it first.")
        self._catalogs.functions[catalog, database, name.upper()] = _user_function(function).named(name)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Forget a function of the session; whether there was one."""
        return self._catalogs.system_functions.pop(name.upper(), None) is not None

    def drop_temporary_function(self, path: str) -> bool:
        """Forget a function of the session; whether there was one."""
        catalog, database, name = self._catalogs.path(parse_identifier(path).parts)
        return self._catalogs.functions.pop((catalog, database, name.upper()), None) is not None

    def list_functions(self) -> list[str]:
        """All functions that are known: built in, and of the session."""
        return sorted({*(each.name.lower() for each in functions()), *user_functions(self._catalogs)})

    def list_user_defined_functions(self) -> list[str]:
        """The functions of the session."""
        return user_functions(self._catalogs)

    # ---- catalogs ------------------------------------------------------------------------------------------

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Add a catalog."""
        self._catalogs.register(catalog_name, catalog)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """A catalog by its name; None if there is none."""
        return self._catalogs.all.get(catalog_name)

    def use_catalog(self, catalog_name: str) -> None:
        """From now on this catalog is meant where none is named, and its default database."""
        self._catalogs.use_catalog(catalog_name)

    def use_database(self, database_name: str) -> None:
        """From now on this database of the current catalog is meant where none is named."""
        self._catalogs.use_database([database_name])

    def get_current_catalog(self) -> str:
        """The catalog that is meant where none is named."""
        return self._catalogs.current_catalog

    def get_current_database(self) -> str:
        """The database that is meant where none is named."""
        return self._catalogs.current_database

    def list_catalogs(self) -> list[str]:
        """The names of all catalogs."""
        return sorted(self._catalogs.all)

    def list_databases(self) -> list[str]:
        """The names of the databases of the current catalog."""
        return self._catalogs.catalog(self._catalogs.current_catalog).list_databases()


class StreamTableEnvironment(TableEnvironment):
    """Tables beside streams: rows, timestamps, watermarks and kinds of changes go from one to the other.

    ::

        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        table = t_env.from_data_stream(stream)
        t_env.to_data_stream(table.where(col("amount") > 10)).print()
        env.execute()
    """

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
        spark: Any | None = None,
    ) -> StreamTableEnvironment:
        """An environment for tables that shares jobs with one for streams."""
        settings = environment_settings or EnvironmentSettings.in_streaming_mode()
        environment = stream_execution_environment
        if environment is None:
            environment = StreamExecutionEnvironment.get_execution_environment(settings.get_configuration(), spark)
        else:
            environment.get_configuration().add_all(settings.get_configuration())
        return StreamTableEnvironment(environment, settings)

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Any) -> Table:
        """The records of a stream as a table that only grows.

        :param fields_or_schema: Nothing, a Schema, or the names of the columns as expressions.
        """
        schema = fields_or_schema[0] if fields_or_schema and isinstance(fields_or_schema[0], Schema) else None
        table = Table(given_stream(data_stream, schema, self._config.get_local_timezone()), self._jobs)
        if schema is None and fields_or_schema:
            return table.alias(*[str(each) for each in fields_or_schema])
        return table

    def from_changelog_stream(
        self, data_stream: DataStream, schema: Schema | None = None, changelog_mode: Any = None
    ) -> Table:
        """The records of a stream of rows with kinds as a table that changes.

        :param changelog_mode: Which kinds come: ``ChangelogMode.all()`` if None.
        """
        mode = _mode_of(changelog_mode, data_stream, schema)
        zone = self._config.get_local_timezone()
        return Table(given_stream(data_stream, schema, zone, mode, kinds=True), self._jobs)

    def to_data_stream(self, table: Table) -> DataStream:
        """The rows of a table that only grows as a stream of rows."""
        node = self._jobs.planner().translate(table.relation)
        if not node.mode.is_insert_only:
            raise ProgramError(
                f"to_data_stream() takes a table to which rows are only added; this one changes {node.mode}: "
                f"{node.name}({node.detail}). Use to_changelog_stream()."
            )
        return self._stream(table)

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None, changelog_mode: Any = None
    ) -> DataStream:
        """The changes of a table as a stream of rows, each with its kind.

        :param changelog_mode: Which kinds may come: all if None. Upserts have no rows as they were before.
        """
        if target_schema is not None:
            names = [column.name for column in target_schema.columns]
            table = table.select(*names)
        return self._stream(table, changelog_mode)

    def _stream(self, table: Table, changelog_mode: Any = None) -> DataStream:
        node = self._jobs.planner().translate(table.relation)
        stream: DataStream = Program().stream(node)
        if changelog_mode is not None:
            wanted = {kind.value for kind in changelog_mode.get_contained_kinds()}
            missing = {*node.mode.kinds()} - wanted - {UPDATE_BEFORE}
            if missing or (UPDATE_BEFORE in node.mode.kinds() and not {UPDATE_BEFORE, UPDATE_AFTER} & wanted):
                raise ProgramError(
                    f"to_changelog_stream(): the table's changes are {node.mode}, {changelog_mode} has not all of them."
                )
            if UPDATE_BEFORE not in wanted:
                stream = stream.filter(_is_no_old_row)
        rows: DataStream = stream.map(ToRow(table.relation.fields))
        return rows

    def create_temporary_view(self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any) -> None:
        """Give a table or a stream a name in this session."""
        if isinstance(table_or_data_stream, DataStream):
            table_or_data_stream = self.from_data_stream(table_or_data_stream, *fields_or_schema)
        super().create_temporary_view(view_path, table_or_data_stream)


def _is_no_old_row(record: tuple[int, Any]) -> bool:
    return record[0] != UPDATE_BEFORE


def _mode_of(mode: Any, stream: DataStream, schema: Schema | None) -> ChangelogMode:
    if mode is None:
        return RETRACT
    kinds = set(map(str, mode.get_contained_kinds()))
    if "-U" in kinds or "+U" not in kinds:
        return ChangelogMode("+U" in kinds, "-D" in kinds)
    if schema is None or schema.primary_key is None:
        raise ProgramError("from_changelog_stream() in upsert mode needs a schema with a primary key.")
    names = [column.name for column in schema.columns if column.expression is None]
    return upsert([names.index(name) for name in schema.primary_key.columns], "-D" in kinds)


def _user_function(function: Any) -> UserDefinedFunctionWrapper:
    if not isinstance(function, UserDefinedFunctionWrapper):
        raise ProgramError(f"a function of the user is made with udf() or udaf(), got {function!r}.")
    return function


def _plain(value: Any) -> Any:
    """A value of a DataFrame as Python has it."""
    if value is None or value != value:
        return None
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else getattr(value, "item", lambda: value)()
