"""The demo: a live job on Spark over taxi rides and fares that come out of order.

It computes the tips of each driver in each hour of event time, the longest ride so far from each part of the city,
and sets fares aside that come too late for their hour. When the stream ends, the results are checked against plain
loops over the same events. ``make demo`` runs it in half a minute. ``make demo ARGS=--direct`` runs it with
direct exchange, and shows every second how long events take to become results here.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from firesteel.common import Configuration, Duration, Types, WatermarkStrategy
from firesteel.connectors.taxi import GeoUtils, TaxiFare, TaxiFareSource, TaxiRide, TaxiRideSource
from firesteel.datastream import KeyedProcessFunction, OutputTag, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import MapStateDescriptor

RIDE_INTERVAL = Duration.of_millis(400)  # of event time: the stream spans about eleven hours
MAX_DELAY = Duration.of_minutes(25)  # fares come up to 25 minutes late ...
PATIENCE = Duration.of_minutes(1)  # ... and the job waits one minute for them
HOUR = 60 * 60 * 1000
LATE = OutputTag("late fares")
SAMPLE = 50  # of so many rides, one is timed


def end_of_hour(timestamp: int) -> int:
    return timestamp - timestamp % HOUR + HOUR


def cents(fare: TaxiFare) -> int:
    return round(fare.tip * 100)


def is_end_in_city(ride: TaxiRide) -> bool:
    return not ride.is_start and GeoUtils.is_in_nyc(ride.start_lon, ride.start_lat)


def cell_and_minutes(ride: TaxiRide) -> tuple[int, float]:
    minutes = (ride.end_time - ride.start_time) / 60_000
    return GeoUtils.map_to_grid_cell(ride.start_lon, ride.start_lat), minutes


class TipsPerHour(KeyedProcessFunction):
    """A window of an hour, made by hand of map state and event-time timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", Types.LONG(), Types.LONG()))

    def process_element(self, value: TaxiFare, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        hour = end_of_hour(value.start_time)
        timers = ctx.timer_service()
        if hour - 1 <= timers.current_watermark():
            yield LATE, value  # the result of this hour is out already
            return
        timers.register_event_time_timer(hour - 1)
        self.sums.put(hour, (self.sums.get(hour) or 0) + cents(value))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int, int]]:
        hour = timestamp + 1
        yield hour, ctx.get_current_key(), self.sums.get(hour) or 0
        self.sums.remove(hour)


class Lag:
    """How long events take from where they are read to where their results are wanted.

    :param live: Show it every second.
    """

    def __init__(self, live: bool) -> None:
        self.milliseconds: list[float] = []
        self._live = live
        self._shown, self._shown_at = 0, time.monotonic()

    def arrived(self, read_at: float) -> None:
        self.milliseconds.append((time.time() - read_at) * 1000)
        if self._live and time.monotonic() - self._shown_at >= 1:
            print(f"  lag {self.describe(self.milliseconds[self._shown :])}", flush=True)
            self._shown, self._shown_at = len(self.milliseconds), time.monotonic()

    def describe(self, some: list[float]) -> str:
        ordered = sorted(some)
        median, slow = (ordered[int(len(ordered) * share)] for share in (0.5, 0.99))
        return f"median {median:.1f} ms, 99th percentile {slow:.1f} ms"


def run_job(fare_source: TaxiFareSource, ride_source: TaxiRideSource, direct: bool) -> tuple[dict[str, list[Any]], Lag]:
    """Run the job, which shows how it gets on, and return the records of its three results, and how long they took."""
    options = {"firesteel.exchange": "direct"} if direct else {"firesteel.progress": True}
    configuration = Configuration.from_dict(options)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)

    # Alignment: neither stream is read far ahead of the other in event time.
    patient = WatermarkStrategy.for_bounded_out_of_orderness(PATIENCE).with_watermark_alignment(
        "taxis", MAX_DELAY, Duration.of_millis(100)
    )
    fares = env.from_source(fare_source, patient, "fares")
    rides = env.from_source(ride_source, patient, "rides")

    tips = fares.key_by(lambda fare: fare.driver_id).process(TipsPerHour())
    late = tips.get_side_output(LATE)
    longest = rides.filter(is_end_in_city).map(cell_and_minutes).key_by(lambda ride: ride[0]).max_by(1)

    timed = rides.filter(lambda ride: ride.ride_id % SAMPLE == 0).map(lambda ride: (ride.ride_id, time.time()))

    results: dict[str, list[Any]] = {"tips": [], "late": [], "longest": []}
    tagged = tips.map(lambda tip: ("tips", tip)).union(
        late.map(lambda fare: ("late", fare)),
        longest.map(lambda ride: ("longest", ride)),
        timed.key_by(lambda ride: ride[0]).map(lambda ride: ("lag", ride[1])),
    )
    lag = Lag(live=direct)
    with tagged.execute_and_collect("taxi demo") as records:
        for name, record in records:  # arrives while the job runs
            if name == "lag":
                lag.arrived(record)
            else:
                results[name].append(record)
    return results, lag


