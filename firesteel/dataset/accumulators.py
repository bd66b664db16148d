"""Values that all tasks of a program add to, and that its result holds: counters, lists, averages, histograms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "ListAccumulator",
    "LongCounter",
    "LongMaximum",
    "LongMinimum",
]


class Accumulator(ABC):
    """A value to add to. Each task has its own; the results of all successful tasks are merged."""

    @abstractmethod
    def add(self, value: Any) -> None:
        """Add a value."""

    @abstractmethod
    def get_local_value(self) -> Any:
        """What this task has so far."""

    @abstractmethod
    def reset_local(self) -> None:
        """Begin anew."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Take in the accumulator of another task."""


class IntCounter(Accumulator):
    """Adds up whole numbers."""

    def __init__(self, value: int = 0) -> None:
        self._value: Any = value

    def add(self, value: Any = 1) -> None:
        """Add a number, 1 if none is given."""
        self._value += value

    def get_local_value(self) -> Any:
        """The sum of this task."""
        return self._value

    def reset_local(self) -> None:
        """Back to zero."""
        self._value = type(self._value)()

    def merge(self, other: Any) -> None:
        """Add another sum."""
        self._value += other.get_local_value()


class LongCounter(IntCounter):
    """Adds up whole numbers; Python has one kind of them."""


class DoubleCounter(IntCounter):
    """Adds up numbers."""

    def __init__(self, value: float = 0.0) -> None:
        super().__init__()
        self._value = float(value)


class _Extreme(Accumulator):
    """The largest or the smallest value; None while there is none."""

    _choose = staticmethod(max)

    def __init__(self) -> None:
        self._value: Any = None

    def add(self, value: Any) -> None:
        """Look at a value."""
        if value is not None:
            self._value = value if self._value is None else self._choose(self._value, value)

    def get_local_value(self) -> Any:
        """The extreme value of this task, or None."""
        return self._value

    def reset_local(self) -> None:
        """Forget everything."""
        self._value = None

    def merge(self, other: Any) -> None:
        """Look at another extreme."""
        self.add(other.get_local_value())


class IntMaximum(_Extreme):
    """The largest value."""


class IntMinimum(_Extreme):
    """The smallest value."""

    _choose = staticmethod(min)


class LongMaximum(IntMaximum):
    """The largest value."""


class LongMinimum(IntMinimum):
    """The smallest value."""


class DoubleMaximum(IntMaximum):
    """The largest value."""


class DoubleMinimum(IntMinimum):
    """The smallest value."""


class AverageAccumulator(Accumulator):
    """The mean of all values."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._count = 0

    def add(self, value: float) -> None:
        """Add a number."""
        self._sum += value
        self._count += 1

    def get_local_value(self) -> float:
        """The mean so far; 0.0 if there is none."""
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        """Forget everything."""
        self._sum, self._count = 0.0, 0

    def totals(self) -> tuple[float, int]:
        """Sum and count of the values."""
        return self._sum, self._count

    def merge(self, other: Any) -> None:
        """Take in another mean, weighted by its values."""
        total, count = other.totals()
        self._sum += total
        self._count += count


class ListAccumulator(Accumulator):
    """All values, in order within each task."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def add(self, value: Any) -> None:
        """Append a value."""
        self._values.append(value)

    def get_local_value(self) -> list[Any]:
        """The values of this task."""
        return list(self._values)

    def reset_local(self) -> None:
        """Forget everything."""
        self._values = []

    def merge(self, other: Any) -> None:
        """Append the values of another task."""
        self._values.extend(other.get_local_value())


class Histogram(Accumulator):
    """How often each value was added."""

    def __init__(self) -> None:
        self._counts: Counter[Any] = Counter()

    def add(self, value: Any) -> None:
        """Count a value."""
        self._counts[value] += 1

    def get_local_value(self) -> dict[Any, int]:
        """Value -> count, in order of values."""
        return dict(sorted(self._counts.items()))

    def reset_local(self) -> None:
        """Forget everything."""
        self._counts = Counter()

    def merge(self, other: Any) -> None:
        """Add the counts of another task."""
        self._counts.update(other.get_local_value())
