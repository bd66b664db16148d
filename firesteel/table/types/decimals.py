"""DECIMAL, and which DECIMAL the result of an operation is."""

from __future__ import annotations

from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.table.types.base import (
    BigIntType,
    DataType,
    FractionalType,
    IntType,
    SmallIntType,
    TinyIntType,
    between,
)

__all__ = [
    "MAX_PRECISION",
    "DecimalType",
    "add_result",
    "as_decimal",
    "average_result",
    "common_decimal",
    "divide_result",
    "fits_after_rounding",
    "modulo_result",
    "multiply_result",
    "round_result",
    "sum_result",
]

MAX_PRECISION = 38
# Of a result that has more than 38 digits, at least so many of those after the point are kept.
_LEAST_SCALE = 6
_DIGITS: dict[type[DataType], int] = {TinyIntType: 3, SmallIntType: 5, IntType: 10, BigIntType: 19}


class DecimalType(FractionalType):
    """Exact numbers of at most `precision` digits, `scale` of them after the point: SQL's DECIMAL(p, s)."""

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = between("the precision of DECIMAL", precision, 1, MAX_PRECISION)
        self.scale = between("the scale of DECIMAL", scale, 0, MAX_PRECISION)
        if scale > precision:
            raise ConfigurationError(
                f"the scale of DECIMAL must not exceed its precision, got DECIMAL({precision}, {scale})."
            )
        self.has_precision_info = True

    def text(self) -> str:
        """The name with precision and scale."""
        return f"DECIMAL({self.precision}, {self.scale})"

    def parameters(self) -> tuple[Any, ...]:
        """Precision and scale."""
        return (self.precision, self.scale)


def as_decimal(data_type: DataType) -> DecimalType:
    """The DECIMAL that holds every value of a whole-number type; a DECIMAL itself."""
    if isinstance(data_type, DecimalType):
        return data_type
    return DecimalType(_DIGITS[type(data_type)], 0, data_type.is_nullable)


def common_decimal(left: DecimalType, right: DecimalType) -> DecimalType:
    """The DECIMAL for values of either type: digits before the point go before those after it."""
    whole = max(left.precision - left.scale, right.precision - right.scale)
    scale = max(left.scale, right.scale)
    precision = min(whole + scale, MAX_PRECISION)
    return DecimalType(precision, min(scale, precision - min(whole, precision)))


def fits_after_rounding(precision: int, scale: int) -> DecimalType:
    """A result type that may exceed 38 digits: digits after the point are given up first, down to six."""
    if precision <= MAX_PRECISION:
        return DecimalType(max(precision, 1), scale)
    whole = precision - scale
    return DecimalType(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, _LEAST_SCALE)))


def add_result(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of a sum or a difference."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return fits_after_rounding(whole + scale + 1, scale)


def multiply_result(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of a product."""
    return fits_after_rounding(left.precision + right.precision + 1, left.scale + right.scale)


def divide_result(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of a quotient."""
    scale = max(_LEAST_SCALE, left.scale + right.precision + 1)
    return fits_after_rounding(left.precision - left.scale + right.scale + scale, scale)


def modulo_result(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of a remainder."""
    scale = max(left.scale, right.scale)
    whole = min(left.precision - left.scale, right.precision - right.scale)
    return fits_after_rounding(whole + scale, scale)


def sum_result(argument: DecimalType) -> DecimalType:
    """The type of SUM over a DECIMAL: as many digits as there are."""
    return DecimalType(MAX_PRECISION, argument.scale)


def average_result(argument: DecimalType) -> DecimalType:
    """The type of AVG over a DECIMAL: its sum divided by a count."""
    return DecimalType(MAX_PRECISION, max(_LEAST_SCALE, argument.scale))


def round_result(argument: DecimalType, digits: int) -> DecimalType:
    """The type of ROUND to `digits` after the point: one digit more before it, as 9.9 may become 10."""
    if digits >= argument.scale:
        return argument
    whole = 1 + argument.precision - argument.scale
    if digits < 0:
        return DecimalType(min(MAX_PRECISION, whole), 0, argument.is_nullable)
    return DecimalType(whole + digits, digits, argument.is_nullable)
