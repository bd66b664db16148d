"""Dates and times: their parts, formats and differences, and the time it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.table.functions import dates
from firesteel.table.functions.casting import CastError, cast_function, nanos_per_tick
from firesteel.table.functions.definition import Call, Function, Session, call_error, register
from firesteel.table.functions.java_patterns import Parsed, PatternError, format_time, parse_time_text
from firesteel.table.functions.signatures import (
    ANY,
    INTEGER,
    NUMBER,
    STRING,
    TEXT,
    Check,
    check_arguments,
    gives,
    gives_nullable,
    scalar,
)
from firesteel.table.functions.temporal_arithmetic import TEMPORAL, UNIT_NANOS, to_local, to_value
from firesteel.table.types import (
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    IntervalType,
    LocalZonedTimestampType,
    NullType,
    TimeAttribute,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
    is_number,
    is_text,
)

__all__: list[str] = []

BIGINT = DataTypes.BIGINT()
INT = DataTypes.INT()
_POINT: Check = ("a date, time or timestamp", lambda t: isinstance(t, TEMPORAL))
_PART_OF: Check = ("a date, time, timestamp or interval", lambda t: isinstance(t, (*TEMPORAL, IntervalType)))
_LONG_MIN = -(1 << 63)
_DEFAULT_PATTERN = "yyyy-MM-dd HH:mm:ss"


# EXTRACT and its short forms


def _iso_week(day: int) -> tuple[int, int]:
    """Year and week by ISO 8601: weeks begin on Monday, the first has the year's first Thursday in it."""
    thursday = day - (day + 3) % 7 + 3
    year = dates.civil(thursday)[0]
    return year, (thursday - dates.days(year, 1, 1)) // 7 + 1


def _century(year: int, length: int) -> int:
    return (year + length - 1) // length


_DATE_PARTS: dict[str, Callable[[int], int]] = {
    "YEAR": lambda day: dates.civil(day)[0],
    "QUARTER": lambda day: (dates.civil(day)[1] + 2) // 3,
    "MONTH": lambda day: dates.civil(day)[1],
    "WEEK": lambda day: _iso_week(day)[1],
    "DAY": lambda day: dates.civil(day)[2],
    "DOY": lambda day: day - dates.days(dates.civil(day)[0], 1, 1) + 1,
    "DOW": lambda day: (day + 4) % 7 + 1,
    "ISODOW": lambda day: (day + 3) % 7 + 1,
    "ISOYEAR": lambda day: _iso_week(day)[0],
    "DECADE": lambda day: dates.civil(day)[0] // 10,
    "CENTURY": lambda day: _century(dates.civil(day)[0], 100),
    "MILLENNIUM": lambda day: _century(dates.civil(day)[0], 1000),
}
_TIME_PARTS: dict[str, Callable[[int], int]] = {
    "HOUR": lambda nanos: nanos // 3_600_000_000_000,
    "MINUTE": lambda nanos: nanos // 60_000_000_000 % 60,
    "SECOND": lambda nanos: nanos // 1_000_000_000 % 60,
    "MILLISECOND": lambda nanos: nanos // 1_000_000 % 1_000,
    "MICROSECOND": lambda nanos: nanos // 1_000 % 1_000_000,
    "NANOSECOND": lambda nanos: nanos % 1_000_000_000,
}


def _infer_extract(call: Call) -> DataType:
    check_arguments(call, (ANY, _PART_OF))
    unit, point = call.literal(0), call.types[1]
    known = unit in _DATE_PARTS or unit in _TIME_PARTS or unit == "EPOCH"
    date_in_time = isinstance(point, TimeType) and unit in _DATE_PARTS
    if not known or date_in_time:
        raise call_error(call, f"{unit} is no part of {point.nullable()}")
    return BIGINT.with_nullability(point.is_nullable)


def _make_extract(call: Call) -> Callable[[Any, Any], int]:
    unit, point = call.literal(0), call.types[1]
    if isinstance(point, IntervalType):
        part = _interval_part(unit, point)
        return lambda _unit, value: part(value)
    part = _part(unit, point, call.session)
    return lambda _unit, value: part(value)


