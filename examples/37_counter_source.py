"""A source that knows how far it has come: after a failure it goes on where the last checkpoint left it."""

import time

from firesteel.common import RestartStrategies, Types
from firesteel.datastream import MapFunction, RuntimeContext, SourceFunction, StreamExecutionEnvironment
from firesteel.datastream.functions import FunctionInitializationContext, FunctionSnapshotContext
from firesteel.datastream.state import ListStateDescriptor

END = 10
FAILS_AT = 6


class CounterSource(SourceFunction):
    """Counts from 0. The two methods at its end make it take part in checkpoints; no base class is needed."""

    def __init__(self) -> None:
        self.offset = 0
        self.running = True
        self.checkpoints = 0

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while self.running and self.offset < END:
            if self.offset == FAILS_AT:
                self.wait_for_checkpoint()
            # No checkpoint is taken between a record and the offset that goes with it.
            with ctx.get_checkpoint_lock():
                ctx.collect(self.offset)
                self.offset += 1

    def wait_for_checkpoint(self) -> None:
        """So that this example shows the same each time: a checkpoint that holds all records before."""
        wanted = self.checkpoints + 2
        while self.running and self.checkpoints < wanted:
            time.sleep(0.01)

    def cancel(self) -> None:
        self.running = False

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update([self.offset])
        self.checkpoints += 1

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("state", Types.LONG()))
        for offset in self.state.get():
            self.offset = offset
        print("the source starts at", self.offset)


class FailOnce(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value: int) -> int:
        if value == FAILS_AT and self.attempt == 0:
            raise RuntimeError("on purpose")
        return value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))

    numbers = env.add_source(CounterSource()).map(FailOnce())
    print(list(numbers.execute_and_collect("counter source")))


if __name__ == "__main__":
    main()

# Output:
# the source starts at 0
# the source starts at 6
# [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
