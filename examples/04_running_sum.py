"""A running sum per key with keyed state: each key has a value of its own."""

from collections.abc import Iterator

from firesteel.common import Types
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

PAYMENTS = [("alice", 10), ("bob", 3), ("alice", 5), ("bob", 4), ("carol", 1), ("alice", 2)]


class RunningSum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[tuple[str, int]]:
        name, amount = value
        total = (self.total.value() or 0) + amount  # None: the first payment of this name
        self.total.update(total)
        yield name, total


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    payments = env.from_collection(PAYMENTS)
    totals = payments.key_by(lambda payment: payment[0]).process(RunningSum())
    totals.print().set_parallelism(1)

    env.execute("running sum")


if __name__ == "__main__":
    main()

# Output, in any order (that of each name is fixed):
# ('alice', 10)
# ('alice', 15)
# ('alice', 17)
# ('bob', 3)
# ('bob', 7)
# ('carol', 1)
