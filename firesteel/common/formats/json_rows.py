"""JSON objects as Rows."""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Callable
from typing import Any

from firesteel.common.formats.fields import Unreadable, expect_row_type, field_values, malformed
from firesteel.common.formats.json_schema import row_type_of_schema
from firesteel.common.formats.text_values import BYTES, read_text, text_reader, text_writer
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    MapTypeInfo,
    NullableTypeInfo,
    PickledBytesTypeInfo,
    PojoTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    _ArrayTypeInfo,
)
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError, UnsupportedError

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]

_Convert = Callable[[Any], Any]


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads one JSON object per message, as a Row of a declared type.

    ::

        >>> from firesteel.common import Types
        >>> schema = JsonRowDeserializationSchema.builder().type_info(
        ...     Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])).build()
        >>> schema.deserialize(b'{"id": 7, "name": "Fred"}')
        Row(id=7, name='Fred')

    Fields that the type does not name are left out. Dates and times are texts of RFC 3339, bytes are base64.

    :param type_info: Names and types of the fields.
    :param fail_on_missing_field: Whether a field that is not there is an error; it is None otherwise.
    :param ignore_parse_errors: Whether a message that is no JSON object is left out, and a field that cannot be read
        is None; both are errors otherwise.
    """

    def __init__(
        self, type_info: RowTypeInfo, fail_on_missing_field: bool = False, ignore_parse_errors: bool = False
    ) -> None:
        if fail_on_missing_field and ignore_parse_errors:
            raise ConfigurationError(
                "a JSON schema either fails on a missing field or ignores parse errors, both were asked for. Choose "
                "one."
            )
        self._arguments = (type_info, fail_on_missing_field, ignore_parse_errors)
        self._type_info = expect_row_type(type_info, "JsonRowDeserializationSchema")
        self._ignore = ignore_parse_errors
        self._convert = _Reading(fail_on_missing_field, ignore_parse_errors).converter(self._type_info, "the message")
        # Decimals keep the digits that a float would lose, but cost time.
        self._parse_float = decimal.Decimal if _has_decimal(self._type_info) else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Begin a schema."""
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes) -> Row | None:
        """The row of one message, or None if it is malformed and parse errors are ignored.

        :raises MalformedRecordError: The message cannot be read.
        """
        try:
            row: Row = self._convert(json.loads(message, parse_float=self._parse_float))
        except (Unreadable, ValueError, RecursionError) as error:
            if self._ignore:
                return None
            raise malformed("JSON", message, error) from error
        return row

    def get_produced_type(self) -> TypeInformation:
        """The declared row type."""
        return self._type_info

    class Builder:
        """Says what the messages hold: by a row type, or by a JSON schema."""

        def __init__(self) -> None:
            self._type_info: Any = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Names and types of the fields."""
            self._type_info = expect_row_type(type_info, "type_info()")
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Names and types of the fields, from a JSON Schema: numbers are decimals, integers of any size.

            :raises UnsupportedError: The schema uses what has no row type.
            """
            self._type_info = row_type_of_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """A field that is not there is an error."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Leave out what is no JSON object, and set fields that cannot be read to None."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema."""
            if self._type_info is None:
                raise ConfigurationError("a JSON schema needs to know its fields. Call type_info() or json_schema().")
            return JsonRowDeserializationSchema(self._type_info, self._fail_on_missing_field, self._ignore_parse_errors)


class JsonRowSerializationSchema(SerializationSchema):
    """Writes Rows of a declared type as JSON objects, one per message.

    ::

        >>> from firesteel.common import Row, Types
        >>> schema = JsonRowSerializationSchema.builder().with_type_info(
        ...     Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])).build()
        >>> schema.serialize(Row(7, "Fred"))
        b'{"id":7,"name":"Fred"}'

    :param type_info: Names and types of the fields.
    """

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type_info = expect_row_type(type_info, "JsonRowSerializationSchema")
        self._write = _writer(self._type_info, "the row")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._type_info,)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Begin a schema."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, element: Any) -> bytes:
        """The JSON object of one record, in UTF-8.

        :raises TypeMismatchError: The record is not of the declared type.
        """
        return self._write(element).encode()

    class Builder:
        """Says what the rows hold."""

        def __init__(self) -> None:
            self._type_info: Any = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Names and types of the fields."""
            self._type_info = expect_row_type(type_info, "with_type_info()")
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema."""
            if self._type_info is None:
                raise ConfigurationError("a JSON schema needs to know its fields. Call with_type_info().")
            return JsonRowSerializationSchema(self._type_info)


