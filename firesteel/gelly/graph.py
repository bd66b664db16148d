"""Graphs on data sets: where they come from, and what runs on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from firesteel.dataset import DataSet, ExecutionEnvironment
from firesteel.errors import ConfigurationError
from firesteel.gelly import gsa, pregel, spargel, steps
from firesteel.gelly.base import data_set, edge_set, vertex_set
from firesteel.gelly.configuration import GSAConfiguration, ScatterGatherConfiguration, VertexCentricConfiguration
from firesteel.gelly.csv import GraphCsvReader
from firesteel.gelly.mutations import Mutations
from firesteel.gelly.neighborhoods import Neighborhoods
from firesteel.gelly.records import as_edge, as_vertex
from firesteel.gelly.transformations import Transformations
from firesteel.model.functions.adapt import as_map_function

__all__ = ["Graph", "GraphAlgorithm", "GraphAnalytic", "GraphValidator", "InvalidVertexIdsValidator"]


class Graph(Transformations, Mutations, Neighborhoods):
    """Vertices with values, and directed edges with values between them, both of them data sets.

    ::

        env = ExecutionEnvironment.get_execution_environment()
        graph = Graph.from_collection([Edge(1, 2, 0.5), Edge(2, 3, 1.5)], env)
        graph.run(ConnectedComponents(10)).collect()
    """

    # --- where graphs come from ---------------------------------------------------------------------

    @staticmethod
    def from_collection(*arguments: Any) -> Graph:
        """A graph of lists: ``(vertices, edges, env)``, ``(edges, env)`` or ``(edges, vertex_value_initializer, env)``.

        Vertices are :class:`Vertex` or ``(id, value)``, edges :class:`Edge`, ``(source, target, value)`` or
        ``(source, target)``. Without vertices they are those that edges name; their value is what the function makes
        of the id, or None.
        """
        *parts, context = arguments or (None,)
        if not isinstance(context, ExecutionEnvironment):
            raise ConfigurationError(f"from_collection: the last argument is the environment, got {context!r:.100}")
        sets = [part if _is_initializer(part) else _listed(part, "from_collection") for part in parts]
        converted = [
            part if _is_initializer(part) else context.from_collection(map(as_edge if last else as_vertex, part))
            for part, last in zip(sets, _which_are_edges(sets))
        ]
        return _assembled(converted, "from_collection")

    @staticmethod
    def from_data_set(*arguments: Any) -> Graph:
        """A graph of data sets: ``(vertices, edges)``, ``(edges,)`` or ``(edges, vertex_value_initializer)``.

        The environment may follow, as in Flink; it is that of the data sets.
        """
        parts = _without_context(arguments)
        sets = [part if _is_initializer(part) else data_set(part, "from_data_set") for part in parts]
        converted = [
            part if _is_initializer(part) else (edge_set if last else vertex_set)(part)
            for part, last in zip(sets, _which_are_edges(sets))
        ]
        return _assembled(converted, "from_data_set")

    @staticmethod
    def from_tuple_data_set(*arguments: Any) -> Graph:
        """Flink's name for :meth:`from_data_set` with tuples instead of vertices and edges; both will do in either."""
        return Graph.from_data_set(*arguments)

    @staticmethod
    def from_tuple2_data_set(*arguments: Any) -> Graph:
        """A graph of a data set of pairs: edges without values."""
        return Graph.from_data_set(*arguments)

    @staticmethod
    def from_csv_reader(*arguments: Any) -> GraphCsvReader:
        """A graph of files: ``(vertices_path, edges_path, env)``, ``(edges_path, env)`` or
        ``(edges_path, vertex_value_initializer, env)``. Say what is in them with ``types`` and the like.
        """
        *parts, context = arguments or (None,)
        if not isinstance(context, ExecutionEnvironment):
            raise ConfigurationError(f"from_csv_reader: the last argument is the environment, got {context!r:.100}")
        initializer = next((part for part in parts if _is_initializer(part)), None)
        paths = [str(part) for part in parts if not _is_initializer(part)]
        if len(paths) not in (1, 2) or (initializer is not None and len(paths) == 2):
            raise ConfigurationError(
                "from_csv_reader: expected (vertices_path, edges_path, env), (edges_path, env) or "
                f"(edges_path, vertex_value_initializer, env); got {len(arguments)} arguments"
            )
        return GraphCsvReader(paths, initializer, context, Graph.from_data_set)

    @staticmethod
    def from_networkx(graph: Any, context: ExecutionEnvironment, weight: str | None = None) -> Graph:
        """A networkx graph. Vertex and edge values are the dictionaries of attributes that it holds for them.

        :param graph: An undirected one gives each edge in both directions.
        :param weight: Take this attribute of edges as their value instead; None where it is missing.
        """
        vertices = [(node, dict(values)) for node, values in graph.nodes(data=True)]
        edges = [
            (a, b, dict(values) if weight is None else values.get(weight)) for a, b, values in graph.edges(data=True)
        ]
        if not graph.is_directed():
            edges += [(b, a, value) for a, b, value in edges if a != b]
        return Graph(context.from_collection(vertices), context.from_collection(edges))

    def to_networkx(self, weight: str = "weight") -> Any:
        """A networkx MultiDiGraph of all vertices (attribute ``value``) and edges. Runs the program.

        :param weight: The attribute that holds the value of an edge; a dictionary is taken as attributes.
        """
        import networkx

        result = networkx.MultiDiGraph()
        for vertex, value in self._vertices.collect():
            result.add_node(vertex, **(value if isinstance(value, dict) else {"value": value}))
        for source, target, value in self._edges.collect():
            result.add_edge(source, target, **(value if isinstance(value, dict) else {weight: value}))
        return result

    # --- iterations ---------------------------------------------------------------------------------

    def run_vertex_centric_iteration(
        self,
        compute_function: pregel.ComputeFunction,
        combiner: pregel.MessageCombiner | None,
        maximum_number_of_iterations: int,
        parameters: VertexCentricConfiguration | None = None,
    ) -> Graph:
        """Pregel: each vertex gets messages, changes its value and sends messages, until there are none.

        :param combiner: Makes one message of several for a vertex, before they are sent; None to send all.
        """
        found = pregel.iterate(
            self._vertices, self._edges, compute_function, combiner, maximum_number_of_iterations, parameters
        )
        return self._with(vertices=found)

    def run_scatter_gather_iteration(
        self,
        scatter_function: spargel.ScatterFunction,
        gather_function: spargel.GatherFunction,
        maximum_number_of_iterations: int,
        parameters: ScatterGatherConfiguration | None = None,
    ) -> Graph:
        """Vertices that have changed send messages (scatter); those that get messages may change (gather)."""
        found = spargel.iterate(
            self._vertices, self._edges, scatter_function, gather_function, maximum_number_of_iterations, parameters
        )
        return self._with(vertices=found)

    def run_gather_sum_apply_iteration(
        self,
        gather_function: gsa.GatherFunction,
        sum_function: gsa.SumFunction,
        apply_function: gsa.ApplyFunction,
        maximum_number_of_iterations: int,
        parameters: GSAConfiguration | None = None,
    ) -> Graph:
        """A value for each edge of a changed vertex (gather), summed up for its neighbour, which may change (apply)."""
        functions = (gather_function, sum_function, apply_function)
        found = gsa.iterate(self._vertices, self._edges, functions, maximum_number_of_iterations, parameters)
        return self._with(vertices=found)

    # --- algorithms ---------------------------------------------------------------------------------

    def run(self, algorithm: Any) -> Any:
        """Apply a :class:`GraphAlgorithm` and get what it makes, or a :class:`GraphAnalytic` to ask for its result."""
        if not isinstance(algorithm, (GraphAlgorithm, GraphAnalytic)):
            raise ConfigurationError(f"run: expected a GraphAlgorithm or a GraphAnalytic, got {algorithm!r:.100}")
        return algorithm.run(self)

    def validate(self, validator: GraphValidator) -> bool:
        """Whether the graph is as the validator wants it. Runs the program."""
        return validator.validate(self)


