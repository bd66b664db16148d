"""The rolling aggregations of keyed streams, each a reduce function.

``sum``, ``min`` and ``max`` change one field and keep the others as the first record of the key had them;
``min_by`` and ``max_by`` keep whole records. On a tie the record that came first stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.types import Row
from firesteel.datastream._internal.arguments import shown
from firesteel.datastream._internal.fields import RollingField
from firesteel.errors import TypeMismatchError
from firesteel.model.functions import ReduceFunction
from firesteel.model.functions.adapt import describe


class SumFunction(ReduceFunction):
    """Adds up one field."""

    def __init__(self, field: RollingField) -> None:
        self._field = field
        # How to read and replace the field in records of the class that came last: they mostly are of one class.
        self._kind: type | None = None
        self._get: Callable[[Any], Any]
        self._replace: Callable[[Any, Any], Any]

    def reduce(self, value1: Any, value2: Any) -> Any:
        """The first record with the sum of both fields."""
        if value1.__class__ is not self._kind:
            self._kind = value1.__class__
            self._get, self._replace = self._field.getter_for(value1), self._field.replacer_for(value1)
        first = self._get(value1)
        second = self._get(value2) if value2.__class__ is self._kind else self._field(value2)
        try:
            total = first + second
        except TypeError as error:
            raise _not_possible("sum", self._field, "added", first, second) from error
        return self._replace(value1, total)


class ExtremeFunction(ReduceFunction):
    """Keeps the smallest or largest value of one field, in the first record."""

    def __init__(self, field: RollingField, largest: bool) -> None:
        self._field = field
        self._largest = largest

    def reduce(self, value1: Any, value2: Any) -> Any:
        """The first record with the smaller or larger one of both fields."""
        first, second = self._field(value1), self._field(value2)
        if _beats(second, first, self._largest, "max" if self._largest else "min", self._field):
            return self._field.replace(value1, second)
        return value1


class ExtremeByFunction(ReduceFunction):
    """Keeps the record with the smallest or largest measure; the first one if several have it."""

    def __init__(self, measure: Callable[[Any], Any], largest: bool) -> None:
        self._measure = measure
        self._largest = largest

    def reduce(self, value1: Any, value2: Any) -> Any:
        """One of both records."""
        method = "max_by" if self._largest else "min_by"
        first, second = self._measure(value1), self._measure(value2)
        return value2 if _beats(second, first, self._largest, method, self._measure) else value1


class KeyAndRecord:
    """From record to a row of its key and itself."""

    def __init__(self, key_selector: Callable[[Any], Any]) -> None:
        self._key_selector = key_selector

    def __call__(self, record: Any) -> Row:
        return Row(self._key_selector(record), record)


class KeyAndMeasure:
    """From record to (key, measure): what is aggregated when a function says what to add up or compare."""

    def __init__(self, key_selector: Callable[[Any], Any], measure: Callable[[Any], Any]) -> None:
        self._key_selector = key_selector
        self._measure = measure

    def __call__(self, record: Any) -> tuple[Any, Any]:
        return self._key_selector(record), self._measure(record)


def _beats(challenger: Any, holder: Any, largest: bool, method: str, measure: Any) -> bool:
    try:
        return bool(challenger > holder if largest else challenger < holder)
    except TypeError as error:
        raise _not_possible(method, measure, "compared", holder, challenger) from error


def _not_possible(method: str, measure: Any, action: str, first: Any, second: Any) -> TypeMismatchError:
    what = f"field {measure.field!r}" if isinstance(measure, RollingField) else describe(measure)
    return TypeMismatchError(
        f"{method}: the values of {what} cannot be {action}: {shown(first)} and {shown(second)}. "
        "Choose a field whose values are alike in all records."
    )