# --- reading ------------------------------------------------------------------------------------------


class _Reading:
    """Makes the functions that turn parsed JSON into values of declared types."""

    def __init__(self, fail_on_missing_field: bool, ignore_parse_errors: bool) -> None:
        self._fail_on_missing_field = fail_on_missing_field
        self._ignore = ignore_parse_errors

    def converter(self, kind: TypeInformation, where: str) -> _Convert:
        """How a value of a type is made, where it is not null."""
        if isinstance(kind, NullableTypeInfo):
            return self.converter(kind.value_type_info, where)
        if isinstance(kind, PickledBytesTypeInfo):
            return lambda value: value
        if isinstance(kind, (RowTypeInfo, PojoTypeInfo)):
            return self._row(kind, where)
        if isinstance(kind, TupleTypeInfo):
            return self._tuple(kind, where)
        if isinstance(kind, MapTypeInfo):
            return self._map(kind, where)
        if isinstance(kind, _ArrayTypeInfo) and kind != BYTES:
            return self._array(kind, where)
        return _simple(kind, where)

    def _nullable(self, convert: _Convert) -> _Convert:
        ignore = self._ignore

        def read(value: Any) -> Any:
            if value is None:
                return None
            try:
                return convert(value)
            except Unreadable:
                if not ignore:
                    raise
                return None

        return read

    def _row(self, kind: RowTypeInfo | PojoTypeInfo, where: str) -> _Convert:
        names = kind.get_field_names()
        fields = [
            (name, self._nullable(self.converter(field, f"{where}.{name}")))
            for name, field in zip(names, kind.get_field_types())
        ]
        template, strict = Row(*names), self._fail_on_missing_field

        def read(value: Any) -> Row:
            if not isinstance(value, dict):
                raise Unreadable(f"expected an object with the fields {', '.join(names)}, got {value!r:.60}")
            values = []
            for name, convert in fields:
                if strict and name not in value:
                    raise Unreadable("there is no such field", name)
                try:
                    values.append(convert(value.get(name)))
                except Unreadable as error:
                    raise error.inside(name) from error
            return template(*values)

        return read

    def _tuple(self, kind: TupleTypeInfo, where: str) -> _Convert:
        fields = [self._nullable(self.converter(field, where)) for field in kind.get_field_types()]

        def read(value: Any) -> tuple[Any, ...]:
            if not isinstance(value, list) or len(value) != len(fields):
                raise Unreadable(f"expected an array of {len(fields)} values, got {value!r:.60}")
            return tuple(convert(item) for convert, item in zip(fields, value))

        return read

    def _array(self, kind: _ArrayTypeInfo, where: str) -> _Convert:
        element = self._nullable(self.converter(kind.element_type, f"{where}[]"))

        def read(value: Any) -> list[Any]:
            if not isinstance(value, list):
                raise Unreadable(f"expected an array, got {value!r:.60}")
            return [_at(f"[{index}]", element, item) for index, item in enumerate(value)]

        return read

    def _map(self, kind: MapTypeInfo, where: str) -> _Convert:
        key = _simple(kind.key_type, f"{where} key")
        item = self._nullable(self.converter(kind.value_type, f"{where}[]"))

        def read(value: Any) -> dict[Any, Any]:
            if not isinstance(value, dict):
                raise Unreadable(f"expected an object, got {value!r:.60}")
            return {_at(f"key {name!r}", key, name): _at(f"[{name!r}]", item, held) for name, held in value.items()}

        return read


def _at(place: str, convert: _Convert, value: Any) -> Any:
    try:
        return convert(value)
    except Unreadable as error:
        raise error.inside(place) from error


def _simple(kind: TypeInformation, where: str) -> _Convert:
    read = text_reader(kind)
    if read is None:
        raise UnsupportedError(
            f"{where} is declared as {kind}, which JSON has no form for here. Use basic types, dates and times, rows, "
            "arrays and maps."
        )
    if kind == BasicTypeInfo(BasicType.STRING):
        return _text_of
    if not isinstance(kind, BasicTypeInfo):
        return lambda value: read_text(kind, value if isinstance(value, str) else _wrong(kind, value), read)

    usual: Any = kind.usual_class
    bounds, is_real = kind.bounds, kind.basic_type in (BasicType.FLOAT, BasicType.DOUBLE)

    def convert(value: Any) -> Any:
        if type(value) is usual and (bounds is None or bounds[0] <= value < bounds[1]):
            return value
        if is_real and isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, bool) or not isinstance(value, (str, int, float, decimal.Decimal)):
            return _wrong(kind, value)
        return read_text(kind, value if isinstance(value, str) else _number_text(value), read)

    return convert


