"""The operator at the start of a line: reads splits (or takes what the driver has read), makes watermarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from firesteel.common import WatermarkStrategy
from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.model.source import ReaderContext, ReadResult, Source, SourceReader, SourceSplit
from firesteel.runtime.batch import COLUMN_FACTOR, Batch, Format, RowBatch
from firesteel.runtime.contexts import SubtaskRuntimeContext
from firesteel.runtime.input_gate import combine
from firesteel.runtime.operator import Operator, OperatorContext
from firesteel.runtime.records import all_copied
from firesteel.runtime.remarks import MadeWatermarks
from firesteel.runtime.watermarks import StrategyRun
from firesteel.state import codec


@dataclass
class SourceTask:
    """What the driver asks a source subtask to read in an epoch.

    :param splits: The splits that are this subtask's, with the position to read on from.
    :param complete: No further splits will come: when these have ended, the subtask has ended.
    :param events: For sources read in the driver: the pickled entries of :class:`SourceEvents`.
    :param max_records: Stop after about so many records.
    :param held_back: The splits that are this subtask's, and must wait for others in event time.
    :param drain: The job stops for good: the last watermark follows what is read.
    """

    splits: list[tuple[SourceSplit, Any]] = field(default_factory=list)
    complete: bool = False
    events: bytes | None = None
    max_records: int = 0
    held_back: list[str] = field(default_factory=list)
    drain: bool = False


@dataclass
class SourceReport:
    """What a source subtask has read.

    :param positions: New position of each split that was asked for, and whether it has ended.
    :param watermarks: The watermark of each split, for alignment; None of one that is idle: nobody waits for it.
    :param newest: The highest timestamp at the end of any batch so far: where the stream has come to, give or take a
        batch, without looking at each record.
    """

    positions: dict[str, tuple[Any, bool]] = field(default_factory=dict)
    watermarks: dict[str, int | None] = field(default_factory=dict)
    records: int = 0
    newest: int = MIN_WATERMARK

    def followed_by(self, later: SourceReport) -> SourceReport:
        """What was read in two passes of one epoch."""
        return SourceReport(
            {**self.positions, **later.positions},
            {**self.watermarks, **later.watermarks},
            self.records + later.records,
            max(self.newest, later.newest),
        )


class SourceOperator(Operator):
    """Reads a source; None stands for one that the driver reads. It reads once per epoch, when its order comes."""

    def __init__(
        self,
        source: Source | None,
        strategy: WatermarkStrategy | None,
        ingestion_time: bool = False,
        gives: Format = Format.ROWS,
    ) -> None:
        self._source = source
        self.gives = gives
        self._strategy = strategy
        self._ingestion_time = ingestion_time
        self._reader: SourceReader | None = None
        self._runs: dict[str, StrategyRun] = {}
        self._restored_runs: dict[str, Any] = {}
        self._ended_splits: set[str] = set()
        self._newest = MIN_WATERMARK
        self._batch_records = 0
        self._report: SourceReport | None = None
        self.keeps_open = True

    def setup(self, context: OperatorContext) -> None:
        """Remember how large batches may be."""
        super().setup(context)
        self._batch_records = context.batch_records * (COLUMN_FACTOR if self.gives is Format.COLUMNS else 1)

    def restore(self, states: list[Any]) -> None:
        """Take back the watermark generators of all splits, whoever had them."""
        for state in states:
            self._restored_runs.update(state)

    def open(self) -> None:
        """Open the reader."""
        if self._source is not None:
            as_columns = self.gives is Format.COLUMNS
            self._reader = self._source.create_column_reader() if as_columns else self._source.create_reader()
            context = self.context
            runtime = SubtaskRuntimeContext(context)
            self._reader.open(ReaderContext(context.subtask_index, context.parallelism, runtime))

    def process(self, batch: RowBatch) -> None:
        """A source has no input."""
        raise TypeError("a source has no input")

    def on_order(self, order: SourceTask) -> None:
        """Read what the driver asks for, until the epoch's time is used up."""
        report = self._read(order)
        self._report = report if self._report is None else self._report.followed_by(report)
        self.records_read += report.records
        if order.drain and self.keeps_open:
            self.output.emit_watermark(MAX_WATERMARK)

    def rest_of(self, order: SourceTask) -> SourceTask | None:
        """The splits that have not ended, from where they have been read to, if there is a rest of the budget."""
        report = self._report
        if report is None or order.drain or report.records >= order.max_records:
            return None
        known = [(split, report.positions[split.split_id]) for split, _ in order.splits]
        still = [(split, position) for split, (position, ended) in known if not ended]
        return replace(order, splits=still) if still else None

    def report(self) -> SourceReport | None:
        """What was read in this epoch."""
        report, self._report = self._report, None
        return report

    def _read(self, task: SourceTask) -> SourceReport:
        report = SourceReport()
        if task.events is not None:
            self._replay(codec.loads(task.events), report)
        else:
            self._read_splits(task, self.context.clock.used_up, report)
        if task.complete and all(done for _, done in report.positions.values()):
            self.keeps_open = False
            self.output.emit_watermark(MAX_WATERMARK)
        else:
            idle = self._reader is None and self.output.idle
            self._ask_generators()
            self._advance()
            self.output.emit_status(idle or self._idle(task))
            report.watermarks = {
                split.split_id: None if run.idle else run.output.watermark
                for split, _ in task.splits
                if (run := self._run_of(split.split_id)) is not None
            }
        report.newest = self._newest
        return report

    def _read_splits(self, task: SourceTask, expired: Callable[[], bool], report: SourceReport) -> None:
        """Read all splits in turn, a batch at a time, until nothing new comes or the budget is used."""
        assert self._reader is not None
        for split_id in (*(split.split_id for split, _ in task.splits), *task.held_back):
            self._run_of(split_id)
        heard: dict[str, bool] = {}
        open_splits = list(task.splits)
        report.positions = {split.split_id: (position, False) for split, position in task.splits}
        asked = False
        # Each split is asked once, whatever the time: a source must not wait for ever because another takes it all.
        while open_splits and not (asked and (report.records >= task.max_records or expired())):
            asked = True
            still_open = []
            for split, position in open_splits:
                budget = min(self._batch_records, task.max_records - report.records)
                result = self._reader.read(split, position, max(1, budget), self.context.clock.now)
                report.records += len(result.values)
                report.positions[split.split_id] = (result.position, result.finished)
                heard[split.split_id] = heard.get(split.split_id, False) or bool(result.values)
                if result.values:
                    self._emit(split.split_id, self._batch_of(self._reader, result))
                if result.finished:
                    self._ended_splits.add(split.split_id)
                elif result.values:
                    still_open.append((split, result.position))
            open_splits = still_open
        self._listen(heard)

    def _batch_of(self, reader: SourceReader, result: ReadResult) -> Batch:
        if self.gives is Format.COLUMNS:
            from firesteel.runtime.columns.batch import ColumnBatch

            return ColumnBatch(result.values, result.timestamps)
        as_they_are = reader.gives_away or self.context.object_reuse
        return RowBatch(result.values if as_they_are else all_copied(result.values), result.timestamps)

    def _listen(self, heard: dict[str, bool]) -> None:
        """Let the clocks of silence go on: of the splits that were asked, whether they had records."""
        clock = self.context.clock
        for split_id, run in self._runs.items():
            if split_id not in heard:
                run.silence.not_asked()
            elif not heard[split_id]:
                run.silence.asked_in_vain(clock.now, clock.previous_end)

    def _replay(self, entries: list[tuple[Any, ...]], report: SourceReport) -> None:
        """Emit what the driver has read. In BATCH mode there are no watermarks before the end."""
        self._run_of("")
        for entry in entries:
            if entry[0] == "records":
                report.records += len(entry[1])
                self.output.emit_status(False)
                for start in range(0, len(entry[1]), self._batch_records):
                    end = start + self._batch_records
                    self._emit("", RowBatch(entry[1][start:end], entry[2] and entry[2][start:end]))
            elif self.context.batch_mode:
                continue
            elif entry[0] == "watermark":
                self.output.emit_watermark(entry[1])
            else:
                self.output.emit_status(entry[0] == "idle")
        self._listen({"": report.records > 0})

    def _emit(self, split_id: str, batch: Batch) -> None:
        if self._ingestion_time:
            batch = batch.stamped([self.context.clock.now] * len(batch))
        if self._strategy is None:
            self.output.emit(batch)
            return
        run = self._run_of(split_id)
        stamped = run.stamp_batch(batch)
        if stamped.timestamps is not None and len(stamped):
            self._newest = max(self._newest, int(stamped.timestamps[-1]))
        if run.wake():
            self.output.emit_status(False)
        run.run(stamped, self.output.emit, self._advance)

    def _run_of(self, split_id: str) -> StrategyRun | Any:
        if self._strategy is None:
            return None
        run = self._runs.get(split_id)
        if run is None:
            run = self._runs[split_id] = StrategyRun(self._strategy, self.context)
            if split_id in self._restored_runs:
                run.restore(self._restored_runs.pop(split_id))
        return run

    def _open_runs(self) -> list[StrategyRun]:
        return [run for split_id, run in self._runs.items() if split_id not in self._ended_splits]

    def _ask_generators(self) -> None:
        for run in self._open_runs():
            run.end_epoch(self.context.clock.now, self._advance)

    def _advance(self, _: int = MIN_WATERMARK) -> None:
        """The watermark of a source subtask: that of all its splits which are not at their end."""
        if self.context.batch_mode:
            return
        if self._ingestion_time:
            self.output.emit_watermark(self.context.clock.now - 1)
        else:
            self.output.emit_watermark(combine((run.output.watermark, run.idle) for run in self._open_runs()))

    def _idle(self, task: SourceTask) -> bool:
        """Idle: every split is silent, or a source read in tasks has given this subtask no split to read."""
        open_runs = self._open_runs()
        if open_runs:
            return all(run.idle for run in open_runs)
        if self._reader is None:
            return self.output.idle
        return not task.held_back and all(split.split_id in self._ended_splits for split, _ in task.splits)

    def next_processing_timer(self) -> int | None:
        """When an epoch is needed though no records come: to notice silence, or to ask a generator."""
        looks = [run.next_look(self.context.clock.now) for run in self._open_runs()]
        return min((look for look in looks if look is not None), default=None)

    def snapshot(self) -> Any | None:
        """The watermark generators, by split."""
        return {split_id: run.snapshot() for split_id, run in self._runs.items()}

    def close(self) -> None:
        """Close the reader."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def made_watermarks(self) -> MadeWatermarks:
        """How far the strategies of the splits are; a source without one hands on what its reader says."""
        strategy = self._strategy
        own = [run.output.watermark for run in self._runs.values()]
        made = strategy is not None or self._ingestion_time or self.output.watermark > MIN_WATERMARK
        idleness = strategy is not None and strategy.idle_timeout_ms is not None
        return MadeWatermarks(max(own, default=MIN_WATERMARK), self.output.idle, idleness, has_strategy=made)
