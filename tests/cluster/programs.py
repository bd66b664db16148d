"""A job for a real cluster: counts per key, and where each subtask ran. Run as a script, in a driver of its own.

Arguments: master, directory for results and checkpoints, records, records per second.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from firesteel.common import Configuration, RestartStrategies, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

KEYS = 20


class CountAndPlace(KeyedProcessFunction):
    """Emits (key, count, subtask, host)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value % KEYS, count, self.subtask, os.environ.get("SPARK_LOCAL_IP")


def main() -> None:
    master, directory, records, rate = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    settings = {
        "firesteel.master": master,
        "firesteel.exchange": os.environ.get("FIRESTEEL_TEST_EXCHANGE", "shuffle"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": str(directory / "checkpoints"),
    }
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(20, 100))
    source = DataGeneratorSource(lambda index: index, records, RateLimiterStrategy.per_second(rate))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    placed = numbers.key_by(lambda n: n % KEYS).process(CountAndPlace())
    with (directory / "results.jsonl").open("w") as results, placed.execute_and_collect("cluster") as rows:
        for row in rows:
            results.write(json.dumps(row) + "\n")
            results.flush()


if __name__ == "__main__":
    main()
