"""Numbers: operators and functions. Whole numbers wrap around as in Java, DECIMALs that have no room become NULL."""

from __future__ import annotations

import math
import operator
import random
import uuid
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

from firesteel.errors import FiresteelError
from firesteel.table.functions import temporal_arithmetic
from firesteel.table.functions.definition import Call, Function, call_error, register
from firesteel.table.functions.java_random import JavaRandom
from firesteel.table.functions.numbers import EXACT, converter, float32, rounded, wrapped
from firesteel.table.functions.signatures import (
    INTEGER,
    NUMBER,
    STRING,
    TEXT,
    check_arguments,
    gives,
    gives_nullable,
    scalar,
)
from firesteel.table.types import (
    DataType,
    DataTypes,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    IntervalType,
    NullType,
    common_type,
    is_exact_number,
    is_number,
    is_text,
)
from firesteel.table.types import decimals as rules

__all__ = ["DivisionByZero"]

DOUBLE = DataTypes.DOUBLE()
INT = DataTypes.INT()


class DivisionByZero(FiresteelError, ArithmeticError):
    """A whole number or a DECIMAL was divided by zero."""


def _zero(call: Call) -> DivisionByZero:
    return DivisionByZero(f"{call.name}: division by zero.")


# + - * / %


def _number_types(call: Call) -> list[DataType]:
    """The types of the arguments, which are numbers; an untyped NULL is like the other one."""
    known = [each for each in call.types if not isinstance(each, NullType)]
    types = [known[0] if isinstance(each, NullType) and known else each for each in call.types]
    for each in types:
        if not is_number(each):
            raise call_error(call, f"{each.nullable()} is no number")
    return types


_DECIMAL_RESULTS = {
    "+": rules.add_result,
    "-": rules.add_result,
    "*": rules.multiply_result,
    "/": rules.divide_result,
    "%": rules.modulo_result,
}


def _infer_operator(call: Call) -> DataType:
    if len(call.arguments) != 2:
        raise call_error(call, "takes 2 arguments")
    found = temporal_arithmetic.infer(call)
    if found is not None:
        return found
    left, right = _number_types(call)
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        if is_exact_number(left) and is_exact_number(right):
            result: DataType = _DECIMAL_RESULTS[call.name](rules.as_decimal(left), rules.as_decimal(right))
            return result.with_nullability(call.nullable)
        return DOUBLE.with_nullability(call.nullable)
    if call.name == "%" and isinstance(left, IntegralType):
        return right.with_nullability(call.nullable)
    if isinstance(left, (FloatType, DoubleType)) and isinstance(right, (FloatType, DoubleType)):
        # As Calcite has it: FLOAT and DOUBLE are equally precise there, and the first one stays.
        return left.with_nullability(call.nullable)
    merged = common_type([left, right])
    assert merged is not None
    return merged.with_nullability(call.nullable)


def _java_divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _java_remainder(a: int, b: int) -> int:
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


_WHOLE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _java_divide,
    "%": _java_remainder,
}


def _float_divide(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)


def _float_remainder(a: float, b: float) -> float:
    if b == 0 or math.isinf(a) or math.isnan(a) or math.isnan(b):
        return math.nan
    return math.fmod(a, b)


_FLOATING: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _float_divide,
    "%": _float_remainder,
}


def _decimal_divide(a: Decimal, b: Decimal) -> Decimal:
    return EXACT.divide(a, b)


_DECIMAL: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": _decimal_divide,
    "%": EXACT.remainder,
}


def _make_operator(call: Call) -> Callable[[Any, Any], Any]:
    found = temporal_arithmetic.make(call)
    if found is not None:
        return found
    left, right = _number_types(call)
    result = call.result
    assert result is not None
    if isinstance(result, IntegralType):
        return _whole_operator(call, left, right, result.bits)
    if isinstance(result, DecimalType):
        return _decimal_operator(call, result)
    return _floating_operator(call, result)


def _whole_operator(call: Call, left: DataType, right: DataType, bits: int) -> Callable[[int, int], int]:
    compute = _WHOLE[call.name]
    if call.name in "+-*":
        half, mask = 1 << (bits - 1), (1 << bits) - 1
        return lambda a, b: ((compute(a, b) + half) & mask) - half

    def divide(a: int, b: int) -> int:
        if b == 0:
            raise _zero(call)
        return wrapped(compute(a, b), bits)

    return divide


