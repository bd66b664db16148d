"""What the engine makes of a program: chains, slots, back pressure, and debugging in one process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import textwrap
import threading
from collections import defaultdict
from pathlib import Path
from time import perf_counter

import pytest

from firesteel.connectors.datagen import RateLimiterStrategy
from firesteel.datastream import MapFunction, ProcessFunction, StreamExecutionEnvironment
from firesteel.errors import JobCancelledError
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.in_process import InProcessCluster
from firesteel.execution.job import Job
from firesteel.execution.results import LevelResult
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.saving import Handed

ROOT = Path(__file__).resolve().parents[2]


class Travelled:
    """Knows how often it has been pickled."""

    def __init__(self, hops: int = 0) -> None:
        self.hops = hops

    def __reduce__(self):
        return Travelled, (self.hops + 1,)

    def __deepcopy__(self, memo: object) -> Travelled:
        return Travelled(self.hops)


def travel(env: StreamExecutionEnvironment, split: bool):
    made = env.from_sequence(1, 10).map(lambda _: Travelled()).name("make")
    kept = made.filter(lambda record: record.hops >= 0).name("keep")
    if split:
        kept.disable_chaining()
    return kept.map(lambda record: record.hops).name("read")


def chains(env: StreamExecutionEnvironment) -> dict[str, tuple[int, int]]:
    """Operator -> (chain, level)."""
    plan = json.loads(env.get_execution_plan())
    return {node["contents"]: (node["chain"], node["level"]) for node in plan["nodes"]}


@on_both
@pytest.mark.feature("RT-01")
def test_chained_operators_hand_records_over_without_pickling(make_env: MakeEnv) -> None:
    assert collect(travel(make_env(2), split=False)) == [0] * 10


@on_both
@pytest.mark.feature("RT-01")
def test_disable_chaining_splits_the_chain(make_env: MakeEnv) -> None:
    assert collect(travel(make_env(2), split=True)) == [2] * 10


@pytest.mark.feature("RT-01")
def test_the_plan_shows_one_stage_for_a_chain(make_env: MakeEnv) -> None:
    env = make_env(2)
    travel(env, split=False).print().name("out")
    assert len(set(chains(env).values())) == 1

    env = make_env(2)
    travel(env, split=True).print().name("out")
    split = chains(env)
    assert split["Source: Sequence Source"] == split["make"]
    assert split["read"] == split["out"]
    assert [split[name][1] for name in ("make", "keep", "read")] == [0, 1, 2]


@pytest.mark.feature("RT-01")
def test_chaining_can_be_switched_off_for_the_whole_job(make_env: MakeEnv) -> None:
    env = make_env(2)
    env.disable_operator_chaining()
    travel(env, split=False).print().name("out")
    assert [level for _, level in chains(env).values()] == [0, 1, 2, 3, 4]


@pytest.mark.feature("RT-01")
def test_start_new_chain_splits_only_before_the_operator(make_env: MakeEnv) -> None:
    env = make_env(2)
    numbers = env.from_sequence(1, 10).map(lambda n: n).name("first")
    numbers.map(lambda n: n).name("second").start_new_chain().map(lambda n: n).name("third").print()
    found = chains(env)
    assert found["first"] != found["second"] == found["third"]


class Where(MapFunction):
    """Adds (operator, subtask, process) to a list."""

    def open(self, runtime_context):
        name = runtime_context.get_task_name()
        self.where = (name, runtime_context.get_index_of_this_subtask(), os.getpid())

    def map(self, value):
        return [*value, self.where]


def three_tasks(env: StreamExecutionEnvironment):
    started = env.from_sequence(1, 20).map(lambda n: [n]).map(Where()).name("first")
    keyed = started.key_by(lambda record: record[0] % 5).map(Where()).name("second")
    return keyed.rebalance().map(Where()).name("third")


@pytest.mark.feature("RT-02")
def test_the_slot_table_shows_each_task_and_the_job_fits_into_two_slots(make_env: MakeEnv) -> None:
    env = make_env(2)
    three_tasks(env).print().set_parallelism(1).name("out")
    lines = env.explain().splitlines()
    assert lines[0].endswith("4 level(s), 2 slot(s), STREAMING")
    slots = lines[lines.index("slots:") + 1 :]
    assert [slot.strip() for slot in slots] == [
        "1: Source: Sequence Source -> Map -> first (1/2); second (1/2); third (1/2); out (1/1)",
        "2: Source: Sequence Source -> Map -> first (2/2); second (2/2); third (2/2)",
    ]


@pytest.mark.feature("RT-02")
@pytest.mark.parametrize("executor", ["spark"], indirect=True)
def test_subtasks_of_one_number_share_a_slot_process(make_env: MakeEnv) -> None:
    processes = defaultdict(set)
    for record in collect(three_tasks(make_env(2))):
        for _, subtask, process in record[1:]:
            processes[subtask].add(process)
    assert set(processes) == {0, 1}
    assert all(len(each) == 1 for each in processes.values())
    assert processes[0] != processes[1]
    assert os.getpid() not in processes[0] | processes[1]


class Payload:
    """Counts how many of its kind are alive in this process."""

    alive = 0

    def __init__(self, number: int) -> None:
        self.number = number
        Payload.alive += 1

    def __reduce__(self):
        return Payload, (self.number,)

    def __del__(self) -> None:
        Payload.alive -= 1


def slowly(payload):
    """A thousand records a second."""
    ready = perf_counter() + 0.001
    while perf_counter() < ready:
        pass
    return Payload.alive


@on_both
@pytest.mark.shuffle("in one process, epochs that flow do not measure back pressure yet")
@pytest.mark.feature("RT-04")
def test_a_slow_operator_slows_the_source_and_memory_stays_flat(make_env: MakeEnv, executor: str) -> None:
    # An epoch on Spark has a fixed cost: it has to be longer there for the work to outweigh it.
    target_ms, epochs = (1000, 4) if executor == "spark" else (50, 12)
    env = make_env(1, {"firesteel.epoch.target-duration": f"{target_ms} ms"})
    source = env.from_data_generator(Payload, None, RateLimiterStrategy.per_second(100_000), source_name="fast")
    slow = source.rebalance().map(slowly).name("slow")
    alive = []
    with slow.execute_and_collect() as results:
        metrics = results.get_job_client().get_metrics()
        for value in results:
            alive.append(value)
            if len(metrics.epochs) >= epochs:
                break
        pressure = {name: metrics.back_pressure(name) for name in ("Source: fast", "slow")}
        steady = metrics.epochs[epochs // 2 :]

    assert pressure["slow"] == "HIGH"
    assert pressure["Source: fast"] != "HIGH"
    rate = sum(epoch.records for epoch in steady) / sum(epoch.seconds for epoch in steady)
    assert rate <= 1000  # a hundredth of what the source offers
    # Only what one epoch has read is alive, and epochs do not grow though the backlog does. A machine that stands still
    # for a moment looks like a cost of epochs, for which the next ones are longer: hence the one in the middle.
    usual = statistics.median(epoch.records for epoch in steady)
    with_backlog = 3 * target_ms  # this many records, at one in a millisecond, fit into an epoch
    assert usual <= 2 * with_backlog
    most = max(epoch.records for epoch in steady)
    assert most <= 20 * with_backlog
    assert max(alive[-most:]) <= 4 * most


class StopsInTheMiddle(ProcessFunction):
    def process_element(self, value, ctx):
        doubled = value * 2
        if value == 3:
            breakpoint()
        yield doubled


@pytest.mark.feature("OP-17")
def test_breakpoints_stop_in_the_same_process_and_thread(
    env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stops = []

    def look_around() -> None:
        frame = sys._getframe(1)
        stops.append((os.getpid(), threading.get_ident(), frame.f_code.co_name, frame.f_locals["doubled"]))

    monkeypatch.setattr(sys, "breakpointhook", look_around)
    env.from_collection([1, 2, 3, 4]).process(StopsInTheMiddle()).print()
    env.execute()

    assert stops == [(os.getpid(), threading.get_ident(), "process_element", 6)]
    assert capsys.readouterr().out.splitlines() == ["2", "4", "6", "8"]


WITHOUT_JAVA = """
    import sys
    from firesteel.common import Configuration
    from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from firesteel.runtime.process import KeyedProcessOperator
    from firesteel.testing import KeyedOneInputOperatorHarness

    class Echo(KeyedProcessFunction):
        def process_element(self, value, ctx):
            yield ctx.get_current_key(), value

    with KeyedOneInputOperatorHarness(lambda: KeyedProcessOperator(Echo()), lambda n: n % 2) as harness:
        harness.process_element(7)
        print(harness.output_values())

    configuration = Configuration.from_dict({"execution.target": "in-process"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.from_collection([8]).key_by(lambda n: n % 2).process(Echo()).print()
    env.execute()
    print("pyspark" in sys.modules)
"""


@pytest.mark.feature("OP-17")
def test_the_harness_and_in_process_jobs_need_neither_java_nor_spark(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(WITHOUT_JAVA))
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["[(1, 7)]", "(0, 8)", "False"]


def test_an_idle_job_runs_no_epochs(make_env: MakeEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch is a Spark job: with nothing to read and no timer due the driver waits, and looks again."""
    epochs, waits = [], []
    run_epoch = InProcessCluster.run_epoch

    def counted(self: InProcessCluster, order: EpochOrder) -> list[LevelResult]:
        epochs.append(order.request.epoch)
        return run_epoch(self, order)

    def wait(self: Job, seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 20:
            self.request_cancel()

    monkeypatch.setattr(InProcessCluster, "run_epoch", counted)
    monkeypatch.setattr(Job, "wait", wait)
    env = make_env(1)
    Handed("a").stream(env).key_by(lambda word: word).reduce(max).add_sink(lambda _: None)

    with pytest.raises(JobCancelledError):
        env.execute()

    assert len(waits) == 20
    assert len(epochs) == 1
