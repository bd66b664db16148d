"""The driver's half of a source read in the tasks: which splits there are, where each is read on from, by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.common.watermark_strategy import WatermarkAlignment
from firesteel.errors import ProgramError
from firesteel.model.coordinator import Coordinator, EpochPlan, Intake, OperatorReport
from firesteel.model.source import Source, SourceSplit, SplitEnumerator
from firesteel.runtime.source import SourceReport, SourceTask

SOURCES = "sources"
"""The heading under which splits and positions are stored."""


@dataclass
class _AssignedSplit:
    split: SourceSplit
    subtask: int
    position: Any
    finished: bool = False
    watermark: int | None = MIN_WATERMARK
    """None: the split is idle."""


def intake_of(reports: Sequence[OperatorReport]) -> Intake:
    """What the subtasks of a source have read."""
    read: dict[int, SourceReport] = {report.subtask: report.message for report in reports}
    newest = max((each.newest for each in read.values()), default=None)
    return Intake({subtask: each.records for subtask, each in read.items()}, newest)


class SourceCoordinator(Coordinator):
    """Asks the enumerator for splits, deals them out, and keeps their positions."""

    kind = SOURCES

    def __init__(self, source: Source, alignment: WatermarkAlignment | None = None) -> None:
        self._source = source
        self._alignment = alignment
        self._enumerator: SplitEnumerator | None = None
        self._splits: dict[str, _AssignedSplit] = {}
        self._assigned = 0
        self._taken: dict[int, dict[str, Any]] = {}
        """Checkpoint -> its snapshot, until it is complete."""
        self._intake = Intake()
        self._aligned_at = -(1 << 62)
        self._held_back: set[str] = set()

    def restore(self, checkpoint_id: int | None, state: dict[str, Any] | None) -> None:
        """Start a new enumerator."""
        self._splits, self._taken, self._held_back = {}, {}, set()
        self._assigned = 0 if state is None else state["assigned"]
        parallelism = self.context.parallelism
        if state is not None:
            for split_id, (split, subtask, position, finished, watermark) in state["splits"].items():
                self._splits[split_id] = _AssignedSplit(split, subtask % parallelism, position, finished, watermark)
        self._enumerator = self._source.create_enumerator(parallelism)
        self._enumerator.open(self.context)
        self._enumerator.start(None if state is None else state["enumerator"])

    @property
    def _running(self) -> SplitEnumerator:
        assert self._enumerator is not None, "a source is used before it was started"
        return self._enumerator

    def poll(self, now: int) -> None:
        """Ask for new splits and give each to a subtask."""
        for split in self._running.discover_splits(now):
            if split.split_id in self._splits:
                raise ProgramError(
                    f"source {self.context.name!r} has found split {split.split_id!r} twice; split ids must be unique"
                )
            subtask = self._assigned % self.context.parallelism
            self._assigned += 1
            self._splits[split.split_id] = _AssignedSplit(split, subtask, self._source.initial_position(split))
        if self._alignment is not None:
            self._marks(self._alignment)[self.context.uid] = self._lowest_watermark()

    def _open_splits(self) -> list[_AssignedSplit]:
        return [each for each in self._splits.values() if not each.finished]

    def ended(self) -> bool:
        """Whether everything has been read."""
        return self._running.no_more_splits() and not self._open_splits()

    def has_work(self, now: int) -> bool:
        """Whether an epoch would read something."""
        self._align(now)
        return any(
            self._running.has_data(each.split, each.position, now)
            for each in self._open_splits()
            if each.split.split_id not in self._held_back
        )

    def next_work_time(self, now: int) -> int | None:
        """When the source wants to be asked again."""
        return self._running.next_data_time(now)

    def _marks(self, alignment: WatermarkAlignment) -> dict[str, int | None]:
        """Source -> where its slowest split is, of all sources of a group."""
        marks: dict[str, int | None] = self.context.shared.setdefault(f"alignment {alignment.group}", {})
        return marks

    def _lowest_watermark(self) -> int | None:
        """The watermark of the slowest split that has not ended and is not idle."""
        return min((each.watermark for each in self._open_splits() if each.watermark is not None), default=None)

    def _align(self, now: int) -> None:
        """Hold back the splits that are too far ahead of the slowest of their group in event time."""
        alignment = self._alignment
        if alignment is None or now - self._aligned_at < alignment.update_interval_ms:
            return
        self._aligned_at = now
        lowest = min((mark for mark in self._marks(alignment).values() if mark is not None), default=None)
        self._held_back = set()
        if lowest is not None:
            marks = [(each.split.split_id, each.watermark) for each in self._open_splits()]
            limit = lowest + alignment.max_drift_ms
            self._held_back = {split_id for split_id, mark in marks if mark is not None and mark > limit}

    def orders(self, epoch: EpochPlan) -> Mapping[int, SourceTask]:
        """What each subtask has to read."""
        self._align(epoch.now)
        complete = self._running.no_more_splits()
        tasks = {
            index: SourceTask(complete=complete, max_records=epoch.max_records, drain=epoch.drain)
            for index in range(self.context.parallelism)
        }
        for each in self._open_splits():
            if each.split.split_id in self._held_back:
                tasks[each.subtask].complete = False
                tasks[each.subtask].held_back.append(each.split.split_id)
            else:
                tasks[each.subtask].splits.append((each.split, each.position))
        return tasks

    def apply(self, reports: Sequence[OperatorReport]) -> None:
        """Take over the positions that the subtasks have reached."""
        self._intake = intake_of(reports)
        for report in reports:
            self._apply(report.message)

    def _apply(self, report: SourceReport) -> None:
        for split_id, (position, finished) in report.positions.items():
            each = self._splits[split_id]
            newly_finished = finished and not each.finished
            each.position, each.finished = position, finished
            if newly_finished:
                self._running.split_finished(each.split)
        for split_id, watermark in report.watermarks.items():
            self._splits[split_id].watermark = watermark

    def intake(self) -> Intake:
        """What was read in the last epoch."""
        return self._intake

    def snapshot(self, checkpoint_id: int) -> dict[str, Any]:
        """All splits with their positions, and what the enumerator knows."""
        splits = {
            split_id: (each.split, each.subtask, each.position, each.finished, each.watermark)
            for split_id, each in self._splits.items()
        }
        taken = {"splits": splits, "assigned": self._assigned, "enumerator": self._running.snapshot()}
        self._taken[checkpoint_id] = taken
        return taken

    def committed(self, checkpoint_id: int) -> None:
        """Tell the enumerator that a checkpoint is complete; splits that had ended by then are forgotten."""
        taken = self._taken.get(checkpoint_id)
        self._taken = {number: each for number, each in self._taken.items() if number > checkpoint_id}
        if taken is None or self._enumerator is None:
            return
        self._enumerator.committed({split_id: entry[2] for split_id, entry in taken["splits"].items()})
        for split_id, (_, _, _, finished, _) in taken["splits"].items():
            if finished:
                self._splits.pop(split_id, None)

    def roll_back(self, checkpoint_id: int | None) -> None:
        """Close the enumerator: the next run has its own."""
        self.close()

    def shortcoming(self) -> str | None:
        """A source that cannot be read again loses records."""
        return None if self._source.replayable else unreplayable(self.context.name, self._source.guarantee)

    def close(self) -> None:
        """Close the enumerator."""
        enumerator, self._enumerator = self._enumerator, None
        if enumerator is not None:
            enumerator.close()


def unreplayable(name: str, reason: str) -> str:
    """What is said of a source that cannot be read again."""
    return (
        f"source {name!r} cannot be replayed ({reason}): records read since the last checkpoint are lost when the job "
        "restarts, so it is not exactly-once"
    )
