"""Which operator reads which: partition, union and side-output nodes between two of them are folded into an edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firesteel.errors import ProgramError
from firesteel.model.output_tag import OutputTag
from firesteel.plan.graph import (
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)
from firesteel.plan.rewrites.parallelism import Width
from firesteel.runtime.partitioners import FORWARD, HASH, REBALANCE, KeyFields, Partitioning


@dataclass(frozen=True)
class ResolvedEdge:
    """A connection between two operators, the virtual nodes between them folded in."""

    producer: PhysicalTransformation
    consumer: PhysicalTransformation
    input_index: int
    partitioning: Partitioning
    tag: OutputTag | None
    name: str
    call_site: str

    @property
    def key_fields(self) -> KeyFields | None:
        """The fields that the keys on this edge are made of."""
        return self.partitioning.key_fields if self.partitioning.kind == HASH else None


def resolve_edges(nodes: Sequence[PhysicalTransformation], widths: Mapping[int, Width]) -> list[ResolvedEdge]:
    """All connections between operators, in the order of their consumers and inputs."""
    return [
        edge
        for consumer in nodes
        for input_index, source in enumerate(consumer.inputs)
        for edge in _trace(source, consumer, input_index, None, None, widths)
    ]


def _trace(
    node: Transformation,
    consumer: PhysicalTransformation,
    input_index: int,
    partition: PartitionTransformation | None,
    tag: OutputTag | None,
    widths: Mapping[int, Width],
) -> list[ResolvedEdge]:
    """Follow virtual nodes back to operators. The partitioning nearest to the consumer is the one that counts."""
    if isinstance(node, PartitionTransformation):
        return _trace(node.inputs[0], consumer, input_index, partition or node, tag, widths)
    if isinstance(node, SideOutputTransformation):
        return _trace(node.inputs[0], consumer, input_index, partition, tag or node.tag, widths)
    if isinstance(node, UnionTransformation):
        return [edge for each in node.inputs for edge in _trace(each, consumer, input_index, partition, tag, widths)]
    assert isinstance(node, PhysicalTransformation)
    partitioning = _partitioning(node, consumer, partition, widths)
    name = partition.name if partition is not None else f"{node.name} to {consumer.name}"
    call_site = (partition or consumer).call_site
    return [ResolvedEdge(node, consumer, input_index, partitioning, tag, name, call_site)]


def _partitioning(
    producer: PhysicalTransformation,
    consumer: PhysicalTransformation,
    partition: PartitionTransformation | None,
    widths: Mapping[int, Width],
) -> Partitioning:
    before, after = widths[producer.id].parallelism, widths[consumer.id].parallelism
    if partition is None:
        return Partitioning(FORWARD if before == after else REBALANCE)
    if partition.partitioning.kind == FORWARD and before != after:
        raise ProgramError(
            f"forward() (at {partition.call_site}) connects {producer.name!r} with parallelism {before} and "
            f"{consumer.name!r} with parallelism {after}: it needs equal ones. Use rescale() or rebalance()"
        )
    return partition.partitioning
