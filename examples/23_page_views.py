"""Page views per user in three kinds of windows: every minute, the last minute every 10 seconds, and sessions."""

from collections.abc import Iterable, Iterator

from firesteel.common import Time, WatermarkStrategy
from firesteel.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)

View = tuple[str, str, int]
"""User, page, seconds."""

VIEWS = [("ann", "/", 0), ("ann", "/tea", 50), ("bob", "/", 55), ("ann", "/pay", 65), ("ann", "/", 3600)]


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: View, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b  # sessions grow together


class WithWindow(ProcessWindowFunction[int, str, str, TimeWindow]):
    """Is given the count as the only element, and adds who and when."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[int]
    ) -> Iterator[str]:
        window = context.window()
        (count,) = elements
        yield f"{key} {window.start // 1000} s to {window.end // 1000} s: {count}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda view, _: view[2] * 1000)
    views = env.from_collection(VIEWS).assign_timestamps_and_watermarks(strategy).key_by(lambda view: view[0])

    views.window(TumblingEventTimeWindows.of(Time.minutes(1))).aggregate(Count(), WithWindow()).print("minute")
    last_minute = views.window(SlidingEventTimeWindows.of(Time.minutes(1), Time.seconds(10)))
    last_minute.aggregate(Count(), WithWindow()).filter(lambda text: text.startswith("bob")).print("last minute")
    sessions = views.window(EventTimeSessionWindows.with_gap(Time.minutes(30)))
    sessions.aggregate(Count(), WithWindow()).print("session")

    env.execute("page views")


if __name__ == "__main__":
    main()

# Output, in any order between the three:
# minute> ann 0 s to 60 s: 2
# minute> bob 0 s to 60 s: 1
# minute> ann 60 s to 120 s: 1
# minute> ann 3600 s to 3660 s: 1
# last minute> bob 0 s to 60 s: 1
# last minute> bob 10 s to 70 s: 1
# last minute> bob 20 s to 80 s: 1
# last minute> bob 30 s to 90 s: 1
# last minute> bob 40 s to 100 s: 1
# last minute> bob 50 s to 110 s: 1
# session> bob 55 s to 1855 s: 1
# session> ann 0 s to 1865 s: 3
# session> ann 3600 s to 5400 s: 1
