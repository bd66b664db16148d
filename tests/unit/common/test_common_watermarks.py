from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from firesteel.common import (
    AssignerWithPeriodicWatermarksWrapper,
    Duration,
    Time,
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from firesteel.common.time import MIN_WATERMARK
from firesteel.common.watermark import BoundedOutOfOrdernessWatermarks
from firesteel.errors import ConfigurationError, UnsupportedError


class Collected(WatermarkOutput):
    def __init__(self) -> None:
        self.seen: list[int | str] = []

    def emit_watermark(self, watermark: Watermark) -> None:
        self.seen.append(watermark.timestamp)

    def mark_idle(self) -> None:
        self.seen.append("idle")

    def mark_active(self) -> None:
        self.seen.append("active")


def watermark_after(generator: WatermarkGenerator, timestamps: list[int]) -> int | str | None:
    output = Collected()
    for timestamp in timestamps:
        generator.on_event(None, timestamp, output)
    generator.on_periodic_emit(output)
    return output.seen[-1] if output.seen else None


@pytest.mark.feature("TM-06")
@pytest.mark.parametrize("bound", [Duration.of_seconds(20), Time.seconds(20), timedelta(seconds=20), 20_000])
def test_bounded_watermark_trails_the_highest_timestamp(bound: Any) -> None:
    generator = WatermarkStrategy.for_bounded_out_of_orderness(bound).create_generator()
    assert watermark_after(generator, [40_000, 100_000, 85_000]) == 79_999


def test_before_any_element_the_watermark_is_the_minimum() -> None:
    generator = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20)).create_generator()
    assert watermark_after(generator, []) == MIN_WATERMARK


@pytest.mark.feature("TM-07")
@given(st.lists(st.integers(-(2**40), 2**40), min_size=1).map(sorted))
def test_monotonous_watermark_is_one_behind_and_no_ordered_element_is_late(timestamps: list[int]) -> None:
    generator = WatermarkStrategy.for_monotonous_timestamps().create_generator()
    output = Collected()
    for timestamp in timestamps:
        assert not output.seen or timestamp > int(output.seen[-1])  # an element at the watermark would be late
        generator.on_event(None, timestamp, output)
        generator.on_periodic_emit(output)
        assert output.seen[-1] == timestamp - 1


@given(st.lists(st.integers(-(2**40), 2**40)), st.integers(0, 10_000))
def test_a_batch_of_timestamps_counts_as_its_elements(timestamps: list[int], bound: int) -> None:
    one, all_at_once = BoundedOutOfOrdernessWatermarks(bound), BoundedOutOfOrdernessWatermarks(bound)
    all_at_once.on_timestamps(timestamps)
    assert watermark_after(one, timestamps) == watermark_after(all_at_once, [])


def test_no_watermarks_makes_none() -> None:
    assert watermark_after(WatermarkStrategy.no_watermarks().create_generator(), [1, 2]) is None


class OnMarker(WatermarkGenerator):
    """Emits when an element is a marker, and counts what it saw."""

    def __init__(self) -> None:
        self.history: list[int] = []

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        self.history.append(timestamp)
        if event == "marker":
            output.emit_watermark(Watermark(timestamp))


def test_a_generator_of_ones_own_emits_on_elements() -> None:
    generator = WatermarkStrategy.for_generator(OnMarker).create_generator()
    output = Collected()
    for event, timestamp in [("a", 5), ("marker", 7), ("b", 9)]:
        generator.on_event(event, timestamp, output)
    generator.on_periodic_emit(output)
    assert output.seen == [7]


def test_a_snapshot_is_not_changed_by_what_follows() -> None:
    generator = OnMarker()
    generator.on_event("a", 1, Collected())
    snapshot = generator.snapshot()
    generator.on_event("a", 2, Collected())
    fresh = OnMarker()
    fresh.restore(snapshot)
    fresh.on_event("a", 3, Collected())
    assert (snapshot, fresh.history) == ({"history": [1]}, [1, 3])


