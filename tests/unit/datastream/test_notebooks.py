"""What an interactive user sees: values that show what they are, interrupts of one line, progress in one line."""

from __future__ import annotations

import io
import sys
import types

import pytest

from firesteel.common import CompletableFuture, Time, Types
from firesteel.common.time import MIN_WATERMARK
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.window import TumblingProcessingTimeWindows
from firesteel.errors import ConfigurationError, JobFailedError
from firesteel.events import EpochEnded
from firesteel.execution import progress
from firesteel.execution.job import EngineJobClient, Job
from firesteel.execution.progress import ProgressLine
from firesteel.plan.executor import Executor, substitute_executor

WINDOW = TumblingProcessingTimeWindows.of(Time.seconds(1))


def test_futures_show_their_results() -> None:
    future: CompletableFuture[int] = CompletableFuture()
    assert repr(future) == "CompletableFuture(pending)"
    assert repr(CompletableFuture.completed(["a", 1])) == "CompletableFuture(done: ['a', 1])"
    future.set_exception(JobFailedError("ValueError: no\n\nTraceback"))
    assert repr(future) == "CompletableFuture(failed: JobFailedError: ValueError: no)"
    cancelled: CompletableFuture[int] = CompletableFuture()
    cancelled.cancel()
    assert repr(cancelled) == "CompletableFuture(cancelled)"


def test_streams_show_what_they_are(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1], Types.INT())
    made = f"type Integer, parallelism 1, made at {__file__}:"
    assert repr(numbers).startswith(f"DataStream('Source: Collection Source', {made}")
    keyed = numbers.key_by(lambda n: n)
    assert repr(keyed).startswith("KeyedStream('key_by()'")
    assert repr(keyed.window(WINDOW)).startswith(f"WindowedStream({WINDOW!r} over KeyedStream('key_by()'")
    assert repr(numbers.connect(keyed)).startswith("ConnectedStreams(DataStream('Source: ")
    assert repr(numbers.print()).startswith(f"DataStreamSink('Sink: Print to Std. Out', made at {__file__}:")


def test_an_environment_shows_what_is_to_be_executed(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(2)
    assert repr(env) == ("StreamExecutionEnvironment(on in-process, parallelism 2, 0 steps and 0 sinks to be executed)")
    env.from_collection([1]).map(str).name("to <text>").print()
    assert "3 steps and 1 sinks to be executed" in repr(env)
    page = env._repr_html_()
    assert "<svg" in page
    assert "to &lt;text&gt;" in page
    assert "3 steps" in repr(env)  # looking runs nothing and forgets nothing


def test_an_environment_can_be_looked_at_before_its_parallelism_is_known() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    assert env._repr_html_() == f"<pre>{env!r}</pre>"
    env.close()


def test_a_job_client_shows_its_job() -> None:
    job = Job("tens")
    assert repr(EngineJobClient(job)) == f"JobClient(job 'tens', CREATED, 0 records read, id {job.id})"


class Interrupted(Executor):
    def submit(self, plan, driver_sinks, detached):
        raise KeyboardInterrupt


def test_an_interrupt_is_one_line(env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    env.set_parallelism(1)
    env.from_collection([1]).print()
    with substitute_executor(Interrupted()), pytest.raises(KeyboardInterrupt) as interrupt:
        env.execute("tens")
    assert interrupt.value._render_traceback_() == ["firesteel: job 'tens' was interrupted and has ended"]
    assert interrupt.value.__suppress_context__
    assert type(interrupt.value) is KeyboardInterrupt  # then Python ends as the signal would have ended it
    env.close()


def test_waiting_for_a_result_is_interrupted_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    future: CompletableFuture[int] = CompletableFuture()
    monkeypatch.setattr(future, "_future", types.SimpleNamespace(exception=lambda timeout: _interrupt()))
    with pytest.raises(KeyboardInterrupt, match="the job goes on"):
        future.result()


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_a_notebook_shows_an_error_without_our_frames() -> None:
    with pytest.raises(ConfigurationError) as failure:
        StreamExecutionEnvironment.get_execution_environment().set_parallelism(0)
    first, second = failure.value._render_traceback_()
    assert first.startswith("firesteel: ConfigurationError: set_parallelism: parallelism must be")
    assert second.startswith(f"  at {__file__}:")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def epoch(number: int) -> EpochEnded:
    return EpochEnded(0, number, records=10, seconds=0.1, watermark=MIN_WATERMARK, newest=MIN_WATERMARK)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    clock = types.SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_progress_is_one_line_that_makes_room_for_what_is_printed(clock: types.SimpleNamespace) -> None:
    terminal = Terminal()
    line = ProgressLine(terminal)
    line(epoch(1))
    first = terminal.getvalue()
    assert first.startswith("\repoch   1 | ")
    line.make_room()
    assert terminal.getvalue() == f"{first}\r{' ' * (len(first) - 1)}\r"
    line.make_room()
    assert terminal.getvalue().count("\r") == 3
    clock.now += 1
    line(epoch(2))
    line.end()
    assert terminal.getvalue().count("\n") == 1
    assert terminal.getvalue().endswith("epoch time 100 ms\n")


def test_progress_is_there_by_default_on_a_terminal_for_jobs_that_take_long(
    clock: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert ProgressLine.wanted(None) is None
    assert ProgressLine.wanted(True) is not None
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert ProgressLine.wanted(False) is None
    line = ProgressLine.wanted(None)
    assert line is not None
    line(epoch(1))
    assert terminal.getvalue() == ""
    line.end()
    assert terminal.getvalue() == ""
    clock.now += 3
    line(epoch(2))
    assert "epoch   2" in terminal.getvalue()


def test_progress_in_a_notebook_is_one_line_too(clock: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    output = io.StringIO()
    line = ProgressLine(output)
    for number in (1, 2, 3):
        clock.now += 1
        line(epoch(number))
    assert output.getvalue().count("\n") == 0
    assert output.getvalue().count("\r") == 3
