"""The common type of several: what CASE, COALESCE, ARRAY, UNION and the like make of their branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from firesteel.table.types.base import (
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegralType,
    NullType,
)
from firesteel.table.types.constructed import ArrayType, MapType, MultisetType, RowField, RowType
from firesteel.table.types.decimals import DecimalType, as_decimal, common_decimal
from firesteel.table.types.strings import BinaryType, CharType, LengthType, VarBinaryType, VarCharType
from firesteel.table.types.temporal import (
    DateType,
    DayTimeIntervalType,
    IntervalType,
    LocalZonedTimestampType,
    PreciseTimeType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

__all__ = ["common_type", "is_exact_number", "is_number"]

_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def is_exact_number(data_type: DataType) -> bool:
    """Whether the values are numbers without rounding: whole ones or DECIMAL."""
    return isinstance(data_type, (IntegralType, DecimalType))


def is_number(data_type: DataType) -> bool:
    """Whether the values are numbers."""
    return is_exact_number(data_type) or isinstance(data_type, (FloatType, DoubleType))


def common_type(types: Sequence[DataType]) -> DataType | None:
    """The type that all values of the given types have, NULL included if one of them has it; None if there is none.

    ::

        >>> from firesteel.table import DataTypes
        >>> str(common_type([DataTypes.INT().not_null(), DataTypes.DECIMAL(5, 2).not_null()]))
        'DECIMAL(12, 2) NOT NULL'
    """
    nullable = any(each.is_nullable for each in types)
    known = [each for each in types if not isinstance(each, NullType)]
    if not known:
        return None
    first = known[0]
    if all(each.with_nullability(True) == first.with_nullability(True) for each in known):
        return first.with_nullability(nullable)
    merged = first
    for each in known[1:]:
        both = _merge(merged, each)
        if both is None:
            return None
        merged = both
    return merged.with_nullability(nullable)


def _merge(left: DataType, right: DataType) -> DataType | None:
    """The common type of two, without regard to NULL. The order matters only where Flink lets it."""
    if isinstance(left, (ArrayType, MapType, MultisetType, RowType)):
        return _merge_constructed(left, right)
    if isinstance(left, LengthType) and isinstance(right, LengthType):
        return _merge_lengths(left, right)
    if is_number(left) and is_number(right):
        return _merge_numbers(left, right)
    if isinstance(left, IntervalType) and type(left) is type(right):
        return _merge_intervals(left, right)
    if isinstance(left, BooleanType) and isinstance(right, BooleanType):
        return left
    return _merge_times(left, right)


def _merge_constructed(left: DataType, right: DataType) -> DataType | None:
    if type(left) is not type(right):
        return None
    if isinstance(left, RowType) and isinstance(right, RowType):
        if len(left) != len(right):
            return None
        merged = [common_type([a.data_type, b.data_type]) for a, b in zip(left, right)]
        parts = [part for part in merged if part is not None]
        if len(parts) < len(merged):
            return None
        return RowType([RowField(field.name, part) for field, part in zip(left, parts)])
    pairs = zip(left.parameters(), right.parameters())
    merged = [common_type([a, b]) for a, b in pairs]
    parts = [part for part in merged if part is not None]
    make: Callable[..., DataType] = type(left)
    return make(*parts) if len(parts) == len(merged) else None


def _merge_lengths(left: LengthType, right: LengthType) -> DataType | None:
    texts, bytes_ = (CharType, VarCharType), (BinaryType, VarBinaryType)
    for fixed, varying in (texts, bytes_):
        if isinstance(left, (fixed, varying)) and isinstance(right, (fixed, varying)):
            if isinstance(left, fixed) and isinstance(right, fixed) and left.length == right.length:
                return left
            return varying(max(left.length, right.length))
    return None


def _merge_numbers(left: DataType, right: DataType) -> DataType:
    if isinstance(left, IntegralType) and isinstance(right, IntegralType):
        return left if left.bits >= right.bits else right
    if is_exact_number(left) and is_exact_number(right):
        return common_decimal(as_decimal(left), as_decimal(right))
    if isinstance(left, DoubleType) or isinstance(right, DoubleType):
        return DoubleType()
    # What comes after a FLOAT may be too fine for it; what a FLOAT comes after is made a FLOAT.
    if isinstance(left, FloatType) and isinstance(right, DecimalType):
        return DoubleType()
    return FloatType()


def _merge_intervals(left: DataType, right: DataType) -> DataType:
    if isinstance(left, YearMonthIntervalType) and isinstance(right, YearMonthIntervalType):
        same = left.resolution == right.resolution
        return YearMonthIntervalType(
            left.resolution if same else YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH,
            max(left.precision, right.precision),
        )
    assert isinstance(left, DayTimeIntervalType) and isinstance(right, DayTimeIntervalType)
    units = [unit for each in (left, right) for unit in each.resolution.name.split("_TO_")]
    upper, lower = min(units, key=_UNITS.index), max(units, key=_UNITS.index)
    name = upper if upper == lower else f"{upper}_TO_{lower}"
    return DayTimeIntervalType(
        DayTimeIntervalType.DayTimeResolution[name],
        max(left.day_precision, right.day_precision),
        max(left.fractional_precision, right.fractional_precision),
    )


def _merge_times(left: DataType, right: DataType) -> DataType | None:
    """Dates, times and points in time, with each other and with what can be added to them."""
    zoned, plain = LocalZonedTimestampType, TimestampType
    if isinstance(left, (zoned, plain)) and isinstance(right, (zoned, plain)):
        kind = plain if isinstance(left, plain) and isinstance(right, plain) else zoned
        return kind(max(left.precision, right.precision))
    if isinstance(left, TimeType) and isinstance(right, TimeType):
        return TimeType(max(left.precision, right.precision))
    for point, other in ((left, right), (right, left)):
        if isinstance(point, (DateType, TimeType)) and isinstance(other, plain):
            return point
        if isinstance(point, (DateType, PreciseTimeType)) and isinstance(other, IntervalType):
            return point
        if isinstance(point, (DateType, plain, zoned)) and is_exact_number(other):
            return point
    if _is_of_one_unit(left) and is_exact_number(right):
        return right
    if is_exact_number(left) and _is_of_one_unit(right):
        return right
    return None


def _is_of_one_unit(data_type: DataType) -> bool:
    return isinstance(data_type, IntervalType) and " TO " not in data_type.text()
