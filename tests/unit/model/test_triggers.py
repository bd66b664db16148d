from __future__ import annotations

import pytest

from firesteel.common.time import MAX_WATERMARK, Duration, Time
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.functions import DeltaFunction
from firesteel.model.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TriggerResult,
)
from firesteel.model.windows import GlobalWindow, TimeWindow
from tests.unit.model.fakes import TriggerRig

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
PURGE, FIRE_AND_PURGE = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE
WINDOW = TimeWindow(0, 100)


def test_trigger_results_say_whether_to_fire_and_to_purge():
    table = {result: (result.is_fire(), result.is_purge()) for result in TriggerResult}
    assert table == {
        CONTINUE: (False, False),
        FIRE: (True, False),
        PURGE: (False, True),
        FIRE_AND_PURGE: (True, True),
    }


def test_event_time_trigger_fires_when_the_watermark_passes_the_end():
    rig = TriggerRig(EventTimeTrigger.create())
    assert rig.element("a", 5, WINDOW) is CONTINUE
    assert rig.element("b", 6, WINDOW) is CONTINUE
    assert rig.advance_watermark(98) == []
    assert rig.advance_watermark(99) == [(99, FIRE)]


def test_event_time_trigger_fires_for_each_late_record():
    rig = TriggerRig(EventTimeTrigger())
    rig.advance_watermark(99)
    assert rig.element("late", 5, WINDOW) is FIRE
    assert rig.left_over() == []


def test_event_time_trigger_ignores_other_timers():
    trigger = EventTimeTrigger()
    assert trigger.on_event_time(150, WINDOW, TriggerRig(trigger)) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, TriggerRig(trigger)) is CONTINUE


def test_event_time_trigger_moves_its_timer_when_windows_merge():
    rig = TriggerRig(EventTimeTrigger())
    rig.element("a", 5, WINDOW)
    rig.clear(WINDOW)
    rig.merge([WINDOW, TimeWindow(50, 150)], TimeWindow(0, 150))
    assert rig.advance_watermark(140) == []
    assert rig.advance_watermark(149) == [(149, FIRE)]


def test_event_time_trigger_sets_no_timer_for_a_merged_window_that_has_ended():
    rig = TriggerRig(EventTimeTrigger())
    rig.advance_watermark(200)
    rig.merge([WINDOW], TimeWindow(0, 150))
    assert rig.left_over() == []


def test_processing_time_trigger_fires_at_the_end_of_the_window():
    rig = TriggerRig(ProcessingTimeTrigger.create(), now=5)
    assert rig.element("a", 5, WINDOW) is CONTINUE
    assert rig.advance_watermark(500) == []
    assert rig.advance_processing_time(98) == []
    assert rig.advance_processing_time(99) == [(99, FIRE)]


def test_processing_time_trigger_follows_merged_windows():
    rig = TriggerRig(ProcessingTimeTrigger(), now=5)
    rig.element("a", 5, WINDOW)
    rig.clear(WINDOW)
    rig.merge([WINDOW], TimeWindow(0, 150))
    assert rig.advance_processing_time(150) == [(149, FIRE)]
    rig.merge([WINDOW], TimeWindow(0, 120))
    assert rig.left_over() == []


def test_count_trigger_fires_every_n_records():
    rig = TriggerRig(CountTrigger.of(3))
    assert [rig.element(number, 0, WINDOW) for number in range(7)] == [CONTINUE, CONTINUE, FIRE] * 2 + [CONTINUE]
    rig.clear(WINDOW)
    assert rig.left_over() == []


def test_count_trigger_counts_each_window_apart_and_adds_up_merged_ones():
    rig = TriggerRig(CountTrigger(4))
    first, second, both = TimeWindow(0, 10), TimeWindow(8, 20), TimeWindow(0, 20)
    assert [rig.element("x", 0, window) for window in (first, second, first)] == [CONTINUE] * 3
    rig.merge([first, second], both)
    assert rig.element("x", 0, both) is FIRE


def test_continuous_event_time_trigger_fires_early_results_and_at_the_end():
    rig = TriggerRig(ContinuousEventTimeTrigger.of(Time.milliseconds(30)))
    assert rig.element("a", 5, WINDOW) is CONTINUE
    assert rig.advance_watermark(29) == []
    assert rig.advance_watermark(30) == [(30, FIRE)]
    assert rig.advance_watermark(95) == [(60, FIRE), (90, FIRE)]
    assert rig.advance_watermark(99) == [(99, FIRE)]
    assert rig.element("late", 7, WINDOW) is FIRE


