"""Windows after windows: the busiest sensor of each minute, out of the counts of all sensors in that minute."""

from firesteel.common import Time, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.window import TumblingEventTimeWindows

Count = tuple[str, int]

EVENTS = [("a", 1), ("b", 2), ("a", 30), ("b", 59), ("b", 59), ("a", 60), ("c", 70), ("c", 80)]  # sensor, seconds


def add(first: Count, second: Count) -> Count:
    return first[0], first[1] + second[1]


def larger(first: Count, second: Count) -> Count:
    return first if first[1] >= second[1] else second


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[1] * 1000)
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)

    minute = TumblingEventTimeWindows.of(Time.minutes(1))
    counts = events.map(lambda event: (event[0], 1)).key_by(lambda count: count[0]).window(minute).reduce(add)
    # The result of a window has the last timestamp of the window: it falls into the same minute again.
    counts.window_all(minute).reduce(larger).print().set_parallelism(1)

    env.execute("windows after windows")


if __name__ == "__main__":
    main()

# Output:
# ('b', 3)
# ('c', 2)
