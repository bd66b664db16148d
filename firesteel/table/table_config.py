"""The settings of a table environment's session."""

from __future__ import annotations

import os
from typing import Any

from firesteel.common import Configuration
from firesteel.common.options import table as options
from firesteel.common.time import to_milliseconds
from firesteel.errors import ConfigurationError
from firesteel.table.sql_dialect import SqlDialect

__all__ = ["TableConfig", "machine_time_zone"]


def machine_time_zone() -> str:
    """The name of the time zone of this machine; UTC if it has none."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if name:
        return name
    place = os.path.realpath("/etc/localtime")
    _, found, name = place.partition("zoneinfo/")
    return name if found else "UTC"


class TableConfig:
    """Settings by their keys, of tables and of the engine: ``config.set("table.exec.state.ttl", "1 h")``.

    What is set counts for the jobs that begin afterwards.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @staticmethod
    def get_default() -> TableConfig:
        """Settings of which none is set."""
        return TableConfig()

    def get(self, key: str, default_value: Any) -> Any:
        """The value of a key as text, or another if it is not set."""
        return self._configuration.get_string(key, default_value)

    def set(self, key: str, value: Any) -> TableConfig:
        """Set a key."""
        self._configuration.set_string(key, str(value))
        return self

    def get_local_timezone(self) -> str:
        """The session's time zone: in it TIMESTAMP_LTZ becomes a date and a time."""
        name = self._configuration.get(options.LOCAL_TIME_ZONE)
        return machine_time_zone() if name == "default" else name

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the session's time zone: ``Europe/Berlin``, ``GMT+02:00``."""
        if not isinstance(timezone_id, str) or not timezone_id:
            raise ConfigurationError(f"a time zone is a name such as Europe/Berlin, got {timezone_id!r}.")
        self._configuration.set(options.LOCAL_TIME_ZONE, timezone_id)

    def get_configuration(self) -> Configuration:
        """All settings by their keys; changing them changes these."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Take over all settings of a configuration."""
        self._configuration.add_all(configuration)

    def get_sql_dialect(self) -> SqlDialect:
        """The dialect of SQL: there is one."""
        return SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Choose the dialect of SQL; only Flink's own is there, so any other is an error."""
        if sql_dialect is not SqlDialect.DEFAULT:
            raise ConfigurationError(f"the dialect of SQL is Flink's, SqlDialect.DEFAULT; got {sql_dialect!r}.")

    def set_idle_state_retention(self, duration: Any) -> None:
        """How long state is kept that no row touches: a ``timedelta`` or ``Duration``; 0 is for ever."""
        self._configuration.set(options.STATE_TTL, to_milliseconds(duration))

    def set_idle_state_retention_time(self, min_time: Any, max_time: Any) -> None:
        """The same; of the two times Flink uses the first."""
        least, most = to_milliseconds(min_time), to_milliseconds(max_time)
        if most - least < 300_000 and not most == least == 0:
            raise ConfigurationError(
                f"the difference between min_time {min_time} and max_time {max_time} must be at least 5 minutes."
            )
        self._configuration.set(options.STATE_TTL, least)

    def get_idle_state_retention(self) -> int:
        """How many milliseconds state is kept that no row touches."""
        return self._configuration.get(options.STATE_TTL)

    def get_min_idle_state_retention_time(self) -> int:
        """The same."""
        return self.get_idle_state_retention()

    def get_max_idle_state_retention_time(self) -> int:
        """Half as much again, as Flink has it."""
        return self.get_idle_state_retention() * 3 // 2

    def set_python_executable(self, python_exec: str) -> None:
        """The Python interpreter of the workers."""
        self._configuration.set_string("python.executable", python_exec)

    def get_python_executable(self) -> str | None:
        """The Python interpreter of the workers; None for the driver's own."""
        return self._configuration.get_string("python.executable", "") or None
