"""Whole programs equal a direct computation, whatever the parallelism, the cuts and the failures.

Inputs are scripts of records and watermarks. A :class:`Setting` says how the program is run on them: parallelism, size
of chunks and epochs, further cuts between epochs, and places where the job fails and starts again from a checkpoint.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from firesteel.common import Configuration, RestartStrategies, WatermarkStrategy
from firesteel.common.time import MIN_WATERMARK
from firesteel.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor
from firesteel.testing import CRASH, EPOCH_CUT, ScriptedSource, element, use_clock, watermark
from tests.transcripts.programs import PROGRAMS

Record = tuple[str, int]
Step = tuple[str, Any, int]
"""("record", [key, n], timestamp) or ("watermark", None, timestamp)."""

keys = st.sampled_from("abcde")
numbers = st.integers(1, 9)
records = st.lists(st.tuples(keys, numbers), max_size=30)


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Records out of order, with watermarks between them that some records come too late for."""
    steps: list[Step] = []
    mark = 0
    for key, number, move in draw(st.lists(st.tuples(keys, numbers, st.integers(-25, 15)), max_size=30)):
        timestamp = max(0, mark + move + 10)
        steps.append(("record", [key, number], timestamp))
        if move > 5:
            mark += move
            steps.append(("watermark", None, mark))
    return steps


@dataclass(frozen=True)
class Setting:
    """How a program is run."""

    parallelism: int = 1
    chunk_records: int = 4096
    epoch_records: int = 4096
    cuts: tuple[int, ...] = ()
    crashes: tuple[int, ...] = ()

    def environment(self, target: str = "in-process", session: Any = None) -> StreamExecutionEnvironment:
        options = {
            "execution.target": target,
            "firesteel.chunk.max-records": str(self.chunk_records),
            "firesteel.epoch.max-records": str(self.epoch_records),
        }
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options), session)
        env.set_parallelism(self.parallelism)
        if self.crashes:
            env.enable_checkpointing(10)
            env.set_restart_strategy(RestartStrategies.fixed_delay_restart(len(self.crashes) * 2, 0))
        return env

    def script(self, steps: list[Any]) -> list[Any]:
        """The steps with this setting's cuts and failures between them."""
        cut, crash = set(self.cuts), set(self.crashes)
        script: list[Any] = []
        for place, step in enumerate(steps):
            script += [EPOCH_CUT] * (place in cut) + [CRASH] * (place in crash) + [step]
        return script

    def stream(self, env: StreamExecutionEnvironment, steps: list[Any]) -> DataStream:
        source = ScriptedSource(self.script(steps))
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "script").set_parallelism(1)


places = st.lists(st.integers(0, 40), max_size=4, unique=True).map(tuple)
small_or_large = st.sampled_from([1, 3, 4096])
any_setting = st.builds(
    Setting, st.sampled_from([1, 2, 4]), small_or_large, small_or_large, places, st.one_of(st.just(()), places)
)


def collect(stream: DataStream) -> list[Any]:
    # The clock moves on whenever it is read: with checkpoints on, every epoch but the first ends with one.
    with use_clock(itertools.count(0, 10).__next__), stream.execute_and_collect() as results:
        return list(results)


def scripted_steps(history: list[Step]) -> list[Any]:
    return [
        element(value, timestamp) if kind == "record" else watermark(timestamp) for kind, value, timestamp in history
    ]


def by_key(results: list[Any]) -> dict[Any, list[Any]]:
    grouped = defaultdict(list)
    for result in results:
        grouped[result[0]].append(result)
    return dict(grouped)


# ---- running sums ----------------------------------------------------------------------------------------------------


def running_sums(rows: list[Record]) -> dict[Any, list[Any]]:
    totals: Counter[str] = Counter()
    results = []
    for key, number in rows:
        totals[key] += number
        results.append([key, totals[key]])
    return by_key(results)


@given(records, any_setting)
def test_running_sums(rows: list[Record], setting: Setting) -> None:
    stream = setting.stream(setting.environment(), [element(list(row)) for row in rows])
    assert by_key(collect(PROGRAMS["running-sum"](stream))) == running_sums(rows)


class FailsAt:
    """Raises when it sees a record for the first time, at one place in the input."""

    def __init__(self, place: int, mark: Path) -> None:
        self.place = place
        self.mark = mark

    def __call__(self, record: list[Any]) -> list[Any]:
        if record[2] == self.place and not self.mark.exists():
            self.mark.touch()
            raise ValueError("fails once")
        return record[:2]


