"""A database by its URL: which driver it needs, how a connection is made, and what its SQL looks like."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from firesteel.errors import ConfigurationError, JobError

__all__ = ["Database", "JdbcError", "written_for"]

_MODULES = {
    "postgresql": "psycopg",
    "mysql": "pymysql",
    "mariadb": "pymysql",
    "sqlite": "sqlite3",
    "duckdb": "duckdb",
}
_JAVA_DRIVERS = {
    "org.postgresql.Driver": "psycopg",
    "com.mysql.jdbc.Driver": "pymysql",
    "com.mysql.cj.jdbc.Driver": "pymysql",
    "org.mariadb.jdbc.Driver": "pymysql",
    "org.sqlite.JDBC": "sqlite3",
    "org.duckdb.DuckDBDriver": "duckdb",
}
_NAME_OF_DATABASE = {"psycopg": "dbname", "psycopg2": "dbname"}
_SECRET = re.compile(r"((?:password|passwd|pwd|secret|token)=)[^&;]*", re.IGNORECASE)
_LOGIN = re.compile(r"//[^/@]*@")
# What a question mark is no parameter in: texts, quoted names, comments. `??` is a question mark.
_PIECES = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/)|(\?\?)|(\?)""", re.DOTALL)
_BUSY_SECONDS = 30.0


class JdbcError(JobError):
    """A database has refused something, or cannot be reached. The text names the database and what was asked."""


def written_for(sql: str, style: str) -> tuple[str, int, Callable[[Sequence[Any]], Any]]:
    """A statement with ``?`` in the style of a driver; how many parameters it has; what makes a driver's of a row."""
    count = 0
    percent = style in ("format", "pyformat")

    def piece(match: re.Match[str]) -> str:
        nonlocal count
        text, question, parameter = match.groups()
        if parameter is None:
            kept = "?" if question else str(text)
            return kept.replace("%", "%%") if percent else kept
        count += 1
        return {"qmark": "?", "format": "%s", "pyformat": "%s", "numeric": f":{count}", "named": f":p{count}"}[style]

    parts, end = [], 0
    for match in _PIECES.finditer(sql):
        between = sql[end : match.start()]
        parts += [between.replace("%", "%%") if percent else between, piece(match)]
        end = match.end()
    rest = sql[end:]
    parts.append(rest.replace("%", "%%") if percent else rest)
    if style == "named":
        names = [f"p{number + 1}" for number in range(count)]
        return "".join(parts), count, lambda row: dict(zip(names, row))
    return "".join(parts), count, tuple


@dataclass(frozen=True, repr=False)
class Database:
    """What a connection is made of. Goes to the tasks; what is printed of it has no password."""

    url: str | None
    driver: str | None = None
    user: str | None = None
    password: str | None = None
    factory: Callable[[], Any] | None = None

    def __post_init__(self) -> None:
        if self.url is None and self.factory is None:
            raise ConfigurationError(
                "a database needs with_url(), or with_connection_factory() for a driver of its own"
            )
        if self.factory is None and self.module_name is None:
            known = ", ".join(f"jdbc:{name}" for name in _MODULES)
            raise ConfigurationError(
                f"the URL {self} stands for none of {known}. Name a Python module with a DB-API driver by "
                "with_driver_name(), or make connections with with_connection_factory()."
            )

    def __str__(self) -> str:
        if self.url is None:
            return f"the database of {getattr(self.factory, '__name__', 'a connection factory')}"
        return _LOGIN.sub("//", _SECRET.sub(r"\1***", self.url))

    def __repr__(self) -> str:
        return f"Database({self})"

    @property
    def kind(self) -> str | None:
        """``postgresql``, ``mysql``, ``sqlite``, ...: the dialect; None if it is not known."""
        if self.url is None:
            return None
        return self.url.removeprefix("jdbc:").partition(":")[0]

    @property
    def module_name(self) -> str | None:
        """The Python module of the driver; None if only a connection tells."""
        if self.driver is not None:
            return _JAVA_DRIVERS.get(self.driver, self.driver)
        return _MODULES.get(self.kind or "")

    def connect(self) -> Any:
        """A new connection. Transactions are ended by whoever asked for it."""
        try:
            if self.factory is not None:
                return self.factory()
            return self._connect()
        except ConfigurationError:
            raise
        except Exception as error:
            raise self.explained(error, "connecting") from error

    def module(self, connection: Any) -> Any:
        """The driver's module: its ``paramstyle`` and its errors."""
        if self.module_name is not None:
            return self._import(self.module_name)
        name = type(connection).__module__
        while name:
            module = sys.modules.get(name)
            if hasattr(module, "paramstyle"):
                return module
            name = name.rpartition(".")[0]
        raise ConfigurationError(
            f"the driver of {self} has no paramstyle that could be found by its connection, a "
            f"{type(connection).__name__}. Name its module with with_driver_name()."
        )

    def _import(self, name: str) -> Any:
        try:
            return importlib.import_module(name)
        except ImportError as error:
            extra = "Install firesteel[jdbc]" if name in ("psycopg", "pymysql") else f"Install {name}"
            raise ConfigurationError(
                f"{self} needs the Python package {name}, in the driver and in the workers. {extra}."
            ) from error

    def _connect(self) -> Any:
        assert self.url is not None and self.module_name is not None
        module = self._import(self.module_name)
        place = self.url.removeprefix("jdbc:")
        if self.kind in ("sqlite", "duckdb"):
            path = place.partition(":")[2].removeprefix("//")
            if self.kind == "duckdb":
                return module.connect(path)
            return module.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
        parts = urlsplit(place)
        arguments: dict[str, Any] = dict(parse_qsl(parts.query))
        arguments.pop("useSSL", None)  # of Java's drivers only
        database = unquote(parts.path.strip("/"))
        found = {
            "host": parts.hostname,
            "port": parts.port,
            "user": self.user or (unquote(parts.username) if parts.username else None),
            "password": self.password or (unquote(parts.password) if parts.password else None),
            _NAME_OF_DATABASE.get(self.module_name, "database"): database,
        }
        arguments.update({key: value for key, value in found.items() if value})
        return module.connect(**arguments)

    def explained(self, error: Exception, doing: str) -> JdbcError:
        """An error of the driver with what was being done, and where; without the password."""
        text = str(error)
        if self.password:
            text = text.replace(self.password, "***")
        return JdbcError(f"{self}: {doing}: {type(error).__name__}: {text}")
