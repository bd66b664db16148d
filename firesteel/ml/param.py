"""Parameters of stages: declared once on the class, checked when they are set.

::

    class Shift(Transformer):
        BY = FloatParam("by", "What is added.", 0.0, ParamValidators.gt_eq(0))

    Shift().set(Shift.BY, 2.5).get(Shift.BY)
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firesteel.errors import ConfigurationError, TypeMismatchError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "BooleanParam",
    "FloatArrayArrayParam",
    "FloatArrayParam",
    "FloatParam",
    "IntArrayParam",
    "IntParam",
    "Param",
    "ParamValidator",
    "ParamValidators",
    "StringArrayParam",
    "StringParam",
    "WithParams",
]

T = TypeVar("T")


class ParamValidator(ABC, Generic[T]):
    """Says whether a value is valid. Derive from it for a check of one's own."""

    def __class_getitem__(cls, _: Any) -> Any:
        return cls

    @abstractmethod
    def validate(self, value: Any) -> bool:
        """Whether the value, or None, is valid."""

    def __str__(self) -> str:
        return f"a value that {type(self).__name__} accepts"


class _Check(ParamValidator[Any]):
    def __init__(self, expected: str, check: Callable[[Any], bool]) -> None:
        self._expected, self._check = expected, check

    def validate(self, value: Any) -> bool:
        return self._check(value)

    def __str__(self) -> str:
        return self._expected


def _number(expected: str, check: Callable[[Any], bool]) -> ParamValidator[Any]:
    return _Check(expected, lambda value: value is not None and bool(check(value)))


class ParamValidators:
    """The usual checks."""

    @staticmethod
    def always_true() -> ParamValidator[Any]:
        """Anything, None too."""
        return _Check("any value", lambda value: True)

    @staticmethod
    def gt(lower_bound: float) -> ParamValidator[Any]:
        """Greater than a bound."""
        return _number(f"a value greater than {lower_bound}", lambda value: value > lower_bound)

    @staticmethod
    def gt_eq(lower_bound: float) -> ParamValidator[Any]:
        """A bound or more."""
        return _number(f"a value of at least {lower_bound}", lambda value: value >= lower_bound)

    @staticmethod
    def lt(upper_bound: float) -> ParamValidator[Any]:
        """Less than a bound."""
        return _number(f"a value less than {upper_bound}", lambda value: value < upper_bound)

    @staticmethod
    def lt_eq(upper_bound: float) -> ParamValidator[Any]:
        """A bound or less."""
        return _number(f"a value of at most {upper_bound}", lambda value: value <= upper_bound)

    @staticmethod
    def in_range(
        lower_bound: float, upper_bound: float, lower_inclusive: bool = True, upper_inclusive: bool = True
    ) -> ParamValidator[Any]:
        """Between two bounds, each of which may belong to the range or not."""
        opening, closing = "[" if lower_inclusive else "(", "]" if upper_inclusive else ")"
        return _number(
            f"a value in {opening}{lower_bound}, {upper_bound}{closing}",
            lambda value: (
                lower_bound <= value <= upper_bound
                and (lower_inclusive or value != lower_bound)
                and (upper_inclusive or value != upper_bound)
            ),
        )

    @staticmethod
    def in_array(allowed: Sequence[Any]) -> ParamValidator[Any]:
        """One of some values."""
        listed = ", ".join(map(repr, allowed))
        return _number(f"one of {listed}", lambda value: value in allowed)

    @staticmethod
    def not_null() -> ParamValidator[Any]:
        """Anything but None."""
        return _number("a value", lambda value: True)

    @staticmethod
    def non_empty_array() -> ParamValidator[Any]:
        """Anything with at least one element."""
        return _number("at least one element", lambda value: len(value) > 0)

    @staticmethod
    def is_sub_set(allowed: Sequence[Any]) -> ParamValidator[Any]:
        """Elements that are all among some values."""
        listed = ", ".join(map(repr, allowed))
        return _number(f"some of {listed}", lambda value: set(value) <= set(allowed))


