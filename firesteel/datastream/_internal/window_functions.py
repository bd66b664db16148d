"""Window functions out of what users give: function objects, or plain callables of the same arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from firesteel.datastream._internal.arguments import wrong_argument
from firesteel.model.functions import (
    AllWindowFunction,
    Function,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

Results = Iterable[Any] | None


class CallableWindowFunction(WindowFunction[Any, Any, Any, Any]):
    """A function of key, window and records."""

    def __init__(self, call: Callable[[Any, Any, Any], Results]) -> None:
        self._call = call

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Results:
        """Call the function."""
        return self._call(key, window, inputs)


class CallableAllWindowFunction(AllWindowFunction[Any, Any, Any]):
    """A function of window and records."""

    def __init__(self, call: Callable[[Any, Any], Results]) -> None:
        self._call = call

    def apply(self, window: Any, inputs: Iterable[Any]) -> Results:
        """Call the function."""
        return self._call(window, inputs)


class CallableProcessWindowFunction(ProcessWindowFunction[Any, Any, Any, Any]):
    """A function of key, context and records."""

    def __init__(self, call: Callable[[Any, Any, Any], Results]) -> None:
        self._call = call

    def process(self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]) -> Results:
        """Call the function."""
        return self._call(key, context, elements)


class CallableProcessAllWindowFunction(ProcessAllWindowFunction[Any, Any, Any]):
    """A function of context and records."""

    def __init__(self, call: Callable[[Any, Any], Results]) -> None:
        self._call = call

    def process(self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[Any]) -> Results:
        """Call the function."""
        return self._call(context, elements)


def as_apply_function(function: Any, keyed: bool) -> Function:
    """The function for ``apply``."""
    if keyed:
        expected = "a WindowFunction or a function of (key, window, records)"
        return _adapted("apply", function, WindowFunction, CallableWindowFunction, 3, expected)
    expected = "an AllWindowFunction or a function of (window, records)"
    return _adapted("apply", function, AllWindowFunction, CallableAllWindowFunction, 2, expected)


def as_process_window_function(function: Any, keyed: bool) -> Function:
    """The function for ``process``."""
    if keyed:
        expected = "a ProcessWindowFunction or a function of (key, context, records)"
        return _adapted("process", function, ProcessWindowFunction, CallableProcessWindowFunction, 3, expected)
    expected = "a ProcessAllWindowFunction or a function of (context, records)"
    return _adapted("process", function, ProcessAllWindowFunction, CallableProcessAllWindowFunction, 2, expected)


def check_second_function(method: str, function: Any, keyed: bool) -> Function | None:
    """The window function behind ``reduce`` or ``aggregate``: a function object, or None."""
    kinds: tuple[type[Function], ...] = (
        (WindowFunction, ProcessWindowFunction) if keyed else (AllWindowFunction, ProcessAllWindowFunction)
    )
    if function is None or isinstance(function, kinds):
        return function
    names = " or a ".join(kind.__name__ for kind in kinds)
    raise wrong_argument(method, "window_function", function, f"a {names}, or None", _hint(function, keyed))


def _adapted(
    method: str, function: Any, kind: type[Function], made: Callable[[Any], Function], arity: int, expected: str
) -> Function:
    if isinstance(function, kind):
        return function
    argument = "window_function" if method == "apply" else "process_window_function"
    is_plain = callable(function) and not isinstance(function, (type, Function))
    if not is_plain or not _accepts(function, arity):
        raise wrong_argument(method, argument, function, expected, _hint(function, kind is WindowFunction))
    return made(function)


def _hint(function: Any, keyed: bool) -> str:
    if isinstance(function, type):
        return f"Give an instance: {function.__name__}()."
    if isinstance(function, (AllWindowFunction, ProcessAllWindowFunction, WindowFunction, ProcessWindowFunction)):
        return (
            "Functions with All in their name belong to window_all(), the others to key_by().window(); "
            "WindowFunctions go into apply(), ProcessWindowFunctions into process()."
        )
    return ""


def _accepts(function: Callable[..., Any], arity: int) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True  # built-ins that do not tell: calling them will
    try:
        signature.bind(*[None] * arity)
    except TypeError:
        return False
    return True
