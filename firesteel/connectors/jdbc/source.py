"""A bounded source of what a query gives, split by its parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.jdbc.database import Database, written_for
from firesteel.connectors.jdbc.options import JdbcConnectionOptions
from firesteel.connectors.jdbc.session import Session
from firesteel.connectors.jdbc.values import row_maker
from firesteel.errors import ConfigurationError
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator

__all__ = [
    "JdbcGenericParameterValuesProvider",
    "JdbcNumericBetweenParametersProvider",
    "JdbcParameterValuesProvider",
    "JdbcSource",
    "JdbcSourceBuilder",
]

_FETCH_SIZE = 10_000


class JdbcParameterValuesProvider(ABC):
    """Splits a query: for each split, the values of its parameters."""

    @abstractmethod
    def get_parameter_values(self) -> Sequence[Sequence[Any]]:
        """A row of values per split."""


class JdbcGenericParameterValuesProvider(JdbcParameterValuesProvider):
    """The rows of values that it is given."""

    def __init__(self, parameters: Sequence[Sequence[Any]]) -> None:
        self._parameters = [tuple(row) for row in parameters]

    def get_parameter_values(self) -> Sequence[Sequence[Any]]:
        """A row of values per split."""
        return self._parameters


class JdbcNumericBetweenParametersProvider(JdbcParameterValuesProvider):
    """Cuts the range of a whole number into splits, for ``... WHERE id BETWEEN ? AND ?``.

    :param min_val: The smallest number.
    :param max_val: The largest number; it is in the range.
    """

    def __init__(self, min_val: int, max_val: int) -> None:
        if max_val < min_val:
            raise ConfigurationError(
                f"a range goes from the smallest to the largest number, got {min_val} to {max_val}"
            )
        self._min = min_val
        self._max = max_val
        self._splits = 1

    def of_batch_num(self, batch_num: int) -> JdbcNumericBetweenParametersProvider:
        """Cut into so many splits."""
        if not isinstance(batch_num, int) or batch_num < 1:
            raise ConfigurationError(f"of_batch_num() takes a number of splits, got {batch_num!r}")
        self._splits = min(batch_num, self._max - self._min + 1)
        return self

    def of_batch_size(self, batch_size: int) -> JdbcNumericBetweenParametersProvider:
        """Cut into splits of so many numbers."""
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ConfigurationError(f"of_batch_size() takes a whole number, got {batch_size!r}")
        return self.of_batch_num(-(-(self._max - self._min + 1) // batch_size))

    def get_parameter_values(self) -> Sequence[Sequence[Any]]:
        """The first and last number of each split. Their sizes differ by one at most."""
        whole, more = divmod(self._max - self._min + 1, self._splits)
        values, start = [], self._min
        for number in range(self._splits):
            size = whole + (number < more)
            values.append((start, start + size - 1))
            start += size
        return values


class JdbcSource(Source):
    r"""What a query gives, and then the end.

    ::

        source = JdbcSource.builder() \
            .set_connection_options(options) \
            .set_sql("SELECT id, name FROM customers WHERE id BETWEEN ? AND ? ORDER BY id") \
            .set_jdbc_parameter_values_provider(JdbcNumericBetweenParametersProvider(1, 100_000).of_batch_num(8)) \
            .set_type_information(Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])) \
            .build()
        env.from_source(source, WatermarkStrategy.no_watermarks(), "customers")

    A position is the number of rows that were read of a split: after a failure the query runs again, and so many rows
    are passed over. Hence the order has to be the same each time (``ORDER BY`` something unique) if a job that fails in
    the middle shall see each row once, and the rows have to stay while they are read.
    """

    def __init__(
        self,
        database: Database,
        sql: str,
        parameters: Sequence[Sequence[Any]],
        type_info: TypeInformation | None,
        fetch_size: int,
    ) -> None:
        self._database = database
        self._sql = sql
        self._parameters = parameters
        self._type_info = type_info
        self._fetch_size = fetch_size

    @staticmethod
    def builder() -> JdbcSourceBuilder:
        """Begin to build a source."""
        return JdbcSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:
        """It ends with the query."""
        return Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """A split per row of parameters."""
        return _Queries(self._parameters)

    def create_reader(self) -> SourceReader:
        """Runs the query of a split."""
        return _QueryReader(self._database, self._sql, self._type_info, self._fetch_size)

    def initial_position(self, split: SourceSplit) -> int:
        """The first row."""
        return 0

    def get_produced_type(self) -> TypeInformation | None:
        """The declared type of the rows."""
        return self._type_info


class _Queries(SplitEnumerator):
    def __init__(self, parameters: Sequence[Sequence[Any]]) -> None:
        self._new = [SourceSplit(f"query-{number}", tuple(row)) for number, row in enumerate(parameters)]

    def start(self, restored: Any | None) -> None:
        if restored is not None:
            self._new = [split for split in self._new if split.split_id in restored]

    def discover_splits(self, now: int) -> list[SourceSplit]:
        new, self._new = self._new, []
        return new

    def snapshot(self) -> list[str]:
        return [split.split_id for split in self._new]


class _QueryReader(SourceReader):
    """One query at a time: that of the split which is read."""

    gives_away = True

    def __init__(self, database: Database, sql: str, type_info: TypeInformation | None, fetch_size: int) -> None:
        self._session = Session(database)
        self._sql = sql
        self._make = row_maker(type_info)
        self._fetch_size = fetch_size
        self._at: tuple[str, int] | None = None
        self._cursor: Any = None

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        database = self._session.database
        try:
            if self._at != (split.split_id, position):
                self._run(split, position)
            names = [column[0] for column in self._cursor.description]
            rows = self._cursor.fetchmany(min(max_records, self._fetch_size))
        except ConfigurationError:
            raise
        except Exception as error:
            raise database.explained(error, f"reading by {self._sql!r:.300} with {split.payload!r:.200}") from error
        end = position + len(rows)
        self._at = (split.split_id, end)
        return ReadResult(self._make(names, rows), end, finished=not rows)

    def _run(self, split: SourceSplit, position: int) -> None:
        self._at = None
        self._close_cursor()
        self._session.roll_back()
        self._cursor = self._session.execute(self._sql, split.payload)
        left = position
        while left:
            passed = len(self._cursor.fetchmany(min(left, self._fetch_size)))
            if not passed:
                break
            left -= passed

    def _close_cursor(self) -> None:
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            cursor.close()

    def close(self) -> None:
        self._close_cursor()
        self._session.close()


class JdbcSourceBuilder:
    """Builds a :class:`JdbcSource`. A query and a database are needed."""

    def __init__(self) -> None:
        self._builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        self._options: JdbcConnectionOptions | None = None
        self._sql: str | None = None
        self._provider: JdbcParameterValuesProvider | None = None
        self._type_info: TypeInformation | None = None
        self._fetch_size = _FETCH_SIZE

    def set_connection_options(self, options: JdbcConnectionOptions) -> JdbcSourceBuilder:
        """Where the database is; in place of URL, driver, user and password one by one."""
        if not isinstance(options, JdbcConnectionOptions):
            raise ConfigurationError(f"set_connection_options() takes JdbcConnectionOptions, got {options!r}")
        self._options = options
        return self

    def set_db_url(self, db_url: str) -> JdbcSourceBuilder:
        """The database."""
        self._builder.with_url(db_url)
        return self

    def set_driver_name(self, driver_name: str) -> JdbcSourceBuilder:
        """The driver, if another one than the usual is wanted."""
        self._builder.with_driver_name(driver_name)
        return self

    def set_username(self, username: str) -> JdbcSourceBuilder:
        """The user."""
        self._builder.with_user_name(username)
        return self

    def set_password(self, password: str) -> JdbcSourceBuilder:
        """The user's password."""
        self._builder.with_password(password)
        return self

    def set_sql(self, sql: str) -> JdbcSourceBuilder:
        """The query, with a ``?`` for each value of the provider."""
        if not isinstance(sql, str) or not sql.strip():
            raise ConfigurationError(f"set_sql() takes a query, got {sql!r}")
        self._sql = sql
        return self

    def set_jdbc_parameter_values_provider(self, provider: JdbcParameterValuesProvider) -> JdbcSourceBuilder:
        """What splits the query. Without it there is one split, and no parameter."""
        if not isinstance(provider, JdbcParameterValuesProvider):
            raise ConfigurationError(f"a JdbcParameterValuesProvider was expected, got {provider!r}")
        self._provider = provider
        return self

    def set_type_information(self, type_information: TypeInformation) -> JdbcSourceBuilder:
        """The type of the rows. Without it they have the columns' names and the driver's values."""
        if not isinstance(type_information, TypeInformation):
            raise ConfigurationError(
                f"set_type_information() takes a type (Types.ROW_NAMED(...)), got {type_information!r}"
            )
        self._type_info = type_information
        return self

    def set_result_set_fetch_size(self, fetch_size: int) -> JdbcSourceBuilder:
        """How many rows are fetched at a time. 10000 if not set."""
        if not isinstance(fetch_size, int) or fetch_size < 1:
            raise ConfigurationError(f"set_result_set_fetch_size() takes a whole number, got {fetch_size!r}")
        self._fetch_size = fetch_size
        return self

    def build(self) -> JdbcSource:
        """The source."""
        if self._sql is None:
            raise ConfigurationError("a JDBC source needs set_sql()")
        options = self._options or self._builder.build()
        parameters = [tuple(row) for row in self._provider.get_parameter_values()] if self._provider else [()]
        wanted = written_for(self._sql, "qmark")[1]
        for row in parameters:
            if len(row) != wanted:
                raise ConfigurationError(
                    f"the query {self._sql!r:.300} has {wanted} parameters (?), a split gives {len(row)}: {row!r:.200}"
                )
        return JdbcSource(options.database, self._sql, parameters, self._type_info, self._fetch_size)
