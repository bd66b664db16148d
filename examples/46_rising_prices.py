"""Rising prices: each price above the one before it, as long as it goes on, for three prices or more.

The condition of the stage is iterative: it looks at what the stage has taken so far. Greedy, it takes all it can; the
price that ends the rise is the next stage.
"""

from typing import Any

from firesteel.cep import CEP, AfterMatchSkipStrategy, IterativeCondition, Pattern
from firesteel.common import WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment

# (share, price), one per second
PRICES = [
    ("ACME", 10),
    ("ACME", 11),
    ("INIT", 70),
    ("ACME", 13),
    ("INIT", 60),
    ("ACME", 14),
    ("INIT", 61),
    ("ACME", 12),
    ("INIT", 62),
    ("ACME", 15),
    ("INIT", 63),
    ("ACME", 16),
    ("INIT", 50),
    ("ACME", 1),
]


def rises(price: tuple[str, int], ctx: IterativeCondition.Context) -> bool:
    before = list(ctx.get_events_for_pattern("rise"))
    return not before or price[1] > before[-1][1]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbered = env.from_collection([(second, *price) for second, price in enumerate(PRICES)])
    by_second = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda each, _: each[0] * 1000)
    prices = numbered.assign_timestamps_and_watermarks(by_second).map(lambda each: each[1:])

    pattern = (
        Pattern.begin("rise", AfterMatchSkipStrategy.skip_past_last_event())
        .where(rises)
        .times_or_more(3)
        .consecutive()
        .greedy()
        .next("end")
    )

    def describe(match: dict[str, list[Any]]) -> str:
        steps = " ".join(str(price) for _, price in match["rise"])
        return f"{match['end'][0][0]} rose: {steps}, then {match['end'][0][1]}"

    CEP.pattern(prices.key_by(lambda price: price[0]), pattern).select(describe).print().set_parallelism(1)
    env.execute("rising prices")


if __name__ == "__main__":
    main()

# Output, in any order:
# ACME rose: 10 11 13 14, then 12
# INIT rose: 60 61 62 63, then 50
