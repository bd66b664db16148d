"""Dates, times and intervals with + - * /, and FLOOR and CEIL to a unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.table.functions import dates
from firesteel.table.functions.casting import nanos_per_tick
from firesteel.table.functions.definition import Call, call_error
from firesteel.table.types import (
    DataType,
    DateType,
    IntervalType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
    common_type,
    is_number,
)

__all__ = ["UNIT_NANOS", "infer", "infer_rounding", "make", "make_rounding", "to_local", "to_value"]

POINTS = (TimestampType, LocalZonedTimestampType)
TEMPORAL = (DateType, TimeType, *POINTS)
UNIT_NANOS = {
    "WEEK": 7 * dates.DAY_NANOS,
    "DAY": dates.DAY_NANOS,
    "HOUR": 3_600_000_000_000,
    "MINUTE": 60_000_000_000,
    "SECOND": 1_000_000_000,
    "MILLISECOND": 1_000_000,
    "MICROSECOND": 1_000,
    "NANOSECOND": 1,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def infer(call: Call) -> DataType | None:
    """The type of an operation on dates, times and intervals; None if there is none among the arguments."""
    left, right = call.types
    if not any(isinstance(each, (*TEMPORAL, IntervalType)) for each in (left, right)):
        return None
    found = _infer(call, left, right)
    if found is None:
        raise call_error(call, f"{left.nullable()} {call.name} {right.nullable()} means nothing")
    return found.with_nullability(call.nullable)


def _infer(call: Call, left: DataType, right: DataType) -> DataType | None:
    if isinstance(left, IntervalType) and isinstance(right, IntervalType):
        return common_type([left, right]) if call.name in "+-" and type(left) is type(right) else None
    if isinstance(left, IntervalType) and is_number(right):
        return left if call.name == "*" else None
    if is_number(left) and isinstance(right, IntervalType):
        return right if call.name == "*" else None
    if isinstance(left, TEMPORAL) and isinstance(right, IntervalType) and call.name in "+-":
        return left
    if isinstance(left, IntervalType) and isinstance(right, TEMPORAL) and call.name == "+":
        return right
    return None


def make(call: Call) -> Callable[[Any, Any], Any] | None:
    """The function of an operation on dates, times and intervals; None if there is none among the arguments."""
    left, right = call.types
    if isinstance(left, IntervalType) and not isinstance(right, TEMPORAL):
        return _make_interval(call, right)
    if is_number(left) and isinstance(right, IntervalType):
        return lambda a, b: int(b * a)
    if isinstance(right, IntervalType):
        move = _make_move(call, left, right)
        sign = -1 if call.name == "-" else 1
        return lambda point, interval: move(point, sign * interval)
    if isinstance(left, IntervalType):
        move = _make_move(call, right, left)
        return lambda interval, point: move(point, interval)
    return None


def _make_interval(call: Call, right: DataType) -> Callable[[Any, Any], Any]:
    if call.name == "+":
        return lambda a, b: a + b
    if call.name == "-":
        return lambda a, b: a - b
    return lambda a, b: int(a * b)


def _make_move(call: Call, point: DataType, interval: IntervalType) -> Callable[[int, int], int]:
    months = isinstance(interval, YearMonthIntervalType)
    if isinstance(point, TimeType):
        return lambda value, amount: value if months else (value + amount) % dates.DAY_MILLIS
    if isinstance(point, DateType):
        if months:
            return dates.add_months
        return lambda value, amount: value + amount // dates.DAY_MILLIS
    tick = nanos_per_tick(point)
    if not months:
        return lambda value, amount: value + amount * 1_000_000 // tick

    def move(value: int, amount: int) -> int:
        # Also points in time are moved by the calendar of UTC, as in Flink.
        day, rest = divmod(value * tick, dates.DAY_NANOS)
        return (dates.add_months(day, amount) * dates.DAY_NANOS + rest) // tick

    return move


def to_local(value: int, point: DataType, zone: str) -> int:
    """A value of a date, time or timestamp type as nanoseconds since 1970 by the clock on the wall."""
    if isinstance(point, DateType):
        return value * dates.DAY_NANOS
    if isinstance(point, TimeType):
        return value * 1_000_000
    nanos = value * nanos_per_tick(point)
    return dates.local_of_instant(nanos, zone) if isinstance(point, LocalZonedTimestampType) else nanos


def to_value(nanos: int, point: DataType, zone: str) -> int:
    """The reverse of :func:`to_local`."""
    if isinstance(point, DateType):
        return nanos // dates.DAY_NANOS
    if isinstance(point, TimeType):
        return nanos // 1_000_000
    if isinstance(point, LocalZonedTimestampType):
        nanos = dates.instant_of_local(nanos, zone)
    return nanos // nanos_per_tick(point)


# FLOOR(t TO unit) and CEIL(t TO unit)

_YEARS = {"YEAR": 1, "DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}


def infer_rounding(call: Call) -> DataType:
    """The type of FLOOR or CEIL to a unit: that of the point in time."""
    point = call.types[0]
    unit = call.literal(1)
    if not isinstance(point, TEMPORAL):
        raise call_error(call, "rounding to a unit is for dates, times and timestamps")
    if unit not in UNIT_NANOS and unit not in _MONTHS and unit not in _YEARS:
        raise call_error(call, f"there is no rounding to {unit}")
    return point


def make_rounding(call: Call, upward: bool) -> Callable[[int, Any], int]:
    """FLOOR or CEIL to a unit."""
    point, unit, zone = call.types[0], call.literal(1), call.session.time_zone

    def rounded(value: int, _unit: Any) -> int:
        local = to_local(value, point, zone)
        lower = _floor(local, unit)
        if upward and lower < local:
            lower = _next(lower, unit)
        return to_value(lower, point, zone)

    return rounded


def _floor(nanos: int, unit: str) -> int:
    if unit == "WEEK":
        day = nanos // dates.DAY_NANOS
        return (day - (day + 4) % 7) * dates.DAY_NANOS
    if unit in UNIT_NANOS:
        return nanos - nanos % UNIT_NANOS[unit]
    year, month, _ = dates.civil(nanos // dates.DAY_NANOS)
    if unit in _MONTHS and unit != "YEAR":
        step = _MONTHS[unit]
        return dates.days(year, (month - 1) // step * step + 1, 1) * dates.DAY_NANOS
    return dates.days(_first_year(year, unit), 1, 1) * dates.DAY_NANOS


def _first_year(year: int, unit: str) -> int:
    """Decades begin with years that end with 0, centuries and millennia with those that end with 1."""
    step = _YEARS[unit]
    return year - year % step if step <= 10 else year - (year - 1) % step


def _next(nanos: int, unit: str) -> int:
    if unit in UNIT_NANOS:
        return nanos + UNIT_NANOS[unit]
    months = _MONTHS.get(unit) or 12 * _YEARS[unit]
    return dates.add_months(nanos // dates.DAY_NANOS, months) * dates.DAY_NANOS
