"""The compiled job: frozen data that the executors run and ``explain`` draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from firesteel.common import Configuration
from firesteel.common.watermark_strategy import WatermarkAlignment
from firesteel.model.output_tag import OutputTag
from firesteel.model.source import DriverSource, Source
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.input_gate import EdgeName
from firesteel.runtime.subtask import ChainLayout
from firesteel.state.schema import Schema


@dataclass(frozen=True)
class PlannedOperator:
    """One operator of a chain.

    :param factory: The pickled factory that makes the operator in a worker.
    :param keyed: Whether it has keyed state (its input comes with keys).
    """

    id: int
    info: OperatorInfo
    factory: bytes
    inputs: int
    keyed: bool = False
    description: str | None = None
    is_sink: bool = False
    row_names: tuple[str, ...] | None = None
    """The names of the fields, if its output is declared as rows."""
    key_type: Schema = None
    """The declared type of its keys."""


@dataclass(frozen=True)
class PlannedEdge:
    """A shuffled connection between an operator and the head of a later chain.

    :param operator: The producing operator's id.
    :param target: The consuming chain's id.
    :param input_index: Which input of the consuming operator.
    :param partitioning: The pickled :class:`~firesteel.runtime.partitioners.Partitioning`.
    :param info: Who made the edge (``key_by`` at a line of the program), for messages.
    :param name: What state that belongs to the edge is stored under; numbers change when the program is edited.
    """

    id: int
    operator: int
    target: int
    input_index: int
    kind: str
    partitioning: bytes
    info: OperatorInfo
    name: EdgeName
    tag: OutputTag | None = None


@dataclass(frozen=True)
class ChainedEdge:
    """A connection inside a chain: a plain call."""

    operator: int
    target: int
    tag: OutputTag | None = None


@dataclass(frozen=True)
class PlannedChain:
    """Operators that run in one pass, in one task. The first one is the head and has all the inputs."""

    id: int
    level: int
    parallelism: int
    max_parallelism: int
    operators: tuple[PlannedOperator, ...]
    chained_edges: tuple[ChainedEdge, ...] = ()

    @property
    def name(self) -> str:
        """The operators' names joined by arrows, as Flink shows a task."""
        return " -> ".join(operator.info.name for operator in self.operators)


@dataclass(frozen=True)
class PlannedSource:
    """The driver's half of a source operator."""

    operator: int
    chain: int
    uid: str
    name: str
    parallelism: int
    source: Source | DriverSource
    alignment: WatermarkAlignment | None = None
    call_site: str = "-"


@dataclass(frozen=True)
class PlannedCommitter:
    """The driver's half of a two-phase sink: the pickled factory of its committer."""

    operator: int
    uid: str
    factory: bytes


@dataclass(frozen=True)
class PlannedIteration:
    """The driver's half of a loop. ``operator`` is its head."""

    operator: int
    uid: str
    name: str
    call_site: str
    parallelism: int


@dataclass(frozen=True)
class JobPlan:
    """Everything that is needed to run a job."""

    name: str
    chains: tuple[PlannedChain, ...]
    edges: tuple[PlannedEdge, ...]
    sources: tuple[PlannedSource, ...]
    committers: tuple[PlannedCommitter, ...]
    configuration: Configuration
    batch_mode: bool
    job_parameters: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Numbers the workers need: chunk size, watermark interval."""
    iterations: tuple[PlannedIteration, ...] = ()
    declared_tags: dict[str, frozenset[str]] = field(default_factory=dict)
    """Operator uid -> the side outputs that the program has asked for, also where nothing in this job reads them."""

    @property
    def level_count(self) -> int:
        """How many Spark stages an epoch has."""
        return 1 + max(chain.level for chain in self.chains)

    @property
    def parallelism(self) -> int:
        """The highest parallelism of any operator: how many slots the job needs."""
        return max(chain.parallelism for chain in self.chains)

    def width(self, level: int) -> int:
        """How many tasks the level has."""
        return max(chain.parallelism for chain in self.chains if chain.level == level)

    def layouts(self, level: int) -> tuple[ChainLayout, ...]:
        """What the subtasks of a level have to know."""
        chains = {chain.id: chain for chain in self.chains}
        chain_of_operator = {operator.id: chain for chain in self.chains for operator in chain.operators}
        return tuple(
            ChainLayout(
                id=chain.id,
                parallelism=chain.parallelism,
                max_parallelism=chain.max_parallelism,
                operators=chain.operators,
                chained=chain.chained_edges,
                inputs=tuple(
                    (edge, chain_of_operator[edge.operator].parallelism)
                    for edge in self.edges
                    if edge.target == chain.id
                ),
                outputs=tuple(
                    (edge, target.level, target.parallelism, target.max_parallelism)
                    for edge in self.edges
                    if chain_of_operator[edge.operator] is chain and (target := chains[edge.target])
                ),
            )
            for chain in self.chains
            if chain.level == level
        )

    @property
    def bounded(self) -> bool:
        """Whether all sources end by themselves."""
        return all(source.source.boundedness.name == "BOUNDED" for source in self.sources)
