"""Groups of vertices that have more to do with each other than with others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from firesteel.dataset import DataSet
from firesteel.gelly.graph import Graph, GraphAlgorithm
from firesteel.gelly.records import Vertex
from firesteel.gelly.spargel import GatherFunction, ScatterFunction

__all__ = ["CommunityDetection", "LabelPropagation"]


class LabelPropagation(GraphAlgorithm):
    """Each vertex takes the label that most of the vertices with an edge to it have; the largest of several.

    Labels are the values of vertices, which are compared. Call ``get_undirected()`` before, if edges go one way.
    """

    def __init__(self, max_iterations: int) -> None:
        self._max_iterations = max_iterations

    def run(self, graph: Graph) -> DataSet:
        """The vertices, with the label as their value."""
        functions = (_SendLabel(), _MostFrequent())
        return graph.run_scatter_gather_iteration(*functions, self._max_iterations).get_vertices()


class _SendLabel(ScatterFunction):
    def send_messages(self, vertex: Vertex) -> None:
        self.send_message_to_all_neighbors(vertex.value)


class _MostFrequent(GatherFunction):
    def update_vertex(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        counts = Counter(messages)
        # also if it is the same: a vertex that does not change would be silent in the next superstep
        self.set_new_vertex_value(max(counts, key=lambda label: (counts[label], label)))


class CommunityDetection(GraphAlgorithm):
    """Each vertex takes the label with the highest score around it, and scores lessen with the distance.

    Vertices have labels that can be compared as their values, edges have weights (1 if the value is None). The
    direction of edges does not matter. After Leung, Hui, Liò and Crowcroft, *Towards real-time community detection in
    large networks*.

    :param delta: By how much the score of a label lessens when a vertex takes it over, divided by the superstep.
    """

    def __init__(self, max_iterations: int, delta: float) -> None:
        self._max_iterations = max_iterations
        self._delta = delta

    def run(self, graph: Graph) -> Graph:
        """The graph, with the label as the value of vertices."""
        scored = graph.map_vertices(lambda vertex: (vertex.value, 1.0)).get_undirected()
        functions = (_SendScore(), _HighestScore(self._delta))
        found = scored.run_scatter_gather_iteration(*functions, self._max_iterations)
        labels = found.map_vertices(lambda vertex: vertex.value[0])
        return Graph(labels.get_vertices_as_tuple2(), graph.get_edges_as_tuple3())


class _SendScore(ScatterFunction):
    def send_messages(self, vertex: Vertex) -> None:
        label, score = vertex.value
        for edge in self.get_edges():
            self.send_message_to(edge.target, (label, score * (1.0 if edge.value is None else edge.value)))


class _HighestScore(GatherFunction):
    def __init__(self, delta: float) -> None:
        self._delta = delta

    def update_vertex(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        totals: dict[Any, float] = {}
        highest: dict[Any, float] = {}
        for label, score in sorted(messages):  # in order: sums of floats depend on it
            totals[label] = totals.get(label, 0.0) + score
            highest[label] = max(highest.get(label, score), score)
        best = max(totals, key=lambda label: totals[label])  # the smallest of several, as labels are in order
        score = highest[best]
        if best != vertex.value[0]:
            score -= self._delta / self.get_superstep_number()
        self.set_new_vertex_value((best, score))
