"""Aggregates: what they make of many values, added, taken back and merged in any order that their operator needs.

The implementation of an aggregate is an :class:`Aggregator`. NULL is left out before it gets here, except by those
that say they want it (``takes_nulls``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.errors import FiresteelError
from firesteel.table.functions.casting import text_function
from firesteel.table.functions.collections import element_key
from firesteel.table.functions.definition import Call, Function, FunctionKind, call_error, register
from firesteel.table.functions.json_functions import json_converter
from firesteel.table.functions.json_text import json_text
from firesteel.table.functions.numbers import EXACT, converter, float32, rounded, wrapped
from firesteel.table.functions.signatures import ANY, ARRAY, INTEGER, NUMBER, TEXT, Check, check_arguments
from firesteel.table.types import (
    ArrayType,
    DataType,
    DataTypes,
    DecimalType,
    FloatType,
    IntegralType,
    MapType,
    MultisetType,
    RawType,
    RowType,
    StructuredType,
    VariantType,
)
from firesteel.table.types import decimals as rules

__all__ = ["AggregateError", "Aggregator", "register_aggregate"]


class AggregateError(FiresteelError, ValueError):
    """Values that an aggregate cannot take: a key twice in an object of JSON, say."""


class Aggregator:
    """How an aggregate works. An accumulator belongs to whoever asked for it; methods give the one to go on with."""

    takes_nulls = False

    def create(self) -> Any:
        """The accumulator of no values."""
        raise NotImplementedError

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        """With the values of a row added."""
        raise NotImplementedError

    def retract(self, accumulator: Any, *values: Any) -> Any:
        """With the values of a row, which were added before, taken back."""
        raise NotImplementedError

    def merge(self, accumulator: Any, other: Any) -> Any:
        """With all that another accumulator was given."""
        raise NotImplementedError

    def value(self, accumulator: Any) -> Any:
        """The result; NULL of no values, for most."""
        raise NotImplementedError

    def for_insertions(self) -> Aggregator:
        """One that need not take anything back, and so may remember less."""
        return self


class _Count(Aggregator):
    def create(self) -> Any:
        return 0

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        return accumulator + 1

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return accumulator - 1

    def merge(self, accumulator: Any, other: Any) -> Any:
        return accumulator + other

    def value(self, accumulator: Any) -> Any:
        return accumulator


class _Sum(Aggregator):
    """The accumulator is the sum and the number of values: the sum of none is NULL, though some were taken back."""

    def __init__(self, data_type: DataType, of_nothing: Any = None) -> None:
        self._type, self._of_nothing = data_type, of_nothing
        self._zero = Decimal(0) if isinstance(data_type, DecimalType) else converter(DataTypes.INT(), data_type)(0)

    def create(self) -> Any:
        return (self._zero, 0)

    def _plus(self, left: Any, right: Any) -> Any:
        if isinstance(self._type, DecimalType):
            return EXACT.add(left, right)
        return float32(left + right) if isinstance(self._type, FloatType) else left + right

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        total, count = accumulator
        return (self._plus(total, values[0]), count + 1)

    def retract(self, accumulator: Any, *values: Any) -> Any:
        total, count = accumulator
        return (self._plus(total, -values[0]), count - 1)

    def merge(self, accumulator: Any, other: Any) -> Any:
        return (self._plus(accumulator[0], other[0]), accumulator[1] + other[1])

    def value(self, accumulator: Any) -> Any:
        total, count = accumulator
        if count == 0:
            return self._of_nothing
        return _fitted(total, self._type)


def _fitted(total: Any, data_type: DataType) -> Any:
    if isinstance(data_type, IntegralType):
        return wrapped(total, data_type.bits)
    if isinstance(data_type, DecimalType):
        return rounded(total, data_type)
    return float32(total) if isinstance(data_type, FloatType) else total


class _Average(_Sum):
    def __init__(self, argument: DataType, result: DataType) -> None:
        super().__init__(argument)
        self._result = result

    def value(self, accumulator: Any) -> Any:
        total, count = accumulator
        if count == 0:
            return None
        if isinstance(self._result, IntegralType):
            quotient = abs(total) // count
            return quotient if total >= 0 else -quotient
        if isinstance(self._result, DecimalType):
            return rounded(EXACT.divide(Decimal(total), Decimal(count)), self._result)
        return _fitted(total / count, self._result)


class _Deviation(Aggregator):
    """Variance and standard deviation, of all or of a sample: number, mean and sum of squared distances from it.

    These stay exact where sums of squares would cancel out (Welford's way, and Chan's to merge).
    """

    def __init__(self, result: DataType, sample: bool, root: bool) -> None:
        self._result, self._sample, self._root = result, sample, root
        exact = isinstance(result, (DecimalType, IntegralType))
        self._make: Callable[[Any], Any] = Decimal if exact else float

    def create(self) -> Any:
        return (0, self._make(0), self._make(0))

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        count, mean, squares = accumulator
        distance = self._make(values[0]) - mean
        after = mean + distance / (count + 1)
        return (count + 1, after, squares + distance * (self._make(values[0]) - after))

    def retract(self, accumulator: Any, *values: Any) -> Any:
        count, mean, squares = accumulator
        if count == 1:
            return self.create()
        distance = self._make(values[0]) - mean
        before = mean - distance / (count - 1)
        return (count - 1, before, squares - distance * (self._make(values[0]) - before))

    def merge(self, accumulator: Any, other: Any) -> Any:
        (count, mean, squares), (others, other_mean, other_squares) = accumulator, other
        total = count + others
        if total == 0:
            return self.create()
        distance = other_mean - mean
        spread = distance * distance * count * others / total
        return (total, mean + distance * others / total, squares + other_squares + spread)

    def value(self, accumulator: Any) -> Any:
        count, _, squares = accumulator
        divisor = count - 1 if self._sample else count
        if divisor <= 0:
            return None
        variance = squares / divisor
        result = math.sqrt(max(variance, 0)) if self._root else variance
        kind = DataTypes.DOUBLE() if isinstance(result, float) else DataTypes.DECIMAL(38, 18)
        return converter(kind, self._result)(result)


class _Bag(Aggregator):
    """Values with how often they are there, in the order in which they came: what most others are made of."""

    def create(self) -> Any:
        return {}

    def _key(self, values: tuple[Any, ...]) -> Any:
        return values[0] if len(values) == 1 else values

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        key = self._key(values)
        accumulator[key] = accumulator.get(key, 0) + 1
        return accumulator

    def retract(self, accumulator: Any, *values: Any) -> Any:
        key = self._key(values)
        # A value may be taken back before it comes: it is owed until then.
        left = accumulator.get(key, 0) - 1
        if left:
            accumulator[key] = left
        else:
            del accumulator[key]
        return accumulator

    def merge(self, accumulator: Any, other: Any) -> Any:
        for key, count in other.items():
            total = accumulator.get(key, 0) + count
            if total:
                accumulator[key] = total
            else:
                del accumulator[key]
        return accumulator

    def present(self, accumulator: Any) -> list[Any]:
        """The values that are there."""
        return [key for key, count in accumulator.items() if count > 0]

    def value(self, accumulator: Any) -> Any:
        return {key: count for key, count in accumulator.items() if count > 0}


class _Extreme(_Bag):
    def __init__(self, choose: Callable[..., Any]) -> None:
        self._choose = choose

    def value(self, accumulator: Any) -> Any:
        return self._choose(self.present(accumulator), default=None)

    def for_insertions(self) -> Aggregator:
        return _Chosen(self._choose)


class _Chosen(Aggregator):
    """One value out of all that have come: the accumulator is that value, and nothing else."""

    def __init__(self, choose: Callable[[Any, Any], Any]) -> None:
        self._choose = choose

    def create(self) -> Any:
        return None

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        return values[0] if accumulator is None else self._choose(accumulator, values[0])

    def merge(self, accumulator: Any, other: Any) -> Any:
        return accumulator if other is None else self.accumulate(accumulator, other)

    def value(self, accumulator: Any) -> Any:
        return accumulator


class _Percentile(Aggregator):
    """Numbers with frequencies, and the share that is asked for; between two numbers the result is on the line."""

    _bag = _Bag()

    def create(self) -> Any:
        return ({}, None)

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        return self._add(accumulator, values, 1)

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return self._add(accumulator, values, -1)

    def _add(self, accumulator: Any, values: tuple[Any, ...], sign: int) -> Any:
        frequency = sign * (int(values[2]) if len(values) > 2 else 1)
        counts = {float(values[0]): frequency} if frequency else {}
        return self.merge(accumulator, (counts, values[1]))

    def merge(self, accumulator: Any, other: Any) -> Any:
        share = other[1] if accumulator[1] is None else accumulator[1]
        return (self._bag.merge(accumulator[0], other[0]), share)

    def value(self, accumulator: Any) -> Any:
        counts = sorted((number, count) for number, count in accumulator[0].items() if count > 0)
        if not counts:
            return None
        share = accumulator[1]
        return tuple(_at(counts, each) for each in share) if isinstance(share, tuple) else _at(counts, share)


def _at(counts: list[tuple[float, int]], share: Any) -> float:
    position = float(share) * (sum(count for _, count in counts) - 1)
    lower, upper = _nth(counts, math.floor(position)), _nth(counts, math.ceil(position))
    return lower + (upper - lower) * (position - math.floor(position))


def _nth(counts: list[tuple[float, int]], index: int) -> float:
    for number, count in counts:
        if index < count:
            return number
        index -= count
    return counts[-1][0]


class _Row(Aggregator):
    """Values in the order in which they came; one that is taken back goes where it is first."""

    def __init__(
        self, finish: Callable[[list[Any]], Any], takes_nulls: bool = False, key: Callable[..., Any] | None = None
    ) -> None:
        self._finish, self.takes_nulls = finish, takes_nulls
        self._key = key or (lambda *values: values[0])

    def create(self) -> Any:
        return ([], [])

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        there, owed = accumulator
        item = self._key(*values)
        if item in owed:
            owed.remove(item)
        else:
            there.append(item)
        return accumulator

    def retract(self, accumulator: Any, *values: Any) -> Any:
        there, owed = accumulator
        item = self._key(*values)
        if item in there:
            there.remove(item)
        else:
            owed.append(item)
        return accumulator

    def merge(self, accumulator: Any, other: Any) -> Any:
        for item in other[1]:
            accumulator = _Row.retract(self._plain(), accumulator, item)
        for item in other[0]:
            accumulator = _Row.accumulate(self._plain(), accumulator, item)
        return accumulator

    def _plain(self) -> _Row:
        return _Row(self._finish, self.takes_nulls)

    def value(self, accumulator: Any) -> Any:
        return self._finish(accumulator[0])


# The entries

_PLAIN: Check = (
    "a value that has an order",
    lambda t: not isinstance(t, (ArrayType, MapType, MultisetType, RowType, StructuredType, RawType, VariantType)),
)


def register_aggregate(
    name: str,
    checks: tuple[Check, ...],
    result: Callable[[Call], DataType],
    make: Callable[[Call], Aggregator],
    least: int | None = None,
    aliases: tuple[str, ...] = (),
) -> None:
    """Put an aggregate into the catalogue; like `scalar` for functions of one row."""

    def infer(call: Call) -> DataType:
        check_arguments(call, checks, least)
        return result(call)

    register(Function(name, infer, make, strict=False, kind=FunctionKind.AGGREGATE, aliases=aliases))


def _of_argument(call: Call) -> DataType:
    return call.types[0].nullable()


def _sum_type(call: Call) -> DataType:
    data_type = call.types[0]
    return rules.sum_result(data_type) if isinstance(data_type, DecimalType) else data_type.nullable()


def _average_type(call: Call) -> DataType:
    data_type = call.types[0]
    return rules.average_result(data_type) if isinstance(data_type, DecimalType) else data_type.nullable()


def _infer_count(call: Call) -> DataType:
    return DataTypes.BIGINT(False)


register(Function("COUNT", _infer_count, lambda call: _Count(), strict=False, kind=FunctionKind.AGGREGATE))
register_aggregate("SUM", (NUMBER,), _sum_type, lambda call: _Sum(_sum_type(call)))
register_aggregate(
    "SUM0",
    (NUMBER,),
    lambda call: _sum_type(call).not_null(),
    lambda call: _Sum(_sum_type(call), converter(DataTypes.INT(), _sum_type(call))(0)),
    aliases=("$SUM0",),
)
register_aggregate("AVG", (NUMBER,), _average_type, lambda call: _Average(_sum_type(call), _average_type(call)))
register_aggregate("MAX", (_PLAIN,), _of_argument, lambda call: _Extreme(max))
register_aggregate("MIN", (_PLAIN,), _of_argument, lambda call: _Extreme(min))
for _name, _sample, _root, _aliases in (
    ("STDDEV_POP", False, True, ()),
    ("STDDEV_SAMP", True, True, ("STDDEV",)),
    ("VAR_POP", False, False, ()),
    ("VAR_SAMP", True, False, ("VARIANCE",)),
):

    def _make_deviation(call: Call, sample: bool = _sample, root: bool = _root) -> Aggregator:
        return _Deviation(_average_type(call), sample, root)

    register_aggregate(_name, (NUMBER,), _average_type, _make_deviation, aliases=_aliases)

register_aggregate("COLLECT", (ANY,), lambda call: MultisetType(call.types[0], False), lambda call: _Bag())
register_aggregate(
    "ARRAY_AGG",
    (ANY,),
    lambda call: ArrayType(call.types[0]),
    lambda call: _Row(lambda items: tuple(items) or None, True),
)


class _End(_Row):
    """The first of all values, or the last."""

    def __init__(self, at: int) -> None:
        super().__init__(lambda items: items[at] if items else None)
        self._at = at

    def for_insertions(self) -> Aggregator:
        return _Chosen((lambda first, _: first) if self._at == 0 else (lambda _, last: last))


register_aggregate("FIRST_VALUE", (ANY,), _of_argument, lambda call: _End(0))
register_aggregate("LAST_VALUE", (ANY,), _of_argument, lambda call: _End(-1))


def _make_list_agg(call: Call) -> Aggregator:
    separator = call.literal(1, ",")
    return _Row(lambda items: separator.join(items) if items else None)


register_aggregate("LISTAGG", (TEXT, TEXT), _of_argument, _make_list_agg, least=1)


def _single(items: list[Any]) -> Any:
    if len(items) > 1:
        raise AggregateError(f"SINGLE_VALUE: there are {len(items)} values where one was expected.")
    return items[0] if items else None


register_aggregate("SINGLE_VALUE", (ANY,), _of_argument, lambda call: _Row(_single, True))


class _Distinct(_Bag):
    """How many different values there are. It is exact, which an approximation may be."""

    def _key(self, values: tuple[Any, ...]) -> Any:
        return element_key(values[0])

    def value(self, accumulator: Any) -> Any:
        return len(self.present(accumulator))


register_aggregate("APPROX_COUNT_DISTINCT", (ANY,), lambda call: DataTypes.BIGINT(False), lambda call: _Distinct())

# JSON

_JSON_RESULT = DataTypes.VARCHAR(2000).not_null()


def _make_json_array(call: Call) -> Aggregator:
    absent = call.literal(0) == "ABSENT"
    convert = json_converter(call.types[1], call.session)

    def finish(items: list[Any]) -> str:
        return json_text([convert(item) for item in items if not (absent and item is None)])

    return _Row(finish, True, key=lambda _on_null, item: item)


def _make_json_object(call: Call) -> Aggregator:
    absent = call.literal(0) == "ABSENT"
    key_text = text_function(call.types[1], call.session)
    convert = json_converter(call.types[2], call.session)

    def finish(items: list[Any]) -> str:
        result: dict[str, Any] = {}
        for key, item in items:
            if key is None:
                raise AggregateError("JSON_OBJECTAGG: a key is NULL.")
            if key_text(key) in result:
                raise AggregateError(f"JSON_OBJECTAGG: the key {key!r} is there twice.")
            if not (absent and item is None):
                result[key_text(key)] = convert(item)
        return json_text(result)

    return _Row(finish, True, key=lambda _on_null, key, item: (key, item))


register_aggregate("JSON_ARRAYAGG", (ANY, ANY), lambda call: _JSON_RESULT, _make_json_array)
register_aggregate("JSON_OBJECTAGG", (ANY, TEXT, ANY), lambda call: _JSON_RESULT, _make_json_object)


def _percentile_type(call: Call) -> DataType:
    if isinstance(call.types[1], ArrayType):
        return ArrayType(DataTypes.DOUBLE())
    if not NUMBER[1](call.types[1]):
        raise call_error(call, "the second argument is a share from 0 to 1, or an array of such")
    return DataTypes.DOUBLE()


_SHARE: Check = ("a share from 0 to 1, or an array of such", lambda t: NUMBER[1](t) or ARRAY[1](t))
register_aggregate("PERCENTILE", (NUMBER, _SHARE, INTEGER), _percentile_type, lambda call: _Percentile(), least=2)
