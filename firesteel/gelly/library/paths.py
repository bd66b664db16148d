"""How far vertices are from one of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from firesteel.dataset import DataSet
from firesteel.errors import ProgramError
from firesteel.gelly.graph import Graph, GraphAlgorithm
from firesteel.gelly.gsa import ApplyFunction, GatherFunction, Neighbor, SumFunction
from firesteel.gelly.pregel import ComputeFunction, MessageCombiner
from firesteel.gelly.records import Edge, Vertex

__all__ = ["GSASingleSourceShortestPaths", "SingleSourceShortestPaths"]


class SingleSourceShortestPaths(GraphAlgorithm):
    """Gives each vertex its distance from a source along directed edges; infinity if it cannot be reached.

    The value of an edge is its length, not below 0; an edge whose value is None has length 1.

    :param max_iterations: At most so many supersteps: paths of one edge less are found.
    """

    def __init__(self, src_vertex_id: Any, max_iterations: int) -> None:
        self._source = src_vertex_id
        self._max_iterations = max_iterations

    def run(self, graph: Graph) -> DataSet:
        """The vertices, with the distance as their value."""
        functions = (_Shorter(), _Shortest())
        return self._prepared(graph).run_vertex_centric_iteration(*functions, self._max_iterations).get_vertices()

    def _prepared(self, graph: Graph) -> Graph:
        source = self._source
        begun = graph.map_vertices(lambda vertex: 0.0 if vertex.id == source else math.inf)
        return begun.map_edges(_length)


class GSASingleSourceShortestPaths(SingleSourceShortestPaths):
    """The same by a gather-sum-apply iteration."""

    def run(self, graph: Graph) -> DataSet:
        """The vertices, with the distance as their value."""
        functions = (_Distance(), _Minimum(), _IfShorter())
        return self._prepared(graph).run_gather_sum_apply_iteration(*functions, self._max_iterations).get_vertices()


def _length(edge: Edge) -> float:
    length = 1.0 if edge.value is None else float(edge.value)
    if not length >= 0:
        raise ProgramError(f"shortest paths: the value of {edge} is not a length of 0 or more")
    return length


class _Shorter(ComputeFunction):
    def compute(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        shortest = min(messages, default=vertex.value)
        is_source = self.get_superstep_number() == 1 and vertex.value == 0.0
        if shortest < vertex.value or is_source:
            self.set_new_vertex_value(shortest)
            for edge in self.get_edges():
                self.send_message_to(edge.target, shortest + edge.value)


class _Shortest(MessageCombiner):
    def combine_messages(self, messages: Iterable[Any]) -> Any:
        return min(messages)


class _Distance(GatherFunction):
    def gather(self, neighbor: Neighbor) -> Any:
        return neighbor.value + neighbor.edge_value


class _Minimum(SumFunction):
    def sum(self, arg0: Any, arg1: Any) -> Any:
        return min(arg0, arg1)


class _IfShorter(ApplyFunction):
    def apply(self, new_value: Any, current_value: Any) -> None:
        if new_value < current_value:
            self.set_result(new_value)
