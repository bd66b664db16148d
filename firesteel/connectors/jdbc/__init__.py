"""Databases: a sink, a source and look-ups for anything with a DB-API driver. Some need ``firesteel[jdbc]``."""

from firesteel.connectors.jdbc.lookup import JdbcLookupFunction
from firesteel.connectors.jdbc.options import JdbcConnectionOptions, JdbcExactlyOnceOptions, JdbcExecutionOptions
from firesteel.connectors.jdbc.sink import JdbcSink
from firesteel.connectors.jdbc.source import (
    JdbcGenericParameterValuesProvider,
    JdbcNumericBetweenParametersProvider,
    JdbcParameterValuesProvider,
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
