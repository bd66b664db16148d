"""Operator state: a sink that writes records in groups. The group that it holds is in every checkpoint."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

from firesteel.common import RestartStrategies, Types, WatermarkStrategy
from firesteel.datastream import SinkFunction, StreamExecutionEnvironment
from firesteel.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from firesteel.datastream.state import ListStateDescriptor
from firesteel.testing import CRASH, EPOCH_CUT, ScriptedSource, element, use_clock


class BufferingSink(SinkFunction, CheckpointedFunction):
    """Appends to a file, ``threshold`` records at a time."""

    def __init__(self, threshold: int, path: str) -> None:
        self.threshold = threshold
        self.path = path
        self.buffered_elements: list[Any] = []

    def invoke(self, value: Any, context: Any = None) -> None:
        self.buffered_elements.append(value)
        if len(self.buffered_elements) >= self.threshold:
            self.write("wrote", self.buffered_elements)
            self.buffered_elements.clear()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.checkpointed_state.update(self.buffered_elements)

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("buffered-elements", Types.INT())
        self.checkpointed_state = context.get_operator_state_store().get_list_state(descriptor)
        if context.is_restored():
            self.buffered_elements = list(self.checkpointed_state.get())
            self.write("restored", self.buffered_elements)

    def write(self, what: str, elements: list[Any]) -> None:
        with open(self.path, "a") as file:
            print(what, *elements, file=file)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "out.txt"

        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        env.enable_checkpointing(10)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))

        # Five records, a failure, one more. The clock moves on by 10 ms whenever it is read: there is a checkpoint
        # before the failure.
        script = [*map(element, range(1, 6)), *[EPOCH_CUT] * 5, CRASH, element(6)]
        numbers = env.from_source(ScriptedSource(script), WatermarkStrategy.no_watermarks(), "numbers")
        numbers.add_sink(BufferingSink(3, str(path)))
        with use_clock(itertools.count(0, 10).__next__):
            env.execute("buffering sink")
        print(path.read_text(), end="")


if __name__ == "__main__":
    main()

# Output:
# wrote 1 2 3
# restored 4 5
# wrote 4 5 6
