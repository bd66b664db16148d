"""What a function implements to take part in checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firesteel.model.functions.base import KeyedStateStore
    from firesteel.model.state import OperatorStateStore


class FunctionSnapshotContext(ABC):
    """Which checkpoint is being taken."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """The number of the checkpoint; later checkpoints have larger ones."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """The processing time at which the checkpoint was started, in milliseconds."""


class FunctionInitializationContext(ABC):
    """Gives a function its operator state when it starts."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Whether the job continues from a checkpoint or savepoint."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """The checkpoint from which the job continues, or None if it starts afresh."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """The store of operator state, where the function registers its lists."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """The store of keyed state. Raises outside a keyed stream."""


class CheckpointedFunction(ABC):
    """Mixed into a function that keeps operator state.

    ``initialize_state`` registers the state; ``snapshot_state`` brings it up to date before it is written.
    """

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called once per checkpoint in every subtask, between records: put what must be kept into the state."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Called once per subtask before ``open``, on the first start as well as after a restore."""


class CheckpointListener(ABC):
    """Mixed into a function that wants to know what became of a checkpoint."""

    @abstractmethod
    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Called in every subtask after a checkpoint is complete. May be left out if a later one completes first."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Called in every subtask after a checkpoint was given up."""
        return None
