"""The programs that transcripts name: each makes a stream of plain results out of one or two scripted inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.datastream import DataStream, KeyedCoProcessFunction, KeyedProcessFunction, OutputTag, RuntimeContext
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

Program = Callable[..., DataStream]
PROGRAMS: dict[str, Program] = {}

LATE = OutputTag("late")


def program(function: Program) -> Program:
    PROGRAMS[function.__name__.replace("_", "-")] = function
    return function


def first(record: list[Any]) -> Any:
    return record[0]


class RunningSum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value: list[Any], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        total = (self.sum.value() or 0) + value[1]
        self.sum.update(total)
        yield [value[0], total]


@program
def running_sum(records: DataStream) -> DataStream:
    """[key, n] -> [key, sum of n so far]."""
    return records.key_by(first).process(RunningSum())


class Deduplicate(KeyedProcessFunction):
    """Forgets a key when event time has passed its first record by 100 ms."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: list[Any], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if self.seen.value() is None:
            self.seen.update(True)
            timestamp = ctx.timestamp()
            if timestamp is not None:
                ctx.timer_service().register_event_time_timer(timestamp + 100)
            yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        self.seen.clear()


@program
def deduplicate(records: DataStream) -> DataStream:
    """[key, ...] -> the first record of each key, and of each key again once it has been forgotten."""
    return records.key_by(first).process(Deduplicate())


class TumblingSum(KeyedProcessFunction):
    """Sums per key and 10 ms of event time, made of map state and timers. What comes too late goes aside."""

    SIZE = 10

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums"))

    def process_element(self, value: list[Any], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timestamp = ctx.timestamp()
        assert timestamp is not None
        end = timestamp - timestamp % self.SIZE + self.SIZE
        if end - 1 <= ctx.timer_service().current_watermark():
            yield LATE, ["late", *value]
        else:
            self.sums.put(end, (self.sums.get(end) or 0) + value[1])
            ctx.timer_service().register_event_time_timer(end - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        end = timestamp + 1
        yield [ctx.get_current_key(), end, self.sums.get(end)]
        self.sums.remove(end)


@program
def tumbling_sum(records: DataStream) -> DataStream:
    """[key, n] -> [key, end, sum] per 10 ms of event time; ["late", key, n] for late records."""
    sums = records.key_by(first).process(TumblingSum())
    return sums.union(sums.get_side_output(LATE))


class Timers(KeyedProcessFunction):
    """Does what records [key, action, timestamp] say; actions are register-event, delete-processing and so on."""

    def process_element(self, value: list[Any], ctx: KeyedProcessFunction.Context) -> None:
        action, _, domain = value[1].partition("-")
        getattr(ctx.timer_service(), f"{action}_{domain}_time_timer")(value[2])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield [ctx.get_current_key(), timestamp, ctx.time_domain().name]


@program
def timers(records: DataStream) -> DataStream:
    """[key, action, timestamp] -> [key, timestamp, domain] for each timer that fires."""
    return records.key_by(first).process(Timers())


class Clocks(KeyedProcessFunction):
    def process_element(self, value: list[Any], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        service = ctx.timer_service()
        mark = service.current_watermark()
        yield [value[0], ctx.timestamp(), "none" if mark == MIN_WATERMARK else mark, service.current_processing_time()]


@program
def clocks(*inputs: DataStream) -> DataStream:
    """[key] -> [key, its timestamp, the watermark before it, processing time], of all inputs in one stream."""
    return inputs[0].union(*inputs[1:]).key_by(first).process(Clocks())


class Sessions(KeyedProcessFunction):
    """Counts the records of a key until none has come for 10 ms of event time: one timer, moved with each record."""

    GAP = 10

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: list[Any], ctx: KeyedProcessFunction.Context) -> None:
        timestamp, last, service = ctx.timestamp(), self.last.value(), ctx.timer_service()
        assert timestamp is not None
        self.count.update((self.count.value() or 0) + 1)
        if last is not None:
            service.delete_event_time_timer(last + self.GAP)
        self.last.update(timestamp if last is None else max(last, timestamp))
        service.register_event_time_timer(self.last.value() + self.GAP)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield [ctx.get_current_key(), self.count.value(), timestamp]
        self.count.clear()
        self.last.clear()


@program
def sessions(records: DataStream) -> DataStream:
    """[key] -> [key, number of records, end] for each session."""
    return records.key_by(first).process(Sessions())


class Alarm(KeyedProcessFunction):
    """Rings 100 ms of processing time after the last record of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.due = runtime_context.get_state(ValueStateDescriptor("due"))
        self.records = runtime_context.get_list_state(ListStateDescriptor("records"))

    def process_element(self, value: list[Any], ctx: KeyedProcessFunction.Context) -> None:
        service = ctx.timer_service()
        if self.due.value() is not None:
            service.delete_processing_time_timer(self.due.value())
        self.due.update(service.current_processing_time() + 100)
        self.records.add(value[1])
        service.register_processing_time_timer(self.due.value())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield [ctx.get_current_key(), list(self.records.get()), timestamp]
        self.due.clear()
        self.records.clear()


@program
def alarm(records: DataStream) -> DataStream:
    """[key, value] -> [key, [values], time] when nothing came for 100 ms of processing time."""
    return records.key_by(first).process(Alarm())


class Join(KeyedCoProcessFunction):
    """Pairs the records of both inputs by key; a record that waited for more than 50 ms of event time goes alone."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.left = runtime_context.get_state(ValueStateDescriptor("left"))
        self.right = runtime_context.get_state(ValueStateDescriptor("right"))

    def process_element1(self, value: list[Any], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield from self.meet(value[1], ctx, self.left, self.right, swap=False)

    def process_element2(self, value: list[Any], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield from self.meet(value[1], ctx, self.right, self.left, swap=True)

    def meet(self, value: Any, ctx: KeyedCoProcessFunction.Context, own: Any, other: Any, swap: bool) -> Iterator[Any]:
        partner = other.value()
        if partner is None:
            own.update(value)
            timestamp = ctx.timestamp()
            assert timestamp is not None
            ctx.timer_service().register_event_time_timer(timestamp + 50)
        else:
            other.clear()
            yield [ctx.get_current_key(), *((partner, value) if swap else (value, partner))]

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        for side, name in ((self.left, "left"), (self.right, "right")):
            if side.value() is not None:
                yield [ctx.get_current_key(), name, side.value()]
                side.clear()


@program
def join(left: DataStream, right: DataStream) -> DataStream:
    """[key, value] of two inputs -> [key, left, right], or [key, "left", value] for what stayed alone."""
    return left.key_by(first).connect(right.key_by(first)).process(Join())