def sums_with_a_failing_function(rows: list[Record], setting: Setting, target: str, session: Any = None) -> None:
    """The source is read in the tasks, and the failure comes in the middle of an epoch."""
    with tempfile.TemporaryDirectory() as directory:
        env = setting.environment(target, session)
        numbered = env.from_collection([[key, number, place] for place, (key, number) in enumerate(rows)])
        failing = numbered.map(FailsAt(setting.crashes[0], Path(directory) / "failed"))
        stream = failing.set_parallelism(1)  # several subtasks would change the order
        assert by_key(collect(PROGRAMS["running-sum"](stream))) == running_sums(rows)


failing_setting = st.builds(
    Setting,
    st.sampled_from([1, 2, 4]),
    small_or_large,
    st.sampled_from([1, 3, 7]),
    st.just(()),
    st.tuples(st.integers(0, 29)),
)


@given(records, failing_setting)
def test_running_sums_after_a_failure_in_the_middle_of_an_epoch(rows: list[Record], setting: Setting) -> None:
    sums_with_a_failing_function(rows, setting, "in-process")


# ---- deduplication, tumbling sums: event time ------------------------------------------------------------------------


def deduplicated(history: list[Step]) -> dict[Any, list[Any]]:
    forgotten_at: dict[str, int] = {}
    results = []
    for kind, value, timestamp in history:
        if kind == "watermark":
            forgotten_at = {key: at for key, at in forgotten_at.items() if at > timestamp}
        elif value[0] not in forgotten_at:
            forgotten_at[value[0]] = timestamp + 100
            results.append(value)
    return by_key(results)


@given(histories(), any_setting)
def test_deduplication(history: list[Step], setting: Setting) -> None:
    stream = setting.stream(setting.environment(), scripted_steps(history))
    assert by_key(collect(PROGRAMS["deduplicate"](stream))) == deduplicated(history)


def tumbling_sums(history: list[Step]) -> Counter[tuple[Any, ...]]:
    mark = MIN_WATERMARK
    sums: Counter[tuple[str, int]] = Counter()
    late: Counter[tuple[Any, ...]] = Counter()
    for kind, value, timestamp in history:
        if kind == "watermark":
            mark = timestamp
            continue
        end = timestamp - timestamp % 10 + 10
        if end - 1 <= mark:
            late[("late", *value)] += 1
        else:
            sums[value[0], end] += value[1]
    return late + Counter((key, end, total) for (key, end), total in sums.items())


def check_tumbling_sums(history: list[Step], setting: Setting, target: str, session: Any = None) -> None:
    stream = setting.stream(setting.environment(target, session), scripted_steps(history))
    results = collect(PROGRAMS["tumbling-sum"](stream))
    assert Counter(map(tuple, results)) == tumbling_sums(history)
    for sums in by_key([result for result in results if result[0] != "late"]).values():
        assert sums == sorted(sums)


@given(histories(), any_setting)
def test_tumbling_sums_with_timers(history: list[Step], setting: Setting) -> None:
    check_tumbling_sums(history, setting, "in-process")


# ---- union, connect, side outputs ------------------------------------------------------------------------------------


@given(records, records, any_setting)
def test_a_union_has_all_records_of_both_streams(left: list[Record], right: list[Record], setting: Setting) -> None:
    env = setting.environment()
    streams = [setting.stream(env, [element(list(row)) for row in rows]) for rows in (left, right)]
    sums = by_key(collect(PROGRAMS["running-sum"](streams[0].union(streams[1]))))
    rows = left + right
    for key, results in sums.items():
        mine = [number for name, number in rows if name == key]
        totals = [total for _, total in results]
        steps = [after - before for before, after in zip([0, *totals], totals)]
        assert Counter(steps) == Counter(mine)
        assert totals[-1] == sum(mine)
    assert set(sums) == {key for key, _ in rows}


halves = st.dictionaries(st.integers(0, 12), numbers, max_size=12)


@given(halves, halves, any_setting)
def test_connected_streams_meet_by_key(left: dict[int, int], right: dict[int, int], setting: Setting) -> None:
    env = setting.environment()
    streams = [setting.stream(env, [element([key, n], 0) for key, n in side.items()]) for side in (left, right)]
    expected = [[key, left[key], right[key]] for key in left.keys() & right.keys()]
    expected += [[key, "left", left[key]] for key in left.keys() - right.keys()]
    expected += [[key, "right", right[key]] for key in right.keys() - left.keys()]
    assert sorted(collect(PROGRAMS["join"](*streams)), key=str) == sorted(expected, key=str)


