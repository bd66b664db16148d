"""Which vertices belong together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from firesteel.dataset import DataSet
from firesteel.gelly.graph import Graph, GraphAlgorithm
from firesteel.gelly.gsa import ApplyFunction, GatherFunction, Neighbor, SumFunction
from firesteel.gelly.pregel import ComputeFunction, MessageCombiner
from firesteel.gelly.records import Vertex

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
        labelled = _labelled(graph)
        return labelled.run_vertex_centric_iteration(_Smallest(), _Least(), self._max_iterations).get_vertices()


class GSAConnectedComponents(ConnectedComponents):
    """The same by a gather-sum-apply iteration."""

    def run(self, graph: Graph) -> DataSet:
        """The vertices, with the component as their value."""
        functions = (_GatherValue(), _Min(), _IfSmaller())
        return _labelled(graph).run_gather_sum_apply_iteration(*functions, self._max_iterations).get_vertices()


def _labelled(graph: Graph) -> Graph:
    with_labels = graph.map_vertices(lambda vertex: vertex.id if vertex.value is None else vertex.value)
    return with_labels.map_edges(lambda edge: None).get_undirected()


class _Smallest(ComputeFunction):
    def compute(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        smallest = min(messages, default=vertex.value)
        if smallest < vertex.value:
            self.set_new_vertex_value(smallest)
            self.send_message_to_all_neighbors(smallest)
        elif self.get_superstep_number() == 1:
            self.send_message_to_all_neighbors(vertex.value)


class _Least(MessageCombiner):
    def combine_messages(self, messages: Iterable[Any]) -> Any:
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
