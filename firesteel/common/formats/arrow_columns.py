"""Columns of Arrow for declared row types: what Parquet and ORC files are made of, and batches of columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from firesteel.common.formats.fields import field_values
from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PojoTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import Row
from firesteel.errors import UnsupportedError

__all__ = ["Column", "Convert", "apply", "columns", "each", "row_columns"]

# How a value becomes what Arrow takes, or comes back from it; None: as it is.
Convert = Callable[[Any], Any] | None
# Arrow's type, and the way there and back.
Column = tuple[Any, Convert, Convert]


def row_columns(row_type: RowTypeInfo, utc: bool) -> dict[str, Column]:
    """The columns of a row type by name.

    :param utc: Whether a date and time without a zone is one of UTC, not of the machine's zone.
    """
    return dict(zip(row_type.get_field_names(), columns(row_type, utc)))


def columns(row_type: RowTypeInfo, utc: bool) -> list[Column]:
    """Arrow's type of each field, and how values go there and come back.

    :raises UnsupportedError: A type has no column.
    """
    return [_column(kind, utc, name) for name, kind in zip(row_type.get_field_names(), row_type.get_field_types())]


def _column(kind: TypeInformation, utc: bool, where: str) -> Column:
    import pyarrow as pa

    if isinstance(kind, BasicTypeInfo) and kind == Types.INSTANT():
        return pa.timestamp("ns", "UTC"), _instant_to_nanos, _instant_from_arrow
    if isinstance(kind, TimestampTypeInfo):
        return pa.timestamp("us", "UTC"), _to_utc(utc), _from_utc(utc)
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return pa.binary(), bytes, None
    if isinstance(kind, (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo)):
        element, there, back = _column(kind.element_type, utc, f"{where}[]")
        return pa.list_(element), each(there), each(back)
    if isinstance(kind, MapTypeInfo):
        return _map_column(kind, utc, where)
    if isinstance(kind, (RowTypeInfo, PojoTypeInfo)):
        return _struct_column(kind, utc, where)
    return _plain_type(kind, where), None, None


def _plain_type(kind: TypeInformation, where: str) -> Any:
    import pyarrow as pa

    for known, arrow in (
        (Types.STRING(), pa.string()),
        (BasicTypeInfo(BasicType.CHAR), pa.string()),
        (Types.BOOLEAN(), pa.bool_()),
        (Types.BYTE(), pa.int8()),
        (Types.SHORT(), pa.int16()),
        (Types.INT(), pa.int32()),
        (Types.LONG(), pa.int64()),
        (Types.FLOAT(), pa.float32()),
        (Types.DOUBLE(), pa.float64()),
        (Types.BIG_DEC(), pa.decimal128(38, 18)),
        (DateTypeInfo(), pa.date32()),
        (TimeTypeInfo(), pa.time64("us")),
    ):
        if kind == known:
            return arrow
    raise UnsupportedError(
        f"field {where!r} is declared as {kind}, for which files in columns have none here. Map it to a text, "
        "number, date, time, list, map or row."
    )


def _map_column(kind: MapTypeInfo, utc: bool, where: str) -> Column:
    import pyarrow as pa

    key, key_there, key_back = _column(kind.key_type, utc, f"{where} key")
    item, item_there, item_back = _column(kind.value_type, utc, f"{where}[]")

    def there(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
        return [(apply(key_there, k), apply(item_there, v)) for k, v in value.items()]

    def back(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
        return {apply(key_back, k): apply(item_back, v) for k, v in pairs}

    return pa.map_(key, item), there, back


def _struct_column(kind: RowTypeInfo | PojoTypeInfo, utc: bool, where: str) -> Column:
    import pyarrow as pa

    names = kind.get_field_names()
    parts = [_column(field, utc, f"{where}.{name}") for name, field in zip(names, kind.get_field_types())]
    template = Row(*names)

    def there(value: Any) -> dict[str, Any]:
        values = zip(names, field_values(value, names, "nested"), parts)
        return {name: apply(convert, item) for name, item, (_, convert, _) in values}

    def back(value: dict[str, Any]) -> Row:
        return template(*(apply(convert, value[name]) for name, (_, _, convert) in zip(names, parts)))

    return pa.struct([pa.field(name, column) for name, (column, _, _) in zip(names, parts)]), there, back


def apply(convert: Convert, value: Any) -> Any:
    """A value converted, unless it is None."""
    return value if value is None or convert is None else convert(value)


def each(convert: Convert) -> Convert:
    """The conversion of a list whose elements are converted."""
    return list if convert is None else lambda values: [apply(convert, value) for value in values]


def _to_utc(utc: bool) -> Convert:
    def convert(value: datetime.datetime) -> datetime.datetime:
        if value.tzinfo is None and utc:
            return value.replace(tzinfo=datetime.timezone.utc)
        return value.astimezone(datetime.timezone.utc)

    return convert


def _from_utc(utc: bool) -> Convert:
    def convert(value: datetime.datetime) -> datetime.datetime:
        aware = value.replace(tzinfo=datetime.timezone.utc) if value.tzinfo is None else value
        return aware.astimezone(datetime.timezone.utc if utc else None).replace(tzinfo=None)

    return convert


def _instant_to_nanos(value: Instant) -> int:
    return value.seconds * 1_000_000_000 + value.nanos


def _instant_from_arrow(value: Any) -> Instant:
    seconds, nanos = divmod(value.value, 1_000_000_000)
    return Instant(seconds, nanos)
