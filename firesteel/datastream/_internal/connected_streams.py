"""Several streams before one function or operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import CodeType
from typing import Any, Generic

from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.hints import ON_CONNECTED_STREAMS, StreamHints
from firesteel.datastream._internal.stream import AnyStream, S, own_operator, require_same_environment
from firesteel.errors import ProgramError
from firesteel.model.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    Function,
    InputSelectable,
    KeyedCoProcessFunction,
    KeyedStateStore,
)
from firesteel.model.functions.adapt import (
    as_co_flat_map_function,
    as_co_map_function,
    as_co_process_function,
    describe,
)
from firesteel.plan.graph import is_broadcast, keys_of
from firesteel.runtime.co import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    InputSelectingOperator,
    KeyedCoProcessOperator,
)
from firesteel.runtime.operator import Operator
from firesteel.runtime.partitioners import Partitioning
from firesteel.runtime.user_function import FunctionOperator

_STATE_GETTERS = {name for name in vars(KeyedStateStore) if name.startswith("get_")}


class Connected(StreamHints, Generic[S]):
    """The functions of two connected streams."""

    _hints = ON_CONNECTED_STREAMS

    def __init__(self, stream1: AnyStream[S], stream2: AnyStream[S]) -> None:
        arguments.instances("connect", "ds", (stream1, stream2), AnyStream, "a DataStream")
        require_same_environment("connect", stream1, stream2)
        self.stream1 = stream1
        self.stream2 = stream2
        self._keys = [keys_of(stream.get_transformation()) for stream in (stream1, stream2)]
        self._check_key_types()

    def __repr__(self) -> str:
        return f"ConnectedStreams({self.stream1!r}, {self.stream2!r})"

    def map(
        self,
        func: CoMapFunction | tuple[Callable[[Any], Any], Callable[[Any], Any]],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Make exactly one record out of each, with a method (or function) for each stream.

        ::

            numbers.connect(words).map((str, str.upper))
        """
        function = as_co_map_function(func)
        return self._transform("Co-Map", CoMapOperator, function, output_type, "map")

    def flat_map(
        self,
        func: CoFlatMapFunction | tuple[Callable[..., Any], Callable[..., Any]],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Make any number of records out of each, with a method (or function) for each stream."""
        function = as_co_flat_map_function(func)
        return self._transform("Co-Flat Map", CoFlatMapOperator, function, output_type, "flat_map")

    def process(
        self,
        func: CoProcessFunction | KeyedCoProcessFunction | tuple[Callable[..., Any], Callable[..., Any]],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Process records with a context: timestamps, side outputs and, if both streams are keyed, state and timers."""
        if isinstance(func, KeyedCoProcessFunction):
            self._require_keys(func, "process")
        function = as_co_process_function(func, keyed=self._is_keyed())
        if isinstance(function, KeyedCoProcessFunction):
            return self._transform("Co-Keyed-Process", KeyedCoProcessOperator, function, output_type, "process")
        return self._transform("Co-Process", CoProcessOperator, function, output_type, "process")

    def transform(
        self, operator_name: str, output_type: TypeInformation | None, operator_factory: Callable[[], Operator]
    ) -> S:
        """Run an operator of one's own on both streams: see :meth:`DataStream.transform`.

        It has keyed state if both streams are keyed.
        """
        name, factory, output_type, method = own_operator(operator_name, output_type, operator_factory)
        arguments.type_information(method, "output_type", output_type)
        return self._add(name, output_type, factory)

    def _transform(
        self,
        name: str,
        operator: Callable[[Any], FunctionOperator],
        function: Function,
        output_type: TypeInformation | None,
        method: str,
    ) -> S:
        arguments.type_information(method, "output_type", output_type)
        if not self._is_keyed() and _asks_for_keyed_state(function):
            self._require_keys(function, method)
        factory: Callable[[], Operator] = partial(operator, function)
        if isinstance(function, InputSelectable):
            factory = partial(_selecting_input, operator, function)
        return self._add(name, output_type, factory)

    def _add(self, name: str, output_type: TypeInformation | None, factory: Callable[[], Operator]) -> S:
        return joined_operator((self.stream1, self.stream2), name, output_type, factory, self._keys)

    def _is_keyed(self) -> bool:
        return None not in self._keys

    def _check_key_types(self) -> None:
        first, second = (None if keys is None else keys.key_type for keys in self._keys)
        if self._is_keyed() and first is not None and second is not None and first != second:
            raise ProgramError(
                f"connect: the first stream is keyed by {first}, the second by {second}, so their keys can never be "
                "equal and would share no state. Make both key selectors return the same type."
            )

    def _require_keys(self, function: Function, method: str) -> None:
        """Raise unless both streams are keyed."""
        if self._is_keyed():
            return
        unkeyed = [number for number, keys in enumerate(self._keys, start=1) if keys is None]
        which = "neither stream has keys" if len(unkeyed) == 2 else f"stream {unkeyed[0]} has no keys"
        raise ProgramError(
            f"{method}: {describe(function)} uses state per key, but {which}. "
            "Key both: first.key_by(...).connect(second.key_by(...))."
        )


def _selecting_input(operator: Callable[[Any], FunctionOperator], function: Function) -> Operator:
    """The operator of a function that chooses which input it reads."""
    return InputSelectingOperator(operator(function))


def _asks_for_keyed_state(function: Function) -> bool:
    """Whether a method of the function's class mentions one of the getters of keyed state.

    A guess from the code, good enough to complain when the graph is built; where it misses, the getter itself raises
    when the function is opened.
    """
    for _, method in inspect.getmembers(type(function), inspect.isfunction):
        if method.__module__.startswith("firesteel."):
            continue
        for code in _code_objects(method.__code__):
            # The store of operator state has a get_list_state too.
            if _STATE_GETTERS.intersection(code.co_names) and "get_operator_state_store" not in code.co_names:
                return True
    return False


def _code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_objects(constant)


class ManyConnected(Generic[S]):
    """Any number of streams before one operator."""

    def __init__(self, streams: Sequence[AnyStream[S]]) -> None:
        arguments.instances("MultipleConnectedStreams", "streams", streams, AnyStream, "a DataStream")
        if not streams:
            raise ProgramError("MultipleConnectedStreams: no stream was given. Give at least one.")
        for stream in streams:
            require_same_environment("MultipleConnectedStreams", streams[0], stream)
        self.streams = tuple(streams)

    def transform(
        self, operator_name: str, output_type: TypeInformation | None, operator_factory: Callable[[], Operator]
    ) -> S:
        """Run an operator of one's own on all streams: see :meth:`DataStream.transform`.

        :param operator_factory: Makes a :class:`firesteel.runtime.operator.MultipleInputOperator`, once per subtask.
            Its inputs are the streams, counted from 0.
        """
        name, factory, output_type, method = own_operator(operator_name, output_type, operator_factory)
        arguments.type_information(method, "output_type", output_type)
        return joined_operator(self.streams, name, output_type, factory, self._keys(name))

    def _keys(self, name: str) -> list[Partitioning | None]:
        """How each stream is keyed: all of them, apart from broadcast ones, or none."""
        nodes = [stream.get_transformation() for stream in self.streams]
        keys = [keys_of(node) for node in nodes if not is_broadcast(node)]
        if any(keys) and None in keys:
            raise ProgramError(
                f"transform({name!r}): some of the streams are keyed and others are not, so that an operator could "
                "keep no state for a key. Key all of them, or broadcast() those whose records every subtask needs."
            )
        return keys


def joined_operator(
    streams: Sequence[AnyStream[S]],
    name: str,
    output_type: TypeInformation | None,
    factory: Callable[[], Operator],
    keys: Sequence[Partitioning | None],
) -> S:
    """An operator that reads several streams; with keyed state if all of ``keys`` say how."""
    selectors = tuple(each.key_selector for each in keys if each is not None and each.key_selector is not None)
    first = streams[0]
    node = first.get_execution_environment().graph.operator(
        name,
        [stream.get_transformation() for stream in streams],
        factory,
        output_type,
        key_selectors=selectors if selectors and len(selectors) == len(keys) else None,
    )
    return first.derive(node)
