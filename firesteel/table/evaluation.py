"""Expressions made functions of a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.table.resolution import ColumnValue, ConstantValue, FunctionValue, Typed

__all__ = ["Evaluator", "evaluator"]

Evaluator = Callable[[Any], Any]


def evaluator(expression: Typed) -> Evaluator:
    """The function that gives the value of an expression for a row (a tuple of the columns' values)."""
    if isinstance(expression, ConstantValue):
        value = expression.value
        return lambda row: value
    if isinstance(expression, ColumnValue):
        index = expression.index
        return lambda row: row[index]
    assert isinstance(expression, FunctionValue)
    parts = [evaluator(each) for each in expression.arguments]
    function = expression.function.make(expression.call)
    if expression.function.lazy:
        combined: Evaluator = function(*parts)
        return combined
    return _strict(function, parts) if expression.function.strict else _plain(function, parts)


def _plain(function: Callable[..., Any], parts: list[Evaluator]) -> Evaluator:
    if len(parts) == 1:
        (only,) = parts
        return lambda row: function(only(row))
    if len(parts) == 2:
        left, right = parts
        return lambda row: function(left(row), right(row))
    return lambda row: function(*(part(row) for part in parts))


def _strict(function: Callable[..., Any], parts: list[Evaluator]) -> Evaluator:
    """NULL where an argument is, which the function then never sees."""
    if not parts:
        return lambda row: function()
    if len(parts) == 1:
        (only,) = parts

        def one(row: Any) -> Any:
            value = only(row)
            return None if value is None else function(value)

        return one
    if len(parts) == 2:
        left, right = parts

        def two(row: Any) -> Any:
            first = left(row)
            if first is None:
                return None
            second = right(row)
            return None if second is None else function(first, second)

        return two

    def several(row: Any) -> Any:
        values = [part(row) for part in parts]
        return None if None in values else function(*values)

    return several
