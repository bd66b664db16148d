"""Broadcast streams: records that every subtask of another operator is told, and keeps in broadcast state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic

from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.connected_streams import joined_operator
from firesteel.datastream._internal.hints import ON_BROADCAST_STREAM, StreamHints
from firesteel.datastream._internal.stream import AnyStream, S, own_operator, require_same_environment
from firesteel.errors import ProgramError
from firesteel.model.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from firesteel.model.functions.adapt import describe, expect_function
from firesteel.model.state import MapStateDescriptor
from firesteel.plan.graph import keys_of
from firesteel.runtime.broadcast import BroadcastOperator, KeyedBroadcastOperator
from firesteel.runtime.operator import Operator


class Broadcast(StreamHints, Generic[S]):
    """A stream whose records go to every subtask, with the broadcast states they are kept in."""

    _hints = ON_BROADCAST_STREAM

    def __init__(self, input_stream: AnyStream[S], broadcast_state_descriptors: Sequence[MapStateDescriptor]) -> None:
        arguments.instances("broadcast", "input_stream", (input_stream,), AnyStream, "a DataStream")
        self.input_stream = input_stream
        self.broadcast_state_descriptors = _checked(broadcast_state_descriptors)


class BroadcastConnected(Generic[S]):
    """The functions of a stream that is connected with a broadcast one."""

    def __init__(
        self,
        non_broadcast_stream: AnyStream[S],
        broadcast_stream: Broadcast[S],
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        arguments.instances("connect", "ds", (non_broadcast_stream,), AnyStream, "a DataStream")
        arguments.instances("connect", "ds", (broadcast_stream,), Broadcast, "a BroadcastStream")
        require_same_environment("connect", non_broadcast_stream, broadcast_stream.input_stream)
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = _checked(broadcast_state_descriptors)
        self._keys = keys_of(non_broadcast_stream.get_transformation())

    def process(
        self,
        func: BroadcastProcessFunction | KeyedBroadcastProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Process both streams with one function; only its broadcast side may change broadcast state.

        A broadcast record is in force before any record of the other stream that is read in the same epoch or later.
        Event time is that of the slower of the two streams.

        :param func: A :class:`KeyedBroadcastProcessFunction` if the stream is keyed, else a
            :class:`BroadcastProcessFunction`.
        """
        expect_function(func, "process", "func", BroadcastProcessFunction, KeyedBroadcastProcessFunction)
        arguments.type_information("process", "output_type", output_type)
        self._check_keys(func)
        operator: Any = BroadcastOperator if self._keys is None else KeyedBroadcastOperator
        name = "Co-Process-Broadcast" if self._keys is None else "Co-Process-Broadcast-Keyed"
        return self._transform(name, output_type, partial(operator, func, tuple(self.broadcast_state_descriptors)))

    def transform(
        self, operator_name: str, output_type: TypeInformation | None, operator_factory: Callable[[], Operator]
    ) -> S:
        """Run an operator of one's own on both streams: see :meth:`DataStream.transform`.

        The broadcast stream is its first input, and is read first in each epoch.
        """
        name, factory, output_type, method = own_operator(operator_name, output_type, operator_factory)
        arguments.type_information(method, "output_type", output_type)
        return self._transform(name, output_type, factory)

    def _transform(self, name: str, output_type: TypeInformation | None, factory: Callable[[], Operator]) -> S:
        streams = self.broadcast_stream.input_stream, self.non_broadcast_stream
        return joined_operator(streams, name, output_type, factory, [self._keys])

    def _check_keys(self, func: BroadcastProcessFunction | KeyedBroadcastProcessFunction) -> None:
        keyed = self._keys is not None
        if isinstance(func, KeyedBroadcastProcessFunction) and not keyed:
            raise ProgramError(
                f"process: {describe(func)} is a KeyedBroadcastProcessFunction, but the stream has no keys. "
                "Key it: stream.key_by(...).connect(broadcast_stream)."
            )
        if isinstance(func, BroadcastProcessFunction) and keyed:
            raise ProgramError(
                f"process: {describe(func)} is a BroadcastProcessFunction, but the stream is keyed. "
                "Derive it from KeyedBroadcastProcessFunction, or connect the stream without key_by(...)."
            )


def _checked(descriptors: Sequence[MapStateDescriptor]) -> list[MapStateDescriptor]:
    """Descriptors of broadcast states: at least one, each under a name of its own."""
    arguments.instances(
        "broadcast", "broadcast_state_descriptors", descriptors, MapStateDescriptor, "a MapStateDescriptor"
    )
    names = [descriptor.get_name() for descriptor in descriptors]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not names:
        raise ProgramError(
            f"broadcast: two states have the name {twice[0]!r}. Give each state a name of its own."
            if twice
            else "broadcast: a BroadcastStream needs the MapStateDescriptor of at least one state."
        )
    return list(descriptors)
