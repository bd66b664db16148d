"""Sources and sinks: collections, files, sockets, functions written in Python, printing, taxi data."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import WatermarkStrategy
from firesteel.common.time import MIN_WATERMARK
from firesteel.connectors.taxi import TaxiFareSource, TaxiRideSource
from firesteel.datastream import CheckpointingMode, ProcessFunction, SinkFunction, StreamExecutionEnvironment
from firesteel.datastream.functions import CheckpointedFunction, RichParallelSourceFunction, SourceFunction
from firesteel.datastream.state import ListStateDescriptor
from firesteel.testing import EPOCH_CUT, element, use_clock, watermark
from tests.features.connectors import append_lines, read_lines
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

SECONDS = 30
"""How long anything may take before a test fails."""


@dataclass
class Person:
    name: str
    age: int = 0

    def __str__(self) -> str:
        return f"{self.name}, {self.age}"


PEOPLE = [Person("Fred", 35), Person("Wilma", 35), Person("Pebbles", 2)]


@pytest.mark.feature("SS-01")
@on_both
def test_from_elements_gives_the_elements_in_order(env: StreamExecutionEnvironment) -> None:
    assert collect(env.from_elements(*PEOPLE)) == PEOPLE


@pytest.mark.feature("SS-02")
@on_both
def test_from_collection_gives_the_elements_of_a_list(env: StreamExecutionEnvironment) -> None:
    assert collect(env.from_collection(PEOPLE)) == PEOPLE
    assert collect(env.from_collection([])) == []


@contextmanager
def listener(data: bytes) -> Iterator[int]:
    """A server that sends data to whoever connects, and hangs up. Gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(SECONDS)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(data)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join(SECONDS)


@pytest.mark.feature("SS-03")
@on_both
def test_lines_of_a_socket_are_elements_and_closing_it_ends_the_job(env: StreamExecutionEnvironment) -> None:
    with listener("first\nsecond\n\ngrüße\n".encode()) as port:
        assert collect(env.socket_text_stream("127.0.0.1", port)) == ["first", "second", "", "grüße"]


