"""How long things take, from pairs of START and END events. A START without END is forgotten after four hours."""

from collections.abc import Iterator

from firesteel.common import Types, Watermark, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

Event = tuple[str, str, int]
"""Key, START or END, minutes."""

MINUTE = 60_000
FOUR_HOURS = 4 * 60 * MINUTE
EVENTS = [
    ("a", "START", 0),
    ("b", "START", 5),
    ("a", "END", 30),
    ("c", "END", 40),  # there was no START
    ("d", "START", 300),
    ("b", "END", 400),  # after more than four hours
    ("d", "END", 539),
]


class StartEndDuration(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.start_time = runtime_context.get_state(ValueStateDescriptor("startTime", Types.LONG()))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[str, int]]:
        key, event, minutes = value
        if event == "START":
            self.start_time.update(minutes * MINUTE)
            ctx.timer_service().register_event_time_timer(minutes * MINUTE + FOUR_HOURS)
            return
        start_time = self.start_time.value()
        if start_time is not None:
            yield key, minutes - start_time // MINUTE
            ctx.timer_service().delete_event_time_timer(start_time + FOUR_HOURS)
            self.start_time.clear()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        self.start_time.clear()


class InOrder(WatermarkGenerator):
    def on_event(self, event: Event, timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(timestamp - 1))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    strategy = WatermarkStrategy.for_generator(InOrder).with_timestamp_assigner(lambda event, _: event[2] * MINUTE)
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    events.key_by(lambda event: event[0]).process(StartEndDuration()).print()

    env.execute("start and end")


if __name__ == "__main__":
    main()

# Output:
# ('a', 30)
# ('d', 239)
