"""Window joins and co-groups: two streams that meet by key in windows.

Both streams become one, each record with a mark that says where it came from; it is keyed and cut into windows like
any other, and the function takes the records of a window apart again.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, Generic

from firesteel.common.time import TimeLength
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.hints import ON_JOIN, StreamHints
from firesteel.datastream._internal.repartitioning import adapted_key
from firesteel.datastream._internal.stream import AnyStream, S, require_same_environment
from firesteel.datastream._internal.windowed_stream import KeyedWindows
from firesteel.model.assigners import WindowAssigner
from firesteel.model.evictors import Evictor
from firesteel.model.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    Function,
    JoinFunction,
    KeySelector,
    RuntimeContext,
    WindowFunction,
)
from firesteel.model.functions.adapt import as_map_function, emitting
from firesteel.model.triggers import Trigger
from firesteel.runtime.basic import MapOperator
from firesteel.runtime.emission import results_of
from firesteel.runtime.records import copied

Key = KeySelector | Callable[[Any], Any] | str | int
Results = Iterable[Any] | None
Adapt = Callable[[Any], WindowFunction[Any, Any, Any, Any]]


class Meeting(StreamHints, Generic[S]):
    """Two streams whose records are to meet in windows."""

    _hints = ON_JOIN

    _method: ClassVar[str]
    _adapt: Callable[[Any], WindowFunction[Any, Any, Any, Any]]

    def __init__(self, input1: AnyStream[S], input2: AnyStream[S]) -> None:
        self._pair = Pair(self._method, input1, input2, self._adapt)

    def where(self, key_selector: Key) -> Where[S]:
        """The key of the first stream's records."""
        return Where(self._pair, adapted_key("where", key_selector))


class Pair(Generic[S]):
    """Two streams that are to meet, and how the function for it is made."""

    def __init__(
        self,
        method: str,
        first: AnyStream[S],
        second: AnyStream[S],
        adapt: Callable[[Any], WindowFunction[Any, Any, Any, Any]],
    ) -> None:
        arguments.instances(method, "other_stream", (second,), AnyStream, "a DataStream")
        require_same_environment(method, first, second)
        self.method = method
        self.first = first
        self.second = second
        self.adapt = adapt


class Where(StreamHints, Generic[S]):
    """Two streams, with the key of the first one."""

    _hints = ON_JOIN

    def __init__(self, pair: Pair[S], first_key: Callable[[Any], Any]) -> None:
        self._pair = pair
        self._first_key = first_key

    def equal_to(self, key_selector: Key) -> EqualTo[S]:
        """The key of the second stream's records; those with equal keys meet."""
        return EqualTo(self._pair, MarkedKey(self._first_key, adapted_key("equal_to", key_selector)))


class EqualTo(StreamHints, Generic[S]):
    """Two streams with keys."""

    _hints = ON_JOIN

    def __init__(self, pair: Pair[S], key: MarkedKey) -> None:
        self._pair = pair
        self._key = key

    def window(self, assigner: WindowAssigner[Any, Any]) -> WithWindow[S]:
        """In which windows records meet. Custom assigners, triggers and evictors see (0 or 1, record) pairs."""
        pair = self._pair
        first, second = _marked(pair.first, 0), _marked(pair.second, 1)
        keyed: AnyStream[S] = first.union(second).key_by(self._key)
        return WithWindow(pair, KeyedWindows(keyed, assigner))


class WithWindow(StreamHints, Generic[S]):
    """Two streams with keys and windows: what is missing is the function."""

    _hints = ON_JOIN

    def __init__(self, pair: Pair[S], windows: KeyedWindows[S]) -> None:
        self._pair = pair
        self._windows = windows

    def trigger(self, trigger: Trigger[Any, Any]) -> WithWindow[S]:
        """Say when windows fire."""
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> WithWindow[S]:
        """Take records out of windows before or after they are evaluated."""
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: TimeLength) -> WithWindow[S]:
        """Keep windows for so long after their end: late records fire them again."""
        self._windows.allowed_lateness(time_ms)
        return self

    def apply(self, function: Any, output_type: TypeInformation | None = None) -> S:
        """Join or co-group.

        :param function: For a join a JoinFunction, FlatJoinFunction, or a function of two records that returns one
            result (or yields several). For a co-group a CoGroupFunction, or a function of two lists that yields or
            returns an iterable.
        """
        stream = self._windows.apply(self._pair.adapt(function), output_type)
        return stream.name("Window Join" if self._pair.method == "join" else "Window CoGroup")


