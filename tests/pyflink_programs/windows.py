"""Event-time windows: tumbling with a process function, sliding with an aggregate, sessions, and counts."""

from collections.abc import Iterable

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)


class SecondIsTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp) -> int:
        return int(value[1])


class CountWindow(ProcessWindowFunction[tuple, tuple, str, TimeWindow]):
    def process(
        self, key: str, context: "ProcessWindowFunction.Context[TimeWindow]", elements: Iterable[tuple]
    ) -> Iterable[tuple]:
        return [(key, context.window().start, context.window().end, len(list(elements)))]


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondIsTime())
    clicks = (
        env.from_collection(
            [("hi", 1), ("hi", 2), ("hi", 3), ("hi", 4), ("hi", 8), ("hi", 9), ("hi", 15)],
            type_info=Types.TUPLE([Types.STRING(), Types.INT()]),
        )
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda click: click[0], key_type=Types.STRING())
    )
    shape = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT(), Types.INT()])
    clicks.window(TumblingEventTimeWindows.of(Time.milliseconds(5))).process(CountWindow(), shape).print("tumbling")
    clicks.window(EventTimeSessionWindows.with_gap(Time.milliseconds(5))).process(CountWindow(), shape).print("session")
    (
        clicks.window(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)))
        .aggregate(Average(), output_type=Types.DOUBLE())
        .print("sliding")
    )
    (
        clicks.window(GlobalWindows.create())
        .trigger(CountTrigger.of(3))
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
        .print("count")
    )
    env.execute("windows")

# Output, in any order:
# tumbling> (hi,0,5,4)
# tumbling> (hi,5,10,2)
# tumbling> (hi,15,20,1)
# session> (hi,1,14,6)
# session> (hi,15,20,1)
# sliding> 2.5
# sliding> 4.5
# sliding> 8.5
# sliding> 15.0
# sliding> 15.0
# count> (hi,6)
# count> (hi,27)
