"""Taxi rides and fares: the same on every run, out of order within a bound, and New York's grid."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from firesteel.common.watermark import WatermarkOutput
from firesteel.common.watermark_strategy import Watermark
from firesteel.connectors.taxi import GeoUtils, TaxiFare, TaxiFareSource, TaxiRide, TaxiRideSource
from firesteel.errors import ConfigurationError
from firesteel.model.source import Boundedness
from tests.unit.connectors.driving import open_reader, read_all, splits_of


def read(source: TaxiRideSource | TaxiFareSource, count: int) -> tuple[list[Any], list[int]]:
    (split,) = splits_of(source)
    result = open_reader(source).read(split, 0, count, 0)
    assert result.timestamps is not None
    return result.values, result.timestamps


@pytest.mark.feature("SS-12")
@pytest.mark.parametrize("source_class", [TaxiRideSource, TaxiFareSource])
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_the_same_events_on_every_run_and_at_any_parallelism(source_class: Any, parallelism: int) -> None:
    alone = [event for part in read_all(source_class(seed=1, count=1000)) for event in part]
    parts = read_all(source_class(seed=1, count=1000), parallelism, max_records=17, fresh=True)
    together = [event for turn in itertools.zip_longest(*parts) for event in turn if event is not None]
    assert together == alone
    assert read_all(source_class(seed=2, count=1000)) != [alone]


def test_the_first_events_never_change() -> None:
    """Pinned: examples, documentation and stored results rely on them."""
    rides, _ = read(TaxiRideSource(seed=1), 102)
    assert str(rides[0]) == (
        "1,START,2020-01-01T12:00:00.591Z,1970-01-01T00:00:00Z,"
        "-73.979789,40.688351,-73.962321,40.778473,1,2013000000,2013000000"
    )
    assert str(rides[101]) == (
        "5,END,2020-01-01T12:01:23.805Z,2020-01-01T12:28:30.219Z,"
        "-73.991252,40.823567,-73.995756,40.721357,1,2013000004,2013000004"
    )
    fares, _ = read(TaxiFareSource(seed=1), 1)
    assert str(fares[0]) == "1,2013000000,2013000000,2020-01-01T12:00:00.591Z,CSH,1.77,0.0,25.78"


@pytest.mark.feature("SS-12")
@pytest.mark.parametrize("source_class", [TaxiRideSource, TaxiFareSource])
@pytest.mark.parametrize("max_delay", [0, 60_000, 600_000])
def test_timestamps_are_event_times_out_of_order_within_the_bound(source_class: Any, max_delay: int) -> None:
    source = source_class(max_delay=max_delay)
    events, timestamps = read(source, 5_000)
    assert timestamps == [event.event_time for event in events]
    behind = [highest - at for highest, at in zip(itertools.accumulate(timestamps, max), timestamps, strict=True)]
    assert max(behind) <= max_delay
    assert (max(behind) > 0) == (max_delay > 0)


class Marks(WatermarkOutput):
    def __init__(self) -> None:
        self.watermark = -(2**63)

    def emit_watermark(self, watermark: Watermark) -> None:
        self.watermark = watermark.timestamp

    def mark_idle(self) -> None: ...

    def mark_active(self) -> None: ...


@pytest.mark.feature("SS-12")
def test_its_watermarks_never_overtake_a_record() -> None:
    source = TaxiRideSource(max_delay=300_000)
    events, timestamps = read(source, 2_000)
    generator = source.watermark_strategy().create_generator()
    marks = Marks()
    for event, timestamp in zip(events, timestamps, strict=True):
        assert timestamp > marks.watermark
        generator.on_event(event, timestamp, marks)
        generator.on_periodic_emit(marks)
    assert marks.watermark >= max(timestamps) - 300_001


def test_rides_start_once_and_end_once_some_minutes_later() -> None:
    rides, _ = read(TaxiRideSource(), 20_000)
    starts = {ride.ride_id: ride for ride in rides if ride.is_start}
    ends = {ride.ride_id: ride for ride in rides if not ride.is_start}
    assert len(starts) + len(ends) == 20_000
    assert len(ends) > 9_900
    for ride_id, end in ends.items():
        start = starts[ride_id]
        assert start.end_time == 0 and start.start_time == end.start_time
        assert 60_000 < end.end_time - end.start_time < 46 * 60_000
        assert (start.start_lon, start.end_lat, start.driver_id) == (end.start_lon, end.end_lat, end.driver_id)


def test_each_ride_has_its_fare() -> None:
    rides, _ = read(TaxiRideSource(seed=3), 500)
    (fares,) = read_all(TaxiFareSource(seed=3, count=1_000))
    by_ride = {fare.ride_id: fare for fare in fares}
    assert sorted(by_ride) == list(range(1, 1_001))
    for ride in rides:
        fare = by_ride[ride.ride_id]
        assert (fare.start_time, fare.taxi_id, fare.driver_id) == (ride.start_time, ride.taxi_id, ride.driver_id)
        assert fare.total_fare >= fare.tip + fare.tolls + 2.5 - 1e-9
        assert fare.payment_type in ("CSH", "CRD")


def test_most_but_not_all_rides_are_in_the_city() -> None:
    rides, _ = read(TaxiRideSource(), 5_000)
    inside = [
        GeoUtils.is_in_nyc(ride.start_lon, ride.start_lat) and GeoUtils.is_in_nyc(ride.end_lon, ride.end_lat)
        for ride in rides
    ]
    assert 0.95 < sum(inside) / len(inside) < 0.99
    assert {type(value) for value in vars(rides[0]).values()} == {int, bool, float}, "plain Python values only"


def test_end_and_rate_are_those_of_the_generator() -> None:
    assert TaxiRideSource().boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    source = TaxiFareSource(count=100, rate=10)
    assert source.boundedness is Boundedness.BOUNDED
    (split,) = splits_of(source)
    assert len(open_reader(source).read(split, 0, 100, 1_999).values) == 20


def test_a_shorter_interval_gives_more_rides_of_the_same_length() -> None:
    rides, _ = read(TaxiRideSource(ride_interval=1_000), 10_000)
    durations = [ride.end_time - ride.start_time for ride in rides if not ride.is_start]
    assert 20 * 60_000 < sum(durations) / len(durations) < 26 * 60_000


@pytest.mark.parametrize("options", [{"max_delay": -1}, {"ride_interval": 1}, {"count": -1}, {"rate": 0}])
def test_refuses_impossible_settings(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        TaxiRideSource(**options)


def test_grid_cells() -> None:
    assert GeoUtils.map_to_grid_cell(-73.9835, 40.7458) == 50797
    assert GeoUtils.map_to_grid_cell(GeoUtils.LON_WEST, GeoUtils.LAT_NORTH) == 0
    assert GeoUtils.map_to_grid_cell(-74.0492, 40.9980) == 250, "the next row begins below the first cell"


@pytest.mark.parametrize(
    ("lon", "lat", "inside"),
    [(-73.9, 40.7, True), (-74.05, 40.5, True), (-73.7, 41.0, True), (-74.06, 40.7, False), (-73.9, 41.01, False)],
)
def test_the_city_is_a_rectangle(lon: float, lat: float, inside: bool) -> None:
    assert GeoUtils.is_in_nyc(lon, lat) is inside


@dataclass
class EnrichedRide(TaxiRide):
    start_cell: int = 0
    end_cell: int = 0

    def __str__(self) -> str:
        return f"{super().__str__()},{self.start_cell},{self.end_cell}"


@pytest.mark.feature("EX-07")
def test_rides_can_be_extended_and_pickled() -> None:
    ride = read(TaxiRideSource(), 1)[0][0]
    enriched = EnrichedRide(**vars(ride), start_cell=GeoUtils.map_to_grid_cell(-73.9835, 40.7458), end_cell=7)
    assert str(enriched) == f"{ride},50797,7"
    assert pickle.loads(pickle.dumps(enriched)) == enriched


def test_fares_print_their_fields_in_order() -> None:
    assert str(TaxiFare(1, 2, 3, 0, "CSH", 0.5, 0.0, 10.0)) == "1,2,3,1970-01-01T00:00:00Z,CSH,0.5,0.0,10.0"
