"""What all logical types have in common, and the types that have no parameters."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from firesteel.common.warnings import warn_once
from firesteel.errors import ConfigurationError

__all__ = [
    "MAX_LENGTH",
    "AtomicType",
    "BigIntType",
    "BitmapType",
    "BooleanType",
    "DataType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "NullType",
    "NumericType",
    "SmallIntType",
    "SymbolType",
    "TinyIntType",
    "VariantType",
    "between",
]

MAX_LENGTH = 2147483647

_Self = TypeVar("_Self", bound="DataType")


def between(what: str, value: Any, low: int, high: int) -> int:
    """The value if it is an integer from `low` to `high`; else an error that names the parameter of the type."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigurationError(f"{what} must be an integer from {low} to {high}, got {value!r}.")
    return value


class DataType:
    """A logical type: which values a column or an expression can have, and whether NULL is one of them.

    Types are values: two are equal if they mean the same, and no method changes one. ``str()`` gives the text
    that SQL has for it.
    """

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    @classmethod
    def type_name(cls) -> str:
        """The name of the kind of type, such as ``INT`` or ``VARCHAR``, without its parameters."""
        return cls.__name__.removesuffix("Type").upper()

    @property
    def is_nullable(self) -> bool:
        """Whether NULL is a value of this type."""
        return self._nullable

    def with_nullability(self: _Self, nullable: bool) -> _Self:
        """The same type, with or without NULL."""
        if self._nullable == nullable:
            return self
        other = copy.copy(self)
        vars(other)["_nullable"] = nullable
        return other

    def nullable(self: _Self) -> _Self:
        """The same type, with NULL."""
        return self.with_nullability(True)

    def not_null(self: _Self) -> _Self:
        """The same type, without NULL."""
        return self.with_nullability(False)

    def bridged_to(self: _Self, conversion_cls: str) -> _Self:
        """The type itself: which Java class carries a value means nothing here, so it warns."""
        warn_once(
            "bridged_to", f"bridged_to({conversion_cls!r}) has no effect: no Java class carries values of this engine."
        )
        return self

    def text(self) -> str:
        """The type as SQL writes it, without its nullability."""
        return self.type_name()

    def serializable(self) -> str:
        """The type as a catalog stores it: like ``str()``, but STRING and BYTES are written with their lengths."""
        return str(self)

    def parameters(self) -> tuple[Any, ...]:
        """What makes this type different from others of its class, apart from the nullability."""
        return ()

    def __str__(self) -> str:
        return self.text() if self._nullable else f"{self.text()} NOT NULL"

    def __repr__(self) -> str:
        parts = [*map(repr, self.parameters()), str(self._nullable).lower()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self) and self._nullable == other._nullable and self.parameters() == other.parameters()
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._nullable, self.parameters()))


class AtomicType(DataType):
    """A type that is not made of other types."""


class NumericType(AtomicType):
    """A type whose values are numbers."""


class IntegralType(NumericType):
    """A type whose values are whole numbers; :attr:`bits` says how many fit."""

    bits = 0

    @property
    def low(self) -> int:
        """The smallest value."""
        return -(1 << (self.bits - 1))

    @property
    def high(self) -> int:
        """The largest value."""
        return (1 << (self.bits - 1)) - 1


class FractionalType(NumericType):
    """A type whose values are numbers with a fraction."""


class TinyIntType(IntegralType):
    """Whole numbers of 1 byte: SQL's TINYINT."""

    bits = 8


class SmallIntType(IntegralType):
    """Whole numbers of 2 bytes: SQL's SMALLINT."""

    bits = 16


class IntType(IntegralType):
    """Whole numbers of 4 bytes: SQL's INT."""

    bits = 32


class BigIntType(IntegralType):
    """Whole numbers of 8 bytes: SQL's BIGINT."""

    bits = 64


class FloatType(FractionalType):
    """Binary floating-point numbers of 4 bytes: SQL's FLOAT."""


class DoubleType(FractionalType):
    """Binary floating-point numbers of 8 bytes: SQL's DOUBLE."""


class BooleanType(AtomicType):
    """True and false, and unknown where NULL is allowed: SQL's BOOLEAN."""


class VariantType(AtomicType):
    """Semi-structured values that carry their own type: SQL's VARIANT."""


class BitmapType(AtomicType):
    """Sets of whole numbers of 32 bits without sign: SQL's BITMAP."""


class NullType(AtomicType):
    """The type of an untyped NULL: it fits wherever NULL does."""

    def __init__(self) -> None:
        super().__init__(True)

    def __repr__(self) -> str:
        return "NullType()"


class SymbolType(AtomicType):
    """Keywords among the arguments of a function, such as the unit of EXTRACT; no column has this type."""
