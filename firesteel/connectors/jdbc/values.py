"""Values on their way: the fields of a record as parameters of a statement, and what a query gives as rows."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Sequence
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    PojoTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError

__all__ = ["field_names", "field_types", "parameters_of", "row_maker"]

Converter = Callable[[Any], Any]

_LOCAL_DATE = LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)
_LOCAL_TIME = LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME)
_LOCAL_DATE_TIME = LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME)


def field_types(type_info: TypeInformation) -> list[TypeInformation]:
    """The types of a record's fields: one, if a record is a single value."""
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo, PojoTypeInfo)):
        return list(type_info.get_field_types())
    return [type_info]


def field_names(type_info: TypeInformation, asker: str) -> list[str]:
    """The names of a record's fields."""
    if isinstance(type_info, (RowTypeInfo, PojoTypeInfo)):
        return list(type_info.get_field_names())
    raise ConfigurationError(f"{asker} needs a type with names, Types.ROW_NAMED(...), got {type_info}")


# ---- to the database -----------------------------------------------------------------------------------------------


def _to_datetime(value: Instant) -> datetime.datetime:
    base = datetime.datetime.fromtimestamp(value.seconds, datetime.timezone.utc)
    return base.replace(microsecond=value.nanos // 1000)


def _to_bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, (bytes, bytearray)) else bytes(each & 0xFF for each in value)


def _outward(type_info: TypeInformation, sqlite: bool) -> Converter | None:
    """How a value becomes what a driver takes; None: it is that already."""
    if type_info == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return _to_bytes
    if isinstance(type_info, BasicTypeInfo) and type_info.basic_type is BasicType.INSTANT:
        return (lambda value: _to_datetime(value).isoformat(" ")) if sqlite else _to_datetime
    if not sqlite:
        return None
    if isinstance(type_info, BasicTypeInfo) and type_info.basic_type is BasicType.BIG_DEC:
        return str
    if isinstance(type_info, TimestampTypeInfo) or type_info == _LOCAL_DATE_TIME:
        return lambda value: value.isoformat(" ")
    if isinstance(type_info, (DateTypeInfo, TimeTypeInfo, LocalTimeTypeInfo)):
        return lambda value: value.isoformat()
    return None


def parameters_of(type_info: TypeInformation, sqlite: bool) -> Callable[[Any], Sequence[Any]]:
    """What takes a record apart into parameters. SQLite has no dates and decimals: there they are texts."""
    take = _taker(type_info)
    converters = [_outward(each, sqlite) for each in field_types(type_info)]
    if not any(converters):
        return take

    def convert(value: Any) -> Sequence[Any]:
        return [
            item if item is None or converter is None else converter(item)
            for item, converter in zip(take(value), converters, strict=True)
        ]

    return convert


def _taker(type_info: TypeInformation) -> Callable[[Any], Sequence[Any]]:
    if not isinstance(type_info, (RowTypeInfo, TupleTypeInfo, PojoTypeInfo)):
        return lambda value: (value,)
    if isinstance(type_info, TupleTypeInfo):
        return tuple
    names = list(type_info.get_field_names())

    def take(value: Any) -> Sequence[Any]:
        if isinstance(value, dict):
            return [value.get(name) for name in names]
        if isinstance(value, (Row, tuple, list)):
            return tuple(value)
        return [getattr(value, name) for name in names]

    return take


# ---- from the database ---------------------------------------------------------------------------------------------


def _date(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.date()
    return datetime.date.fromisoformat(value) if isinstance(value, str) else value


def _datetime(value: Any) -> Any:
    return datetime.datetime.fromisoformat(value) if isinstance(value, str) else value


def _time(value: Any) -> Any:
    if isinstance(value, datetime.timedelta):  # MySQL's TIME
        return (datetime.datetime.min + value).time()
    return datetime.time.fromisoformat(value) if isinstance(value, str) else value


def _instant(value: Any) -> Any:
    found = _datetime(value)
    aware = found if found.tzinfo is not None else found.replace(tzinfo=datetime.timezone.utc)
    since = aware - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return Instant(since.days * 86400 + since.seconds, since.microseconds * 1000)


_INWARD: dict[BasicType, Converter] = {
    BasicType.BOOLEAN: bool,
    BasicType.FLOAT: float,
    BasicType.DOUBLE: float,
    BasicType.BIG_DEC: lambda value: value if isinstance(value, decimal.Decimal) else decimal.Decimal(str(value)),
    BasicType.INSTANT: _instant,
    **dict.fromkeys((BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT), int),
}


def _inward(type_info: TypeInformation) -> Converter | None:
    if isinstance(type_info, BasicTypeInfo):
        return _INWARD.get(type_info.basic_type)
    if isinstance(type_info, TimestampTypeInfo) or type_info == _LOCAL_DATE_TIME:
        return _datetime
    if isinstance(type_info, DateTypeInfo) or type_info == _LOCAL_DATE:
        return _date
    if isinstance(type_info, TimeTypeInfo) or type_info == _LOCAL_TIME:
        return _time
    return bytes if isinstance(type_info, PrimitiveArrayTypeInfo) else None


def row_maker(type_info: TypeInformation | None) -> Callable[[Sequence[str], Sequence[Sequence[Any]]], list[Any]]:
    """What makes records of the rows of a query, given the names of its columns.

    Without a type they are rows with the names of the columns and the driver's values.
    """
    if type_info is None:
        return lambda names, rows: [Row(*names)(*row) for row in rows]
    converters = [_inward(each) for each in field_types(type_info)]
    if isinstance(type_info, TupleTypeInfo):
        make: Callable[..., Any] = lambda *values: values  # noqa: E731
    elif isinstance(type_info, (RowTypeInfo, PojoTypeInfo)):
        make = Row(*type_info.get_field_names())
    else:
        make = lambda value: value  # noqa: E731

    def records(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Any]:
        if len(names) != len(converters):
            raise ConfigurationError(
                f"the query gives {len(names)} columns ({', '.join(names)}), the declared type has {len(converters)}"
            )
        return [
            make(
                *(
                    item if item is None or converter is None else converter(item)
                    for item, converter in zip(row, converters)
                )
            )
            for row in rows
        ]

    return records
