"""Dates, times, points in time and intervals."""

from __future__ import annotations

import copy
import enum
from typing import Any, TypeVar

from firesteel.errors import ConfigurationError
from firesteel.table.types.base import AtomicType, between

__all__ = [
    "DateType",
    "DayTimeIntervalType",
    "IntervalType",
    "LocalZonedTimestampType",
    "PreciseTimeType",
    "Resolution",
    "TimeAttribute",
    "TimeType",
    "TimestampType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
    "interval_of",
]

_Point = TypeVar("_Point", bound="PreciseTimeType")


class TimeAttribute(enum.Enum):
    """What a column of points in time is beside its values: nothing, event time, or processing time."""

    REGULAR = ""
    ROWTIME = " *ROWTIME*"
    PROCTIME = " *PROCTIME*"


class DateType(AtomicType):
    """Days of the calendar, from year 0 to 9999: SQL's DATE."""


class PreciseTimeType(AtomicType):
    """A type of times with `precision` digits of a second, 0 to 9."""

    sql_name = ""

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = between(f"the precision of {self.sql_name}", precision, 0, 9)
        self.attribute = TimeAttribute.REGULAR

    def text(self) -> str:
        """The name with the precision, marked if it is a time attribute."""
        return f"{self.sql_name}({self.precision}){self._suffix()}"

    def __str__(self) -> str:
        plain = f"{self.sql_name}({self.precision})"
        return f"{plain if self.is_nullable else plain + ' NOT NULL'}{self._suffix()}"

    def _suffix(self) -> str:
        return self.attribute.value

    def with_attribute(self: _Point, attribute: TimeAttribute) -> _Point:
        """The same type as event time, as processing time, or as neither."""
        other = copy.copy(self)
        other.attribute = attribute
        return other

    def parameters(self) -> tuple[Any, ...]:
        """The precision, and what it is beside its values."""
        return (self.precision, self.attribute)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.precision}, {str(self.is_nullable).lower()})"


class TimeType(PreciseTimeType):
    """Times of a day: SQL's TIME(p). As in Flink, no more than milliseconds of them are kept."""

    sql_name = "TIME"

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)


class TimestampType(PreciseTimeType):
    """Dates with a time of day, as on a calendar and a clock on the wall: SQL's TIMESTAMP(p)."""

    sql_name = "TIMESTAMP"


class LocalZonedTimestampType(PreciseTimeType):
    """Points in time, written and read in the session's time zone: SQL's TIMESTAMP_LTZ(p)."""

    sql_name = "TIMESTAMP_LTZ"

    def serializable(self) -> str:
        """As a catalog stores it: with all its words."""
        return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE" + ("" if self.is_nullable else " NOT NULL")


class ZonedTimestampType(PreciseTimeType):
    """Points in time that each carry their zone: SQL's TIMESTAMP(p) WITH TIME ZONE. No function takes them."""

    sql_name = "TIMESTAMP"

    def _suffix(self) -> str:
        return " WITH TIME ZONE"

    def __str__(self) -> str:
        return self.text() if self.is_nullable else f"{self.text()} NOT NULL"


class Resolution:
    """One end of an interval: a unit, and how many digits it has (-1: as many as usual)."""

    class IntervalUnit(enum.Enum):
        """The units that an interval can be of."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: Resolution.IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> Resolution.IntervalUnit:
        """The unit."""
        return self._unit

    @property
    def precision(self) -> int:
        """How many digits it has, -1 if that was not said."""
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class IntervalType(AtomicType):
    """A type of distances between two points in time."""


class YearMonthIntervalType(IntervalType):
    """Distances in months: SQL's INTERVAL YEAR TO MONTH and its kin."""

    class YearMonthResolution:
        """The units that such an interval is written in."""

        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    DEFAULT_PRECISION = 2
    _TEXTS = {1: "YEAR({0})", 2: "MONTH", 3: "YEAR({0}) TO MONTH"}

    def __init__(self, resolution: int, precision: int = DEFAULT_PRECISION, nullable: bool = True) -> None:
        super().__init__(nullable)
        if resolution not in self._TEXTS:
            raise ConfigurationError(f"a resolution of YearMonthIntervalType is YEAR, MONTH, ..., got {resolution!r}.")
        self._resolution = resolution
        self._precision = between("the precision of YEAR in an INTERVAL", precision, 1, 4)
        if resolution == 2 and precision != self.DEFAULT_PRECISION:
            raise ConfigurationError(f"an interval of months has no digits of years to choose, got {precision}.")

    @property
    def resolution(self) -> int:
        """The unit that it is written in."""
        return self._resolution

    @property
    def precision(self) -> int:
        """How many digits its years have."""
        return self._precision

    def text(self) -> str:
        """``INTERVAL`` and its units."""
        return f"INTERVAL {self._TEXTS[self._resolution].format(self._precision)}"

    def parameters(self) -> tuple[Any, ...]:
        """Resolution and precision."""
        return (self._resolution, self._precision)


