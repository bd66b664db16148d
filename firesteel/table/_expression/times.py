"""Methods of expressions that are points in time, and of numbers that become intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table._expression.base import ExpressionBase, unit_symbol
from firesteel.table.tree import Apply, Constant, TypeNode
from firesteel.table.types import DataType, DataTypes

if TYPE_CHECKING:
    from firesteel.table.expression import Expression

__all__ = ["TimeExpressions"]


class TimeExpressions(ExpressionBase):
    """Functions of times; windows and their attributes."""

    @property
    def to_date(self) -> Expression:
        """The text as a date."""
        return self.cast(DataTypes.DATE())

    @property
    def to_time(self) -> Expression:
        """The text as a time."""
        return self.cast(DataTypes.TIME(0))

    @property
    def to_timestamp(self) -> Expression:
        """The text as a timestamp."""
        return self.cast(DataTypes.TIMESTAMP(3))

    def cast(self, data_type: DataType) -> Expression:
        """The value as one of another type; it fails if the value does not fit."""
        return self._new(Apply("CAST", (self.node, TypeNode(data_type))))

    def try_cast(self, data_type: DataType) -> Expression:
        """The value as one of another type; NULL if it does not fit."""
        return self._new(Apply("TRY_CAST", (self.node, TypeNode(data_type))))

    def extract(self, time_interval_unit: Any) -> Expression:
        """A part of a point in time: year, month, hour, ..."""
        return self._new(Apply("EXTRACT", (unit_symbol(time_interval_unit), self.node)))

    def _months(self, count: int) -> Expression:
        month = Constant(count, DataTypes.INTERVAL(DataTypes.MONTH()).not_null())
        return self._new(Apply("*", (self.node, month)))

    def _millis(self, count: int) -> Expression:
        unit = Constant(count, DataTypes.INTERVAL(DataTypes.SECOND(3)).not_null())
        return self._new(Apply("*", (self.node, unit)))

    @property
    def year(self) -> Expression:
        """An interval of so many years."""
        return self._months(12)

    @property
    def years(self) -> Expression:
        """An interval of so many years."""
        return self._months(12)

    @property
    def quarter(self) -> Expression:
        """An interval of so many quarters."""
        return self._months(3)

    @property
    def quarters(self) -> Expression:
        """An interval of so many quarters."""
        return self._months(3)

    @property
    def month(self) -> Expression:
        """An interval of so many months."""
        return self._months(1)

    @property
    def months(self) -> Expression:
        """An interval of so many months."""
        return self._months(1)

    @property
    def week(self) -> Expression:
        """An interval of so many weeks."""
        return self._millis(604_800_000)

    @property
    def weeks(self) -> Expression:
        """An interval of so many weeks."""
        return self._millis(604_800_000)

    @property
    def day(self) -> Expression:
        """An interval of so many days."""
        return self._millis(86_400_000)

    @property
    def days(self) -> Expression:
        """An interval of so many days."""
        return self._millis(86_400_000)

    @property
    def hour(self) -> Expression:
        """An interval of so many hours."""
        return self._millis(3_600_000)

    @property
    def hours(self) -> Expression:
        """An interval of so many hours."""
        return self._millis(3_600_000)

    @property
    def minute(self) -> Expression:
        """An interval of so many minutes."""
        return self._millis(60_000)

    @property
    def minutes(self) -> Expression:
        """An interval of so many minutes."""
        return self._millis(60_000)

    @property
    def second(self) -> Expression:
        """An interval of so many seconds."""
        return self._millis(1000)

    @property
    def seconds(self) -> Expression:
        """An interval of so many seconds."""
        return self._millis(1000)

    @property
    def milli(self) -> Expression:
        """An interval of so many milliseconds."""
        return self._millis(1)

    @property
    def millis(self) -> Expression:
        """An interval of so many milliseconds."""
        return self._millis(1)

    @property
    def start(self) -> Expression:
        """When the window begins."""
        return self._apply("WINDOW_START")

    @property
    def end(self) -> Expression:
        """When the window ends, which is the first moment after it."""
        return self._apply("WINDOW_END")

    @property
    def rowtime(self) -> Expression:
        """The column, or the window's end, as event time."""
        return self._apply("ROWTIME")

    @property
    def proctime(self) -> Expression:
        """The column, or the window, as processing time."""
        return self._apply("PROCTIME_ATTRIBUTE")
