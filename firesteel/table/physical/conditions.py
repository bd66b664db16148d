"""Conditions taken apart: what is joined by, within which bounds of time, up to which rank, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from firesteel.table.logical.plan import (
    ExistsQuery,
    Filter,
    InQuery,
    Project,
    QuantifiedQuery,
    Relation,
    ScalarQuery,
)
from firesteel.table.logical.rewriting import mapped
from firesteel.table.physical.joins_interval import IntervalBounds
from firesteel.table.resolution import ColumnValue, ConstantValue, FunctionValue, Typed, resolve
from firesteel.table.tree import Apply, Known
from firesteel.table.types import DataType, DayTimeIntervalType, TimeAttribute

__all__ = [
    "JoinCondition",
    "attribute_of",
    "both",
    "columns_of",
    "conjuncts",
    "has_query",
    "interval_bounds",
    "join_condition",
    "rank_bounds",
    "shifted",
    "traced",
]


def attribute_of(data_type: DataType) -> TimeAttribute:
    """Whether a type is that of a time attribute."""
    found = getattr(data_type, "attribute", TimeAttribute.REGULAR)
    assert isinstance(found, TimeAttribute)
    return found


def conjuncts(condition: Typed | None) -> Iterator[Typed]:
    """The parts of a condition that all have to be true."""
    if isinstance(condition, FunctionValue) and condition.function.name == "AND":
        for each in condition.arguments:
            yield from conjuncts(each)
    elif condition is not None:
        yield condition


def both(conditions: Iterable[Typed]) -> Typed | None:
    """The condition that all of these are true; None if there are none."""
    parts = list(conditions)
    if len(parts) < 2:
        return parts[0] if parts else None
    return resolve(Apply("AND", tuple(map(Known, parts))))


def columns_of(value: Typed) -> set[int]:
    """The columns that an expression reads."""
    found: set[int] = set()

    def look(each: Typed) -> Typed | None:
        if isinstance(each, ColumnValue):
            found.add(each.index)
        return None

    mapped(value, look)
    return found


def has_query(value: Typed) -> bool:
    """Whether there is a sub-query in an expression."""
    found: list[Typed] = []

    def look(each: Typed) -> Typed | None:
        if isinstance(each, (InQuery, ExistsQuery, ScalarQuery, QuantifiedQuery)):
            found.append(each)
        return None

    mapped(value, look)
    return bool(found)


def shifted(value: Typed, by: int) -> Typed:
    """An expression over columns that stand so many places further to the right."""
    return mapped(value, lambda each: replace(each, index=each.index + by) if isinstance(each, ColumnValue) else None)


def traced(relation: Relation, index: int) -> tuple[Relation, int]:
    """Where a column comes from, below projections and filters that hand it on."""
    while True:
        if isinstance(relation, Project):
            value = relation.expressions[index]
            if not isinstance(value, ColumnValue):
                return relation, index
            index = value.index
        elif not isinstance(relation, Filter):
            return relation, index
        relation = relation.input


@dataclass(frozen=True)
class JoinCondition:
    """A condition of a join: pairs of expressions that are equal, each over its own side, and what else has to be true.

    :param null_safe: For each pair, whether NULL equals NULL.
    """

    left: tuple[Typed, ...] = ()
    right: tuple[Typed, ...] = ()
    null_safe: tuple[bool, ...] = ()
    rest: tuple[Typed, ...] = ()

    @property
    def residual(self) -> Typed | None:
        """What else has to be true, over both rows."""
        return both(self.rest)


_EQUALITIES = {"=": False, "IS NOT DISTINCT FROM": True}


def join_condition(condition: Typed | None, width: int) -> JoinCondition:
    """Take the condition of a join apart; the left side has so many columns."""
    pairs: list[tuple[Typed, Typed, bool]] = []
    rest: list[Typed] = []
    for each in conjuncts(condition):
        pair = _pair(each, width)
        if pair is None:
            rest.append(each)
        else:
            pairs.append(pair)
    left, right, safe = (tuple(part) for part in zip(*pairs)) if pairs else ((), (), ())
    return JoinCondition(left, right, safe, tuple(rest))


def _pair(condition: Typed, width: int) -> tuple[Typed, Typed, bool] | None:
    if not isinstance(condition, FunctionValue) or condition.function.name not in _EQUALITIES:
        return None
    one, other = condition.arguments
    sides = [{index >= width for index in columns_of(each)} for each in (one, other)]
    if sides == [{True}, {False}]:
        one, other = other, one
    elif sides != [{False}, {True}]:
        return None
    return one, shifted(other, -width), _EQUALITIES[condition.function.name]


# ---- bounds of time --------------------------------------------------------------------------------------------------

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def interval_bounds(
    conditions: Sequence[Typed], width: int, fields: Sequence[DataType]
) -> tuple[IntervalBounds, list[Typed]] | None:
    """The bounds between time attributes of both sides, and the conditions that are left."""
    lower: int | None = None
    upper: int | None = None
    times: tuple[int, int] | None = None
    rest: list[Typed] = []
    for each in conditions:
        found = [_bound(part, width, fields) for part in _comparisons(each)]
        if not found or None in found:
            rest.append(each)
            continue
        for bound in found:
            assert bound is not None
            operator, distance, columns = bound
            if times is not None and times != columns:
                return None
            times = columns
            if operator in (">", ">=", "="):
                low = distance + (operator == ">")
                lower = low if lower is None else max(lower, low)
            if operator in ("<", "<=", "="):
                high = distance - (operator == "<")
                upper = high if upper is None else min(upper, high)
    if lower is None or upper is None or times is None:
        return None
    if attribute_of(fields[times[0]]) is TimeAttribute.PROCTIME:
        return IntervalBounds(lower, upper, None), rest
    return IntervalBounds(lower, upper, (times[0], times[1] - width)), rest


def _comparisons(condition: Typed) -> list[tuple[str, Typed, Typed]]:
    if not isinstance(condition, FunctionValue):
        return []
    name, arguments = condition.function.name, condition.arguments
    if name == "BETWEEN" and len(arguments) == 3:
        return [(">=", arguments[0], arguments[1]), ("<=", arguments[0], arguments[2])]
    return [(name, arguments[0], arguments[1])] if name in _TURNED and len(arguments) == 2 else []


def _bound(
    comparison: tuple[str, Typed, Typed], width: int, fields: Sequence[DataType]
) -> tuple[str, int, tuple[int, int]] | None:
    """``left operator right + distance``, in milliseconds, with the columns of both."""
    operator, one, other = comparison
    first, second = _moved(one), _moved(other)
    if first is None or second is None:
        return None
    (column, plus), (other_column, other_plus) = first, second
    if column >= width > other_column:
        column, plus, other_column, other_plus = other_column, other_plus, column, plus
        operator = _TURNED[operator]
    kinds = {attribute_of(fields[column]), attribute_of(fields[other_column])}
    if not column < width <= other_column or len(kinds) != 1 or TimeAttribute.REGULAR in kinds:
        return None
    return operator, other_plus - plus, (column, other_column)


def _moved(value: Typed) -> tuple[int, int] | None:
    """A column, and how many milliseconds are added to it."""
    if isinstance(value, ColumnValue):
        return value.index, 0
    if isinstance(value, FunctionValue) and value.function.name in ("+", "-") and len(value.arguments) == 2:
        one, other = value.arguments
        if isinstance(one, ConstantValue) and value.function.name == "+":
            one, other = other, one
        if isinstance(other, ConstantValue) and isinstance(other.type, DayTimeIntervalType):
            inner = _moved(one)
            if inner is not None and isinstance(other.value, int):
                return inner[0], inner[1] + (other.value if value.function.name == "+" else -other.value)
    return None


# ---- ranks -----------------------------------------------------------------------------------------------------------


def rank_bounds(condition: Typed, rank: int) -> tuple[int, int | None, list[Typed]]:
    """From which rank to which rows are wanted, and the conditions that are left."""
    start, end = 1, None
    rest: list[Typed] = []
    for each in conjuncts(condition):
        found = _rank_bound(each, rank)
        if found is None:
            rest.append(each)
            continue
        low, high = found
        start = max(start, low)
        end = high if end is None else end if high is None else min(end, high)
    return start, end, rest


def _rank_bound(condition: Typed, rank: int) -> tuple[int, int | None] | None:
    low, high = 1, None
    comparisons = _comparisons(condition)
    for operator, one, other in comparisons:
        if isinstance(other, ColumnValue):
            one, other, operator = other, one, _TURNED[operator]
        if not isinstance(one, ColumnValue) or one.index != rank or not isinstance(other, ConstantValue):
            return None
        if not isinstance(other.value, int):
            return None
        number = other.value
        if operator in (">", ">=", "="):
            low = max(low, number + (operator == ">"))
        if operator in ("<", "<=", "="):
            top = number - (operator == "<")
            high = top if high is None else min(high, top)
    return (low, high) if comparisons else None
