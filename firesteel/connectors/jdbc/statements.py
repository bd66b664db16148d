"""Statements that a sink runs: one for all records, or upserts and deletes by the kind of a row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from firesteel.common.typeinfo import TypeInformation
from firesteel.common.types import Row, RowKind
from firesteel.connectors.jdbc.database import Database, written_for
from firesteel.connectors.jdbc.values import field_names, field_types, parameters_of
from firesteel.errors import ConfigurationError, TypeMismatchError

__all__ = ["Change", "OneStatement", "Statements", "Upserts", "upsert_statement"]

Change = tuple[str, list[Sequence[Any]]]
"""A statement, and a row of parameters for each time that it is run."""


class Statements(ABC):
    """Makes statements with their parameters of records. Kept by each writer; it holds the records of a batch."""

    type_info: TypeInformation

    @abstractmethod
    def add(self, value: Any) -> int:
        """Take a record; says how many rows wait."""

    @abstractmethod
    def take(self) -> list[Change]:
        """What is to be run for the records since the last time."""


class OneStatement(Statements):
    """The same statement for each record."""

    def __init__(self, sql: str, type_info: TypeInformation, database: Database) -> None:
        self.sql = sql
        self.type_info = type_info
        wanted, found = written_for(sql, "qmark")[1], len(field_types(type_info))
        if wanted != found:
            raise ConfigurationError(
                f"the statement {sql!r:.300} has {wanted} parameters (?), a record of {type_info} has {found} fields"
            )
        self._database = database
        self._count = found
        self._rows: list[Sequence[Any]] = []
        self._parameters = parameters_of(type_info, database.kind == "sqlite")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sql, self.type_info, self._database)

    def add(self, value: Any) -> int:
        row = _taken(self._parameters, value, self._count, self.type_info)
        self._rows.append(row)
        return len(self._rows)

    def take(self) -> list[Change]:
        rows, self._rows = self._rows, []
        return [(self.sql, rows)] if rows else []


def _taken(parameters: Any, value: Any, count: int, type_info: TypeInformation) -> Sequence[Any]:
    try:
        row: Sequence[Any] = parameters(value)
        fits = len(row) == count
    except (TypeError, ValueError, AttributeError, OverflowError):
        fits = False
    if not fits:
        type_info.ensure(value, "a record for the JDBC sink")
        raise TypeMismatchError(f"a record for the JDBC sink: {value!r:.200} is not of the declared type {type_info}")
    return row


class Upserts(Statements):
    """A row per key: inserted or updated, or deleted if the record says so. Of several in a batch the last holds."""

    def __init__(self, table: str, keys: Sequence[str], type_info: TypeInformation, database: Database) -> None:
        self.table = table
        self.keys = list(keys)
        self.type_info = type_info
        self._database = database
        names = field_names(type_info, "JdbcSink.upsert_sink()")
        unknown = [key for key in self.keys if key not in names]
        if unknown or not self.keys:
            raise ConfigurationError(
                f"key_fields of JdbcSink.upsert_sink() are names among {', '.join(names)}; got {self.keys!r}"
            )
        self._upsert = upsert_statement(database.kind, table, names, self.keys)
        where = " AND ".join(f"{_quoted(key, database.kind)} = ?" for key in self.keys)
        self._delete = f"DELETE FROM {table} WHERE {where}"
        self._positions = [names.index(key) for key in self.keys]
        self._parameters = parameters_of(type_info, database.kind == "sqlite")
        self._count = len(names)
        self._changes: dict[tuple[Any, ...], Sequence[Any] | None] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.table, self.keys, self.type_info, self._database)

    def add(self, value: Any) -> int:
        kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
        if kind is not RowKind.UPDATE_BEFORE:
            row = _taken(self._parameters, value, self._count, self.type_info)
            key = tuple(row[position] for position in self._positions)
            self._changes.pop(key, None)
            self._changes[key] = None if kind is RowKind.DELETE else row
        return len(self._changes)

    def take(self) -> list[Change]:
        changes, self._changes = self._changes, {}
        deleted: list[Sequence[Any]] = [key for key, row in changes.items() if row is None]
        written = [row for row in changes.values() if row is not None]
        return [(sql, rows) for sql, rows in ((self._delete, deleted), (self._upsert, written)) if rows]


def _quoted(name: str, kind: str | None) -> str:
    mark = "`" if kind in ("mysql", "mariadb") else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def upsert_statement(kind: str | None, table: str, names: Sequence[str], keys: Sequence[str]) -> str:
    """A statement that inserts a row, or updates the one with the same key."""
    columns = [_quoted(name, kind) for name in names]
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(names))})"
    others = [_quoted(name, kind) for name in names if name not in keys]
    if kind in ("mysql", "mariadb"):
        changed = others or [_quoted(keys[0], kind)]
        return f"{insert} ON DUPLICATE KEY UPDATE {', '.join(f'{name} = VALUES({name})' for name in changed)}"
    if kind in ("postgresql", "sqlite", "duckdb"):
        conflict = f"{insert} ON CONFLICT ({', '.join(_quoted(key, kind) for key in keys)})"
        if not others:
            return f"{conflict} DO NOTHING"
        return f"{conflict} DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in others)}"
    raise ConfigurationError(
        f"how rows are upserted into a database of {kind or 'a connection factory'} is not known here. Write the "
        "statement (MERGE ...) yourself and give it to JdbcSink.sink()."
    )
