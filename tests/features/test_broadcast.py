"""Broadcast state: rules that every subtask knows, beside a stream with or without keys."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import (
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    DataStream,
    KeyedBroadcastProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.errors import ConfigurationError, JobFailedError, ProgramError
from firesteel.execution.clock import use_clock
from firesteel.testing import CRASH, EPOCH_CUT, element, watermark
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
NAMES = MapStateDescriptor("names", Types.STRING(), Types.STRING())
COUNT = ValueStateDescriptor("count", Types.INT())
SIDE = OutputTag("side", Types.STRING())


class KnownRules(BroadcastProcessFunction):
    """For each item: the item, the subtask, and the rules that hold then."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        yield value, self.subtask, dict(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


class CountAgainstRules(KeyedBroadcastProcessFunction):
    """Counts per key; a timer reports the count, a broadcast ``("reset", n)`` sets all counts to n."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(100)
        if ctx.get_broadcast_state(RULES).contains("tell"):
            yield SIDE, f"{ctx.get_current_key()} at {ctx.timestamp()}"

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Iterator[Any]:
        name, number = value
        ctx.get_broadcast_state(RULES).put(name, number)
        if name == "reset":
            seen = []
            ctx.apply_to_keyed_state(COUNT, lambda key, state: seen.append(key) or state.update(number))
            yield "reset", sorted(seen)
        ctx.output(SIDE, f"rule {name}")

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), self.count.value(), timestamp, ctx.time_domain().name
        ctx.output(SIDE, f"timer of {ctx.get_current_key()}, rules {sorted(ctx.get_broadcast_state(RULES).keys())}")


@pytest.mark.feature("BS-01")
def test_broadcast_with_a_descriptor_gives_a_stream_that_only_connect_takes(env: StreamExecutionEnvironment) -> None:
    items, rules = env.from_collection([1]), env.from_collection([("r", 1)])
    broadcast = rules.broadcast(RULES, NAMES)
    assert isinstance(broadcast, BroadcastStream)
    assert broadcast.broadcast_state_descriptors == [RULES, NAMES]
    assert isinstance(items.connect(broadcast), BroadcastConnectedStream)
    with pytest.raises(ConfigurationError, match=r"union: streams must be a DataStream, got .*BroadcastStream"):
        items.union(broadcast)  # type: ignore[arg-type]
    assert not hasattr(broadcast, "map")


def test_broadcast_refuses_what_is_no_descriptor_and_names_given_twice(env: StreamExecutionEnvironment) -> None:
    rules = env.from_collection([("r", 1)])
    with pytest.raises(ConfigurationError, match="must be a MapStateDescriptor, got"):
        rules.broadcast(COUNT)  # type: ignore[call-overload]
    with pytest.raises(ProgramError, match="two states have the name 'rules'"):
        rules.broadcast(RULES, RULES)


def test_keyed_functions_need_keyed_streams_and_the_other_way_round(env: StreamExecutionEnvironment) -> None:
    items, rules = env.from_collection([1]), env.from_collection([("r", 1)]).broadcast(RULES)
    with pytest.raises(ProgramError, match="the stream has no keys"):
        items.connect(rules).process(CountAgainstRules())
    with pytest.raises(ProgramError, match="but the stream is keyed"):
        items.key_by(lambda n: n).connect(rules).process(KnownRules())
    with pytest.raises(ConfigurationError, match="BroadcastProcessFunction"):
        items.connect(rules).process(lambda value: value)  # type: ignore[arg-type]


@pytest.mark.feature("BS-02", "BS-05")
@on_both
def test_every_subtask_knows_the_same_rules(make_env: MakeEnv) -> None:
    env = make_env(2)
    rules = [(f"r{n}", n) for n in range(5)]
    items = env.from_collection(list(range(8))).rebalance()
    told = collect(items.connect(env.from_collection(rules).broadcast(RULES)).process(KnownRules()))
    assert sorted(value for value, _, _ in told) == list(range(8))
    assert {subtask for _, subtask, _ in told} == {0, 1}
    assert all(known == dict(rules) for _, _, known in told)


@pytest.mark.feature("BS-02", "SO-02")
def test_the_keyed_function_has_state_timers_and_side_outputs(make_env: MakeEnv) -> None:
    env = make_env(2)
    items = scripted(env, [element("a", 1), element("b", 2), element("a", 3), EPOCH_CUT, element("a", 4)])
    rules = scripted(env, [EPOCH_CUT, element(("tell", 1), 4), watermark(4)])
    counted = items.key_by(lambda item: item).connect(rules.broadcast(RULES)).process(CountAgainstRules())
    side = counted.get_side_output(SIDE)
    told = collect(counted.map(lambda result: ("main", result)).union(side.map(lambda text: ("side", text))))
    main = [value for kind, value in told if kind == "main"]
    assert sorted(main) == [("a", 3, 100, "EVENT_TIME"), ("b", 1, 100, "EVENT_TIME")]
    assert sorted(value for kind, value in told if kind == "side") == [
        "a at 4",
        "rule tell",
        "rule tell",  # once in each subtask
        "timer of a, rules ['tell']",
        "timer of b, rules ['tell']",
    ]


@pytest.mark.filterwarnings("ignore:.*which nobody reads")
def test_the_watermark_is_that_of_the_slower_input(make_env: MakeEnv) -> None:
    env = make_env(1)
    items = scripted(env, [element("a", 1), watermark(500), EPOCH_CUT, EPOCH_CUT, element("a", 2)])
    rules = scripted(env, [EPOCH_CUT, watermark(50), EPOCH_CUT, EPOCH_CUT, watermark(100)])
    counted = items.key_by(lambda item: item).connect(rules.broadcast(RULES)).process(CountAgainstRules())
    assert collect(counted)[0] == ("a", 2, 100, "EVENT_TIME")


@pytest.mark.feature("BS-02")
@pytest.mark.filterwarnings("ignore:.*which nobody reads")
def test_the_broadcast_side_reaches_the_keyed_state_of_all_keys(make_env: MakeEnv) -> None:
    env = make_env(2)
    items = scripted(env, [element(letter, 1) for letter in "abca"])
    rules = scripted(env, [EPOCH_CUT, element(("reset", 7), 2)])
    results = collect(items.key_by(lambda item: item).connect(rules.broadcast(RULES)).process(CountAgainstRules()))
    resets = [keys for kind, keys in (result[:2] for result in results) if kind == "reset"]
    assert sorted(key for keys in resets for key in keys) == ["a", "b", "c"]
    assert len(resets) == 2
    assert sorted(result[:2] for result in results if len(result) == 4) == [("a", 7), ("b", 7), ("c", 7)]


@pytest.mark.parametrize(
    "write",
    [
        lambda state: state.put("x", 1),
        lambda state: state.put_all({"x": 1}),
        lambda state: state.remove("x"),
        lambda state: state.clear(),
        lambda state: state.__setitem__("x", 1),
        lambda state: state.__delitem__("x"),
    ],
    ids=["put", "put_all", "remove", "clear", "setitem", "delitem"],
)
@pytest.mark.feature("BS-03")
def test_writing_on_the_other_side_is_an_error(env: StreamExecutionEnvironment, write: Any) -> None:
    class Writes(KnownRules):
        def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> None:
            write(ctx.get_broadcast_state(RULES))

    rules = env.from_collection([("r", 1)]).broadcast(RULES)
    with pytest.raises(JobFailedError, match=r"broadcast state 'rules' is read-only here: only process_broadcast_el"):
        collect(env.from_collection([1]).connect(rules).process(Writes()))


@pytest.mark.feature("BS-04")
def test_two_states_hold_separate_maps(env: StreamExecutionEnvironment) -> None:
    class Two(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
            yield dict(ctx.get_broadcast_state(RULES).items()), dict(ctx.get_broadcast_state(NAMES).items())

        def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
            state: Any = NAMES if isinstance(value, str) else RULES
            ctx.get_broadcast_state(state).put("x", value)

    both = env.from_collection([1, "one"]).broadcast(RULES, NAMES)
    assert collect(env.from_collection([0]).connect(both).process(Two())) == [({"x": 1}, {"x": "one"})]


def test_a_state_that_was_not_declared_is_an_error(env: StreamExecutionEnvironment) -> None:
    rules = env.from_collection([("r", 1)]).broadcast(NAMES)
    with pytest.raises(JobFailedError, match=r"broadcast state 'rules' is not known here: broadcast\(\) declared 'na"):
        collect(env.from_collection([1]).connect(rules).process(KnownRules()))


def test_keyed_state_is_out_of_reach_for_broadcast_records(env: StreamExecutionEnvironment) -> None:
    class Reaches(CountAgainstRules):
        def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Any:
            self.count.update(1)

    items = scripted(env, [element("a", 1)])
    rules = scripted(env, [EPOCH_CUT, element(("r", 1), 2)])
    with pytest.raises(JobFailedError, match="no key in context"):
        collect(items.key_by(lambda item: item).connect(rules.broadcast(RULES)).process(Reaches()))


@pytest.mark.feature("BS-05")
def test_every_subtask_knows_the_same_rules_after_a_restart(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    rules = [(f"r{n}", n) for n in range(5)]
    broadcast = scripted(env, [*rules, EPOCH_CUT, EPOCH_CUT, CRASH]).broadcast(RULES)
    items = scripted(env, [EPOCH_CUT, EPOCH_CUT, EPOCH_CUT, EPOCH_CUT, *range(8)]).rebalance()
    with use_clock(checkpoint_each_epoch()):
        told = collect(items.connect(broadcast).process(KnownRules()))
    assert sorted(value for value, _, _ in told) == list(range(8))
    assert {subtask for _, subtask, _ in told} == {0, 1}
    assert all(known == dict(rules) for _, _, known in told)


@pytest.mark.feature("BS-06")
@on_both
def test_rules_change_while_the_job_runs(make_env: MakeEnv) -> None:
    env = make_env(2)
    items = scripted(env, [*range(10), EPOCH_CUT, EPOCH_CUT, *range(10, 20)]).rebalance()
    rules = scripted(env, [("r1", 1), EPOCH_CUT, ("r2", 2)]).broadcast(RULES)
    told = collect(items.connect(rules).process(KnownRules()))
    assert sorted(value for value, _, known in told if "r2" in known) == list(range(10, 20))
    assert all("r1" in known for _, _, known in told)


def test_keyed_state_of_every_kind_is_reached(env: StreamExecutionEnvironment) -> None:
    words = ListStateDescriptor("words", Types.STRING())
    pairs = MapStateDescriptor("pairs", Types.STRING(), Types.INT())

    class Kinds(KeyedBroadcastProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.words = runtime_context.get_list_state(words)
            self.pairs = runtime_context.get_map_state(pairs)

        def process_element(self, value: str, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
            self.words.add(value)
            self.pairs.put(value, len(value))

        def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Iterator[Any]:
            found: list[Any] = []
            ctx.apply_to_keyed_state(words, lambda key, state: found.append((key, list(state.get()))))
            ctx.apply_to_keyed_state(pairs, lambda key, state: found.append((key, dict(state.items()))))
            yield from found

    items = scripted(env, ["ab", "ac", "b"])
    rules = scripted(env, [EPOCH_CUT, "go"]).broadcast(RULES)
    assert collect(items.key_by(lambda word: word[0]).connect(rules).process(Kinds())) == [
        ("a", ["ab", "ac"]),
        ("b", ["b"]),
        ("a", {"ab": 2, "ac": 2}),
        ("b", {"b": 1}),
    ]


def ruled(env: StreamExecutionEnvironment) -> DataStream:
    """Endless numbers, each with the rules that are known; the rules come first and once."""
    rules = env.from_collection([(f"r{n}", n) for n in range(5)]).uid("rules").broadcast(RULES)
    numbers = env.from_data_generator(lambda n: n).set_parallelism(1).uid("numbers").rebalance()
    return numbers.connect(rules).process(KnownRules()).uid("known")


@pytest.mark.feature("BS-05")
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_every_subtask_knows_the_same_rules_after_a_savepoint_and_rescaling(
    make_env: MakeEnv, tmp_path: Path, before: int, after: int
) -> None:
    options = {"firesteel.epoch.max-records": 50}
    with ruled(make_env(before, options)).execute_and_collect() as results:
        next(results)
        path = results.get_job_client().stop_with_savepoint(False, str(tmp_path)).result()
    options["execution.state-recovery.path"] = path
    with ruled(make_env(after, options)).execute_and_collect() as results:
        told = list(itertools.islice(results, 100))
    assert {subtask for _, subtask, _ in told} == set(range(after))
    assert all(known == {f"r{n}": n for n in range(5)} for _, _, known in told)
