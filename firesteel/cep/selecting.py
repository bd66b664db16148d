"""``select`` and ``flat_select`` in terms of a :class:`PatternProcessFunction`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.cep.functions import (
    Match,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from firesteel.errors import ConfigurationError
from firesteel.model.functions import Function, RuntimeContext
from firesteel.model.functions.adapt import emitting
from firesteel.model.output_tag import OutputTag
from firesteel.runtime.emission import flat_results_of


class Selecting(PatternProcessFunction):
    """A function that makes one result per match."""

    def __init__(self, select: Any) -> None:
        self._function = select

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function."""
        _open(self._function, runtime_context)
        self._select: Callable[[Match], Any] = _method(self._function, "select")

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        """Call the function."""
        return [self._select(match)]

    def close(self) -> None:
        """Close the function."""
        _close(self._function)


class FlatSelecting(PatternProcessFunction):
    """A function that makes any number of results per match."""

    def __init__(self, flat_select: Any) -> None:
        self._function = flat_select

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function."""
        _open(self._function, runtime_context)
        self._select = _emitting(self._function, "flat_select", 1)

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        """Call the function."""
        made: Iterable[Any] | None = self._select(match)
        return made

    def close(self) -> None:
        """Close the function."""
        _close(self._function)


class _WithTimeouts(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Adds a function for timeouts, whose results go to a side output."""

    def __init__(self, inner: PatternProcessFunction, tag: OutputTag, timeout: Any) -> None:
        self._inner = inner
        self._tag = tag
        self._timeout = timeout

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open both functions."""
        self._inner.open(runtime_context)
        _open(self._timeout, runtime_context)
        self._call = self._timeout_call()

    def _timeout_call(self) -> Callable[..., Any]:
        raise NotImplementedError

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        """Call the function for matches."""
        return self._inner.process_match(match, ctx)

    def close(self) -> None:
        """Close both functions."""
        self._inner.close()
        _close(self._timeout)


class SelectingWithTimeouts(_WithTimeouts):
    """One result per timeout."""

    def _timeout_call(self) -> Callable[..., Any]:
        return _method(self._timeout, "timeout")

    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> None:
        """Call the function for timeouts."""
        ctx.output(self._tag, self._call(match, ctx.timestamp()))


class FlatSelectingWithTimeouts(_WithTimeouts):
    """Any number of results per timeout."""

    def _timeout_call(self) -> Callable[..., Any]:
        return _emitting(self._timeout, "timeout", 2)

    def process_timed_out_match(self, match: Match, ctx: PatternProcessFunction.Context) -> None:
        """Call the function for timeouts."""
        made = self._call(match, ctx.timestamp())
        for result in () if made is None else flat_results_of(made):
            ctx.output(self._tag, result)


def checked(method: str, argument: str, function: Any, kind: type) -> Any:
    """A function object of a class, or a callable."""
    of_other_kind = isinstance(function, Function) or (isinstance(function, type) and issubclass(function, Function))
    if isinstance(function, kind) or (callable(function) and not of_other_kind):
        return function
    raise ConfigurationError(
        f"{method}: {argument} must be a {kind.__name__} or a function, got {function!r:.80} "
        f"({type(function).__name__})."
    )


def _method(function: Any, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(function, name) if isinstance(function, Function) else function
    return found


def _emitting(function: Any, method: str, arity: int) -> Callable[..., Any]:
    if not isinstance(function, Function):
        function = _Callable(method, function)
    return emitting(function, method, arity)


class _Callable(Function):
    """A plain function as a function object with one method."""

    def __init__(self, method: str, call: Callable[..., Any]) -> None:
        setattr(self, method, call)


def _open(function: Any, runtime_context: RuntimeContext) -> None:
    if isinstance(function, Function):
        function.set_runtime_context(runtime_context)
        function.open(runtime_context)


def _close(function: Any) -> None:
    if isinstance(function, Function):
        function.close()


__all__ = [
    "FlatSelecting",
    "FlatSelectingWithTimeouts",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "Selecting",
    "SelectingWithTimeouts",
    "checked",
]
