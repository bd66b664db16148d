"""Taxi rides and fares: generated training data, the same on every run.

Rides begin at regular intervals; the end of each comes some minutes later, in a mixed order. A fare belongs to each
ride. Record ``i`` is computed from the seed and ``i`` alone, many at a time, so that the sources can be read from any
position, by any number of subtasks, and fast enough for benchmarks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np

from firesteel.common.time import Duration, TimeLength, to_milliseconds
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.datagen import IndexedGenerator, IndexedSource, RateLimiterStrategy
from firesteel.errors import ConfigurationError

__all__ = ["GeoUtils", "TaxiFare", "TaxiFareSource", "TaxiRide", "TaxiRideSource"]

_BEGINNING = 1_577_880_000_000  # 2020-01-01T12:00:00Z
_FIRST_DRIVER = 2_013_000_000
_DRIVERS = 200
_MEAN_DURATION = 23 * 60_000
_PERMUTATIONS = 61
_LONGEST_PERMUTATION = 4096
_CASH, _CARD = "CSH", "CRD"


def _time_text(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    return moment.isoformat(timespec="milliseconds" if milliseconds % 1000 else "seconds").replace("+00:00", "Z")


@dataclass
class TaxiRide:
    """The start or the end of a taxi ride. Times are milliseconds since 1970; a ride that starts has end time 0."""

    ride_id: int
    is_start: bool
    start_time: int
    end_time: int
    start_lon: float
    start_lat: float
    end_lon: float
    end_lat: float
    passenger_cnt: int
    taxi_id: int
    driver_id: int

    @property
    def event_time(self) -> int:
        """When the event happened: the start time of a start, the end time of an end."""
        return self.start_time if self.is_start else self.end_time

    def __str__(self) -> str:
        kind = "START" if self.is_start else "END"
        return (
            f"{self.ride_id},{kind},{_time_text(self.start_time)},{_time_text(self.end_time)},"
            f"{self.start_lon},{self.start_lat},{self.end_lon},{self.end_lat},"
            f"{self.passenger_cnt},{self.taxi_id},{self.driver_id}"
        )


@dataclass
class TaxiFare:
    """What was paid for a ride. The time, in milliseconds since 1970, is that of the start of the ride."""

    ride_id: int
    taxi_id: int
    driver_id: int
    start_time: int
    payment_type: str
    tip: float
    tolls: float
    total_fare: float

    @property
    def event_time(self) -> int:
        """The start time of the ride."""
        return self.start_time

    def __str__(self) -> str:
        return (
            f"{self.ride_id},{self.taxi_id},{self.driver_id},{_time_text(self.start_time)},"
            f"{self.payment_type},{self.tip},{self.tolls},{self.total_fare}"
        )


class GeoUtils:
    """New York City as a rectangle, and a grid of cells of about 120 by 140 metres over it."""

    LON_WEST = -74.05
    LON_EAST = -73.7
    LAT_NORTH = 41.0
    LAT_SOUTH = 40.5
    DELTA_LON = 0.0014
    DELTA_LAT = 0.00125
    NUMBER_OF_GRID_X = 250
    NUMBER_OF_GRID_Y = 400

    @staticmethod
    def is_in_nyc(lon: float, lat: float) -> bool:
        """Whether a place lies inside the rectangle; its borders do."""
        return GeoUtils.LON_WEST <= lon <= GeoUtils.LON_EAST and GeoUtils.LAT_SOUTH <= lat <= GeoUtils.LAT_NORTH

    @staticmethod
    def map_to_grid_cell(lon: float, lat: float) -> int:
        """The number of the cell of a place: counted from the north-west corner eastward, row by row.

        >>> GeoUtils.map_to_grid_cell(-73.9835, 40.7458)
        50797
        """
        column = math.floor((lon - GeoUtils.LON_WEST) / GeoUtils.DELTA_LON)
        row = math.floor((GeoUtils.LAT_NORTH - lat) / GeoUtils.DELTA_LAT)
        return column + row * GeoUtils.NUMBER_OF_GRID_X


class _TaxiSource(IndexedSource):
    """What rides and fares have in common."""

    def __init__(
        self, seed: int, count: int | None, max_delay: TimeLength, rate: float | None, ride_interval: TimeLength
    ) -> None:
        super().__init__(count, None if rate is None else RateLimiterStrategy.per_second(rate))
        self.seed = seed
        self.max_delay = to_milliseconds(max_delay)
        self.ride_interval = to_milliseconds(ride_interval)
        if self.max_delay < 0 or self.ride_interval < 2:
            raise ConfigurationError(
                f"max_delay must be 0 ms or more and ride_interval 2 ms or more, got {self.max_delay} ms and "
                f"{self.ride_interval} ms"
            )

    def watermark_strategy(self) -> WatermarkStrategy:
        """Watermarks that never overtake a record: they wait for ``max_delay``. Timestamps come with the records."""
        return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(self.max_delay))


class TaxiRideSource(_TaxiSource):
    """:class:`TaxiRide` events with timestamps: the start and the end of rides, out of order within a bound.

    :param seed: Another seed gives other rides.
    :param count: How many events; None for no end.
    :param max_delay: By how much an event may come after one with a later timestamp. 0: in order.
    :param rate: Events per second; as fast as possible if None.
    :param ride_interval: The event time between the starts of two rides.
    """

    def __init__(
        self,
        seed: int = 1,
        count: int | None = None,
        *,
        max_delay: TimeLength = 60_000,
        rate: float | None = None,
        ride_interval: TimeLength = 20_000,
    ) -> None:
        super().__init__(seed, count, max_delay, rate, ride_interval)

    def create_generator(self) -> IndexedGenerator:
        """What computes the rides."""
        return _RideGenerator(self)


class TaxiFareSource(_TaxiSource):
    """:class:`TaxiFare` events with timestamps, one for each ride of a :class:`TaxiRideSource` with the same seed and
    interval, out of order within a bound.

    :param seed: As for the rides.
    :param count: How many fares; None for no end.
    :param max_delay: By how much a fare may come after one with a later timestamp. 0: in order.
    :param rate: Fares per second; as fast as possible if None.
    :param ride_interval: As for the rides.
    """

    def __init__(
        self,
        seed: int = 1,
        count: int | None = None,
        *,
        max_delay: TimeLength = 60_000,
        rate: float | None = None,
        ride_interval: TimeLength = 20_000,
    ) -> None:
        super().__init__(seed, count, max_delay, rate, ride_interval)

    def create_generator(self) -> IndexedGenerator:
        """What computes the fares."""
        return _FareGenerator(self)


def _mix_bits(values: Any) -> Any:
    """Turn 64-bit numbers into 64 bits each that look random: the finalizer of SplitMix64."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _bits(values: Any, first: int, count: int) -> Any:
    """Some of the bits as whole numbers."""
    return ((values >> np.uint64(first)) & np.uint64((1 << count) - 1)).astype(np.int64)


