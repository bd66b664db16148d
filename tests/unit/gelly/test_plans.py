"""What graph programs cost: exchanges in a superstep; and what is refused when they are built. Nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.dataset import DataSet, ExecutionEnvironment
from firesteel.dataset.plan.explain import exchanges
from firesteel.dataset.plan.nodes import BulkIterationNode, MessageIterationNode
from firesteel.dataset.plan.optimizer import Step, optimize
from firesteel.errors import ConfigurationError
from firesteel.execution.dataset.in_process import LocalRdd
from firesteel.gelly import EdgeDirection, Graph
from firesteel.gelly.configuration import GSAConfiguration, ScatterGatherConfiguration, VertexCentricConfiguration
from firesteel.gelly.generator import CirculantGraph, GridGraph, RMatGraph
from firesteel.gelly.library import (
    HITS,
    AdamicAdar,
    ConnectedComponents,
    GSAConnectedComponents,
    JaccardIndex,
    LabelPropagation,
    PageRank,
)


@pytest.fixture
def env() -> ExecutionEnvironment:
    return ExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def graph(env: ExecutionEnvironment) -> Graph:
    return Graph.from_collection([(1, 2), (2, 3)], env)


def iteration_of(result: DataSet) -> Step:
    steps = optimize([result.node], 2).values()
    (found,) = (step for step in steps if isinstance(step.node, (BulkIterationNode, MessageIterationNode)))
    return found


def test_a_superstep_of_hits_exchanges_scores_twice_and_nothing_else(graph: Graph) -> None:
    assert exchanges(iteration_of(graph.run(HITS(10))).inner.values()) == 2


@pytest.mark.feature("GE-02")
@pytest.mark.parametrize(
    ("algorithm", "supersteps"),
    [(ConnectedComponents(9), 8), (GSAConnectedComponents(9), 8), (LabelPropagation(9), 7), (PageRank(0.5, 4), 5)],
    ids=lambda value: type(value).__name__,
)
def test_a_superstep_is_one_exchange(algorithm: Any, supersteps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vertices of edges are found once, and edges brought to them; then messages are, in each superstep."""
    made = []
    deal_out = LocalRdd.partitionBy

    def counted(rdd: LocalRdd, *arguments: Any) -> LocalRdd:
        made.append(arguments)
        return deal_out(rdd, *arguments)

    monkeypatch.setattr(LocalRdd, "partitionBy", counted)
    local = ExecutionEnvironment.create_collections_environment().set_parallelism(2)
    graph = Graph.from_collection([(number, number + 1) for number in range(6)], lambda number: number, local)
    graph.run(algorithm).collect()
    assert len(made) == 2 + supersteps


def test_an_iteration_has_the_name_and_parallelism_of_its_configuration(graph: Graph) -> None:
    from firesteel.gelly.library.paths import _Shorter

    parameters = VertexCentricConfiguration()
    parameters.set_name("who is with whom")
    parameters.set_parallelism(3)
    step = iteration_of(graph.run_vertex_centric_iteration(_Shorter(), None, 5, parameters).get_vertices())
    assert (step.node.name, step.tasks) == ("who is with whom", 3)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda graph: graph.run(ConnectedComponents), "GraphAlgorithm or a GraphAnalytic"),
        (lambda graph: graph.run(ConnectedComponents(0)), "whole number of at least 1"),
        (lambda graph: graph.union("other"), "expected a Graph"),
        (lambda graph: graph.add_vertices((1, "one")), "expected a list or a data set"),
        (lambda graph: graph.map_vertices(3), "map_vertices"),
        (lambda graph: graph.translate_graph_ids(None), "translate_graph_ids"),
        (lambda graph: graph.join_with_vertices([(1, 2)], max), "join_with_vertices: expected a DataSet"),
        (lambda graph: graph.group_reduce_on_edges(lambda vertex: None, EdgeDirection.IN), "EdgesFunction"),
        (lambda graph: VertexCentricConfiguration().register_aggregator("sum", 3), "expected an Aggregator"),
        (lambda graph: ScatterGatherConfiguration().set_direction("in"), "set_direction"),
        (lambda graph: GSAConfiguration().set_parallelism(0), "set_parallelism"),
        (
            lambda graph: GSAConfiguration().add_broadcast_set_for_sum_function("x", [1]),
            "for_sum_function: expected a DataSet",
        ),
        (lambda graph: JaccardIndex().set_minimum_score(3, 2), "a part from 0 to 1"),
        (lambda graph: AdamicAdar().set_minimum_score(-1), "0 or more"),
        (lambda graph: HITS(), "the most iterations, or a threshold"),
        (lambda graph: GridGraph(graph.get_context()).generate(), "add_dimension"),
        (lambda graph: CirculantGraph(graph.get_context(), 5).add_range(3, 1), "half the ring"),
        (lambda graph: RMatGraph(graph.get_context(), 1, 9, 9).set_constants(0.5, 0.5, 0.5), "three parts of 1"),
        (lambda graph: GridGraph("env"), "first argument is the environment"),
    ],
)
def test_what_is_wrong_is_said_when_the_program_is_built(
    graph: Graph, wrong: Callable[[Graph], Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        wrong(graph)
