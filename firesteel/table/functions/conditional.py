"""CASE and what is short for it, and TYPEOF."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from firesteel.table.functions.casting import cast_function
from firesteel.table.functions.comparison import comparable_type, comparing
from firesteel.table.functions.definition import Call, Function, Session, call_error, register
from firesteel.table.functions.signatures import ANY, BOOLEAN, STRING, check_arguments
from firesteel.table.types import (
    DataType,
    DateType,
    LocalZonedTimestampType,
    NullType,
    TimestampType,
    common_type,
    is_text,
)

__all__ = ["to_common"]

Evaluator = Callable[[Any], Any]


def _branch_type(call: Call, types: list[DataType]) -> DataType:
    """The common type of results of which one is chosen; dates do not go with timestamps."""
    points = (TimestampType, LocalZonedTimestampType)
    mixed = any(isinstance(each, points) for each in types) and any(isinstance(each, DateType) for each in types)
    merged = None if mixed else common_type(types)
    if merged is None:
        if all(isinstance(each, NullType) for each in types):
            raise call_error(call, "all results are NULL; CAST one to say of which type")
        raise call_error(call, f"the results {', '.join(str(each.nullable()) for each in types)} have no common type")
    return merged


def to_common(source: DataType, target: DataType, session: Session) -> Callable[[Any], Any] | None:
    """The cast of a value, which may be NULL, to a common type; None if it is of that type already."""
    if isinstance(source, NullType) or source.nullable() == target.nullable() or (is_text(source) and is_text(target)):
        return None
    cast = cast_function(source, target, session)
    return lambda value: None if value is None else cast(value)


def _casting(part: Evaluator, cast: Callable[[Any], Any] | None) -> Evaluator:
    if cast is None:
        return part
    return lambda row: cast(part(row))


# CASE: conditions and results in turn, and the result otherwise at the end


def _infer_case(call: Call) -> DataType:
    if len(call.arguments) < 3 or len(call.arguments) % 2 == 0:
        raise call_error(call, "takes conditions with results, and a result otherwise")
    conditions = Call(call.name, call.arguments[:-1:2], call.session)
    check_arguments(conditions, (BOOLEAN,), repeat=True)
    results = [*call.types[1:-1:2], call.types[-1]]
    merged = _branch_type(call, results)
    return merged.with_nullability(any(each.is_nullable for each in results))


def _make_case(call: Call) -> Callable[..., Evaluator]:
    target = call.result
    assert target is not None
    last = len(call.types) - 1
    casts = [
        to_common(each, target, call.session) if at % 2 or at == last else None for at, each in enumerate(call.types)
    ]

    def combine(*parts: Evaluator) -> Evaluator:
        branches = [(parts[at], _casting(parts[at + 1], casts[at + 1])) for at in range(0, len(parts) - 1, 2)]
        otherwise = _casting(parts[-1], casts[-1])

        def choose(row: Any) -> Any:
            for condition, result in branches:
                if condition(row):
                    return result(row)
            return otherwise(row)

        return choose

    return combine


register(Function("CASE", _infer_case, _make_case, strict=False, lazy=True))


def _infer_if(call: Call) -> DataType:
    check_arguments(call, (BOOLEAN, ANY, ANY))
    return _branch_type(call, call.types[1:]).with_nullability(call.nullable)


register(Function("IF", _infer_if, _make_case, strict=False, lazy=True, aliases=("IFTHENELSE",)))


# COALESCE and IFNULL


def _infer_coalesce(call: Call) -> DataType:
    check_arguments(call, (ANY,), repeat=True)
    merged = _branch_type(call, call.types)
    return merged.with_nullability(all(each.is_nullable for each in call.types))


def _make_coalesce(call: Call) -> Callable[..., Evaluator]:
    target = call.result
    assert target is not None
    casts = [to_common(each, target, call.session) for each in call.types]

    def combine(*parts: Evaluator) -> Evaluator:
        candidates = [_casting(part, cast) for part, cast in zip(parts, casts)]

        def first(row: Any) -> Any:
            for candidate in candidates:
                value = candidate(row)
                if value is not None:
                    return value
            return None

        return first

    return combine


def _infer_if_null(call: Call) -> DataType:
    check_arguments(call, (ANY, ANY))
    merged = _branch_type(call, call.types)
    return merged.with_nullability(call.types[0].is_nullable and call.types[1].is_nullable)


register(Function("COALESCE", _infer_coalesce, _make_coalesce, strict=False, lazy=True))
register(Function("IFNULL", _infer_if_null, _make_coalesce, strict=False, lazy=True))


def _infer_null_if(call: Call) -> DataType:
    check_arguments(call, (ANY, ANY))
    comparable_type(call, call.types)
    return call.types[0].nullable()


def _make_null_if(call: Call) -> Callable[[Any, Any], Any]:
    equal = comparing(call, operator.eq)
    return lambda a, b: a if a is None or b is None or not equal(a, b) else None


register(Function("NULLIF", _infer_null_if, _make_null_if, strict=False))


def _infer_extreme(call: Call) -> DataType:
    check_arguments(call, (ANY,), repeat=True)
    merged = common_type(call.types)
    if merged is None:
        raise call_error(call, "the arguments have no common type")
    return merged.with_nullability(call.nullable)


def _make_extreme(choose: Callable[[Any, Any], Any]) -> Callable[[Call], Callable[..., Any]]:
    def make(call: Call) -> Callable[..., Any]:
        target = call.result
        assert target is not None
        casts = [to_common(each, target, call.session) for each in call.types]

        def extreme(*values: Any) -> Any:
            typed = (value if cast is None else cast(value) for value, cast in zip(values, casts))
            return reduce(choose, typed)

        return extreme

    return make


register(Function("GREATEST", _infer_extreme, _make_extreme(max)))
register(Function("LEAST", _infer_extreme, _make_extreme(min)))


# TYPEOF


def _infer_type_of(call: Call) -> DataType:
    check_arguments(call, (ANY, BOOLEAN), least=1)
    return STRING


def _make_type_of(call: Call) -> Callable[..., str]:
    data_type = call.types[0]
    full = bool(call.literal(1, False))
    text = data_type.serializable() if full else str(data_type)
    return lambda *_values: text


register(Function("TYPEOF", _infer_type_of, _make_type_of, strict=False))
