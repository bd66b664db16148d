"""Timestamps and watermarks: running a watermark strategy over batches, and combining the watermarks of inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common import WatermarkStrategy
from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.common.watermark_strategy import Watermark, WatermarkOutput
from firesteel.errors import TypeMismatchError
from firesteel.runtime.batch import Batch
from firesteel.runtime.operator import Operator, OperatorContext


class GeneratorOutput(WatermarkOutput):
    """Takes what a watermark generator says, until it is asked for."""

    def __init__(self) -> None:
        self.watermark = MIN_WATERMARK
        self.idle = False
        self.changed = False

    def emit_watermark(self, watermark: Watermark | int) -> None:
        """The generator has advanced. Going back is not possible and changes nothing."""
        timestamp = watermark if isinstance(watermark, int) else watermark.timestamp
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

    def __init__(self, strategy: WatermarkStrategy, interval: int) -> None:
        self._generator = strategy.create_generator()
        self._extract = strategy.timestamp_function
        self._on_timestamps: Callable[[list[int]], None] | None = getattr(self._generator, "on_timestamps", None)
        self._idle_timeout = strategy.idle_timeout_ms
        self._interval = interval
        self._last_activity: int | None = None
        self._timed_out = False
        self.output = GeneratorOutput()

    @property
    def idle(self) -> bool:
        """Whether the stream is idle: silent for too long, or said to be so by the generator."""
        return self._timed_out or self.output.idle

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

    def run(self, batch: Batch, now: int, emit: Callable[[Batch], None], advance: Callable[[int], None]) -> None:
        """Pass stamped records on, with the watermarks that they cause."""
        self._last_activity = now
        if self._timed_out or self.output.idle:
            self._timed_out = False
            self.output.mark_active()
        if batch.timestamps is None:
            emit(batch)
        elif self._on_timestamps is not None:
            self._run_whole(batch, emit, advance)
        else:
            self._run_by_event(batch, emit, advance)

    def _run_whole(self, batch: Batch, emit: Callable[[Batch], None], advance: Callable[[int], None]) -> None:
        """For generators that never speak in between: only the interval cuts."""
        assert batch.timestamps is not None and self._on_timestamps is not None
        for start in range(0, len(batch), self._interval):
            end = start + self._interval
            stamps = batch.timestamps[start:end]
            self._on_timestamps(stamps)
            emit(Batch(batch.values[start:end], stamps, batch.keys and batch.keys[start:end]))
            self._periodic(advance)

    def _run_by_event(self, batch: Batch, emit: Callable[[Batch], None], advance: Callable[[int], None]) -> None:
        values, stamps, output, on_event = batch.values, batch.timestamps, self.output, self._generator.on_event
        assert stamps is not None
        start = 0
        for index, (value, stamp) in enumerate(zip(values, stamps), 1):
            on_event(value, stamp, output)
            if index - start >= self._interval:
                self._generator.on_periodic_emit(output)
            elif not output.changed and index < len(values):
                continue
            emit(Batch(values[start:index], stamps[start:index], batch.keys and batch.keys[start:index]))
            start = index
            self._announce(advance)
        self._periodic(advance)

    def _periodic(self, advance: Callable[[int], None]) -> None:
        self._generator.on_periodic_emit(self.output)
        self._announce(advance)

    def _announce(self, advance: Callable[[int], None]) -> None:
        if self.output.changed:
            self.output.changed = False
            advance(self.output.watermark)

    def advance_processing_time(self, now: int) -> None:
        """Notice that the stream has been silent for too long."""
        if self._last_activity is None:
            self._last_activity = now
        due = self.idle_at()
        if due is not None and now >= due:
            self._timed_out = True

    def idle_at(self) -> int | None:
        """When the stream becomes idle if nothing comes."""
        if self._idle_timeout is None or self._timed_out or self._last_activity is None:
            return None
        return self._last_activity + self._idle_timeout

    def snapshot(self) -> tuple[Any, int]:
        """The generator's state and the last watermark."""
        return (self._generator.snapshot(), self.output.watermark)

    def restore(self, state: tuple[Any, int]) -> None:
        """Go on from a snapshot."""
        generator_state, self.output.watermark = state
        self._generator.restore(generator_state)


