"""CAST and TRY_CAST: how a value of one type becomes one of another, and how every value is written as a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from firesteel.common.java_text import double_text, float_text
from firesteel.errors import FiresteelError
from firesteel.table.functions import dates
from firesteel.table.functions.definition import Call, Function, Session, call_error, register
from firesteel.table.functions.numbers import converter, rounded
from firesteel.table.types import (
    ArrayType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    IntervalType,
    LengthType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    StructuredType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
    VariantType,
    YearMonthIntervalType,
    can_cast,
    is_number,
    is_text,
    time_unit,
)

__all__ = ["CastError", "cast_function", "nanos_per_tick", "text_function"]

Cast = Callable[[Any], Any]
_TICKS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


class CastError(FiresteelError, ValueError):
    """A value that does not fit the type that it is cast to."""


def nanos_per_tick(data_type: DataType) -> int:
    """How many nanoseconds a value of TIMESTAMP(p) or TIMESTAMP_LTZ(p) is counted in."""
    assert isinstance(data_type, (TimestampType, LocalZonedTimestampType))
    return _TICKS[time_unit(data_type.precision)]


def _same(value: Any) -> Any:
    return value


def cast_function(source: DataType, target: DataType, session: Session) -> Cast:
    """The function that casts a value that is not NULL; it raises :class:`CastError` if the value does not fit."""
    if isinstance(source, NullType) or source.nullable() == target.nullable():
        return _same
    if is_text(target):
        return _to_text(source, target, session)
    if is_text(source):
        return _from_text(target, session)
    if isinstance(source, (ArrayType, MapType, MultisetType, RowType, StructuredType)):
        return _constructed(source, target, session)
    if is_number(source) and is_number(target):
        return converter(source, target)
    if isinstance(source, BooleanType):
        convert = converter(DataTypes.INT(), target)
        return lambda value: convert(int(value))
    if isinstance(target, BooleanType):
        return lambda value: value != 0
    if isinstance(source, (BinaryType, VarBinaryType)) and isinstance(target, LengthType):
        return _bytes_fit(target)
    return _temporal(source, target, session)


def _constructed(source: DataType, target: DataType, session: Session) -> Cast:
    if isinstance(source, (RowType, StructuredType)) and isinstance(target, (RowType, StructuredType)):
        casts = [_or_null(a, b, session) for a, b in zip(source.field_types(), target.field_types())]
        return lambda row: tuple(cast(value) for cast, value in zip(casts, row))
    if isinstance(source, MapType) and isinstance(target, MapType):
        key, item = (
            _or_null(source.key_type, target.key_type, session),
            _or_null(source.value_type, target.value_type, session),
        )
        return lambda entries: {key(name): item(value) for name, value in entries.items()}
    element = _or_null(source.parameters()[0], target.parameters()[0], session)
    if isinstance(source, MultisetType):
        return lambda entries: {element(name): count for name, count in entries.items()}
    return lambda items: tuple(map(element, items))


def _or_null(source: DataType, target: DataType, session: Session) -> Cast:
    cast = cast_function(source, target, session)
    return lambda value: None if value is None else cast(value)


def _bytes_fit(target: LengthType) -> Cast:
    length = target.length
    if isinstance(target, BinaryType):
        return lambda value: value[:length].ljust(length, b"\0")
    return lambda value: value[:length]


# Texts


def text_function(source: DataType, session: Session) -> Callable[[Any], str]:
    """How CAST writes a value that is not NULL; inside arrays, maps and rows as well."""
    simple = _SIMPLE_TEXTS.get(type(source))
    if simple is not None:
        return simple
    if isinstance(source, (BinaryType, VarBinaryType)):
        return _bytes_text
    if isinstance(source, TimeType):
        precision = source.precision
        return lambda value: dates.time_text(value, precision)
    if isinstance(source, (TimestampType, LocalZonedTimestampType)):
        return _timestamp_text(source, session)
    if isinstance(source, (ArrayType, MultisetType, MapType)):
        return _collection_text(source, session)
    if isinstance(source, StructuredType):
        named = [(field.name, _nested_text(field.data_type, session)) for field in source.fields]
        return lambda row: "(" + ", ".join(f"{name}={text(value)}" for (name, text), value in zip(named, row)) + ")"
    if isinstance(source, RowType):
        fields = [_nested_text(each, session) for each in source.field_types()]
        return lambda row: "(" + ", ".join(text(value) for text, value in zip(fields, row)) + ")"
    return str


def _bytes_text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _timestamp_text(source: TimestampType | LocalZonedTimestampType, session: Session) -> Callable[[Any], str]:
    tick, precision, zone = nanos_per_tick(source), source.precision, session.time_zone
    if isinstance(source, TimestampType):
        return lambda value: dates.timestamp_text(value * tick, precision)
    return lambda value: dates.timestamp_text(dates.local_of_instant(value * tick, zone), precision)


def _nested_text(source: DataType, session: Session) -> Callable[[Any], str]:
    write = text_function(source, session)
    return lambda value: "NULL" if value is None else write(value)


def _collection_text(source: DataType, session: Session) -> Callable[[Any], str]:
    if isinstance(source, ArrayType):
        element = _nested_text(source.element_type, session)
        return lambda items: "[" + ", ".join(map(element, items)) + "]"
    key = _nested_text(source.parameters()[0], session)
    item = _nested_text(source.value_type, session) if isinstance(source, MapType) else str
    return lambda entries: "{" + ", ".join(f"{key(name)}={item(value)}" for name, value in entries.items()) + "}"


def _months_text(months: int) -> str:
    sign, months = ("-", -months) if months < 0 else ("+", months)
    return f"{sign}{months // 12}-{months % 12:02}"


def _millis_text(millis: int) -> str:
    sign, millis = ("-", -millis) if millis < 0 else ("+", millis)
    day, of_day = divmod(millis, dates.DAY_MILLIS)
    return f"{sign}{day} {dates.time_text(of_day, 0)}.{of_day % 1000:03}"


_SIMPLE_TEXTS: dict[type[DataType], Callable[[Any], str]] = {
    CharType: str,
    VarCharType: str,
    BooleanType: lambda value: "TRUE" if value else "FALSE",
    FloatType: float_text,
    DoubleType: double_text,
    DecimalType: lambda value: format(value, "f"),
    DateType: dates.date_text,
    YearMonthIntervalType: _months_text,
    DayTimeIntervalType: _millis_text,
    VariantType: lambda value: value.json(),
    BitmapType: lambda value: "{" + ",".join(map(str, sorted(value))) + "}",
}


def _to_text(source: DataType, target: DataType, session: Session) -> Cast:
    write = text_function(source, session)
    assert isinstance(target, LengthType)
    length = target.length
    if isinstance(target, CharType):
        return lambda value: write(value)[:length].ljust(length)
    if length == 2147483647:
        return write
    return lambda value: write(value)[:length]


_TRUE = {"t", "true", "y", "yes", "1"}
_FALSE = {"f", "false", "n", "no", "0"}


def _from_text(target: DataType, session: Session) -> Cast:
    if isinstance(target, BooleanType):
        return _parse_truth
    if isinstance(target, IntegralType):
        return lambda text: _parse_whole(text, target)
    if isinstance(target, (FloatType, DoubleType)):
        convert = converter(DataTypes.DOUBLE(), target)
        return lambda text: convert(_parse_double(text, target))
    if isinstance(target, DecimalType):
        return lambda text: _parse_decimal(text, target)
    if isinstance(target, (BinaryType, VarBinaryType)):
        fit = _bytes_fit(target)
        return lambda text: fit(text.encode("utf-8", "surrogatepass"))
    return _parse_temporal(target, session)


def _misfit(text: str, target: DataType) -> CastError:
    return CastError(f"cannot cast {text!r} to {target.nullable()}. TRY_CAST gives NULL for what does not fit.")


def _parse_truth(text: str) -> bool:
    word = text.lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise _misfit(text, DataTypes.BOOLEAN())


_WHOLE = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)


def _parse_whole(text: str, target: IntegralType) -> int:
    digits = text.strip(" ")
    if _WHOLE.fullmatch(digits):
        value = int(digits.partition(".")[0] or 0) if digits.partition(".")[0] not in {"+", "-"} else 0
        if target.low <= value <= target.high:
            return value
    raise _misfit(text, target)


def _parse_double(text: str, target: DataType) -> float:
    word = text.strip()
    if re.fullmatch(r"[+-]?(?:NaN|Infinity)", word):
        return float(word)
    if re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?", word, re.ASCII):
        return float(word.rstrip("dDfF"))
    raise _misfit(text, target)


def _parse_decimal(text: str, target: DecimalType) -> Decimal:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise _misfit(text, target) from None
    if "_" in text or not value.is_finite():
        raise _misfit(text, target)
    fitted = rounded(value, target)
    if fitted is None:
        raise _misfit(text, target)
    return fitted


def _parse_temporal(target: DataType, session: Session) -> Cast:
    def parse(text: str) -> Any:
        value = read(text)
        if value is None:
            raise _misfit(text, target)
        return value

    read: Callable[[str], Any]
    if isinstance(target, DateType):
        read = dates.parse_date
    elif isinstance(target, TimeType):
        unit = 10 ** max(0, 3 - target.precision)
        read = lambda text: None if (millis := dates.parse_time(text)) is None else millis - millis % unit  # noqa: E731
    elif isinstance(target, (TimestampType, LocalZonedTimestampType)):
        read = _timestamp_reader(target, session)
    else:
        read = _interval_reader(target)
    return parse


def _timestamp_reader(target: TimestampType | LocalZonedTimestampType, session: Session) -> Callable[[str], int | None]:
    narrow = _narrow(target)

    def read(text: str) -> int | None:
        nanos = dates.parse_timestamp(text)
        if nanos is None:
            return None
        if isinstance(target, LocalZonedTimestampType):
            nanos = dates.instant_of_local(nanos, session.time_zone)
        return narrow(nanos)

    return read


def _interval_reader(target: DataType) -> Callable[[str], int | None]:
    def months(text: str) -> int | None:
        match = re.fullmatch(r"\s*([+-]?)(\d+)-(\d+)\s*", text)
        if match is None:
            return None
        value = int(match.group(2)) * 12 + int(match.group(3))
        return -value if match.group(1) == "-" else value

    def millis(text: str) -> int | None:
        match = re.fullmatch(r"\s*([+-]?)(\d+) (\d+:\d+:\d+(?:\.\d+)?)\s*", text)
        of_day = dates.parse_time(match.group(3)) if match else None
        if match is None or of_day is None:
            return None
        value = int(match.group(2)) * dates.DAY_MILLIS + of_day
        return -value if match.group(1) == "-" else value

    return months if isinstance(target, YearMonthIntervalType) else millis


# Dates and times


def _narrow(target: TimestampType | LocalZonedTimestampType) -> Callable[[int], int]:
    """From nanoseconds to what the type counts in, with no more digits than it has."""
    tick, digits = nanos_per_tick(target), 10 ** (9 - target.precision)
    return lambda nanos: (nanos - nanos % digits) // tick


def _temporal(source: DataType, target: DataType, session: Session) -> Cast:
    points = (TimestampType, LocalZonedTimestampType)
    zone = session.time_zone
    if isinstance(source, points):
        return _from_point(source, target, zone)
    if isinstance(target, points):
        narrow = _narrow(target)
        day = isinstance(source, DateType)
        if not isinstance(source, (DateType, TimeType)):
            return lambda value: narrow(int(value) * 1_000_000)

        def to_point(value: int) -> int:
            nanos = value * (dates.DAY_NANOS if day else 1_000_000)
            return narrow(dates.instant_of_local(nanos, zone) if isinstance(target, LocalZonedTimestampType) else nanos)

        return to_point
    if isinstance(source, TimeType) and isinstance(target, TimeType):
        unit = 10 ** max(0, 3 - target.precision)
        return lambda value: value - value % unit
    if is_number(target):
        return converter(DataTypes.BIGINT(), target)
    if is_number(source):
        unit = _UNITS[target.text().split(" ")[1].partition("(")[0]]
        return lambda value: int(value) * unit
    return _same


_UNITS = {"YEAR": 12, "MONTH": 1, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}


def _from_point(source: DataType, target: DataType, zone: str) -> Cast:
    tick = nanos_per_tick(source)
    zoned = isinstance(source, LocalZonedTimestampType)

    def local(value: int) -> int:
        return dates.local_of_instant(value * tick, zone) if zoned else value * tick

    if isinstance(target, DateType):
        return lambda value: local(value) // dates.DAY_NANOS
    if isinstance(target, TimeType):
        unit = 10 ** max(0, 3 - target.precision)
        return lambda value: local(value) % dates.DAY_NANOS // 1_000_000 // unit * unit
    if isinstance(target, (TimestampType, LocalZonedTimestampType)):
        narrow = _narrow(target)
        if zoned and isinstance(target, TimestampType):
            return lambda value: narrow(local(value))
        if not zoned and isinstance(target, LocalZonedTimestampType):
            return lambda value: narrow(dates.instant_of_local(value * tick, zone))
        return lambda value: narrow(value * tick)
    convert = converter(DataTypes.BIGINT(), target)
    return lambda value: convert(value * tick // 1_000_000_000)


# The functions


def _check(call: Call) -> tuple[DataType, DataType]:
    if len(call.types) != 2:
        raise call_error(call, "takes a value and a type")
    source, target = call.types
    points = (TimestampType, LocalZonedTimestampType)
    allowed = (is_number(source) and isinstance(target, BooleanType)) or can_cast(source, target)
    crosses = (is_number(source) and isinstance(target, points)) or (is_number(target) and isinstance(source, points))
    if crosses or not allowed or (isinstance(source, IntervalType) and is_number(target)):
        reason = " Use TO_TIMESTAMP_LTZ, UNIX_TIMESTAMP or EXTRACT(EPOCH FROM ...) instead" if crosses else ""
        raise call_error(call, f"{source.nullable()} cannot be cast to {target.nullable()}.{reason}".rstrip("."))
    return source, target


def _infer_cast(call: Call) -> DataType:
    source, target = _check(call)
    return _canonical(target).with_nullability(source.is_nullable)


def _infer_try_cast(call: Call) -> DataType:
    return _canonical(_check(call)[1]).nullable()


def _canonical(target: DataType) -> DataType:
    """Whatever units an interval was cast to: it is one of months or one of milliseconds."""
    if isinstance(target, YearMonthIntervalType):
        return DataTypes.INTERVAL(DataTypes.MONTH())
    return DataTypes.INTERVAL(DataTypes.SECOND(3)) if isinstance(target, DayTimeIntervalType) else target


def _make_cast(call: Call) -> Callable[..., Any]:
    cast = cast_function(call.types[0], call.types[1], call.session)
    return lambda value, _target: cast(value)


def _make_try_cast(call: Call) -> Callable[..., Any]:
    cast = cast_function(call.types[0], call.types[1], call.session)

    def attempt(value: Any, _target: Any) -> Any:
        try:
            return cast(value)
        except (CastError, ArithmeticError, ValueError):
            return None

    return attempt


def _cast_or_null(make: Callable[[Call], Callable[..., Any]]) -> Callable[[Call], Callable[..., Any]]:
    """The second argument stands for a type and has no value: so NULL is looked at here."""

    def made(call: Call) -> Callable[..., Any]:
        cast = make(call)
        return lambda value, target: None if value is None else cast(value, target)

    return made


register(Function("CAST", _infer_cast, _cast_or_null(_make_cast), strict=False))
register(Function("TRY_CAST", _infer_try_cast, _cast_or_null(_make_try_cast), strict=False))
