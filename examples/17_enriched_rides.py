"""Cleansing and enrichment in two ways: filter and map, or one flat_map that does both."""

from collections.abc import Iterator
from dataclasses import dataclass

from firesteel.connectors.taxi import GeoUtils, TaxiRide, TaxiRideSource
from firesteel.datastream import DataStream, FilterFunction, FlatMapFunction, MapFunction, StreamExecutionEnvironment


@dataclass
class EnrichedRide(TaxiRide):
    """A ride that knows the grid cells of its two ends."""

    start_cell: int = 0
    end_cell: int = 0

    @staticmethod
    def of(ride: TaxiRide) -> "EnrichedRide":
        start_cell = GeoUtils.map_to_grid_cell(ride.start_lon, ride.start_lat)
        end_cell = GeoUtils.map_to_grid_cell(ride.end_lon, ride.end_lat)
        return EnrichedRide(**vars(ride), start_cell=start_cell, end_cell=end_cell)

    def __str__(self) -> str:
        return f"{super().__str__()},{self.start_cell},{self.end_cell}"


class NYCFilter(FilterFunction):
    def filter(self, value: TaxiRide) -> bool:
        return GeoUtils.is_in_nyc(value.start_lon, value.start_lat) and GeoUtils.is_in_nyc(value.end_lon, value.end_lat)


class Enrichment(MapFunction):
    def map(self, value: TaxiRide) -> EnrichedRide:
        return EnrichedRide.of(value)


class NYCEnrichment(FlatMapFunction):
    """A flat_map may emit nothing, one record or many for each it gets."""

    def flat_map(self, value: TaxiRide) -> Iterator[EnrichedRide]:
        if NYCFilter().filter(value):
            yield EnrichedRide.of(value)


def rides(env: StreamExecutionEnvironment) -> DataStream:
    source = TaxiRideSource(seed=7, count=100, max_delay=0)
    return env.from_source(source, source.watermark_strategy(), "rides")


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    in_two_steps = rides(env).filter(NYCFilter()).map(Enrichment())
    in_two_steps.filter(lambda ride: ride.ride_id == 30).map(lambda ride: f"...{str(ride)[-55:]}").print()
    env.execute("enriched rides")

    in_one_step = rides(env).flat_map(NYCEnrichment())
    first, second = list(in_two_steps.execute_and_collect()), list(in_one_step.execute_and_collect())
    print(len(first), "rides in the city; both ways agree:", first == second)


if __name__ == "__main__":
    main()

# Output:
# ...73.992316,40.732955,1,2013000029,2013000029,32537,53291
# 98 rides in the city; both ways agree: True
