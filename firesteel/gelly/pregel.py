"""Vertex-centric iterations, after Pregel: a vertex gets messages, changes its value and sends messages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.dataset import DataSet, JoinHint
from firesteel.dataset.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    ReduceFunction,
    forwarded_fields_first,
    forwarded_fields_second,
)
from firesteel.gelly.configuration import VertexCentricConfiguration
from firesteel.gelly.functions import Delegate
from firesteel.gelly.records import Edge, EdgeDirection, Vertex
from firesteel.gelly.supersteps import (
    UNSET,
    SuperstepDelegate,
    SuperstepFunction,
    adjacency,
    checked,
    with_broadcast_sets,
)
from firesteel.model.functions import Function

__all__ = ["ComputeFunction", "MessageCombiner", "VertexCentricConfiguration"]


class ComputeFunction(SuperstepFunction):
    """What a vertex does in a superstep.

    In the first superstep every vertex computes, without messages; later those that have got some. A vertex without
    messages sleeps. The iteration ends when there are no more messages, or with the last superstep.
    """

    _vertex: Vertex
    _edges: list[tuple[Any, Any]]
    _outbox: list[tuple[Any, Any]]
    _new_value: Any

    @abstractmethod
    def compute(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        """Called once per vertex that is awake. Calls the methods below to change the vertex and to send messages."""

    def get_edges(self) -> list[Edge]:
        """The edges that go out of the vertex."""
        return [Edge._make(edge) for _, edge in self._edges]

    def send_message_to(self, target: Any, message: Any) -> None:
        """Send a message to a vertex, found by its id, for the next superstep. It is lost if there is none."""
        self._outbox.append((target, message))

    def send_message_to_all_neighbors(self, message: Any) -> None:
        """Send a message along all edges that go out of the vertex."""
        self._outbox.extend([(target, message) for target, _ in self._edges])

    def set_new_vertex_value(self, new_value: Any) -> None:
        """Give the vertex a new value. The last call in a superstep counts."""
        self._new_value = new_value

    def computed(self, vertex: Vertex, messages: list[Any], edges: list[tuple[Any, Any]]) -> Any:
        """For the iteration: compute a vertex, and get its changed record (or None) and the messages it sends."""
        self._vertex, self._edges, self._outbox, self._new_value = vertex, edges, [], UNSET
        self.compute(vertex, messages)
        return None if self._new_value is UNSET else (vertex.id, self._new_value), self._outbox


class MessageCombiner(Function):
    """Makes one message of several to the same vertex, before they are sent.

    ::

        class Smallest(MessageCombiner):
            def combine_messages(self, messages):
                self.send_combined_message(min(messages))
    """

    _combined: Any = UNSET

    @abstractmethod
    def combine_messages(self, messages: Iterable[Any]) -> Any:
        """Called with two messages or more; calls :meth:`send_combined_message` once, or returns the message."""

    def send_combined_message(self, combined_message: Any) -> None:
        """Say what the messages come to."""
        self._combined = combined_message

    def combined(self, first: Any, second: Any) -> Any:
        """For the iteration: two messages in one."""
        self._combined = UNSET
        returned = self.combine_messages([first, second])
        return returned if self._combined is UNSET else self._combined


# --- the iteration ----------------------------------------------------------------------------------


@forwarded_fields_first("f0")
@forwarded_fields_second("f0")
class _Awake(CoGroupFunction):
    """A vertex and its messages: ``(id, value, messages)``. The first workset has ids alone: no messages."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[tuple[Any, Any, list[Any]]]:
        received = list(first)
        if received:
            for vertex in second:
                yield *vertex, [message[1] for message in received if len(message) > 1]


@forwarded_fields_first("f0")
class _Compute(SuperstepDelegate, FlatJoinFunction):
    """A vertex that is awake, and its edges if it has any: ``(id, changed vertex or None, messages)``."""

    def join(self, first: Any, second: Any) -> Iterator[Any]:
        assert isinstance(self._function, ComputeFunction)
        number, value, messages = first
        yield number, *self._function.computed(Vertex(number, value), messages, second[1] if second else [])


class _Combine(Delegate, ReduceFunction):
    """Two messages to a vertex."""

    def reduce(self, value1: tuple[Any, Any], value2: tuple[Any, Any]) -> tuple[Any, Any]:
        assert isinstance(self._function, MessageCombiner)
        return value1[0], self._function.combined(value1[1], value2[1])


def _changes(record: tuple[Any, Any, Any]) -> tuple[Any, ...]:
    return () if record[1] is None else (record[1],)


def _messages(record: tuple[Any, Any, Any]) -> list[tuple[Any, Any]]:
    outbox: list[tuple[Any, Any]] = record[2]
    return outbox


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
    placed = vertices.partition_by_hash(0).name("Vertices by id")
    woken = placed.map(lambda vertex: vertex[:1]).with_forwarded_fields("f0").name("All vertices are awake")
    iteration = placed.iterate_delta(woken, most, 0)
    own.apply_to(iteration, "Vertex-centric iteration")
    awake = iteration.get_workset().co_group(iteration.get_solution_set()).where(0).equal_to(0).with_(_Awake())
    by_vertex = awake.left_outer_join(adjacency(edges, EdgeDirection.OUT), JoinHint.REPARTITION_HASH_FIRST)
    computed = by_vertex.where(0).equal_to(0).with_(_Compute(compute)).name("Compute")
    computed = with_broadcast_sets(computed, placed, own, "compute")
    changed = computed.flat_map(_changes).with_forwarded_fields("f0").name("Changed vertices")
    messages = computed.flat_map(_messages).name("Messages")
    if combiner is not None:
        messages = messages.group_by(0).reduce(_Combine(checked(combiner, MessageCombiner, where))).name("Combine")
    return iteration.close_with(changed, messages)
