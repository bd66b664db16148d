"""A JVM that is killed under a job: one failure, said clearly."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from pyspark import SparkContext
from firesteel.common import Configuration, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import JobFailedError

options = {
    "execution.target": "spark",
    "execution.checkpointing.interval": "100 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": 50,
    "restart-strategy.fixed-delay.delay": "0 ms",
}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
env.set_parallelism(1)
source = DataGeneratorSource(lambda index: index, None, RateLimiterStrategy.per_second(50))
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
with numbers.execute_and_collect() as results:
    next(results)
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
    try:
        for _ in results:
            pass
    except JobFailedError as error:
        print("FAILED:", error)
"""


@pytest.mark.feature("RR-04")
def test_a_jvm_that_is_killed_is_one_failure() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=180)
    assert "FAILED: the Spark session of job" in done.stdout, done.stderr
    assert "goes on from its last checkpoint" in done.stdout
    assert "restarts:" not in done.stdout
    assert "restarting in" not in done.stderr
