"""Views that led to a sale, per hour and shop: events come out of order and around the full hour."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator

from firesteel.common import Duration, Time, WatermarkStrategy
from firesteel.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from firesteel.datastream.window import TimeWindow, TumblingEventTimeWindows

Event = tuple[str, str, int]
"""Shop, view or sale, minutes."""

HOUR = 60
IN_ORDER: list[Event] = [
    ("shop a" if number % 3 else "shop b", "sale" if number % 5 == 0 else "view", number) for number in range(180)
]
MAX_DELAY = 20


def out_of_order(events: list[Event], seed: int) -> list[Event]:
    """Each event moves by less than the allowed delay."""
    mixed = random.Random(seed)
    return sorted(events, key=lambda event: event[2] + mixed.uniform(0, MAX_DELAY))


class Conversions(ProcessWindowFunction[Event, tuple[str, int, int, int], str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Event]
    ) -> Iterator[tuple[str, int, int, int]]:
        kinds = Counter(kind for _, kind, _ in elements)
        yield key, context.window().end // (HOUR * 60_000), kinds["sale"], kinds["view"]


def main(seed: int = 1) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(MAX_DELAY)).with_timestamp_assigner(
        lambda event, _: event[2] * 60_000
    )
    events = env.from_collection(out_of_order(IN_ORDER, seed)).assign_timestamps_and_watermarks(strategy)
    hours = events.key_by(lambda event: event[0]).window(TumblingEventTimeWindows.of(Time.hours(1)))
    for shop, hour, sales, views in sorted(hours.process(Conversions()).execute_and_collect()):
        print(f"{shop}, hour {hour}: {sales} sales for {views} views")


if __name__ == "__main__":
    main()

# Output:
# shop a, hour 1: 8 sales for 32 views
# shop a, hour 2: 8 sales for 32 views
# shop a, hour 3: 8 sales for 32 views
# shop b, hour 1: 4 sales for 16 views
# shop b, hour 2: 4 sales for 16 views
# shop b, hour 3: 4 sales for 16 views
