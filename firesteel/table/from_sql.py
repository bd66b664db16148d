"""From the parser's trees to the expressions that SQL and the Table API share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from firesteel.errors import ProgramError
from firesteel.table.functions import Session, cast_function
from firesteel.table.sql.data_types import to_data_type
from firesteel.table.sql.nodes import base, types
from firesteel.table.sql.nodes import expressions as sql
from firesteel.table.tree import Apply, Column, Constant, Known, Node, TypeNode
from firesteel.table.types import (
    DataType,
    DataTypes,
    DayTimeIntervalType,
    IntervalType,
    Resolution,
    SymbolType,
    YearMonthIntervalType,
)

__all__ = ["Given", "MeaningError", "expression_of", "interval_type"]

T = DataTypes
_SYMBOL = SymbolType(False)


class MeaningError(ProgramError, ValueError):
    """SQL that can be read, but means nothing: a date that is none, say. The message has line and column."""


@dataclass(frozen=True)
class Given(base.Expression):
    """In the place of an expression what it means, where a query has found that out already."""

    value: Any


def _error(node: base.Node, reason: str) -> MeaningError:
    where = f"{node.pos}: " if node.pos is not None else ""
    return MeaningError(f"{where}{reason}")


def interval_type(qualifier: types.IntervalQualifier) -> IntervalType:
    """The type of an interval with these units: as in Flink, one of months or one of milliseconds."""
    if qualifier.start in {"YEAR", "QUARTER", "MONTH"}:
        return YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.MONTH)
    return DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.SECOND, fractional_precision=3)


# Literals


def _number(node: sql.NumberLiteral, sign: int = 1) -> Constant:
    if node.approximate:
        return Constant(sign * float(node.text), T.DOUBLE().not_null())
    if re.fullmatch(r"\d+", node.text):
        value = sign * int(node.text)
        for kind in (T.INT().not_null(), T.BIGINT().not_null()):
            if kind.low <= value <= kind.high:
                return Constant(value, kind)
        raise _error(node, f"the number {node.text} is out of range: CAST a text instead.")
    exact = Decimal(node.text)
    scale = max(0, -int(exact.as_tuple().exponent))
    precision = max(len(exact.as_tuple().digits), scale, 1)
    if precision > 38:
        raise _error(node, f"the number {node.text} has more than 38 digits.")
    return Constant(sign * exact, T.DECIMAL(precision, scale).not_null())


_POINTS: dict[str, DataType] = {"DATE": T.DATE(), "TIME": T.TIME(0)}


def _date_time(node: sql.DateTimeLiteral) -> Constant:
    fraction = len(node.text.rpartition(".")[2]) if "." in node.text else 0
    if node.kind in {"TIMESTAMP", "DATETIME"}:
        target: DataType = T.TIMESTAMP(min(fraction, 9))
    elif node.kind == "TIMESTAMP_LTZ":
        target = T.TIMESTAMP_LTZ(min(fraction, 9))
    elif node.kind == "TIME":
        target = T.TIME(min(fraction, 9))
    else:
        target = _POINTS[node.kind]
    try:
        value = cast_function(T.STRING(), target, Session())(node.text)
    except ValueError:
        raise _error(node, f"{node.text!r} is not a {node.kind}.") from None
    return Constant(value, target.not_null())


_INTERVAL = {
    "YEAR": r"(?P<YEAR>\d+)",
    "MONTH": r"(?P<MONTH>\d+)",
    "YEAR_TO_MONTH": r"(?P<YEAR>\d+)-(?P<MONTH>\d+)",
    "QUARTER": r"(?P<QUARTER>\d+)",
    "WEEK": r"(?P<WEEK>\d+)",
    "DAY": r"(?P<DAY>\d+)",
    "DAY_TO_HOUR": r"(?P<DAY>\d+) (?P<HOUR>\d+)",
    "DAY_TO_MINUTE": r"(?P<DAY>\d+) (?P<HOUR>\d+):(?P<MINUTE>\d+)",
    "DAY_TO_SECOND": r"(?P<DAY>\d+) (?P<HOUR>\d+):(?P<MINUTE>\d+):(?P<SECOND>\d+(?:\.\d+)?)",
    "HOUR": r"(?P<HOUR>\d+)",
    "HOUR_TO_MINUTE": r"(?P<HOUR>\d+):(?P<MINUTE>\d+)",
    "HOUR_TO_SECOND": r"(?P<HOUR>\d+):(?P<MINUTE>\d+):(?P<SECOND>\d+(?:\.\d+)?)",
    "MINUTE": r"(?P<MINUTE>\d+)",
    "MINUTE_TO_SECOND": r"(?P<MINUTE>\d+):(?P<SECOND>\d+(?:\.\d+)?)",
    "SECOND": r"(?P<SECOND>\d+(?:\.\d+)?)",
}
_AMOUNTS = {
    "YEAR": 12,
    "QUARTER": 3,
    "MONTH": 1,
    "WEEK": 604_800_000,
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1000,
}


def _interval(node: sql.IntervalLiteral) -> Constant:
    qualifier = node.qualifier
    name = qualifier.start if qualifier.end is None else f"{qualifier.start}_TO_{qualifier.end}"
    match = re.fullmatch(rf"\s*([+-]?)\s*{_INTERVAL.get(name, '(?!)')}\s*", node.text, re.ASCII)
    if match is None:
        raise _error(node, f"{node.text!r} is not an interval of {name.replace('_', ' ')}.")
    months = name in {"YEAR", "MONTH", "YEAR_TO_MONTH", "QUARTER"}
    units = {unit: text for unit, text in match.groupdict().items() if text is not None}
    if months:
        amount = sum(int(text) * _AMOUNTS[unit] for unit, text in units.items())
    else:
        amount = sum(int(Decimal(text) * _AMOUNTS[unit]) for unit, text in units.items())
    negative = (match.group(1) == "-") != node.negative
    return Constant(-amount if negative else amount, interval_type(qualifier).not_null())


# Expressions


def expression_of(node: base.Expression) -> Node:
    """What was written, as an expression of functions, columns and constants."""
    convert = _CONVERSIONS.get(type(node))
    if convert is None:
        raise _error(node, f"{type(node).__name__} cannot stand in such an expression.")
    result: Node = convert(node)
    return result


def _apply(name: str, *arguments: base.Expression | Node) -> Apply:
    return Apply(name, tuple(each if isinstance(each, Node) else expression_of(each) for each in arguments))


def _symbol(value: Any) -> Constant:
    return Constant(value, _SYMBOL)


def _text(value: str) -> Constant:
    # Java counts a character beyond the first 65,536 as two.
    return Constant(value, T.CHAR(len(value.encode("utf-16-le", "surrogatepass")) // 2).not_null())


def _prefix(node: sql.Prefix) -> Node:
    if node.operator == "-" and isinstance(node.operand, sql.NumberLiteral):
        return _number(node.operand, -1)
    operand = expression_of(node.operand)
    if node.operator == "-" and isinstance(node.operand, sql.Prefix) and isinstance(operand, Constant):
        return _number(sql.NumberLiteral(str(-operand.value)))
    if node.operator in {"+", "-"}:
        return Apply(f"{node.operator} PREFIX", (operand,))
    return Apply(node.operator, (operand,))


def _infix(node: sql.Infix) -> Node:
    if node.operator == "OVERLAPS" and isinstance(node.left, sql.Row) and isinstance(node.right, sql.Row):
        return _apply("OVERLAPS", *node.left.values, *node.right.values)
    if node.operator in {"AND", "OR"}:
        return _apply(node.operator, *_operands(node))
    return _apply(node.operator, node.left, node.right)


def _operands(node: sql.Infix) -> list[base.Expression]:
    """What stands between the same operators in a row: a long chain is one call."""
    found: list[base.Expression] = []
    left: base.Expression = node
    while isinstance(left, sql.Infix) and left.operator == node.operator:
        found.append(left.right)
        left = left.left
    return [left, *reversed(found)]


def _between(node: sql.Between) -> Node:
    name = f"{'NOT ' if node.negated else ''}BETWEEN{' SYMMETRIC' if node.symmetric else ''}"
    return _apply(name, node.operand, node.lower, node.upper)


def _like(node: sql.Like) -> Node:
    arguments = [node.operand, node.pattern, *([node.escape] if node.escape is not None else [])]
    found = _apply(node.operator, *arguments)
    return Apply("NOT", (found,)) if node.negated else found


def _in_list(node: sql.InList) -> Node:
    return _apply("NOT IN" if node.negated else "IN", node.operand, *node.values)


def _case(node: sql.Case) -> Node:
    arguments: list[Node] = []
    for branch in node.branches:
        conditions = [
            expression_of(each) if node.operand is None else _apply("=", node.operand, each)
            for each in branch.conditions
        ]
        arguments += [conditions[0] if len(conditions) == 1 else Apply("OR", tuple(conditions))]
        arguments += [expression_of(branch.result)]
    otherwise = Constant(None, T.NULL()) if node.otherwise is None else expression_of(node.otherwise)
    return Apply("CASE", (*arguments, otherwise))


def _cast(node: sql.Cast) -> Node:
    name = "CAST" if node.function == "CAST" else "TRY_CAST"
    target = to_data_type(node.type)
    if isinstance(node.type, types.IntervalType):
        # A number cast to an interval counts in its unit.
        target = DataTypes.INTERVAL(Resolution(Resolution.IntervalUnit[node.type.qualifier.start]))
    return Apply(name, (expression_of(node.operand), TypeNode(target)))


def _constructor(node: sql.Constructor) -> Node:
    if isinstance(node.values, base.Query) or node.kind not in {"ARRAY", "MAP"}:
        raise _error(node, f"{node.kind} of a query cannot stand in such an expression.")
    return _apply(node.kind, *node.values)


def _field_access(node: sql.FieldAccess) -> Node:
    if not isinstance(node.member, base.Identifier):
        raise _error(node, "only fields can be read from a row.")
    found = expression_of(node.container)
    for part in node.member.parts:
        found = Apply("GET", (found, _symbol(part)))
    return found


def _call(node: sql.FunctionCall) -> Node:
    if node.over is not None or node.filter is not None or node.order_by or node.within_group:
        raise _error(node, f"{node.name} with OVER, FILTER or ORDER BY cannot stand in such an expression.")
    found = _apply(node.name.simple.upper(), *node.arguments)
    return Apply("DISTINCT", (found,)) if node.quantifier == "DISTINCT" else found


def _trim(node: sql.Trim) -> Node:
    characters = _text(" ") if node.characters is None else expression_of(node.characters)
    return Apply("TRIM", (_symbol(node.side), characters, expression_of(node.operand)))


def _interval_expression(node: sql.IntervalExpression) -> Node:
    """``INTERVAL x DAY`` is x times a day; ``(a - b) DAY`` is how long it is from b to a."""
    kind = interval_type(node.qualifier)
    if isinstance(node.value, sql.Infix) and node.value.operator == "-":
        return Apply(
            "INTERVAL BETWEEN", (expression_of(node.value.left), expression_of(node.value.right), TypeNode(kind))
        )
    amount = _AMOUNTS.get(node.qualifier.end or node.qualifier.start, 1)
    return Apply("*", (expression_of(node.value), Constant(amount, kind.not_null())))


def _json_read(node: sql.JsonRead) -> Node:
    behaviors = {each.event: each for each in node.behaviors}
    arguments: list[Node] = [expression_of(node.document), expression_of(node.path)]
    if node.function == "JSON_EXISTS":
        on_error = behaviors.get("ERROR")
        return Apply("JSON_EXISTS", (*arguments, *([_symbol(on_error.action)] if on_error else [])))
    returning = T.STRING() if node.returning is None else to_data_type(node.returning)
    options: list[Node] = [TypeNode(returning)]
    if node.function == "JSON_QUERY":
        options.append(_symbol(node.wrapper or "WITHOUT"))
    for event in ("EMPTY", "ERROR"):
        behavior = behaviors.get(event)
        options.append(_symbol(behavior.action if behavior else "NULL"))
        if node.function == "JSON_VALUE":
            default = behavior.default if behavior else None
            options.append(Constant(None, T.NULL()) if default is None else expression_of(default))
    return Apply(node.function, (*arguments, *options))


def _json_object(node: sql.JsonObject) -> Node:
    parts = [each for pair in node.pairs for each in (expression_of(pair.key), expression_of(pair.value))]
    return Apply(node.function, (_symbol(node.on_null or "NULL"), *parts))


def _json_array(node: sql.JsonArray) -> Node:
    return Apply(node.function, (_symbol(node.on_null or "ABSENT"), *map(expression_of, node.values)))


_CONVERSIONS: dict[type[base.Expression], Callable[[Any], Node]] = {
    base.Identifier: lambda node: Column(node.parts),
    Given: lambda node: Known(node.value),
    sql.NumberLiteral: _number,
    sql.StringLiteral: lambda node: _text(node.value),
    sql.BinaryLiteral: lambda node: Constant(bytes.fromhex(node.digits), T.BINARY(len(node.digits) // 2).not_null()),
    sql.BooleanLiteral: lambda node: Constant(node.value, T.BOOLEAN().with_nullability(node.value is None)),
    sql.NullLiteral: lambda node: Constant(None, T.NULL()),
    sql.DateTimeLiteral: _date_time,
    sql.IntervalLiteral: _interval,
    sql.IntervalExpression: _interval_expression,
    sql.TimeUnit: lambda node: _symbol(node.name),
    sql.ContextVariable: lambda node: Apply(node.name),
    sql.Prefix: _prefix,
    sql.Postfix: lambda node: _apply(node.operator, node.operand),
    sql.Infix: _infix,
    sql.Between: _between,
    sql.Like: _like,
    sql.InList: _in_list,
    sql.Case: _case,
    sql.Cast: _cast,
    sql.Row: lambda node: _apply("ROW", *node.values),
    sql.Constructor: _constructor,
    sql.Item: lambda node: _apply("ITEM", node.container, node.index),
    sql.FieldAccess: _field_access,
    sql.FunctionCall: _call,
    sql.Trim: _trim,
    sql.Extract: lambda node: _apply("EXTRACT", node.unit, node.operand),
    sql.JsonRead: _json_read,
    sql.JsonObject: _json_object,
    sql.JsonArray: _json_array,
}
