"""The algorithms of Gelly equal networkx on random graphs, with one task and with several. In this process."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.link_analysis.hits_alg import _hits_python
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

from firesteel.dataset import ExecutionEnvironment
from firesteel.errors import ConfigurationError, JobFailedError
from firesteel.gelly import Graph
from firesteel.gelly.library import (
    HITS,
    AdamicAdar,
    AverageClusteringCoefficient,
    CommunityDetection,
    ConnectedComponents,
    GlobalClusteringCoefficient,
    GSAConnectedComponents,
    GSASingleSourceShortestPaths,
    JaccardIndex,
    LabelPropagation,
    LocalClusteringCoefficient,
    PageRank,
    SingleSourceShortestPaths,
    TriangleCount,
    TriangleListing,
)

pytestmark = pytest.mark.feature("GE-03")
few = settings(max_examples=20)
environments = st.sampled_from([1, 4]).map(
    lambda tasks: ExecutionEnvironment.create_collections_environment().set_parallelism(tasks)
)


@st.composite
def digraphs(draw: st.DrawFn) -> Any:
    """Sparse and dense graphs, in one piece or several, with loops, double edges and vertices alone; weighted."""
    size = draw(st.integers(1, 20))
    ends = st.integers(0, size - 1)
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(size))
    graph.add_weighted_edges_from(draw(st.lists(st.tuples(ends, ends, st.integers(0, 9)), max_size=3 * size)))
    return graph


@st.composite
def dense_digraphs(draw: st.DrawFn) -> Any:
    """Most of all edges, so that powers of the matrix converge soon; and one vertex that nothing leads to."""
    size = draw(st.integers(4, 12))
    missing = draw(st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=size))
    graph = nx.DiGraph([pair for pair in combinations(range(size), 2) if pair not in missing])
    graph.add_edges_from([(b, a) for a, b in combinations(range(size), 2) if (b, a) not in missing])
    graph.add_edge(size, 0)
    return graph


def environment(tasks: int) -> ExecutionEnvironment:
    return ExecutionEnvironment.create_collections_environment().set_parallelism(tasks)


def simple(graph: Any) -> Any:
    """Undirected, without loops and double edges."""
    plain = nx.Graph(graph.to_undirected())
    plain.remove_edges_from(list(nx.selfloop_edges(plain)))
    return plain


def in_gelly(graph: Any, env: ExecutionEnvironment) -> Graph:
    return Graph.from_networkx(graph, env, weight="weight").map_vertices(lambda vertex: None)


@pytest.mark.parametrize("algorithm", [ConnectedComponents, GSAConnectedComponents])
@few
@given(env=environments, graph=digraphs())
def test_connected_components(env: ExecutionEnvironment, graph: Any, algorithm: Any) -> None:
    expected = {vertex: min(part) for part in nx.weakly_connected_components(graph) for vertex in part}
    assert dict(in_gelly(graph, env).run(algorithm(len(graph) + 1)).collect()) == expected


@pytest.mark.parametrize("algorithm", [SingleSourceShortestPaths, GSASingleSourceShortestPaths])
@few
@given(env=environments, graph=digraphs())
def test_shortest_paths(env: ExecutionEnvironment, graph: Any, algorithm: Any) -> None:
    lengths = nx.single_source_dijkstra_path_length(graph, 0)
    expected = {vertex: lengths.get(vertex, math.inf) for vertex in graph}
    assert dict(in_gelly(graph, env).run(algorithm(0, len(graph) + 1)).collect()) == expected


def test_a_length_below_zero_is_named() -> None:
    graph = Graph.from_collection([(1, 2, -1.0)], environment(1))
    with pytest.raises(JobFailedError, match=r"value=-1\.0"):
        graph.run(SingleSourceShortestPaths(1, 2)).collect()


@few
@given(env=environments, graph=digraphs())
def test_page_rank(env: ExecutionEnvironment, graph: Any) -> None:
    graph = nx.DiGraph(graph)
    ranks = dict(in_gelly(graph, env).run(PageRank(0.2, 10)).collect())
    expected = _pagerank_python(graph, alpha=0.2, weight=None, tol=1e-12)
    assert ranks == pytest.approx(expected, abs=1e-6)
    assert sum(ranks.values()) == pytest.approx(1)


def test_page_rank_ends_when_ranks_do_not_change() -> None:
    ring = Graph.from_collection([(vertex, (vertex + 1) % 5) for vertex in range(5)], environment(2))
    found = ring.run(PageRank(0.85, convergence_threshold=0.001)).collect()
    assert dict(found) == pytest.approx(dict.fromkeys(range(5), 0.2))
    with pytest.raises(ConfigurationError, match="threshold"):
        PageRank(0.85)
    with pytest.raises(ConfigurationError, match="damping"):
        PageRank(1.5, 10)


@few
@given(env=environments, graph=dense_digraphs())
def test_hits(env: ExecutionEnvironment, graph: Any) -> None:
    results = in_gelly(graph, env).run(HITS(25)).collect()
    hubs, authorities = _hits_python(graph, tol=1e-12)
    for place, expected in ((1, hubs), (2, authorities)):
        assert sum(result[place] ** 2 for result in results) == pytest.approx(1)
        total = sum(result[place] for result in results)
        assert {result[0]: result[place] / total for result in results} == pytest.approx(expected, abs=1e-6)


def test_hits_ends_when_scores_do_not_change() -> None:
    results = Graph.from_collection([(1, 2), (3, 2)], environment(2)).run(HITS(convergence_threshold=1e-9)).collect()
    half = math.sqrt(0.5)
    assert {result[0]: result[1:] for result in results} == {
        1: pytest.approx((half, 0)),
        2: pytest.approx((0, 1)),
        3: pytest.approx((half, 0)),
    }


@few
@given(env=environments, graph=digraphs())
def test_label_propagation(env: ExecutionEnvironment, graph: Any) -> None:
    graph = simple(graph)
    labels = {vertex: vertex for vertex in graph}
    for _ in range(4):
        counts = {vertex: Counter(labels[other] for other in graph[vertex]) for vertex in graph}
        labels = {
            vertex: max(found, key=lambda label: (found[label], label)) if found else labels[vertex]
            for vertex, found in counts.items()
        }
    with_labels = Graph.from_networkx(graph, env).map_vertices(lambda vertex: vertex.id)
    assert dict(with_labels.run(LabelPropagation(4)).collect()) == labels


def test_label_propagation_finds_the_communities_of_networkx() -> None:
    graph = nx.caveman_graph(4, 6)
    found = Graph.from_networkx(graph, environment(2)).map_vertices(lambda vertex: vertex.id).run(LabelPropagation(5))
    groups: dict[int, set[int]] = {}
    for vertex, label in found.collect():
        groups.setdefault(label, set()).add(vertex)
    expected = nx.community.label_propagation_communities(graph)
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, expected))


@few
@given(env=environments, graph=digraphs())
def test_community_detection(env: ExecutionEnvironment, graph: Any) -> None:
    graph = simple(graph)
    expected = {vertex: (vertex, 1.0) for vertex in graph}
    for superstep in range(1, 5):
        before = dict(expected)
        for vertex in graph:
            offers = sorted(
                (before[other][0], before[other][1] * values["weight"]) for other, values in graph[vertex].items()
            )
            if not offers:
                continue
            totals = Counter[int]()
            for label, score in offers:
                totals[label] += score
            best = min(totals, key=lambda label: (-totals[label], label))
            lessened = 0.5 / superstep if best != before[vertex][0] else 0.0
            expected[vertex] = best, max(score for label, score in offers if label == best) - lessened
    directed = nx.DiGraph()
    directed.add_nodes_from(graph)
    directed.add_edges_from(graph.edges(data=True))
    labelled = in_gelly(directed, env).map_vertices(lambda vertex: vertex.id)
    found = labelled.run(CommunityDetection(4, 0.5))
    assert dict(found.get_vertices().collect()) == {vertex: label for vertex, (label, _) in expected.items()}


@few
@given(env=environments, graph=digraphs())
def test_triangles_and_clustering(env: ExecutionEnvironment, graph: Any) -> None:
    plain, own = simple(graph), in_gelly(graph, env)
    found = own.run(TriangleListing()).collect()
    assert sorted(found) == sorted(
        three for three in combinations(sorted(plain), 3) if plain.subgraph(three).number_of_edges() == 3
    )
    assert own.run(TriangleCount()).get_result() == sum(nx.triangles(plain).values()) // 3
    local = own.run(LocalClusteringCoefficient()).collect()
    assert {result.vertex_id: result.get_local_clustering_coefficient_score() for result in local} == pytest.approx(
        nx.clustering(plain)
    )
    assert own.run(GlobalClusteringCoefficient()).get_result() == pytest.approx(nx.transitivity(plain))
    assert own.run(AverageClusteringCoefficient()).execute() == pytest.approx(nx.average_clustering(plain))


@few
@given(env=environments, graph=digraphs())
def test_similarities(env: ExecutionEnvironment, graph: Any) -> None:
    plain, own = simple(graph), in_gelly(graph, env)
    pairs = [pair for pair in combinations(sorted(plain), 2) if set(plain[pair[0]]) & set(plain[pair[1]])]
    jaccard = {result[:2]: result.get_jaccard_index_score() for result in own.run(JaccardIndex()).collect()}
    assert jaccard == pytest.approx({(a, b): score for a, b, score in nx.jaccard_coefficient(plain, pairs)})
    adamic = {result[:2]: result.adamic_adar_score for result in own.run(AdamicAdar()).collect()}
    assert adamic == pytest.approx({(a, b): score for a, b, score in nx.adamic_adar_index(plain, pairs)})
    within = own.run(JaccardIndex().set_minimum_score(1, 3).set_maximum_score(1, 2)).collect()
    assert {result[:2] for result in within} == {pair for pair, score in jaccard.items() if 1 / 3 <= score <= 1 / 2}
