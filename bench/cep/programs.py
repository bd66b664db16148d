"""A small payment, then a large one with the same card within a minute: as a pattern, and by hand."""

from __future__ import annotations

from collections.abc import Iterator

from firesteel.cep import CEP, Pattern
from firesteel.common import Time, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource
from firesteel.connectors.discarding import DiscardingSink
from firesteel.datastream import KeyedProcessFunction, KeyedStream, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

Payment = tuple[int, int, int]
"""(card, amount, time)"""
SMALL, LARGE = 5, 95
WINDOW_MS = 60_000


def payment(number: int, cards: int) -> Payment:
    """Twenty payments per millisecond; one in twenty is small, one in twenty is large. CardFraud.java has the same."""
    mixed = number * 2654435761 & 0xFFFFFFFF
    return mixed % cards, mixed // 65536 % 100, number // 20


def payments(env: StreamExecutionEnvironment, records: int, keys: int) -> KeyedStream:
    """Payments by card."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda payment, _: payment[2])
    source = DataGeneratorSource(lambda number: payment(number, keys), records)
    return env.from_source(source, strategy, "payments").key_by(lambda payment: payment[0])


def small_then_large() -> Pattern:
    """Each small payment with the first large one after it."""
    return (
        Pattern.begin("small")
        .where(lambda payment: payment[1] < SMALL)
        .followed_by("large")
        .where(lambda payment: payment[1] >= LARGE)
        .within(Time.milliseconds(WINDOW_MS))
    )


def by_pattern(env: StreamExecutionEnvironment, records: int, keys: int) -> None:
    """The pattern."""
    alerts = CEP.pattern(payments(env, records, keys), small_then_large()).select(_alert)
    alerts.sink_to(DiscardingSink())


def _alert(match: dict[str, list[Payment]]) -> tuple[int, int, int]:
    small, large = match["small"][0], match["large"][0]
    return small[0], small[2], large[2]


class SmallThenLarge(KeyedProcessFunction):
    """The same by hand: small payments of the last minute, cleared by timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.small = runtime_context.get_state(ValueStateDescriptor("small"))

    def process_element(self, value: Payment, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, int, int]]:
        amount = value[1]
        if amount < SMALL:
            self.small.update([*(self.small.value() or ()), value[2]])
            ctx.timer_service().register_event_time_timer(value[2] + WINDOW_MS)
        elif amount >= LARGE:
            for time in self.small.value() or ():
                if value[2] - time < WINDOW_MS:
                    yield value[0], time, value[2]
            self.small.clear()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        left = [time for time in self.small.value() or () if time + WINDOW_MS > timestamp]
        if left:
            self.small.update(left)
        else:
            self.small.clear()


def by_hand(env: StreamExecutionEnvironment, records: int, keys: int) -> None:
    """The state machine."""
    payments(env, records, keys).process(SmallThenLarge()).sink_to(DiscardingSink())
