"""Learning inside a job: the learner's state is keyed state, and versions of the model come out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.ml.online.batches import END_OF_TIME, CountTumblingWindows, Windows
from firesteel.ml.online.learner import Learner, ModelVersion


class Train(KeyedProcessFunction):
    """A learner per key; after each batch it gives a :class:`ModelVersion`."""

    def __init__(self, learner: Learner, windows: Windows, initial: dict[str, Any] | None, keyed: bool) -> None:
        self._learner, self._windows, self._initial, self._keyed = learner, windows, initial, keyed

    def open(self, runtime_context: RuntimeContext) -> None:
        # (number of the version, records since, greatest timestamp, the learner's state)
        self._progress = runtime_context.get_state(ValueStateDescriptor("progress"))
        # Records of batches that end with event time, by that end: later ones come while earlier ones are open.
        self._waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[ModelVersion]:
        timestamp = ctx.timestamp()
        if self._windows.waits:
            self._wait(value, ctx)
            return
        number, count, newest, state = self._current()
        state = self._learner.learn(state, value)
        count += 1
        if timestamp is not None:
            newest = timestamp if newest is None else max(newest, timestamp)
        if not isinstance(self._windows, CountTumblingWindows) or count < self._windows.size:
            self._progress.update((number, count, newest, state))
            if number == 0 and count == 1 and self._windows.end_of(timestamp) is not None:
                ctx.timer_service().register_event_time_timer(END_OF_TIME)
            return
        # What was predicted up to the watermark has been predicted without this version, and stays so.
        since = None if newest is None else max(newest, ctx.timer_service().current_watermark() + 1)
        yield self._next_version(number, since, newest, state, ctx.get_current_key())

    def _wait(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        timestamp, watermark = ctx.timestamp(), ctx.timer_service().current_watermark()
        end = self._windows.end_of(timestamp)
        if end is None or end <= watermark:
            # A record that is too late for its batch is learned from with the one that is open.
            end = min(self._windows.end_of(watermark + 1) or END_OF_TIME, END_OF_TIME)
        records = self._waiting.get(end)
        if records is None:
            records = []
            ctx.timer_service().register_event_time_timer(end)
        records.append(value)
        self._waiting.put(end, records)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[ModelVersion]:
        number, _, newest, state = self._current()
        for value in self._waiting.get(timestamp) or ():
            state = self._learner.learn(state, value)
        self._waiting.remove(timestamp)
        yield self._next_version(number, timestamp, newest, state, ctx.get_current_key())

    def _current(self) -> tuple[int, int, int | None, Any]:
        current: tuple[int, int, int | None, Any] | None = self._progress.value()
        return current or (0, 0, None, self._learner.start(self._initial))

    def _next_version(self, number: int, since: int | None, newest: int | None, state: Any, key: Any) -> ModelVersion:
        state, data = self._learner.end_batch(state)
        self._progress.update((number + 1, 0, newest, state))
        return ModelVersion(number + 1, since, data, key if self._keyed else None)
