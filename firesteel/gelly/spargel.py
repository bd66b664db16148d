"""Scatter-gather iterations: vertices that have changed send messages, vertices that get messages may change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.dataset import Aggregations, DataSet, JoinHint
from firesteel.dataset.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    forwarded_fields_first,
    forwarded_fields_second,
)
from firesteel.errors import ProgramError
from firesteel.gelly.configuration import ScatterGatherConfiguration
from firesteel.gelly.records import Edge, Vertex
from firesteel.gelly.supersteps import (
    UNSET,
    SuperstepDelegate,
    SuperstepFunction,
    adjacency,
    checked,
    with_broadcast_sets,
)

__all__ = ["GatherFunction", "ScatterFunction", "ScatterGatherConfiguration"]


class _WithDegrees(SuperstepFunction):
    _degrees: tuple[int, int] | None = None

    def get_in_degree(self) -> int:
        """How many edges come in to the vertex, if the configuration says ``set_opt_degrees(True)``."""
        return self._known_degrees()[0]

    def get_out_degree(self) -> int:
        """How many edges go out of the vertex, if the configuration says ``set_opt_degrees(True)``."""
        return self._known_degrees()[1]

    def _known_degrees(self) -> tuple[int, int]:
        if self._degrees is None:
            raise ProgramError(
                "the degrees have not been counted. Call set_opt_degrees(True) on the configuration of the iteration"
            )
        return self._degrees


class ScatterFunction(_WithDegrees):
    """What a vertex that has changed sends; in the first superstep every vertex does."""

    _edges: list[tuple[Any, Any]]
    _outbox: list[tuple[Any, Any]]

    @abstractmethod
    def send_messages(self, vertex: Vertex) -> None:
        """Called once per vertex that has changed in the superstep before. Calls the methods below to send messages."""

    def get_edges(self) -> list[Edge]:
        """The edges of the vertex, in the direction that the configuration says."""
        return [Edge._make(edge) for _, edge in self._edges]

    def send_message_to(self, target: Any, message: Any) -> None:
        """Send a message to a vertex, found by its id; it must be there."""
        self._outbox.append((target, message))

    def send_message_to_all_neighbors(self, message: Any) -> None:
        """Send a message along all edges, in the direction that the configuration says."""
        self._outbox.extend([(target, message) for target, _ in self._edges])

    def sent(self, record: Any, edges: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """For the iteration: let a vertex send."""
        self._edges, self._outbox, self._degrees = edges, [], record[2]
        self.send_messages(Vertex(record[0], record[1]))
        return self._outbox


class GatherFunction(_WithDegrees):
    """What a vertex makes of the messages that it gets."""

    _new_value: Any

    @abstractmethod
    def update_vertex(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        """Called once per vertex that has messages. Calls :meth:`set_new_vertex_value` if the vertex changes."""

    def set_new_vertex_value(self, new_value: Any) -> None:
        """Give the vertex a new value, which makes it send messages in the next superstep."""
        self._new_value = new_value

    def updated(self, record: Any, messages: list[Any]) -> Any:
        """For the iteration: the changed record, or None."""
        self._new_value, self._degrees = UNSET, record[2]
        self.update_vertex(Vertex(record[0], record[1]), messages)
        return None if self._new_value is UNSET else (record[0], self._new_value, record[2])


# --- the iteration ----------------------------------------------------------------------------------


class _Scatter(SuperstepDelegate, FlatJoinFunction):
    """A vertex that has changed, and its edges if it has any: messages."""

    def join(self, first: Any, second: Any) -> list[tuple[Any, Any]]:
        assert isinstance(self._function, ScatterFunction)
        return self._function.sent(first, second[1] if second else [])


@forwarded_fields_first("f0")
@forwarded_fields_second("f0")
class _Gather(SuperstepDelegate, CoGroupFunction):
    """Messages, and the vertex that gets them: the changed vertex."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        assert isinstance(self._function, GatherFunction)
        messages = list(first)
        if not messages:
            return
        vertex = next(iter(second), None)
        if vertex is None:
            raise ProgramError(
                f"the scatter function sent a message to {messages[0][0]!r}, but there is no vertex with this id"
            )
        changed = self._function.updated(vertex, [message for _, message in messages])
        if changed is not None:
            yield changed


def iterate(
    vertices: DataSet,
    edges: DataSet,
    scatter_function: ScatterFunction,
    gather_function: GatherFunction,
    most: int,
    parameters: ScatterGatherConfiguration | None,
) -> DataSet:
    """The vertices after the last superstep."""
    where = "run_scatter_gather_iteration"
    scatter, gather = (
        checked(scatter_function, ScatterFunction, where),
        checked(gather_function, GatherFunction, where),
    )
    own = parameters or ScatterGatherConfiguration()
    solution = _solution(vertices, edges, own.is_opt_degrees())
    iteration = solution.iterate_delta(solution, most, 0)
    own.apply_to(iteration, "Scatter-gather iteration")
    by_vertex = iteration.get_workset().left_outer_join(
        adjacency(edges, own.get_direction()), JoinHint.REPARTITION_HASH_FIRST
    )
    messages = by_vertex.where(0).equal_to(0).with_(_Scatter(scatter)).name("Scatter")
    messages = with_broadcast_sets(messages, solution, own, "scatter")
    received = messages.co_group(iteration.get_solution_set()).where(0).equal_to(0)
    changed = with_broadcast_sets(received.with_(_Gather(gather)).name("Gather"), solution, own, "gather")
    return iteration.close_with(changed, changed).project(0, 1)


def _solution(vertices: DataSet, edges: DataSet, degrees: bool) -> DataSet:
    """Vertices with their degrees, or None instead: ``(id, value, (in, out))``."""
    if not degrees:
        return vertices.partition_by_hash(0).map(_without_degrees).with_forwarded_fields("f0").name("Vertices by id")
    counted = edges.flat_map(_ends).group_by(0).sum(1).and_(Aggregations.SUM, 2)
    return vertices.co_group(counted).where(0).equal_to(0).with_(_CountedDegrees()).name("Vertices with degrees")


def _ends(edge: tuple[Any, Any, Any]) -> tuple[tuple[Any, int, int], tuple[Any, int, int]]:
    return (edge[1], 1, 0), (edge[0], 0, 1)


def _without_degrees(vertex: tuple[Any, Any]) -> tuple[Any, Any, None]:
    return (*vertex, None)


@forwarded_fields_first("f0")
@forwarded_fields_second("f0")
class _CountedDegrees(CoGroupFunction):
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        counts = next(iter(second), (None, 0, 0))
        for vertex in first:
            yield *vertex, (counts[1], counts[2])
