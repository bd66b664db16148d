"""From the program's graph to the job plan: resolve edges, chain operators, put chains into levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from firesteel.common import Configuration, TypeInformation
from firesteel.common.options import SINK_COMMITTER_RETRIES
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.errors import ConfigurationError, ProgramError, UnsupportedError
from firesteel.model.coordinator import Coordinator
from firesteel.model.output_tag import OutputTag
from firesteel.model.source import Boundedness, DriverSource
from firesteel.plan.formats import EdgeFormats
from firesteel.plan.graph import (
    FeedbackTransformation,
    IterationTransformation,
    OperatorTransformation,
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    SourceTransformation,
    StreamGraph,
    Transformation,
    UnionTransformation,
)
from firesteel.plan.job_plan import (
    JobPlan,
    PlannedCoordinator,
)
from firesteel.plan.serialization import pickle_for_workers
from firesteel.runtime.coordination.driver_sources import DriverSourceCoordinator
from firesteel.runtime.coordination.sinks import SinkCoordinator
from firesteel.runtime.coordination.sources import SourceCoordinator
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.layout import ChainedEdge, EdgeName, PlannedChain, PlannedEdge, PlannedOperator
from firesteel.runtime.partitioners import FORWARD, HASH, REBALANCE, KeyFields, Partitioning
from firesteel.runtime.source import SourceOperator
from firesteel.state.key_groups import DEFAULT_MAX_PARALLELISM
from firesteel.state.schema import schema_of


@dataclass(frozen=True)
class CompileSettings:
    """What the environment says about the whole job."""

    job_name: str
    default_parallelism: int
    max_parallelism: int = DEFAULT_MAX_PARALLELISM
    chaining: bool = True
    batch_mode: bool = False
    job_parameters: dict[str, str] = field(default_factory=dict)
    serializers: tuple[tuple[type, Any], ...] = ()
    cached_files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _ResolvedEdge:
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


def compile_graph(graph: StreamGraph, configuration: Configuration, settings: CompileSettings) -> JobPlan:
    """Compile a program. Raises :class:`ProgramError` if it cannot be run as written."""
    if not graph.sinks():
        raise ProgramError(
            "the program has no sink, so it would compute nothing that anybody sees. Add one: print(), add_sink(...), "
            "sink_to(...), or use execute_and_collect()"
        )
    return _Compiler(graph, configuration, settings).compile()


class _Compiler:
    """One compilation. The steps build on each other, in the order of :meth:`compile`."""

    def __init__(self, graph: StreamGraph, configuration: Configuration, settings: CompileSettings) -> None:
        self._configuration = configuration
        self._settings = settings
        self._nodes = [node for node in graph.transformations if isinstance(node, PhysicalTransformation)]
        self._parallelism = {node.id: self._resolve_parallelism(node) for node in self._nodes}
        self._uids = self._assign_uids()

    def compile(self) -> JobPlan:
        """Run all steps."""
        edges = self._resolve_edges()
        self._formats = EdgeFormats(self._nodes, edges)
        chained = [edge for edge in edges if self._can_chain(edge, edges)]
        shuffled = [edge for edge in edges if edge not in chained]
        chain_of = self._group_chains(chained)
        levels = self._assign_levels(chain_of, shuffled)
        settings = self._settings
        return JobPlan(
            name=settings.job_name,
            chains=self._plan_chains(chain_of, levels, chained, shuffled),
            coordinators=self._plan_coordinators(chain_of, levels),
            configuration=self._configuration,
            batch_mode=settings.batch_mode,
            job_parameters=settings.job_parameters,
            serializers=settings.serializers,
            cached_files=settings.cached_files,
            declared_tags={self._uids[node.id]: frozenset(node.declared_tags) for node in self._nodes},
        )

    def _resolve_parallelism(self, node: PhysicalTransformation) -> int:
        if isinstance(node, FeedbackTransformation):
            return self._resolve_parallelism(node.head)
        parallelism = node.parallelism or self._settings.default_parallelism
        maximum = self._max_parallelism(node)
        if parallelism > maximum:
            raise ConfigurationError(
                f"operator {node.name!r} (made at {node.call_site}) has parallelism {parallelism}, "
                f"but its max parallelism is {maximum}. Call set_max_parallelism({parallelism}) or higher"
            )
        return parallelism

    def _max_parallelism(self, node: PhysicalTransformation) -> int:
        if isinstance(node, FeedbackTransformation):
            return self._max_parallelism(node.head)
        return node.max_parallelism or self._settings.max_parallelism

    def _assign_uids(self) -> dict[int, str]:
        """The uid of each operator: the user's, or one made of its name and place that is the same on every run."""
        uids: dict[int, str] = {}
        owner: dict[str, PhysicalTransformation] = {}
        for place, node in enumerate(self._nodes, 1):
            uid = node.uid or f"{place}-{node.name}"
            if uid in owner:
                raise ProgramError(
                    f"two operators have the uid {uid!r}: {owner[uid].name!r} (made at {owner[uid].call_site}) and "
                    f"{node.name!r} (made at {node.call_site}). State is stored under the uid; give each its own"
                )
            owner[uid] = node
            uids[node.id] = uid
        return uids

    def _resolve_edges(self) -> list[_ResolvedEdge]:
        edges = []
        for consumer in self._nodes:
            for input_index, source in enumerate(consumer.inputs):
                edges.extend(self._trace(source, consumer, input_index, None, None))
        return edges

    def _trace(
        self,
        node: Transformation,
        consumer: PhysicalTransformation,
        input_index: int,
        partition: PartitionTransformation | None,
        tag: OutputTag | None,
    ) -> list[_ResolvedEdge]:
        """Follow virtual nodes back to operators. The partitioning nearest to the consumer is the one that counts."""
        if isinstance(node, PartitionTransformation):
            return self._trace(node.inputs[0], consumer, input_index, partition or node, tag)
        if isinstance(node, SideOutputTransformation):
            return self._trace(node.inputs[0], consumer, input_index, partition, tag or node.tag)
        if isinstance(node, UnionTransformation):
            return [edge for each in node.inputs for edge in self._trace(each, consumer, input_index, partition, tag)]
        assert isinstance(node, PhysicalTransformation)
        partitioning = self._partitioning(node, consumer, partition)
        name = partition.name if partition is not None else f"{node.name} to {consumer.name}"
        call_site = (partition or consumer).call_site
        return [_ResolvedEdge(node, consumer, input_index, partitioning, tag, name, call_site)]

    def _partitioning(
        self,
        producer: PhysicalTransformation,
        consumer: PhysicalTransformation,
        partition: PartitionTransformation | None,
    ) -> Partitioning:
        before, after = self._parallelism[producer.id], self._parallelism[consumer.id]
        if partition is None:
            return Partitioning(FORWARD if before == after else REBALANCE)
        if partition.partitioning.kind == FORWARD and before != after:
            raise ProgramError(
                f"forward() (at {partition.call_site}) connects {producer.name!r} with parallelism {before} and "
                f"{consumer.name!r} with parallelism {after}: it needs equal ones. Use rescale() or rebalance()"
            )
        return partition.partitioning

    def _can_chain(self, edge: _ResolvedEdge, edges: list[_ResolvedEdge]) -> bool:
        producer, consumer = edge.producer, edge.consumer
        return (
            self._settings.chaining
            and edge.partitioning.kind == FORWARD
            and sum(other.consumer is consumer for other in edges) == 1
            and len(consumer.inputs) == 1
            and consumer.chaining == "always"
            and producer.chaining != "never"
            and consumer.slot_sharing_group in (None, producer.slot_sharing_group)
        )

    def _group_chains(self, chained: list[_ResolvedEdge]) -> dict[int, int]:
        """Node id -> chain id, which is the id of the chain's head."""
        feeder = {edge.consumer.id: edge.producer.id for edge in chained}
        chain_of: dict[int, int] = {}
        for node in self._nodes:  # inputs come before consumers
            chain_of[node.id] = chain_of[feeder[node.id]] if node.id in feeder else node.id
        return chain_of

    def _assign_levels(self, chain_of: dict[int, int], shuffled: list[_ResolvedEdge]) -> dict[int, int]:
        """Chain id -> level: one more than the highest level it reads from."""
        levels: dict[int, int] = {}
        for node in self._nodes:
            chain = chain_of[node.id]
            if chain == node.id:
                feeders = [chain_of[edge.producer.id] for edge in shuffled if edge.consumer is node]
                levels[chain] = 1 + max((levels[feeder] for feeder in feeders), default=-1)
        return levels

    def _plan_chains(
        self,
        chain_of: dict[int, int],
        levels: dict[int, int],
        chained: list[_ResolvedEdge],
        shuffled: list[_ResolvedEdge],
    ) -> tuple[PlannedChain, ...]:
        chains = []
        key_types = _key_types(shuffled)
        edges = self._plan_edges(shuffled, chain_of, levels)
        for chain, level in levels.items():
            members = [node for node in self._nodes if chain_of[node.id] == chain]
            chains.append(
                PlannedChain(
                    id=chain,
                    level=level,
                    parallelism=self._parallelism[chain],
                    max_parallelism=self._max_parallelism(members[0]),
                    operators=tuple(self._plan_operator(node, key_types.get(node.id)) for node in members),
                    chained_edges=tuple(
                        ChainedEdge(
                            edge.producer.id,
                            edge.consumer.id,
                            edge.tag,
                            self._formats.gives[edge.producer.id],
                            self._formats.row_type(edge, self._formats.gives[edge.producer.id]),
                        )
                        for edge in chained
                        if chain_of[edge.consumer.id] == chain
                    ),
                    inputs=tuple(edge for edge in edges if edge.target == chain),
                    outputs=tuple(edge for edge in edges if chain_of[edge.operator] == chain),
                )
            )
        return tuple(chains)

    def _plan_operator(self, node: PhysicalTransformation, key_type: TypeInformation | None) -> PlannedOperator:
        if isinstance(node, SourceTransformation):
            in_tasks = None if isinstance(node.source, DriverSource) else node.source
            gives = self._formats.gives[node.id]
            factory: Any = partial(SourceOperator, in_tasks, node.watermark_strategy, node.ingestion_time, gives)
            keyed = is_sink = False
        else:
            assert isinstance(node, OperatorTransformation)
            factory, keyed, is_sink = node.factory, node.key_selectors is not None, node.is_sink
        declared = node.output_type
        return PlannedOperator(
            id=node.id,
            info=OperatorInfo(node.name, self._uids[node.id], node.call_site),
            factory=pickle_for_workers(factory, f"operator {node.name!r}", node.call_site),
            inputs=len(node.inputs),
            keyed=keyed,
            description=node.description,
            is_sink=is_sink,
            row_names=tuple(declared.get_field_names()) if isinstance(declared, RowTypeInfo) else None,
            key_type=schema_of(key_type),
            takes=self._formats.takes[node.id],
            gives=self._formats.gives[node.id],
            key_fields=self._formats.key_fields.get(node.id),
        )

    def _plan_edges(
        self, shuffled: list[_ResolvedEdge], chain_of: dict[int, int], levels: dict[int, int]
    ) -> tuple[PlannedEdge, ...]:
        names = self._edge_names(shuffled)
        return tuple(
            PlannedEdge(
                id=number,
                operator=edge.producer.id,
                producers=self._parallelism[edge.producer.id],
                target=chain_of[edge.consumer.id],
                level=levels[chain_of[edge.consumer.id]],
                targets=self._parallelism[edge.consumer.id],
                max_parallelism=self._max_parallelism(edge.consumer),
                input_index=edge.input_index,
                kind=edge.partitioning.kind,
                partitioning=pickle_for_workers(edge.partitioning, edge.name, edge.call_site),
                info=OperatorInfo(edge.name, self._uids[edge.consumer.id], edge.call_site),
                name=names[number],
                tag=edge.tag,
                format=(format := self._formats.of_edge(edge)),
                key_fields=edge.key_fields,
                row_type=self._formats.row_type(edge, format),
            )
            for number, edge in enumerate(shuffled)
        )

    def _edge_names(self, shuffled: list[_ResolvedEdge]) -> list[EdgeName]:
        """What each edge is called at its consumer. Edges that are alike (a stream united with itself) are counted."""
        seen: Counter[tuple[int, int, str, str]] = Counter()
        names = []
        for edge in shuffled:
            tag = "" if edge.tag is None else edge.tag.name
            alike = edge.consumer.id, edge.input_index, self._uids[edge.producer.id], tag
            names.append((*alike[1:], seen[alike]))
            seen[alike] += 1
        return names

    def _plan_coordinators(self, chain_of: dict[int, int], levels: dict[int, int]) -> tuple[PlannedCoordinator, ...]:
        """The operators' halves in the driver, in the order of levels."""
        planned = []
        for node in self._nodes:
            factory = self._coordinator(node)
            if factory is None:
                continue
            tails = node.feedback if isinstance(node, IterationTransformation) else ()
            planned.append(
                PlannedCoordinator(
                    info=OperatorInfo(node.name, self._uids[node.id], node.call_site),
                    level=levels[chain_of[node.id]],
                    parallelism=self._parallelism[node.id],
                    factory=factory,
                    listens_to=tuple(self._uids[each.id] for each in (node, *tails)),
                    bounded=not isinstance(node, SourceTransformation)
                    or node.source.boundedness is Boundedness.BOUNDED,
                )
            )
        return tuple(sorted(planned, key=lambda each: each.level))

    def _coordinator(self, node: PhysicalTransformation) -> Callable[[], Coordinator] | None:
        if isinstance(node, SourceTransformation):
            if isinstance(node.source, DriverSource):
                return partial(DriverSourceCoordinator, node.source)
            alignment = node.watermark_strategy.alignment if node.watermark_strategy else None
            return partial(SourceCoordinator, node.source, alignment)
        if isinstance(node, IterationTransformation):
            self._check_loop(node)
        assert isinstance(node, OperatorTransformation)
        if node.committer_factory is None:
            return node.coordinator
        committer = pickle_for_workers(node.committer_factory, f"operator {node.name!r}", node.call_site)
        return partial(SinkCoordinator, committer, self._configuration.get(SINK_COMMITTER_RETRIES))

    def _check_loop(self, head: IterationTransformation) -> None:
        if self._settings.batch_mode:
            raise UnsupportedError(
                f"iterate() (at {head.call_site}) cannot run in BATCH mode, in which operators emit at the end of "
                "their input only, so that nothing could go round. Set the runtime mode STREAMING or AUTOMATIC"
            )
        if not head.feedback:
            raise ProgramError(
                f"iterate() (at {head.call_site}) is not closed, so nothing goes round. Call close_with(stream)"
            )


def _key_types(edges: list[_ResolvedEdge]) -> dict[int, TypeInformation]:
    """The declared types of the keys of operators, by node."""
    declared = [(edge.consumer.id, edge.partitioning.key_type) for edge in edges]
    return {node: key_type for node, key_type in declared if key_type is not None}
