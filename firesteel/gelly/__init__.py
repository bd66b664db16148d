"""Graphs in the names of Flink's Gelly: vertices and edges are data sets, algorithms are iterations over them.

Names are those of the Java API in snake_case. Iterations are in :mod:`~firesteel.gelly.pregel`,
:mod:`~firesteel.gelly.spargel` and :mod:`~firesteel.gelly.gsa`, algorithms in :mod:`~firesteel.gelly.library`,
generated graphs in :mod:`~firesteel.gelly.generator`.
"""

from firesteel.gelly.csv import GraphCsvReader
from firesteel.gelly.functions import (
    EdgeJoinFunction,
    EdgesFunction,
    EdgesFunctionWithVertexValue,
    NeighborsFunction,
    NeighborsFunctionWithVertexValue,
    ReduceEdgesFunction,
    ReduceNeighborsFunction,
    TranslateFunction,
    VertexJoinFunction,
)
from firesteel.gelly.graph import Graph, GraphAlgorithm, GraphAnalytic, GraphValidator, InvalidVertexIdsValidator
from firesteel.gelly.records import Edge, EdgeDirection, Triplet, Vertex

__all__ = [
    "Edge",
    "EdgeDirection",
    "EdgeJoinFunction",
    "EdgesFunction",
    "EdgesFunctionWithVertexValue",
    "Graph",
    "GraphAlgorithm",
    "GraphAnalytic",
    "GraphCsvReader",
    "GraphValidator",
    "InvalidVertexIdsValidator",
    "NeighborsFunction",
    "NeighborsFunctionWithVertexValue",
    "ReduceEdgesFunction",
    "ReduceNeighborsFunction",
    "TranslateFunction",
    "Triplet",
    "Vertex",
    "VertexJoinFunction",
]