def test_continuous_event_time_trigger_leaves_nothing_behind():
    rig = TriggerRig(ContinuousEventTimeTrigger.of(Duration.of_millis(30)))
    rig.element("a", 5, WINDOW)
    rig.advance_watermark(40)
    rig.clear(WINDOW)
    assert rig.left_over() == []


def test_continuous_event_time_trigger_takes_the_earliest_firing_of_merged_windows():
    rig = TriggerRig(ContinuousEventTimeTrigger(30))
    first, second, both = TimeWindow(0, 80), TimeWindow(40, 120), TimeWindow(0, 120)
    rig.element("a", 5, first)
    rig.element("b", 45, second)
    rig.event_timers.clear()
    rig.merge([first, second], both)
    assert rig.advance_watermark(59) == [(30, FIRE)]


def test_continuous_event_time_trigger_aligns_negative_timestamps():
    rig = TriggerRig(ContinuousEventTimeTrigger(10))
    rig.element("a", -15, TimeWindow(-100, 0))
    assert rig.advance_watermark(-10) == [(-10, FIRE)]


def test_continuous_processing_time_trigger_fires_until_the_end_of_the_window():
    rig = TriggerRig(ContinuousProcessingTimeTrigger.of(Time.milliseconds(40)), now=10)
    assert rig.element("a", 5, WINDOW) is CONTINUE
    assert rig.advance_processing_time(40) == [(40, FIRE)]
    assert rig.advance_processing_time(99) == [(80, FIRE), (99, FIRE)]
    rig.clear(WINDOW)
    assert rig.left_over() == []


def test_continuous_processing_time_trigger_goes_on_for_windows_whose_end_is_past():
    rig = TriggerRig(ContinuousProcessingTimeTrigger(40), now=1000)
    rig.element("a", 5, WINDOW)
    assert rig.advance_processing_time(1090) == [(1040, FIRE), (1080, FIRE)]


def test_continuous_processing_time_trigger_follows_merged_windows():
    rig = TriggerRig(ContinuousProcessingTimeTrigger(40), now=10)
    rig.element("a", 5, WINDOW)
    rig.clear(TimeWindow(7, 8))
    rig.processing_timers.clear()
    rig.merge([WINDOW], TimeWindow(0, 150))
    assert rig.advance_processing_time(40) == [(40, FIRE)]


@pytest.mark.parametrize("kind", [ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger])
def test_continuous_triggers_need_a_positive_interval(kind):
    with pytest.raises(ConfigurationError, match="interval"):
        kind.of(Time.milliseconds(0))
    with pytest.raises(ConfigurationError, match="interval"):
        kind(Time.seconds(1))


def test_never_trigger_never_fires():
    rig = TriggerRig(NeverTrigger())
    assert rig.element("a", 5, GlobalWindow.get()) is CONTINUE
    assert rig.advance_watermark(MAX_WATERMARK) == []
    assert rig.left_over() == []


def test_end_of_stream_trigger_fires_with_the_last_watermark_only():
    rig = TriggerRig(EndOfStreamTrigger())
    assert rig.element("a", 5, GlobalWindow.get()) is CONTINUE
    assert rig.advance_watermark(10**15) == []
    assert rig.advance_watermark(MAX_WATERMARK) == [(MAX_WATERMARK, FIRE_AND_PURGE)]
    rig.element("b", 5, GlobalWindow.get())
    rig.clear(GlobalWindow.get())
    assert rig.left_over() == []


def test_purging_trigger_purges_whenever_the_nested_one_fires():
    rig = TriggerRig(PurgingTrigger.of(CountTrigger.of(2)))
    assert [rig.element("x", 0, WINDOW) for _ in range(3)] == [CONTINUE, FIRE_AND_PURGE, CONTINUE]
    rig.clear(WINDOW)
    assert rig.left_over() == []


