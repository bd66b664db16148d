"""Conditions: what a stage of a pattern asks of an event."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.model.functions import FilterFunction, Function, RuntimeContext


class IterativeCondition(ABC):
    """A condition that looks at the event and at the events that the partial match has taken so far.

    ::

        class Rising(IterativeCondition):
            def filter(self, value, ctx):
                return all(value.price > before.price for before in ctx.get_events_for_pattern("rise"))

    A plain function of two arguments does the same. To go through the events taken costs as many steps as there are.
    """

    class Context(ABC):
        """What a condition may ask besides the event."""

        __slots__ = ()

        @abstractmethod
        def get_events_for_pattern(self, name: str) -> Iterable[Any]:
            """The events that the stage of this name has taken so far in the partial match; none if there are none."""

        @abstractmethod
        def timestamp(self) -> int:
            """The timestamp of the event in milliseconds: event time or, in processing time, when it came."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The processing time in milliseconds."""

    @abstractmethod
    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        """Whether the stage takes the event. Called once or more per event and partial match: it must not remember."""


class SimpleCondition(IterativeCondition):
    """A condition that looks at the event only. A plain function of one argument does the same."""

    @abstractmethod
    def filter(self, value: Any) -> bool:  # type: ignore[override]
        """Whether the stage takes the event."""

    @staticmethod
    def of(filter_function: FilterFunction | Callable[[Any], bool]) -> SimpleCondition:
        """A condition made of a function of the event."""
        call = filter_function.filter if isinstance(filter_function, FilterFunction) else filter_function
        if not callable(call) or isinstance(call, type):
            raise ConfigurationError(
                f"SimpleCondition.of: filter_function must be a function of the event, got {filter_function!r}."
            )
        return _Plain(call)


class RichIterativeCondition(IterativeCondition, Function):
    """An iterative condition with a life cycle: ``open`` and ``close``, and :meth:`get_runtime_context`."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once before the first event."""
        return None

    def close(self) -> None:
        """Called once at the end."""
        return None


class _Plain(SimpleCondition):
    """A function of the event."""

    def __init__(self, call: Callable[[Any], bool], name: str | None = None) -> None:
        self.call = call
        self._name = name

    def filter(self, value: Any) -> bool:  # type: ignore[override]
        return self.call(value)

    def __str__(self) -> str:
        return self._name or _name_of(self.call)


class _WithContext(IterativeCondition):
    """A function of the event and the context."""

    def __init__(self, call: Callable[[Any, Any], bool], name: str | None = None) -> None:
        self.call = call
        self._name = name

    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        return self.call(value, ctx)

    def __str__(self) -> str:
        return self._name or _name_of(self.call)


class Subtype(SimpleCondition):
    """The event is an object of a class."""

    def __init__(self, cls: type | tuple[type, ...]) -> None:
        self.cls = cls

    def filter(self, value: Any) -> bool:  # type: ignore[override]
        return isinstance(value, self.cls)

    def __str__(self) -> str:
        return f"is a {getattr(self.cls, '__name__', self.cls)}"


class Always(SimpleCondition):
    """Every event."""

    def filter(self, value: Any) -> bool:  # type: ignore[override]
        return True

    def __str__(self) -> str:
        return "any event"


class Not(IterativeCondition):
    """The contrary."""

    def __init__(self, inner: IterativeCondition) -> None:
        self.inner = inner

    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        return not holds(self.inner, value, ctx)

    def __str__(self) -> str:
        return f"not {bracketed(self.inner)}"


class And(IterativeCondition):
    """Both; the second is asked only if the first holds."""

    def __init__(self, left: IterativeCondition, right: IterativeCondition) -> None:
        self.left, self.right = left, right

    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        return holds(self.left, value, ctx) and holds(self.right, value, ctx)

    def __str__(self) -> str:
        return f"{bracketed(self.left)} and {bracketed(self.right)}"


class Or(IterativeCondition):
    """One or the other; the second is asked only if the first does not hold."""

    def __init__(self, left: IterativeCondition, right: IterativeCondition) -> None:
        self.left, self.right = left, right

    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        return holds(self.left, value, ctx) or holds(self.right, value, ctx)

    def __str__(self) -> str:
        return f"{bracketed(self.left)} or {bracketed(self.right)}"


def holds(condition: IterativeCondition, value: Any, ctx: IterativeCondition.Context) -> bool:
    """Ask a condition of any kind."""
    if isinstance(condition, SimpleCondition):
        return bool(condition.filter(value))
    return bool(condition.filter(value, ctx))


def parts(condition: IterativeCondition) -> Iterable[IterativeCondition]:
    """The conditions that a condition is made of, itself if it is one."""
    if isinstance(condition, Not):
        yield from parts(condition.inner)
    elif isinstance(condition, And | Or):
        yield from parts(condition.left)
        yield from parts(condition.right)
    else:
        yield condition


def as_condition(method: str, condition: Any, name: str | None = None) -> IterativeCondition:
    """What the user gave as a condition: an object of a class here, or a function of one or two arguments."""
    if isinstance(condition, IterativeCondition):
        return condition
    if isinstance(condition, FilterFunction):
        return SimpleCondition.of(condition)
    of_a_class = isinstance(condition, type) and issubclass(condition, IterativeCondition | Function)
    if not callable(condition) or of_a_class:
        raise ConfigurationError(
            f"{method}: the condition must be a function of the event, a function of the event and a context, or an "
            f"IterativeCondition object, got {condition!r:.80}."
        )
    arity = _arity(condition)
    if arity not in (1, 2):
        raise ConfigurationError(
            f"{method}: the condition {_name_of(condition)} takes {arity} arguments. It must take the event, or the "
            "event and a context."
        )
    return _Plain(condition, name) if arity == 1 else _WithContext(condition, name)


def describe(condition: IterativeCondition) -> str:
    """A condition in words."""
    return str(condition) if type(condition).__str__ is not object.__str__ else type(condition).__name__


def bracketed(condition: IterativeCondition) -> str:
    """The same, in brackets if it is made of several."""
    return f"({describe(condition)})" if isinstance(condition, And | Or) else describe(condition)


def _arity(call: Callable[..., Any]) -> int:
    """How many arguments a function wants; 1 if nobody can tell."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    if required or not positional:
        return len(required) if required else int(any(p.kind == p.VAR_POSITIONAL for p in parameters))
    return 1


def _name_of(call: Any) -> str:
    code = getattr(call, "__code__", None)
    name = getattr(call, "__qualname__", None) or getattr(call, "__name__", None)
    if name is None:
        return type(call).__name__
    name = name.rpartition("<locals>.")[2]
    return f"lambda of line {code.co_firstlineno}" if name == "<lambda>" and code is not None else str(name)
