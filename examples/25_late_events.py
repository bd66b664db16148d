"""Events that come after their window has fired: dropped, set aside, or let in for some time."""

from firesteel.common import Time, Watermark, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from firesteel.datastream import OutputTag, StreamExecutionEnvironment
from firesteel.datastream.window import TumblingEventTimeWindows

Event = tuple[str, int]
"""A name, and when it happened, in seconds."""

EVENTS = [("a", 5), ("b", 61), ("c", 30), ("d", 75), ("e", 31)]
LATE = OutputTag("late")


class NoPatience(WatermarkGenerator):
    """Nothing is expected to come out of order: c and e will be late."""

    def __init__(self) -> None:
        self.latest = 0

    def on_event(self, event: Event, timestamp: int, output: WatermarkOutput) -> None:
        self.latest = max(self.latest, timestamp)
        output.emit_watermark(Watermark(self.latest - 1))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    strategy = WatermarkStrategy.for_generator(NoPatience).with_timestamp_assigner(lambda event, _: event[1] * 1000)
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    names = events.map(lambda event: (event[0], "")).key_by(lambda event: event[1])

    def together(first: Event, second: Event) -> Event:
        return first[0] + second[0], first[1]

    minute = TumblingEventTimeWindows.of(Time.minutes(1))
    strict = names.window(minute).side_output_late_data(LATE).reduce(together)
    strict.map(lambda event: event[0]).print("strict")
    strict.get_side_output(LATE).map(lambda event: event[0]).print("too late for strict")

    # The watermark is at 61 s when c comes, 1 s behind the end of its window; and at 75 s when e comes, 15 s behind.
    patient = names.window(minute).allowed_lateness(Time.seconds(10)).side_output_late_data(LATE).reduce(together)
    patient.map(lambda event: event[0]).print("patient")
    patient.get_side_output(LATE).map(lambda event: event[0]).print("too late for patient")

    env.execute("late events")


if __name__ == "__main__":
    main()

# Output, in any order between the four:
# strict> a
# too late for strict> c
# too late for strict> e
# strict> bd
# patient> a
# patient> ac
# too late for patient> e
# patient> bd
