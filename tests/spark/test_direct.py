"""Direct exchange on Spark: slots that send chunks to each other, held by one long-running Spark job."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, RestartStrategies
from firesteel.datastream import StreamExecutionEnvironment


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


@pytest.mark.feature("RT-06")
def test_a_killed_slot_takes_the_job_back_to_its_last_checkpoint(spark: Any, tmp_path: Path) -> None:
    env = environment(spark, options={"execution.checkpointing.dir": str(tmp_path / "checkpoints")})
    env.enable_checkpointing(20)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    killed = str(tmp_path / "killed")

    def kill_once(pair: tuple[int, int]) -> tuple[int, int]:
        if pair[1] > 1_000_000_000 and not os.path.exists(killed):
            with open(killed, "w", encoding="ascii"):
                os.kill(os.getpid(), signal.SIGKILL)
        return pair

    collected = results(running_sums(env, 200_000, 7).map(kill_once))
    assert os.path.exists(killed)
    assert len(collected) == 200_000
    assert last_sums(collected) == true_sums(200_000, 7)
