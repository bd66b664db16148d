"""The contract of triggers: what each makes of the same records, and what the operator promises to triggers."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.typeinfo import Types
from firesteel.model.assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.model.evictors import CountEvictor
from firesteel.model.state import ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor
from firesteel.model.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
)
from firesteel.runtime.failure import OperatorFailure
from tests.contract.windows import Contents, Numbers, Sum, windows

SECOND = 1000


class Scripted(Trigger[Any, Any]):
    """Does what the record says: its third field is the name of a result."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult[element[2]] if len(element) > 2 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        return None


def sent(trigger: Trigger[Any, Any], *numbers: int, fold: Any = None) -> list[Any]:
    """What a trigger lets out of the global window for these numbers of one key."""
    harness = windows(GlobalWindows(), None if fold else Numbers(), fold, trigger=trigger)
    for number in numbers:
        harness.process_element(("a", number), timestamp=number)
    return harness.output_values()


# ---- results -----------------------------------------------------------------------------------------------------


@pytest.mark.feature("WI-11")
def test_continue_does_nothing() -> None:
    harness = windows(GlobalWindows(), Numbers(), trigger=Scripted())
    harness.process_element(("a", 1, "CONTINUE"), 0)
    assert harness.output_values() == []
    assert harness.state_entries() == 1


@pytest.mark.feature("WI-11")
def test_fire_evaluates_the_window_and_keeps_its_contents() -> None:
    harness = windows(GlobalWindows(), Numbers(), trigger=Scripted())
    harness.process_elements([(("a", 1), 0), (("a", 2, "FIRE"), 0), (("a", 3, "FIRE"), 0)])
    assert harness.output_values() == [[1, 2], [1, 2, 3]]


@pytest.mark.feature("WI-11")
def test_fire_and_purge_evaluates_the_window_and_drops_its_contents() -> None:
    harness = windows(GlobalWindows(), Numbers(), trigger=Scripted())
    harness.process_elements([(("a", 1), 0), (("a", 2, "FIRE_AND_PURGE"), 0), (("a", 3, "FIRE"), 0)])
    assert harness.output_values() == [[1, 2], [3]]


@pytest.mark.feature("WI-11")
def test_purge_empties_the_window_without_evaluating_it() -> None:
    harness = windows(GlobalWindows(), Numbers(), trigger=Scripted())
    harness.process_elements([(("a", 1), 0), (("a", 2, "PURGE"), 0), (("a", 3, "FIRE"), 0)])
    assert harness.output_values() == [[3]]


@pytest.mark.parametrize("fold", [None, Sum()], ids=["records", "aggregate"])
def test_a_purged_window_that_fires_gives_nothing(fold: Any) -> None:
    class FiresAtEnd(Scripted):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
            ctx.register_event_time_timer(window.max_timestamp())
            return TriggerResult.PURGE

        def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
            return TriggerResult.FIRE

    harness = windows(TumblingEventTimeWindows(10), None if fold else Contents(), fold, trigger=FiresAtEnd())
    harness.process_element(("a", 1), 3)
    harness.process_watermark(9)
    assert harness.output_values() == []


def test_a_trigger_that_returns_something_else_is_a_clear_error() -> None:
    class Forgetful(Scripted):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
            return None

    with pytest.raises(OperatorFailure, match=r"Forgetful.*must return a TriggerResult, got None"):
        windows(GlobalWindows(), Numbers(), trigger=Forgetful()).process_element(("a", 1), 0)


# ---- the triggers there are ----------------------------------------------------------------------------------------


@pytest.mark.feature("WI-12")
def test_the_event_time_trigger_fires_at_the_end_and_for_every_late_record() -> None:
    harness = windows(TumblingEventTimeWindows(10), trigger=EventTimeTrigger(), lateness=10)
    harness.process_element(("a", 1), 3)
    harness.process_watermark(9)
    harness.process_elements([(("a", 2), 4), (("a", 3), 5)])
    assert harness.output_values() == [("a", 0, 10, [1]), ("a", 0, 10, [1, 2]), ("a", 0, 10, [1, 2, 3])]


