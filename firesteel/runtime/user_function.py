"""The part that all operators around a user function share: its life cycle and its checkpointed state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.model.functions import Function, FunctionInitializationContext, FunctionSnapshotContext, KeyedStateStore
from firesteel.runtime.contexts import SubtaskRuntimeContext
from firesteel.runtime.emission import SideBuffer
from firesteel.runtime.keeping import Emission, emission_of, keeps_nothing
from firesteel.runtime.operator import Operator, OperatorContext
from firesteel.runtime.records import copied, same
from firesteel.state.operator_state import OperatorStateBackend


class InitializationContext(FunctionInitializationContext):
    """What ``initialize_state`` is given."""

    def __init__(self, context: OperatorContext, keyed: KeyedStateStore) -> None:
        self._context = context
        self._keyed = keyed

    def is_restored(self) -> bool:
        """Whether the job continues from a checkpoint or savepoint."""
        return self._context.restored_checkpoint is not None

    def get_restored_checkpoint_id(self) -> int | None:
        """The checkpoint from which the job continues."""
        return self._context.restored_checkpoint

    def get_operator_state_store(self) -> OperatorStateBackend:
        """The operator's own state, not bound to keys."""
        return self._context.operator_state

    def get_keyed_state_store(self) -> KeyedStateStore:
        """Keyed state; getting a handle raises on streams without keys."""
        return self._keyed


class SnapshotContext(FunctionSnapshotContext):
    """What ``snapshot_state`` is given."""

    def __init__(self, checkpoint_id: int, timestamp: int) -> None:
        self._checkpoint_id = checkpoint_id
        self._timestamp = timestamp

    def get_checkpoint_id(self) -> int:
        """The number of the checkpoint."""
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        """When the checkpoint was started, in milliseconds."""
        return self._timestamp


class FunctionOperator(Operator):
    """An operator around a user function. Subclasses say what happens with records.

    :ivar own: Called for each record at the moment when the function emits it: a copy of what can change.
    """

    own: Callable[[Any], Any]
    side: SideBuffer

    def __init__(self, function: Any) -> None:
        self.function = function
        self.runtime_context: SubtaskRuntimeContext
        self._opened = False

    def setup(self, context: OperatorContext) -> None:
        """Find out whether records are copied when they are emitted."""
        super().setup(context)
        self._emissions: dict[Callable[..., Any], Emission | None] = {}
        self.own = same if context.object_reuse else copied
        self.side = SideBuffer(self.own)

    def nothing_is_kept_by(self, call: Callable[..., Any]) -> bool:
        """Whether what a function returns belongs to nobody else: it can be handed on without a copy."""
        return self.context.object_reuse or keeps_nothing(call)

    def keeps_nothing_in(self, call: Callable[..., Any]) -> bool:
        """The same for a generator method, which may emit what it is given once, at its end. Asked for each batch."""
        if self.context.object_reuse:
            return True
        if call not in self._emissions:
            self._emissions[call] = emission_of(call)
        emission = self._emissions[call]
        return emission is not None and emission.keeps_nothing()

    def open(self) -> None:
        """Prepare the user function: its context, its state, then its own ``open``."""
        self.runtime_context = SubtaskRuntimeContext(self.context)
        function = self.function
        if hasattr(function, "initialize_state"):  # by name: a class needs no base class for it
            function.initialize_state(InitializationContext(self.context, self.runtime_context))
        self._opened = True
        if isinstance(function, Function):
            function.set_runtime_context(self.runtime_context)
            function.open(self.runtime_context)

    def before_snapshot(self, checkpoint_id: int) -> None:
        """Let the function bring its operator state up to date."""
        if hasattr(self.function, "snapshot_state"):
            self.function.snapshot_state(SnapshotContext(checkpoint_id, self.context.clock.now))

    def checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tell the function, if it wants to know."""
        if hasattr(self.function, "notify_checkpoint_complete"):
            self.function.notify_checkpoint_complete(checkpoint_id)

    def close(self) -> None:
        """Close the user function, once, if it was opened."""
        if self._opened:
            self._opened = False
            if isinstance(self.function, Function):
                self.function.close()
