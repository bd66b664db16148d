"""What a format of lines is, and those that there are."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.errors import ConfigurationError, MalformedRecordError
from firesteel.table.functions import Session
from firesteel.table.types import RowField

__all__ = ["LineFormat", "LineReader", "LineWriter", "find_format"]


class LineFormat(ABC):
    """How a row is a line of text. Its options have its name before them: ``'csv.field-delimiter' = ';'``."""

    identifier: str
    options: Sequence[ConfigOption[Any]] = ()

    def __init__(self, fields: tuple[RowField, ...], settings: Mapping[str, str], session: Session) -> None:
        self.fields, self.session = fields, session
        self.settings = {option.key: self._setting(option, settings) for option in self.options}

    def _setting(self, option: ConfigOption[Any], settings: Mapping[str, str]) -> Any:
        key = f"{self.identifier}.{option.key}"
        return option.parse(settings[key]) if key in settings else option.default

    def __reduce__(self) -> tuple[Any, ...]:
        texts = {f"{self.identifier}.{key}": _text(value) for key, value in self.settings.items() if value is not None}
        return (type(self), (self.fields, texts, self.session))

    @abstractmethod
    def read(self, line: str) -> tuple[Any, ...] | None:
        """The row of a line, as the engine holds it; None for a line that is no row."""

    @abstractmethod
    def write(self, row: tuple[Any, ...]) -> str:
        """A row as a line."""


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class LineReader:
    """Makes of each line the change that brings its row; a list, because a line may be skipped."""

    def __init__(self, format: LineFormat, table: str) -> None:
        self._format, self._table = format, table
        self._ignores = bool(format.settings.get("ignore-parse-errors"))

    def __call__(self, line: str) -> list[tuple[int, tuple[Any, ...]]]:
        try:
            row = self._format.read(line)
        except Exception as error:
            if self._ignores:
                return []
            raise MalformedRecordError(
                f"table {self._table}: {line!r:.200} is no row of its columns in format "
                f"'{self._format.identifier}': {error}"
            ) from error
        return [] if row is None else [(0, row)]


class LineWriter:
    """Makes of each change the line of its row."""

    def __init__(self, format: LineFormat) -> None:
        self._format = format

    def __call__(self, record: tuple[int, tuple[Any, ...]]) -> str:
        return self._format.write(record[1])


def find_format(table: str, name: str, known: Mapping[str, type[LineFormat]]) -> type[LineFormat]:
    """The format of a name; an error names the nearest one."""
    found = known.get(name)
    if found is None:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(sorted(known))}."
        raise ConfigurationError(f"table {table}: there is no format '{name}'. {hint}")
    return found
