"""ConnectedStreams: two streams before one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType
from typing import Any

from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.hints import ON_CONNECTED_STREAMS, StreamHints
from firesteel.datastream._internal.keyed_stream import KeyedStream
from firesteel.datastream._internal.stream import DataStream, own_operator
from firesteel.errors import ProgramError
from firesteel.model.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    Function,
    InputSelectable,
    KeyedCoProcessFunction,
    KeyedStateStore,
    KeySelector,
)
from firesteel.model.functions.adapt import (
    as_co_flat_map_function,
    as_co_map_function,
    as_co_process_function,
    describe,
)
from firesteel.plan.graph import OperatorTransformation, user_call_site
from firesteel.runtime.co import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    InputSelectingOperator,
    KeyedCoProcessOperator,
)
from firesteel.runtime.operator import Operator
from firesteel.runtime.user_function import FunctionOperator

_STATE_GETTERS = {name for name in vars(KeyedStateStore) if name.startswith("get_")}


class ConnectedStreams(StreamHints):
    """Two streams, of the same or different types, for a function that has a method for each.

    If both are keyed, both methods see the same state for the same key. No order between the two is promised, but a
    function that is an :class:`InputSelectable` too says which of them it reads next.

    ::

        rides.key_by("ride_id").connect(fares.key_by("ride_id")).process(JoinRidesWithFares())
    """

    _hints = ON_CONNECTED_STREAMS

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        arguments.instances("connect", "ds", (stream1, stream2), DataStream, "a DataStream")
        stream1._same_environment("connect", stream2)
        self.stream1 = stream1
        self.stream2 = stream2
        self._check_key_types()

    def __repr__(self) -> str:
        return f"ConnectedStreams({self.stream1!r}, {self.stream2!r})"

    def key_by(
        self,
        key_selector1: KeySelector | Callable[[Any], Any] | str | int,
        key_selector2: KeySelector | Callable[[Any], Any] | str | int,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:
        """Key both streams, each by its own selector; the keys of both must be of one type."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        )

    def map(
        self,
        func: CoMapFunction | tuple[Callable[[Any], Any], Callable[[Any], Any]],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
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
    ) -> DataStream:
        """Make any number of records out of each, with a method (or function) for each stream."""
        function = as_co_flat_map_function(func)
        return self._transform("Co-Flat Map", CoFlatMapOperator, function, output_type, "flat_map")

    def process(
        self,
        func: CoProcessFunction | KeyedCoProcessFunction | tuple[Callable[..., Any], Callable[..., Any]],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Process records with a context: timestamps, side outputs and, if both streams are keyed, state and timers."""
        if isinstance(func, KeyedCoProcessFunction):
            self._require_keys(func, "process")
        function = as_co_process_function(func, keyed=self._is_keyed())
        if isinstance(function, KeyedCoProcessFunction):
            return self._transform("Co-Keyed-Process", KeyedCoProcessOperator, function, output_type, "process")
        return self._transform("Co-Process", CoProcessOperator, function, output_type, "process")

    def transform(
        self, operator_name: str, output_type: TypeInformation | None, operator_factory: Callable[[], Operator]
    ) -> DataStream:
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
    ) -> DataStream:
        arguments.type_information(method, "output_type", output_type)
        if not self._is_keyed() and _asks_for_keyed_state(function):
            self._require_keys(function, method)
        factory: Callable[[], Operator] = partial(operator, function)
        if isinstance(function, InputSelectable):
            factory = partial(_selecting_input, operator, function)
        return self._add(name, output_type, factory)

    def _add(self, name: str, output_type: TypeInformation | None, factory: Callable[[], Operator]) -> DataStream:
        environment = self.stream1.get_execution_environment()
        node = OperatorTransformation(
            id=environment._next_id(),
            name=name,
            inputs=[self.stream1._transformation, self.stream2._transformation],
            call_site=user_call_site(),
            output_type=output_type,
            factory=factory,
            key_selectors=self._key_selectors(),
        )
        return DataStream(environment, environment._add(node))

    def _is_keyed(self) -> bool:
        return isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream)

    def _key_selectors(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]] | None:
        if isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream):
            return self.stream1._key_selector, self.stream2._key_selector
        return None

    def _check_key_types(self) -> None:
        if not (isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream)):
            return
        first, second = self.stream1.get_key_type(), self.stream2.get_key_type()
        if first is not None and second is not None and first != second:
            raise ProgramError(
                f"connect: the first stream is keyed by {first}, the second by {second}, so their keys can never be "
                "equal and would share no state. Make both key selectors return the same type."
            )

    def _require_keys(self, function: Function, method: str) -> None:
        """Raise unless both streams are keyed."""
        if self._is_keyed():
            return
        unkeyed = [
            number
            for number, stream in enumerate((self.stream1, self.stream2), start=1)
            if not isinstance(stream, KeyedStream)
        ]
        which = "neither stream has keys" if len(unkeyed) == 2 else f"stream {unkeyed[0]} has no keys"
        raise ProgramError(
            f"{method}: {describe(function)} uses state per key, but {which}. "
            "Key both: first.key_by(...).connect(second.key_by(...))."
        )


def _selecting_input(operator: Callable[[Any], FunctionOperator], function: Function) -> Operator:
    """The operator of a function that chooses which input it reads."""
    return InputSelectingOperator(operator(function))


def _selecting(operator: Callable[[Any], FunctionOperator], function: Function) -> InputSelectingOperator:
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
