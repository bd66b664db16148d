"""The contract of evictors: before and after the function, and what stays for the next firing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.model.assigners import EventTimeSessionWindows, GlobalWindows, TumblingEventTimeWindows
from firesteel.model.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor
from firesteel.model.functions import ProcessWindowFunction
from firesteel.model.triggers import CountTrigger
from tests.contract.windows import AddUp, Numbers, Sum, windows


def fired(evictor: Evictor[Any, Any], *elements: tuple[int, int], every: int = 1, fold: Any = None) -> list[Any]:
    """What is evaluated when the global window of one key fires every so many records: (number, timestamp)."""
    function = None if fold else Numbers()
    harness = windows(GlobalWindows(), function, fold, trigger=CountTrigger(every), evictor=evictor)
    harness.process_elements([(("a", number), timestamp) for number, timestamp in elements])
    return harness.output_values()


NUMBERS = [(1, 0), (2, 1000), (3, 2000), (4, 9000)]


@pytest.mark.feature("WI-13")
def test_the_count_evictor_leaves_the_last_records() -> None:
    assert fired(CountEvictor(2), *NUMBERS, every=4) == [[3, 4]]


@pytest.mark.feature("WI-13")
def test_the_count_evictor_leaves_a_window_with_fewer_records_alone() -> None:
    assert fired(CountEvictor(9), *NUMBERS, every=4) == [[1, 2, 3, 4]]


@pytest.mark.feature("WI-13")
def test_the_time_evictor_leaves_the_newest_records_by_time() -> None:
    assert fired(TimeEvictor.of(5000), *NUMBERS, every=3) == [[1, 2, 3]]
    assert fired(TimeEvictor.of(5000), *NUMBERS, every=4) == [[4]]


@pytest.mark.feature("WI-13")
def test_the_delta_evictor_leaves_records_near_the_last_one() -> None:
    evictor = DeltaEvictor.of(3.0, lambda record, last: float(last[1] - record[1]))
    assert fired(evictor, (1, 0), (2, 0), (3, 0), (5, 0), every=4) == [[3, 5]]


@pytest.mark.feature("WI-13")
def test_what_is_evicted_before_the_function_is_gone_for_the_next_firing_too() -> None:
    assert fired(CountEvictor(2), *NUMBERS, every=2) == [[1, 2], [3, 4]]
    assert fired(CountEvictor(1), *NUMBERS, every=2) == [[2], [4]]


@pytest.mark.feature("WI-13")
def test_what_is_evicted_after_the_function_is_seen_once() -> None:
    assert fired(CountEvictor(1, do_evict_after=True), *NUMBERS, every=2) == [[1, 2], [2, 3, 4]]


@pytest.mark.feature("WI-13")
def test_evicted_records_leave_the_state() -> None:
    harness = windows(GlobalWindows(), Numbers(), trigger=CountTrigger(2), evictor=CountEvictor(0))
    harness.process_elements([(("a", number), 0) for number in range(2)])
    assert harness.output_values() == [[]]
    assert harness.state_entries() == 0


@pytest.mark.feature("WI-13")
@pytest.mark.parametrize(("fold", "expected"), [(Sum(), [7]), (AddUp(), [("a", 7)])], ids=["aggregate", "reduce"])
def test_reduce_and_aggregate_are_computed_over_what_the_evictor_has_left(fold: Any, expected: list[Any]) -> None:
    assert fired(CountEvictor(2), *NUMBERS, every=4, fold=fold) == expected


def test_an_aggregate_over_nothing_is_the_empty_one_and_reduce_gives_nothing() -> None:
    assert fired(CountEvictor(0), *NUMBERS, every=4, fold=Sum()) == [0]
    assert fired(CountEvictor(0), *NUMBERS, every=4, fold=AddUp()) == []


class EvenOnly(Evictor[Any, Any]):
    """Lets the function see only even numbers, and keeps only large ones; notes what it was told."""

    def evict_before(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        evictor_context.get_metric_group().counter("before").inc(size)
        elements[:] = [element for element in elements if element.get_value()[1] % 2 == 0]

    def evict_after(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        evictor_context.get_metric_group().counter("after").inc(size)
        clocks = evictor_context.get_current_watermark(), evictor_context.get_current_processing_time()
        evictor_context.get_metric_group().counter("clocks").inc(clocks == (5, 50))
        elements[:] = [element for element in elements if element.get_timestamp() > 1000]


@pytest.mark.feature("WI-13")
def test_an_evictor_of_the_users_own_sees_values_timestamps_and_clocks() -> None:
    harness = windows(GlobalWindows(), Numbers(), trigger=CountTrigger(2), evictor=EvenOnly(), now=50)
    harness.process_watermark(5)
    harness.process_elements([(("a", number), timestamp) for number, timestamp in NUMBERS])
    assert harness.output_values() == [[2], [4]]
    assert harness.metrics().counters == {"numLateRecordsDropped": 0, "before": 4, "after": 2, "clocks": 2}


def test_evictors_work_in_time_windows_and_in_sessions() -> None:
    for assigner in (TumblingEventTimeWindows(100), EventTimeSessionWindows(50)):
        harness = windows(assigner, Numbers(), evictor=CountEvictor(2))
        harness.process_elements([(("a", number), number * 10) for number in range(4)])
        harness.process_watermark(1000)
        assert harness.output_values() == [[2, 3]]
        assert harness.state_entries() == 0


class Changing(ProcessWindowFunction):
    """Changes the list it is given, which must not matter."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield len(elements)
        elements.clear()


def test_a_function_may_do_as_it_likes_with_the_elements_it_is_given() -> None:
    for evictor in (None, CountEvictor(9)):
        harness = windows(GlobalWindows(), Changing(), trigger=CountTrigger(2), evictor=evictor)
        harness.process_elements([(("a", number), 0) for number in range(4)])
        assert harness.output_values() == [2, 4]