def _part(unit: str, point: DataType, session: Session) -> Callable[[int], int]:
    zone = session.time_zone
    if unit == "EPOCH":
        if isinstance(point, LocalZonedTimestampType):
            tick = nanos_per_tick(point)
            return lambda value: value * tick // 1_000_000_000
        return lambda value: to_local(value, point, zone) // 1_000_000_000
    if unit in _DATE_PARTS:
        of_date = _DATE_PARTS[unit]
        return lambda value: of_date(to_local(value, point, zone) // dates.DAY_NANOS)
    of_time = _TIME_PARTS[unit]
    return lambda value: of_time(to_local(value, point, zone) % dates.DAY_NANOS)


def _toward_zero(value: int, unit: int) -> int:
    return value // unit if value >= 0 else -(-value // unit)


def _interval_part(unit: str, interval: DataType) -> Callable[[int], int]:
    if isinstance(interval, YearMonthIntervalType):
        if unit == "YEAR":
            return lambda months: _toward_zero(months, 12)
        return lambda months: months - _toward_zero(months, 12) * 12
    nanos = UNIT_NANOS.get(unit, dates.DAY_NANOS)
    within = {"DAY": 10**30, "HOUR": 24, "MINUTE": 60, "SECOND": 60}.get(unit, 10**30)

    def part(millis: int) -> int:
        value = _toward_zero(millis * 1_000_000, nanos)
        return value % within if value >= 0 else -(-value % within)

    return part


register(Function("EXTRACT", _infer_extract, _make_extract))


def _register_part(name: str, unit: str) -> None:
    def infer(call: Call) -> DataType:
        check_arguments(call, (_POINT,))
        if isinstance(call.types[0], TimeType) and unit in _DATE_PARTS:
            raise call_error(call, f"{unit} is no part of a time")
        return BIGINT.with_nullability(call.nullable)

    register(Function(name, infer, lambda call: _part(unit, call.types[0], call.session)))


for _name, _unit in (
    *(("YEAR", "YEAR"), ("QUARTER", "QUARTER"), ("MONTH", "MONTH"), ("WEEK", "WEEK"), ("DAYOFYEAR", "DOY")),
    *(("DAYOFMONTH", "DAY"), ("DAYOFWEEK", "DOW"), ("HOUR", "HOUR"), ("MINUTE", "MINUTE"), ("SECOND", "SECOND")),
):
    _register_part(_name, _unit)


# Differences


def _infer_add(call: Call) -> DataType:
    check_arguments(call, (ANY, INTEGER, _POINT))
    unit, point = call.literal(0), call.types[2]
    if isinstance(point, DateType) and unit in {"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"}:
        return TimestampType(6).with_nullability(call.nullable)
    return point.with_nullability(call.nullable)


def _make_add(call: Call) -> Callable[[Any, int, int], int]:
    unit, point, zone = call.literal(0), call.types[2], call.session.time_zone
    result = call.result
    assert result is not None
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}.get(unit)

    def add(_unit: Any, amount: int, value: int) -> int:
        local = to_local(value, point, zone)
        if months is not None:
            day, rest = divmod(local, dates.DAY_NANOS)
            moved = dates.add_months(day, amount * months) * dates.DAY_NANOS + rest
        else:
            moved = local + amount * UNIT_NANOS[unit]
        if isinstance(result, TimeType):
            moved %= dates.DAY_NANOS
        return to_value(moved, result, zone)

    return add


def _infer_difference(call: Call) -> DataType:
    check_arguments(call, (ANY, _POINT, _POINT))
    if any(isinstance(each, TimeType) for each in call.types[1:]) and not all(
        isinstance(each, (TimeType, NullType)) for each in call.types[1:]
    ):
        raise call_error(call, "a time and a date have no difference")
    return INT.with_nullability(call.nullable)


def _make_difference(call: Call) -> Callable[[Any, int, int], int]:
    unit, zone = call.literal(0), call.session.time_zone
    first, second = call.types[1:]
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}.get(unit)

    def difference(_unit: Any, start: int, end: int) -> int:
        earlier, later = to_local(start, first, zone), to_local(end, second, zone)
        if months is not None:
            return _toward_zero(dates.months_between(later, earlier), months)
        return _toward_zero(later - earlier, UNIT_NANOS[unit])

    return difference


register(Function("TIMESTAMPADD", _infer_add, _make_add))
register(Function("TIMESTAMPDIFF", _infer_difference, _make_difference))


def _infer_overlaps(call: Call) -> DataType:
    check_arguments(call, (_POINT, _PART_OF, _POINT, _PART_OF))
    return DataTypes.BOOLEAN().with_nullability(call.nullable)


