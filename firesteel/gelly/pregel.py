"""Vertex-centric iterations, after Pregel: a vertex gets messages, changes its value and sends messages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from firesteel.dataset import DataSet
from firesteel.dataset.messages import (
    UNCHANGED,
    Around,
    Combiner,
    Messages,
    Outbox,
    Part,
    Receiver,
    iterate_messages,
)
from firesteel.gelly.configuration import VertexCentricConfiguration
from firesteel.gelly.functions import Delegate
from firesteel.gelly.records import Vertex
from firesteel.gelly.supersteps import SendingFunction, SuperstepDelegate, checked, part
from firesteel.model.functions import Function

__all__ = ["ComputeFunction", "MessageCombiner", "VertexCentricConfiguration"]


class ComputeFunction(SendingFunction):
    """What a vertex does in a superstep.

    In the first superstep every vertex computes, without messages; later those that have got some. A vertex without
    messages sleeps, and a message to one that is not there is lost.
    The iteration ends when there are no more messages, or with the last superstep.
    """

    _new_value: Any

    @abstractmethod
    def compute(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        """Called once per vertex that is awake. Calls the methods below to change the vertex and to send messages."""

    def set_new_vertex_value(self, new_value: Any) -> None:
        """Give the vertex a new value. The last call in a superstep counts."""
        self._new_value = new_value

    def computed(self, vertex: Vertex, messages: list[Any]) -> Any:
        """For the iteration: compute a vertex, and get its new value."""
        self._new_value = UNCHANGED
        self.compute(vertex, messages)
        return self._new_value


class MessageCombiner(Function):
    """Makes one message of several to the same vertex, before they are sent.

    ::

        class Smallest(MessageCombiner):
            def combine_messages(self, messages):
                self.send_combined_message(min(messages))
    """

    _combined: Any = UNCHANGED

    @abstractmethod
    def combine_messages(self, messages: Iterable[Any]) -> Any:
        """Called with two messages or more; calls :meth:`send_combined_message` once, or returns the message."""

    def send_combined_message(self, combined_message: Any) -> None:
        """Say what the messages come to."""
        self._combined = combined_message

    def combined(self, messages: list[Any]) -> Any:
        """For the iteration: several messages in one."""
        self._combined = UNCHANGED
        returned = self.combine_messages(messages)
        return returned if self._combined is UNCHANGED else self._combined


# --- the iteration ----------------------------------------------------------------------------------


class _Compute(SuperstepDelegate, Receiver):
    """Vertices that are awake compute."""

    def begin(self, around: Around, outbox: Outbox) -> None:
        assert isinstance(self._function, ComputeFunction)
        self._function.begin(around, outbox)
        self._computed = self._function.computed

    def receive(self, key: Any, value: Any, messages: list[Any]) -> Any:
        return self._computed(Vertex(key, value), messages)


class _Combine(Delegate, Combiner):
    def combine(self, messages: list[Any]) -> Any:
        assert isinstance(self._function, MessageCombiner)
        return self._function.combined(messages)


def iterate(
    vertices: DataSet,
    edges: DataSet,
    compute_function: ComputeFunction,
    combiner: MessageCombiner | None,
    most: int,
    parameters: VertexCentricConfiguration | None,
) -> DataSet:
    """The vertices after the last superstep."""
    where = "run_vertex_centric_iteration"
    compute = checked(compute_function, ComputeFunction, where)
    own = parameters or VertexCentricConfiguration()
    receive = part("Compute", _Compute(compute), "compute", vertices, own)
    combine = None if combiner is None else Part("Combine", _Combine(checked(combiner, MessageCombiner, where)))
    messages = Messages(
        receive,
        combine=combine,
        aggregators=own.get_aggregators(),
        convergence=own.get_convergence(),
    )
    name = own.get_name("Vertex-centric iteration")
    return iterate_messages(vertices, edges, messages, most, name, own.get_parallelism())