def check(results: dict[str, list[Any]], fares: list[TaxiFare], rides: list[TaxiRide]) -> list[str]:
    """Compare the results with loops over the same events; returns what is wrong."""
    problems = []
    expected_tips: Counter[tuple[int, int]] = Counter()
    may_be_late = set()
    newest = 0
    for fare in fares:
        expected_tips[end_of_hour(fare.start_time), fare.driver_id] += cents(fare)
        if end_of_hour(fare.start_time) <= newest - PATIENCE.to_millis():
            may_be_late.add(fare.ride_id)
        newest = max(newest, fare.start_time)
    found_tips = Counter({(hour, driver): total for hour, driver, total in results["tips"]})
    for fare in results["late"]:
        found_tips[end_of_hour(fare.start_time), fare.driver_id] += cents(fare)
        if fare.ride_id not in may_be_late:
            problems.append(f"the fare of ride {fare.ride_id} came in time but was taken for late")
    if found_tips != expected_tips:
        problems.append("hourly tips and late fares together are not what was paid")
    if len({(hour, driver) for hour, driver, _ in results["tips"]}) != len(results["tips"]):
        problems.append("an hour of a driver came out twice")

    expected_longest: dict[int, float] = defaultdict(float)
    for cell, minutes in map(cell_and_minutes, filter(is_end_in_city, rides)):
        expected_longest[cell] = max(expected_longest[cell], minutes)
    if dict(results["longest"]) != expected_longest:  # of each cell the last record counts
        problems.append("the longest rides differ")
    return problems


def show(results: dict[str, list[Any]]) -> None:
    print("\nMost tips in an hour           Longest rides by start cell")
    top_tips = sorted(results["tips"], key=lambda tip: (-tip[2], tip))[:5]
    top_rides = sorted(dict(results["longest"]).items(), key=lambda ride: (-ride[1], ride))[:5]
    for (hour, driver, total), (cell, minutes) in zip(top_tips, top_rides):
        until = datetime.fromtimestamp(hour / 1000, timezone.utc)
        print(f"  {until:%d %b %H:%M}  {driver}  {total / 100:7.2f}     cell {cell:6d}  {minutes:6.1f} minutes")
    print(f"{len(results['tips']):,} hours of drivers, {len(results['late']):,} late fares set aside")


def main() -> int:
    parser = argparse.ArgumentParser(description="A live job over taxi rides and fares.")
    parser.add_argument("--fares", type=int, default=100_000, help="how many; there are two events of rides to each")
    parser.add_argument("--seconds", type=float, default=10, help="how long the events take to come in")
    parser.add_argument("--direct", action="store_true", help="with direct exchange: see how soon results are here")
    arguments = parser.parse_args()
    fare_count, ride_count = arguments.fares, 2 * arguments.fares
    order: dict[str, Any] = {"max_delay": MAX_DELAY, "ride_interval": RIDE_INTERVAL}
    fare_source = TaxiFareSource(count=fare_count, rate=fare_count / arguments.seconds, **order)
    ride_source = TaxiRideSource(count=ride_count, rate=ride_count / arguments.seconds, **order)

    print(f"{fare_count:,} taxi fares, {ride_count:,} starts and ends of rides, in {arguments.seconds:g} s", flush=True)
    started = time.monotonic()
    results, lag = run_job(fare_source, ride_source, arguments.direct)
    show(results)
    print(f"From an event to its result here: {lag.describe(lag.milliseconds)}")
    fares, _ = fare_source.create_generator().generate(range(fare_count))
    rides, _ = ride_source.create_generator().generate(range(ride_count))
    problems = check(results, fares, rides)
    print("Check against plain loops over the same events:", "; ".join(problems) or "all results agree")
    print(f"{time.monotonic() - started:.1f} s in all")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
