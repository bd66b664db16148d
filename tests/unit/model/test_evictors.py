from __future__ import annotations

import pytest

from firesteel.common.time import Time
from firesteel.errors import ConfigurationError
from firesteel.model.evictors import CountEvictor, DeltaEvictor, TimeEvictor, TimestampedValue
from firesteel.model.windows import GlobalWindow
from tests.unit.model.fakes import FakeEvictorContext


def left_after(evictor, elements, *, after=False):
    kept = [TimestampedValue(*element) for element in elements]
    evict = evictor.evict_after if after else evictor.evict_before
    evict(kept, len(kept), GlobalWindow.get(), FakeEvictorContext())
    return [element.get_value() for element in kept]


RECORDS = [("a", 1000), ("b", 9000), ("c", 4000), ("d", 4001)]


def test_timestamped_values_know_whether_they_have_a_timestamp():
    assert TimestampedValue("a", 0).has_timestamp()
    assert TimestampedValue("a", 7).get_timestamp() == 7
    assert not TimestampedValue("a").has_timestamp()


@pytest.mark.parametrize(("count", "left"), [(0, ""), (2, "cd"), (4, "abcd"), (9, "abcd")])
def test_count_evictor_keeps_the_last(count, left):
    assert left_after(CountEvictor.of(count), RECORDS) == list(left)


def test_time_evictor_keeps_what_is_less_than_its_size_older_than_the_newest():
    assert left_after(TimeEvictor.of(Time.seconds(5)), RECORDS) == ["b", "d"]


def test_time_evictor_leaves_records_without_timestamps_alone():
    assert left_after(TimeEvictor.of(5), [("a",), ("b",)]) == ["a", "b"]


def test_delta_evictor_keeps_what_is_close_to_the_last():
    records = [(value,) for value in (1.0, 4.0, 7.0, 4.5, 5.0)]
    assert left_after(DeltaEvictor.of(3.0, lambda each, last: abs(each - last)), records) == [4.0, 7.0, 4.5, 5.0]
    assert left_after(DeltaEvictor.of(2.0, lambda each, last: abs(each - last)), records) == [4.0, 4.5, 5.0]


@pytest.mark.parametrize("kind", [CountEvictor, TimeEvictor, DeltaEvictor])
def test_evictors_do_nothing_to_an_empty_window(kind):
    arguments = (1, lambda each, last: 0) if kind is DeltaEvictor else (1,)
    assert left_after(kind.of(*arguments), []) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (CountEvictor.of(1), CountEvictor.of(1, True)),
        (TimeEvictor.of(1), TimeEvictor.of(1, do_evict_after=True)),
        (DeltaEvictor.of(-1, lambda each, last: 0), DeltaEvictor.of(-1, lambda each, last: 0, True)),
    ],
)
def test_evictors_work_before_or_after_the_function_but_not_both(before, after):
    everything = ["a", "b", "c", "d"]
    assert left_after(before, RECORDS) != everything
    assert left_after(before, RECORDS, after=True) == everything
    assert left_after(after, RECORDS) == everything
    assert left_after(after, RECORDS, after=True) == left_after(before, RECORDS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CountEvictor.of(-1), "max_count"),
        (lambda: CountEvictor.of(2.5), "max_count"),
        (lambda: TimeEvictor.of(Time.seconds(-1)), "window_size"),
        (lambda: DeltaEvictor.of(1.0, None), "delta_function"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()
