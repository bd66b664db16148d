"""Expressions of the Table API, with PyFlink's names."""

from __future__ import annotations

from typing import Any

from firesteel.errors import ProgramError
from firesteel.table._expression.aggregates import AggregateExpressions
from firesteel.table._expression.base import node_of, symbol
from firesteel.table._expression.collections import CollectionExpressions
from firesteel.table._expression.numbers import NumberExpressions
from firesteel.table._expression.options import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from firesteel.table._expression.texts import TextExpressions
from firesteel.table._expression.times import TimeExpressions
from firesteel.table.tree import Apply

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]


class Expression(NumberExpressions, TextExpressions, CollectionExpressions, TimeExpressions, AggregateExpressions):
    """A value that is computed for each row: made by ``col``, ``lit`` and ``call``, and by operators and methods.

    ::

        >>> from firesteel.table.expressions import col, lit
        >>> print((col("price") * 2 > 10) & col("name").like("a%"))
        AND(>(*(price, 2), 10), LIKE(name, 'a%'))

    Comparisons give expressions, so an expression is neither true nor false: ``and``, ``or``, ``not`` and ``in`` of
    Python cannot be used, ``&``, ``|``, ``~`` and ``in_`` can.
    """

    __hash__ = None  # type: ignore[assignment]

    def _infix(self, name: str, other: Any) -> Expression:
        return Expression(Apply(name, (self.node, node_of(other))))

    def _reflected(self, name: str, other: Any) -> Expression:
        return Expression(Apply(name, (node_of(other), self.node)))

    def __eq__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._infix("=", other)

    def __ne__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._infix("<>", other)

    def __lt__(self, other: Any) -> Expression:
        return self._infix("<", other)

    def __gt__(self, other: Any) -> Expression:
        return self._infix(">", other)

    def __le__(self, other: Any) -> Expression:
        return self._infix("<=", other)

    def __ge__(self, other: Any) -> Expression:
        return self._infix(">=", other)

    def __and__(self, other: Any) -> Expression:
        return self._infix("AND", other)

    def __or__(self, other: Any) -> Expression:
        return self._infix("OR", other)

    def __rand__(self, other: Any) -> Expression:
        return self._reflected("AND", other)

    def __ror__(self, other: Any) -> Expression:
        return self._reflected("OR", other)

    def __invert__(self) -> Expression:
        return Expression(Apply("NOT", (self.node,)))

    def __add__(self, other: Any) -> Expression:
        return self._infix("+", other)

    def __radd__(self, other: Any) -> Expression:
        return self._reflected("+", other)

    def __sub__(self, other: Any) -> Expression:
        return self._infix("-", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._reflected("-", other)

    def __mul__(self, other: Any) -> Expression:
        return self._infix("*", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._reflected("*", other)

    def __truediv__(self, other: Any) -> Expression:
        return self._infix("/", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._reflected("/", other)

    def __mod__(self, other: Any) -> Expression:
        return self._infix("%", other)

    def __rmod__(self, other: Any) -> Expression:
        return self._reflected("%", other)

    def __pow__(self, other: Any) -> Expression:
        return self._infix("POWER", other)

    def __rpow__(self, other: Any) -> Expression:
        return self._reflected("POWER", other)

    def __neg__(self) -> Expression:
        return Expression(Apply("- PREFIX", (self.node,)))

    def __abs__(self) -> Expression:
        return self.abs

    def __getitem__(self, index: Any) -> Expression:
        return self.at(index)

    def __getattr__(self, name: str) -> Expression:
        # What is no method is the field of a row. Private names must fail: copy and pickle probe for them.
        if name.startswith("_") or name == "node":
            raise AttributeError(name)
        return Expression(Apply("GET", (self.node, symbol(name))))

    def __bool__(self) -> bool:
        raise ProgramError(
            f"the expression {self} has no truth value before it runs. Use & for and, | for or, ~ for not, in_ for in."
        )

    def __str__(self) -> str:
        return str(self.node)

    def __repr__(self) -> str:
        return f"<Expression {self.node}>"