class GraphAlgorithm(ABC):
    """Makes a graph or a data set out of a graph: ``graph.run(algorithm)``."""

    @abstractmethod
    def run(self, graph: Graph) -> Any:
        """What becomes of the graph. Builds the program; nothing runs yet."""


class GraphAnalytic(ABC):
    """Makes a single result out of a graph: ``graph.run(analytic).get_result()``."""

    @abstractmethod
    def run(self, graph: Graph) -> GraphAnalytic:
        """Take the graph; returns itself."""

    @abstractmethod
    def get_result(self) -> Any:
        """The result. Runs the program."""

    def execute(self) -> Any:
        """The result. Runs the program."""
        return self.get_result()


class GraphValidator(ABC):
    """Says whether a graph is as it should be."""

    @abstractmethod
    def validate(self, graph: Graph) -> bool:
        """Whether it is. Runs the program."""


class InvalidVertexIdsValidator(GraphValidator):
    """Whether the vertices that edges name are all there."""

    def validate(self, graph: Graph) -> bool:
        """Whether they are."""
        named = graph.get_edges_as_tuple3().map_partition(steps.ends_once).distinct(0)
        missing = named.co_group(graph.get_vertices_as_tuple2()).where(0).equal_to(0).with_(steps.only_first)
        return missing.count() == 0


def _assembled(parts: list[Any], where: str) -> Graph:
    if len(parts) == 2 and isinstance(parts[0], DataSet) and isinstance(parts[1], DataSet):
        return Graph(parts[0], parts[1])
    if not parts or len(parts) > 2 or not isinstance(parts[0], DataSet):
        raise ConfigurationError(
            f"{where}: expected vertices and edges, edges alone, or edges and a function from id to vertex value"
        )
    edges = parts[0]
    named = edges.map_partition(steps.ends_once).distinct(0)
    if len(parts) == 1:
        vertices = named.map(lambda found: (found[0], None)).with_forwarded_fields("f0")
    else:
        vertices = named.map(steps.InitialValue(as_map_function(parts[1], where)))
    return Graph(vertices.name("Vertices of edges"), edges)


def _is_initializer(part: Any) -> bool:
    return callable(part) or (hasattr(part, "map") and not isinstance(part, DataSet))


def _which_are_edges(parts: list[Any]) -> list[bool]:
    """Edges are the last of the sets."""
    sets = [place for place, part in enumerate(parts) if not _is_initializer(part)]
    return [bool(sets) and place == sets[-1] for place in range(len(parts))]


def _listed(part: Any, where: str) -> list[Any]:
    if isinstance(part, (DataSet, str, bytes)) or not isinstance(part, Iterable):
        raise ConfigurationError(f"{where}: expected lists of vertices and edges, got {part!r:.100}")
    return list(part)


def _without_context(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return arguments[:-1] if arguments and isinstance(arguments[-1], ExecutionEnvironment) else arguments
