"""Savepoints read and written as data."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Time, Types
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, SourceFunction, StreamExecutionEnvironment
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from firesteel.errors import StateError
from firesteel.state_processor import SavepointReader, SavepointWriter


class Totals(KeyedProcessFunction):
    """Running totals by key, and how often each amount came."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen"))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Any:
        self.total.update((self.total.value() or 0) + value[1])
        self.seen.put(value[1], (self.seen.get(value[1]) or 0) + 1)
        ctx.timer_service().register_event_time_timer(5_000)
        yield value[0], self.total.value()


class Records(SourceFunction):
    """Emits records, with their places as timestamps, and waits to be cancelled. ``emitted`` is of this process."""

    def __init__(self, records: list[Any], emitted: threading.Event) -> None:
        self.records = records
        _events[id(emitted)] = emitted
        self.event = id(emitted)

    def run(self, ctx: Any) -> None:
        self.cancelled = threading.Event()
        for timestamp, record in enumerate(self.records):
            ctx.collect_with_timestamp(record, timestamp)
        _events[self.event].set()
        self.cancelled.wait()

    def cancel(self) -> None:
        self.cancelled.set()


_events: dict[int, threading.Event] = {}
RECORDS = [("a", 1), ("b", 2), ("a", 3), ("c", 1)]


def environment(**settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.target", "in-process")
    for key, value in settings.items():
        configuration.set_string(key.replace("__", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    return env


def stopped_with_savepoint(build: Any, directory: Path, records: list[Any]) -> str:
    """Run a job over the records and stop it with a savepoint once they have come out."""
    env = environment()
    seen = threading.Event()
    build(env.add_source(Records(records, seen)).uid("source"))
    client = env.execute_async()
    assert seen.wait(30)
    return client.stop_with_savepoint(False, str(directory)).result(30)


def test_a_savepoint_tells_its_operators_and_states(tmp_path: Path) -> None:
    path = stopped_with_savepoint(
        lambda stream: stream.key_by(lambda r: r[0]).process(Totals()).uid("totals").add_sink(lambda _: None),
        tmp_path,
        RECORDS,
    )

    reader = SavepointReader.read(path)

    totals = next(operator for operator in reader.operators() if operator.uid == "totals")
    assert (totals.parallelism, totals.max_parallelism) == (2, 128)
    assert {(state.name, state.kind) for state in totals.states} >= {("total", "value"), ("seen", "map")}
    assert dict(reader.keyed_state("totals", "total")) == {"a": 4, "b": 2, "c": 1}
    assert dict(reader.keyed_state("totals", "seen")) == {"a": {1: 1, 3: 1}, "b": {2: 1}, "c": {1: 1}}
    assert reader.sources() == ["source"]
    assert set(reader.source_positions("source")) == {"0"}
    with pytest.raises(StateError, match="there are: source"):
        reader.source_positions("other")
    assert {(key, time) for _, key, time in reader.timers("totals")} == {("a", 5000), ("b", 5000), ("c", 5000)}


def test_unknown_names_are_answered_with_the_known_ones(tmp_path: Path) -> None:
    path = SavepointWriter.new_savepoint().with_list_state("sink", "buffer", [1]).write(str(tmp_path / "sp"))
    reader = SavepointReader.read(path)
    with pytest.raises(StateError, match="there are: sink"):
        reader.operator_state("other", "buffer")
    with pytest.raises(StateError, match="it has stored: buffer"):
        reader.operator_state("sink", "other")


@pytest.mark.parametrize(
    ("assigner", "windows"),
    [
        (
            TumblingEventTimeWindows.of(Time.milliseconds(2)),
            {("a", 0, 2, 1), ("b", 0, 2, 2), ("a", 2, 4, 3), ("c", 2, 4, 1)},
        ),
        (EventTimeSessionWindows.with_gap(Time.milliseconds(10)), {("a", 0, 12, 4), ("b", 1, 11, 2), ("c", 3, 13, 1)}),
    ],
    ids=["tumbling", "session"],
)
def test_open_windows_are_read_with_their_content(assigner: Any, windows: set[Any], tmp_path: Path) -> None:
    def build(stream: Any) -> None:
        amounts = stream.key_by(lambda r: r[0]).window(assigner).reduce(lambda a, b: (a[0], a[1] + b[1]))
        amounts.uid("windows").add_sink(lambda _: None)

    reader = SavepointReader.read(stopped_with_savepoint(build, tmp_path, RECORDS))

    assert {(key, start, end, content[1]) for key, start, end, content in reader.window_state("windows")} == windows


def test_a_job_starts_from_a_savepoint_made_of_data(tmp_path: Path) -> None:
    path = (
        SavepointWriter.new_savepoint()
        .with_keyed_operator("totals", RECORDS, lambda r: r[0], Totals())
        .write(str(tmp_path / "bootstrap"))
    )

    env = environment(**{"execution.state-recovery.path": path})
    more = env.from_collection([("a", 10), ("d", 5)]).uid("more")
    with more.key_by(lambda r: r[0]).process(Totals()).uid("totals").execute_and_collect() as results:
        assert sorted(results) == [("a", 14), ("d", 5)]


def test_a_savepoint_is_copied_with_operators_removed_and_added(tmp_path: Path) -> None:
    first = (
        SavepointWriter.new_savepoint()
        .with_list_state("old", "list", [1, 2])
        .with_broadcast_state("rules", "rules", {"x": 1})
        .write(str(tmp_path / "first"))
    )
    second = (
        SavepointWriter.from_existing_savepoint(first)
        .remove_operator("old")
        .with_list_state("new", "offsets", [7], union=True)
        .write(str(tmp_path / "second"))
    )

    reader = SavepointReader.read(second)

    assert {operator.uid for operator in reader.operators()} == {"rules", "new"}
    assert reader.operator_state("rules", "rules") == [("x", 1)]
    assert reader.operator_state("new", "offsets") == [7]
    with pytest.raises(StateError, match="already"):
        SavepointWriter.new_savepoint().write(str(tmp_path / "second"))
