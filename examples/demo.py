"""The demo: a live job on Spark over taxi rides and fares that come out of order.

It computes the tips of each driver in each hour of event time, the longest ride so far from each part of the city,
and sets fares aside that come too late for their hour. When the stream ends, the results are checked against plain
loops over the same events. ``make demo`` runs it; it takes about half a minute.
"""

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

FARES_COUNT, FARES_PER_SECOND = 150_000, 12_000
RIDE_EVENTS = 2  # per fare: a ride starts and ends
RIDE_INTERVAL = Duration.of_millis(250)  # of event time: the stream spans about ten hours
MAX_DELAY = Duration.of_minutes(7)  # fares come up to seven minutes late ...
PATIENCE = Duration.of_minutes(1)  # ... and the job waits one minute for them
HOUR = 60 * 60 * 1000
LATE = OutputTag("late fares")

ORDER: dict[str, Any] = {"max_delay": MAX_DELAY, "ride_interval": RIDE_INTERVAL}
FARES = TaxiFareSource(count=FARES_COUNT, rate=FARES_PER_SECOND, **ORDER)
RIDES = TaxiRideSource(count=FARES_COUNT * RIDE_EVENTS, rate=FARES_PER_SECOND * RIDE_EVENTS, **ORDER)


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


def run_job() -> dict[str, list[Any]]:
    """Run the job, which shows its progress, and return the records of its three results."""
    configuration = Configuration.from_dict({"firesteel.progress": True})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)

    # Alignment: neither stream is read far ahead of the other in event time.
    patient = WatermarkStrategy.for_bounded_out_of_orderness(PATIENCE).with_watermark_alignment("taxis", MAX_DELAY)
    fares = env.from_source(FARES, patient, "fares")
    rides = env.from_source(RIDES, patient, "rides")

    tips = fares.key_by(lambda fare: fare.driver_id).process(TipsPerHour())
    late = tips.get_side_output(LATE)
    longest = rides.filter(is_end_in_city).map(cell_and_minutes).key_by(lambda ride: ride[0]).max_by(1)

    results: dict[str, list[Any]] = {"tips": [], "late": [], "longest": []}
    tagged = tips.map(lambda tip: ("tips", tip)).union(
        late.map(lambda fare: ("late", fare)), longest.map(lambda ride: ("longest", ride))
    )
    with tagged.execute_and_collect("taxi demo") as records:
        for name, record in records:  # arrives while the job runs
            results[name].append(record)
    return results


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
    print(f"{FARES.count:,} taxi fares and {RIDES.count:,} starts and ends of rides, on Spark local[*]", flush=True)
    started = time.monotonic()
    results = run_job()
    show(results)
    fares, _ = FARES.create_generator().generate(range(FARES_COUNT))
    rides, _ = RIDES.create_generator().generate(range(FARES_COUNT * RIDE_EVENTS))
    problems = check(results, fares, rides)
    print("Check against plain loops over the same events:", "; ".join(problems) or "all results agree")
    print(f"{time.monotonic() - started:.1f} s in all")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
