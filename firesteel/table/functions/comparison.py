"""Comparisons, BETWEEN, IN, LIKE and SIMILAR TO: each is unknown where an argument is."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from firesteel.table.functions.casting import cast_function
from firesteel.table.functions.definition import Call, Function, Session, call_error, register
from firesteel.table.functions.java_regex import compile_like, compile_similar
from firesteel.table.functions.signatures import ANY, BOOLEAN, TEXT, check_arguments, gives, scalar
from firesteel.table.types import (
    BooleanType,
    DataType,
    DataTypes,
    DateType,
    IntervalType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    TimestampType,
    TimeType,
    VariantType,
    common_type,
    is_number,
    is_text,
)

__all__ = ["comparable_type", "comparing"]

_TRUTH = gives(DataTypes.BOOLEAN())
_UNORDERED = (MapType, MultisetType, RawType, VariantType)


def comparable_type(call: Call, types: list[DataType], ordered: bool = False) -> DataType:
    """The type in which values are compared; an error if there is none."""
    known = [each for each in types if not isinstance(each, NullType)]
    if not known:
        return DataTypes.NULL()
    if ordered and any(isinstance(each, _UNORDERED) for each in known):
        raise call_error(call, "such values have no order")
    merged = _pairwise(known)
    if merged is None:
        raise call_error(
            call, f"values of {known[0].nullable()} and {known[-1].nullable()} cannot be compared; CAST one"
        )
    return merged


def _pairwise(types: list[DataType]) -> DataType | None:
    merged = types[0]
    for each in types[1:]:
        both = _compared_as(merged, each)
        if both is None:
            return None
        merged = both
    return merged


def _compared_as(left: DataType, right: DataType) -> DataType | None:
    points = (TimestampType, LocalZonedTimestampType)
    for one, other in ((left, right), (right, left)):
        if is_text(one) and not is_text(other):
            # A text is read as what it is compared with.
            readable = is_number(other) or isinstance(other, (BooleanType, DateType, TimeType, *points, IntervalType))
            return other if readable else None
        if isinstance(one, DateType) and isinstance(other, points):
            return None
    if is_number(left) != is_number(right):
        return None
    return common_type([left, right])


def _as_common(source: DataType, target: DataType, session: Session) -> Callable[[Any], Any] | None:
    if isinstance(source, NullType) or source.nullable() == target.nullable() or (is_text(source) and is_text(target)):
        return None
    return cast_function(source, target, session)


def comparing(call: Call, compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison of two values, each cast to the common type first where it is not of that type."""
    common = comparable_type(call, call.types[:2])
    left, right = (_as_common(each, common, call.session) for each in call.types[:2])
    if left is None and right is None:
        return compare
    first, second = left or _same, right or _same
    return lambda a, b: compare(first(a), second(b))


def _same(value: Any) -> Any:
    return value


def _register_comparison(
    name: str, compare: Callable[[Any, Any], Any], ordered: bool, aliases: tuple[str, ...]
) -> None:
    def infer(call: Call) -> DataType:
        check_arguments(call, (ANY, ANY))
        comparable_type(call, call.types, ordered)
        if not ordered and any(map(is_text, call.types)) and any(map(is_number, call.types)):
            raise call_error(call, "a text and a number are not compared by themselves; CAST one of them")
        return _TRUTH(call)

    register(Function(name, infer, lambda call: comparing(call, compare), aliases=aliases))


_register_comparison("=", operator.eq, False, ("EQUALS",))
_register_comparison("<>", operator.ne, False, ("!=", "NOTEQUALS"))
_register_comparison("<", operator.lt, True, ("LESSTHAN",))
_register_comparison("<=", operator.le, True, ("LESSTHANOREQUAL",))
_register_comparison(">", operator.gt, True, ("GREATERTHAN",))
_register_comparison(">=", operator.ge, True, ("GREATERTHANOREQUAL",))


_NOT_NULL_TRUTH = DataTypes.BOOLEAN().not_null()

scalar("IS NULL", (ANY,), lambda call: _NOT_NULL_TRUTH, lambda a: a is None, strict=False, aliases=("ISNULL",))
scalar(
    "IS NOT NULL", (ANY,), lambda call: _NOT_NULL_TRUTH, lambda a: a is not None, strict=False, aliases=("ISNOTNULL",)
)


def _distinct(call: Call) -> Callable[[Any, Any], bool]:
    differ = comparing(call, operator.ne)
    return lambda a, b: (a is None) != (b is None) if a is None or b is None else differ(a, b)


def _infer_distinct(call: Call) -> DataType:
    comparable_type(call, call.types)
    return _NOT_NULL_TRUTH


def _not_distinct(call: Call) -> Callable[[Any, Any], bool]:
    distinct = _distinct(call)
    return lambda a, b: not distinct(a, b)


register(Function("IS DISTINCT FROM", _infer_distinct, _distinct, strict=False))
register(Function("IS NOT DISTINCT FROM", _infer_distinct, _not_distinct, strict=False))


