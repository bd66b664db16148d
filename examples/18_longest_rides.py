"""Keyed streams: how long rides take by the cell where they begin, and the longest so far of each cell."""

from collections.abc import Iterator

from firesteel.connectors.taxi import GeoUtils, TaxiRide
from firesteel.datastream import StreamExecutionEnvironment

MINUTE = 60_000
HOTEL, STATION = (-73.9835, 40.7458), (-73.9934, 40.7505)  # longitude and latitude


def ride(number: int, place: tuple[float, float], minutes: int, is_start: bool = False) -> TaxiRide:
    start_time = number * MINUTE
    end_time = 0 if is_start else start_time + minutes * MINUTE
    return TaxiRide(number, is_start, start_time, end_time, *place, *STATION, 1, 2013000001, 2013000001)


RIDES = [
    ride(1, HOTEL, 6, is_start=True),
    ride(1, HOTEL, 6),
    ride(2, STATION, 30),
    ride(3, HOTEL, 8),
    ride(4, HOTEL, 11),
    ride(5, STATION, 20),
    ride(6, HOTEL, 12),
]


def minutes_by_start_cell(ride: TaxiRide) -> Iterator[tuple[int, int]]:
    """The start of a ride says nothing about its length: only ends are counted."""
    if not ride.is_start:
        cell = GeoUtils.map_to_grid_cell(ride.start_lon, ride.start_lat)
        yield cell, (ride.end_time - ride.start_time) // MINUTE


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)  # several subtasks of flat_map would change the order of the rides

    minutes = env.from_collection(RIDES).flat_map(minutes_by_start_cell)
    # max_by keeps, per cell, the whole record with the largest second field, and emits it after every record.
    minutes.key_by(lambda pair: pair[0]).max_by(1).print()

    env.execute("longest rides")


if __name__ == "__main__":
    main()

# Output:
# (50797, 6)
# (49790, 30)
# (50797, 8)
# (50797, 11)
# (49790, 30)
# (50797, 12)
