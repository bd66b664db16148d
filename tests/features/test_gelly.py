"""Graphs: where they come from, what becomes of them, and iterations on them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

from firesteel.dataset import ConvergenceCriterion, DataSet, ExecutionEnvironment, LongSumAggregator
from firesteel.errors import ConfigurationError, JobFailedError, MalformedRecordError
from firesteel.gelly import (
    Edge,
    EdgeDirection,
    EdgesFunction,
    EdgesFunctionWithVertexValue,
    Graph,
    InvalidVertexIdsValidator,
    NeighborsFunction,
    Triplet,
    Vertex,
    VertexJoinFunction,
    gsa,
    spargel,
)
from firesteel.gelly.generator import (
    CirculantGraph,
    CompleteGraph,
    CycleGraph,
    EmptyGraph,
    GridGraph,
    HypercubeGraph,
    PathGraph,
    RMatGraph,
    SingletonEdgeGraph,
    StarGraph,
)
from firesteel.gelly.library import ConnectedComponents, GSASingleSourceShortestPaths, PageRank, TriangleListing
from firesteel.gelly.pregel import ComputeFunction, MessageCombiner, VertexCentricConfiguration
from tests.features.executors import MakeBatchEnv, on_both, on_each

VERTICES = [Vertex(1, "one"), Vertex(2, "two"), Vertex(3, "three"), Vertex(4, "four")]
EDGES = [Edge(1, 2, 12), Edge(1, 3, 13), Edge(2, 3, 23), Edge(3, 1, 31)]


@pytest.fixture
def env(make_batch_env: MakeBatchEnv) -> ExecutionEnvironment:
    return make_batch_env()


@pytest.fixture
def graph(env: ExecutionEnvironment) -> Graph:
    return Graph.from_collection(VERTICES, EDGES, env)


def collected(*data: DataSet) -> list[list[Any]]:
    """The records of several data sets in one job, each sorted."""
    marked = [each.map(lambda record, place=place: (place, record)) for place, each in enumerate(data)]
    union = marked[0]
    for each in marked[1:]:
        union = union.union(each)
    found: list[list[Any]] = [[] for _ in data]
    for place, record in union.collect():
        found[place].append(record)
    return [sorted(records, key=repr) for records in found]


def ids(graph: Graph) -> tuple[DataSet, DataSet]:
    return graph.get_vertex_ids(), graph.get_edge_ids()


@pytest.mark.feature("GE-01")
def test_graphs_of_lists_and_data_sets(env: ExecutionEnvironment, graph: Graph) -> None:
    edges = env.from_elements((1, 2), (2, 3))
    of_edges = Graph.from_data_set(edges, env)
    with_values = Graph.from_collection([(1, 2, "a")], lambda number: number * 10, env)
    both = Graph.from_data_set(env.from_elements((1, "x")), env.from_collection([]))
    assert collected(
        graph.get_vertices(),
        graph.get_edges(),
        of_edges.get_vertices(),
        of_edges.get_edges(),
        with_values.get_vertices(),
        both.get_vertices(),
    ) == [
        sorted(VERTICES, key=repr),
        sorted(EDGES, key=repr),
        [Vertex(1), Vertex(2), Vertex(3)],
        [Edge(1, 2), Edge(2, 3)],
        [Vertex(1, 10), Vertex(2, 20)],
        [Vertex(1, "x")],
    ]
    assert (graph.number_of_vertices(), graph.number_of_edges()) == (4, 4)
    found = graph.get_vertices().filter(lambda vertex: vertex.value == "two").collect()
    assert [type(vertex) for vertex in found] == [Vertex] and found[0].get_id() == 2


def test_what_is_no_graph_is_said(env: ExecutionEnvironment, graph: Graph) -> None:
    with pytest.raises(MalformedRecordError, match="an edge is"):
        Graph.from_collection([(1, 2, 3, 4)], env)
    with pytest.raises(MalformedRecordError, match="a vertex is"):
        Graph.from_collection(["a"], [(1, 2)], env)
    with pytest.raises(ConfigurationError, match="the last argument is the environment"):
        Graph.from_collection([(1, 2)])
    with pytest.raises(ConfigurationError, match="expected a DataSet"):
        Graph.from_data_set([(1, 2)], env)
    with pytest.raises(ConfigurationError, match=r"EdgeDirection\.IN"):
        graph.reduce_on_edges(max, "in")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="expected a ComputeFunction"):
        graph.run_vertex_centric_iteration(lambda vertex, messages: None, None, 3)  # type: ignore[arg-type]
    with pytest.raises(JobFailedError, match="an edge is"):
        Graph.from_data_set(env.from_elements("ab")).get_edges().collect()


@on_both
def test_graphs_of_files(env: ExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "vertices").write_text("id;name\n1;one\n2;two\n")
    (tmp_path / "edges").write_text("# from,to,length\n1,2,0.5\n2,1,x\n")
    reader = Graph.from_csv_reader(tmp_path / "vertices", tmp_path / "edges", env)
    reader.field_delimiter_vertices(";").ignore_first_line_vertices()
    both = reader.ignore_comments_edges("#").ignore_invalid_lines_edges().types(int, str, float)
    alone = Graph.from_csv_reader(tmp_path / "edges", str, env).ignore_comments_edges("#").edge_types(str, str)
    assert collected(both.get_vertices(), both.get_edges(), alone.get_vertices(), alone.get_edges()) == [
        [(1, "one"), (2, "two")],
        [(1, 2, 0.5)],
        [("1", "1"), ("2", "2")],
        [("1", "2", "0.5"), ("2", "1", "x")],
    ]
    with pytest.raises(ConfigurationError, match="file of edges alone"):
        Graph.from_csv_reader("edges", env).ignore_first_line_vertices()


def test_networkx_and_back(env: ExecutionEnvironment, graph: Graph) -> None:
    found = graph.to_networkx()
    assert dict(found.nodes(data="value")) == dict(VERTICES)
    assert sorted(found.edges(data="weight")) == EDGES
    undirected = nx.Graph()
    undirected.add_edge("a", "b", weight=2)
    undirected.add_edge("a", "a", weight=3)
    again = Graph.from_networkx(undirected, env, weight="weight")
    assert collected(again.get_edges())[0] == [("a", "a", 3), ("a", "b", 2), ("b", "a", 2)]


@pytest.mark.feature("GE-01")
def test_values_ids_and_directions(graph: Graph) -> None:
    longer = graph.map_vertices(lambda vertex: len(vertex.value)).map_edges(lambda edge: edge.value - edge.source)
    translated = graph.translate_graph_ids(str).translate_vertex_values(str.upper).translate_edge_values(float)
    reverse, undirected = graph.reverse(), graph.get_undirected()
    values = dict(VERTICES)
    triplets = [Triplet(a, b, values[a], values[b], value) for a, b, value in EDGES]
    assert collected(
        longer.get_vertices(),
        longer.get_edges(),
        translated.get_vertices(),
        translated.get_edges(),
        reverse.get_edges(),
        undirected.get_edges(),
        graph.get_triplets(),
    ) == [
        [(1, 3), (2, 3), (3, 5), (4, 4)],
        [(1, 2, 11), (1, 3, 12), (2, 3, 21), (3, 1, 28)],
        [("1", "ONE"), ("2", "TWO"), ("3", "THREE"), ("4", "FOUR")],
        [("1", "2", 12.0), ("1", "3", 13.0), ("2", "3", 23.0), ("3", "1", 31.0)],
        sorted((edge.reverse() for edge in EDGES), key=repr),
        sorted([*EDGES, *(edge.reverse() for edge in EDGES)], key=repr),
        sorted(triplets, key=repr),
    ]


class Named(VertexJoinFunction):
    def vertex_join(self, vertex_value: Any, input_value: Any) -> Any:
        return f"{vertex_value} {input_value}"


@pytest.mark.feature("GE-01")
def test_joins_with_vertices_and_edges(env: ExecutionEnvironment, graph: Graph) -> None:
    pairs, triples = env.from_elements((1, 100), (3, 300), (9, 900)), env.from_elements((1, 3, 1), (9, 9, 9))
    assert collected(
        graph.join_with_vertices(pairs, Named()).get_vertices(),
        graph.join_with_edges(triples, lambda mine, other: mine + other).get_edges(),
        graph.join_with_edges_on_source(pairs, lambda mine, other: mine + other).get_edges(),
        graph.join_with_edges_on_target(pairs, lambda mine, other: mine + other).get_edges(),
    ) == [
        [(1, "one 100"), (2, "two"), (3, "three 300"), (4, "four")],
        [(1, 2, 12), (1, 3, 14), (2, 3, 23), (3, 1, 31)],
        [(1, 2, 112), (1, 3, 113), (2, 3, 23), (3, 1, 331)],
        [(1, 2, 12), (1, 3, 313), (2, 3, 323), (3, 1, 131)],
    ]


@pytest.mark.feature("GE-01")
def test_parts_of_graphs(graph: Graph) -> None:
    part = graph.subgraph(lambda vertex: vertex.id != 2, lambda edge: edge.value > 13)
    assert collected(
        *ids(part),
        *ids(graph.filter_on_vertices(lambda vertex: len(vertex.value) == 3)),
        *ids(graph.filter_on_edges(lambda edge: edge.target == 3)),
        graph.out_degrees(),
        graph.in_degrees(),
        graph.get_degrees(),
    ) == [
        [1, 3, 4],
        [(3, 1)],
        [1, 2],
        [(1, 2)],
        [1, 2, 3, 4],
        [(1, 3), (2, 3)],
        [(1, 2), (2, 1), (3, 1), (4, 0)],
        [(1, 1), (2, 1), (3, 2), (4, 0)],
        [(1, 3), (2, 2), (3, 3), (4, 0)],
    ]


@pytest.mark.feature("GE-01")
def test_adding_removing_and_sets_of_graphs(env: ExecutionEnvironment, graph: Graph) -> None:
    more = graph.add_vertex(Vertex(5, "five")).add_vertices([(1, "other"), (6, "six")])
    other = Graph.from_collection([(1, "uno"), (7, "sette")], [(1, 7, 17), (1, 2, 12)], env)
    assert collected(
        more.get_vertices_as_tuple2(),
        *ids(graph.add_edge((4, "x"), (8, "eight"), 48)),
        graph.add_edges([(4, 1, 41), (4, 9, 49)]).get_edge_ids(),
        *ids(graph.remove_vertices([(1, None), (9, None)])),
        graph.remove_edge(Edge(1, 3)).get_edge_ids(),
        graph.union(other).get_vertices_as_tuple2(),
        graph.union(other).get_edge_ids(),
        *ids(graph.difference(other)),
        *ids(graph.intersect(other)),
    ) == [
        [(1, "one"), (2, "two"), (3, "three"), (4, "four"), (5, "five"), (6, "six")],
        [1, 2, 3, 4, 8],
        [(1, 2), (1, 3), (2, 3), (3, 1), (4, 8)],
        [(1, 2), (1, 3), (2, 3), (3, 1), (4, 1)],
        [2, 3, 4],
        [(2, 3)],
        [(1, 2), (2, 3), (3, 1)],
        [(1, "one"), (2, "two"), (3, "three"), (4, "four"), (7, "sette")],
        [(1, 2), (1, 2), (1, 3), (1, 7), (2, 3), (3, 1)],
        [2, 3, 4],
        [(2, 3)],
        [1, 2],
        [(1, 2)],
    ]


class Largest(EdgesFunction):
    def iterate_edges(self, edges: Iterable[tuple[Any, Edge]]) -> Iterator[Any]:
        yield max((edge.value, own) for own, edge in edges)


class CountOf(EdgesFunctionWithVertexValue):
    def iterate_edges(self, vertex: Vertex, edges: Iterable[Edge], out: Any) -> None:  # type: ignore[override]
        out.collect((vertex.value, sum(1 for _ in edges)))


class Names(NeighborsFunction):
    def iterate_neighbors(self, neighbors: Iterable[tuple[Any, Edge, Vertex]]) -> Iterator[Any]:
        found = list(neighbors)
        yield found[0][0], sorted((edge.value, other.value) for _, edge, other in found)


@on_both
@pytest.mark.feature("GE-01")
def test_neighbourhoods(graph: Graph) -> None:
    def lone(vertex: Vertex, neighbors: Iterable[tuple[Edge, Vertex]]) -> Iterator[Any]:
        if not list(neighbors):
            yield vertex

    assert collected(
        graph.reduce_on_edges(max, EdgeDirection.OUT),
        graph.reduce_on_edges(max, EdgeDirection.ALL),
        graph.reduce_on_neighbors(max, EdgeDirection.IN),
        graph.group_reduce_on_edges(Largest(), EdgeDirection.IN),
        graph.group_reduce_on_edges(CountOf(), EdgeDirection.OUT),
        graph.group_reduce_on_neighbors(Names(), EdgeDirection.ALL),
        graph.group_reduce_on_neighbors(lone, EdgeDirection.ALL),
    ) == [
        [(1, 13), (2, 23), (3, 31)],
        [(1, 31), (2, 23), (3, 31)],
        [(1, "three"), (2, "one"), (3, "two")],
        [(12, 2), (23, 3), (31, 1)],
        [("four", 0), ("one", 2), ("three", 1), ("two", 1)],
        [
            (1, [(12, "two"), (13, "three"), (31, "three")]),
            (2, [(12, "one"), (23, "three")]),
            (3, [(13, "one"), (23, "two"), (31, "one")]),
        ],
        [(4, "four")],
    ]


def test_validation(env: ExecutionEnvironment, graph: Graph) -> None:
    assert graph.validate(InvalidVertexIdsValidator())
    assert not Graph.from_collection(VERTICES, [*EDGES, (1, 9, 0)], env).validate(InvalidVertexIdsValidator())


# --- iterations -------------------------------------------------------------------------------------


class Hops(ComputeFunction):
    """The number of edges from the vertices of a broadcast set; counts messages, and knows the number of vertices."""

    def pre_superstep(self) -> None:
        self.sources = set(self.get_broadcast_set("sources"))
        self.received = self.get_iteration_aggregator("messages")

    def compute(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        found = list(messages)
        self.received.aggregate(len(found))
        if self.get_superstep_number() == 1 and vertex.id in self.sources:
            found = [0]
        if found and (vertex.value is None or min(found) < vertex.value[0]):
            so_far = self.get_previous_iteration_aggregate("messages")
            self.set_new_vertex_value((min(found), so_far, self.get_number_of_vertices()))
            for edge in self.get_edges():
                self.send_message_to(edge.target, min(found) + 1)
            self.send_message_to("nobody", 0)


class Fewest(MessageCombiner):
    def combine_messages(self, messages: Iterable[Any]) -> None:
        self.send_combined_message(min(messages))


class AfterThree(ConvergenceCriterion):
    def is_converged(self, iteration: int, value: Any) -> bool:
        return iteration == 3


@pytest.mark.feature("GE-02")
@on_each(("combiner", "messages"), [(None, 2), (Fewest(), 1)], on_spark=[(Fewest(), 1)])
def test_a_vertex_centric_iteration(env: ExecutionEnvironment, combiner: Any, messages: int) -> None:
    edges = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6), (6, 7)]
    parameters = VertexCentricConfiguration()
    received = LongSumAggregator()
    parameters.register_aggregation_convergence_criterion("messages", received, AfterThree())
    parameters.add_broadcast_set("sources", env.from_elements(1))
    parameters.set_opt_num_vertices(True)
    result = Graph.from_collection(edges, env).run_vertex_centric_iteration(Hops(), combiner, 10, parameters)
    assert collected(result.get_vertices())[0] == [
        (1, (0, None, 7)),
        (2, (1, 0, 7)),
        (3, (1, 0, 7)),
        (4, (2, 2, 7)),
        (5, None),  # the criterion ended the iteration
        (6, None),
        (7, None),
    ]
    assert received.get_aggregate() == messages  # to vertex 4, in the last superstep


class SendDegrees(spargel.ScatterFunction):
    def send_messages(self, vertex: Vertex) -> None:
        self.send_message_to_all_neighbors((self.get_in_degree(), self.get_out_degree(), vertex.id))


class TakeDegrees(spargel.GatherFunction):
    def open(self, runtime_context: Any) -> None:
        self.factor = 0

    def pre_superstep(self) -> None:
        (self.factor,) = self.get_broadcast_set("factor")

    def update_vertex(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        self.get_iteration_aggregator("updates").aggregate(1)
        self.set_new_vertex_value((self.get_out_degree() * self.factor, sorted(messages)))


@pytest.mark.feature("GE-02")
@on_each("direction", list(EdgeDirection), on_spark=[EdgeDirection.ALL])
def test_a_scatter_gather_iteration(env: ExecutionEnvironment, direction: EdgeDirection) -> None:
    edges = [(1, 2), (1, 3), (2, 3)]
    parameters = spargel.ScatterGatherConfiguration()
    parameters.set_direction(direction)
    parameters.set_opt_degrees(True)
    updates = LongSumAggregator()
    parameters.register_aggregator("updates", updates)
    parameters.add_broadcast_set_for_gather_function("factor", env.from_elements(10))
    graph = Graph.from_collection(edges, env)
    result = graph.run_scatter_gather_iteration(SendDegrees(), TakeDegrees(), 1, parameters)
    degrees = {1: (0, 2, 1), 2: (1, 1, 2), 3: (2, 0, 3)}
    forward, backward = {2: [1], 3: [1, 2]}, {1: [2, 3], 2: [3]}
    senders: Counter[tuple[int, int]] = Counter()
    for way, wanted in ((forward, EdgeDirection.OUT), (backward, EdgeDirection.IN)):
        if direction in (wanted, EdgeDirection.ALL):
            senders.update((receiver, sender) for receiver, found in way.items() for sender in found)
    expected = {}
    for vertex in degrees:
        messages = sorted(degrees[sender] for receiver, sender in senders if receiver == vertex)
        expected[vertex] = (degrees[vertex][1] * 10, messages) if messages else None
    assert dict(result.get_vertices().collect()) == expected
    assert updates.get_aggregate() == sum(value is not None for value in expected.values())


class Nowhere(spargel.ScatterFunction):
    def send_messages(self, vertex: Vertex) -> None:
        self.send_message_to("nobody", 1)


class Nothing(spargel.GatherFunction):
    def update_vertex(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        pass


@pytest.mark.parametrize(
    ("scatter", "gather", "said"),
    [
        (Nowhere(), Nothing(), "sent a message to 'nobody', but there is no vertex"),
        (SendDegrees(), Nothing(), r"set_opt_degrees\(True\)"),
        (Nowhere(), TakeDegrees(), "'factor'.*configuration of the iteration"),
    ],
)
def test_what_iterations_were_not_told(env: ExecutionEnvironment, scatter: Any, gather: Any, said: str) -> None:
    graph = Graph.from_collection([(1, 2)], env)
    with pytest.raises(JobFailedError, match=said):
        graph.run_scatter_gather_iteration(scatter, gather, 1).get_vertices().collect()


class Offer(gsa.GatherFunction):
    def gather(self, neighbor: gsa.Neighbor) -> Any:
        return neighbor.get_neighbor_value() * neighbor.get_edge_value()


class Total(gsa.SumFunction):
    def sum(self, arg0: Any, arg1: Any) -> Any:
        self.get_iteration_aggregator("sums").aggregate(1)
        return arg0 + arg1


class Add(gsa.ApplyFunction):
    def apply(self, new_value: Any, current_value: Any) -> None:
        (bonus,) = self.get_broadcast_set("bonus")
        before = self.get_previous_iteration_aggregate("sums")
        self.set_result(new_value + current_value + bonus + (before or 0))


@on_both
@pytest.mark.feature("GE-02")
def test_a_gather_sum_apply_iteration(env: ExecutionEnvironment) -> None:
    graph = Graph.from_collection([(1, 1), (2, 10), (3, 100)], [(1, 3, 2), (2, 3, 3), (3, 1, 1)], env)
    parameters = gsa.GSAConfiguration()
    parameters.register_aggregator("sums", LongSumAggregator())
    parameters.add_broadcast_set_for_apply_function("bonus", env.from_elements(1000))
    result = graph.run_gather_sum_apply_iteration(Offer(), Total(), Add(), 2, parameters)
    # first 3 gets 2*1 + 3*10, and 1 gets 100; then those that have changed are gathered: 3 gets 2*1101, 1 gets 1132
    one, three = 1 + 100 + 1000, 100 + 32 + 1000
    expected = {1: one + three + 1000 + 1, 2: 10, 3: three + 2 * one + 1000 + 1}
    assert dict(result.get_vertices().collect()) == expected


class WhereItIs(ComputeFunction):
    """The number of tasks, and the lengths of the walks that have come to a vertex."""

    def compute(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        tasks = self.get_runtime_context().get_number_of_parallel_subtasks()
        self.set_new_vertex_value((tasks, sorted(messages)))
        if self.get_superstep_number() < 3:
            for edge in self.get_edges():
                self.send_message_to(edge.target, self.get_superstep_number() + edge.value)


def test_edges_that_do_not_fit_into_memory_are_divided_among_more_tasks(make_batch_env: MakeBatchEnv) -> None:
    edges = [(number, number * step % 97, step) for number in range(97) for step in (2, 3)]
    found = []
    for memory in ("1 mb", "300 bytes"):
        graph = Graph.from_collection(edges, make_batch_env(2, {"firesteel.dataset.memory": memory}))
        result = graph.run_vertex_centric_iteration(WhereItIs(), None, 9).get_vertices()
        spread = result.map_partition(lambda records: [list(records)]).collect()
        assert len(spread) == 2 and all(spread)
        values = {vertex.id: vertex.value for part in spread for vertex in part}
        found.append(({tasks for tasks, _ in values.values()}, {key: walks for key, (_, walks) in values.items()}))
    (few, expected), (many, divided) = found
    assert few == {2} and min(many) > 2
    assert divided == expected and all(len(walks) == 2 for walks in expected.values())


class Begun(spargel.ScatterFunction):
    """Counts its supersteps: each is begun once per task, whether or not there is something to send in it."""

    def pre_superstep(self) -> None:
        self.get_runtime_context().get_int_counter("begun").add(1)

    def send_messages(self, vertex: Vertex) -> None:
        self.send_message_to_all_neighbors(vertex.value)


class Larger(spargel.GatherFunction):
    def update_vertex(self, vertex: Vertex, messages: Iterable[Any]) -> None:
        if max(messages) > vertex.value:
            self.set_new_vertex_value(max(messages))


def test_a_superstep_that_does_not_take_place_is_not_begun(env: ExecutionEnvironment) -> None:
    graph = Graph.from_collection([(1, 5), (2, 0), (3, 0)], [(1, 2), (2, 3), (3, 1)], env)
    result = graph.run_scatter_gather_iteration(Begun(), Larger(), 10)
    assert dict(result.get_vertices().collect()) == {1: 5, 2: 5, 3: 5}
    last = env.get_last_job_execution_result()
    # 5 comes to 2, then to 3, then back to 1, which does not change: three supersteps in two tasks
    assert last is not None and last.get_accumulator_result("begun") == 3 * 2


@pytest.mark.feature("GE-03")
@pytest.mark.parametrize("executor", ["spark"], indirect=True)
def test_algorithms_of_all_kinds_on_spark(make_batch_env: MakeBatchEnv) -> None:
    plain = nx.disjoint_union(nx.gnp_random_graph(12, 0.5, seed=1), nx.complete_graph(4))
    graph = Graph.from_networkx(plain, make_batch_env(2), weight="weight").map_vertices(lambda vertex: vertex.id)
    components = {vertex: min(part) for part in nx.connected_components(plain) for vertex in part}
    steps = nx.single_source_shortest_path_length(plain, 0)
    found = collected(
        graph.run(ConnectedComponents(50)),
        graph.run(GSASingleSourceShortestPaths(0, 50)),
        graph.run(PageRank(0.05, 4)),
        graph.run(TriangleListing()),
    )
    assert dict(found[0]) == components and len(set(components.values())) == 2
    assert dict(found[1]) == {vertex: steps.get(vertex, math.inf) for vertex in plain}
    expected = _pagerank_python(plain.to_directed(), alpha=0.05, weight=None, tol=1e-12)
    assert dict(found[2]) == pytest.approx(expected, abs=1e-6)
    assert len(found[3]) == sum(nx.triangles(plain).values()) // 3


# --- generated graphs -------------------------------------------------------------------------------


def test_generated_graphs_are_those_of_networkx(env: ExecutionEnvironment) -> None:
    grid = GridGraph(env).add_dimension(3, False).add_dimension(4, True)
    torus = nx.cartesian_product(nx.path_graph(3), nx.cycle_graph(4))
    pairs = nx.disjoint_union_all([nx.path_graph(2)] * 3)
    cases = [
        (CompleteGraph(env, 5), nx.complete_graph(5)),
        (CycleGraph(env, 6), nx.cycle_graph(6)),
        (PathGraph(env, 4), nx.path_graph(4)),
        (StarGraph(env, 5), nx.star_graph(4)),
        (EmptyGraph(env, 3), nx.empty_graph(3)),
        (SingletonEdgeGraph(env, 3), pairs),
        (HypercubeGraph(env, 3), nx.relabel_nodes(nx.hypercube_graph(3), lambda bits: int("".join(map(str, bits)), 2))),
        (CirculantGraph(env, 9).add_range(2, 2), nx.circulant_graph(9, [2, 3])),
        (grid, nx.relabel_nodes(torus, lambda place: place[0] * 4 + place[1])),
    ]
    found = collected(*(each for generator, _ in cases for each in ids(generator.generate())))
    for (generator, expected), vertices, edges in zip(cases, found[::2], found[1::2]):
        assert sorted(vertices) == sorted(expected), generator
        assert sorted(edges) == sorted(expected.to_directed().edges), generator


def test_a_random_graph_is_the_same_for_a_seed_with_any_parallelism(env: ExecutionEnvironment) -> None:
    graphs = [RMatGraph(env, 7, 100, 500).set_parallelism(tasks).generate() for tasks in (1, 3)]
    other = RMatGraph(env, 8, 100, 500).generate()
    one, two, three = collected(*(graph.get_edge_ids() for graph in (*graphs, other)))
    assert one == two and one != three and len(one) == 500
    assert max(max(edge) for edge in one) < 100
    busiest = Counter(source for source, _ in one).most_common(1)[0][1]
    assert busiest > 3 * 500 / 100  # skewed, as the constants say
    with pytest.raises(ConfigurationError, match="at least 2"):
        CycleGraph(env, 1)
