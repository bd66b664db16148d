"""A sink into tables of a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.jdbc.committer import MarkerCommitter
from firesteel.connectors.jdbc.options import JdbcConnectionOptions, JdbcExactlyOnceOptions, JdbcExecutionOptions
from firesteel.connectors.jdbc.statements import OneStatement, Statements, Upserts
from firesteel.connectors.jdbc.writer import JdbcWriter, StagingWriter
from firesteel.errors import ConfigurationError
from firesteel.model.sink import Committer, Sink, SinkWriter

__all__ = ["JdbcSink"]


class JdbcSink(Sink):
    r"""Runs a statement for each record, many in one call.

    ::

        options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder() \
            .with_url("jdbc:postgresql://db:5432/shop").with_user_name("ada").with_password(secret).build()
        orders.add_sink(
            JdbcSink.sink(
                "INSERT INTO orders (id, customer, price) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
                Types.ROW([Types.LONG(), Types.STRING(), Types.DOUBLE()]),
                options,
            )
        )

    :meth:`sink` is at-least-once: what was written since the last checkpoint is written again after a failure, which
    does no harm if the statement is an upsert. :meth:`exactly_once_sink` is exactly-once for any statement.
    """

    guarantee = "at-least-once"

    def __init__(
        self,
        statements: Statements,
        connection: JdbcConnectionOptions,
        execution: JdbcExecutionOptions,
        exactly_once: JdbcExactlyOnceOptions | None = None,
    ) -> None:
        self.guarantee = "at-least-once" if exactly_once is None else "exactly-once"
        self._statements = statements
        self._connection = connection
        self._execution = execution
        self._exactly_once = exactly_once

    @staticmethod
    def sink(
        sql: str,
        type_info: TypeInformation,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink that runs a statement with the fields of each record as its parameters.

        :param sql: With a ``?`` for each field, in their order. A question mark itself is written ``??``.
        :param type_info: The type of the records: a row, a tuple, or a single value.
        """
        _check("sink", type_info, jdbc_connection_options, jdbc_execution_options)
        statement = OneStatement(_sql(sql), type_info, jdbc_connection_options.database)
        return JdbcSink(statement, jdbc_connection_options, jdbc_execution_options or JdbcExecutionOptions.defaults())

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: TypeInformation,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        jdbc_exactly_once_options: JdbcExactlyOnceOptions | None = None,
    ) -> JdbcSink:
        """A sink whose rows are there once, whatever fails.

        The rows of a checkpoint wait in it. When it is complete they are written in one transaction, together with a
        mark; a crash before that is noticed by the missing mark, one after it by the mark.
        """
        _check("exactly_once_sink", type_info, jdbc_connection_options, jdbc_execution_options)
        statement = OneStatement(_sql(sql), type_info, jdbc_connection_options.database)
        execution = jdbc_execution_options or JdbcExecutionOptions.defaults()
        once = jdbc_exactly_once_options or JdbcExactlyOnceOptions.defaults()
        return JdbcSink(statement, jdbc_connection_options, execution, once)

    @staticmethod
    def upsert_sink(
        table: str,
        key_fields: Sequence[str],
        type_info: TypeInformation,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink that keeps a row per key: inserts it, updates it, and deletes it when a row of that kind comes.

        The statement is that of the database; the key has to be unique there. It is at-least-once, and since the last
        row of a key holds, what is in the table after a failure is the same as without.

        :param type_info: A row with names, those of the columns.
        """
        _check("upsert_sink", type_info, jdbc_connection_options, jdbc_execution_options)
        if not isinstance(table, str) or not table:
            raise ConfigurationError(f"JdbcSink.upsert_sink() takes the name of a table, got {table!r}")
        statements = Upserts(table, key_fields, type_info, jdbc_connection_options.database)
        return JdbcSink(statements, jdbc_connection_options, jdbc_execution_options or JdbcExecutionOptions.defaults())

    def create_writer(self) -> SinkWriter:
        """Writes rows, or has them wait for the checkpoint."""
        if self._exactly_once is not None:
            return StagingWriter(self._statements)
        return JdbcWriter(self._connection.database, self._statements, self._execution)

    def create_committer(self) -> Committer | None:
        """Writes what waited."""
        if self._exactly_once is None:
            return None
        return MarkerCommitter(self._connection.database, self._execution, self._exactly_once)


def _sql(sql: Any) -> str:
    if not isinstance(sql, str) or not sql.strip():
        raise ConfigurationError(f"a JDBC sink takes a statement of SQL, got {sql!r}")
    return sql


def _check(method: str, type_info: Any, connection: Any, execution: Any) -> None:
    if not isinstance(type_info, TypeInformation):
        raise ConfigurationError(
            f"JdbcSink.{method}() takes the type of the records (Types.ROW(...)), got {type_info!r}"
        )
    if not isinstance(connection, JdbcConnectionOptions):
        raise ConfigurationError(
            f"JdbcSink.{method}() takes JdbcConnectionOptions, got a {type(connection).__name__}. Make them with "
            "JdbcConnectionOptions.JdbcConnectionOptionsBuilder()."
        )
    if execution is not None and not isinstance(execution, JdbcExecutionOptions):
        raise ConfigurationError(f"JdbcSink.{method}() takes JdbcExecutionOptions, got a {type(execution).__name__}")
