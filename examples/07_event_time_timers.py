"""Tips per driver and hour by event time: a window built by hand of map state and event-time timers."""

from collections.abc import Iterator
from datetime import datetime, timezone

from firesteel.common import Types
from firesteel.connectors.taxi import TaxiFare, TaxiFareSource
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import MapStateDescriptor

HOUR = 60 * 60 * 1000


class TipsPerHour(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", Types.LONG(), Types.DOUBLE()))

    def process_element(self, value: TaxiFare, ctx: KeyedProcessFunction.Context) -> None:
        end_of_hour = value.start_time - value.start_time % HOUR + HOUR
        self.sums.put(end_of_hour, (self.sums.get(end_of_hour) or 0.0) + value.tip)
        # A timer that is there already is not set again: one call of on_timer per driver and hour.
        ctx.timer_service().register_event_time_timer(end_of_hour - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[str, int, float]]:
        end_of_hour = timestamp + 1
        total = self.sums.get(end_of_hour) or 0.0
        self.sums.remove(end_of_hour)
        hour = datetime.fromtimestamp(end_of_hour / 1000, timezone.utc)
        yield f"{hour:%H:%M}", ctx.get_current_key(), round(total, 2)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    # The fares come up to a minute out of order; the watermarks of the source wait for them.
    source = TaxiFareSource(count=10_000, max_delay=60_000, ride_interval=2_000)
    fares = env.from_source(source, source.watermark_strategy(), "fares")
    tips = fares.key_by(lambda fare: fare.driver_id).process(TipsPerHour())
    tips.filter(lambda tip: tip[2] > 60).print().set_parallelism(1)

    env.execute("tips per hour")


if __name__ == "__main__":
    main()

# Output, in any order:
# ('13:00', 2013000061, 60.42)
# ('13:00', 2013000083, 60.79)
# ('14:00', 2013000067, 60.47)
# ('14:00', 2013000091, 64.51)
# ('14:00', 2013000163, 61.26)
# ('15:00', 2013000030, 64.98)
