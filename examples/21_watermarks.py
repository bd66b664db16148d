"""Timestamps and watermarks, made visible: the watermark lags the latest timestamp by 20 seconds and 1 millisecond."""

from collections.abc import Iterator

from firesteel.common import Duration, Watermark, WatermarkOutput, WatermarkStrategy
from firesteel.datastream import ProcessFunction, StreamExecutionEnvironment

Event = tuple[str, int]
"""A name, and when it happened, in seconds."""

EVENTS = [("a", 100), ("b", 130), ("c", 115)]

STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20)).with_timestamp_assigner(
    lambda event, _: event[1] * 1000
)


class ShowTime(ProcessFunction):
    def process_element(self, value: Event, ctx: ProcessFunction.Context) -> Iterator[str]:
        yield f"{value[0]} has the timestamp {ctx.timestamp()}"


class ShowWatermark(WatermarkOutput):
    def emit_watermark(self, watermark: Watermark | int) -> None:
        print("watermark", watermark if isinstance(watermark, int) else watermark.timestamp)

    def mark_idle(self) -> None:
        print("nothing comes")

    def mark_active(self) -> None:
        print("something comes again")


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(STRATEGY)
    events.process(ShowTime()).print()
    env.execute("timestamps")

    # What the engine does with a strategy: it shows its generator every event, and asks it now and then.
    generator = STRATEGY.create_generator()
    for event in EVENTS:
        generator.on_event(event, event[1] * 1000, ShowWatermark())
        generator.on_periodic_emit(ShowWatermark())


if __name__ == "__main__":
    main()

# Output:
# a has the timestamp 100000
# b has the timestamp 130000
# c has the timestamp 115000
# watermark 79999
# watermark 109999
# watermark 109999