@pytest.mark.feature("WI-12")
def test_the_processing_time_trigger_fires_event_time_windows_by_the_clock() -> None:
    harness = windows(TumblingEventTimeWindows(10), trigger=ProcessingTimeTrigger())
    harness.process_element(("a", 1), 3)
    harness.set_processing_time(9)
    assert harness.output_values() == []
    harness.set_processing_time(10)
    assert harness.output_values() == [("a", 0, 10, [1])]


@pytest.mark.feature("WI-09", "WI-12")
def test_the_count_trigger_fires_every_n_records_and_keeps_them() -> None:
    assert sent(CountTrigger(3), 1, 2, 3, 4, 5, 6, 7) == [[1, 2, 3], [1, 2, 3, 4, 5, 6]]


@pytest.mark.feature("WI-12")
def test_a_purging_trigger_fires_like_the_other_one_and_drops_what_has_fired() -> None:
    assert sent(PurgingTrigger(CountTrigger(3)), 1, 2, 3, 4, 5, 6, 7) == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.feature("WI-09")
def test_the_global_window_never_fires_by_itself() -> None:
    harness = windows(GlobalWindows.create(), Numbers())
    harness.process_elements([(("a", number), number) for number in range(10)])
    harness.set_processing_time(10**15)
    harness.end_input()
    assert harness.output_values() == []


@pytest.mark.feature("WI-09")
def test_the_never_trigger_silences_any_window() -> None:
    harness = windows(TumblingEventTimeWindows(10), trigger=NeverTrigger())
    harness.process_element(("a", 1), 3)
    harness.end_input()
    assert harness.output_values() == []
    assert harness.state_entries() == 0


def test_the_end_of_stream_trigger_fires_when_all_input_has_ended() -> None:
    harness = windows(GlobalWindows.create_with_end_of_stream_trigger(), Numbers())
    harness.process_elements([(("a", number), number) for number in range(3)])
    harness.process_watermark(10**9)
    assert harness.output_values() == []
    harness.end_input()
    assert harness.output_values() == [[0, 1, 2]]


@pytest.mark.feature("WI-12")
def test_the_continuous_event_time_trigger_fires_early_results_and_the_last_one() -> None:
    harness = windows(
        TumblingEventTimeWindows(60 * SECOND), None, Sum(), trigger=ContinuousEventTimeTrigger(10 * SECOND)
    )
    harness.process_element(("a", 1), 1 * SECOND)
    harness.process_watermark(10 * SECOND)
    harness.process_element(("a", 2), 12 * SECOND)
    harness.process_watermark(20 * SECOND)
    harness.process_watermark(59 * SECOND)
    harness.process_watermark(60 * SECOND - 1)
    assert harness.output_values() == [1, 3, 3, 3, 3, 3]
    assert harness.timers() == 0


@pytest.mark.feature("WI-12")
def test_the_continuous_processing_time_trigger_fires_by_the_clock() -> None:
    harness = windows(GlobalWindows(), None, Sum(), trigger=ContinuousProcessingTimeTrigger(10), now=3)
    harness.process_element(("a", 1), 0)
    assert harness.next_processing_timer() == 11
    harness.set_processing_time(11)
    harness.process_element(("a", 2), 0)
    harness.set_processing_time(21)
    assert harness.output_values() == [1, 3]


@pytest.mark.feature("WI-12")
def test_the_delta_trigger_fires_when_a_record_is_far_from_the_last_one_that_fired() -> None:
    def distance(old: Any, new: Any) -> float:
        return float(new[1] - old[1])

    assert sent(DeltaTrigger.of(10.0, distance), 0, 5, 10, 11, 15, 22) == [[0, 5, 10, 11], [0, 5, 10, 11, 15, 22]]


@pytest.mark.feature("WI-12")
def test_the_timeout_trigger_fires_when_the_other_one_has_not_for_too_long() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger(3), 100)
    harness = windows(GlobalWindows(), Numbers(), trigger=PurgingTrigger(trigger))
    harness.process_elements([(("a", 1), 0), (("a", 2), 0)])
    harness.set_processing_time(100)
    assert harness.output_values() == []
    harness.set_processing_time(101)
    harness.process_elements([(("a", number), 0) for number in (3, 4, 5)])
    harness.set_processing_time(1000)
    assert harness.output_values() == [[1, 2], [3, 4, 5]]