def _number_text(value: float | decimal.Decimal) -> str:
    """A number as text; 7.0 counts as 7 where whole numbers are wanted."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)


def _text_of(value: Any) -> str:
    """Any JSON value as text, as Flink has it: texts as they are, all else as JSON writes it."""
    return (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    )


def _wrong(kind: TypeInformation, value: Any) -> str:
    raise Unreadable(f"expected {kind}, got {value!r:.60} ({type(value).__name__})")


def _has_decimal(kind: TypeInformation) -> bool:
    if isinstance(kind, (RowTypeInfo, PojoTypeInfo, TupleTypeInfo)):
        return any(map(_has_decimal, kind.get_field_types()))
    if isinstance(kind, MapTypeInfo):
        return _has_decimal(kind.value_type)
    if isinstance(kind, NullableTypeInfo):
        return _has_decimal(kind.value_type_info)
    if isinstance(kind, _ArrayTypeInfo):
        return _has_decimal(kind.element_type)
    return kind == BasicTypeInfo(BasicType.BIG_DEC)


# --- writing ------------------------------------------------------------------------------------------

# The text is put together here, not by the json module: that writes decimals as floats, and loses digits.
_quoted = json.encoder.encode_basestring
_Write = Callable[[Any], str]


def _writer(kind: TypeInformation, where: str) -> _Write:
    """How a value of a type is written, where it is not None."""
    if isinstance(kind, NullableTypeInfo):
        return _writer(kind.value_type_info, where)
    if isinstance(kind, PickledBytesTypeInfo):
        return lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(kind, (RowTypeInfo, PojoTypeInfo)):
        return _row_writer(kind, where)
    if isinstance(kind, TupleTypeInfo):
        fields = [_nullable(_writer(field, where)) for field in kind.get_field_types()]
        return lambda value: f"[{','.join(write(item) for write, item in zip(fields, _checked(kind, value, where)))}]"
    if isinstance(kind, MapTypeInfo):
        return _map_writer(kind, where)
    if isinstance(kind, _ArrayTypeInfo) and kind != BYTES:
        element = _nullable(_writer(kind.element_type, f"{where}[]"))
        return lambda value: f"[{','.join(map(element, _checked(kind, value, where)))}]"
    return _simple_writer(kind, where)


def _nullable(write: _Write) -> _Write:
    return lambda value: "null" if value is None else write(value)


def _row_writer(kind: RowTypeInfo | PojoTypeInfo, where: str) -> _Write:
    names = kind.get_field_names()
    fields = [
        (f"{_quoted(name)}:", _nullable(_writer(field, f"{where}.{name}")))
        for name, field in zip(names, kind.get_field_types())
    ]

    def write(value: Any) -> str:
        values = field_values(value, names, "JSON")
        return f"{{{','.join(start + convert(item) for (start, convert), item in zip(fields, values))}}}"

    return write


def _map_writer(kind: MapTypeInfo, where: str) -> _Write:
    key = text_writer(kind.key_type, rfc3339=True)
    if key is None:
        raise UnsupportedError(f"{where} is a map with keys of {kind.key_type}; the keys of JSON objects are texts.")
    item = _nullable(_writer(kind.value_type, f"{where}[]"))

    def write(value: Any) -> str:
        pairs = _checked(kind, value, where).items()
        return f"{{{','.join(f'{_quoted(key(name))}:{item(held)}' for name, held in pairs)}}}"

    return write


def _simple_writer(kind: TypeInformation, where: str) -> _Write:
    as_text = text_writer(kind, rfc3339=True)
    if as_text is None:
        raise UnsupportedError(
            f"{where} is declared as {kind}, which JSON has no form for here. Use basic types, dates and times, rows, "
            "arrays and maps."
        )
    is_number = isinstance(kind, BasicTypeInfo) and kind.basic_type not in _TEXTS

    def write(value: Any) -> str:
        text = as_text(_checked(kind, value, where))
        return text if is_number and text not in ("NaN", "Infinity", "-Infinity") else _quoted(text)

    return write


_TEXTS = (BasicType.STRING, BasicType.CHAR, BasicType.INSTANT)


def _checked(kind: TypeInformation, value: Any, where: str) -> Any:
    wrong = kind.check(value)
    if wrong is not None:
        raise TypeMismatchError(f"{where} is declared as {kind} for JSON: {wrong}. Pass a fitting value.")
    return value
