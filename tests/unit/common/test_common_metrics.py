from __future__ import annotations

import logging
import pickle

import pytest

from firesteel.errors import ConfigurationError
from firesteel.metrics import DistributionValue, MeterRate, MeterValue, MetricGroup, MetricSnapshot, merge_snapshots


def subtask(seen: int, sizes: list[int], level: int) -> MetricSnapshot:
    root = MetricGroup()
    group = root.add_group("rides")
    group.counter("seen").inc(seen)
    group.meter("events").mark_event(seen * 2)
    for size in sizes:
        group.add_group("zone", "north").distribution("size").update(size)
    group.gauge("level", lambda: level)
    return root.snapshot()


def test_metrics_are_found_again_by_name() -> None:
    group = MetricGroup()
    group.counter("a").inc()
    group.counter("a").inc(5)
    group.counter("a").dec(2)
    assert group.counter("a").get_count() == 4
    assert group.add_group("x") is group.add_group("x")
    assert group.add_group("x", "1") is group.add_group("x").add_group("1")
    assert group.add_group("x", "1") is not group.add_group("x", "2")
    meter = group.meter("m", time_span_in_seconds=30)
    meter.mark_event()
    meter.mark_event(3)
    assert (meter.get_count(), meter.get_time_span()) == (4, 30)


def test_a_snapshot_names_metrics_by_their_groups() -> None:
    snapshot = pickle.loads(pickle.dumps(subtask(3, [5, 1], 7)))
    assert snapshot == MetricSnapshot(
        counters={"rides.seen": 3},
        meters={"rides.events": MeterValue(6, 60)},
        distributions={"rides.zone.north.size": DistributionValue(2, 6, 1, 5)},
        gauges={"rides.level": 7},
    )


def test_subtasks_are_merged_by_the_kind_of_metric() -> None:
    merged = merge_snapshots({1: subtask(10, [], 1), 0: subtask(3, [5, 1], 7)})
    assert merged.counters == {"rides.seen": 13}
    assert merged.meters == {"rides.events": MeterValue(26, 60)}
    assert merged.distributions == {"rides.zone.north.size": DistributionValue(2, 6, 1, 5)}
    assert merged.gauges == {"rides.level": {0: 7, 1: 1}}


def test_distributions_join() -> None:
    joined = DistributionValue(2, 6, 1, 5) + DistributionValue(1, 9, 9, 9)
    assert joined == DistributionValue(3, 15, 1, 9) and joined.mean == 5
    assert DistributionValue().mean is None


def test_one_name_is_one_kind_of_metric() -> None:
    group = MetricGroup().add_group("g")
    group.counter("a")
    with pytest.raises(ConfigurationError, match=r"metric g\.a is a counter already and cannot be a meter"):
        group.meter("a")
    with pytest.raises(ConfigurationError, match="cannot be a gauge"):
        group.gauge("a", lambda: 1)
    group.gauge("b", lambda: 1)
    with pytest.raises(ConfigurationError, match="is a gauge already"):
        group.counter("b")
    assert group.snapshot().counters == {"g.a": 0}
    with pytest.raises(ConfigurationError, match="function without arguments"):
        group.gauge("c", 5)  # type: ignore[arg-type]


def test_a_failing_gauge_is_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    group = MetricGroup()
    group.gauge("bad", lambda: 1 // 0)
    group.gauge("good", lambda: 2)
    with caplog.at_level(logging.WARNING, logger="firesteel"):
        assert group.snapshot().gauges == {"good": 2}
    assert "gauge bad failed" in caplog.text


def test_the_rate_of_a_meter_covers_its_time_span() -> None:
    rate = MeterRate(time_span_in_seconds=10)
    assert rate.per_second() == 0
    for second in range(21):
        rate.observe(second * 1000, 0 if second < 10 else (second - 10) * 30)
    assert rate.per_second() == 30
    rate.observe(21_000, 5)  # restarted: counts began again
    assert rate.per_second() == 0
    rate.observe(22_000, 15)
    assert rate.per_second() == 10
