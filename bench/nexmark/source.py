"""The generator as a source of a job."""

from __future__ import annotations

from typing import Any

from bench.nexmark.generator import BLOCK, NexmarkConfig, NexmarkGenerator
from bench.nexmark.model import DATE_TIME, Event
from firesteel.common import Duration, WatermarkStrategy
from firesteel.connectors.datagen import IndexedGenerator, IndexedSource, RateLimiterStrategy
from firesteel.datastream import DataStream, StreamExecutionEnvironment


class NexmarkSource(IndexedSource):
    """Events with timestamps. The same events whatever the parallelism; each subtask makes whole blocks of them.

    :param count: How many events; None for no end.
    :param config: Which events.
    :param rate: Events per second of real time; as fast as possible if None.
    """

    def __init__(
        self, count: int | None = None, config: NexmarkConfig | None = None, rate: float | None = None
    ) -> None:
        super().__init__(count, None if rate is None else RateLimiterStrategy.per_second(rate))
        self.config = config or NexmarkConfig()

    def watermark_strategy(self) -> WatermarkStrategy:
        """Watermarks that never overtake an event."""
        return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(self.config.max_delay))

    def create_generator(self) -> IndexedGenerator:
        """What computes the events."""
        return _BlockGenerator(self.config, self.count)


class _BlockGenerator(IndexedGenerator):
    """The engine deals out indexes in turns: of ``n`` subtasks, number ``p`` is asked for ``p``, ``p + n``, ``p + 2n``
    and so on. Events are made fastest in a row, so they are dealt out in turns of whole blocks (or of whole groups,
    where these are mixed). What does not fill a turn of all subtasks, at the end, is dealt out one by one.
    """

    def __init__(self, config: NexmarkConfig, count: int | None) -> None:
        self._generator = NexmarkGenerator(config, count)
        self._count = count
        self._unit = max(BLOCK, config.out_of_order_group)

    def generate(self, indexes: range) -> tuple[list[Any], list[int]]:
        unit, step = self._unit, indexes.step
        position, lane = divmod(indexes.start, step)
        end = position + len(indexes)
        dealt = end if self._count is None else min(end, self._count // (unit * step) * unit)
        events: list[Event] = []
        while position < dealt:
            turn, offset = divmod(position, unit)
            until = min(dealt, (turn + 1) * unit)
            first = (turn * step + lane) * unit
            events += self._generator.events(first + offset, first + until - turn * unit)
            position = until
        if position < end:
            events += self._generator.events(position * step + lane, indexes[-1] + 1)[::step]
        return events, [event[DATE_TIME] for event in events]


def nexmark_events(
    env: StreamExecutionEnvironment,
    count: int | None = None,
    config: NexmarkConfig | None = None,
    rate: float | None = None,
) -> DataStream:
    """A stream of events with timestamps and watermarks; see :class:`NexmarkSource`."""
    source = NexmarkSource(count, config, rate)
    return env.from_source(source, source.watermark_strategy(), "nexmark events")
