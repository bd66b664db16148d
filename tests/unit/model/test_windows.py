from __future__ import annotations

import io
import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common.time import MAX_WATERMARK
from firesteel.errors import StateError
from firesteel.model.assigners import MergingWindowAssigner
from firesteel.model.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
    Window,
)

timestamps = st.integers(-(10**13), 10**13)
sizes = st.integers(1, 10**9)
intervals = st.tuples(st.integers(-50, 50), st.integers(1, 10)).map(lambda each: TimeWindow(each[0], sum(each)))


class Merges(MergingWindowAssigner.MergeCallback):
    def __init__(self):
        self.groups = {}

    def merge(self, to_be_merged, merge_result):
        self.groups[merge_result] = list(to_be_merged)


def merges_of(windows):
    merges = Merges()
    TimeWindow.merge_windows(windows, merges)
    return merges.groups


def test_time_window_has_start_end_and_max_timestamp():
    window = TimeWindow(5, 15)
    assert (window.start, window.end, window.max_timestamp()) == (5, 15, 14)
    assert isinstance(window, Window)
    assert repr(window) == "TimeWindow(start=5, end=15)"


def test_time_windows_order_by_start_then_end():
    windows = [TimeWindow(3, 9), TimeWindow(0, 9), TimeWindow(0, 4)]
    assert sorted(windows) == [TimeWindow(0, 4), TimeWindow(0, 9), TimeWindow(3, 9)]


@pytest.mark.parametrize("window", [TimeWindow(-5, 5), CountWindow(7), GlobalWindow.get()])
def test_windows_survive_pickling_and_hash_by_value(window):
    copy = pickle.loads(pickle.dumps(window))
    assert type(copy) is type(window)
    assert copy == window
    assert {window: 1}[copy] == 1


def test_windows_cannot_be_changed():
    with pytest.raises(AttributeError):
        TimeWindow(0, 1).start = 3


def test_global_window_is_one_object_that_never_ends():
    assert GlobalWindow() is GlobalWindow.get()
    assert pickle.loads(pickle.dumps(GlobalWindow())) is GlobalWindow.get()
    assert GlobalWindow().max_timestamp() == MAX_WATERMARK
    assert CountWindow(3).max_timestamp() == MAX_WATERMARK


@given(timestamps, sizes, st.data())
def test_window_start_contains_the_timestamp_and_is_aligned(timestamp, size, data):
    offset = data.draw(st.integers(-size + 1, size - 1))
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


@pytest.mark.parametrize(
    ("timestamp", "offset", "start"), [(0, 0, 0), (9, 0, 0), (10, 0, 10), (-1, 0, -10), (-10, 0, -10), (1, 3, -7)]
)
def test_window_start_by_hand(timestamp, offset, start):
    assert TimeWindow.get_window_start_with_offset(timestamp, offset, 10) == start


def test_windows_that_touch_intersect():
    assert TimeWindow(0, 10).intersects(TimeWindow(10, 20))
    assert not TimeWindow(0, 10).intersects(TimeWindow(11, 20))


def test_cover_contains_both():
    assert TimeWindow(0, 10).cover(TimeWindow(30, 40)) == TimeWindow(0, 40)


def test_overlapping_windows_merge_and_lone_windows_are_not_reported():
    groups = merges_of([TimeWindow(20, 30), TimeWindow(0, 5), TimeWindow(3, 8), TimeWindow(8, 9)])
    assert groups == {TimeWindow(0, 9): [TimeWindow(0, 5), TimeWindow(3, 8), TimeWindow(8, 9)]}


def test_equal_windows_are_not_a_merge():
    assert merges_of([TimeWindow(0, 5), TimeWindow(0, 5)]) == {}


@given(st.lists(intervals))
def test_merged_windows_are_apart_and_cover_their_parts(windows):
    groups = merges_of(windows)
    merged = {part for parts in groups.values() for part in parts}
    left = sorted({*groups, *(window for window in windows if window not in merged)})
    assert merged <= set(windows)
    for window, parts in groups.items():
        assert window == TimeWindow(min(part.start for part in parts), max(part.end for part in parts))
    for earlier, later in itertools.pairwise(left):
        assert not earlier.intersects(later)


@pytest.mark.parametrize(
    ("serializer", "window", "size"),
    [
        (TimeWindowSerializer(), TimeWindow(-(2**63), 2**63 - 1), 16),
        (CountWindowSerializer(), CountWindow(2**40), 8),
        (GlobalWindowSerializer(), GlobalWindow.get(), 1),
    ],
)
def test_serializers_round_trip_and_find_the_next_window(serializer, window, size):
    stream = io.BytesIO()
    serializer.serialize(window, stream)
    serializer.serialize(window, stream)
    assert len(stream.getvalue()) == 2 * size
    stream.seek(0)
    assert [serializer.deserialize(stream), serializer.deserialize(stream)] == [window, window]
    with pytest.raises(StateError, match="bytes"):
        serializer.deserialize(stream)
