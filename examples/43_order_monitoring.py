"""Order process monitoring: a payment that is not followed by a shipment within a day."""

from firesteel.cep import CEP, Pattern
from firesteel.common import Time, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment

HOUR = 60 * 60 * 1000

# (order, what happened, hour)
EVENTS = [
    ("order 1", "placed", 1),
    ("order 1", "paid", 2),
    ("order 2", "placed", 3),
    ("order 2", "paid", 5),
    ("order 1", "shipped", 20),
    ("order 3", "placed", 28),
    ("order 3", "paid", 29),
    ("order 2", "shipped", 30),  # a day and an hour after the payment
    ("order 3", "shipped", 40),
    ("order 4", "paid", 41),
]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    by_hour = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[2] * HOUR)
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(by_hour)

    not_shipped = (
        Pattern.begin("paid")
        .where(lambda event: event[1] == "paid")
        .not_followed_by("shipped")
        .where(lambda event: event[1] == "shipped")
        .within(Time.days(1))
    )

    late = CEP.pattern(events.key_by(lambda event: event[0]), not_shipped)
    alerts = late.select(
        lambda match: f"{match['paid'][0][0]}: paid in hour {match['paid'][0][2]}, not shipped in a day"
    )
    alerts.print().set_parallelism(1)
    env.execute("order monitoring")


if __name__ == "__main__":
    main()

# Output, in any order:
# order 4: paid in hour 41, not shipped in a day
# order 2: paid in hour 5, not shipped in a day
