"""Which casts there are: those that happen by themselves, and those that have to be asked for."""

from __future__ import annotations

from firesteel.table.types.base import BooleanType, DataType, DoubleType, FloatType, IntegralType, NullType, VariantType
from firesteel.table.types.common import is_exact_number, is_number
from firesteel.table.types.constructed import ArrayType, MapType, MultisetType, RowType, StructuredType
from firesteel.table.types.decimals import DecimalType
from firesteel.table.types.strings import BinaryType, CharType, VarBinaryType, VarCharType
from firesteel.table.types.temporal import (
    DateType,
    DayTimeIntervalType,
    IntervalType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

__all__ = ["can_cast", "can_cast_implicitly", "is_text"]

_POINTS = (TimestampType, LocalZonedTimestampType)
_BYTES = (BinaryType, VarBinaryType)


def is_text(data_type: DataType) -> bool:
    """Whether the values are texts: CHAR or VARCHAR."""
    return isinstance(data_type, (CharType, VarCharType))


def can_cast_implicitly(source: DataType, target: DataType) -> bool:
    """Whether a value becomes one of the other type without being asked: as an argument, say."""
    if source.is_nullable and not target.is_nullable:
        return False
    if isinstance(source, NullType) or source.nullable() == target.nullable():
        return True
    if isinstance(source, (RowType, StructuredType)) or isinstance(target, (RowType, StructuredType)):
        return _fields_cast(source, target, implicitly=True)
    return _widens(source, target) or _interval_cast(source, target) or _time_cast_by_itself(source, target)


def _widens(source: DataType, target: DataType) -> bool:
    """Texts, bytes and numbers."""
    if is_text(source) and is_text(target):
        return not (isinstance(target, CharType) and isinstance(source, VarCharType))
    if isinstance(source, _BYTES) and isinstance(target, _BYTES):
        return isinstance(target, VarBinaryType) or isinstance(source, BinaryType)
    if isinstance(target, IntegralType):
        return isinstance(source, IntegralType) and source.bits <= target.bits
    if isinstance(target, DecimalType):
        return is_number(source)
    if isinstance(target, DoubleType):
        return is_number(source)
    return isinstance(target, FloatType) and (is_exact_number(source) or isinstance(source, FloatType))


def _interval_cast(source: DataType, target: DataType) -> bool:
    """Between intervals of one kind, and between those of one unit and exact numbers."""
    for kind in (YearMonthIntervalType, DayTimeIntervalType):
        if isinstance(source, kind) and isinstance(target, kind):
            return True
    one_unit = [each for each in (source, target) if isinstance(each, IntervalType) and " TO " not in each.text()]
    numbers = [each for each in (source, target) if is_exact_number(each)]
    return len(one_unit) == 1 and len(numbers) == 1


def _time_cast_by_itself(source: DataType, target: DataType) -> bool:
    if isinstance(source, TimeType):
        return isinstance(target, TimeType)
    if isinstance(source, TimestampType):
        return isinstance(target, (DateType, TimeType, *_POINTS))
    return isinstance(source, LocalZonedTimestampType) and isinstance(target, _POINTS)


def can_cast(source: DataType, target: DataType) -> bool:
    """Whether ``CAST(x AS t)`` is allowed; the value may still turn out not to fit."""
    if isinstance(source, NullType) or source.nullable() == target.nullable():
        return True
    constructed = (RowType, StructuredType, ArrayType, MapType, MultisetType)
    if is_text(target):
        return not isinstance(source, VariantType)
    if isinstance(source, constructed) or isinstance(target, constructed):
        return _fields_cast(source, target, implicitly=False)
    if is_text(source):
        return _text_cast(target)
    return can_cast_implicitly(source.not_null(), target.not_null()) or _plain_cast(source, target)


def _text_cast(target: DataType) -> bool:
    kinds = (BooleanType, *_BYTES, DateType, TimeType, *_POINTS, IntervalType)
    return is_number(target) or isinstance(target, kinds)


def _plain_cast(source: DataType, target: DataType) -> bool:
    if isinstance(source, _BYTES):
        return isinstance(target, _BYTES)
    if isinstance(source, BooleanType):
        return is_number(target)
    if is_number(source):
        to_truth = isinstance(target, BooleanType) and isinstance(source, IntegralType)
        return to_truth or is_number(target) or isinstance(target, _POINTS)
    if isinstance(source, (DateType, TimeType)):
        return isinstance(target, (*_POINTS, type(source)))
    if isinstance(source, _POINTS):
        return is_number(target) or isinstance(target, (DateType, TimeType, *_POINTS))
    return False


def _fields_cast(source: DataType, target: DataType, implicitly: bool) -> bool:
    check = can_cast_implicitly if implicitly else _can_cast_inside
    rows = (RowType, StructuredType)
    if isinstance(source, rows) and isinstance(target, rows):
        pairs = list(zip(source.field_types(), target.field_types()))
        return len(source.fields) == len(target.fields) and all(check(a, b) for a, b in pairs)
    if implicitly or type(source) is not type(target):
        return False
    return all(check(a, b) for a, b in zip(source.parameters(), target.parameters()))


def _can_cast_inside(source: DataType, target: DataType) -> bool:
    return can_cast(source.nullable(), target.nullable())
