"""Direct exchange on Spark: slots that send chunks to each other, held by one long-running Spark job."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, JobClient, RestartStrategies, Time, Types, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream import AsyncDataStream, AsyncFunction, BroadcastProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.state import MapStateDescriptor
from firesteel.errors import JobFailedError


def environment(spark: Any, parallelism: int = 2, options: dict[str, str] | None = None) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"firesteel.exchange": "direct", **(options or {})})
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(parallelism)
    return env


def results(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as collected:
        return list(collected)


def running_sums(env: StreamExecutionEnvironment, numbers: int, keys: int) -> Any:
    return (
        env.from_sequence(1, numbers)
        .map(lambda number: (number % keys, number))
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )


def last_sums(collected: list[tuple[int, int]]) -> dict[int, int]:
    sums: dict[int, int] = {}
    for key, total in collected:
        sums[key] = max(total, sums.get(key, 0))
    return sums


def true_sums(numbers: int, keys: int) -> dict[int, int]:
    return {key: sum(number for number in range(1, numbers + 1) if number % keys == key) for key in range(keys)}


@pytest.mark.feature("RT-06")
@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_a_keyed_sum(spark: Any, parallelism: int) -> None:
    collected = results(running_sums(environment(spark, parallelism), 20_000, 7))
    assert len(collected) == 20_000
    assert last_sums(collected) == true_sums(20_000, 7)


def wait_until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline, f"not within a minute: {what}"
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def doors_and_holders() -> list[threading.Thread]:
    """What the driver has of jobs with direct exchange: who listens for slots, and who waits for Spark's job."""
    names = ("firesteel-door", "firesteel-visitor", "firesteel-direct")
    return [thread for thread in threading.enumerate() if thread.name in names]


def kill(victim: str) -> None:
    """From within a slot: itself, or Spark's Python workers on its host."""
    if victim == "slot":
        os.kill(os.getpid(), signal.SIGKILL)
    daemon = int(Path("/proc/self/cmdline").read_bytes().split(b"\0")[-2])
    for child in Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split():
        os.kill(int(child), signal.SIGKILL)


@pytest.mark.feature("RT-06", "RR-03")
@pytest.mark.parametrize("victim", ["slot", "worker"])
def test_what_is_killed_takes_the_job_back_to_its_last_checkpoint(spark: Any, tmp_path: Path, victim: str) -> None:
    env = environment(spark, options={"execution.checkpointing.dir": str(tmp_path / "checkpoints")})
    env.enable_checkpointing(20)
    # Spark 3.5 hands out workers that waited for their next task when they were killed: each costs a restart.
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(50, 0))
    killed, slots = tmp_path / "killed", tmp_path / "slots"
    slots.mkdir()

    def kill_once(pair: tuple[int, int]) -> tuple[int, int]:
        if pair[1] > 1_000_000_000 and not killed.exists():
            killed.touch()
            kill(victim)
        if pair[1] % 1000 == 0:
            (slots / f"{os.getpid()}").touch()
        return pair

    collected = results(running_sums(env, 200_000, 7).map(kill_once))
    assert killed.exists()
    assert len(collected) == 200_000
    assert last_sums(collected) == true_sums(200_000, 7)
    wait_until(lambda: all(is_gone(int(path.name)) for path in slots.iterdir()), "slots have ended")
    wait_until(lambda: not doors_and_holders(), "nobody listens any more")


def endless(spark: Any) -> JobClient:
    env = environment(spark, 3)
    source = DataGeneratorSource(int, None, RateLimiterStrategy.per_second(1000))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda number: number % 7).filter(lambda _: False).print()
    return env.execute_async("endless")


@pytest.mark.feature("RT-06")
def test_jobs_share_an_application_and_a_job_without_a_core_says_how_many_are_missing(spark: Any) -> None:
    jobs = [endless(spark), endless(spark)]
    wait_until(lambda: all(job.get_metrics().records > 100 for job in jobs), "both jobs have read")

    third = environment(spark, options={"firesteel.direct.start-timeout": "500 ms"})
    with pytest.raises(JobFailedError, match=r"needs 1 free core\(s\).*0 are free, so 1 are missing.*shuffle"):
        results(third.from_collection([1]))

    jobs.pop().cancel().result(60)
    before = jobs[0].get_metrics().records
    assert spark.range(1000).selectExpr("sum(id)").collect()[0][0] == 499_500
    shuffled = environment(spark, options={"firesteel.exchange": "shuffle"})
    assert sorted(row.id for row in results(shuffled.from_dataframe(spark.range(10)))) == list(range(10))
    wait_until(lambda: jobs[0].get_metrics().records > before, "the direct job has gone on beside others")
    jobs.pop().cancel().result(60)


@pytest.mark.feature("RT-06")
def test_a_dataframe_feeds_a_direct_job(spark: Any) -> None:
    rows = results(environment(spark).from_dataframe(spark.range(100)).key_by(lambda row: row.id % 3).map(lambda r: r))
    assert sorted(row.id for row in rows) == list(range(100))


@pytest.mark.feature("RT-06", "RT-07")
def test_a_line_of_a_socket_reaches_the_sink_without_waiting_for_another(spark: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        env = environment(spark)
        lines = env.socket_text_stream("127.0.0.1", server.getsockname()[1])
        with lines.key_by(lambda line: line).map(str.upper).execute_and_collect() as collected:
            sender, _ = server.accept()
            for line in ("one", "two", "three"):
                sender.sendall(f"{line}\n".encode())
                assert next(collected) == line.upper()
            sender.close()
            assert list(collected) == []


class Doubled(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        return [2 * value]


class SeesRules(BroadcastProcessFunction):
    """Every subtask sees every rule."""

    rules = MapStateDescriptor("rules", Types.INT(), Types.INT())

    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[str, int]]:
        yield "value", value

    def process_broadcast_element(self, value: int, ctx: Any) -> Iterator[tuple[str, int]]:
        ctx.get_broadcast_state(self.rules).put(value, value)
        yield "rule", value


@pytest.mark.feature("RT-06")
def test_a_loop_a_broadcast_and_lookups_in_one_job_with_more_subtasks_than_cores(spark: Any) -> None:
    env = environment(spark, 3)
    loop = env.from_collection([1, 5, 2, 4]).rebalance().map(lambda n: (n, n)).iterate()
    smaller = loop.map(lambda pair: (pair[0], pair[1] - 1))
    loop.close_with(smaller.filter(lambda pair: pair[1] > 0))
    left = smaller.filter(lambda pair: pair[1] <= 0).map(lambda pair: pair[0]).rebalance()
    doubled = AsyncDataStream.unordered_wait(left, Doubled(), Time.seconds(60), 10)
    rules = env.from_collection([7, 8]).broadcast(SeesRules.rules)
    collected = results(doubled.rebalance().connect(rules).process(SeesRules()))
    assert sorted(collected) == sorted([("rule", 7), ("rule", 8)] * 3 + [("value", 2 * n) for n in (1, 2, 4, 5)])
