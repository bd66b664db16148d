"""Checks of arguments, so that every API method complains in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeVar

from firesteel.common.typeinfo import TypeInformation
from firesteel.errors import ConfigurationError

_E = TypeVar("_E", bound=Enum)

MAX_KEY_GROUPS = 32768
"""The largest max parallelism: key groups are counted in two bytes."""


def shown(value: Any) -> str:
    """A value as an error message shows it: shortened, with its type."""
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"


def wrong_argument(method: str, argument: str, value: Any, expected: str, hint: str = "") -> ConfigurationError:
    """The error for an argument that does not fit."""
    message = f"{method}: {argument} must be {expected}, got {shown(value)}."
    return ConfigurationError(f"{message} {hint}" if hint else message)


def whole_number(method: str, argument: str, value: Any, *, least: int, most: int | None = None) -> int:
    """A whole number in a range; bool is none."""
    in_range = isinstance(value, int) and not isinstance(value, bool) and least <= value
    if not in_range or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise wrong_argument(method, argument, value, f"a whole number {limits}")
    return int(value)


def parallelism(method: str, value: Any) -> int:
    """A parallelism."""
    return whole_number(method, "parallelism", value, least=1, most=MAX_KEY_GROUPS)


def max_parallelism(method: str, value: Any) -> int:
    """A max parallelism: the number of key groups."""
    return whole_number(method, "max_parallelism", value, least=1, most=MAX_KEY_GROUPS)


def text(method: str, argument: str, value: Any) -> str:
    """A non-empty string."""
    if not isinstance(value, str) or not value:
        raise wrong_argument(method, argument, value, "a non-empty string")
    return value


def flag(method: str, argument: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise wrong_argument(method, argument, value, "True or False")
    return value


def member(method: str, argument: str, value: Any, kind: type[_E]) -> _E:
    """A member of an enum."""
    if not isinstance(value, kind):
        names = ", ".join(f"{kind.__name__}.{name}" for name in kind.__members__)
        raise wrong_argument(method, argument, value, f"one of {names}")
    return value


def type_information(method: str, argument: str, value: Any) -> TypeInformation | None:
    """A declared type, or None."""
    if value is not None and not isinstance(value, TypeInformation):
        raise wrong_argument(
            method, argument, value, "a TypeInformation or None", "Use Types, for example Types.STRING()."
        )
    return value


def instances(method: str, argument: str, values: Sequence[Any], kind: type, expected: str) -> None:
    """Every value is an instance of a class."""
    for value in values:
        if not isinstance(value, kind):
            raise wrong_argument(method, argument, value, expected)
