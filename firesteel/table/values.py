"""Values as users see them, and as the engine holds them.

Users see Python's own: ``datetime``, ``date``, ``time``, ``timedelta``, ``Decimal``, lists, dicts and :class:`Row`. The
engine holds what is quick to compare and to send: days since 1970, milliseconds of a day, points in time counted in the
unit of their precision, milliseconds or months of an interval, tuples for arrays and rows.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.common.types import Row
from firesteel.errors import TypeMismatchError
from firesteel.table.functions.casting import nanos_per_tick
from firesteel.table.functions.dates import instant_of_local
from firesteel.table.functions.numbers import float32, rounded
from firesteel.table.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    StructuredType,
    TimestampType,
    TimeType,
    UserDefinedType,
    VarBinaryType,
    VarCharType,
)

__all__ = ["from_stored", "to_stored"]

Convert = Callable[[Any], Any]
_EPOCH = datetime.datetime(1970, 1, 1)
_DAY_ZERO = datetime.date(1970, 1, 1)
_MICROSECOND, _MILLISECOND = datetime.timedelta(microseconds=1), datetime.timedelta(milliseconds=1)


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def to_stored(data_type: DataType, time_zone: str = "UTC") -> Convert:
    """What makes a user's value one that the engine holds; it raises if the value is not of the type."""
    convert = _to_stored(data_type, time_zone)

    def checked(value: Any) -> Any:
        if value is None:
            if data_type.is_nullable:
                return None
            raise TypeMismatchError(f"NULL is no value of {data_type}.")
        try:
            return convert(value)
        except (TypeError, ValueError, AttributeError, OverflowError, ArithmeticError):
            raise TypeMismatchError(f"{value!r} is no value of {data_type}: it is a {type(value).__name__}.") from None

    return checked


def _to_stored(data_type: DataType, zone: str) -> Convert:
    if isinstance(data_type, (IntegralType, DecimalType, FloatType, DoubleType, BooleanType)):
        return _number(data_type)
    if isinstance(data_type, (CharType, VarCharType)):
        return lambda value: _instance(value, str)
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return lambda value: bytes(_instance(value, (bytes, bytearray)))
    if isinstance(data_type, (DateType, TimeType, TimestampType, LocalZonedTimestampType, DayTimeIntervalType)):
        return _time(data_type, zone)
    if isinstance(data_type, (ArrayType, MultisetType, MapType)):
        return _collection(data_type, zone)
    if isinstance(data_type, (RowType, StructuredType)):
        return _row(data_type, zone)
    if isinstance(data_type, UserDefinedType):
        inner = to_stored(data_type.sql_type(), zone)
        return lambda value: inner(data_type.serialize(value))
    return lambda value: value


def _instance(value: Any, kinds: Any) -> Any:
    if not isinstance(value, kinds):
        raise TypeError
    return value


def _number(data_type: DataType) -> Convert:
    if isinstance(data_type, BooleanType):
        return lambda value: _instance(value, bool)
    if isinstance(data_type, IntegralType):
        low, high = data_type.low, data_type.high

        def whole(value: Any) -> int:
            number = int(_instance(value, int))
            if isinstance(value, bool) or not low <= number <= high:
                raise ValueError
            return number

        return whole
    if isinstance(data_type, DecimalType):

        def decimal(value: Any) -> Decimal:
            fitted = rounded(Decimal(_instance(value, (int, Decimal))), data_type)
            if fitted is None:
                raise ValueError
            return fitted

        return decimal
    if isinstance(data_type, FloatType):
        return lambda value: float32(float(_instance(value, (int, float))))
    return lambda value: float(_instance(value, (int, float)))


def _time(data_type: DataType, zone: str) -> Convert:
    if isinstance(data_type, DateType):
        return lambda value: (_date(value) - _DAY_ZERO).days
    if isinstance(data_type, TimeType):
        return lambda value: ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    if isinstance(data_type, DayTimeIntervalType):
        return lambda value: value // _MILLISECOND
    tick = nanos_per_tick(data_type)
    zoned = isinstance(data_type, LocalZonedTimestampType)

    def point(value: datetime.datetime) -> int:
        _instance(value, datetime.datetime)
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return (value - _EPOCH) // _MICROSECOND * 1000 // tick
        nanos = (value - _EPOCH) // _MICROSECOND * 1000
        return (instant_of_local(nanos, zone) if zoned else nanos) // tick

    return point


def _date(value: Any) -> datetime.date:
    return value.date() if isinstance(value, datetime.datetime) else value


def _collection(data_type: DataType, zone: str) -> Convert:
    parts = [to_stored(part, zone) for part in data_type.parameters()]
    if isinstance(data_type, ArrayType):
        return lambda value: tuple(map(parts[0], _instance(value, (list, tuple))))
    if isinstance(data_type, MultisetType):
        return lambda value: {parts[0](item): int(count) for item, count in value.items()}
    return lambda value: {parts[0](key): parts[1](item) for key, item in value.items()}


def _row(data_type: RowType | StructuredType, zone: str) -> Convert:
    names = data_type.field_names()
    fields = [to_stored(each, zone) for each in data_type.field_types()]

    def row(value: Any) -> tuple[Any, ...]:
        if isinstance(value, Row):
            items: Any = value.get_fields_by_names(names)
        elif isinstance(value, dict):
            items = [value.get(name) for name in names]
        else:
            items = _instance(value, (list, tuple))
        if len(items) != len(fields):
            raise ValueError
        return tuple(convert(item) for convert, item in zip(fields, items))

    return row


def from_stored(data_type: DataType) -> Convert:
    """What makes a value that the engine holds one for users. Points in time come in UTC, without their zone."""
    return _or_none(_from_stored(data_type))


def _from_stored(data_type: DataType) -> Convert:
    if isinstance(data_type, DateType):
        return lambda value: _DAY_ZERO + datetime.timedelta(days=value)
    if isinstance(data_type, TimeType):
        return lambda value: (_EPOCH + datetime.timedelta(milliseconds=value)).time()
    if isinstance(data_type, DayTimeIntervalType):
        return lambda value: datetime.timedelta(milliseconds=value)
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        tick = nanos_per_tick(data_type)
        return lambda value: _EPOCH + datetime.timedelta(microseconds=value * tick // 1000)
    if isinstance(data_type, ArrayType):
        element = from_stored(data_type.element_type)
        return lambda value: [element(item) for item in value]
    if isinstance(data_type, (MapType, MultisetType)):
        key = from_stored(data_type.parameters()[0])
        item = from_stored(data_type.value_type) if isinstance(data_type, MapType) else int
        return lambda value: {key(name): item(each) for name, each in value.items()}
    if isinstance(data_type, (RowType, StructuredType)):
        names = data_type.field_names()
        fields = [from_stored(each) for each in data_type.field_types()]
        return lambda value: Row(**{name: field(each) for name, field, each in zip(names, fields, value)})
    if isinstance(data_type, UserDefinedType):
        inner = from_stored(data_type.sql_type())
        return lambda value: data_type.deserialize(inner(value))
    return lambda value: value