def _make_overlaps(call: Call) -> Callable[..., bool]:
    zone, types = call.session.time_zone, call.types

    def end_of(start: int, end: int, kind: DataType) -> int:
        if isinstance(kind, YearMonthIntervalType):
            day, rest = divmod(start, dates.DAY_NANOS)
            return dates.add_months(day, end) * dates.DAY_NANOS + rest
        return start + end * 1_000_000 if isinstance(kind, DayTimeIntervalType) else to_local(end, kind, zone)

    def overlaps(start: int, end: int, other_start: int, other_end: int) -> bool:
        first = to_local(start, types[0], zone)
        second = to_local(other_start, types[2], zone)
        low, high = sorted((first, end_of(first, end, types[1])))
        other_low, other_high = sorted((second, end_of(second, other_end, types[3])))
        return high >= other_low and other_high >= low

    return overlaps


register(Function("OVERLAPS", _infer_overlaps, _make_overlaps, aliases=("TEMPORALOVERLAPS",)))


# Texts by patterns


def _offset(local: int, zone: str) -> int:
    return (local - dates.instant_of_local(local, zone)) // 1_000_000_000


def _infer_date_format(call: Call) -> DataType:
    allowed: Check = (
        "a timestamp or a text",
        lambda t: is_text(t) or isinstance(t, (TimestampType, LocalZonedTimestampType)),
    )
    check_arguments(call, (allowed, TEXT))
    return STRING


def _make_date_format(call: Call) -> Callable[[Any, str], str | None]:
    point, zone = call.types[0], call.session.time_zone
    if not is_text(point):
        return lambda value, pattern: format_time(to_local(value, point, zone), pattern, zone=zone)

    def reformat(text: str, pattern: str) -> str | None:
        nanos = dates.parse_timestamp(text) if " " in text.strip() else None
        return None if nanos is None else format_time(nanos, pattern)

    return reformat


register(Function("DATE_FORMAT", _infer_date_format, _make_date_format))


def _make_from_unixtime(call: Call) -> Callable[..., str | None]:
    zone = call.session.time_zone

    def write(seconds: Any, pattern: str = _DEFAULT_PATTERN) -> str | None:
        local = dates.local_of_instant(int(seconds) * 1_000_000_000, zone)
        try:
            return format_time(local, pattern, _offset(local, zone), zone, lenient=True)
        except PatternError:
            return None

    return write


scalar("FROM_UNIXTIME", (NUMBER, TEXT), gives_nullable(STRING), make=_make_from_unixtime, least=1)


def _instant(parsed: Parsed, zone: str) -> int:
    if parsed.offset is not None:
        return parsed.nanos - parsed.offset * 1_000_000_000
    return dates.instant_of_local(parsed.nanos, zone)


def _make_unix_timestamp(call: Call) -> Callable[..., int]:
    zone, now = call.session.time_zone, call.session.now
    if not call.arguments:
        return lambda: now() // 1_000_000_000

    def read(text: str, pattern: str = _DEFAULT_PATTERN) -> int:
        try:
            return _instant(parse_time_text(text, pattern, lenient=True), zone) // 1_000_000_000
        except PatternError:
            return _LONG_MIN

    return read


scalar("UNIX_TIMESTAMP", (TEXT, TEXT), gives(BIGINT), make=_make_unix_timestamp, least=0, deterministic=False)


def _convert_zone(text: str, source: str, target: str) -> str | None:
    try:
        parsed = parse_time_text(text, _DEFAULT_PATTERN, lenient=True)
        local = dates.local_of_instant(
            dates.instant_of_local(parsed.nanos, _lenient_zone(source)), _lenient_zone(target)
        )
        return format_time(local, _DEFAULT_PATTERN)
    except PatternError:
        return None


def _lenient_zone(name: str) -> str:
    """Java takes a zone that it does not know as Greenwich."""
    try:
        dates.zone(name)
    except ConfigurationError:
        return "UTC"
    return name


scalar("CONVERT_TZ", (TEXT, TEXT, TEXT), gives_nullable(STRING), _convert_zone)


def _read_date(text: str, pattern: str | None = None) -> int | None:
    if pattern is None:
        return dates.parse_date(text)
    try:
        return parse_time_text(text, pattern).nanos // dates.DAY_NANOS
    except PatternError:
        return None


def _read_local(text: str, pattern: str | None = None) -> int | None:
    """Nanoseconds by a pattern; without one, or if it is the usual one, as CAST reads a timestamp."""
    if pattern is None or pattern == _DEFAULT_PATTERN:
        return dates.parse_timestamp(text)
    try:
        return parse_time_text(text, pattern).nanos
    except PatternError:
        return None


