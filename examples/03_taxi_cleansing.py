"""Clean a stream of taxi rides: keep those inside New York City and add the grid cells of both ends."""

from dataclasses import dataclass

from firesteel.connectors.taxi import GeoUtils, TaxiRide, TaxiRideSource
from firesteel.datastream import StreamExecutionEnvironment


@dataclass
class EnrichedRide:
    ride: TaxiRide
    start_cell: int
    end_cell: int

    def __str__(self) -> str:
        kind = "start" if self.ride.is_start else "end"
        return f"ride {self.ride.ride_id}, {kind}: from cell {self.start_cell} to cell {self.end_cell}"


def is_in_city(ride: TaxiRide) -> bool:
    return GeoUtils.is_in_nyc(ride.start_lon, ride.start_lat) and GeoUtils.is_in_nyc(ride.end_lon, ride.end_lat)


def enrich(ride: TaxiRide) -> EnrichedRide:
    start_cell = GeoUtils.map_to_grid_cell(ride.start_lon, ride.start_lat)
    end_cell = GeoUtils.map_to_grid_cell(ride.end_lon, ride.end_lat)
    return EnrichedRide(ride, start_cell, end_cell)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    source = TaxiRideSource(seed=7, count=200, max_delay=0)
    rides = env.from_source(source, source.watermark_strategy(), "rides")
    rides.filter(is_in_city).map(enrich).filter(lambda ride: ride.ride.ride_id % 30 == 0).print()

    env.execute("taxi cleansing")


if __name__ == "__main__":
    main()

# Output:
# ride 30, start: from cell 32537 to cell 53291
# ride 60, start: from cell 41300 to cell 50055
# ride 90, start: from cell 50813 to cell 38830
# ride 30, end: from cell 32537 to cell 53291
# ride 120, start: from cell 49304 to cell 50051
# ride 60, end: from cell 41300 to cell 50055