def _and(left: Any, right: Any) -> Any:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Any, right: Any) -> Any:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _at(call: Call, position: int, compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison of the first argument with another one, unknown where one of them is."""
    pair = Call(call.name, (call.arguments[0], call.arguments[position]), call.session)
    decide = comparing(pair, compare)
    return lambda a, b: None if a is None or b is None else decide(a, b)


def _make_between(symmetric: bool, negated: bool) -> Callable[[Call], Callable[..., Any]]:
    def make(call: Call) -> Callable[..., Any]:
        at_least, at_most = _at(call, 1, operator.ge), _at(call, 2, operator.le)
        at_most_first, at_least_second = _at(call, 1, operator.le), _at(call, 2, operator.ge)

        def between(value: Any, low: Any, high: Any) -> Any:
            inside = _and(at_least(value, low), at_most(value, high))
            if symmetric:
                inside = _or(inside, _and(at_most_first(value, low), at_least_second(value, high)))
            return inside if not negated or inside is None else not inside

        return between

    return make


def _infer_between(call: Call) -> DataType:
    check_arguments(call, (ANY, ANY, ANY))
    for position in (1, 2):
        comparable_type(call, [call.types[0], call.types[position]], ordered=True)
    return _TRUTH(call)


for _symmetric, _negated, _name in (
    (False, False, "BETWEEN"),
    (False, True, "NOT BETWEEN"),
    (True, False, "BETWEEN SYMMETRIC"),
    (True, True, "NOT BETWEEN SYMMETRIC"),
):
    _alias = ("NOTBETWEEN",) if _name == "NOT BETWEEN" else ()
    register(Function(_name, _infer_between, _make_between(_symmetric, _negated), strict=False, aliases=_alias))


def _infer_in(call: Call) -> DataType:
    check_arguments(call, (ANY, ANY), repeat=True)
    comparable_type(call, call.types)
    return _TRUTH(call)


def _make_in(call: Call) -> Callable[..., Any]:
    equal = [_at(call, position, operator.eq) for position in range(1, len(call.arguments))]

    def is_in(value: Any, *candidates: Any) -> Any:
        if value is None:
            return None
        unknown = False
        for same, candidate in zip(equal, candidates):
            verdict = same(value, candidate)
            if verdict:
                return True
            unknown = unknown or verdict is None
        return None if unknown else False

    return is_in


def _make_not_in(call: Call) -> Callable[..., Any]:
    is_in = _make_in(call)

    def is_not_in(*values: Any) -> Any:
        verdict = is_in(*values)
        return None if verdict is None else not verdict

    return is_not_in


register(Function("IN", _infer_in, _make_in, strict=False))
register(Function("NOT IN", _infer_in, _make_not_in, strict=False))

scalar(
    "LIKE",
    (TEXT, TEXT, TEXT),
    _TRUTH,
    lambda text, pattern, escape=None: compile_like(pattern, escape).fullmatch(text) is not None,
    least=2,
)
scalar(
    "SIMILAR TO",
    (TEXT, TEXT, TEXT),
    _TRUTH,
    lambda text, pattern, escape=None: compile_similar(pattern, escape).fullmatch(text) is not None,
    least=2,
    aliases=("SIMILAR",),
)

# Logic of three values


def _lazily(decides: bool) -> Callable[[Call], Callable[..., Any]]:
    """AND and OR: what `decides` ends the search; an unknown one is remembered."""

    def make(call: Call) -> Callable[..., Any]:
        def combine(*parts: Callable[[Any], Any]) -> Callable[[Any], Any]:
            def evaluate(row: Any) -> Any:
                unknown = False
                for part in parts:
                    value = part(row)
                    if value is decides:
                        return decides
                    unknown = unknown or value is None
                return None if unknown else not decides

            return evaluate

        return combine

    return make


def _infer_logic(call: Call) -> DataType:
    check_arguments(call, (BOOLEAN, BOOLEAN), repeat=True)
    return _TRUTH(call)


register(Function("AND", _infer_logic, _lazily(False), strict=False, lazy=True))
register(Function("OR", _infer_logic, _lazily(True), strict=False, lazy=True))
scalar("NOT", (BOOLEAN,), _TRUTH, lambda value: not value)


def _is(name: str, alias: str, function: Callable[[Any], bool]) -> None:
    scalar(name, (BOOLEAN,), lambda call: _NOT_NULL_TRUTH, function, strict=False, aliases=(alias,) if alias else ())


_is("IS TRUE", "ISTRUE", lambda value: value is True)
_is("IS NOT TRUE", "ISNOTTRUE", lambda value: value is not True)
_is("IS FALSE", "ISFALSE", lambda value: value is False)
_is("IS NOT FALSE", "ISNOTFALSE", lambda value: value is not False)
_is("IS UNKNOWN", "", lambda value: value is None)
_is("IS NOT UNKNOWN", "", lambda value: value is not None)
