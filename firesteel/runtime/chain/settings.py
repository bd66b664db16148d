"""What all chains of a subtask share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from firesteel.runtime.layout import PlannedOperator
from firesteel.runtime.operator import Clock, Operator
from firesteel.runtime.worker_settings import WorkerSettings
from firesteel.state.backend import HashMapBackend, KeyedStateBackend
from firesteel.state.snapshots import OperatorRestore
from firesteel.state.sorting import KeySorter

BackendFactory = Callable[[int], KeyedStateBackend]


@dataclass
class SubtaskSettings:
    """What all chains of a subtask share."""

    clock: Clock
    generation: int
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    cached_files: dict[str, str] = field(default_factory=dict)
    """Files that every worker has: their paths on this host, by name."""
    restores: dict[str, OperatorRestore] = field(default_factory=dict)
    backend_factory: BackendFactory = HashMapBackend
    sorter_factory: Callable[[int], KeySorter] = KeySorter
    """Makes what sorts the input of keyed operators in BATCH mode, out of the number of inputs."""

    def sorts_for(self, planned: PlannedOperator, operator: Operator) -> bool:
        """Whether an operator gets its input sorted, one key after the other: BATCH mode."""
        return self.worker.batch_mode and planned.keyed and operator.takes_sorted_input
