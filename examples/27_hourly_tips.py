"""Tips per driver and hour, by a window, and by a window made by hand. Fares that come too late are set aside."""

from collections import Counter
from collections.abc import Iterable, Iterator

from firesteel.common import Duration, Time, Types, Watermark, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from firesteel.connectors.taxi import TaxiFare, TaxiFareSource
from firesteel.datastream import (
    KeyedProcessFunction,
    KeyedStream,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import MapStateDescriptor
from firesteel.datastream.window import TimeWindow, TumblingEventTimeWindows

Tips = tuple[int, int, int]
"""End of the hour, driver, cents."""

HOUR = 60 * 60 * 1000


def cents(fare: TaxiFare) -> int:
    return round(fare.tip * 100)


class AddTips(ProcessWindowFunction[TaxiFare, Tips, int, TimeWindow]):
    def process(
        self, key: int, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[TaxiFare]
    ) -> Iterator[Tips]:
        yield context.window().end, key, sum(map(cents, elements))


class PseudoWindow(KeyedProcessFunction):
    """What a tumbling window does: a sum for each open hour, and a timer at its end that emits and removes it."""

    LATE_FARES = OutputTag("lateFares")

    def __init__(self, duration: Time) -> None:
        self.duration = duration.to_milliseconds()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum_of_tips = runtime_context.get_map_state(MapStateDescriptor("sumOfTips", Types.LONG(), Types.LONG()))

    def process_element(
        self, value: TaxiFare, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[OutputTag, TaxiFare]]:
        timers = ctx.timer_service()
        end_of_window = value.start_time - value.start_time % self.duration + self.duration - 1
        if end_of_window <= timers.current_watermark():
            yield self.LATE_FARES, value  # its window has been evaluated already
            return
        timers.register_event_time_timer(end_of_window)
        self.sum_of_tips.put(end_of_window, (self.sum_of_tips.get(end_of_window) or 0) + cents(value))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Tips]:
        yield timestamp, ctx.get_current_key(), self.sum_of_tips.get(timestamp) or 0
        self.sum_of_tips.remove(timestamp)


class Impatient(WatermarkGenerator):
    """Moves on with every fare, and waits for none."""

    def __init__(self) -> None:
        self.latest = 0

    def on_event(self, event: TaxiFare, timestamp: int, output: WatermarkOutput) -> None:
        self.latest = max(self.latest, timestamp)
        output.emit_watermark(Watermark(self.latest - 1))


PATIENT = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(7))


def fares(env: StreamExecutionEnvironment, strategy: WatermarkStrategy) -> KeyedStream:
    source = TaxiFareSource(count=12_000, max_delay=Duration.of_minutes(7), ride_interval=2_000)
    return env.from_source(source, strategy, "fares").key_by(lambda fare: fare.driver_id)


def tips_of(fare: TaxiFare) -> Tips:
    return fare.start_time - fare.start_time % HOUR + HOUR - 1, fare.driver_id, cents(fare)


class Timestamp(ProcessFunction):
    """Adds the timestamp of a record."""

    def process_element(self, value: Tips, ctx: ProcessFunction.Context) -> Iterator[tuple[int | None, Tips]]:
        yield ctx.timestamp(), value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    by_driver = fares(env, PATIENT)
    by_window = by_driver.window(TumblingEventTimeWindows.of(Time.hours(1))).process(AddTips())
    by_hand = by_driver.process(PseudoWindow(Time.hours(1)))
    windows = sorted(by_window.execute_and_collect())
    pseudo_windows = sorted((end + 1, driver, tips) for end, driver, tips in by_hand.execute_and_collect())
    print(len(windows), "hours of drivers; both ways agree:", windows == pseudo_windows)
    stamps = list(by_window.process(Timestamp()).execute_and_collect())
    print("timestamps of results are the ends of windows - 1:", all(stamp == tips[0] - 1 for stamp, tips in stamps))

    # With one subtask the watermarks stay between the fares that they came between; otherwise few are late here.
    env.set_parallelism(1)
    in_time = fares(env, WatermarkStrategy.for_generator(Impatient)).process(PseudoWindow(Time.hours(1)))
    late = in_time.get_side_output(OutputTag("lateFares"))  # another tag of the same name is the same side output
    print("there are late fares:", any(True for _ in late.execute_and_collect()))
    totals: Counter[tuple[int, int]] = Counter()
    for end, driver, tips in in_time.union(late.map(tips_of)).execute_and_collect():
        totals[end + 1, driver] += tips
    print("sums and late fares together agree:", sorted((*key, tips) for key, tips in totals.items()) == windows)


if __name__ == "__main__":
    main()

# Output:
# 1400 hours of drivers; both ways agree: True
# timestamps of results are the ends of windows - 1: True
# there are late fares: True
# sums and late fares together agree: True
