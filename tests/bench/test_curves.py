"""Cost curves: where a rate breaks, and what the tables say."""

from __future__ import annotations

from typing import Any

from bench.curves import up_to_the_limit
from bench.curves_page import keys_table, levels_table, limit_of
from bench.latency import Latency, judge


def samples(grows: float) -> list[tuple[float, float]]:
    """A record each 10 ms for ten seconds; latency is 0.2 s and grows by so much per second."""
    return [(1000 + number / 100, 0.2 + grows * number / 100) for number in range(1000)]


def test_latency_that_stays_holds() -> None:
    measured = judge(100, samples(0.0), skip=2)
    assert measured.holds
    assert round(measured.p50_ms) == round(measured.p99_ms) == 200


def test_latency_that_grows_all_the_time_does_not_hold() -> None:
    measured = judge(100, samples(0.5), skip=2)
    assert not measured.holds
    assert abs(measured.growth - 0.5) < 0.01


def test_what_was_due_at_the_start_does_not_count() -> None:
    backlog = [(due, latency + (5 if due < 1002 else 0)) for due, latency in samples(0.0)]
    assert judge(100, backlog, skip=2) == judge(100, samples(0.0), skip=2)


class Rates:
    """A job that keeps up with a rate, up to a limit; ``disturbed`` fail once although they would hold."""

    def __init__(self, limit: int, disturbed: set[int] | None = None) -> None:
        self.limit = limit
        self.disturbed = disturbed or set()
        self.asked: list[int] = []

    def __call__(self, rate: int) -> Latency:
        self.asked.append(rate)
        holds = rate <= self.limit and rate not in self.disturbed
        self.disturbed.discard(rate)
        return Latency(rate, 100.0, 200.0, 0.0 if holds else 0.7, holds)


def test_rates_are_raised_until_one_breaks_twice_and_the_gap_is_looked_into() -> None:
    rates = Rates(limit=320)
    points = up_to_the_limit(rates, [100, 200, 400, 800])
    assert rates.asked == [100, 200, 400, 400, 300]
    assert [(point["rate"], point["holds"]) for point in points] == [
        (100, True),
        (200, True),
        (300, True),
        (400, False),
    ]
    assert limit_of(points).startswith("The job kept up with 300 records/s; at 400 records/s latency grew by 0.70 s")


def test_a_rate_that_was_disturbed_once_is_tried_again() -> None:
    rates = Rates(limit=900, disturbed={200})
    points = up_to_the_limit(rates, [100, 200, 400])
    assert rates.asked == [100, 200, 200, 400]
    assert limit_of(points) == "Every rate up to 400 records/s held."


def test_no_rate_holds() -> None:
    points = up_to_the_limit(Rates(limit=0), [100, 200])
    assert [point["rate"] for point in points] == [100]
    assert limit_of(points).startswith("The job kept up with none of these rates; at 100 records/s")


def of_keys(backend: str, keys: int, memory: int) -> dict[str, Any]:
    speed = {"records_per_second": 5e5, "epoch_seconds": 1.0}
    return {"backend": backend, "keys": keys, **speed, "state_bytes": 16 * keys, "slot_memory_bytes": memory}


def test_memory_per_key_is_what_a_job_has_beyond_the_one_with_fewest_keys() -> None:
    points = [
        of_keys("hashmap", 1000, 50_000_000),
        of_keys("hashmap", 1_001_000, 250_000_000),
        of_keys("rocksdb", 1000, 9),
    ]
    *_, few, many, rocksdb = keys_table(points).splitlines()
    assert few == "| hashmap | 1,000 | 500,000 | 0.02 MB | 16 | - |"
    assert many == "| hashmap | 1,001,000 | 500,000 | 16.02 MB | 16 | 200 |"
    assert rocksdb.endswith("| 16 | - |")


def test_a_level_is_charged_with_what_it_adds() -> None:
    points = [{"levels": 1, "records_per_second": 5e6}, {"levels": 2, "records_per_second": 1e6}]
    assert levels_table(points).splitlines()[2:] == ["| 1 | 5,000,000 | 200 | - |", "| 2 | 1,000,000 | 1,000 | 800 |"]