ODD, LARGE = OutputTag("odd"), OutputTag("large")


class Sort(ProcessFunction):
    """All numbers to the main output, some to side outputs as well."""

    def process_element(self, value: list[Any], ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value
        if value[1] % 2:
            yield ODD, ["odd", *value]
        if value[1] > 5:
            ctx.output(LARGE, ["large", *value])


@given(records, any_setting)
def test_side_outputs_in_a_diamond(rows: list[Record], setting: Setting) -> None:
    """Fork into main and side outputs, and union again."""
    sorted_out = setting.stream(setting.environment(), [element(list(row)) for row in rows]).process(Sort())
    diamond = sorted_out.union(sorted_out.get_side_output(ODD), sorted_out.get_side_output(LARGE))
    results = by_key(collect(diamond.rebalance().map(lambda value: value)))
    everything = [["odd", key, n] for key, n in rows if n % 2] + [["large", key, n] for key, n in rows if n > 5]
    everything += [list(row) for row in rows]
    assert Counter(str(each) for results_of_key in results.values() for each in results_of_key) == Counter(
        map(str, everything)
    )


# ---- random programs of state operations -----------------------------------------------------------------------------

ITEMS = ("p", "q")
operations = st.one_of(
    st.tuples(st.just("append"), numbers),
    st.tuples(st.just("replace"), st.lists(numbers, max_size=3)),
    st.tuples(st.just("clear list"), st.none()),
    st.tuples(st.just("put"), st.tuples(st.sampled_from(ITEMS), numbers)),
    st.tuples(st.just("remove"), st.sampled_from(ITEMS)),
    st.tuples(st.just("clear map"), st.none()),
)
Operation = tuple[str, Any]


class Interpreter(KeyedProcessFunction):
    """Does operations on a list and a map; emits both after each."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))

    def process_element(self, value: list[Any], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        key, name, argument = value
        actions: dict[str, Callable[[], Any]] = {
            "append": lambda: self.list.add(argument),
            "replace": lambda: self.list.update(argument),
            "clear list": self.list.clear,
            "put": lambda: self.map.put(*argument),
            "remove": lambda: self.map.remove(argument),
            "clear map": self.map.clear,
        }
        actions[name]()
        yield [key, list(self.list.get()), sorted(self.map.items())]


def interpreted(program: list[tuple[str, Operation]]) -> dict[Any, list[Any]]:
    lists: dict[str, list[int]] = defaultdict(list)
    maps: dict[str, dict[str, int]] = defaultdict(dict)
    results = []
    for key, (name, argument) in program:
        if name in ("replace", "clear list"):
            lists[key] = list(argument or [])
        elif name == "append":
            lists[key].append(argument)
        elif name == "put":
            maps[key][argument[0]] = argument[1]
        elif name == "remove":
            maps[key].pop(argument, None)
        else:
            maps[key].clear()
        results.append([key, list(lists[key]), sorted(maps[key].items())])
    return by_key(results)


state_programs = st.lists(st.tuples(st.sampled_from("ab"), operations), max_size=25)


@given(state_programs, any_setting)
def test_state_is_what_the_operations_made_of_it(program: list[tuple[str, Operation]], setting: Setting) -> None:
    steps = [element([key, *operation]) for key, operation in program]
    stream = setting.stream(setting.environment(), steps)
    results = collect(stream.key_by(lambda value: value[0]).process(Interpreter()))
    assert by_key(results) == interpreted(program)


# ---- on Spark --------------------------------------------------------------------------------------------------------

spark_setting = st.builds(
    Setting,
    st.sampled_from([2, 3]),
    st.sampled_from([3, 4096]),
    st.just(4096),
    st.just((4,)),
    st.sampled_from([(), (9,)]),
)


@settings(max_examples=4, phases=[Phase.generate])  # shrinking on Spark takes for ever
@given(history=histories(), setting=spark_setting)
def test_tumbling_sums_on_spark(spark: Any, history: list[Step], setting: Setting) -> None:
    check_tumbling_sums(history, setting, "spark", spark)


@settings(max_examples=3, phases=[Phase.generate])
@given(
    rows=st.lists(st.tuples(keys, numbers), min_size=10, max_size=30),
    setting=st.builds(Setting, st.just(2), small_or_large, st.just(7), st.just(()), st.tuples(st.integers(3, 9))),
)
def test_running_sums_after_a_failure_on_spark(spark: Any, rows: list[Record], setting: Setting) -> None:
    sums_with_a_failing_function(rows, setting, "spark", spark)