def _marked(stream: AnyStream[S], mark: int) -> S:
    """Each record as (mark, record), made where the records come from."""
    marked = stream.transform("Mark", None, partial(MapOperator, as_map_function(Mark(mark))))
    parallelism = stream.get_transformation().parallelism
    return marked if parallelism is None else marked.set_parallelism(parallelism)


class Mark:
    """From record to (mark, record)."""

    def __init__(self, mark: int) -> None:
        self._mark = mark

    def __call__(self, record: Any) -> tuple[int, Any]:
        return self._mark, record


class MarkedKey:
    """The key of a marked record."""

    def __init__(self, first_key: Callable[[Any], Any], second_key: Callable[[Any], Any]) -> None:
        self._keys = (first_key, second_key)

    def __call__(self, marked: tuple[int, Any]) -> Any:
        return self._keys[marked[0]](marked[1])


class _TwoSidedWindowFunction(WindowFunction[Any, Any, Any, Any]):
    """A window function around a function of two sides."""

    def __init__(self, function: Function | Callable[..., Any]) -> None:
        self._function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function."""
        if isinstance(self._function, Function):
            self._function.set_runtime_context(runtime_context)
            self._function.open(runtime_context)

    def close(self) -> None:
        """Close the function."""
        if isinstance(self._function, Function):
            self._function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[tuple[int, Any]]) -> Results:
        """Take the records apart."""
        sides: tuple[list[Any], list[Any]] = ([], [])
        for mark, record in inputs:
            sides[mark].append(record)
        return self.meet(*sides)

    @abstractmethod
    def meet(self, first: list[Any], second: list[Any]) -> Results:
        """The results for the records of both sides."""


class CoGroupWindowFunction(_TwoSidedWindowFunction):
    """Gives both sides to the function at once."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Find out how to call the function."""
        super().open(runtime_context)
        self._call = _results_call(self._function, "co_group")

    def meet(self, first: list[Any], second: list[Any]) -> Results:
        """Call the function."""
        return self._call(first, second)


class JoinWindowFunction(_TwoSidedWindowFunction):
    """One result per pair."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Find out how to call the function."""
        super().open(runtime_context)
        self._call: Any = self._function.join if isinstance(self._function, JoinFunction) else self._function

    def meet(self, first: list[Any], second: list[Any]) -> Results:
        """Call the function for each pair."""
        join = self._call
        return [copied(join(one, other)) for one in first for other in second]


class FlatJoinWindowFunction(_TwoSidedWindowFunction):
    """Any number of results per pair."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Find out how to call the function."""
        super().open(runtime_context)
        self._call = _results_call(self._function, "join")

    def meet(self, first: list[Any], second: list[Any]) -> Results:
        """Call the function for each pair."""
        join = self._call
        return [copied(result) for one in first for other in second for result in _results(join(one, other))]


def _results(made: Any) -> Iterable[Any]:
    return () if made is None else results_of(made)


def _results_call(function: Function | Callable[..., Any], method: str) -> Callable[[Any, Any], Results]:
    return emitting(function, method, 2, copied) if isinstance(function, Function) else function


def as_co_group_window_function(function: Any) -> WindowFunction[Any, Any, Any, Any]:
    """The window function for a co-group."""
    if isinstance(function, CoGroupFunction) or _is_plain(function):
        return CoGroupWindowFunction(function)
    raise arguments.wrong_argument("apply", "function", function, "a CoGroupFunction or a function of two lists")


def as_join_window_function(function: Any) -> WindowFunction[Any, Any, Any, Any]:
    """The window function for a join."""
    if isinstance(function, FlatJoinFunction) or (_is_plain(function) and inspect.isgeneratorfunction(function)):
        return FlatJoinWindowFunction(function)
    if isinstance(function, JoinFunction) or _is_plain(function):
        return JoinWindowFunction(function)
    expected = "a JoinFunction, a FlatJoinFunction or a function of two records"
    raise arguments.wrong_argument("apply", "function", function, expected)


def _is_plain(function: Any) -> bool:
    return callable(function) and not isinstance(function, (type, Function))
