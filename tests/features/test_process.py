"""Process functions: records with a context, state, and timers of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.time import MIN_WATERMARK
from firesteel.datastream import (
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    TimeDomain,
)
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.errors import JobFailedError
from firesteel.state.tables import MapTable, ValueTable
from firesteel.testing import CRASH, EPOCH_CUT, ManualClock, element, processing_time, use_clock, watermark
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, checkpointed_state, recovering, scripted

HOUR = 3_600_000


class Repeats(ProcessFunction):
    """Emits each number as often as it says, with its timestamp."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield from [(value, ctx.timestamp())] * value


class RepeatsForKeys(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield from [(ctx.get_current_key(), value, ctx.timestamp())] * value


@pytest.mark.feature("PR-01")
@on_both
def test_a_process_function_may_emit_any_number_of_records(env: StreamExecutionEnvironment) -> None:
    stream = scripted(env, [element(0, 5), element(2, 6), 1])
    assert collect(stream.process(Repeats())) == [(2, 6), (2, 6), (1, None)]


@pytest.mark.feature("PR-01")
@on_both
def test_a_keyed_process_function_knows_its_key(make_env: MakeEnv) -> None:
    stream = scripted(make_env(2), [element(0, 5), element(2, 6), element(1, 7)])
    keyed = stream.key_by(lambda number: "odd" if number % 2 else "even")
    assert sorted(collect(keyed.process(RepeatsForKeys()))) == [("even", 2, 6), ("even", 2, 6), ("odd", 1, 7)]


class TimerWithoutKey(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(0)


@pytest.mark.feature("PR-01")
def test_timers_without_keys_are_refused(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError, match="timers cannot be used in operator"):
        collect(env.from_collection([1]).process(TimerWithoutKey()))


class Pairs(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield ("first", value, ctx.timestamp())

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield ("second", value, ctx.timestamp())


class Expectations(KeyedCoProcessFunction):
    """The first input expects a key within 100 ms of event time, the second meets it; a timer tells what was missed."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.expected = runtime_context.get_state(ValueStateDescriptor("expected"))

    def process_element1(self, value: tuple[str, str], ctx: KeyedCoProcessFunction.Context) -> None:
        self.expected.update(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 100)

    def process_element2(self, value: tuple[str, str], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield ("met", ctx.get_current_key(), self.expected.value(), value[1])
        self.expected.clear()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        if self.expected.value() is not None:
            yield ("missed", ctx.get_current_key(), self.expected.value(), timestamp)


@pytest.mark.feature("PR-02")
@on_both
def test_a_co_process_function_has_a_method_for_each_input(env: StreamExecutionEnvironment) -> None:
    connected = scripted(env, [element("a", 1)]).connect(scripted(env, [element("b", 2)]))
    assert sorted(collect(connected.process(Pairs()))) == [("first", "a", 1), ("second", "b", 2)]


@pytest.mark.feature("PR-02")
@on_both
def test_both_inputs_and_the_timer_of_a_keyed_co_process_function_share_state(make_env: MakeEnv) -> None:
    env = make_env(2)
    first = scripted(
        env, [element(("a", "tea"), 0), element(("b", "milk"), 0), watermark(50), EPOCH_CUT, watermark(200)]
    )
    second = scripted(env, [watermark(50), EPOCH_CUT, element(("a", "cup"), 60), watermark(200)])
    connected = first.key_by(lambda record: record[0]).connect(second.key_by(lambda record: record[0]))
    results = collect(connected.process(Expectations()))
    assert sorted(results) == [("met", "a", "tea", "cup"), ("missed", "b", "milk", 100)]


class EventTimers(KeyedProcessFunction):
    """Records are (key, action, timestamp): register or delete a timer. What fires is told with the watermark."""

    def process_element(self, value: tuple[str, str, int], ctx: KeyedProcessFunction.Context) -> None:
        _, action, timestamp = value
        getattr(ctx.timer_service(), f"{action}_event_time_timer")(timestamp)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield (ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.timer_service().current_watermark())


def timers_of(stream: DataStream, function: KeyedProcessFunction) -> list[Any]:
    return collect(stream.key_by(lambda record: record[0]).process(function))


@pytest.mark.feature("PR-03")
@on_both
def test_an_event_time_timer_fires_once_at_the_first_watermark_that_reaches_it(make_env: MakeEnv) -> None:
    a, b = ("a", "register", 1000), ("b", "register", 1000)
    registered = [element(a, 1), element(a, 2), element(b, 3)]
    steps = [*registered, watermark(999), EPOCH_CUT, watermark(1005), EPOCH_CUT, watermark(2000)]
    assert sorted(timers_of(scripted(make_env(2), steps), EventTimers())) == [
        ("a", 1000, 1000, 1005),
        ("b", 1000, 1000, 1005),
    ]


@pytest.mark.feature("PR-03")
def test_a_deleted_timer_does_not_fire_and_others_do_in_order_of_time(env: StreamExecutionEnvironment) -> None:
    actions = [("a", "register", at) for at in (30, 10, 20)] + [("a", "delete", 20), ("b", "register", 20)]
    steps = [*(element(action, 0) for action in actions), watermark(100)]
    assert [(key, at) for key, at, _, _ in timers_of(scripted(env, steps), EventTimers())] == [
        ("a", 10),
        ("b", 20),
        ("a", 30),
    ]


@pytest.mark.feature("PR-03")
def test_a_timer_in_the_past_fires_at_the_next_watermark(env: StreamExecutionEnvironment) -> None:
    steps = [watermark(500), element(("a", "register", 100), 600), watermark(501), EPOCH_CUT]
    assert timers_of(scripted(env, steps), EventTimers()) == [("a", 100, 100, 501)]


@pytest.mark.feature("PR-03")
def test_timers_that_are_left_fire_at_the_end_of_input(env: StreamExecutionEnvironment) -> None:
    assert timers_of(scripted(env, [element(("a", "register", 10**15), 0)]), EventTimers())[0][:2] == ("a", 10**15)


class ProcessingTimers(KeyedProcessFunction):
    """Registers the timers that records (key, timestamp) ask for; tells when they fire."""

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_processing_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield (ctx.get_current_key(), timestamp, ctx.timer_service().current_processing_time())


@pytest.mark.feature("PR-04")
@on_both
def test_a_processing_time_timer_fires_at_its_time_also_when_no_record_comes(make_env: MakeEnv) -> None:
    clock = ManualClock(1000)
    steps = [("a", 1500), ("a", 1500), ("b", 1800), processing_time(1499), processing_time(1500), EPOCH_CUT]
    with use_clock(clock):
        fired = timers_of(scripted(make_env(2), steps, clock=clock), ProcessingTimers())
    assert fired == [("a", 1500, 1500)]  # the one at 1800 was never due


@pytest.mark.feature("PR-04")
@on_both
def test_an_overdue_processing_time_timer_fires_at_once_after_a_restore(env: StreamExecutionEnvironment) -> None:
    recovering(env)
    clock = ManualClock(1000)
    registered = [("a", 1500), EPOCH_CUT, processing_time(1100), EPOCH_CUT]  # the checkpoint is taken at 1100
    # The clock passes the timer's time in the very epoch that fails: it fires after the restart, at 9000.
    steps = [*registered, processing_time(9000), CRASH, EPOCH_CUT]
    with use_clock(clock):
        assert timers_of(scripted(env, steps, clock=clock), ProcessingTimers()) == [("a", 1500, 9000)]


class BothKinds(KeyedProcessFunction):
    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(100)
        ctx.timer_service().register_processing_time_timer(100)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield (ctx.time_domain(), timestamp)


@pytest.mark.feature("PR-05")
@on_both
def test_one_function_uses_both_kinds_of_timers_and_is_told_which_fires(env: StreamExecutionEnvironment) -> None:
    clock = ManualClock()
    steps = [element("a", 0), watermark(100), processing_time(100), EPOCH_CUT]
    with use_clock(clock):
        stream = scripted(env, steps, clock=clock).key_by(lambda name: name)
        assert collect(stream.process(BothKinds())) == [
            (TimeDomain.EVENT_TIME, 100),
            (TimeDomain.PROCESSING_TIME, 100),
        ]


class Clocks(KeyedProcessFunction):
    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        service = ctx.timer_service()
        yield (value, service.current_watermark(), service.current_processing_time())


@pytest.mark.feature("PR-06")
@on_both
def test_the_clocks_show_the_watermark_before_the_record_and_the_time_of_the_epoch(
    env: StreamExecutionEnvironment,
) -> None:
    clock = ManualClock(7)
    steps = [element("a", 50), watermark(49), element("b", 60), processing_time(8), element("c", 70), watermark(69)]
    with use_clock(clock):
        stream = scripted(env, [*steps, element("d", 80)], clock=clock).key_by(lambda name: name)
        assert collect(stream.process(Clocks())) == [("a", MIN_WATERMARK, 7), ("b", 49, 7), ("c", 49, 8), ("d", 69, 8)]


@pytest.mark.feature("PR-07")
@on_both
def test_a_timer_that_was_registered_before_a_failure_fires_once_after_it(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    registered = [element((key, "register", 100), 0) for key in ("a", "b", "c")]
    steps = [*registered, watermark(99), EPOCH_CUT, EPOCH_CUT, CRASH, watermark(150), EPOCH_CUT, watermark(200)]
    with use_clock(checkpoint_each_epoch()):
        fired = timers_of(scripted(env, steps), EventTimers())
    assert sorted(fired) == [(key, 100, 100, 150) for key in ("a", "b", "c")]


@pytest.mark.feature("PR-07")
def test_a_timer_that_fired_before_the_checkpoint_does_not_fire_again(env: StreamExecutionEnvironment) -> None:
    recovering(env)
    steps = [element(("a", "register", 100), 0), EPOCH_CUT, watermark(150), EPOCH_CUT, CRASH, watermark(200)]
    with use_clock(checkpoint_each_epoch()):
        assert timers_of(scripted(env, steps), EventTimers()) == [("a", 100, 100, 150)]


class ForgetsIdleKeys(KeyedProcessFunction):
    """Counts per key and forgets keys that were not used for an hour of event time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen"))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timestamp = ctx.timestamp()
        assert timestamp is not None
        self.count.update((self.count.value() or 0) + 1)
        self.seen.put(timestamp, True)
        self.last.update(timestamp)
        ctx.timer_service().register_event_time_timer(timestamp + HOUR)
        yield (value, self.count.value())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        if timestamp == self.last.value() + HOUR:
            self.count.clear()
            self.last.clear()
            self.seen.clear()


@pytest.mark.feature("PR-08")
@on_both
@pytest.mark.usefixtures("keep_checkpoints")
def test_a_key_that_was_idle_for_an_hour_leaves_nothing_behind(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(
        make_env(2, {"execution.checkpointing.dir": str(tmp_path), "execution.checkpointing.num-retained": 10})
    )
    used = [element("a", 0), element("b", 0), EPOCH_CUT, EPOCH_CUT, element("b", HOUR // 2), EPOCH_CUT]
    steps = [*used, watermark(HOUR), EPOCH_CUT, EPOCH_CUT, element("a", HOUR + 1), element("b", HOUR + 2)]
    with use_clock(checkpoint_each_epoch()):
        counts = collect(scripted(env, steps).key_by(lambda name: name).process(ForgetsIdleKeys()))
    assert sorted(counts) == [("a", 1), ("a", 1), ("b", 1), ("b", 2), ("b", 3)]
    states = {name: checkpointed_state(str(tmp_path), name) for name in ("count", "last", "seen")}
    for name, checkpoints in states.items():
        keys = [set(restored(name, changes).entries) for changes in checkpoints]
        assert keys[0] == {"a", "b"}, name
        assert keys[-1] == {"b"}, name


def restored(name: str, changes: list[dict[str, Any]]) -> ValueTable | MapTable:
    table: ValueTable | MapTable = MapTable() if name == "seen" else ValueTable()
    for change in changes:
        table.apply(change, None)
    return table
