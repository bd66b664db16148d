"""Calling the window function, whichever kind it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from firesteel.model.functions import (
    AllWindowFunction,
    Function,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from firesteel.model.functions.adapt import emitting
from firesteel.runtime.windowing.contexts import AllFunctionContext, FunctionContext, KeyedFunctionContext

Evaluate = Callable[[Any, Any, Sequence[Any]], "Iterable[Any] | None"]
Clear = Callable[[Any], None]
MakeContext = Callable[[type[FunctionContext]], FunctionContext]


def evaluation_of(
    function: Function, make_context: MakeContext, own: Callable[[Any], Any]
) -> tuple[Evaluate, Clear | None]:
    """How to evaluate ``(key, window, elements)`` with a window function, and what to call when a window is deleted.

    The second is None if there is nothing to call. ``own`` is what becomes of a record that is given to a collector.
    """
    if isinstance(function, ProcessWindowFunction):
        return _process(function, make_context(KeyedFunctionContext), own)
    if isinstance(function, ProcessAllWindowFunction):
        return _process_all(function, make_context(AllFunctionContext), own)
    if isinstance(function, WindowFunction):
        return emitting(function, "apply", 3, own), None
    if isinstance(function, AllWindowFunction):
        apply = emitting(function, "apply", 2, own)
        return (lambda key, window, elements: apply(window, elements)), None
    raise TypeError(f"{type(function).__name__} is no window function")


def _process(function: Any, context: FunctionContext, own: Callable[[Any], Any]) -> tuple[Evaluate, Clear | None]:
    process = emitting(function, "process", 3, own)

    def evaluate(key: Any, window: Any, elements: Sequence[Any]) -> Iterable[Any] | None:
        context.current_window = window
        return process(key, context, elements)

    untouched = type(function).clear is ProcessWindowFunction.clear
    return evaluate, None if untouched else _clearing(function, context)


def _process_all(function: Any, context: FunctionContext, own: Callable[[Any], Any]) -> tuple[Evaluate, Clear | None]:
    process = emitting(function, "process", 2, own)

    def evaluate(key: Any, window: Any, elements: Sequence[Any]) -> Iterable[Any] | None:
        context.current_window = window
        return process(context, elements)

    untouched = type(function).clear is ProcessAllWindowFunction.clear
    return evaluate, None if untouched else _clearing(function, context)


def _clearing(function: Any, context: FunctionContext) -> Clear:
    def clear(window: Any) -> None:
        context.current_window = window
        function.clear(context)

    return clear
