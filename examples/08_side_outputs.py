"""Side outputs: one process function sorts a stream into three, late events among them."""

from collections.abc import Iterator
from typing import Any

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.watermark_strategy import Watermark, WatermarkGenerator, WatermarkOutput
from firesteel.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

EVENTS = [4, 2, 7, 11, 9, 15, 12, 13, 17, 14, 21, 24, 22, 19, 23]  # each is its own event time
MAX_DELAY = 4

LATE = OutputTag("late", Types.INT())
ODD = OutputTag("odd", Types.INT())


class AfterEachEvent(WatermarkGenerator):
    """Advances with every event, where the generators that come with the package do so once per batch."""

    latest = 0

    def on_event(self, event: int, timestamp: int, output: WatermarkOutput) -> None:
        self.latest = max(self.latest, timestamp)
        output.emit_watermark(Watermark(self.latest - MAX_DELAY - 1))


class Sort(ProcessFunction):
    """Odd numbers to one side, late ones to the other; the rest stays on the main output."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value <= ctx.timer_service().current_watermark():
            yield LATE, value
        elif value % 2:
            yield ODD, value
        else:
            yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    strategy = WatermarkStrategy.for_generator(AfterEachEvent).with_timestamp_assigner(lambda event, _: event)
    even = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy).process(Sort())
    even.print("even")
    even.get_side_output(ODD).print("odd")
    even.get_side_output(LATE).print("late")

    env.execute("side outputs")


if __name__ == "__main__":
    main()

# Output:
# even> 4
# even> 2
# even> 12
# even> 14
# even> 24
# even> 22
# odd> 7
# odd> 11
# odd> 9
# odd> 15
# odd> 13
# odd> 17
# odd> 21
# odd> 23
# late> 19
