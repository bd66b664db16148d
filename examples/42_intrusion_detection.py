"""Intrusion detection: three wrong passwords or more, directly one after the other, then the right one, in a minute."""

from dataclasses import dataclass

from firesteel.cep import CEP, AfterMatchSkipStrategy, Pattern
from firesteel.common import Duration, Time, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment


@dataclass(frozen=True)
class Login:
    second: int
    account: str
    address: str
    success: bool


LOGINS = [
    Login(1, "ann", "10.0.0.1", False),
    Login(2, "bob", "10.0.0.9", False),
    Login(4, "ann", "10.0.0.1", True),
    Login(5, "bob", "10.0.0.9", False),
    Login(9, "bob", "10.0.0.7", False),
    Login(8, "bob", "10.0.0.8", False),  # a second late
    Login(12, "bob", "10.0.0.7", True),
    Login(20, "eve", "10.0.0.5", False),
    Login(50, "eve", "10.0.0.5", False),
    Login(79, "eve", "10.0.0.5", False),
    Login(85, "eve", "10.0.0.5", True),  # more than a minute after the first failure
]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2)).with_timestamp_assigner(
        lambda login, _: login.second * 1000
    )
    logins = env.from_collection(LOGINS).assign_timestamps_and_watermarks(in_order)

    guessed = (
        Pattern.begin("failures", AfterMatchSkipStrategy.skip_past_last_event())
        .where(lambda login: not login.success)
        .times_or_more(3)
        .consecutive()
        .greedy()
        .next("success")
        .where(lambda login: login.success)
        .within(Time.minutes(1))
    )

    def alert(match: dict[str, list[Login]]) -> str:
        tried = sorted({login.address for login in match["failures"]})
        return f"{match['success'][0].account}: guessed after {len(match['failures'])} failures from {', '.join(tried)}"

    CEP.pattern(logins.key_by(lambda login: login.account), guessed).select(alert).print().set_parallelism(1)
    env.execute("intrusion detection")


if __name__ == "__main__":
    main()

# Output, in any order:
# bob: guessed after 4 failures from 10.0.0.7, 10.0.0.8, 10.0.0.9
