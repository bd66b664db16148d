"""What goes wrong without an error is said: once, with the line of the program that it is about."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from firesteel.common import Duration, FiresteelWarning, Types, WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from firesteel.errors import JobFailedError
from firesteel.testing import (
    EPOCH_CUT,
    IDLE,
    ManualClock,
    ScriptedSource,
    element,
    processing_time,
    use_clock,
    watermark,
)
from tests.features.executors import MakeEnv, collect, on_both


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


def said(run) -> list[tuple[str, int]]:
    """The warnings of a program: text and line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    caught = [each for each in caught if each.category is FiresteelWarning]  # an older Spark leaves sockets open
    assert all(each.filename == __file__ for each in caught)
    return [(str(each.message), each.lineno) for each in caught]


@on_both
def test_a_key_that_is_always_none(make_env: MakeEnv) -> None:
    env = make_env(2, {"firesteel.epoch.max-records": 2})
    numbers = env.from_sequence(1, 10)
    keyed = numbers.key_by(lambda n: print(end=""))  # keys of None
    ((text, line),) = said(lambda: collect(keyed.reduce(max)))
    assert text.startswith("every key of this key_by() has been None so far")
    assert line == line_of("keys of None")


def test_one_key_among_others_may_be_none(make_env: MakeEnv) -> None:
    env = make_env(1)
    assert said(lambda: collect(env.from_collection([None, 1, None]).key_by(lambda n: n).reduce(lambda a, b: a))) == []
    one_key = env.from_collection([1, 2]).key_by(lambda n: "the only one")
    assert said(lambda: collect(one_key.reduce(max))) == []


SEEN, FORGOTTEN = OutputTag("seen", Types.INT()), OutputTag("forgotten", Types.INT())


class ToTheSide(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value
        yield SEEN, value
        yield FORGOTTEN, value


@on_both
def test_a_side_output_that_nobody_reads(make_env: MakeEnv) -> None:
    env = make_env(2, {"firesteel.epoch.max-records": 1})
    processed = env.from_collection([1, 2, 3]).key_by(lambda n: n).process(ToTheSide())  # emits to the side
    side = processed.get_side_output(SEEN)
    ((text, line),) = said(lambda: collect(side))
    assert text == (
        "'KeyedProcess' has sent records to the side output 'forgotten', which nobody reads: they are dropped. "
        "Call get_side_output(OutputTag('forgotten', ...)) on this operator's stream."
    )
    assert line == line_of("emits to the side")


def by(assigner) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    return strategy.with_timestamp_assigner(lambda value, _: assigner(value))


@on_both
@pytest.mark.parametrize(
    ("factor", "unit"), [(1, "seconds: multiply them by 1000"), (10**6, "microseconds: divide them by 1000")]
)
def test_timestamps_in_another_unit(make_env: MakeEnv, factor: int, unit: str) -> None:
    env = make_env(1)
    times = env.from_collection([1_700_000_000, 1_700_000_060])
    stamped = times.assign_timestamps_and_watermarks(by(lambda n: n * factor))  # stamps
    ((text, line),) = said(lambda: collect(stamped))
    assert f"look like {unit}" in text
    assert line == line_of("stamps")


@pytest.mark.parametrize("first", [1_700_000_000_000, 0, 30 * 86_400_000, 15 * 86_400_000])
def test_timestamps_in_milliseconds_are_fine(make_env: MakeEnv, first: int) -> None:
    env = make_env(1)
    days = env.from_collection([0, 1, 2]).assign_timestamps_and_watermarks(by(lambda n: first + n * 86_400_000))
    assert said(lambda: collect(days)) == []


def two_sources(env: StreamExecutionEnvironment, clock: ManualClock, silent: list, union_line: bool = True):
    script = [entry for at in range(40) for entry in (element(at, at), watermark(at), processing_time(at * 1000))]
    busy = env.from_source(ScriptedSource(script, clock=clock), WatermarkStrategy.no_watermarks(), "busy")
    quiet = env.from_source(ScriptedSource(silent), WatermarkStrategy.no_watermarks(), "quiet")  # the quiet one
    return busy.union(quiet).key_by(lambda n: n).reduce(max).name("meeting")


def test_an_input_that_holds_event_time_up(make_env: MakeEnv) -> None:
    clock = ManualClock()
    with use_clock(clock):
        waits = [EPOCH_CUT] * 60
        stream = two_sources(make_env(1), clock, [element(1, 1), watermark(1), *waits])
        ((text, line),) = said(lambda: collect(stream))
    assert text.startswith("event time stands still at 1 in 'meeting'")
    assert "it waits for subtask 0 of 'Source: quiet', from which nothing has come for 10 seconds" in text
    assert "with_idleness(...)" in text
    assert line == line_of("the quiet one")


def test_the_start_of_slots_is_no_silence(make_env: MakeEnv) -> None:
    """The clock goes on by ten seconds and more within the first epoch, as when slots take long to start."""
    clock = ManualClock()
    with use_clock(clock):
        script = [element(1, 1), watermark(1), processing_time(11_000), EPOCH_CUT]
        for at in range(2, 9):
            script += [element(at, at), watermark(at), processing_time(11_000 + at), EPOCH_CUT]
        env = make_env(1)
        busy = env.from_source(ScriptedSource(script, clock=clock), WatermarkStrategy.no_watermarks(), "busy")
        silent = [element(1, 1), watermark(1), *[EPOCH_CUT] * 12]
        quiet = env.from_source(ScriptedSource(silent), WatermarkStrategy.no_watermarks(), "quiet")
        assert said(lambda: collect(busy.union(quiet).key_by(lambda n: n).reduce(max))) == []


def test_an_input_that_says_it_is_idle_holds_nothing_up(make_env: MakeEnv) -> None:
    clock = ManualClock()
    with use_clock(clock):
        stream = two_sources(make_env(1), clock, [element(1, 1), watermark(1), IDLE, *[EPOCH_CUT] * 60])
        assert said(lambda: collect(stream)) == []


def test_warnings_that_are_errors_fail_the_job_once(make_env: MakeEnv) -> None:
    env = make_env(1, {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 s"})
    with pytest.raises(JobFailedError, match="FiresteelWarning: every key"):
        collect(env.from_collection([1]).key_by(lambda n: None).reduce(max))


PROGRAM = """
from firesteel.datastream import StreamExecutionEnvironment
def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    {end}
main()
"""


@pytest.mark.parametrize(
    ("end", "warns"), [("pass", True), ("env.execute()", False), ("env.get_execution_plan()", False), ("1 / 0", False)]
)
@pytest.mark.parametrize("runner", [[], ["-m", "firesteel", "run"]], ids=["python", "firesteel run"])
def test_a_sink_that_is_never_executed(tmp_path: Path, end: str, warns: bool, runner: list[str]) -> None:
    program = tmp_path / "job.py"
    program.write_text(PROGRAM.format(end=end))
    done = subprocess.run(
        [sys.executable, *runner, str(program)],
        env={**os.environ, "FIRESTEEL_PROPERTIES": "execution.target: in-process"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (f"{program}:5: FiresteelWarning: this sink was never executed: nothing runs" in done.stderr) is warns
