"""Predictions inside a job: a record meets the version of the model that was in force at its time.

The versions are broadcast state of one model, and keyed state of models per key. A record with a timestamp waits until
event time, which is that of both streams, has reached it: then all versions of its time have come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    RuntimeContext,
    TimerService,
)
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor
from firesteel.ml.online.learner import Learner, ModelVersion, with_fields

VERSIONS = MapStateDescriptor("model versions")
_UNSEEN = ListStateDescriptor("before the first version")
_ALWAYS = -(2**63)
"""The time of versions without one: each replaces the one before at once."""


class _Predicting:
    """What both functions do with records, whichever state their versions are in."""

    def __init__(self, learner: Learner, initial: dict[str, Any] | None, version_field: str) -> None:
        self._learner, self._version_field = learner, version_field
        self._initial = None if initial is None else ModelVersion(0, None, initial)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._pending = runtime_context.get_map_state(MapStateDescriptor("pending records"))
        self._unseen = runtime_context.get_list_state(_UNSEEN)

    def take(self, value: Any, timestamp: int | None, timers: TimerService, versions: Any) -> Iterator[Any]:
        """A record: predicted now if its time has come, or kept for later."""
        if timestamp is None or timestamp <= timers.current_watermark():
            yield from self.predict([value], in_force(versions, timestamp, self._initial))
            return
        records = self._pending.get(timestamp)
        if records is None:
            records = []
            timers.register_event_time_timer(timestamp)
        records.append(value)
        self._pending.put(timestamp, records)

    def fire(self, timestamp: int, versions: Any) -> Iterator[Any]:
        """The time of some records has come."""
        records = self._pending.get(timestamp) or ()
        self._pending.remove(timestamp)
        yield from self.predict(records, in_force(versions, timestamp, self._initial))

    def predict(self, records: Iterable[Any], version: ModelVersion | None) -> Iterator[Any]:
        for record in records:
            if version is None:
                self._unseen.add(record)
                continue
            added = self._learner.predict(version.data, record)
            yield with_fields(record, {**added, self._version_field: version.version})


def in_force(versions: Any, timestamp: int | None, initial: ModelVersion | None) -> ModelVersion | None:
    """The newest version up to a time, or of all. Before the first it is the initial one, if there is one.

    A late record whose version is forgotten gets the oldest that is not.

    :param initial: What learning began with.
    """
    times = list(versions.keys())
    until = [time for time in times if timestamp is None or time <= timestamp]
    if until:
        return versions.get(max(until))  # type: ignore[no-any-return]
    oldest = versions.get(min(times)) if times else None
    return initial if oldest is None or (oldest.version == 1 and initial is not None) else oldest


def keep(versions: Any, version: ModelVersion, watermark: int) -> bool:
    """Add a version, and forget those that nothing can ask for any more; whether it is the first."""
    times = sorted(versions.keys())
    over = [time for time in times if time <= watermark]
    for time in over[:-1]:
        versions.remove(time)
    versions.put(_ALWAYS if version.timestamp is None else version.timestamp, version)
    return not times


class PredictByBroadcast(KeyedBroadcastProcessFunction):
    """Predicts with one model, whose versions every subtask knows."""

    def __init__(self, learner: Learner, initial: dict[str, Any] | None, version_field: str) -> None:
        self._predicting = _Predicting(learner, initial, version_field)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._predicting.open(runtime_context)

    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        versions = ctx.get_broadcast_state(VERSIONS)
        yield from self._predicting.take(value, ctx.timestamp(), ctx.timer_service(), versions)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield from self._predicting.fire(timestamp, ctx.get_broadcast_state(VERSIONS))

    def process_broadcast_element(
        self, value: ModelVersion, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        is_first = keep(ctx.get_broadcast_state(VERSIONS), value, ctx.current_watermark())
        waiting: list[Any] = []

        def take_all(_: Any, records: Any) -> None:
            waiting.extend(records.get() or ())
            records.clear()

        if is_first:
            ctx.apply_to_keyed_state(_UNSEEN, take_all)
        yield from self._predicting.predict(waiting, value)


class PredictByKey(KeyedCoProcessFunction):
    """Predicts with a model per key. The first input are the records, the second the versions."""

    def __init__(self, learner: Learner, initial: dict[str, Any] | None, version_field: str) -> None:
        self._predicting = _Predicting(learner, initial, version_field)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._predicting.open(runtime_context)
        self._versions = runtime_context.get_map_state(VERSIONS)
        self._unseen = runtime_context.get_list_state(_UNSEEN)

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield from self._predicting.take(value, ctx.timestamp(), ctx.timer_service(), self._versions)

    def process_element2(self, value: ModelVersion, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        if keep(self._versions, value, ctx.timer_service().current_watermark()):
            waiting = list(self._unseen.get() or ())
            self._unseen.clear()
            yield from self._predicting.predict(waiting, value)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield from self._predicting.fire(timestamp, self._versions)
