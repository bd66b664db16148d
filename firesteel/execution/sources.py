"""The driver's half of all sources of a job: which splits there are, where each is read on from, who reads it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.errors import ProgramError
from firesteel.metrics import MetricGroup, MetricSnapshot
from firesteel.model.functions import RuntimeContext
from firesteel.model.source import DriverReader, DriverSource, Source, SourceSplit, SplitEnumerator
from firesteel.plan.job_plan import PlannedSource
from firesteel.runtime.contexts import SubtaskRuntimeContext
from firesteel.runtime.failure import OperatorFailure, OperatorInfo, is_from_outside
from firesteel.runtime.operator import Clock, OperatorContext, Output
from firesteel.runtime.source import SourceReport, SourceTask
from firesteel.state import codec
from firesteel.state.operator_state import OperatorStateBackend

log = logging.getLogger("firesteel.sources")


@dataclass
class _AssignedSplit:
    split: SourceSplit
    subtask: int
    position: Any
    finished: bool = False
    watermark: int | None = MIN_WATERMARK
    """None: the split is idle."""


class _NotStarted(SplitEnumerator):
    """Stands in for an enumerator until the source is started."""

    def discover_splits(self, now: int) -> list[SourceSplit]:
        return []


class SplitSourceState:
    """A source read in the tasks, as the driver sees it."""

    def __init__(self, planned: PlannedSource) -> None:
        assert isinstance(planned.source, Source)
        self.planned = planned
        self._source: Source = planned.source
        self._enumerator: SplitEnumerator = _NotStarted()
        self._splits: dict[str, _AssignedSplit] = {}
        self._assigned = 0
        self._aligned_at = -(1 << 62)
        self._held_back: set[str] = set()

    def start(self, restored: dict[str, Any] | None) -> None:
        """Start, or start again from what :meth:`snapshot` gave."""
        self._enumerator = self._source.create_enumerator(self.planned.parallelism)
        self._splits = {}
        self._assigned = 0 if restored is None else restored["assigned"]
        if restored is not None:
            parallelism = self.planned.parallelism
            for split_id, (split, subtask, position, finished, watermark) in restored["splits"].items():
                self._splits[split_id] = _AssignedSplit(split, subtask % parallelism, position, finished, watermark)
        self._enumerator.start(None if restored is None else restored["enumerator"])

    def discover(self, now: int) -> None:
        """Ask for new splits and give each to a subtask."""
        for split in self._enumerator.discover_splits(now):
            if split.split_id in self._splits:
                raise ProgramError(
                    f"source {self.planned.name!r} has found split {split.split_id!r} twice; split ids must be unique"
                )
            subtask = self._assigned % self.planned.parallelism
            self._assigned += 1
            self._splits[split.split_id] = _AssignedSplit(split, subtask, self._source.initial_position(split))

    def _open(self) -> list[_AssignedSplit]:
        return [each for each in self._splits.values() if not each.finished]

    @property
    def complete(self) -> bool:
        """Whether no further splits will come."""
        return self._enumerator.no_more_splits()

    def ended(self) -> bool:
        """Whether everything has been read."""
        return self.complete and not self._open()

    def has_data(self, now: int) -> bool:
        """Whether an epoch would read something."""
        return any(
            self._enumerator.has_data(each.split, each.position, now)
            for each in self._open()
            if each.split.split_id not in self._held_back
        )

    def next_data_time(self, now: int) -> int | None:
        """When the source wants to be asked again."""
        return self._enumerator.next_data_time(now)

    def align(self, lowest: int | None, now: int) -> None:
        """Hold back the splits that are too far ahead of the slowest of their group in event time."""
        alignment = self.planned.alignment
        if alignment is not None and now - self._aligned_at >= alignment.update_interval_ms:
            self._aligned_at = now
            self._held_back = set()
            if lowest is not None:
                marks = [(each.split.split_id, each.watermark) for each in self._open() if each.watermark is not None]
                self._held_back = {split_id for split_id, mark in marks if mark > lowest + alignment.max_drift_ms}

    def lowest_watermark(self) -> int | None:
        """The watermark of the slowest split that has not ended and is not idle."""
        return min((each.watermark for each in self._open() if each.watermark is not None), default=None)

    def tasks(self, max_records: int) -> dict[int, SourceTask]:
        """What each subtask has to read."""
        complete, subtasks = self.complete, range(self.planned.parallelism)
        tasks = {index: SourceTask(complete=complete, max_records=max_records) for index in subtasks}
        for each in self._open():
            if each.split.split_id in self._held_back:
                tasks[each.subtask].complete = False
                tasks[each.subtask].held_back.append(each.split.split_id)
            else:
                tasks[each.subtask].splits.append((each.split, each.position))
        return tasks

    def apply(self, report: SourceReport) -> None:
        """Take over the positions that a subtask has reached."""
        for split_id, (position, finished) in report.positions.items():
            each = self._splits[split_id]
            newly_finished = finished and not each.finished
            each.position, each.finished = position, finished
            if newly_finished:
                self._enumerator.split_finished(each.split)
        for split_id, watermark in report.watermarks.items():
            self._splits[split_id].watermark = watermark

    def snapshot(self) -> dict[str, Any]:
        """What :meth:`start` goes on from."""
        splits = {
            split_id: (each.split, each.subtask, each.position, each.finished, each.watermark)
            for split_id, each in self._splits.items()
        }
        return {"splits": splits, "assigned": self._assigned, "enumerator": self._enumerator.snapshot()}

    def committed(self, checkpoint_id: int, snapshot: dict[str, Any]) -> None:
        """Tell the enumerator that a checkpoint is complete; splits that had ended by then are forgotten."""
        self._enumerator.committed({split_id: entry[2] for split_id, entry in snapshot["splits"].items()})
        for split_id, (_, _, _, finished, _) in snapshot["splits"].items():
            if finished:
                self._splits.pop(split_id, None)

    def close(self) -> None:
        """Close the enumerator."""
        self._enumerator.close()


class DriverSourceState:
    """A source read in the driver."""

    def __init__(self, planned: PlannedSource, wake: Callable[[], None], job_parameters: dict[str, str]) -> None:
        assert isinstance(planned.source, DriverSource)
        self.planned = planned
        self._source: DriverSource = planned.source
        self._wake = wake
        self._job_parameters = job_parameters
        self._readers: list[DriverReader] = []
        self._states: list[Any] = []
        self._attempt = -1
        self._metrics = [MetricGroup() for _ in range(planned.parallelism)]
        """One for each reader, the same after a restart."""
        self._all_told = False
        """Whether the tasks know that all subtasks have ended."""

    def start(self, restored: dict[str, Any] | None) -> None:
        """Open the readers of all subtasks."""
        self._attempt += 1
        self._all_told = False
        parallelism = self.planned.parallelism
        states = None if restored is None else restored["readers"]
        self._states = [None] * parallelism
        self._readers = [self._source.create_driver_reader(index, parallelism) for index in range(parallelism)]
        for index, reader in enumerate(self._readers):
            reader.open(self._runtime_context(index), states, self._wake)

    def _runtime_context(self, index: int) -> RuntimeContext:
        planned = self.planned
        return SubtaskRuntimeContext(
            OperatorContext(
                info=_info(planned),
                subtask_index=index,
                parallelism=planned.parallelism,
                max_parallelism=planned.parallelism,
                attempt=self._attempt,
                clock=Clock(),
                output=Output(),
                metrics=self._metrics[index],
                operator_state=OperatorStateBackend(),
                job_parameters=self._job_parameters,
            )
        )

    def metrics(self) -> dict[int, MetricSnapshot]:
        """What the functions of each subtask have measured so far."""
        return {index: group.snapshot() for index, group in enumerate(self._metrics)}

    def discover(self, now: int) -> None:
        """There is nothing to find."""

    def ended(self) -> bool:
        """Whether everything has been taken."""
        return all(reader.is_finished() for reader in self._readers)

    def has_data(self, now: int) -> bool:
        """Whether something has come, or the end has."""
        return any(reader.has_data() or reader.is_finished() for reader in self._readers) and not self._all_told

    def next_data_time(self, now: int) -> int | None:
        """The readers wake the driver themselves."""
        return None

    def align(self, lowest: int | None, now: int) -> None:
        """Sources read in the driver are not aligned."""

    def lowest_watermark(self) -> int | None:
        """Not known here."""
        return None

    def tasks(self, max_records: int) -> dict[int, SourceTask]:
        """Take what has come and hand it to the subtasks."""
        tasks = {}
        for index, reader in enumerate(self._readers):
            events, self._states[index] = reader.take(max_records)
            tasks[index] = SourceTask(complete=reader.is_finished(), events=codec.dumps(events.entries))
        self._all_told = all(task.complete for task in tasks.values())
        return tasks

    def apply(self, report: SourceReport) -> None:
        """Positions are the readers' own."""

    def snapshot(self) -> dict[str, Any]:
        """The readers' states as they were after what was taken last."""
        return {"readers": list(self._states)}

    def committed(self, checkpoint_id: int, snapshot: dict[str, Any]) -> None:
        """Tell the readers that a checkpoint is complete."""
        for reader in self._readers:
            reader.checkpoint_complete(checkpoint_id)

    def close(self) -> None:
        """Stop the readers."""
        readers, self._readers = self._readers, []
        for reader in readers:
            reader.close()