class FiveOrTenSeconds(Trigger[Any, Any]):
    """Fires at five records, or ten seconds after the first."""

    def __init__(self) -> None:
        self._count = ValueStateDescriptor("count", Types.INT())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        count = ctx.get_partitioned_state(self._count)
        seen = (count.value() or 0) + 1
        if seen == 1:
            ctx.register_event_time_timer(timestamp + 10 * SECOND)
        count.update(seen % 5)
        return TriggerResult.FIRE_AND_PURGE if seen == 5 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.get_partitioned_state(self._count).clear()
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self._count).clear()


@pytest.mark.feature("WI-11")
def test_a_trigger_of_the_users_own_fires_at_five_records_or_ten_seconds() -> None:
    harness = windows(GlobalWindows(), Numbers(), trigger=FiveOrTenSeconds())
    harness.process_elements([(("a", number), number) for number in range(5)])
    assert harness.output_values() == [[0, 1, 2, 3, 4]]
    harness.process_watermark(10 * SECOND)
    harness.process_element(("a", 5), 11 * SECOND)
    harness.process_watermark(20 * SECOND)
    assert harness.output_values() == [[0, 1, 2, 3, 4]]
    harness.process_watermark(21 * SECOND)
    assert harness.output_values() == [[0, 1, 2, 3, 4], [5]]


# ---- what triggers may rely on -------------------------------------------------------------------------------------


@pytest.mark.feature("WI-11")
def test_the_state_of_a_trigger_belongs_to_one_key_and_one_window() -> None:
    harness = windows(TumblingEventTimeWindows(10), None, Sum(), trigger=CountTrigger(2))
    for key, time in (("a", 1), ("b", 2), ("a", 11), ("a", 3), ("b", 12)):
        harness.process_element((key, 1), time)
    assert harness.output_values() == [2]  # only "a" in the first window has two


def test_a_trigger_is_cleared_when_its_window_is_deleted() -> None:
    harness = windows(TumblingEventTimeWindows(10), None, Sum(), trigger=CountTrigger(2))
    harness.process_element(("a", 1), 1)
    assert harness.state_entries() == 2
    harness.process_watermark(9)
    assert harness.state_entries() == 0


def test_timers_and_state_of_triggers_survive_a_restart() -> None:
    def make() -> Any:
        return windows(GlobalWindows(), Numbers(), trigger=FiveOrTenSeconds())

    first, second = make(), make()
    first.process_elements([(("a", number), number) for number in range(3)])
    second.restore(first.snapshot())
    second.process_elements([(("a", number), number) for number in (3, 4, 5)])
    second.process_watermark(11 * SECOND)
    assert second.output_values() == [[0, 1, 2, 3, 4], [5]]


def test_a_trigger_may_delete_its_timers() -> None:
    class Cancelled(Scripted):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
            ctx.register_event_time_timer(5)
            ctx.register_processing_time_timer(5)
            ctx.delete_event_time_timer(5)
            ctx.delete_processing_time_timer(5)
            return TriggerResult.CONTINUE

        def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
            return TriggerResult.FIRE

        on_processing_time = on_event_time

    harness = windows(GlobalWindows(), Numbers(), trigger=Cancelled())
    harness.process_element(("a", 1), 0)
    harness.process_watermark(10)
    harness.set_processing_time(10)
    assert harness.output_values() == []


def test_a_trigger_knows_the_clocks_and_has_metrics() -> None:
    class Curious(Scripted):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
            clocks = ctx.get_current_watermark(), ctx.get_current_processing_time()
            ctx.get_metric_group().counter("right").inc(clocks == (7, 70) and timestamp == 9)
            return TriggerResult.CONTINUE

    harness = windows(GlobalWindows(), Numbers(), trigger=Curious(), now=70)
    harness.process_watermark(7)
    harness.process_element(("a", 1), 9)
    assert harness.metrics().counters["right"] == 1


class MergingLists(Trigger[Any, Any]):
    """Keeps the numbers in trigger state of a chosen kind, and fires with the fourth."""

    def __init__(self, descriptor: Any) -> None:
        self._seen = descriptor

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        state = ctx.get_partitioned_state(self._seen)
        state.add(element[1])
        seen = state.get()
        count = len(seen) if isinstance(seen, list) else seen
        return TriggerResult.FIRE if count >= 4 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    on_processing_time = on_event_time

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self._seen)

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self._seen).clear()


