"""The maximum of each sensor per minute, wastefully and thriftily."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from firesteel.common import Duration, Time, WatermarkStrategy
from firesteel.datastream import ProcessWindowFunction, ReduceFunction, StreamExecutionEnvironment
from firesteel.datastream.window import TimeWindow, TumblingEventTimeWindows


class SensorReading(NamedTuple):
    sensor: str
    seconds: int
    value: int


READINGS = [
    SensorReading("kitchen", 3, 20),
    SensorReading("hall", 10, 17),
    SensorReading("kitchen", 59, 22),
    SensorReading("kitchen", 31, 25),  # out of order
    SensorReading("hall", 61, 18),
    SensorReading("kitchen", 75, 21),
]

Maximum = tuple[str, int, int]
"""Sensor, end of the window in seconds, largest value."""


class MyWastefulMax(ProcessWindowFunction[SensorReading, Maximum, str, TimeWindow]):
    """Every reading is kept until the window ends."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[SensorReading]
    ) -> Iterator[Maximum]:
        yield key, context.window().end // 1000, max(reading.value for reading in elements)


class MyReducingMax(ReduceFunction):
    """Only the largest reading so far is kept."""

    def reduce(self, value1: SensorReading, value2: SensorReading) -> SensorReading:
        return value1 if value1.value >= value2.value else value2


class MyWindowFunction(ProcessWindowFunction[SensorReading, Maximum, str, TimeWindow]):
    """Is given the result of the reduce function, as the only element."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[SensorReading]
    ) -> Iterator[Maximum]:
        (largest,) = elements
        yield key, context.window().end // 1000, largest.value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(30)).with_timestamp_assigner(
        lambda reading, _: reading.seconds * 1000
    )
    readings = env.from_collection(READINGS).assign_timestamps_and_watermarks(strategy)
    windows = readings.key_by(lambda reading: reading.sensor).window
    windows(TumblingEventTimeWindows.of(Time.minutes(1))).process(MyWastefulMax()).print("wasteful")
    windows(TumblingEventTimeWindows.of(Time.minutes(1))).reduce(MyReducingMax(), MyWindowFunction()).print("thrifty")

    env.execute("sensor maximum")


if __name__ == "__main__":
    main()

# Output, in any order between the two:
# wasteful> ('kitchen', 60, 25)
# wasteful> ('hall', 60, 17)
# wasteful> ('hall', 120, 18)
# wasteful> ('kitchen', 120, 21)
# thrifty> ('kitchen', 60, 25)
# thrifty> ('hall', 60, 17)
# thrifty> ('hall', 120, 18)
# thrifty> ('kitchen', 120, 21)