def test_purging_trigger_hands_timers_and_merges_on():
    rig = TriggerRig(PurgingTrigger(EventTimeTrigger()))
    assert rig.trigger.can_merge()
    rig.merge([WINDOW], TimeWindow(0, 150))
    assert rig.advance_watermark(149) == [(149, FIRE_AND_PURGE)]
    by_clock = TriggerRig(PurgingTrigger(ProcessingTimeTrigger()))
    by_clock.element("a", 5, WINDOW)
    assert by_clock.advance_processing_time(99) == [(99, FIRE_AND_PURGE)]


def test_purging_trigger_merges_only_if_the_nested_one_does():
    assert not PurgingTrigger(DeltaTrigger(1, lambda old, new: new - old)).can_merge()
    with pytest.raises(ConfigurationError, match="nested_trigger"):
        PurgingTrigger.of(EventTimeTrigger)


class Difference(DeltaFunction):
    def get_delta(self, old_data_point, new_data_point):
        return abs(new_data_point - old_data_point)


@pytest.mark.parametrize("delta", [Difference(), lambda old, new: abs(new - old)])
def test_delta_trigger_fires_when_the_threshold_is_exceeded(delta):
    rig = TriggerRig(DeltaTrigger.of(3.0, delta))
    results = [rig.element(value, 0, WINDOW) for value in (10, 13, 14, 15, 17, 18)]
    assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, CONTINUE, FIRE]
    rig.clear(WINDOW)
    assert rig.left_over() == []


def test_delta_trigger_needs_a_delta_function():
    with pytest.raises(ConfigurationError, match="delta_function"):
        DeltaTrigger.of(3.0, 5)


def test_timeout_fires_what_the_nested_trigger_did_not():
    rig = TriggerRig(ProcessingTimeoutTrigger.of(CountTrigger.of(3), Time.milliseconds(100)), now=1000)
    assert rig.element("a", 0, GlobalWindow.get()) is CONTINUE
    rig.now = 1050
    assert rig.element("b", 0, GlobalWindow.get()) is CONTINUE
    assert rig.advance_processing_time(1099) == []
    assert rig.advance_processing_time(1100) == [(1100, FIRE)]
    assert rig.left_over() == []


def test_timeout_is_dropped_when_the_nested_trigger_fires():
    rig = TriggerRig(ProcessingTimeoutTrigger.of(CountTrigger.of(2), Duration.of_millis(100)), now=1000)
    assert [rig.element("x", 0, WINDOW) for _ in range(2)] == [CONTINUE, FIRE]
    assert rig.left_over() == []


def test_timeout_may_start_again_with_every_record():
    rig = TriggerRig(ProcessingTimeoutTrigger.of(CountTrigger.of(5), 100, reset_timer_on_new_record=True))
    rig.element("a", 0, WINDOW)
    rig.now = 60
    rig.element("b", 0, WINDOW)
    assert rig.advance_processing_time(159) == []
    assert rig.advance_processing_time(160) == [(160, FIRE)]


def test_timeout_may_leave_the_nested_trigger_as_it_is():
    rig = TriggerRig(ProcessingTimeoutTrigger.of(CountTrigger.of(3), 100, False, False))
    rig.element("a", 0, WINDOW)
    rig.element("b", 0, WINDOW)
    assert rig.advance_processing_time(100) == [(100, FIRE)]
    assert rig.element("c", 0, WINDOW) is FIRE


def test_timeout_purges_if_the_nested_trigger_does():
    nested = PurgingTrigger.of(EventTimeTrigger())
    rig = TriggerRig(ProcessingTimeoutTrigger.of(nested, 1000))
    rig.element("a", 0, WINDOW)
    assert rig.advance_watermark(99) == [(99, FIRE_AND_PURGE)]


def test_timeout_must_be_positive():
    with pytest.raises(ConfigurationError, match="timeout"):
        ProcessingTimeoutTrigger.of(CountTrigger.of(3), 0)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "3"])
def test_count_trigger_needs_a_positive_count(size):
    with pytest.raises(ConfigurationError, match="window_size"):
        CountTrigger.of(size)


@pytest.mark.parametrize(
    "trigger", [DeltaTrigger(1, max), EndOfStreamTrigger(), ProcessingTimeoutTrigger(CountTrigger(1), 5)]
)
def test_triggers_that_cannot_merge_say_so(trigger):
    assert not trigger.can_merge()
    with pytest.raises(UnsupportedError, match="merging windows"):
        TriggerRig(trigger).merge([WINDOW], TimeWindow(0, 150))