class Param(Generic[T]):
    """A parameter: its name, what it is for, its default and which values are valid.

    :param type_: The Python type of its values.
    :param type_name: The type as it is shown in messages.
    :param default_value: Its value while none is set. None means that it has none.
    """

    def __init__(
        self,
        name: str,
        type_: type,
        type_name: str,
        description: str,
        default_value: T | None,
        validator: ParamValidator[Any] | None = None,
    ) -> None:
        self.name = name
        self.type = type_
        self.type_name = type_name
        self.description = description
        self.validator = validator or ParamValidators.always_true()
        self.default_value = default_value
        if default_value is not None:
            self.default_value = self.checked(default_value)

    def checked(self, value: Any, owner: str = "") -> Any:
        """The value in this parameter's type, or an error that says what is wrong with it."""
        subject = f"{owner}: parameter {self.name!r}" if owner else f"parameter {self.name!r}"
        try:
            converted = None if value is None else self._convert(value)
        except (TypeError, ValueError):
            raise TypeMismatchError(
                f"{subject} takes {self.type_name}, got {value!r} of type {type(value).__name__}."
            ) from None
        if not self.validator.validate(converted):
            raise ConfigurationError(f"{subject} is {self.description!r} and takes {self.validator}, got {value!r}.")
        return converted

    def _convert(self, value: Any) -> Any:
        if not isinstance(value, self.type):
            raise TypeError
        return value

    def json_encode(self, value: T | None) -> str:
        """A value as JSON: what is written when a stage is saved."""
        return json.dumps(value)

    def json_decode(self, json_value: str) -> T | None:
        """The value that :meth:`json_encode` has written."""
        value = json.loads(json_value)
        return None if value is None else self._convert(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Param) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def _a_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _an_int(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError
    return int(value)


def _a_float(value: Any) -> float:
    if isinstance(value, (bool, str)):
        raise TypeError
    return float(value)


def _a_str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _array_of(one: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def convert(value: Any) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return tuple(one(each) for each in value)

    return convert


class BooleanParam(Param[bool]):
    """A parameter that is True or False."""

    def __init__(
        self, name: str, description: str, default_value: bool | None, validator: ParamValidator[Any] | None = None
    ) -> None:
        super().__init__(name, bool, "a bool", description, default_value, validator)

    def _convert(self, value: Any) -> Any:
        return _a_bool(value)


class IntParam(Param[int]):
    """A parameter that is a whole number."""

    def __init__(
        self, name: str, description: str, default_value: int | None, validator: ParamValidator[Any] | None = None
    ) -> None:
        super().__init__(name, int, "an int", description, default_value, validator)

    def _convert(self, value: Any) -> Any:
        return _an_int(value)


class FloatParam(Param[float]):
    """A parameter that is a number."""

    def __init__(
        self, name: str, description: str, default_value: float | None, validator: ParamValidator[Any] | None = None
    ) -> None:
        super().__init__(name, float, "a float", description, default_value, validator)

    def _convert(self, value: Any) -> Any:
        return _a_float(value)


class StringParam(Param[str]):
    """A parameter that is text."""

    def __init__(
        self, name: str, description: str, default_value: str | None, validator: ParamValidator[Any] | None = None
    ) -> None:
        super().__init__(name, str, "a str", description, default_value, validator)

    def _convert(self, value: Any) -> Any:
        return _a_str(value)


class _ArrayParam(Param[tuple[T, ...]]):
    _of: tuple[str, Callable[[Any], Any]]

    def __init__(
        self,
        name: str,
        description: str,
        default_value: Sequence[T] | None,
        validator: ParamValidator[Any] | None = None,
    ) -> None:
        default = None if default_value is None else tuple(default_value)
        super().__init__(name, tuple, self._of[0], description, default, validator)

    def _convert(self, value: Any) -> Any:
        return _array_of(self._of[1])(value)


class IntArrayParam(_ArrayParam[int]):
    """A parameter that is a tuple of whole numbers."""

    _of = ("a tuple of ints", _an_int)


class FloatArrayParam(_ArrayParam[float]):
    """A parameter that is a tuple of numbers."""

    _of = ("a tuple of floats", _a_float)


class FloatArrayArrayParam(_ArrayParam["tuple[float, ...]"]):
    """A parameter that is a tuple of tuples of numbers."""

    _of = ("a tuple of tuples of floats", _array_of(_a_float))


class StringArrayParam(_ArrayParam[str]):
    """A parameter that is a tuple of strings."""

    _of = ("a tuple of strings", _a_str)


class WithParams:
    """Something with parameters: those that its class, or a base class, has as attributes."""

    def __class_getitem__(cls, _: Any) -> Any:
        # PyFlink's classes are generic: programs write Estimator[E, M].
        return cls

    @classmethod
    def params(cls) -> dict[str, Param[Any]]:
        """All parameters by their names."""
        found: dict[str, Param[Any]] = {}
        for base in cls.__mro__:
            for value in vars(base).values():
                if isinstance(value, Param):
                    found.setdefault(value.name, value)
        return found

    def get_param_map(self) -> dict[Param[Any], Any]:
        """The parameters with their values; those that were not set have their default."""
        values: dict[Param[Any], Any] | None = self.__dict__.get("_param_map")
        if values is None:
            values = self.__dict__["_param_map"] = {each: each.default_value for each in self.params().values()}
        return values

    def get_param(self, name: str) -> Param[Any] | None:
        """The parameter of that name, or None."""
        return next((each for each in self.get_param_map() if each.name == name), None)

    def set(self, param: Param[T], value: T | None) -> Self:
        """Set a parameter; wrong types are a TypeError, invalid values a ValueError.

        :return: This object, so that calls can be chained.
        """
        values, owner = self.get_param_map(), type(self).__name__
        if param not in values:
            known = ", ".join(sorted(each.name for each in values)) or "none"
            raise ConfigurationError(f"{owner} has no parameter {param.name!r}. It has: {known}.")
        values[param] = param.checked(value, owner)
        return self

    def get(self, param: Param[T]) -> T:
        """The value of a parameter. One that has neither value nor default is an error where None is not valid."""
        value = self.get_param_map().get(param, param.default_value)
        if value is None and not param.validator.validate(None):
            raise ConfigurationError(
                f"{type(self).__name__}: parameter {param.name!r} ({param.description}) is not set. "
                f"Call set_{param.name}(...)."
            )
        return value  # type: ignore[return-value]
