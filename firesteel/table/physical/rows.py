"""Small functions of records ``(kind, row)`` that travel to the workers: how they are keyed, and written in plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from firesteel.table.evaluation import Evaluator, evaluator
from firesteel.table.logical.plan import SortKey
from firesteel.table.resolution import ColumnValue, ConstantValue, FunctionValue, Typed
from firesteel.table.tree import Constant

__all__ = ["KeyOf", "row_function", "written"]


def row_function(expressions: Sequence[Typed]) -> Callable[[Any], tuple[Any, ...]]:
    """The function that makes of a row the tuple of some expressions' values."""
    if not expressions:
        return lambda row: ()
    if all(isinstance(each, ColumnValue) for each in expressions):
        return _columns([each.index for each in expressions if isinstance(each, ColumnValue)])
    parts: list[Evaluator] = [evaluator(each) for each in expressions]
    if len(parts) == 1:
        (only,) = parts
        return lambda row: (only(row),)
    if len(parts) == 2:
        first, second = parts
        return lambda row: (first(row), second(row))
    return lambda row: tuple([part(row) for part in parts])


def _columns(indexes: list[int]) -> Callable[[Any], tuple[Any, ...]]:
    if len(indexes) == 1:
        (only,) = indexes
        return lambda row: (row[only],)
    return itemgetter(*indexes)


class KeyOf:
    """The key of a record ``(kind, row)``: a tuple of values. Made ready where it is used, so that it can be sent."""

    def __init__(self, expressions: Iterable[Typed]) -> None:
        self._expressions = tuple(expressions)
        self._of_row: Callable[[Any], tuple[Any, ...]] | None = None

    def __call__(self, record: Any) -> tuple[Any, ...]:
        if self._of_row is None:
            self._of_row = row_function(self._expressions)
        return self._of_row(record[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return (KeyOf, (self._expressions,))


def written(expression: Typed | SortKey, names: Sequence[str] = ()) -> str:
    """An expression as a plan shows it."""
    if isinstance(expression, SortKey):
        return f"{written(expression.value, names)} {'DESC' if expression.descending else 'ASC'}"
    if isinstance(expression, ColumnValue):
        return names[expression.index] if expression.index < len(names) else expression.name
    if isinstance(expression, ConstantValue):
        return str(Constant(expression.value, expression.type))
    if isinstance(expression, FunctionValue):
        parts = [written(each, names) for each in expression.arguments]
        name = expression.function.name
        if name in ("CAST", "TRY_CAST") and len(parts) == 2:
            return f"{name}({parts[0]} AS {expression.type.text()})"
        if (len(parts) == 2 and not name[0].isalpha()) or name in ("AND", "OR"):
            return "(" + f" {name} ".join(parts) + ")"
        return f"{name}({', '.join(parts)})"
    return type(expression).__name__
