"""Timestamps and watermarks: running a watermark strategy over batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from firesteel.common import WatermarkStrategy
from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.common.watermark_strategy import (
    FieldTimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from firesteel.errors import TypeMismatchError
from firesteel.runtime.batch import Batch, Format, RowBatch
from firesteel.runtime.idleness import SilenceClock
from firesteel.runtime.operator import Operator, OperatorContext, Receiver
from firesteel.runtime.remarks import MadeWatermarks

_ASKED_WITHOUT_RECORDS = 200
"""How often a generator that may speak without records is asked if no interval is set, in milliseconds."""


class GeneratorOutput(WatermarkOutput):
    """Takes what a watermark generator says, until it is asked for."""

    def __init__(self) -> None:
        self.watermark = MIN_WATERMARK
        self.idle = False
        self.changed = False

    def emit_watermark(self, watermark: Watermark | int) -> None:
        """The generator has advanced. Going back is not possible and changes nothing."""
        timestamp = watermark.timestamp if isinstance(watermark, Watermark) else watermark
        if timestamp.__class__ is not int:
            raise TypeMismatchError(
                f"a watermark must be milliseconds as int, got {type(timestamp).__name__}: {timestamp!r}. "
                "Emit Watermark(int(...))"
            )
        self.idle = False
        if timestamp > self.watermark:
            self.watermark = timestamp
            self.changed = True

    def mark_idle(self) -> None:
        """The generator expects nothing for a while."""
        self.idle = self.changed = True

    def mark_active(self) -> None:
        """The generator expects records again."""
        self.idle = False
        self.changed = True


class StrategyRun:
    """One watermark strategy at work on one stream of records: a split, or an operator's input.

    Cuts batches where the generator says something, so that watermarks stay between the records they came between.
    """

    def __init__(self, strategy: WatermarkStrategy, context: OperatorContext) -> None:
        self._generator = strategy.create_generator()
        self._extract = strategy.timestamp_function
        assigner = strategy.timestamp_assigner
        self._by_field = assigner if isinstance(assigner, FieldTimestampAssigner) else None
        self._on_timestamps = _method_for_batches(self._generator)
        self._on_latest = _method_before(self._generator, "on_latest_timestamp", "on_event", "on_timestamps")
        self._speaks_by_itself = _speaks_without_records(self._generator)
        self._batch_records = context.batch_records
        self._interval = context.auto_watermark_interval
        self._silent_until_the_end = context.batch_mode
        self._asked_at = context.clock.now
        self._news = False
        """Whether records have come since the generator was asked."""
        self.silence = SilenceClock(None if context.batch_mode else strategy.idle_timeout_ms)
        self.output = GeneratorOutput()

    @property
    def idle(self) -> bool:
        """Whether the stream is idle: silent for too long, or said to be so by the generator."""
        return self.silence.idle or self.output.idle

    def stamp(self, values: Iterable[Any], timestamps: list[int] | None) -> list[int] | None:
        """The timestamps that the assigner gives; those that are there if there is none."""
        extract = self._extract
        if extract is None:
            return timestamps
        if timestamps is None:
            stamps = [extract(value, MIN_WATERMARK) for value in values]
        else:
            stamps = [extract(value, stamp) for value, stamp in zip(values, timestamps)]
        if not set(map(type, stamps)) <= {int}:
            wrong = next(stamp for stamp in stamps if stamp.__class__ is not int)
            raise TypeMismatchError(
                f"a timestamp assigner must return milliseconds as int, got {type(wrong).__name__}: {wrong!r}"
            )
        return stamps

    def stamp_batch(self, batch: Batch) -> Any:
        """The batch with the timestamps that the assigner gives."""
        if self._extract is None:
            return batch
        if isinstance(batch, RowBatch):
            return RowBatch(batch.values, self.stamp(batch.values, batch.timestamps))
        if self._by_field is not None:
            from firesteel.runtime.columns.times import stamped_by

            return stamped_by(self._by_field, batch)  # type: ignore[arg-type]
        rows = batch.rows()
        return batch.stamped(self.stamp(rows.values, rows.timestamps) or [])

    def wake(self) -> bool:
        """Records have come. Returns whether the stream was idle until now."""
        was_idle = self.idle
        self.silence.heard()
        self.output.idle = False
        self._news = True
        return was_idle

    def run(self, batch: Any, emit: Receiver, advance: Callable[[int], None]) -> None:
        """Pass stamped records on, with the watermarks that they cause."""
        if self._silent_until_the_end:
            emit(batch)
        elif self._on_latest is not None and batch.__class__ is not RowBatch:
            self._run_columns(batch, emit, advance)
        elif self._on_timestamps is None:
            self._run_by_event(batch, emit, advance)
        elif batch.timestamps is None:
            emit(batch)
        else:
            self._run_whole(batch, emit, advance)

    def _run_columns(self, batch: Any, emit: Receiver, advance: Callable[[int], None]) -> None:
        """For generators that want to know the highest timestamp only."""
        assert self._on_latest is not None
        if batch.timestamps is not None:
            self._on_latest(batch.latest())
        emit(batch)
        if self._interval is None and batch.timestamps is not None:
            self._ask(advance)

    def _run_whole(self, batch: Any, emit: Receiver, advance: Callable[[int], None]) -> None:
        """For generators that never speak in between: only the size of batches cuts."""
        stamps, seen = batch.timestamps, self._on_timestamps
        assert stamps is not None and seen is not None
        stamps = stamps if stamps.__class__ is list else stamps.to_pylist()
        if self._interval is not None:
            seen(stamps)
            emit(batch)
            return
        for start in range(0, len(batch), self._batch_records):
            end = start + self._batch_records
            seen(stamps[start:end])
            emit(batch.slice(start, end))
            self._ask(advance)

    def _run_by_event(self, batch: Any, emit: Receiver, advance: Callable[[int], None]) -> None:
        rows = batch.rows()
        values, stamps, output, on_event = rows.values, rows.timestamps, self.output, self._generator.on_event
        limit = self._batch_records if self._interval is None else len(values)
        start = 0
        for index, (value, stamp) in enumerate(zip(values, repeat(MIN_WATERMARK) if stamps is None else stamps), 1):
            on_event(value, stamp, output)
            if self._interval is None and index - start >= limit:
                self._generator.on_periodic_emit(output)
            elif not output.changed and index < len(values):
                continue
            emit(batch.slice(start, index))
            start = index
            self._announce(advance)
        if self._interval is None:
            self._ask(advance)

    def _ask(self, advance: Callable[[int], None]) -> None:
        self._news = False
        self._generator.on_periodic_emit(self.output)
        self._announce(advance)

    def _announce(self, advance: Callable[[int], None]) -> None:
        if self.output.changed:
            self.output.changed = False
            advance(self.output.watermark)

    def end_epoch(self, now: int, advance: Callable[[int], None]) -> None:
        """Ask the generator if it is time to: with or without records."""
        if self._silent_until_the_end or self.silence.idle or self._interval == 0:
            return
        if self._interval is None:
            if self._speaks_by_itself:
                self._ask(advance)
        elif now - self._asked_at >= self._interval:
            self._asked_at = now
            self._ask(advance)

    def next_look(self, now: int) -> int | None:
        """When an epoch is needed though no records come: to notice silence, or to ask the generator."""
        looks = [self.silence.due(now), self._next_asking(now)]
        return min((look for look in looks if look is not None), default=None)

    def _next_asking(self, now: int) -> int | None:
        if self._silent_until_the_end or self.idle or self._interval == 0:
            return None
        if self._interval is None:
            return now + _ASKED_WITHOUT_RECORDS if self._speaks_by_itself else None
        return self._asked_at + self._interval if self._news or self._speaks_by_itself else None

    def snapshot(self) -> tuple[Any, int, bool]:
        """The generator's state, the last watermark, and whether the stream is idle."""
        return (self._generator.snapshot(), self.output.watermark, self.idle)

    def restore(self, state: tuple[Any, int, bool]) -> None:
        """Go on from a snapshot. A stream that was idle still is, until records come."""
        generator_state, self.output.watermark, self.silence.idle = state
        self._generator.restore(generator_state)


