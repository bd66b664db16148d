"""Numbers as Java counts: whole ones wrap around, FLOAT has 32 bits, DECIMAL has 38 digits and then nothing."""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.table.types import DataType, DecimalType, DoubleType, FloatType, IntegralType

__all__ = ["EXACT", "converter", "float32", "rounded", "saturated", "wrapped"]

# Wide enough for the product of two DECIMALs, so that there is one rounding: to the type of the result.
EXACT = decimal.Context(prec=120, rounding=decimal.ROUND_HALF_UP, Emax=999999, Emin=-999999)
_SINGLE = struct.Struct("<f")


def wrapped(value: int, bits: int) -> int:
    """The number that is left of another in so many bits, as Java's arithmetic leaves it."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def float32(value: float) -> float:
    """The nearest number of 32 bits."""
    try:
        result: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
        return result
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def rounded(value: Decimal, target: DecimalType) -> Decimal | None:
    """A number with as many digits after the point as its type has; None if there are too many before it."""
    result = value.quantize(Decimal(1).scaleb(-target.scale), context=EXACT)
    if result.is_zero():
        return abs(result)
    return result if result.adjusted() < target.precision - target.scale else None


def saturated(value: float, bits: int) -> int:
    """A floating-point number as a whole one of so many bits, as Java casts it: the nearest that there is."""
    if math.isnan(value):
        return 0
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(high, int(value)))


def converter(source: DataType, target: DataType) -> Callable[[Any], Any]:
    """What makes a number of one type one of another: Java's casts, and NULL where a DECIMAL has no room."""
    if isinstance(target, DecimalType):
        return _to_decimal(source, target)
    if isinstance(target, IntegralType):
        return _to_whole(source, target.bits)
    if isinstance(target, FloatType):
        return lambda value: float32(float(value))
    assert isinstance(target, DoubleType)
    return float


def _to_decimal(source: DataType, target: DecimalType) -> Callable[[Any], Any]:
    if isinstance(source, (FloatType, DoubleType)):
        # Java's BigDecimal.valueOf goes by the shortest text, which Python's repr is too.
        return lambda value: rounded(Decimal(repr(value)), target) if math.isfinite(value) else None
    if isinstance(source, DecimalType) and source.scale == target.scale and source.precision <= target.precision:
        return lambda value: value
    return lambda value: rounded(Decimal(value), target)


def _to_whole(source: DataType, bits: int) -> Callable[[Any], Any]:
    if isinstance(source, (FloatType, DoubleType)):
        # Java casts to int or long first, and cuts that off for the smaller types.
        return lambda value: wrapped(saturated(value, max(bits, 32)), bits)
    if isinstance(source, IntegralType) and source.bits <= bits:
        return lambda value: value
    return lambda value: wrapped(int(value), bits)
