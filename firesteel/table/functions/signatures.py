"""Short ways to say what a function takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.table.functions.definition import Call, Function, call_error, register
from firesteel.table.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
    NullType,
    TimestampType,
    TimeType,
    VarBinaryType,
    YearMonthIntervalType,
    is_number,
    is_text,
)

__all__ = [
    "ANY",
    "ARRAY",
    "BOOLEAN",
    "BYTES",
    "INTEGER",
    "MAP",
    "NUMBER",
    "TEXT",
    "Check",
    "INTERVALS",
    "STRING",
    "TEMPORAL",
    "check_arguments",
    "gives",
    "gives_nullable",
    "scalar",
]

Check = tuple[str, Callable[[DataType], bool]]

ANY: Check = ("any value", lambda t: True)
TEXT: Check = ("a text", is_text)
NUMBER: Check = ("a number", is_number)
INTEGER: Check = ("a whole number", lambda t: isinstance(t, IntegralType))
BOOLEAN: Check = ("a truth value", lambda t: isinstance(t, BooleanType))
BYTES: Check = ("bytes", lambda t: isinstance(t, (BinaryType, VarBinaryType)))
ARRAY: Check = ("an array", lambda t: isinstance(t, ArrayType))
MAP: Check = ("a map", lambda t: isinstance(t, MapType))

Result = Callable[[Call], DataType]


def check_arguments(call: Call, checks: tuple[Check, ...], least: int | None = None, repeat: bool = False) -> None:
    """Raise unless the arguments are of the kinds named, `least` of them at least; the last kind may repeat."""
    count, most = len(call.arguments), len(checks)
    least = most if least is None else least
    if count < least or (count > most and not repeat):
        wanted = f"{least}" if least == most and not repeat else f"{least} or more" if repeat else f"{least} to {most}"
        raise call_error(call, f"takes {wanted} arguments, got {count}")
    for position, data_type in enumerate(call.types):
        name, fits = checks[min(position, most - 1)]
        if not isinstance(data_type, NullType) and not fits(data_type):
            raise call_error(call, f"argument {position + 1} has to be {name}")


def gives(data_type: DataType) -> Result:
    """The type of the result: this one, with NULL if an argument may be NULL."""
    return lambda call: data_type.with_nullability(call.nullable)


def gives_nullable(data_type: DataType) -> Result:
    """The type of the result: this one, with NULL whatever the arguments are."""
    return lambda call: data_type.nullable()


STRING = DataTypes.STRING()


def scalar(
    name: str,
    checks: tuple[Check, ...],
    result: Result,
    function: Callable[..., Any] | None = None,
    make: Callable[[Call], Callable[..., Any]] | None = None,
    least: int | None = None,
    repeat: bool = False,
    strict: bool = True,
    aliases: tuple[str, ...] = (),
    deterministic: bool = True,
) -> Function:
    """Register a function of values: `function` where types do not matter, else `make` gives it for a call."""

    def infer(call: Call) -> DataType:
        check_arguments(call, checks, least, repeat)
        return result(call)

    def plain(call: Call) -> Callable[..., Any]:
        assert function is not None
        return function

    return register(Function(name, infer, make or plain, strict, aliases=aliases, deterministic=deterministic))


TEMPORAL = (DateType, TimeType, TimestampType, LocalZonedTimestampType)
INTERVALS = (YearMonthIntervalType, DayTimeIntervalType)
