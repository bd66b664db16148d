"""A program as one gives it to spark-submit: it names neither a master nor a parallelism. Run as a script.

Arguments: the file to write what it has seen to, and ``session`` if it makes a SparkSession of its own first.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

RECORDS, KEYS = 1000, 10
log = logging.getLogger("submitted")


class Count(KeyedProcessFunction):
    """Emits (key, count, subtask)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.subtask = runtime_context.get_index_of_this_subtask()
        log.info("subtask %d opened in %d", self.subtask, os.getpid())

    def process_element(self, value: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value % KEYS, self.count.value(), self.subtask


def main() -> None:
    target = Path(sys.argv[1])
    session = SparkSession.builder.getOrCreate() if sys.argv[2:] == ["session"] else None
    env = StreamExecutionEnvironment.get_execution_environment(spark=session)
    counted = env.from_sequence(0, RECORDS - 1).key_by(lambda n: n % KEYS).process(Count())
    with counted.execute_and_collect("submitted") as rows:
        found = list(rows)
    context = (session or SparkSession.builder.getOrCreate()).sparkContext
    seen = {
        "master": context.master,
        "deploy mode": context.getConf().get("spark.submit.deployMode", "client"),
        "parallelism": env.get_parallelism(),
        "ui": context.getConf().get("spark.ui.enabled", "true"),
        "subtasks": sorted({subtask for _, _, subtask in found}),
        "counts": {key: max(count for k, count, _ in found if k == key) for key in range(KEYS)},
        "rows": len(found),
    }
    target.write_text(json.dumps(seen))


if __name__ == "__main__":
    main()
