"""A row of one column whose value is the line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.table.formats.base import LineFormat
from firesteel.table.functions import Session, cast_function, text_function
from firesteel.table.types import DataTypes, RowField

__all__ = ["RawFormat"]


class RawFormat(LineFormat):
    """``'format' = 'raw'``: the table has one column."""

    identifier = "raw"

    def __init__(self, fields: tuple[RowField, ...], settings: Mapping[str, str], session: Session) -> None:
        super().__init__(fields, settings, session)
        if len(fields) != 1:
            raise ConfigurationError(f"the format 'raw' is for tables of one column, this one has {len(fields)}.")
        self._read = cast_function(DataTypes.STRING(), fields[0].data_type, session)
        self._write = text_function(fields[0].data_type, session)

    def read(self, line: str) -> tuple[Any, ...]:
        """The value."""
        return (self._read(line),)

    def write(self, row: tuple[Any, ...]) -> str:
        """The value as text; nothing for NULL."""
        return "" if row[0] is None else str(self._write(row[0]))
