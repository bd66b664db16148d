"""Where a database is, how a sink writes to it, and how it writes exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.connectors.jdbc.database import Database
from firesteel.errors import ConfigurationError

__all__ = ["JdbcConnectionOptions", "JdbcExactlyOnceOptions", "JdbcExecutionOptions"]

_BATCH_SIZE = 5000
_MAX_RETRIES = 3
_WEEK_MS = 7 * 24 * 3600 * 1000


def _text(method: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"{method}() takes a text, got a {type(value).__name__}")
    return value


def _number(method: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigurationError(f"{method}() takes a whole number from {least} on, got {value!r}")
    return value


class JdbcConnectionOptions:
    """Where a database is and who asks. Made by :class:`JdbcConnectionOptions.JdbcConnectionOptionsBuilder`.

    The password is not part of what is printed of it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def database(self) -> Database:
        """The database, for connectors."""
        return self._database

    def get_db_url(self) -> str | None:
        """The URL; None if connections are made by a function."""
        return self._database.url

    def get_driver_name(self) -> str | None:
        """The driver that was named, or the module that the URL stands for."""
        return self._database.driver or self._database.module_name

    def get_user_name(self) -> str | None:
        """The user; None if there is none."""
        return self._database.user

    def get_password(self) -> str | None:
        """The password; None if there is none."""
        return self._database.password

    def __repr__(self) -> str:
        return f"JdbcConnectionOptions({self._database})"

    class JdbcConnectionOptionsBuilder:
        """Builds :class:`JdbcConnectionOptions`. A URL is needed, or a function that connects."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver: str | None = None
            self._user: str | None = None
            self._password: str | None = None
            self._connect: Callable[[], Any] | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """``jdbc:postgresql://host:5432/shop``, ``jdbc:mysql://host/shop``, ``jdbc:sqlite:/data/shop.db``, ..."""
            self._url = _text("with_url", url)
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """A Python module with a DB-API driver (``psycopg``, ``pymysql``), if another one than the usual is wanted.

            Java's names of well-known drivers (``org.postgresql.Driver``) stand for the Python module.
            """
            self._driver = _text("with_driver_name", driver_name)
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The user."""
            self._user = _text("with_user_name", user_name)
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The user's password."""
            self._password = _text("with_password", password)
            return self

        def with_connection_factory(
            self, connect: Callable[[], Any]
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Any other DB-API driver: a function that returns a new connection. Called in the tasks and the driver.

            Its module, which says how parameters are written, is found by the class of the connection, or named with
            :meth:`with_driver_name`.
            """
            if not callable(connect):
                raise ConfigurationError(f"with_connection_factory() takes a function, got a {type(connect).__name__}")
            self._connect = connect
            return self

        def build(self) -> JdbcConnectionOptions:
            """The options."""
            return JdbcConnectionOptions(Database(self._url, self._driver, self._user, self._password, self._connect))


class JdbcExecutionOptions:
    """When rows are sent, and how often that is tried. Made by :meth:`builder`."""

    def __init__(self, batch_interval_ms: int, batch_size: int, max_retries: int) -> None:
        self._batch_interval_ms = batch_interval_ms
        self._batch_size = batch_size
        self._max_retries = max_retries

    def get_batch_interval_ms(self) -> int:
        """After how long rows are sent even if they are few; 0: with the checkpoint."""
        return self._batch_interval_ms

    def get_batch_size(self) -> int:
        """How many rows are sent together."""
        return self._batch_size

    def get_max_retries(self) -> int:
        """How often sending is tried again when the database is away."""
        return self._max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """5000 rows at a time, with the checkpoint at the latest, 3 retries."""
        return JdbcExecutionOptions.builder().build()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Begin to build options."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Builds :class:`JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._interval_ms = 0
            self._size = _BATCH_SIZE
            self._max_retries = _MAX_RETRIES

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """How many rows are sent together. 5000 if not set."""
            self._size = _number("with_batch_size", size, 1)
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """After how many milliseconds rows are sent, at the end of an epoch. 0, the default: not by time."""
            self._interval_ms = _number("with_batch_interval_ms", interval_ms, 0)
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """How often sending is tried again when the database is away. 3 if not set."""
            self._max_retries = _number("with_max_retries", max_retries, 0)
            return self

        def build(self) -> JdbcExecutionOptions:
            """The options."""
            return JdbcExecutionOptions(self._interval_ms, self._size, self._max_retries)


class JdbcExactlyOnceOptions:
    """How a sink remembers what it has written. Made by :meth:`builder`."""

    def __init__(self, marker_table: str, retention_ms: int) -> None:
        self.marker_table = marker_table
        self.retention_ms = retention_ms

    @staticmethod
    def defaults() -> JdbcExactlyOnceOptions:
        """Marks in the table ``firesteel_commits``, for a week."""
        return JdbcExactlyOnceOptions.builder().build()

    @staticmethod
    def builder() -> JdbcExactlyOnceOptions.Builder:
        """Begin to build options."""
        return JdbcExactlyOnceOptions.Builder()

    class Builder:
        """Builds :class:`JdbcExactlyOnceOptions`."""

        def __init__(self) -> None:
            self._table = "firesteel_commits"
            self._retention_ms = _WEEK_MS

        def with_marker_table(self, name: str) -> JdbcExactlyOnceOptions.Builder:
            """The table of marks. It is made if it is not there. Several sinks may share it."""
            name = _text("with_marker_table", name)
            if not all(part.isidentifier() for part in name.split(".")):
                raise ConfigurationError(f"with_marker_table() takes the name of a table, got {name!r}")
            self._table = name
            return self

        def with_marker_retention(self, retention: TimeLength) -> JdbcExactlyOnceOptions.Builder:
            """How long a mark is kept, a week if not set: the age of the oldest savepoint that a job may start from."""
            self._retention_ms = to_milliseconds(retention)
            return self

        def build(self) -> JdbcExactlyOnceOptions:
            """The options."""
            return JdbcExactlyOnceOptions(self._table, self._retention_ms)