def _decimal_operator(call: Call, result: DecimalType) -> Callable[[Any, Any], Any]:
    compute = _DECIMAL[call.name]

    def decimal(a: Any, b: Any) -> Decimal | None:
        if b == 0 and call.name in "/%":
            raise _zero(call)
        return rounded(compute(Decimal(a), Decimal(b)), result)

    return decimal


def _floating_operator(call: Call, result: DataType) -> Callable[[Any, Any], Any]:
    compute = _FLOATING[call.name]
    if isinstance(result, FloatType):
        return lambda a, b: float32(compute(float32(float(a)), float32(float(b))))
    return lambda a, b: compute(float(a), float(b))


for _name, _aliases in (("+", ("PLUS",)), ("-", ("MINUS",)), ("*", ("TIMES",)), ("/", ("DIVIDE",)), ("%", ("MOD",))):
    register(Function(_name, _infer_operator, _make_operator, aliases=_aliases))


def _infer_sign(call: Call) -> DataType:
    data_type = call.types[0]
    if len(call.types) != 1 or not (is_number(data_type) or isinstance(data_type, IntervalType)):
        raise call_error(call, "takes a number or an interval")
    return data_type


def _make_negation(call: Call) -> Callable[[Any], Any]:
    data_type = call.types[0]
    if isinstance(data_type, IntegralType):
        bits = data_type.bits
        return lambda value: wrapped(-value, bits)
    return lambda value: -value


register(Function("- PREFIX", _infer_sign, _make_negation, aliases=("MINUSPREFIX",)))
register(Function("+ PREFIX", _infer_sign, lambda call: lambda value: value))

# Functions of one DOUBLE


def _double(name: str, function: Callable[[float], float], aliases: tuple[str, ...] = ()) -> None:
    def guarded(value: Any) -> float:
        try:
            return function(float(value))
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan

    scalar(name, (NUMBER,), gives(DOUBLE), guarded, aliases=aliases)


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: -math.inf if value == 0 else function(value)


def _cotangent(value: float) -> float:
    return _float_divide(1.0, math.tan(value))


_double("SQRT", math.sqrt)
_double("LN", _logarithm(math.log))
_double("LOG10", _logarithm(math.log10))
_double("LOG2", _logarithm(lambda value: math.log(value) / math.log(2)))
_double("EXP", math.exp)
_double("SIN", math.sin)
_double("SINH", math.sinh)
_double("COS", math.cos)
_double("COSH", math.cosh)
_double("TAN", math.tan)
_double("TANH", math.tanh)
_double("COT", _cotangent)
_double("ASIN", math.asin)
_double("ACOS", math.acos)
_double("ATAN", math.atan)
_double("DEGREES", lambda value: value * (180.0 / math.pi))
_double("RADIANS", lambda value: value * (math.pi / 180.0))


def _power(base: Any, exponent: Any) -> float:
    try:
        return math.pow(float(base), float(exponent))
    except OverflowError:
        return math.inf
    except ValueError:
        return math.inf if float(base) == 0 else math.nan


def _log(first: Any, second: Any = None) -> float:
    values = [float(value) for value in (first, second) if value is not None]
    logs = [-math.inf if value == 0 else math.nan if value < 0 else math.log(value) for value in values]
    return logs[0] if second is None else _float_divide(logs[1], logs[0])


scalar("POWER", (NUMBER, NUMBER), gives(DOUBLE), _power)
scalar("LOG", (NUMBER, NUMBER), gives(DOUBLE), _log, least=1)
scalar("ATAN2", (NUMBER, NUMBER), gives(DOUBLE), lambda y, x: math.atan2(float(y), float(x)))
scalar("PI", (), lambda call: DOUBLE.not_null(), lambda: math.pi)
scalar("E", (), lambda call: DOUBLE.not_null(), lambda: math.e)


def _of_argument(call: Call) -> DataType:
    return call.types[0]


def _make_absolute(call: Call) -> Callable[[Any], Any]:
    data_type = call.types[0]
    if isinstance(data_type, IntegralType):
        bits = data_type.bits
        return lambda value: wrapped(abs(value), bits)
    return abs


scalar("ABS", (NUMBER,), _of_argument, make=_make_absolute)


def _make_sign(call: Call) -> Callable[[Any], Any]:
    data_type = call.types[0]
    if isinstance(data_type, DecimalType):
        return lambda value: rounded(Decimal((value > 0) - (value < 0)), data_type)
    if isinstance(data_type, IntegralType):
        return lambda value: (value > 0) - (value < 0)
    return lambda value: value if value == 0 or math.isnan(value) else math.copysign(1.0, value)


scalar("SIGN", (NUMBER,), _of_argument, make=_make_sign)