def _read_timestamp(text: str, pattern: str | None = None) -> int | None:
    nanos = _read_local(text, pattern)
    return None if nanos is None else nanos // 1_000_000


def _infer_interval(call: Call) -> DataType:
    points: Check = ("a date, time or timestamp", lambda t: isinstance(t, TEMPORAL))
    check_arguments(call, (points, points, ANY))
    return call.types[2].with_nullability(any(each.is_nullable for each in call.types[:2]))


def _make_interval(call: Call) -> Callable[..., int | None]:
    zone, (first, second, kind) = call.session.time_zone, call.types
    months = isinstance(kind, YearMonthIntervalType)

    def between(later: Any, earlier: Any, _kind: Any) -> int | None:
        if later is None or earlier is None:
            return None
        end, start = to_local(later, first, zone), to_local(earlier, second, zone)
        return dates.months_between(end, start) if months else (end - start) // 1_000_000

    return between


register(Function("INTERVAL BETWEEN", _infer_interval, _make_interval, strict=False))
scalar("TO_DATE", (TEXT, TEXT), gives_nullable(DataTypes.DATE()), _read_date, least=1)
scalar("TO_TIMESTAMP", (TEXT, TEXT), gives_nullable(DataTypes.TIMESTAMP(3)), _read_timestamp, least=1)


def _infer_to_ltz(call: Call) -> DataType:
    first: Check = ("a number or a text", lambda t: is_number(t) or is_text(t))
    check_arguments(call, (first, ANY, TEXT), least=1)
    if is_text(call.types[0]):
        check_arguments(call, (TEXT, TEXT, TEXT), least=1)
    elif len(call.arguments) > 1:
        check_arguments(call, (NUMBER, INTEGER))
        precision = call.literal(1)
        if precision is not None and not 0 <= precision <= 9:
            raise call_error(call, "the precision of a number is 0, for seconds, up to 9, for nanoseconds")
        return DataTypes.TIMESTAMP_LTZ(max(3, precision or 0))
    return DataTypes.TIMESTAMP_LTZ(3)


def _make_to_ltz(call: Call) -> Callable[..., int | None]:
    if is_text(call.types[0]):

        def read(text: str, pattern: str | None = None, zone: str = "UTC") -> int:
            local = _read_local(text, pattern)
            if local is None:
                raise CastError(
                    f"TO_TIMESTAMP_LTZ: {text!r} is not a timestamp of the form {pattern or _DEFAULT_PATTERN}."
                )
            return dates.instant_of_local(local, zone) // 1_000_000

        return read
    result = call.result
    assert result is not None
    tick = nanos_per_tick(result)

    def count(number: Any, precision: int = 3) -> int:
        whole = number if isinstance(number, float) else int(number)
        return int(whole * 10 ** (9 - precision)) // tick

    return count


register(Function("TO_TIMESTAMP_LTZ", _infer_to_ltz, _make_to_ltz))

# The time it is


def _clock(name: str, result: DataType, aliases: tuple[str, ...] = ()) -> None:
    """A function without arguments that gives the time of the session, as a value of its type."""

    def make(call: Call) -> Callable[[], Any]:
        now = call.session.now
        cast = cast_function(DataTypes.TIMESTAMP_LTZ(9), result, call.session)
        return lambda: cast(now())

    register(Function(name, lambda call: result.not_null(), make, deterministic=False, aliases=aliases))


_clock("CURRENT_DATE", DataTypes.DATE(), ("CURRENTDATE",))
_clock("CURRENT_TIME", DataTypes.TIME(0), ("CURRENTTIME",))
_clock("LOCALTIME", DataTypes.TIME(0))
_clock("CURRENT_TIMESTAMP", DataTypes.TIMESTAMP_LTZ(3), ("CURRENTTIMESTAMP", "NOW"))
_clock("CURRENT_ROW_TIMESTAMP", DataTypes.TIMESTAMP_LTZ(3), ("CURRENTROWTIMESTAMP",))
_clock("LOCALTIMESTAMP", DataTypes.TIMESTAMP(3))
_clock("PROCTIME", DataTypes.TIMESTAMP_LTZ(3).with_attribute(TimeAttribute.PROCTIME))

scalar(
    "CURRENT_DATABASE",
    (),
    lambda call: STRING.not_null(),
    make=lambda call: lambda: call.session.current_database,
    aliases=("CURRENTDATABASE",),
)