class SourceCoordinator:
    """All sources of a job."""

    def __init__(
        self, planned: tuple[PlannedSource, ...], wake: Callable[[], None], job_parameters: dict[str, str]
    ) -> None:
        self._sources: list[SplitSourceState | DriverSourceState] = [
            DriverSourceState(each, wake, job_parameters)
            if isinstance(each.source, DriverSource)
            else SplitSourceState(each)
            for each in planned
        ]
        self._by_operator = {source.planned.operator: source for source in self._sources}

    def start(self, restored: dict[str, Any] | None) -> None:
        """Start all sources; ``restored`` is what :meth:`snapshot` gave, by uid."""
        for source in self._sources:
            with _named(source.planned):
                source.start(None if restored is None else restored.get(source.planned.uid))

    def discover(self, now: int) -> None:
        """Find new splits."""
        for source in self._sources:
            with _named(source.planned):
                source.discover(now)
        groups = {source.planned.alignment.group for source in self._sources if source.planned.alignment}
        for group in groups:
            self._align(group, now)

    def _align(self, group: str, now: int) -> None:
        members = [each for each in self._sources if each.planned.alignment and each.planned.alignment.group == group]
        marks = [mark for each in members if (mark := each.lowest_watermark()) is not None]
        for each in members:
            each.align(min(marks, default=None), now)

    def has_data(self, now: int) -> bool:
        """Whether an epoch would read something."""
        for source in self._sources:
            with _named(source.planned):
                if source.has_data(now):
                    return True
        return False

    def ended(self) -> bool:
        """Whether all sources have been read to their end."""
        for source in self._sources:
            with _named(source.planned):
                if not source.ended():
                    return False
        return True

    def next_data_time(self, now: int) -> int | None:
        """When the first source wants to be asked again."""
        return min((at for each in self._sources if (at := each.next_data_time(now)) is not None), default=None)

    def tasks(self, max_records: int) -> dict[int, dict[int, SourceTask]]:
        """Subtask -> operator -> what to read."""
        by_subtask: dict[int, dict[int, SourceTask]] = {}
        for source in self._sources:
            with _named(source.planned):
                tasks = source.tasks(max_records)
            for subtask, task in tasks.items():
                by_subtask.setdefault(subtask, {})[source.planned.operator] = task
        return by_subtask

    def apply(self, reports: dict[int, SourceReport]) -> None:
        """Take over what a subtask has read."""
        for operator, report in reports.items():
            self._by_operator[operator].apply(report)

    def metrics(self) -> dict[str, dict[int, MetricSnapshot]]:
        """By uid and subtask: what functions that are called in the driver have measured."""
        return {each.planned.uid: each.metrics() for each in self._sources if isinstance(each, DriverSourceState)}

    def snapshot(self) -> dict[str, Any]:
        """What :meth:`start` goes on from."""
        return {source.planned.uid: source.snapshot() for source in self._sources}

    def committed(self, checkpoint_id: int, snapshot: dict[str, Any]) -> None:
        """A checkpoint that holds this snapshot is complete."""
        for source in self._sources:
            source.committed(checkpoint_id, snapshot[source.planned.uid])

    def close(self) -> None:
        """Close all sources; what one raises does not keep the others from closing."""
        for source in self._sources:
            try:
                source.close()
            except Exception:  # a source that cannot close must not hide how the job ended
                log.exception("source %s failed to close", source.planned.name)


def _info(planned: PlannedSource) -> OperatorInfo:
    return OperatorInfo(planned.name, planned.uid, planned.call_site)


@contextmanager
def _named(planned: PlannedSource) -> Iterator[None]:
    """What a source raises in the driver names the source and the line that made it, as in a task."""
    try:
        yield
    except OperatorFailure:
        raise
    except BaseException as error:
        if is_from_outside(error):
            raise
        raise OperatorFailure.of(_info(planned), error) from error
