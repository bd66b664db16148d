"""Databases as sinks, sources and for look-ups. PostgreSQL and MySQL need ``firesteel[jdbc]``, SQLite nothing."""

from firesteel.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcGenericParameterValuesProvider,
    JdbcLookupFunction,
    JdbcNumericBetweenParametersProvider,
    JdbcParameterValuesProvider,
    JdbcSink,
    JdbcSource,
    JdbcSourceBuilder,
)

__all__ = [
    "JdbcConnectionOptions",
    "JdbcExactlyOnceOptions",
    "JdbcExecutionOptions",
    "JdbcGenericParameterValuesProvider",
    "JdbcLookupFunction",
    "JdbcNumericBetweenParametersProvider",
    "JdbcParameterValuesProvider",
    "JdbcSink",
    "JdbcSource",
    "JdbcSourceBuilder",
]
