"""Timestamps and watermarks, a process function with event-time timers, rows with named fields."""

from pyflink.common import Duration, Row, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment, TimeCharacteristic
from pyflink.datastream.state import ValueStateDescriptor

RIDE = Types.ROW_NAMED(["taxi", "event", "time"], [Types.STRING(), Types.STRING(), Types.LONG()])
HOUR = 60 * 60 * 1000


class RideTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value["time"]


class LongRides(KeyedProcessFunction):
    """Says when a ride that has begun did not end within two hours."""

    def open(self, runtime_context: RuntimeContext):
        self.start = runtime_context.get_state(ValueStateDescriptor("start", Types.LONG()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        if value["event"] == "START":
            self.start.update(ctx.timestamp())
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 2 * HOUR)
        elif self.start.value() is not None:
            ctx.timer_service().delete_event_time_timer(self.start.value() + 2 * HOUR)
            yield Row(value["taxi"], f"{(ctx.timestamp() - self.start.value()) // 60000} min")
            self.start.clear()

    def on_timer(self, timestamp: int, ctx: "KeyedProcessFunction.OnTimerContext"):
        self.start.clear()
        yield Row(ctx.get_current_key(), f"not back at {timestamp // HOUR} h")


def rides(env):
    return env.from_collection(
        [
            Row("a", "START", 0),
            Row("b", "START", HOUR),
            Row("a", "END", HOUR + 30 * 60000),
            Row("c", "START", 5 * HOUR),
            Row("c", "END", 5 * HOUR + 60000),
        ],
        type_info=RIDE,
    )


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20)).with_timestamp_assigner(
        RideTime()
    )
    (
        rides(env)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda row: row["taxi"], key_type=Types.STRING())
        .process(LongRides(), output_type=Types.ROW([Types.STRING(), Types.STRING()]))
        .print()
    )
    env.execute("long rides")


if __name__ == "__main__":
    main()

# Output, in any order:
# +I[a, 90 min]
# +I[b, not back at 3 h]
# +I[c, 1 min]