@pytest.mark.parametrize(
    "descriptor",
    [
        ListStateDescriptor("seen", Types.INT()),
        ReducingStateDescriptor("seen", lambda one, other: one + other, Types.INT()),
    ],
    ids=["list", "reducing"],
)
def test_the_state_of_triggers_merges_with_the_windows(descriptor: Any) -> None:
    harness = windows(EventTimeSessionWindows(10), None, Sum(), trigger=MergingLists(descriptor))
    for time in (0, 5, 20):
        harness.process_element(("a", 1), time)
    assert harness.output_values() == []
    harness.process_element(("a", 1), 12)  # makes one session of the two
    assert harness.output_values() == [4]
    assert harness.state_entries() == 3  # the map of windows, the contents and the trigger's state


def test_state_that_cannot_merge_is_a_clear_error() -> None:
    class Wrong(MergingLists):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
            ctx.get_partitioned_state(self._seen).put("x", 1)
            return TriggerResult.CONTINUE

    harness = windows(EventTimeSessionWindows(10), None, Sum(), trigger=Wrong(MapStateDescriptor("seen")))
    harness.process_element(("a", 1), 0)
    with pytest.raises(OperatorFailure, match="cannot be merged"):
        harness.process_element(("a", 1), 5)


def test_the_count_trigger_adds_up_the_counts_of_sessions_that_merge() -> None:
    harness = windows(EventTimeSessionWindows(10), None, Sum(), trigger=CountTrigger(3))
    for time in (0, 15, 8):
        harness.process_element(("a", 1), time)
    assert harness.output_values() == [3]


def test_the_continuous_trigger_goes_on_in_the_merged_session() -> None:
    trigger = ContinuousEventTimeTrigger(10)
    harness = windows(EventTimeSessionWindows(30), None, Sum(), trigger=trigger)
    harness.process_element(("a", 1), 3)
    harness.process_element(("a", 2), 12)
    harness.process_watermark(10)
    assert harness.output_values() == [3]
    harness.process_watermark(100)
    assert harness.output_values()[-1] == 3
    assert harness.timers() == 0
    assert harness.state_entries() == 0


# ---- count windows -------------------------------------------------------------------------------------------------


@pytest.mark.feature("WI-08")
def test_count_windows_fire_when_full_and_the_records_that_are_left_are_counted() -> None:
    harness = windows(GlobalWindows(), None, Sum(), trigger=PurgingTrigger(CountTrigger(100)))
    harness.process_elements([(("a", 1), number) for number in range(250)])
    harness.end_input()
    assert harness.output_values() == [100, 100]
    assert harness.metrics().counters["numRecordsLeftInCountWindows"] == 50


@pytest.mark.feature("WI-08")
def test_sliding_count_windows_fire_every_slide_for_the_last_records() -> None:
    harness = windows(GlobalWindows(), Numbers(), trigger=CountTrigger(2), evictor=CountEvictor(4))
    harness.process_elements([(("a", number), number) for number in range(7)])
    assert harness.output_values() == [[0, 1], [0, 1, 2, 3], [2, 3, 4, 5]]


@pytest.mark.feature("WI-08")
def test_the_count_assigners_fire_full_windows_only() -> None:
    for assigner, expected in (
        (CountTumblingWindowAssigner(3), [[0, 1, 2], [3, 4, 5]]),
        (CountSlidingWindowAssigner(3, 2), [[0, 1, 2], [2, 3, 4]]),
    ):
        harness = windows(assigner, Numbers())
        harness.process_elements([(("a", number), number) for number in range(6)])
        assert harness.output_values() == expected


def test_windows_of_processing_time_with_a_count_trigger_end_with_their_time() -> None:
    harness = windows(TumblingProcessingTimeWindows(10), None, Sum(), trigger=CountTrigger(2))
    harness.process_elements([(("a", 1), None), (("a", 2), None), (("a", 3), None)])
    harness.set_processing_time(10)
    assert harness.output_values() == [3]
    assert harness.state_entries() == 0