def _method_for_batches(generator: WatermarkGenerator) -> Callable[[Iterable[int]], None] | None:
    """The method that stands for many calls of ``on_event``, unless a subclass has an ``on_event`` of its own."""
    return _method_before(generator, "on_timestamps", "on_event")


def _method_before(generator: WatermarkGenerator, name: str, *others: str) -> Callable[[Any], None] | None:
    """The method of that name, unless a subclass has one of the others of its own."""
    for kind in type(generator).__mro__:
        if name in vars(kind):
            method: Callable[[Any], None] = getattr(generator, name)
            return method
        if any(other in vars(kind) for other in others):
            break
    return None


def _speaks_without_records(generator: WatermarkGenerator) -> bool:
    """Whether asking the generator makes sense though nothing has come: not for those that only look at timestamps."""
    for kind in type(generator).__mro__:
        if "on_periodic_emit" in vars(kind):
            return kind is not WatermarkGenerator and "on_timestamps" not in vars(kind)
    return False


class TimestampsAndWatermarksOperator(Operator):
    """Runs a watermark strategy in the middle of a stream.

    Of the watermarks from before only the last is passed on, and nothing of their idleness.
    """

    takes = gives = Format.EITHER

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy
        self._run: StrategyRun
        self._heard = False

    def setup(self, context: OperatorContext) -> None:
        """Make the generator."""
        super().setup(context)
        self._run = StrategyRun(self._strategy, context)

    def restore(self, states: list[Any]) -> None:
        """Go on with the generator of the subtask whose place this one takes: the slowest, if there were several."""
        if states:
            self._run.restore(min(states, key=lambda state: state[1]))

    def process(self, batch: Batch) -> None:
        """Stamp records and send them on with watermarks between them."""
        self._heard = True
        stamped = self._stamped(batch)
        if self._run.wake():
            self.output.emit_status(False)
        self._run.run(stamped, self.output.emit, self._advance)

    def _stamped(self, batch: Batch) -> Any:
        if not isinstance(batch, RowBatch):
            return self._run.stamp_batch(batch)
        self.cursor = iter(batch.values)
        return RowBatch(batch.values, self._run.stamp(self.cursor, batch.timestamps))

    def _advance(self, watermark: int) -> None:
        self.watermark = watermark
        self.output.emit_watermark(watermark)

    def advance_watermark(self, watermark: int) -> None:
        """Pass on only the end of all time."""
        if watermark == MAX_WATERMARK:
            self._advance(watermark)

    def advance_status(self, idle: bool) -> None:
        """The strategy says by itself what is idle."""

    def end_epoch(self) -> None:
        """Notice silence, and ask the generator if it is time to."""
        clock = self.context.clock
        if not self._heard:
            self._run.silence.asked_in_vain(clock.now, clock.previous_end)
        self._heard = False
        self._run.end_epoch(clock.now, self._advance)
        if self.watermark != MAX_WATERMARK:
            self.output.emit_status(self._run.idle)

    def settle(self) -> None:
        """The same within an epoch: event time does not wait for its end."""
        self.end_epoch()

    def next_processing_timer(self) -> int | None:
        """When an epoch is needed though no records come."""
        return self._run.next_look(self.context.clock.now)

    def snapshot(self) -> Any | None:
        """The generator's state."""
        return self._run.snapshot()

    def made_watermarks(self) -> MadeWatermarks:
        """How far the strategy is."""
        last, idleness = self._run.output.watermark, self._strategy.idle_timeout_ms is not None
        return MadeWatermarks(last, self.output.idle, idleness, has_strategy=True)
