"""The compiled job: frozen data that the executors run and ``explain`` draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from firesteel.common import Configuration
from firesteel.common.watermark_strategy import WatermarkAlignment
from firesteel.model.source import DriverSource, Source
from firesteel.runtime.layout import PlannedChain, PlannedEdge


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
    sources: tuple[PlannedSource, ...]
    committers: tuple[PlannedCommitter, ...]
    configuration: Configuration
    batch_mode: bool
    job_parameters: dict[str, str] = field(default_factory=dict)
    serializers: tuple[tuple[type, Any], ...] = ()
    """The user's serializers by class."""
    cached_files: dict[str, str] = field(default_factory=dict)
    """Registered files: where they are on the driver's host, by name."""
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

    @property
    def edges(self) -> tuple[PlannedEdge, ...]:
        """All shuffled connections, in the order of their numbers."""
        return tuple(sorted((edge for chain in self.chains for edge in chain.inputs), key=lambda edge: edge.id))

    def level(self, level: int) -> tuple[PlannedChain, ...]:
        """The chains of a level: what its subtasks have to know."""
        return tuple(chain for chain in self.chains if chain.level == level)

    @property
    def bounded(self) -> bool:
        """Whether all sources end by themselves."""
        return all(source.source.boundedness.name == "BOUNDED" for source in self.sources)
