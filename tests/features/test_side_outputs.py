"""Side outputs: one operator, several streams."""

from __future__ import annotations

from collections import Counter

import pytest

from firesteel.common import Duration, FiresteelWarning, Types, WatermarkStrategy
from firesteel.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import MapStateDescriptor
from firesteel.errors import ConfigurationError, ProgramError
from tests.features.executors import MakeEnv, collect, on_both

SIDE = OutputTag("side", Types.STRING())


@pytest.mark.feature("SO-01")
@pytest.mark.parametrize("name", ["", None, 7])
def test_a_tag_needs_a_name(name) -> None:
    with pytest.raises(ConfigurationError, match="tag_id must be a non-empty string"):
        OutputTag(name)


class SplitWithOutput(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            ctx.output(SIDE, f"side {value}")
        else:
            yield value


@pytest.mark.feature("SO-01")
def test_a_side_output_has_its_own_type(env: StreamExecutionEnvironment) -> None:
    main = env.from_collection([1]).process(SplitWithOutput(), output_type=Types.LONG())
    side = main.get_side_output(SIDE)
    assert main.get_type() == Types.LONG()
    assert side.get_type() == Types.STRING()
    assert collect(side) == ["side 1"]


class SplitWithYield(ProcessFunction):
    def process_element(self, value, ctx):
        yield (SIDE, f"side {value}") if value % 2 else value


class SplitKeyed(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield (SIDE, f"side {value}") if value % 2 else value


class SplitOnTimer(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp, ctx):
        if timestamp % 4 == 1:
            ctx.output(SIDE, f"side {timestamp}")
        elif timestamp % 4 == 3:
            yield SIDE, f"side {timestamp}"
        else:
            yield timestamp


class SplitTwo(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield value

    def process_element2(self, value, ctx):
        ctx.output(SIDE, f"side {value}")


class SplitTwoKeyed(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value)

    def process_element2(self, value, ctx):
        yield SIDE, f"side {value}"

    def on_timer(self, timestamp, ctx):
        yield timestamp


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class SplitByRule(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield (SIDE, f"side {value}") if value == 3 else value

    def process_broadcast_element(self, value, ctx):
        ctx.output(SIDE, "side 1")


class SplitByRuleKeyed(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value)

    def process_broadcast_element(self, value, ctx):
        yield SIDE, "side 1"

    def on_timer(self, timestamp, ctx):
        yield (SIDE, f"side {timestamp}") if timestamp == 3 else timestamp


def split_plain(value, ctx):
    yield (SIDE, f"side {value}") if value % 2 else value


def keyed(stream):
    return stream.key_by(lambda n: n % 3)


def evens_and_odds(env):
    numbers = env.from_collection([1, 2, 3, 4])
    return numbers.filter(lambda n: n % 2 == 0), numbers.filter(lambda n: n % 2 == 1)


def connected(env):
    even, odd = evens_and_odds(env)
    return even.connect(odd)


def connected_keyed(env):
    even, odd = evens_and_odds(env)
    return keyed(even).connect(keyed(odd))


def with_rules(env, keys):
    rules = env.from_collection(["rule"]).broadcast(RULES)
    numbers = env.from_collection([2, 3, 4])
    return (keyed(numbers) if keys else numbers).connect(rules)


SPLITS = {
    "ctx.output": lambda env: env.from_collection([1, 2, 3, 4]).process(SplitWithOutput()),
    "yield": lambda env: env.from_collection([1, 2, 3, 4]).process(SplitWithYield()),
    "callable": lambda env: env.from_collection([1, 2, 3, 4]).process(split_plain),
    "keyed": lambda env: keyed(env.from_collection([1, 2, 3, 4])).process(SplitKeyed()),
    "keyed callable": lambda env: keyed(env.from_collection([1, 2, 3, 4])).process(split_plain),
    "ProcessFunction on keys": lambda env: keyed(env.from_collection([1, 2, 3, 4])).process(SplitWithYield()),
    "on_timer": lambda env: keyed(env.from_collection([1, 2, 3, 4])).process(SplitOnTimer()),
    "co-process": lambda env: connected(env).process(SplitTwo()),
    "keyed co-process": lambda env: connected_keyed(env).process(SplitTwoKeyed()),
    "broadcast": lambda env: with_rules(env, keys=False).process(SplitByRule()).set_parallelism(1),
    "keyed broadcast": lambda env: with_rules(env, keys=True).process(SplitByRuleKeyed()).set_parallelism(1),
}


def check_split(make_env: MakeEnv, kind: str) -> None:
    split = SPLITS[kind](make_env(2))
    both = collect(split.union(split.get_side_output(SIDE)))
    assert sorted(both, key=str) == [2, 4, "side 1", "side 3"]


@pytest.mark.feature("SO-02")
@pytest.mark.parametrize("kind", SPLITS)
def test_every_process_function_can_write_side_outputs(make_env: MakeEnv, kind: str) -> None:
    check_split(make_env, kind)


@pytest.mark.feature("SO-02")
@pytest.mark.parametrize("executor", ["spark"], indirect=True)
@pytest.mark.parametrize("kind", ["ctx.output", "on_timer", "keyed co-process"])
def test_side_outputs_work_on_spark(make_env: MakeEnv, kind: str) -> None:
    check_split(make_env, kind)


@on_both
@pytest.mark.feature("SO-03")
def test_a_side_output_is_a_stream_like_any_other(make_env: MakeEnv) -> None:
    main = make_env(2).from_sequence(1, 20).process(SplitWithOutput())
    lengths = main.get_side_output(SIDE).map(len).key_by(lambda n: n).reduce(lambda a, b: a + b)
    assert sorted(collect(lengths)) == sorted([6 * n for n in range(1, 6)] + [7 * n for n in range(1, 6)])


@on_both
@pytest.mark.feature("SO-03")
@pytest.mark.filterwarnings("ignore:.*which nobody reads")
def test_a_tag_that_is_never_used_gives_an_empty_stream(env: StreamExecutionEnvironment) -> None:
    main = env.from_collection([1, 2]).process(SplitWithOutput())
    assert collect(main.get_side_output(OutputTag("nobody writes here"))) == []


@pytest.mark.feature("SO-03")
def test_a_side_output_that_nobody_reads_is_fine_if_it_was_asked_for_or_meant(env: StreamExecutionEnvironment) -> None:
    main = env.from_collection([1, 2]).process(SplitWithOutput())
    with pytest.warns(FiresteelWarning, match="side output 'side', which nobody reads"):
        assert collect(main) == [2]
    main.get_side_output(OutputTag("side", Types.STRING()))
    assert collect(main) == [2]


@pytest.mark.feature("SO-04")
def test_tags_of_one_name_are_one_output(env: StreamExecutionEnvironment) -> None:
    main = env.from_collection([1, 2, 3]).process(SplitWithOutput())
    first = main.get_side_output(OutputTag("side", Types.STRING()))
    second = main.get_side_output(OutputTag("side", Types.STRING()))
    assert Counter(collect(first.union(second))) == {"side 1": 2, "side 3": 2}


@pytest.mark.feature("SO-04")
def test_tags_of_one_name_and_another_type_are_an_error(env: StreamExecutionEnvironment) -> None:
    main = env.from_collection([1]).process(SplitWithOutput())
    main.get_side_output(SIDE)
    with pytest.raises(ProgramError, match="two tags of this name have different types"):
        main.get_side_output(OutputTag("side", Types.LONG()))


MALFORMED = OutputTag("malformed", Types.STRING())
LATE = OutputTag("late", Types.TUPLE([Types.LONG(), Types.LONG()]))
ALERTS = OutputTag("alerts")


class Sort(ProcessFunction):
    """Malformed, late and alarming records go apart, each to one place only."""

    def process_element(self, value, ctx):
        try:
            number = int(value)
        except ValueError:
            yield MALFORMED, value
            return
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            ctx.output(LATE, (number, ctx.timestamp()))
        elif number >= 90:
            yield ALERTS, {"alert": number}
        else:
            yield number


def timestamp_of(value, _):
    return 0 if value in ("33", "66") else 1000 + (int(value) if value.isdigit() else 0)


@on_both
@pytest.mark.feature("SO-05")
def test_one_operator_splits_mixed_records_four_ways(make_env: MakeEnv) -> None:
    # The watermark follows from epoch to epoch; the timestamps of records 33 and 66 are far behind it.
    env = make_env(1, {"firesteel.epoch.max-records": 10})
    texts = [str(n) if n % 10 else f"no number {n}" for n in range(100)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(50))
    stamped = env.from_collection(texts).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(timestamp_of)
    )
    main = stamped.process(Sort()).name("sort")
    outputs = [main] + [main.get_side_output(tag) for tag in (MALFORMED, LATE, ALERTS)]
    labelled = [stream.map(lambda v, i=i: (i, v)) for i, stream in enumerate(outputs)]
    with labelled[0].union(*labelled[1:]).execute_and_collect() as results:
        records = list(results)
        metrics = results.get_job_client().get_metrics()

    parts = [[value for i, value in records if i == part] for part in range(4)]
    assert parts[1] == [f"no number {n}" for n in range(0, 100, 10)]
    assert parts[2] == [(33, 0), (66, 0)]
    assert parts[3] == [{"alert": n} for n in range(91, 100)]
    assert parts[0] == [n for n in range(90) if n % 10 and n not in (33, 66)]
    assert sum(map(len, parts)) == 100
    assert metrics.operator("Source: Collection Source").records_out == metrics.operator("sort").records_in == 100
