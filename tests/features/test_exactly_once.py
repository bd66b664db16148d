"""Exactly once, end to end: sinks that break at every point around a commit, and what each connector promises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Encoder, Types, WatermarkStrategy
from firesteel.datastream import (
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors import BucketAssigner, FileSink, NumberSequenceSource
from firesteel.datastream.connectors.base import Sink, TwoPhaseCommitSinkFunction, WriterContext
from firesteel.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from firesteel.datastream.state import ListStateDescriptor
from firesteel.testing import CRASH, EPOCH_CUT, InjectedFailure, use_clock
from tests.features.executors import MakeEnv, collect
from tests.features.kill_points import POINTS, FailsAt, SqliteSink, sqlite_rows
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted
from tests.written_files import visible_files

ROOT = Path(__file__).resolve().parents[2]
COUNT = 60
SMALL_EPOCHS = {"firesteel.epoch.max-records": 5}


def file_sink(base: Path) -> FileSink:
    builder = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
    return builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


def committed_files(base: Path) -> list[int]:
    """The numbers in all files that a reader sees."""
    return sorted(int(line) for path in visible_files(base) for line in path.read_text().splitlines())


def leftovers(base: Path) -> list[str]:
    return [path.name for path in base.rglob("*.inprogress") if path.is_file()] + [
        path.name for path in base.rglob("*.pending")
    ]


def numbers_into(env: StreamExecutionEnvironment, sink: Sink) -> None:
    env.from_source(NumberSequenceSource(0, COUNT - 1), WatermarkStrategy.no_watermarks(), "numbers").sink_to(sink)


@pytest.mark.feature("EO-02", "SS-11")
@pytest.mark.parametrize("point", POINTS)
def test_files_hold_each_record_once_wherever_the_job_fails(make_env: MakeEnv, tmp_path: Path, point: str) -> None:
    env = recovering(make_env(2, SMALL_EPOCHS))
    numbers_into(env, FailsAt(file_sink(tmp_path / "out"), point, tmp_path / "mark"))
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    assert (tmp_path / "mark").exists()
    assert committed_files(tmp_path / "out") == list(range(COUNT))
    assert leftovers(tmp_path / "out") == []


@pytest.mark.feature("EO-02", "EO-03")
@pytest.mark.parametrize("point", POINTS)
def test_a_sqlite_table_holds_each_row_once_wherever_the_job_fails(
    make_env: MakeEnv, tmp_path: Path, point: str
) -> None:
    env = recovering(make_env(2, SMALL_EPOCHS))
    numbers_into(env, FailsAt(SqliteSink(tmp_path / "db"), point, tmp_path / "mark"))
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    assert (tmp_path / "mark").exists()
    assert sqlite_rows(tmp_path / "db") == list(range(COUNT))


PROGRAM = """
import sys
from pathlib import Path
from tests.features.test_exactly_once import killed_job
killed_job(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
"""


def killed_job(kind: str, point: str, directory: Path) -> None:
    """Run in a process of its own, which the sink kills."""
    options = {"execution.target": "in-process", "execution.checkpointing.dir": str(directory / "checkpoints")}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({**options, **SMALL_EPOCHS}))
    env.set_parallelism(2)
    recovering(env)
    sink: Sink = file_sink(directory / "out") if kind == "files" else SqliteSink(directory / "db")
    numbers_into(env, FailsAt(sink, point, directory / "mark", kill=True))
    with use_clock(checkpoint_each_epoch()):
        env.execute()


def run_killed_job(kind: str, point: str, directory: Path) -> int:
    command = [sys.executable, "-W", "error", "-c", PROGRAM, kind, point, str(directory)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.mark.feature("EO-02", "EO-03", "SS-11")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("kind", ["files", "sqlite"])
def test_each_record_is_there_once_when_the_process_is_killed_and_started_again(
    tmp_path: Path, kind: str, point: str
) -> None:
    assert run_killed_job(kind, point, tmp_path) == -signal.SIGKILL
    if kind == "files":
        seen = committed_files(tmp_path / "out")
        assert len(seen) == len(set(seen)) < COUNT
    assert run_killed_job(kind, point, tmp_path) == 0
    if kind == "files":
        assert committed_files(tmp_path / "out") == list(range(COUNT))
        assert leftovers(tmp_path / "out") == []
    else:
        assert sqlite_rows(tmp_path / "db") == list(range(COUNT))


# --- the base class ---------------------------------------------------------------------------------------


class Journal(TwoPhaseCommitSinkFunction):
    """Writes down what it is asked to do, as ``<step> <transaction>`` lines."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _note(self, step: str, transaction: Any) -> None:
        with self.path.open("a") as file:
            file.write(f"{step} {transaction}\n")

    def open(self, runtime_context: RuntimeContext) -> None:
        self._attempt, self._count = runtime_context.get_attempt_number(), 0

    def begin_transaction(self) -> str:
        self._count += 1
        name = f"{self._attempt}.{self._count}"
        self._note("begin", name)
        return name

    def invoke(self, transaction: str, value: Any, context: WriterContext) -> None:
        self._note(f"invoke({value})", transaction)

    def pre_commit(self, transaction: str) -> None:
        self._note("pre_commit", transaction)

    def commit(self, transaction: str) -> None:
        self._note("commit", transaction)

    def abort(self, transaction: str) -> None:
        self._note("abort", transaction)

    def recover_and_commit(self, transaction: str) -> None:
        self._note("recover_and_commit", transaction)

    def recover_and_abort(self, transaction: str) -> None:
        self._note("recover_and_abort", transaction)


@pytest.mark.feature("EO-03")
def test_the_life_of_transactions(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    recovering(env)
    script = [EPOCH_CUT, "a", EPOCH_CUT, "b", CRASH, "c"]
    scripted(env, script).add_sink(Journal(tmp_path / "journal"))  # type: ignore[arg-type]
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    steps = (tmp_path / "journal").read_text().splitlines()
    # Each record of a transaction that is committed in the end, and nothing else, is visible.
    committed = {line.split()[1] for line in steps if line.startswith(("commit", "recover_and_commit"))}
    visible = [line.split()[0] for line in steps if line.startswith("invoke") and line.split()[1] in committed]
    assert visible == ["invoke(a)", "invoke(b)", "invoke(c)"]
    first, second = steps.index("begin 1.1"), [line for line in steps if line.endswith(" 0.1")]
    assert second[0] == "begin 0.1"
    assert any(line.startswith("recover_and_abort 0.") for line in steps[:first])
    for name in committed:
        own = [line.split("(")[0].split()[0] for line in steps if line.endswith(f" {name}")]
        assert own.index("pre_commit") < own.index("commit")
        assert own.count("commit") == 1


# --- at least once, and the simple case -------------------------------------------------------------------


class Appends(SinkFunction):
    def __init__(self, path: Path) -> None:
        self.path = path

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        with self.path.open("a") as file:
            file.write(f"{value}\n")


class FailsOnce(ProcessFunction):
    """Fails once, when a record has come; the mark is on disk because the function is built anew after a failure."""

    def __init__(self, at: Any, mark: Path) -> None:
        self.at, self.mark = at, mark

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        if value == self.at and not self.mark.exists():
            self.mark.touch()
            raise InjectedFailure(f"at {value}")
        yield value


@pytest.mark.feature("EO-05")
def test_a_sink_function_sees_each_record_at_least_once(make_env: MakeEnv, tmp_path: Path) -> None:
    assert SinkFunction.guarantee == "at-least-once"
    env = recovering(make_env(1, SMALL_EPOCHS))
    stream = env.from_source(NumberSequenceSource(0, COUNT - 1), WatermarkStrategy.no_watermarks(), "numbers")
    stream.add_sink(Appends(tmp_path / "out"))
    stream.process(FailsOnce(33, tmp_path / "mark")).add_sink(lambda _: None)
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    seen = [int(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert set(seen) == set(range(COUNT))
    assert len(seen) > COUNT  # the records of the epoch that failed came again


class Queue(SourceFunction, CheckpointedFunction):
    """Reads a list from a position that is saved with the state."""

    def __init__(self, elements: list[int]) -> None:
        self.elements = elements
        self.position = 0
        self.running = True

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("position", Types.INT())
        self.state = context.get_operator_state_store().get_list_state(descriptor)
        for position in self.state.get():
            self.position = position

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update([self.position])

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while self.running and self.position < len(self.elements):
            with ctx.get_checkpoint_lock():
                ctx.collect(self.elements[self.position])
                self.position += 1

    def cancel(self) -> None:
        self.running = False


@pytest.mark.feature("EO-04")
def test_a_repeated_element_does_not_change_the_state(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env(1, SMALL_EPOCHS))
    total = sum(range(COUNT))
    elements = env.add_source(Queue(list(range(COUNT))))
    sums = elements.process(FailsOnce(33, tmp_path / "mark")).key_by(lambda _: "all").reduce(lambda a, b: a + b)
    with use_clock(checkpoint_each_epoch()):
        results = collect(sums)
    assert (tmp_path / "mark").exists()
    assert results[-1] == total
    assert results == [sum(range(n + 1)) for n in range(COUNT)]


@pytest.mark.feature("EO-01")
def test_each_input_is_applied_to_the_state_once(env: StreamExecutionEnvironment) -> None:
    recovering(env)
    script: list[Any] = []
    for number in range(12):
        script += ["x", CRASH if number % 4 == 3 else EPOCH_CUT]
    counts = scripted(env, script).map(lambda _: 1).key_by(lambda _: "all").reduce(lambda a, b: a + b)
    with use_clock(checkpoint_each_epoch()):
        assert collect(counts) == list(range(1, 13))


@pytest.mark.feature("EO-02", "EO-03", "SS-11")
def test_files_and_sqlite_on_spark(spark: Any, tmp_path: Path) -> None:
    configuration = Configuration.from_dict({"execution.target": "spark", **SMALL_EPOCHS})
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(2)
    recovering(env)
    stream = env.from_source(NumberSequenceSource(0, COUNT - 1), WatermarkStrategy.no_watermarks(), "numbers")
    stream.sink_to(FailsAt(file_sink(tmp_path / "out"), "while writing", tmp_path / "first"))
    stream.sink_to(FailsAt(SqliteSink(tmp_path / "db"), "before the commit", tmp_path / "second"))
    env.execute()
    assert (tmp_path / "first").exists()
    assert (tmp_path / "second").exists()
    assert committed_files(tmp_path / "out") == list(range(COUNT))
    assert leftovers(tmp_path / "out") == []
    assert sqlite_rows(tmp_path / "db") == list(range(COUNT))
