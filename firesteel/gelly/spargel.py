"""Scatter-gather iterations: vertices that have changed send messages, vertices that get messages may change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.dataset import Aggregations, DataSet
from firesteel.dataset.functions import CoGroupFunction, forwarded_fields_first, forwarded_fields_second
from firesteel.dataset.messages import UNCHANGED, Around, Messages, Outbox, Receiver, Sender, iterate_messages
from firesteel.errors import ProgramError
from firesteel.gelly.configuration import ScatterGatherConfiguration
from firesteel.gelly.records import Vertex
from firesteel.gelly.supersteps import (
    SendingFunction,
    SuperstepDelegate,
    SuperstepFunction,
    along,
    checked,
    is_plain,
    part,
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


class ScatterFunction(_WithDegrees, SendingFunction):
    """What a vertex that has changed sends; in the first superstep every vertex does. Receivers have to be there."""

    @abstractmethod
    def send_messages(self, vertex: Vertex) -> None:
        """Called once per vertex that has changed in the superstep before. Calls the methods below to send messages."""

    def sent(self, vertex: Vertex, degrees: tuple[int, int] | None) -> None:
        """For the iteration: let a vertex send."""
        self._degrees = degrees
        self.send_messages(vertex)


class GatherFunction(_WithDegrees):
    """What a vertex makes of the messages that it gets."""

    _new_value: Any

    @abstractmethod
    def update_vertex(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        """Called once per vertex that has messages. Calls :meth:`set_new_vertex_value` if the vertex changes."""

    def set_new_vertex_value(self, new_value: Any) -> None:
        """Give the vertex a new value, which makes it send messages in the next superstep."""
        self._new_value = new_value

    def updated(self, vertex: Vertex, degrees: tuple[int, int] | None, messages: list[Any]) -> Any:
        """For the iteration: the new value of a vertex."""
        self._new_value, self._degrees = UNCHANGED, degrees
        self.update_vertex(vertex, messages)
        return self._new_value


# --- the iteration ----------------------------------------------------------------------------------


class _Scatter(SuperstepDelegate, Sender):
    """Vertices that have changed send; their values are here with their degrees."""

    def begin(self, around: Around, outbox: Outbox) -> None:
        assert isinstance(self._function, ScatterFunction)
        self._function.begin(around, outbox)
        self._sent = self._function.sent

    def send(self, key: Any, value: Any) -> None:
        self._sent(Vertex(key, value[0]), value[1])


class _Gather(SuperstepDelegate, Receiver):
    """Vertices that get messages may change."""

    def receive(self, key: Any, value: Any, messages: list[Any]) -> Any:
        assert isinstance(self._function, GatherFunction)
        changed = self._function.updated(Vertex(key, value[0]), value[1], messages)
        return UNCHANGED if changed is UNCHANGED else (changed, value[1])

    def receive_for_nobody(self, key: Any) -> None:
        raise ProgramError(f"the scatter function sent a message to {key!r}, but there is no vertex with this id")


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
    with_degrees = _with_degrees(vertices, edges, own.is_opt_degrees())
    messages = Messages(
        part("Gather", _Gather(gather), "gather", vertices, own),
        part("Scatter", _Scatter(scatter), "scatter", vertices, own),
        aggregators=own.get_aggregators(),
        convergence=own.get_convergence(),
        sends_at_once=is_plain(scatter),
        along=along(own.get_direction()),
    )
    name = own.get_name("Scatter-gather iteration")
    found = iterate_messages(with_degrees, edges, messages, most, name, own.get_parallelism())
    return found.map(_without_degrees).with_forwarded_fields("f0").name("Vertices")


def _with_degrees(vertices: DataSet, edges: DataSet, degrees: bool) -> DataSet:
    """Vertices with their degrees, or None instead: ``(id, (value, (in, out)))``."""
    if not degrees:
        return vertices.map(_no_degrees).with_forwarded_fields("f0").name("Vertices")
    counted = edges.flat_map(_ends).group_by(0).sum(1).and_(Aggregations.SUM, 2)
    return vertices.co_group(counted).where(0).equal_to(0).with_(_CountedDegrees()).name("Vertices with degrees")


def _ends(edge: tuple[Any, Any, Any]) -> tuple[tuple[Any, int, int], tuple[Any, int, int]]:
    return (edge[1], 1, 0), (edge[0], 0, 1)


def _no_degrees(vertex: tuple[Any, Any]) -> tuple[Any, tuple[Any, None]]:
    return vertex[0], (vertex[1], None)


def _without_degrees(vertex: tuple[Any, tuple[Any, Any]]) -> tuple[Any, Any]:
    return vertex[0], vertex[1][0]


@forwarded_fields_first("f0")
@forwarded_fields_second("f0")
class _CountedDegrees(CoGroupFunction):
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        counts = next(iter(second), (None, 0, 0))
        for vertex in first:
            yield vertex[0], (vertex[1], (counts[1], counts[2]))
