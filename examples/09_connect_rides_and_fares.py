"""Join two streams by key: the end of each ride with what was paid for it, whichever comes first."""

from collections.abc import Iterator

from firesteel.common import Types
from firesteel.connectors.taxi import TaxiFare, TaxiFareSource, TaxiRide, TaxiRideSource
from firesteel.datastream import KeyedCoProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

RIDES = 40


class RidesAndFares(KeyedCoProcessFunction):
    """Whichever of the two comes first waits in state for the other."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.ride = runtime_context.get_state(ValueStateDescriptor("ride", Types.PICKLED_BYTE_ARRAY()))
        self.fare = runtime_context.get_state(ValueStateDescriptor("fare", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: TaxiRide, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        fare = self.fare.value()
        if fare is None:
            self.ride.update(value)
        else:
            self.fare.clear()
            yield summary(value, fare)

    def process_element2(self, value: TaxiFare, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        ride = self.ride.value()
        if ride is None:
            self.fare.update(value)
        else:
            self.ride.clear()
            yield summary(ride, value)


def summary(ride: TaxiRide, fare: TaxiFare) -> str:
    minutes = (ride.end_time - ride.start_time) // 60_000
    return f"ride {ride.ride_id}: {minutes} minutes, {fare.total_fare:.2f} dollars"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    ride_source, fare_source = TaxiRideSource(count=2 * RIDES), TaxiFareSource(count=RIDES)
    rides = env.from_source(ride_source, ride_source.watermark_strategy(), "rides")
    fares = env.from_source(fare_source, fare_source.watermark_strategy(), "fares")
    ends = rides.filter(lambda ride: not ride.is_start)
    joined = (
        ends.key_by(lambda ride: ride.ride_id).connect(fares.key_by(lambda fare: fare.ride_id)).process(RidesAndFares())
    )
    joined.print().set_parallelism(1)

    env.execute("rides and fares")


if __name__ == "__main__":
    main()

# Output, in any order; the other rides have not ended yet:
# ride 3: 23 minutes, 98.47 dollars
# ride 4: 22 minutes, 31.53 dollars
# ride 8: 22 minutes, 18.80 dollars
# ride 9: 20 minutes, 14.88 dollars
# ride 38: 12 minutes, 28.58 dollars
