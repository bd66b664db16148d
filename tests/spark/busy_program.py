"""A job whose functions block, loop, ignore what interrupts them, or just count. Run as a script by ``test_ends``."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.execution.spark.session import spark_session

SAVED = 10


class Busy(KeyedProcessFunction):
    """Leaves a file for what happens to it."""

    def __init__(self, folder: Path, how: str) -> None:
        self.folder, self.how = folder, how

    def mark(self, kind: str, what: Any) -> None:
        (self.folder / f"{kind}-{what}").touch()

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.fresh = True
        self.mark("opened", os.getpid())

    def process_element(self, value: int, ctx: Any) -> None:
        count = self.count.value() or 0
        if self.fresh and count:
            self.mark("restored", count)
        self.fresh = False
        self.count.update(count + SAVED)
        if self.how != "count":
            self.mark("busy", os.getpid())
        if self.how == "block":
            time.sleep(1e6)
        while self.how == "loop":
            pass
        if self.how == "ignore":
            signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL})
            while True:
                time.sleep(1e6)

    def close(self) -> None:
        self.mark("closed", os.getpid())


def read_dataframe() -> None:
    """Another job, in the background, that is fed by a streaming DataFrame."""
    session = spark_session(Configuration.from_dict({"firesteel.master": "local[2]"}))
    rates = session.readStream.format("rate").option("rowsPerSecond", 1000).load()
    env = StreamExecutionEnvironment.get_execution_environment(spark=session)
    env.set_parallelism(1)
    env.from_dataframe(rates).filter(lambda _: False).print()
    env.execute_async("dataframe")


def main() -> None:
    folder, how, *more = sys.argv[1:]
    background, direct = "--background" in more, "--direct" in more
    more = [word for word in more if word not in ("--background", "--direct")]
    exchange = "direct" if direct else os.environ.get("FIRESTEEL_TEST_EXCHANGE", "shuffle")
    settings = {"task.cancellation.timeout": "20 s", "firesteel.exchange": exchange}
    if "--in-process" in more:
        settings["execution.target"] = "in-process"
    if more:
        settings |= {"execution.checkpointing.dir": more[0], "execution.checkpointing.interval": "100 ms"}
    else:
        settings["firesteel.master"] = "local[1]"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(1)
    if "--dataframe" in more:
        read_dataframe()
    env.from_data_generator(lambda n: n, count=None).key_by(lambda _: 0).process(Busy(Path(folder), how)).print()
    if background:
        env.execute_async("busy")
        signal.pause()
    env.execute("busy")


if __name__ == "__main__":
    main()
