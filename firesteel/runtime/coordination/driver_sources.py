"""The driver's half of a source that cannot be read in tasks: it is read here, and handed to the subtasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firesteel.model.coordinator import Coordinator, EpochPlan, Intake, OperatorReport
from firesteel.model.functions import RuntimeContext
from firesteel.model.source import DriverReader, DriverSource
from firesteel.runtime.contexts import SubtaskRuntimeContext
from firesteel.runtime.coordination.sources import SOURCES, intake_of, unreplayable
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.operator import Clock, OperatorContext, Output
from firesteel.runtime.source import SourceTask
from firesteel.state import codec
from firesteel.state.operator_state import OperatorStateBackend


class DriverSourceCoordinator(Coordinator):
    """Has a reader for each subtask."""

    kind = SOURCES

    def __init__(self, source: DriverSource) -> None:
        self._source = source
        self._readers: list[DriverReader] = []
        self._states: list[Any] = []
        self._attempt = -1
        self._intake = Intake()
        self._all_told = False
        """Whether the tasks know that all subtasks have ended."""

    def restore(self, checkpoint_id: int | None, state: dict[str, Any] | None) -> None:
        """Open the readers of all subtasks."""
        self._attempt += 1
        self._all_told = False
        parallelism = self.context.parallelism
        states = None if state is None else state["readers"]
        self._states = [None] * parallelism
        self._readers = [self._source.create_driver_reader(index, parallelism) for index in range(parallelism)]
        for index, reader in enumerate(self._readers):
            reader.open(self._runtime_context(index), states, self.context.wake)

    def _runtime_context(self, index: int) -> RuntimeContext:
        context = self.context
        return SubtaskRuntimeContext(
            OperatorContext(
                info=OperatorInfo(context.name, context.uid, context.call_site),
                subtask_index=index,
                parallelism=context.parallelism,
                max_parallelism=context.parallelism,
                attempt=self._attempt,
                clock=Clock(),
                output=Output(),
                metrics=context.metrics_of(index),
                operator_state=OperatorStateBackend(),
                job_parameters=dict(context.job_parameters),
            )
        )

    def ended(self) -> bool:
        """Whether everything has been taken."""
        return all(reader.is_finished() for reader in self._readers)

    def has_work(self, now: int) -> bool:
        """Whether something has come, or the end has."""
        return any(reader.has_data() or reader.is_finished() for reader in self._readers) and not self._all_told

    def orders(self, epoch: EpochPlan) -> Mapping[int, SourceTask]:
        """Take what has come and hand it to the subtasks."""
        tasks = {}
        for index, reader in enumerate(self._readers):
            events, self._states[index] = reader.take(epoch.max_records)
            entries = codec.dumps(events.entries)
            tasks[index] = SourceTask(complete=reader.is_finished(), events=entries, drain=epoch.drain)
        self._all_told = all(task.complete for task in tasks.values())
        return tasks

    def apply(self, reports: Sequence[OperatorReport]) -> None:
        """Positions are the readers' own."""
        self._intake = intake_of(reports)

    def intake(self) -> Intake:
        """What was read in the last epoch."""
        return self._intake

    def snapshot(self, checkpoint_id: int) -> dict[str, Any]:
        """The readers' states as they were after what was taken last."""
        return {"readers": list(self._states)}

    def committed(self, checkpoint_id: int) -> None:
        """Tell the readers that a checkpoint is complete."""
        for reader in self._readers:
            reader.checkpoint_complete(checkpoint_id)

    def roll_back(self, checkpoint_id: int | None) -> None:
        """Stop the readers: the next run has its own."""
        self.close()

    def shortcoming(self) -> str | None:
        """What is read in the driver can be read again only if the source says so."""
        reason = f"read in the driver and {self._source.guarantee}"
        return None if self._source.replayable else unreplayable(self.context.name, reason)

    def close(self) -> None:
        """Stop the readers."""
        readers, self._readers = self._readers, []
        for reader in readers:
            reader.close()