class _Random:
    """Random bits as a function of the seed, a purpose and a number."""

    def __init__(self, seed: int) -> None:
        self._seed = seed & 0xFFFFFFFFFFFFFFFF

    def bits(self, purpose: int, numbers: Any) -> Any:
        salt = _mix_bits(np.array([self._seed ^ (purpose << 56)], dtype=np.uint64))
        return _mix_bits(numbers.astype(np.uint64) ^ salt)


class _Shuffle:
    """A permutation of all whole numbers from 0 that moves each within its block only."""

    def __init__(self, random: _Random, purpose: int, block: int) -> None:
        self.block = min(block, _LONGEST_PERMUTATION)
        self._random = random
        self._purpose = purpose
        keys = random.bits(purpose, np.arange(_PERMUTATIONS * self.block)).reshape(_PERMUTATIONS, self.block)
        self._table = np.argsort(keys, axis=1, kind="stable")

    def __call__(self, numbers: Any) -> Any:
        blocks, offsets = np.divmod(numbers, self.block)
        chosen = _bits(self._random.bits(self._purpose + 1, blocks), 0, 32) % _PERMUTATIONS
        return blocks * self.block + self._table[chosen, offsets]


class _TaxiGenerator(IndexedGenerator):
    """Ride number ``r`` begins in the interval ``r`` of event time, and everything about it follows from ``r``."""

    gives_away = True

    def __init__(self, source: _TaxiSource) -> None:
        self._count = source.count
        self._interval = source.ride_interval
        self._random = _Random(source.seed)
        # Records change places within a block whose event times span no more than the allowed delay.
        self._delay = _Shuffle(self._random, 1, max(1, source.max_delay // self._interval))

    def _delivered(self, indexes: range) -> Any:
        """Which record of the ordered sequence comes at each index."""
        numbers: Any = np.arange(indexes.start, indexes.stop, indexes.step, dtype=np.int64)
        if self._delay.block == 1:
            return numbers
        shuffled = self._delay(numbers)
        if self._count is not None:
            # The last block is not whole: shuffling it would bring in records from behind the end.
            whole = self._count - self._count % self._delay.block
            shuffled = np.where(numbers < whole, shuffled, numbers)
        return shuffled

    def _start_times(self, rides: Any) -> Any:
        """In the first half of each ride's interval."""
        jitter = _bits(self._random.bits(3, rides), 0, 32) * (self._interval // 2) >> 32
        return _BEGINNING + rides * self._interval + jitter

    def _places(self, rides: Any) -> tuple[Any, Any, Any, Any]:
        """Start and end of the rides, longitude and latitude, in millionths of a degree. Some lie outside the city."""
        first, second = self._random.bits(4, rides), self._random.bits(5, rides)
        far = self._random.bits(6, rides)
        start_lon = -73_980_000 + _bits(first, 0, 16) + _bits(first, 16, 16) - 65_536
        start_lat = 40_750_000 + (_bits(first, 32, 16) + _bits(first, 48, 16) - 65_536) * 7 // 5
        end_lon = -73_980_000 + _bits(second, 0, 16) + _bits(second, 16, 16) - 65_536
        end_lat = 40_750_000 + (_bits(second, 32, 16) + _bits(second, 48, 16) - 65_536) * 7 // 5
        start_lon += np.where(_bits(far, 0, 8) < 2, 400_000, 0)
        end_lon += np.where(_bits(far, 8, 8) < 5, 400_000, 0)
        return start_lon, start_lat, end_lon, end_lat


class _RideGenerator(_TaxiGenerator):
    """The events of the ordered sequence: first only starts, until the first rides end, then start and end in turns.

    The ends of the rides are a permutation of the rides within blocks, shifted by the mean duration.
    """

    def __init__(self, source: _TaxiSource) -> None:
        super().__init__(source)
        self._open_rides = max(2, _MEAN_DURATION // self._interval + 1)
        self._ends = _Shuffle(self._random, 7, max(1, self._open_rides * 9 // 10))

    def generate(self, indexes: range) -> tuple[list[Any], list[int] | None]:
        events = self._delivered(indexes)
        later = np.maximum(events - self._open_rides, 0)
        is_start = (events < self._open_rides) | (later % 2 == 0)
        turns = later // 2
        started = np.where(events < self._open_rides, events, self._open_rides + turns)
        rides = np.where(is_start, started, self._ends(turns))
        start_times = self._start_times(rides)
        jitter = _bits(self._random.bits(9, rides), 0, 32) * (self._interval // 2) >> 32
        half = self._interval - self._interval // 2
        end_times = _BEGINNING + (turns + self._open_rides) * self._interval + half + jitter
        timestamps = np.where(is_start, start_times, end_times).tolist()
        values = self._rides(rides, is_start, start_times, np.where(is_start, 0, end_times))
        return values, timestamps

    def _rides(self, rides: Any, is_start: Any, start_times: Any, end_times: Any) -> list[Any]:
        places = [(place / 1e6).tolist() for place in self._places(rides)]
        passengers = np.array([1, 1, 1, 1, 2, 2, 3, 4])[_bits(self._random.bits(10, rides), 0, 3)]
        drivers = (_FIRST_DRIVER + rides % _DRIVERS).tolist()
        return list(
            map(
                TaxiRide,
                (rides + 1).tolist(),
                is_start.tolist(),
                start_times.tolist(),
                end_times.tolist(),
                *places,
                passengers.tolist(),
                drivers,
                drivers,
            )
        )


class _FareGenerator(_TaxiGenerator):
    def generate(self, indexes: range) -> tuple[list[Any], list[int] | None]:
        rides = self._delivered(indexes)
        start_times = self._start_times(rides).tolist()
        start_lon, start_lat, end_lon, end_lat = self._places(rides)
        random = self._random.bits(11, rides)
        cash = _bits(random, 0, 2) == 0
        tips = np.where(cash, _bits(random, 2, 8), _bits(random, 2, 10))  # cents
        tolls = np.where(_bits(random, 12, 8) < 13, 554, 0)
        distance = np.abs(end_lon - start_lon) + np.abs(end_lat - start_lat)
        totals = 250 + distance // 50 + tips + tolls
        drivers = (_FIRST_DRIVER + rides % _DRIVERS).tolist()
        payments = [_CASH if paid_cash else _CARD for paid_cash in cash.tolist()]
        money = [(cents / 100).tolist() for cents in (tips, tolls, totals)]
        values = list(map(TaxiFare, (rides + 1).tolist(), drivers, drivers, start_times, payments, *money))
        return values, start_times
