"""Which vertices belong together."""

from __future__ import annotations

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
from firesteel.gelly.configuration import GSAConfiguration
from firesteel.gelly.graph import Graph, GraphAlgorithm
from firesteel.gelly.gsa import ApplyFunction, GatherFunction, Neighbor, SumFunction
from firesteel.gelly.records import EdgeDirection

__all__ = ["ConnectedComponents", "GSAConnectedComponents"]


class ConnectedComponents(GraphAlgorithm):
    """Gives each vertex the smallest value in its component, whatever the direction of edges.

    Values are compared: numbers or texts, the ids for example. A vertex whose value is None has its id.

    :param max_iterations: At most so many supersteps; a component is complete after as many as its longest path.
    """

    def __init__(self, max_iterations: int) -> None:
        self._max_iterations = max_iterations

    def run(self, graph: Graph) -> DataSet:
        """The vertices, with the component as their value."""
        vertices, edges = _labelled(graph)
        messages = Messages(Part("Smallest", _Smallest()), combine=Part("Least", _Least()), along=(True, True))
        found = iterate_messages(vertices, edges, messages, self._max_iterations, "Connected components")
        return Graph(found, edges).get_vertices()


class GSAConnectedComponents(ConnectedComponents):
    """The same by a gather-sum-apply iteration."""

    def run(self, graph: Graph) -> DataSet:
        """The vertices, with the component as their value."""
        functions = (_GatherValue(), _Min(), _IfSmaller())
        parameters = GSAConfiguration()
        parameters.set_direction(EdgeDirection.ALL)
        labelled = Graph(*_labelled(graph))
        return labelled.run_gather_sum_apply_iteration(*functions, self._max_iterations, parameters).get_vertices()


def _labelled(graph: Graph) -> tuple[DataSet, DataSet]:
    """Vertices with their labels, and edges without their values."""
    labels = graph.get_vertices_as_tuple2().map(_label).with_forwarded_fields("f0").name("Labels")
    return labels, graph.get_edges_as_tuple3().map(_without_value).with_forwarded_fields("f0; f1").name("Edges")


def _label(vertex: tuple[Any, Any]) -> tuple[Any, Any]:
    return vertex if vertex[1] is not None else (vertex[0], vertex[0])


def _without_value(edge: tuple[Any, Any, Any]) -> tuple[Any, Any, None]:
    return edge[0], edge[1], None


class _Smallest(Receiver):
    """In the first superstep each vertex sends its label, then those that have got a smaller one."""

    def begin(self, around: Around, outbox: Outbox) -> None:
        self._around, self._outbox = around, outbox

    def receive(self, key: Any, value: Any, messages: list[Any]) -> Any:
        smallest = min(messages, default=value)
        if messages and not smallest < value:
            return UNCHANGED
        outbox = self._outbox
        for other in self._around.others():
            outbox[other].append(smallest)
        return smallest


class _Least(Combiner):
    def combine(self, messages: list[Any]) -> Any:
        return min(messages)


class _GatherValue(GatherFunction):
    def gather(self, neighbor: Neighbor) -> Any:
        return neighbor.value


class _Min(SumFunction):
    def sum(self, arg0: Any, arg1: Any) -> Any:
        return min(arg0, arg1)


class _IfSmaller(ApplyFunction):
    def apply(self, new_value: Any, current_value: Any) -> None:
        if new_value < current_value:
            self.set_result(new_value)
