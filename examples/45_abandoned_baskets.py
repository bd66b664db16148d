"""Abandoned baskets: what was put into a basket and not bought within half an hour goes to a side output."""

from collections.abc import Iterator
from typing import Any

from firesteel.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.datastream import OutputTag, StreamExecutionEnvironment

MINUTE = 60 * 1000
ABANDONED = OutputTag("abandoned", Types.STRING())

# (visitor, what happened, minute)
CLICKS = [
    ("ann", "basket: tea", 0),
    ("bob", "basket: a kettle", 2),
    ("ann", "look", 4),
    ("ann", "buy", 9),
    ("bob", "look", 20),
    ("cleo", "basket: cups", 25),
    ("bob", "buy", 40),  # too late: the basket was given up in minute 32
]


class Baskets(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: dict[str, list[Any]], ctx: PatternProcessFunction.Context) -> Iterator[str]:
        (basket,), (buy,) = match["basket"], match["buy"]
        yield f"{ctx.get_current_key()} bought {basket[1].removeprefix('basket: ')} after {buy[2] - basket[2]} minutes"

    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: PatternProcessFunction.Context) -> None:
        item = match["basket"][0][1].removeprefix("basket: ")
        ctx.output(ABANDONED, f"{ctx.get_current_key()} left {item} in minute {ctx.timestamp() // MINUTE}")


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    by_minute = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda click, _: click[2] * MINUTE
    )
    clicks = env.from_collection(CLICKS).assign_timestamps_and_watermarks(by_minute)

    bought = (
        Pattern.begin("basket", AfterMatchSkipStrategy.skip_past_last_event())
        .where(lambda click: click[1].startswith("basket"))
        .followed_by("buy")
        .where(lambda click: click[1] == "buy")
        .within(Time.minutes(30))
    )
    purchases = CEP.pattern(clicks.key_by(lambda click: click[0]), bought).process(Baskets(), Types.STRING())
    purchases.print()
    purchases.get_side_output(ABANDONED).print("abandoned")
    env.execute("abandoned baskets")


if __name__ == "__main__":
    main()

# Output, in any order:
# ann bought tea after 9 minutes
# abandoned> bob left a kettle in minute 32
# abandoned> cleo left cups in minute 55
