"""Watermarks: how long to wait for events that come out of order. Wait long enough, and they can be sorted."""

import sys
from collections.abc import Iterator

from firesteel.common import Types, Watermark, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, OutputTag, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import MapStateDescriptor

EVENTS = [4, 2, 7, 11, 9, 15, 12, 13, 17, 14, 21, 24, 22, 19, 23]  # each is its own event time
LATE = OutputTag("late")


class Bounded(WatermarkGenerator):
    """After each event: everything up to the latest timestamp minus the bound has come, so we believe."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.latest = 0

    def on_event(self, event: int, timestamp: int, output: WatermarkOutput) -> None:
        self.latest = max(self.latest, timestamp)
        output.emit_watermark(Watermark(self.latest - self.bound - 1))


class Sorter(KeyedProcessFunction):
    """Holds every event until the watermark says that nothing before it can come any more."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting", Types.LONG(), Types.INT()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[OutputTag, int]]:
        if value <= ctx.timer_service().current_watermark():
            yield LATE, value
        else:
            self.waiting.put(value, value)
            ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
        value = self.waiting.get(timestamp)
        assert value is not None
        yield value
        self.waiting.remove(timestamp)


def main(bound: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    strategy = WatermarkStrategy.for_generator(lambda: Bounded(bound)).with_timestamp_assigner(lambda event, _: event)
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    ordered = events.key_by(lambda event: "all").process(Sorter())
    ordered.print()
    ordered.get_side_output(LATE).print("late")

    env.execute("sort by event time")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)

# With a bound of 4 (python 20_sort_by_event_time.py 4) the event 19 is late: it comes after 24, 5 too late.
#
# Output:
# 2
# 4
# 7
# 9
# 11
# 12
# 13
# 14
# 15
# 17
# 19
# 21
# 22
# 23
# 24
