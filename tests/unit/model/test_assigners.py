from __future__ import annotations

import pickle
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common.time import MIN_WATERMARK, Duration, Time
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.model.assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from firesteel.model.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from firesteel.model.windows import CountWindow, GlobalWindow, TimeWindow
from tests.unit.model.fakes import FakeAssignerContext
from tests.unit.model.test_windows import Merges

HOUR = 3_600_000
MINUTE = 60_000
times = st.integers(-(10**6), 10**6)


def windows_of(assigner, timestamp=None, now=0, element=None):
    return list(assigner.assign_windows(element, timestamp, FakeAssignerContext(now)))


@given(st.lists(times, min_size=1), st.integers(1, 1000), st.data())
def test_a_timestamp_lies_in_exactly_one_tumbling_window(stamps, size, data):
    offset = data.draw(st.integers(-size + 1, size - 1))
    assigner = TumblingEventTimeWindows(size, offset)
    for stamp in stamps:
        (window,) = windows_of(assigner, stamp)
        assert window.start <= stamp < window.end
        assert window.end - window.start == size
        assert (window.start - offset) % size == 0


@given(st.lists(times, min_size=1), st.integers(1, 300), st.integers(1, 300), st.data())
def test_sliding_windows_are_all_those_that_contain_the_timestamp(stamps, size, slide, data):
    offset = data.draw(st.integers(-slide + 1, slide - 1))
    assigner = SlidingEventTimeWindows(size, slide, offset)
    for stamp in stamps:
        first = (stamp - size - offset) // slide
        candidates = [offset + number * slide for number in range(first - 1, first + size // slide + 4)]
        expected = {TimeWindow(start, start + size) for start in candidates if start <= stamp < start + size}
        assigned = windows_of(assigner, stamp)
        assert set(assigned) == expected
        assert len(assigned) == len(expected)


@given(times, st.integers(1, 50), st.integers(1, 20))
def test_a_record_is_in_size_over_slide_windows(stamp, slide, factor):
    assert len(windows_of(SlidingEventTimeWindows(slide * factor, slide), stamp)) == factor


@pytest.mark.feature("WI-23")
def test_a_day_sliding_by_a_quarter_of_an_hour_copies_a_record_into_96_windows():
    windows = windows_of(SlidingEventTimeWindows.of(Time.hours(24), Time.minutes(15)), 1_700_000_000_123)
    assert len(windows) == 96
    assert len(set(windows)) == 96


def test_sliding_windows_come_newest_first():
    assert [window.start for window in windows_of(SlidingEventTimeWindows(60, 10), 65)] == [60, 50, 40, 30, 20, 10]


def test_windows_align_to_the_clock_and_offset_moves_them():
    five_past_twelve = 12 * HOUR + 5 * MINUTE
    plain = TumblingProcessingTimeWindows.of(Time.hours(1))
    shifted = TumblingProcessingTimeWindows.of(Time.hours(1), Time.minutes(15))
    assert windows_of(plain, now=five_past_twelve) == [TimeWindow(12 * HOUR, 13 * HOUR)]
    assert windows_of(shifted, now=five_past_twelve)[0].end == 12 * HOUR + 15 * MINUTE
    assert windows_of(shifted, now=12 * HOUR + 20 * MINUTE)[0].end == 13 * HOUR + 15 * MINUTE


def test_processing_time_windows_use_the_clock_and_not_the_timestamp():
    assert windows_of(TumblingProcessingTimeWindows(10), 999, now=25) == [TimeWindow(20, 30)]
    assert windows_of(SlidingProcessingTimeWindows(20, 10), 999, now=25) == [TimeWindow(20, 40), TimeWindow(10, 30)]
    assert windows_of(ProcessingTimeSessionWindows(7), 999, now=25) == [TimeWindow(25, 32)]


@pytest.mark.parametrize("length", [Time.seconds(2), Duration.of_seconds(2), timedelta(seconds=2), 2000])
def test_sizes_may_be_given_as_any_length_of_time(length):
    assert windows_of(TumblingEventTimeWindows.of(length), 1) == [TimeWindow(0, 2000)]


@pytest.mark.parametrize("missing", [None, MIN_WATERMARK])
@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows(10), SlidingEventTimeWindows(10, 5), EventTimeSessionWindows(10)]
)
def test_event_time_windows_need_timestamps(assigner, missing):
    with pytest.raises(ProgramError, match="assign_timestamps_and_watermarks"):
        windows_of(assigner, missing)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TumblingEventTimeWindows.of(Time.seconds(0)), "size"),
        (lambda: TumblingEventTimeWindows.of(Time.seconds(1), Time.seconds(1)), "offset"),
        (lambda: TumblingProcessingTimeWindows.of(Time.seconds(1), Time.seconds(-1)), "offset"),
        (lambda: TumblingEventTimeWindows.of(1, 0, "RANDOM"), "window_stagger"),
        (lambda: TumblingEventTimeWindows.of("1 s"), "length of time"),
        (lambda: SlidingEventTimeWindows.of(Time.seconds(-5), Time.seconds(1)), "size"),
        (lambda: SlidingEventTimeWindows.of(Time.seconds(5), Time.seconds(0)), "slide"),
        (lambda: SlidingProcessingTimeWindows.of(Time.seconds(5), Time.seconds(1), Time.seconds(1)), "offset"),
        (lambda: EventTimeSessionWindows.with_gap(Time.seconds(0)), "session_gap"),
        (lambda: ProcessingTimeSessionWindows.with_gap(Time.seconds(-1)), "session_gap"),
        (lambda: EventTimeSessionWindows.with_dynamic_gap(5), "gap extractor"),
        (lambda: CountTumblingWindowAssigner.of(0), "window_size"),
        (lambda: CountSlidingWindowAssigner.of(1, 0), "window_slide"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_sessions_start_at_the_record_and_end_after_the_gap():
    assigner = EventTimeSessionWindows.with_gap(Time.minutes(30))
    clicks = [windows_of(assigner, minute * MINUTE)[0] for minute in (0, 10, 50)]
    merges = Merges()
    assigner.merge_windows(clicks, merges)
    assert list(merges.groups) == [TimeWindow(0, 40 * MINUTE)]
    assert clicks[2] == TimeWindow(50 * MINUTE, 80 * MINUTE)


class GapOfElement(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element


@pytest.mark.parametrize("extractor", [GapOfElement(), lambda element: element, lambda e: Time.milliseconds(e)])
def test_dynamic_gaps_come_from_the_record(extractor):
    event_time = EventTimeSessionWindows.with_dynamic_gap(extractor)
    processing_time = ProcessingTimeSessionWindows.with_dynamic_gap(extractor)
    assert isinstance(event_time, DynamicEventTimeSessionWindows)
    assert isinstance(processing_time, DynamicProcessingTimeSessionWindows)
    assert windows_of(event_time, 100, element=7) == [TimeWindow(100, 107)]
    assert windows_of(processing_time, 100, now=5, element=7) == [TimeWindow(5, 12)]
    with pytest.raises(ProgramError, match="must be positive, got 0 ms"):
        windows_of(event_time, 100, element=0)


@pytest.mark.parametrize(
    ("assigner", "event_time", "trigger"),
    [
        (TumblingEventTimeWindows(10), True, EventTimeTrigger),
        (SlidingEventTimeWindows(10, 5), True, EventTimeTrigger),
        (EventTimeSessionWindows(10), True, EventTimeTrigger),
        (DynamicEventTimeSessionWindows(len), True, EventTimeTrigger),
        (TumblingProcessingTimeWindows(10), False, ProcessingTimeTrigger),
        (SlidingProcessingTimeWindows(10, 5), False, ProcessingTimeTrigger),
        (ProcessingTimeSessionWindows(10), False, ProcessingTimeTrigger),
        (DynamicProcessingTimeSessionWindows(len), False, ProcessingTimeTrigger),
        (GlobalWindows.create(), False, NeverTrigger),
        (GlobalWindows.create_with_end_of_stream_trigger(), False, EndOfStreamTrigger),
        (CountTumblingWindowAssigner(3), False, PurgingTrigger),
        (CountSlidingWindowAssigner(3, 1), False, PurgingTrigger),
    ],
)
def test_time_domain_default_trigger_and_serializer(assigner, event_time, trigger):
    assert assigner.is_event_time() is event_time
    assert type(assigner.get_default_trigger()) is trigger
    context = FakeAssignerContext()
    (window, *_) = assigner.assign_windows("abc", 5, context)
    serializer = assigner.get_window_serializer()
    assert serializer.from_bytes(serializer.to_bytes(window)) == window
    copy = pickle.loads(pickle.dumps(assigner))
    assert next(iter(copy.assign_windows("abc", 5, FakeAssignerContext()))) == window


def test_global_windows_put_everything_into_one_window():
    assert windows_of(GlobalWindows.create(), None) == [GlobalWindow.get()]


def test_count_tumbling_windows_number_the_records_of_a_key():
    assigner, context = CountTumblingWindowAssigner.of(3), FakeAssignerContext()
    assigned = [list(assigner.assign_windows(None, None, context)) for _ in range(7)]
    assert assigned == [[CountWindow(number // 3)] for number in range(7)]
    assert isinstance(assigner.get_default_trigger().nested_trigger, CountTrigger)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 40))
def test_count_sliding_windows_hold_size_records_each_slide(size, slide, count):
    assigner, context = CountSlidingWindowAssigner.of(size, slide), FakeAssignerContext()
    for number in range(count):
        expected = [each for each in range(number + 1) if each * slide <= number < each * slide + size]
        assert sorted(window.id for window in assigner.assign_windows(None, None, context)) == expected


def test_aligned_windows_are_the_same_in_all_subtasks():
    assert WindowStagger.ALIGNED.get_stagger_offset(1234, 100, "seed") == 0


def test_random_stagger_shifts_subtasks_apart_and_is_the_same_after_a_restart():
    def start(subtask):
        assigner = TumblingEventTimeWindows.of(Time.hours(1), window_stagger=WindowStagger.RANDOM)
        (window,) = assigner.assign_windows(None, HOUR, FakeAssignerContext(subtask=subtask))
        assert window.end - window.start == HOUR
        assert window.start <= HOUR < window.end
        return window.start

    assert start("Window (1/2)") == start("Window (1/2)")
    assert start("Window (1/2)") != start("Window (2/2)")


def test_natural_stagger_starts_windows_when_the_first_record_comes():
    assigner = TumblingProcessingTimeWindows.of(100, 0, WindowStagger.NATURAL)
    context = FakeAssignerContext(now=1234)
    assert list(assigner.assign_windows(None, None, context)) == [TimeWindow(1234, 1334)]
    context.now = 1350
    assert list(assigner.assign_windows(None, None, context)) == [TimeWindow(1334, 1434)]
