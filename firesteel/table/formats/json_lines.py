"""Rows as objects of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from firesteel.common.config_options import ConfigOptions
from firesteel.errors import ConfigurationError
from firesteel.table.formats.base import LineFormat
from firesteel.table.functions import Session, cast_function, text_function
from firesteel.table.functions.json_functions import json_converter
from firesteel.table.functions.json_text import json_text
from firesteel.table.types import (
    ArrayType,
    BooleanType,
    DataType,
    DataTypes,
    DecimalType,
    LocalZonedTimestampType,
    MapType,
    RowField,
    RowType,
    TimestampType,
)
from firesteel.table.types.casting import is_text

__all__ = ["JsonFormat"]

FAIL_ON_MISSING = ConfigOptions.key("fail-on-missing-field").boolean_type().default_value(False)
IGNORE_ERRORS = ConfigOptions.key("ignore-parse-errors").boolean_type().default_value(False)
TIMESTAMPS = ConfigOptions.key("timestamp-format.standard").string_type().default_value("SQL")
NULL_KEYS = ConfigOptions.key("map-null-key.mode").string_type().default_value("FAIL")
IGNORE_NULL = ConfigOptions.key("encode.ignore-null-fields").boolean_type().default_value(False)

Convert = Callable[[Any], Any]


class JsonFormat(LineFormat):
    """``'format' = 'json'``: a line is an object, with a member for each column."""

    identifier = "json"
    options = (FAIL_ON_MISSING, IGNORE_ERRORS, TIMESTAMPS, NULL_KEYS, IGNORE_NULL)

    def __init__(self, fields: tuple[RowField, ...], settings: Mapping[str, str], session: Session) -> None:
        super().__init__(fields, settings, session)
        standard = str(self.settings[TIMESTAMPS.key])
        if standard not in ("SQL", "ISO-8601"):
            raise ConfigurationError(f"'json.timestamp-format.standard' is SQL or ISO-8601, got {standard!r}.")
        self._iso = standard == "ISO-8601"
        self._strict = bool(self.settings[FAIL_ON_MISSING.key])
        self._reads = [(field.name, _reader(field.data_type, session)) for field in fields]
        self._writes = [(field.name, self._writer(field.data_type)) for field in fields]

    def read(self, line: str) -> tuple[Any, ...] | None:
        """The members of an object; those that are not there are NULL."""
        if not line.strip():
            return None
        found = json.loads(line, parse_float=Decimal)
        if not isinstance(found, dict):
            raise ValueError("it is no object of JSON")
        if self._strict:
            missing = [name for name, _ in self._reads if name not in found]
            if missing:
                raise ValueError(f"there is no field '{missing[0]}'")
        return tuple([read(found.get(name)) for name, read in self._reads])

    def write(self, row: tuple[Any, ...]) -> str:
        """An object with the columns in their order."""
        members = {name: write(value) for (name, write), value in zip(self._writes, row)}
        if self.settings[IGNORE_NULL.key]:
            members = {name: value for name, value in members.items() if value is not None}
        return json_text(members)

    def _writer(self, data_type: DataType) -> Convert:
        if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
            text = text_function(data_type, self.session)
            end = "Z" if isinstance(data_type, LocalZonedTimestampType) else ""
            between = "T" if self._iso else " "
            return lambda value: None if value is None else str(text(value)).replace(" ", between, 1) + end
        return json_converter(data_type, self.session)


def _reader(data_type: DataType, session: Session) -> Convert:
    convert = _value_reader(data_type, session)
    return lambda value: None if value is None else convert(value)


def _value_reader(data_type: DataType, session: Session) -> Convert:
    if isinstance(data_type, ArrayType):
        element = _reader(data_type.element_type, session)
        return lambda value: tuple([element(each) for each in value])
    if isinstance(data_type, MapType):
        key, item = _reader(data_type.key_type, session), _reader(data_type.value_type, session)
        return lambda value: {key(name): item(each) for name, each in value.items()}
    if isinstance(data_type, RowType):
        parts = [(field.name, _reader(field.data_type, session)) for field in data_type.fields]
        return lambda value: tuple([read(value.get(name)) for name, read in parts])
    if is_text(data_type):
        return lambda value: value if isinstance(value, str) else json.dumps(value, default=str)
    from_text = cast_function(DataTypes.STRING(), data_type, session)
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        return lambda value: from_text(str(value).replace("T", " ", 1).removesuffix("Z"))
    if isinstance(data_type, BooleanType):
        return lambda value: value if isinstance(value, bool) else from_text(str(value))
    if isinstance(data_type, DecimalType):
        return lambda value: from_text(str(value))
    return lambda value: from_text(value if isinstance(value, str) else str(value))
