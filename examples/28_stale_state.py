"""Join rides and fares in two ways. The second sets a timer, so that state without a partner does not stay forever."""

from collections.abc import Iterator
from typing import Any

from firesteel.common import Types, Watermark, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from firesteel.datastream import (
    CoFlatMapFunction,
    DataStream,
    KeyedCoProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ValueStateDescriptor

Event = tuple[int, str, int]
"""Number of the ride, what is known, minutes."""

RIDES = [(1, "ride 1", 1), (2, "ride 2", 2), (4, "ride 4", 9), (9, "ride 9", 200)]
FARES = [(2, "fare 2", 2), (1, "fare 1", 3), (3, "fare 3", 4), (9, "fare 9", 200)]
MINUTE = 60_000
PATIENCE = 60 * MINUTE
UNMATCHED = OutputTag("unmatched")


class Waiting:
    """The ride and the fare of a key, of which at most one is there."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.ride = runtime_context.get_state(ValueStateDescriptor("ride", Types.PICKLED_BYTE_ARRAY()))
        self.fare = runtime_context.get_state(ValueStateDescriptor("fare", Types.PICKLED_BYTE_ARRAY()))


class JoinInFlatMap(Waiting, CoFlatMapFunction):
    """A ride without a fare stays in state forever."""

    def flat_map1(self, value: Event) -> Iterator[str]:
        fare = self.fare.value()
        if fare is None:
            self.ride.update(value)
        else:
            self.fare.clear()
            yield f"{value[1]} + {fare[1]}"

    def flat_map2(self, value: Event) -> Iterator[str]:
        ride = self.ride.value()
        if ride is None:
            self.fare.update(value)
        else:
            self.ride.clear()
            yield f"{ride[1]} + {value[1]}"


class JoinWithTimers(Waiting, KeyedCoProcessFunction):
    """Who waits for longer than an hour of event time is given up, and reported on the side."""

    def process_element1(self, value: Event, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        fare = self.fare.value()
        if fare is None:
            self.ride.update(value)
            ctx.timer_service().register_event_time_timer(value[2] * MINUTE + PATIENCE)
        else:
            self.fare.clear()
            ctx.timer_service().delete_event_time_timer(fare[2] * MINUTE + PATIENCE)
            yield f"{value[1]} + {fare[1]}"

    def process_element2(self, value: Event, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        ride = self.ride.value()
        if ride is None:
            self.fare.update(value)
            ctx.timer_service().register_event_time_timer(value[2] * MINUTE + PATIENCE)
        else:
            self.ride.clear()
            ctx.timer_service().delete_event_time_timer(ride[2] * MINUTE + PATIENCE)
            yield f"{ride[1]} + {value[1]}"

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[tuple[OutputTag, Any]]:
        for state in (self.ride, self.fare):
            event = state.value()
            if event is not None:
                yield UNMATCHED, event[1]
                state.clear()


class InOrder(WatermarkGenerator):
    def on_event(self, event: Event, timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(timestamp - 1))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    strategy = WatermarkStrategy.for_generator(InOrder).with_timestamp_assigner(lambda event, _: event[2] * MINUTE)

    def stream(events: list[Event]) -> DataStream:
        return env.from_collection(events).assign_timestamps_and_watermarks(strategy)

    connected = stream(RIDES).key_by(lambda ride: ride[0]).connect(stream(FARES).key_by(lambda fare: fare[0]))
    connected.flat_map(JoinInFlatMap()).print("flat_map")
    joined = connected.process(JoinWithTimers())
    joined.print("process")
    joined.get_side_output(UNMATCHED).print("unmatched")

    env.execute("stale state")


if __name__ == "__main__":
    main()

# Output, in any order:
# flat_map> ride 1 + fare 1
# flat_map> ride 2 + fare 2
# flat_map> ride 9 + fare 9
# process> ride 1 + fare 1
# process> ride 2 + fare 2
# process> ride 9 + fare 9
# unmatched> fare 3
# unmatched> ride 4