@pytest.mark.feature("SS-04")
@on_both
def test_the_lines_of_a_file_are_elements_and_the_job_ends(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one\ntwo\nthree\n")
    assert collect(env.read_text_file(path.as_uri())) == ["one", "two", "three"]


class Numbers(SourceFunction):
    def run(self, ctx: SourceFunction.SourceContext) -> None:
        for number in range(10):
            ctx.collect(number)

    def cancel(self) -> None:
        raise AssertionError("nobody cancels a source that ends by itself")


class Endless(SourceFunction):
    """Emits until it is cancelled, and tells what happens to it. The class is shared: functions are copied."""

    cancelled = threading.Event()
    returned = threading.Event()

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        number = 0
        try:
            while not self.cancelled.is_set():
                ctx.collect(number)
                number += 1
        finally:
            self.returned.set()

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.mark.feature("SS-05")
@on_both
def test_a_source_written_in_python_feeds_a_job(env: StreamExecutionEnvironment) -> None:
    assert collect(env.add_source(Numbers()).map(lambda n: n * 2)) == list(range(0, 20, 2))


@pytest.mark.feature("SS-05")
@on_both
def test_cancelling_the_job_cancels_the_source_and_its_run_returns(env: StreamExecutionEnvironment) -> None:
    Endless.cancelled.clear()
    Endless.returned.clear()
    with env.add_source(Endless()).execute_and_collect() as results:
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        assert not Endless.cancelled.is_set()
    assert Endless.cancelled.is_set()
    assert Endless.returned.wait(SECONDS)


class LockedCounter(RichParallelSourceFunction, CheckpointedFunction):
    """Emits (subtask, 0), (subtask, 1), ... and notes in each snapshot how many it has emitted and its offset.

    After some records it waits for a snapshot, so that there are several.
    """

    COUNT = 300
    RECORDS_PER_SNAPSHOT = 50

    def __init__(self, log: Path) -> None:
        self.log = log
        self.offset = 0
        self.emitted = 0
        self.running = True

    def initialize_state(self, context: Any) -> None:
        self.offsets = context.get_operator_state_store().get_list_state(ListStateDescriptor("offset"))
        self.offset = self.emitted = next(iter(self.offsets.get()), 0)
        self.snapshot_taken = threading.Event()

    def snapshot_state(self, context: Any) -> None:
        append_lines(self.log, [(self.emitted, self.offset)])
        self.offsets.update([self.offset])
        self.snapshot_taken.set()

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        subtask = self.get_runtime_context().get_index_of_this_subtask()
        while self.running and self.offset < self.COUNT:
            with ctx.get_checkpoint_lock():
                ctx.collect((subtask, self.offset))
                self.emitted += 1
                os.sched_yield()  # a snapshot that could come here would see an element without its offset
                self.offset += 1
                self.snapshot_taken.clear()
            if self.offset % self.RECORDS_PER_SNAPSHOT == 0:
                assert self.snapshot_taken.wait(SECONDS)

    def cancel(self) -> None:
        self.running = False
        self.snapshot_taken.set()


class FailsOnce:
    """Raises at the first record it is told, in the first attempt of the job."""

    def __init__(self, at: Any, mark: Path) -> None:
        self.at = at
        self.mark = mark

    def __call__(self, value: Any) -> Any:
        if value == self.at and not self.mark.exists():
            self.mark.touch()
            raise ValueError("fails once")
        return value


@pytest.mark.feature("SS-06")
@on_both
def test_no_snapshot_shows_an_offset_that_does_not_fit_what_was_emitted(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env(2))
    numbers = env.add_source(LockedCounter(tmp_path / "snapshots"))
    failing = numbers.map(FailsOnce((1, 200), tmp_path / "failed"))
    with use_clock(checkpoint_each_epoch()):
        results = collect(failing)
    assert (tmp_path / "failed").exists()
    assert sorted(results) == [(subtask, number) for subtask in range(2) for number in range(LockedCounter.COUNT)]
    snapshots = read_lines(tmp_path / "snapshots")
    assert len(snapshots) >= 2 * LockedCounter.COUNT // LockedCounter.RECORDS_PER_SNAPSHOT
    assert all(emitted == offset for emitted, offset in snapshots)


class Notes(SinkFunction):
    def __init__(self, path: Path) -> None:
        self.path = path

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        now = context.current_processing_time()
        append_lines(self.path, [(value, context.timestamp(), context.current_watermark(), now > 0)])


@pytest.mark.feature("SS-07")
@on_both
def test_a_sink_function_is_called_once_per_element_with_timestamp_and_watermark(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    steps = [element("a", 10), element("b", 11), watermark(11), element("c", 20), EPOCH_CUT, "d"]
    scripted(env, steps).add_sink(Notes(tmp_path / "notes"))
    env.execute()
    assert read_lines(tmp_path / "notes") == [
        ["a", 10, MIN_WATERMARK, True],
        ["b", 11, MIN_WATERMARK, True],
        ["c", 20, 11, True],
        ["d", None, 11, True],
    ]


@pytest.mark.feature("SS-07")
def test_a_plain_callable_is_a_sink_too(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    env.from_collection([1, 2]).add_sink(lambda value: append_lines(path, [value]))
    env.execute()
    assert read_lines(path) == [1, 2]


@pytest.mark.feature("SS-08")
@on_both
def test_print_writes_the_subtask_before_the_text_of_each_record(
    make_env: MakeEnv, capsys: pytest.CaptureFixture[str]
) -> None:
    env = make_env(2)
    env.from_collection(PEOPLE * 2).rebalance().print()
    env.from_collection(PEOPLE).rebalance().print("people")
    env.execute()
    lines = capsys.readouterr().out.splitlines()
    labelled = [line for line in lines if line.startswith("people:")]
    plain = [line for line in lines if line not in labelled]
    assert len(plain) == 6 and all(re.match(r"[12]> ", line) for line in plain)
    assert {line[:3] for line in plain} == {"1> ", "2> "}
    assert sorted(line[3:] for line in plain) == sorted(str(person) for person in PEOPLE * 2)
    assert len(labelled) == 3 and all(re.match(r"people:[12]> \w+, \d+$", line) for line in labelled)


@pytest.mark.feature("SS-08")
def test_print_of_one_subtask_has_no_prefix(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    env.from_collection([1, "two"]).print()
    env.from_collection([3]).print_to_err("error")
    env.execute()
    captured = capsys.readouterr()
    assert captured.out == "1\ntwo\n"
    assert captured.err == "error> 3\n"


def warnings_about_sources(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "cannot be replayed" in record.getMessage()]


@pytest.mark.feature("SS-09")
def test_exactly_once_with_a_socket_warns_once_and_names_the_source(
    env: StreamExecutionEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    env.enable_checkpointing(10, CheckpointingMode.EXACTLY_ONCE)
    with listener(b"a\nb\n") as port, use_clock(checkpoint_each_epoch()), caplog.at_level(logging.WARNING):
        assert collect(env.socket_text_stream("127.0.0.1", port)) == ["a", "b"]
    [warning] = warnings_about_sources(caplog)
    assert "'Source: Socket Stream'" in warning
    assert "exactly-once" in warning


@pytest.mark.feature("SS-09")
def test_exactly_once_with_a_file_warns_of_nothing(
    env: StreamExecutionEnvironment, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "lines").write_text("a\nb\n")
    env.enable_checkpointing(10, CheckpointingMode.EXACTLY_ONCE)
    with caplog.at_level(logging.WARNING):
        assert collect(env.read_text_file(str(tmp_path / "lines"))) == ["a", "b"]
    assert warnings_about_sources(caplog) == []


class Observed(ProcessFunction):
    """Each record with its timestamp and the watermark before it."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


@pytest.mark.feature("SS-12")
@pytest.mark.parametrize("make_source", [TaxiRideSource, TaxiFareSource])
@on_both
def test_taxi_data_is_the_same_on_every_run_with_timestamps_and_watermarks(make_env: MakeEnv, make_source: Any) -> None:
    def run(seed: int, parallelism: int) -> list[Any]:
        env = make_env(parallelism, {"firesteel.epoch.max-records": 400})
        source = make_source(seed=seed, count=1000)
        stream = env.from_source(source, source.watermark_strategy(), "taxi")
        return sorted(collect(stream.process(Observed())), key=lambda each: (each[0].ride_id, each[1]))

    first, again = run(1, 1), run(1, 2)
    assert len(first) == 1000
    assert [(event, stamp) for event, stamp, _ in first] == [(event, stamp) for event, stamp, _ in again]
    assert all(event.event_time == stamp and stamp > mark for event, stamp, mark in first)
    marks = {mark for _, _, mark in first}
    assert len(marks) > 1 and max(marks) > min(stamp for _, stamp, _ in first)


@pytest.mark.feature("SS-12")
def test_another_seed_gives_other_rides(env: StreamExecutionEnvironment) -> None:
    def rides(seed: int) -> list[Any]:
        return collect(env.from_source(TaxiRideSource(seed, 50), WatermarkStrategy.no_watermarks(), "rides"))

    assert rides(1) == rides(1)
    assert rides(1) != rides(2)