# CEIL and FLOOR: of numbers, and of points in time with a unit


def _infer_whole_part(call: Call) -> DataType:
    if len(call.arguments) == 2:
        return temporal_arithmetic.infer_rounding(call)
    check_arguments(call, (NUMBER,))
    data_type = call.types[0]
    if isinstance(data_type, DecimalType):
        return DecimalType(data_type.precision, 0, data_type.is_nullable)
    return data_type


def _make_whole_part(upward: bool) -> Callable[[Call], Callable[..., Any]]:
    def make(call: Call) -> Callable[..., Any]:
        if len(call.arguments) == 2:
            return temporal_arithmetic.make_rounding(call, upward)
        data_type = call.types[0]
        if isinstance(data_type, IntegralType):
            return lambda value: value
        whole = math.ceil if upward else math.floor
        if isinstance(data_type, DecimalType):
            return lambda value: Decimal(whole(value))
        return lambda value: math.copysign(float(whole(value)), value) if math.isfinite(value) else value

    return make


register(Function("CEIL", _infer_whole_part, _make_whole_part(True), aliases=("CEILING",)))
register(Function("FLOOR", _infer_whole_part, _make_whole_part(False)))


def _infer_round(call: Call) -> DataType:
    check_arguments(call, (NUMBER, INTEGER), least=1)
    data_type = call.types[0]
    if not isinstance(data_type, DecimalType):
        return data_type.with_nullability(call.nullable)
    if len(call.arguments) == 1:
        return rules.round_result(data_type, 0)
    if not call.arguments[1].is_literal or call.arguments[1].value is None:
        return data_type.with_nullability(call.nullable)
    return rules.round_result(data_type, call.arguments[1].value).with_nullability(call.nullable)


def _make_rounding(mode: str) -> Callable[[Call], Callable[..., Any]]:
    def make(call: Call) -> Callable[..., Any]:
        data_type = call.types[0]
        result = call.result
        back = converter(DataTypes.DECIMAL(38, 18), data_type) if not isinstance(data_type, DecimalType) else None
        floating = isinstance(data_type, (FloatType, DoubleType))

        def compute(value: Any, digits: int = 0) -> Any:
            if floating and not math.isfinite(value):
                return value
            exact = Decimal(repr(value)) if floating else Decimal(value)
            places = -min(digits, 38)
            at = exact.quantize(Decimal(1).scaleb(places), rounding=mode, context=EXACT) if places > -38 else exact
            if back is not None:
                return back(at)
            assert isinstance(result, DecimalType)
            return rounded(at, result)

        return compute

    return make


register(Function("ROUND", _infer_round, _make_rounding(ROUND_HALF_UP)))
register(Function("TRUNCATE", _infer_round, _make_rounding(ROUND_DOWN)))

# Other forms of a number


def _unsigned(value: int) -> int:
    return value & 0xFFFFFFFFFFFFFFFF


def _hex(value: Any) -> str:
    if isinstance(value, str):
        return value.encode("utf-8").hex().upper()
    return format(_unsigned(value), "X")


def _unhex(text: str) -> bytes | None:
    # Of an odd number of digits the first is dropped, and a zero byte stands for it.
    digits = f"00{text[1:]}" if len(text) % 2 else text
    try:
        return bytes.fromhex(digits) if not any(char.isspace() for char in digits) else None
    except ValueError:
        return None


scalar("BIN", (INTEGER,), gives(STRING), lambda value: format(_unsigned(value), "b"))
scalar("HEX", (("a whole number or a text", lambda t: INTEGER[1](t) or is_text(t)),), gives(STRING), _hex)
scalar("UNHEX", (TEXT,), gives_nullable(DataTypes.BYTES()), _unhex)

# Numbers by chance


def _make_random(call: Call) -> Callable[..., Any]:
    if not call.arguments:
        return random.random
    seed = call.literal(0)
    source = JavaRandom(seed)
    return lambda _seed: source.next_double()


def _make_random_integer(call: Call) -> Callable[..., Any]:
    if len(call.arguments) == 1:
        return lambda bound: random.randrange(bound)
    source = JavaRandom(call.literal(0))
    return lambda _seed, bound: source.next_int(bound)


scalar("RAND", (INTEGER,), gives(DOUBLE), make=_make_random, least=0, deterministic=False)
scalar("RAND_INTEGER", (INTEGER, INTEGER), gives(INT), make=_make_random_integer, least=1, deterministic=False)
scalar("UUID", (), lambda call: DataTypes.CHAR(36).not_null(), lambda: str(uuid.uuid4()), deterministic=False)
