"""How ``print`` shows a record: ``str()``, or as Flink writes a record of the type that is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common import java_text
from firesteel.common.typeinfo import (
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    MapTypeInfo,
    NullableTypeInfo,
    PickledBytesTypeInfo,
    PojoTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    element_type_of,
)
from firesteel.common.types import Row, RowKind

Text = Callable[[Any], str]


class LineFormat:
    """From record to text. A record that does not fit the declared type is an error.

    ::

        >>> LineFormat(None, "print")((1, "a"))
        "(1, 'a')"
        >>> LineFormat(Types.TUPLE([Types.INT(), Types.STRING()]), "print")((1, "a"))
        '(1,a)'
    """

    def __init__(self, type_info: TypeInformation | None, where: str) -> None:
        self._type = type_info
        self._where = where
        self._text: Text | None = None  # made where it is used: types travel, functions inside functions need not

    def __call__(self, record: Any) -> str:
        if self._type is None or isinstance(self._type, (PickledBytesTypeInfo, PojoTypeInfo)):
            return str(record)
        if self._text is None:
            self._text = text_of(self._type)
        self._type.ensure(record, f"a record of {self._where}")
        return self._text(record)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_text": None}


def text_of(type_info: TypeInformation | None) -> Text:
    """The function that writes values of a type as Flink does."""
    if isinstance(type_info, BasicTypeInfo):
        return {Types.FLOAT(): java_text.float_text, Types.DOUBLE(): _double}.get(type_info, java_text.value_text)
    if isinstance(type_info, (NullableTypeInfo, ExternalTypeInfo)):
        return _or_null(text_of(type_info.get_type_info()))
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info)
    if isinstance(type_info, TupleTypeInfo):
        fields = [_or_null(text_of(field_type)) for field_type in type_info.get_field_types()]
        return lambda value: f"({','.join(_each(fields, value))})"
    if isinstance(type_info, MapTypeInfo):
        key, item = text_of(type_info.key_type), _or_null(text_of(type_info.value_type))
        return lambda value: java_text.map_text((key(name), item(each)) for name, each in value.items())
    if isinstance(type_info, DateTypeInfo):
        return str
    element = element_type_of(type_info)
    return java_text.value_text if element is None else _items(_or_null(text_of(element)))


def _double(value: float) -> str:
    return java_text.double_text(float(value))


def _row(type_info: RowTypeInfo) -> Text:
    names = type_info.get_field_names()
    fields = [_or_null(text_of(field_type)) for field_type in type_info.get_field_types()]

    def text(value: Any) -> str:
        kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
        if isinstance(value, dict):
            value = [value.get(name) for name in names]
        elif isinstance(value, Row) and value._fields is not None:
            value = value.get_fields_by_names(names)
        return java_text.row_text(kind, _each(fields, value))

    return text


def _items(item: Text) -> Text:
    def text(value: Any) -> str:
        signed = java_text.signed_byte_text if isinstance(value, (bytes, bytearray)) else item
        return java_text.list_text(map(signed, value))

    return text


def _each(texts: Iterable[Text], values: Iterable[Any]) -> Iterable[str]:
    return (text(value) for text, value in zip(texts, values))


def _or_null(text: Text) -> Text:
    return lambda value: "null" if value is None else text(value)
