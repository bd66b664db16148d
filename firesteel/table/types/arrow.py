"""Logical types as Arrow's, and back.

Points in time stay whole numbers: TIMESTAMP(p) is counted in seconds, milliseconds, microseconds or nanoseconds,
whichever is the coarsest that holds p digits. The greatest precision reaches from 1677 to 2262 only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from firesteel.errors import TypeMismatchError
from firesteel.table.types.base import (
    MAX_LENGTH,
    BigIntType,
    BitmapType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntType,
    NullType,
    SmallIntType,
    TinyIntType,
    VariantType,
)
from firesteel.table.types.constructed import (
    ArrayType,
    MapType,
    MultisetType,
    RawType,
    RowField,
    RowType,
    StructuredType,
    UserDefinedType,
)
from firesteel.table.types.decimals import DecimalType
from firesteel.table.types.strings import BinaryType, CharType, VarBinaryType, VarCharType
from firesteel.table.types.temporal import (
    DateType,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

__all__ = ["create_arrow_schema", "from_arrow_type", "time_unit", "to_arrow_type"]

_UNITS = ("s", "ms", "us", "ns")
_PRECISIONS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def time_unit(precision: int) -> str:
    """The coarsest of Arrow's units (s, ms, us, ns) that holds so many digits of a second."""
    return _UNITS[(precision + 2) // 3]


_TO_ARROW: dict[type[DataType], Callable[[Any], pa.DataType]] = {
    NullType: lambda t: pa.null(),
    BooleanType: lambda t: pa.bool_(),
    TinyIntType: lambda t: pa.int8(),
    SmallIntType: lambda t: pa.int16(),
    IntType: lambda t: pa.int32(),
    BigIntType: lambda t: pa.int64(),
    FloatType: lambda t: pa.float32(),
    DoubleType: lambda t: pa.float64(),
    DecimalType: lambda t: pa.decimal128(t.precision, t.scale),
    CharType: lambda t: pa.utf8(),
    VarCharType: lambda t: pa.utf8(),
    BinaryType: lambda t: pa.binary(t.length),
    VarBinaryType: lambda t: pa.binary(),
    DateType: lambda t: pa.date32(),
    TimeType: lambda t: (pa.time32 if t.precision <= 3 else pa.time64)(time_unit(t.precision)),
    TimestampType: lambda t: pa.timestamp(time_unit(t.precision)),
    LocalZonedTimestampType: lambda t: pa.timestamp(time_unit(t.precision), "UTC"),
    YearMonthIntervalType: lambda t: pa.int32(),
    DayTimeIntervalType: lambda t: pa.duration("ms"),
    ArrayType: lambda t: pa.list_(_field("item", t.element_type)),
    MultisetType: lambda t: pa.map_(to_arrow_type(t.element_type), pa.int32()),
    MapType: lambda t: pa.map_(to_arrow_type(t.key_type), _field("value", t.value_type)),
    RowType: lambda t: pa.struct([_field(field.name, field.data_type) for field in t]),
    StructuredType: lambda t: to_arrow_type(t.row_type),
    RawType: lambda t: pa.binary(),
    VariantType: lambda t: pa.utf8(),
    BitmapType: lambda t: pa.binary(),
}


def to_arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type whose arrays hold values of a logical type.

    RAW is held as pickled bytes, VARIANT as JSON, BITMAP as its bytes, an interval of months as a number, a multiset
    as a map to counts.
    """
    if isinstance(data_type, UserDefinedType):
        return to_arrow_type(data_type.sql_type())
    make = _TO_ARROW.get(type(data_type))
    if make is None:
        raise TypeMismatchError(f"no Arrow array holds values of type {data_type}.")
    return make(data_type)


def _field(name: str, data_type: DataType) -> pa.Field:
    return pa.field(name, to_arrow_type(data_type), data_type.is_nullable)


def create_arrow_schema(field_names: list[str], field_types: list[DataType]) -> pa.Schema:
    """The Arrow schema of a table with these columns."""
    return pa.schema([_field(name, data_type) for name, data_type in zip(field_names, field_types)])


_FROM_ARROW: list[tuple[Callable[[Any], bool], Callable[[Any], DataType]]] = [
    (pa.types.is_null, lambda t: NullType()),
    (pa.types.is_boolean, lambda t: BooleanType()),
    (pa.types.is_int8, lambda t: TinyIntType()),
    (pa.types.is_int16, lambda t: SmallIntType()),
    (pa.types.is_int32, lambda t: IntType()),
    (pa.types.is_int64, lambda t: BigIntType()),
    (pa.types.is_float32, lambda t: FloatType()),
    (pa.types.is_float64, lambda t: DoubleType()),
    (pa.types.is_decimal128, lambda t: DecimalType(t.precision, t.scale)),
    (pa.types.is_string, lambda t: VarCharType(MAX_LENGTH)),
    (pa.types.is_large_string, lambda t: VarCharType(MAX_LENGTH)),
    (pa.types.is_fixed_size_binary, lambda t: BinaryType(t.byte_width)),
    (pa.types.is_binary, lambda t: VarBinaryType(MAX_LENGTH)),
    (pa.types.is_large_binary, lambda t: VarBinaryType(MAX_LENGTH)),
    (pa.types.is_date32, lambda t: DateType()),
    (pa.types.is_time, lambda t: TimeType(_PRECISIONS[t.unit])),
    (pa.types.is_timestamp, lambda t: _timestamp(t)),
    (
        pa.types.is_duration,
        lambda t: DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.SECOND, fractional_precision=3),
    ),
    (pa.types.is_map, lambda t: MapType(from_arrow_type(t.key_type, False), _nested(t.item_field))),
    (pa.types.is_list, lambda t: ArrayType(_nested(t.value_field))),
    (pa.types.is_large_list, lambda t: ArrayType(_nested(t.value_field))),
    (pa.types.is_dictionary, lambda t: from_arrow_type(t.value_type)),
    (pa.types.is_struct, lambda t: RowType([RowField(field.name, _nested(field)) for field in t])),
]


def _timestamp(arrow_type: Any) -> DataType:
    kind = LocalZonedTimestampType if arrow_type.tz else TimestampType
    return kind(_PRECISIONS[arrow_type.unit])


def _nested(field: Any) -> DataType:
    return from_arrow_type(field.type, field.nullable)


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> DataType:
    """The logical type of values that come in Arrow arrays of a type."""
    for fits, make in _FROM_ARROW:
        if fits(arrow_type):
            return make(arrow_type).with_nullability(nullable)
    raise TypeMismatchError(f"values of Arrow's type {arrow_type} have no logical type. Cast the column before.")
