"""Rows as lines of values with commas between them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from firesteel.common.config_options import ConfigOptions
from firesteel.table.formats.base import LineFormat
from firesteel.table.functions import Session, cast_function, text_function
from firesteel.table.types import DataTypes, RowField
from firesteel.table.types.casting import is_text

__all__ = ["CsvFormat"]

DELIMITER = ConfigOptions.key("field-delimiter").string_type().default_value(",")
QUOTE = ConfigOptions.key("quote-character").string_type().default_value('"')
NO_QUOTE = ConfigOptions.key("disable-quote-character").boolean_type().default_value(False)
IGNORE_ERRORS = ConfigOptions.key("ignore-parse-errors").boolean_type().default_value(False)
COMMENTS = ConfigOptions.key("allow-comments").boolean_type().default_value(False)
NULL_LITERAL = ConfigOptions.key("null-literal").string_type().no_default_value()


class CsvFormat(LineFormat):
    """``'format' = 'csv'``: as RFC 4180 says; a value that is empty is NULL, except for texts."""

    identifier = "csv"
    options = (DELIMITER, QUOTE, NO_QUOTE, IGNORE_ERRORS, COMMENTS, NULL_LITERAL)

    def __init__(self, fields: tuple[RowField, ...], settings: Mapping[str, str], session: Session) -> None:
        super().__init__(fields, settings, session)
        self._delimiter = str(self.settings[DELIMITER.key]).encode().decode("unicode_escape")
        self._quoting: dict[str, Any] = {"quotechar": self.settings[QUOTE.key]}
        if self.settings[NO_QUOTE.key]:
            self._quoting = {"quoting": csv.QUOTE_NONE, "escapechar": "\\"}
        self._null = self.settings[NULL_LITERAL.key]
        self._texts = [is_text(field.data_type) for field in fields]
        self._reads = [cast_function(DataTypes.STRING(), field.data_type, session) for field in fields]
        self._writes = [text_function(field.data_type, session) for field in fields]

    def read(self, line: str) -> tuple[Any, ...] | None:
        """The values of a line."""
        if self.settings[COMMENTS.key] and line.startswith("#"):
            return None
        (values,) = csv.reader([line], delimiter=self._delimiter, **self._quoting) if line else ([],)
        if len(values) != len(self.fields):
            if not values:
                return None
            raise ValueError(f"it has {len(values)} values, the table {len(self.fields)} columns")
        return tuple([self._value(at, value) for at, value in enumerate(values)])

    def _value(self, at: int, text: str) -> Any:
        if text == self._null or (not text and not self._texts[at]):
            return None
        return self._reads[at](text if self._texts[at] else text.strip())

    def write(self, row: tuple[Any, ...]) -> str:
        """The values of a row, between quotes where they need them."""
        null = "" if self._null is None else self._null
        texts = [null if value is None else write(value) for write, value in zip(self._writes, row)]
        line = io.StringIO()
        csv.writer(line, delimiter=self._delimiter, lineterminator="", **self._quoting).writerow(texts)
        return line.getvalue()
