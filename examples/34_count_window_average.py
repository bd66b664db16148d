"""Keyed state: the average of every two values of a key."""

from collections.abc import Iterator

from firesteel.common import Types
from firesteel.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor


class CountWindowAverage(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("average", Types.TUPLE([Types.LONG(), Types.LONG()]))
        self.sum = runtime_context.get_state(descriptor)

    def flat_map(self, value: tuple[int, int]) -> Iterator[tuple[int, int]]:
        count, total = self.sum.value() or (0, 0)
        count, total = count + 1, total + value[1]
        self.sum.update((count, total))
        if count >= 2:
            self.sum.clear()
            yield value[0], total // count


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    pairs = env.from_collection([(1, 3), (1, 5), (1, 7), (1, 4), (1, 2)])
    pairs.key_by(lambda pair: pair[0]).flat_map(CountWindowAverage()).print()

    env.execute("count window average")


if __name__ == "__main__":
    main()

# Output:
# (1, 4)
# (1, 5)
