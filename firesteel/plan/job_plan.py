"""The compiled job: frozen data that the executors run and ``explain`` draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firesteel.common import Configuration
from firesteel.model.coordinator import Coordinator
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.layout import PlannedChain, PlannedEdge


@dataclass(frozen=True)
class PlannedCoordinator:
    """The half of an operator that is in the driver.

    :param listens_to: The uids of the operators whose reports it gets, its own first.
    :param bounded: Whether what comes in through the operator ends by itself.
    """

    info: OperatorInfo
    level: int
    parallelism: int
    factory: Callable[[], Coordinator]
    listens_to: tuple[str, ...]
    bounded: bool = True


@dataclass(frozen=True)
class JobPlan:
    """Everything that is needed to run a job."""

    name: str
    chains: tuple[PlannedChain, ...]
    coordinators: tuple[PlannedCoordinator, ...]
    """In the order of levels."""
    configuration: Configuration
    batch_mode: bool
    job_parameters: dict[str, str] = field(default_factory=dict)
    serializers: tuple[tuple[type, Any], ...] = ()
    """The user's serializers by class."""
    cached_files: dict[str, str] = field(default_factory=dict)
    """Registered files: where they are on the driver's host, by name."""
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
        return all(coordinator.bounded for coordinator in self.coordinators)
