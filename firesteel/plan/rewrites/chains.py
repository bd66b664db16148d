"""The chains of the plan, with their operators and edges: what workers get."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from firesteel.common import TypeInformation
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.model.source import DriverSource
from firesteel.plan.graph import OperatorTransformation, PhysicalTransformation, SourceTransformation
from firesteel.plan.rewrites.edge_names import name_edges
from firesteel.plan.rewrites.edges import ResolvedEdge
from firesteel.plan.rewrites.resolved import ResolvedGraph
from firesteel.plan.serialization import pickle_for_workers
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.layout import ChainedEdge, PlannedChain, PlannedEdge, PlannedOperator
from firesteel.runtime.source import SourceOperator
from firesteel.state.schema import schema_of


def plan_chains(graph: ResolvedGraph) -> tuple[PlannedChain, ...]:
    """All chains, in the order of their heads."""
    key_types, edges = _key_types(graph.shuffled), _plan_edges(graph)
    return tuple(
        PlannedChain(
            id=chain,
            level=level,
            parallelism=graph.widths[chain].parallelism,
            max_parallelism=graph.widths[chain].max_parallelism,
            operators=tuple(
                _plan_operator(graph, node, key_types.get(node.id))
                for node in graph.nodes
                if graph.chain_of[node.id] == chain
            ),
            chained_edges=tuple(
                _plan_call(graph, edge) for edge in graph.chained if graph.chain_of[edge.consumer.id] == chain
            ),
            inputs=tuple(edge for edge in edges if edge.target == chain),
            outputs=tuple(edge for edge in edges if graph.chain_of[edge.operator] == chain),
        )
        for chain, level in graph.levels.items()
    )


def _plan_call(graph: ResolvedGraph, edge: ResolvedEdge) -> ChainedEdge:
    gives = graph.formats.gives[edge.producer.id]
    return ChainedEdge(edge.producer.id, edge.consumer.id, edge.tag, gives, graph.formats.row_type(edge, gives))


def _plan_operator(
    graph: ResolvedGraph, node: PhysicalTransformation, key_type: TypeInformation | None
) -> PlannedOperator:
    if isinstance(node, SourceTransformation):
        in_tasks = None if isinstance(node.source, DriverSource) else node.source
        gives = graph.formats.gives[node.id]
        factory: Any = partial(SourceOperator, in_tasks, node.watermark_strategy, node.ingestion_time, gives)
        keyed = is_sink = False
    else:
        assert isinstance(node, OperatorTransformation)
        factory, keyed, is_sink = node.factory, node.key_selectors is not None, node.is_sink
    declared = node.output_type
    return PlannedOperator(
        id=node.id,
        info=graph.info(node),
        factory=pickle_for_workers(factory, f"operator {node.name!r}", node.call_site),
        inputs=len(node.inputs),
        keyed=keyed,
        description=node.description,
        is_sink=is_sink,
        row_names=tuple(declared.get_field_names()) if isinstance(declared, RowTypeInfo) else None,
        key_type=schema_of(key_type),
        takes=graph.formats.takes[node.id],
        gives=graph.formats.gives[node.id],
        key_fields=graph.formats.key_fields.get(node.id),
    )


def _plan_edges(graph: ResolvedGraph) -> list[PlannedEdge]:
    names = name_edges(graph.shuffled, graph.uids)
    planned = []
    for number, edge in enumerate(graph.shuffled):
        target, width = graph.chain_of[edge.consumer.id], graph.widths[edge.consumer.id]
        format = graph.formats.of_edge(edge)
        planned.append(
            PlannedEdge(
                id=number,
                operator=edge.producer.id,
                producers=graph.widths[edge.producer.id].parallelism,
                target=target,
                level=graph.levels[target],
                targets=width.parallelism,
                max_parallelism=width.max_parallelism,
                input_index=edge.input_index,
                kind=edge.partitioning.kind,
                partitioning=pickle_for_workers(edge.partitioning, edge.name, edge.call_site),
                info=OperatorInfo(edge.name, graph.uids[edge.consumer.id], edge.call_site),
                name=names[number],
                tag=edge.tag,
                format=format,
                key_fields=edge.key_fields,
                row_type=graph.formats.row_type(edge, format),
            )
        )
    return planned


def _key_types(edges: Sequence[ResolvedEdge]) -> dict[int, TypeInformation]:
    """The declared types of the keys of operators, by node."""
    declared = [(edge.consumer.id, edge.partitioning.key_type) for edge in edges]
    return {node: key_type for node, key_type in declared if key_type is not None}
