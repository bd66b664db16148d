"""Card fraud: a small payment that tries a stolen card, then a large one within a minute. The pattern is text."""

from firesteel.cep import CEP, Pattern
from firesteel.common import WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment

# (card, amount, second)
PAYMENTS = [
    ("1111", 12.50, 0),
    ("2222", 0.50, 3),
    ("1111", 0.99, 10),
    ("2222", 30.00, 12),
    ("2222", 740.00, 40),
    ("1111", 650.00, 75),  # more than a minute later
    ("3333", 0.10, 80),
    ("3333", 0.20, 90),
    ("3333", 999.00, 100),  # with either of the small ones
]
CONDITIONS = {
    "small": lambda payment: payment[1] < 1,
    "large": lambda payment: payment[1] > 500,
}


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    by_second = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda payment, _: payment[2] * 1000
    )
    payments = env.from_collection(PAYMENTS).assign_timestamps_and_watermarks(by_second)

    pattern = Pattern.from_text("small -> large within 1 min", CONDITIONS)
    fraud = CEP.pattern(payments.key_by(lambda payment: payment[0]), pattern)
    alerts = fraud.select(
        lambda match: f"card {match['small'][0][0]}: {match['small'][0][1]} then {match['large'][0][1]}"
    )
    alerts.print().set_parallelism(1)
    env.execute("card fraud")


if __name__ == "__main__":
    main()

# Output, in any order:
# card 2222: 0.5 then 740.0
# card 3333: 0.1 then 999.0
# card 3333: 0.2 then 999.0
