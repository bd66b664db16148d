"""Expressions made functions of a whole Arrow batch, where every function in them has a kernel that gives the same.

Property tests hold both ways of evaluation equal. What has no kernel is evaluated row by row; the planner asks
:func:`column_evaluator` and gets None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.table.resolution import ColumnValue, ConstantValue, FunctionValue, Typed
from firesteel.table.types import (
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    TimestampType,
    VarCharType,
    common_type,
    to_arrow_type,
)

__all__ = ["ColumnEvaluator", "column_evaluator"]

ColumnEvaluator = Callable[[pa.RecordBatch], Any]
Kernel = Callable[..., Any]

_NUMBERS = (IntegralType, FloatType, DoubleType)
_COMPARABLE = (*_NUMBERS, BooleanType, VarCharType, DateType, TimestampType, LocalZonedTimestampType)
_COMPARISONS: dict[str, Kernel] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
# These wrap around, as Java's arithmetic does.
_ARITHMETIC: dict[str, Kernel] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_LOGIC: dict[str, Kernel] = {"AND": pc.and_kleene, "OR": pc.or_kleene}
_SINGLE: dict[str, tuple[Kernel, tuple[type[DataType], ...]]] = {
    "NOT": (pc.invert, (BooleanType,)),
    "IS NULL": (pc.is_null, (DataType,)),
    "IS NOT NULL": (pc.is_valid, (DataType,)),
    "CHAR_LENGTH": (pc.utf8_length, (VarCharType,)),
}


def column_evaluator(expression: Typed) -> ColumnEvaluator | None:
    """The function that gives the column of an expression's values for a batch; None if a part of it has no kernel.

    A constant is given as a scalar, which kernels take in the place of a column.
    """
    if isinstance(expression, ConstantValue):
        scalar = _scalar(expression)
        return None if scalar is None else lambda batch: scalar
    if isinstance(expression, ColumnValue):
        index = expression.index
        return lambda batch: batch.column(index)
    assert isinstance(expression, FunctionValue)
    kernel = _kernel(expression)
    parts = [column_evaluator(each) for each in expression.arguments]
    known = [part for part in parts if part is not None]
    if kernel is None or len(known) < len(parts):
        return None
    return lambda batch: kernel(*(part(batch) for part in known))


def _scalar(constant: ConstantValue) -> Any:
    if not isinstance(constant.type, (*_NUMBERS, BooleanType, VarCharType)):
        return None
    return pa.scalar(constant.value, to_arrow_type(constant.type))


def _kernel(expression: FunctionValue) -> Kernel | None:
    name, types = expression.function.name, expression.call.types
    if name in _SINGLE:
        single, kinds = _SINGLE[name]
        return single if isinstance(types[0], kinds) else None
    if name in _LOGIC:
        return _folded(_LOGIC[name])
    if name in _COMPARISONS and all(isinstance(each, _COMPARABLE) for each in types):
        merged = common_type(types)
        alike = merged is not None and (isinstance(merged, _NUMBERS) or len({type(each) for each in types}) == 1)
        return _cast_first(_COMPARISONS[name], merged) if alike and merged is not None else None
    if name in _ARITHMETIC and isinstance(expression.type, _NUMBERS):
        return _cast_first(_ARITHMETIC[name], expression.type)
    return None


def _folded(kernel: Kernel) -> Kernel:
    def fold(first: Any, *others: Any) -> Any:
        for other in others:
            first = kernel(first, other)
        return first

    return fold


def _cast_first(kernel: Kernel, data_type: DataType) -> Kernel:
    target = to_arrow_type(data_type)

    def cast(value: Any) -> Any:
        return value if value.type == target else value.cast(target, safe=False)

    return lambda left, right: kernel(cast(left), cast(right))
