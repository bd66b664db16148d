"""Three ways to compute a window: reduce, aggregate, or process with all its events. All give the same sums."""

from collections.abc import Iterable, Iterator

from firesteel.common import Time, WatermarkStrategy
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import ProcessAllWindowFunction
from firesteel.datastream.window import TimeWindow, TumblingEventTimeWindows

Reading = tuple[str, int, int]
"""Sensor, seconds, value."""

READINGS = [("a", 1, 10), ("b", 2, 1), ("a", 5, 20), ("a", 61, 5), ("b", 62, 2), ("b", 63, 3)]
MINUTE = TumblingEventTimeWindows.of(Time.minutes(1))


class Sum(ReduceFunction):
    """Keeps one event per window: as little as there can be. Result and event have the same type."""

    def reduce(self, value1: Reading, value2: Reading) -> Reading:
        return value1[0], max(value1[1], value2[1]), value1[2] + value2[2]


class SumOfValues(AggregateFunction):
    """Keeps an accumulator per window, which may be anything."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Reading, accumulator: int) -> int:
        return accumulator + value[2]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class SumOfAll(ProcessWindowFunction[Reading, int, str, TimeWindow]):
    """Keeps all events of a window, and knows the window."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Reading]
    ) -> Iterator[int]:
        yield sum(value for _, _, value in elements)


class SumOfAllKeys(ProcessAllWindowFunction[Reading, int, TimeWindow]):
    def process(
        self, context: ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[Reading]
    ) -> Iterator[int]:
        yield sum(value for _, _, value in elements)


def readings(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1] * 1000)
    return env.from_collection(READINGS).assign_timestamps_and_watermarks(strategy)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    by_sensor = readings(env).key_by(lambda reading: reading[0]).window
    by_sensor(MINUTE).reduce(Sum()).map(lambda reading: reading[2]).print("reduce   ")
    by_sensor(MINUTE).aggregate(SumOfValues()).print("aggregate")
    by_sensor(MINUTE).process(SumOfAll()).print("process  ")

    # Without keys everything goes through one subtask.
    of_all = readings(env).window_all
    of_all(MINUTE).reduce(Sum()).map(lambda reading: reading[2]).print("all reduce   ")
    of_all(MINUTE).aggregate(SumOfValues()).print("all aggregate")
    of_all(MINUTE).process(SumOfAllKeys()).print("all process  ")

    env.execute("window functions")


if __name__ == "__main__":
    main()

# Output, in any order between the six streams:
# reduce   > 30
# reduce   > 1
# reduce   > 5
# reduce   > 5
# aggregate> 30
# aggregate> 1
# aggregate> 5
# aggregate> 5
# process  > 30
# process  > 1
# process  > 5
# process  > 5
# all reduce   > 31
# all reduce   > 10
# all aggregate> 31
# all aggregate> 10
# all process  > 31
# all process  > 10