class DayTimeIntervalType(IntervalType):
    """Distances in milliseconds: SQL's INTERVAL DAY TO SECOND and its kin."""

    class DayTimeResolution(enum.Enum):
        """The units that such an interval is written in."""

        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    def __init__(
        self,
        resolution: DayTimeIntervalType.DayTimeResolution,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        if not isinstance(resolution, DayTimeIntervalType.DayTimeResolution):
            raise ConfigurationError(f"a resolution of DayTimeIntervalType is DAY, SECOND, ..., got {resolution!r}.")
        self._resolution = resolution
        self._day_precision = between("the precision of DAY in an INTERVAL", day_precision, 1, 6)
        self._fractional_precision = between("the precision of SECOND in an INTERVAL", fractional_precision, 0, 9)
        has_days, has_seconds = resolution.name.startswith("DAY"), resolution.name.endswith("SECOND")
        if not has_days and day_precision != self.DEFAULT_DAY_PRECISION:
            raise ConfigurationError(f"an interval of {resolution.name} has no days with digits to choose.")
        if not has_seconds and fractional_precision != self.DEFAULT_FRACTIONAL_PRECISION:
            raise ConfigurationError(f"an interval of {resolution.name} has no seconds with digits to choose.")

    @property
    def resolution(self) -> DayTimeIntervalType.DayTimeResolution:
        """The units that it is written in."""
        return self._resolution

    @property
    def day_precision(self) -> int:
        """How many digits its days have."""
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        """How many digits of a second it has."""
        return self._fractional_precision

    def text(self) -> str:
        """``INTERVAL`` and its units."""
        digits = {"DAY": f"DAY({self._day_precision})", "SECOND": f"SECOND({self._fractional_precision})"}
        units = self._resolution.name.split("_TO_")
        return "INTERVAL " + " TO ".join(digits.get(unit, unit) for unit in units)

    def parameters(self) -> tuple[Any, ...]:
        """Resolution and both precisions."""
        return (self._resolution, self._day_precision, self._fractional_precision)


def interval_of(upper: Resolution, lower: Resolution | None = None) -> YearMonthIntervalType | DayTimeIntervalType:
    """The interval type from one unit down to another, as ``DataTypes.INTERVAL`` takes them."""
    names = [upper.unit.name, *([lower.unit.name] if lower is not None else [])]
    name = "_TO_".join(names)
    first = upper.precision
    last = (lower or upper).precision
    months = {"YEAR": 1, "MONTH": 2, "YEAR_TO_MONTH": 3}
    if name in months:
        return YearMonthIntervalType(months[name], first if first >= 0 and "YEAR" in name else 2)
    if name not in DayTimeIntervalType.DayTimeResolution.__members__:
        raise ConfigurationError(
            f"there is no INTERVAL {' TO '.join(names)}. Intervals are of years and months, or of days to seconds."
        )
    return DayTimeIntervalType(
        DayTimeIntervalType.DayTimeResolution[name],
        first if first >= 0 and names[0] == "DAY" else DayTimeIntervalType.DEFAULT_DAY_PRECISION,
        last if last >= 0 and names[-1] == "SECOND" else DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION,
    )
