"""The options of tables and SQL that are used. Defaults are Flink's."""

from __future__ import annotations

from firesteel.common.config_options import BooleanValue, ConfigOption, DurationValue, EnumValue, IntValue, StringValue

__all__ = [
    "BUILTIN_CATALOG_NAME",
    "BUILTIN_DATABASE_NAME",
    "DML_SYNC",
    "DYNAMIC_OPTIONS",
    "IDLE_TIMEOUT",
    "LOCAL_TIME_ZONE",
    "MINI_BATCH",
    "MINI_BATCH_LATENCY",
    "MINI_BATCH_SIZE",
    "NOT_NULL_ENFORCER",
    "SQL_DIALECT",
    "STATE_TTL",
]

_TABLES = "Tables and SQL"

STATE_TTL = ConfigOption(
    "table.exec.state.ttl",
    DurationValue(),
    0,
    "How long state of a key is kept that no row touches; 0 is for ever. What comes later begins anew.",
    _TABLES,
)
MINI_BATCH = ConfigOption(
    "table.exec.mini-batch.enabled",
    BooleanValue(),
    False,
    "Whether a GROUP BY puts rows together and says of each group once what has changed.",
    _TABLES,
)
MINI_BATCH_LATENCY = ConfigOption(
    "table.exec.mini-batch.allow-latency",
    DurationValue(),
    0,
    "How long rows may wait for others. Here they wait for the end of the epoch at most.",
    _TABLES,
)
MINI_BATCH_SIZE = ConfigOption(
    "table.exec.mini-batch.size",
    IntValue(),
    -1,
    "How many rows are put together at most; has to be set with table.exec.mini-batch.enabled.",
    _TABLES,
)
IDLE_TIMEOUT = ConfigOption(
    "table.exec.source.idle-timeout",
    DurationValue(),
    0,
    "After which time without a row a source does not hold back event time any more; 0 is never.",
    _TABLES,
)
NOT_NULL_ENFORCER = ConfigOption(
    "table.exec.sink.not-null-enforcer",
    EnumValue(("ERROR", "DROP")),
    "ERROR",
    "What becomes of a row with NULL in a column that is declared NOT NULL where it is written.",
    _TABLES,
)
LOCAL_TIME_ZONE = ConfigOption(
    "table.local-time-zone",
    StringValue(),
    "default",
    "The session's time zone, such as Europe/Berlin or GMT+2; default is that of the driver's machine.",
    _TABLES,
)
DML_SYNC = ConfigOption(
    "table.dml-sync",
    BooleanValue(),
    False,
    "Whether INSERT waits for the end of its job.",
    _TABLES,
)
DYNAMIC_OPTIONS = ConfigOption(
    "table.dynamic-table-options.enabled",
    BooleanValue(),
    True,
    "Whether a hint OPTIONS(...) may change the options of a table.",
    _TABLES,
)
SQL_DIALECT = ConfigOption(
    "table.sql-dialect",
    EnumValue(("default",)),
    "default",
    "The dialect of SQL: Flink's.",
    _TABLES,
)
BUILTIN_CATALOG_NAME = ConfigOption(
    "table.builtin-catalog-name",
    StringValue(),
    "default_catalog",
    "The name of the catalog that is there from the beginning.",
    _TABLES,
)
BUILTIN_DATABASE_NAME = ConfigOption(
    "table.builtin-database-name",
    StringValue(),
    "default_database",
    "The name of the database in it.",
    _TABLES,
)