@pytest.mark.parametrize(
    "make",
    [
        WatermarkStrategy.for_monotonous_timestamps,
        lambda: WatermarkStrategy.for_bounded_out_of_orderness(5),
        WatermarkStrategy.no_watermarks,
    ],
)
@given(timestamps=st.lists(st.integers(0, 1000)), cut=st.integers(0, 20))
def test_any_cut_with_snapshot_and_restore_changes_nothing(
    make: Callable[[], WatermarkStrategy], timestamps: list[int], cut: int
) -> None:
    whole = make().create_generator()
    before, after = make().create_generator(), make().create_generator()
    watermark_after(before, timestamps[:cut])
    after.restore(pickle.loads(pickle.dumps(before.snapshot())))
    assert watermark_after(after, timestamps[cut:]) == watermark_after(whole, timestamps)


class ByField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value["at"])


def test_timestamp_assigners_are_classes_or_functions() -> None:
    base = WatermarkStrategy.for_monotonous_timestamps()
    by_class = base.with_timestamp_assigner(ByField())
    by_function = base.with_timestamp_assigner(lambda value, before: value["at"] + before)
    assert base.timestamp_assigner is None and base.timestamp_function is None
    for strategy, expected in ((by_class, 7), (by_function, 10)):
        assert strategy.timestamp_assigner is not None and strategy.timestamp_function is not None
        assert strategy.timestamp_assigner.extract_timestamp({"at": 7}, 3) == expected
        assert strategy.timestamp_function({"at": 7}, 3) == expected


def test_settings_add_up_and_leave_the_original_alone() -> None:
    base = WatermarkStrategy.for_monotonous_timestamps()
    full = base.with_idleness(Duration.of_minutes(1)).with_watermark_alignment(
        "group", Duration.of_seconds(20), Duration.of_millis(500)
    )
    assert full.idle_timeout_ms == 60_000 and base.idle_timeout_ms is None
    assert full.alignment is not None
    assert (full.alignment.group, full.alignment.max_drift_ms, full.alignment.update_interval_ms) == (
        "group",
        20_000,
        500,
    )
    alone = base.with_watermark_alignment("group", Duration.of_seconds(1))
    assert alone.alignment is not None and alone.alignment.update_interval_ms == 1000


def test_strategies_travel_with_cloudpickle() -> None:
    offset = 100
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10)).with_timestamp_assigner(
        lambda value, _: value + offset
    )
    twin = pickle.loads(cloudpickle.dumps(strategy))
    assert twin.timestamp_function(1, 0) == 101
    assert watermark_after(twin.create_generator(), [50]) == 39


@pytest.mark.parametrize(
    "make",
    [
        lambda: WatermarkStrategy.for_bounded_out_of_orderness(-1),
        lambda: WatermarkStrategy.for_generator(OnMarker()),  # type: ignore[arg-type]
        lambda: WatermarkStrategy.for_generator(object).create_generator(),  # type: ignore[arg-type]
        lambda: WatermarkStrategy.no_watermarks().with_idleness(0),
        lambda: WatermarkStrategy.no_watermarks().with_timestamp_assigner("at"),  # type: ignore[arg-type]
        lambda: WatermarkStrategy.no_watermarks().with_watermark_alignment("", 1),
    ],
)
def test_wrong_settings_are_refused_where_they_are_made(make: Callable[[], object]) -> None:
    with pytest.raises(ConfigurationError):
        make()


class Trailing:
    """An assigner in the old style: the watermark trails the highest timestamp by 5 ms."""

    def __init__(self) -> None:
        self.highest = 0

    def extract_timestamp(self, element: int, record_timestamp: int) -> int:
        self.highest = max(self.highest, element)
        return element

    def get_current_watermark(self) -> int | None:
        return self.highest - 5 if self.highest else None


def test_an_assigner_of_the_old_style_becomes_a_strategy() -> None:
    strategy = AssignerWithPeriodicWatermarksWrapper(Trailing()).as_watermark_strategy()
    assert strategy.timestamp_function is not None and strategy.timestamp_function(30, 0) == 30
    for elements, watermark in (([30, 20], 25), ([10], 5)):  # each subtask has an assigner of its own
        output, generator = Collected(), strategy.create_generator()
        for element in elements:
            generator.on_event(element, element, output)
        generator.on_periodic_emit(output)
        assert output.seen == [watermark]


def test_an_assigner_written_in_java_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="written in Java cannot"):
        AssignerWithPeriodicWatermarksWrapper(object())