class TimestampsAndWatermarksOperator(Operator):
    """Runs a watermark strategy in the middle of a stream. Of the watermarks from before only the last is passed on."""

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy
        self._run: StrategyRun

    def setup(self, context: OperatorContext) -> None:
        """Make the generator."""
        super().setup(context)
        self._run = StrategyRun(self._strategy, context.watermark_interval)

    def restore(self, states: list[Any]) -> None:
        """Go on with the generator of the subtask whose place this one takes: the slowest, if there were several."""
        if states:
            self._run.restore(min(states, key=lambda state: state[1]))

    def process(self, batch: Batch) -> None:
        """Stamp records and send them on with watermarks between them."""
        self.cursor = iter(batch.values)
        stamps = self._run.stamp(self.cursor, batch.timestamps)
        stamped = Batch(batch.values, stamps)
        self._run.run(stamped, self.context.clock.now, self.output.emit, self._advance)
        self.output.emit_status(self._run.idle)

    def _advance(self, watermark: int) -> None:
        self.watermark = watermark
        self.output.emit_watermark(watermark)

    def advance_watermark(self, watermark: int) -> None:
        """Pass on only the end of all time."""
        if watermark == MAX_WATERMARK:
            self._advance(watermark)

    def advance_processing_time(self, now: int) -> None:
        """Notice idleness."""
        self._run.advance_processing_time(now)
        self.output.emit_status(self._run.idle)

    def next_processing_timer(self) -> int | None:
        """When idleness has to be looked at."""
        return self._run.idle_at()

    def snapshot(self) -> Any | None:
        """The generator's state."""
        return self._run.snapshot()


class InputGate:
    """Combines the watermarks of all channels that lead to an operator: the minimum over those that are not idle.

    A channel is ``(edge, from_subtask)``. Watermarks are kept from epoch to epoch.
    """

    def __init__(self, channels: list[tuple[int, int]]) -> None:
        self.watermarks: dict[tuple[int, int], int] = dict.fromkeys(channels, MIN_WATERMARK)
        self.idle_channels: set[tuple[int, int]] = set()
        self.ended: set[tuple[int, int]] = set()
        self.watermark = MIN_WATERMARK

    def advance(self, channel: tuple[int, int], watermark: int) -> int | None:
        """A channel has advanced; the combined watermark if it advances too."""
        self.watermarks[channel] = watermark
        return self._combine()

    def set_idle(self, channel: tuple[int, int], idle: bool) -> int | None:
        """A channel has become idle or active; the combined watermark if it advances."""
        if idle:
            self.idle_channels.add(channel)
        else:
            self.idle_channels.discard(channel)
        return self._combine()

    @property
    def idle(self) -> bool:
        """Whether all channels are idle."""
        return len(self.idle_channels) == len(self.watermarks) > 0

    def _combine(self) -> int | None:
        active = [mark for channel, mark in self.watermarks.items() if channel not in self.idle_channels]
        if not active:
            return None
        combined = min(active)
        if combined <= self.watermark:
            return None
        self.watermark = combined
        return combined

    def end(self, channel: tuple[int, int]) -> None:
        """Nothing more will come on a channel."""
        self.ended.add(channel)

    @property
    def all_ended(self) -> bool:
        """Whether nothing more will come at all."""
        return len(self.ended) == len(self.watermarks)

    def snapshot(self) -> dict[str, Any]:
        """Watermark and idleness of each channel, and the combined watermark. Ends are told again after a restart."""
        return {
            "watermarks": dict(self.watermarks),
            "idle": sorted(self.idle_channels),
            "combined": self.watermark,
        }

    def restore(self, states: list[dict[str, Any]], rescaled: bool) -> None:
        """Go on from what this subtask stored, or from what all subtasks stored if there are other subtasks now.

        In the latter case event time stands where it stood in the slowest of them. A snapshot that was taken with other
        inputs is left alone: those of the program now may begin at another time.
        """
        edges = {edge for edge, _ in self.watermarks}
        if not states or any({edge for edge, _ in state["watermarks"]} != edges for state in states):
            return
        if not rescaled and set(states[0]["watermarks"]) == set(self.watermarks):
            self.watermarks = dict(states[0]["watermarks"])
            self.idle_channels = {tuple(channel) for channel in states[0]["idle"]}
        self.watermark = min(state["combined"] for state in states)
