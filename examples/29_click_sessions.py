"""Clicks per session of a user: a session ends when the user does nothing for half an hour."""

from firesteel.common import Time, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.window import EventTimeSessionWindows

CLICKS = [("ann", 0), ("bob", 3), ("ann", 20), ("ann", 49), ("bob", 50), ("ann", 100)]  # user, minutes


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda click, _: click[1] * 60_000)
    clicks = env.from_collection(CLICKS).assign_timestamps_and_watermarks(strategy)
    result = (
        clicks.map(lambda click: (click[0], 1))
        .key_by(0)
        .window(EventTimeSessionWindows.with_gap(Time.minutes(30)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    result.print()

    env.execute("click sessions")


if __name__ == "__main__":
    main()

# Output, in any order:
# ('bob', 1)
# ('ann', 3)
# ('bob', 1)
# ('ann', 1)
