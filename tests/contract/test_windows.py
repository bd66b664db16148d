"""The contract of windows: what holds in both time domains, whichever operator and whichever kind of function."""

from __future__ import annotations

import pytest

from tests.contract.windows import Domain, EventTime, ProcessingTime, Way

MINUTE, HOUR = 60_000, 3_600_000


@pytest.mark.feature("WI-01", "WI-06")
def test_a_window_fires_when_time_reaches_its_last_millisecond_and_not_before(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.tumbling(10))
    domain.send(harness, 3, ("a", 1), ("a", 2))
    domain.advance(harness, 8)
    assert harness.output_records() == []
    domain.advance(harness, 9)
    assert harness.output_values() == [("a", 10, 3)]


@pytest.mark.feature("WI-06")
def test_a_window_fires_once(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.tumbling(10))
    domain.send(harness, 3, ("a", 1))
    for time in (9, 10, 19, 100):
        domain.advance(harness, time)
    assert harness.output_values() == [("a", 10, 1)]


@pytest.mark.feature("WI-25")
def test_results_carry_the_largest_timestamp_of_the_window(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.tumbling(10))
    domain.send(harness, 13, ("a", 1))
    domain.advance(harness, 50)
    assert [record.timestamp for record in harness.output_records()] == [19]


def test_each_key_has_windows_of_its_own(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.tumbling(10))
    domain.send(harness, 3, ("a", 1), ("b", 10), ("a", 2))
    domain.advance(harness, 9)
    assert sorted(harness.output_values()) == [("a", 10, 3), ("b", 10, 10)]


@pytest.mark.feature("WI-26")
def test_windows_without_records_give_nothing(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.tumbling(MINUTE))
    domain.send(harness, 5, ("a", 1))
    domain.send(harness, 10 * MINUTE, ("a", 2))
    domain.advance(harness, 20 * MINUTE)
    assert harness.output_values() == [("a", MINUTE, 1), ("a", 11 * MINUTE, 2)]


@pytest.mark.feature("WI-24")
@pytest.mark.parametrize(
    ("start", "offset", "first_end"),
    [
        (12 * HOUR + 5 * MINUTE, 0, 13 * HOUR),
        (12 * HOUR + 5 * MINUTE, 15 * MINUTE, 12 * HOUR + 15 * MINUTE),
        (12 * HOUR + 20 * MINUTE, 15 * MINUTE, 13 * HOUR + 15 * MINUTE),
        (9 * HOUR + 15 * MINUTE, 0, 10 * HOUR),
        (9 * HOUR + 15 * MINUTE, -15 * MINUTE, 9 * HOUR + 45 * MINUTE),
    ],
)
def test_windows_are_aligned_to_the_epoch_and_moved_by_the_offset(
    domain: Domain, way: Way, start: int, offset: int, first_end: int
) -> None:
    harness = way.windows(domain.tumbling(HOUR, offset))
    domain.send(harness, start, ("a", 1))
    domain.advance(harness, first_end - 2)
    assert harness.output_values() == []
    domain.advance(harness, first_end - 1)
    assert harness.output_values() == [("a", first_end, 1)]


@pytest.mark.feature("WI-04")
def test_a_record_belongs_to_size_by_slide_sliding_windows(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.sliding(MINUTE, 10_000))
    domain.send(harness, 65_000, ("a", 7))
    domain.advance(harness, 10 * MINUTE)
    assert harness.output_values() == [("a", end * 10_000, 7) for end in range(7, 13)]


def test_sliding_windows_share_records_with_their_neighbours(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.sliding(10, 4))
    domain.send(harness, 0, ("a", 1))
    domain.send(harness, 4, ("a", 10))
    domain.send(harness, 8, ("a", 100))
    domain.advance(harness, 100)
    # windows end at 2, 6, 10, 14, 18 and begin 10 earlier
    expected = [("a", 2, 1), ("a", 6, 11), ("a", 10, 111), ("a", 14, 110), ("a", 18, 100)]
    assert harness.output_values() == expected


def test_sliding_windows_with_gaps_between_them_leave_records_out(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.sliding(5, 10))
    domain.send(harness, 4, ("a", 1))
    domain.send(harness, 7, ("a", 10))
    domain.send(harness, 12, ("a", 100))
    domain.advance(harness, 100)
    assert harness.output_values() == [("a", 5, 1), ("a", 15, 100)]


@pytest.mark.feature("WI-05")
def test_a_session_ends_when_no_record_has_come_for_the_gap(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.sessions(30))
    domain.send(harness, 0, ("a", 1))
    domain.send(harness, 10, ("a", 1))
    domain.send(harness, 50, ("a", 1))
    domain.advance(harness, 100)
    assert harness.output_values() == [("a", 40, 2), ("a", 80, 1)]


def test_time_that_jumps_fires_all_windows_in_order(domain: Domain, way: Way) -> None:
    harness = way.windows(domain.tumbling(10))
    for time in (1, 11, 21):
        domain.send(harness, time, ("a", time))
    domain.advance(harness, 10_000)
    assert harness.output_values() == [("a", 10, 1), ("a", 20, 11), ("a", 30, 21)]


@pytest.mark.parametrize("kind", ["tumbling", "sliding", "sessions"])
def test_nothing_is_left_behind_by_windows_that_are_over(domain: Domain, way: Way, kind: str) -> None:
    arguments = {"tumbling": (10,), "sliding": (10, 5), "sessions": (10,)}[kind]
    harness = way.windows(getattr(domain, kind)(*arguments))
    domain.send(harness, 3, ("a", 1), ("b", 1))
    domain.send(harness, 17, ("a", 1))
    assert harness.state_entries() > 0
    domain.advance(harness, 1000)
    assert harness.state_entries() == 0
    assert harness.timers() == 0
    assert harness.next_processing_timer() is None


@pytest.mark.parametrize("kind", ["tumbling", "sliding", "sessions"])
@pytest.mark.parametrize("full", [True, False], ids=["full", "incremental"])
def test_a_restored_operator_goes_on_where_the_other_stopped(domain: Domain, way: Way, kind: str, full: bool) -> None:
    arguments = {"tumbling": (10,), "sliding": (10, 5), "sessions": (10,)}[kind]
    assigner = getattr(domain, kind)(*arguments)
    whole, first, second = (way.windows(assigner) for _ in range(3))
    for harness in (whole, first):
        domain.send(harness, 1, ("a", 1), ("b", 2))
        domain.send(harness, 6, ("a", 4))
    second.restore(first.snapshot(full))
    domain.advance(second, 6)
    for harness in (whole, second):
        domain.send(harness, 7, ("a", 8))
        domain.advance(harness, 100)
    assert sorted(first.output_values() + second.output_values()) == sorted(whole.output_values())


@pytest.mark.parametrize("kind", ["tumbling", "sliding", "sessions"])
def test_a_rescaled_operator_has_each_window_once(domain: Domain, way: Way, kind: str) -> None:
    arguments = {"tumbling": (10,), "sliding": (10, 5), "sessions": (10,)}[kind]
    assigner = getattr(domain, kind)(*arguments)
    before = way.windows(assigner)
    values = [(f"key {number}", number) for number in range(20)]
    domain.send(before, 1, *values)
    stored = before.snapshot()
    domain.advance(before, 100)
    after = [
        way.windows(assigner, subtask_index=subtask, parallelism=3).restore(stored, rescaled=True)
        for subtask in range(3)
    ]
    for harness in after:
        domain.advance(harness, 100)
        assert 0 < len(harness.output_values()) < len(before.output_values())
    results = [result for harness in after for result in harness.output_values()]
    assert sorted(results) == sorted(before.output_values())


def test_the_operator_says_when_it_has_to_be_woken_up(way: Way) -> None:
    domain = ProcessingTime()
    for assigner, due in (
        (domain.tumbling(10), 10),
        (domain.sliding(10, 5), 5),
        (domain.sessions(10), 13),
    ):
        harness = way.windows(assigner)
        assert harness.next_processing_timer() is None
        domain.send(harness, 3, ("a", 1))
        assert harness.next_processing_timer() == due


def test_in_processing_time_records_of_the_last_millisecond_belong_to_the_window_that_ends(way: Way) -> None:
    domain = ProcessingTime()
    for assigner in (domain.tumbling(10), domain.sliding(10, 5)):
        harness = way.windows(assigner)
        domain.send(harness, 6, ("a", 1))
        domain.send(harness, 9, ("a", 10))
        harness.end_epoch()
        assert harness.output_values() == []
        domain.send(harness, 10)
        assert harness.output_values() == [("a", 10, 11)]


def test_what_is_stored_is_plain_data(domain: Domain, way: Way) -> None:
    """No class of ours is named in a snapshot, so classes can move without making snapshots unreadable."""
    for assigner in (domain.tumbling(10), domain.sliding(10, 5), domain.sessions(10)):
        harness = way.windows(assigner)
        domain.send(harness, 3, ("a", 1), ("b", 1))
        assert b"firesteel" not in harness.snapshot()


def test_windows_without_timestamps_in_event_time_are_a_clear_error(way: Way) -> None:
    domain = EventTime()
    for assigner in (domain.tumbling(10), domain.sliding(10, 5), domain.sessions(10)):
        with pytest.raises(Exception, match="assign_timestamps_and_watermarks"):
            way.windows(assigner).process_element(("a", 1))


def test_batches_of_any_size_give_the_same(domain: Domain, way: Way) -> None:
    one_by_one, at_once = way.windows(domain.tumbling(10)), way.windows(domain.tumbling(10))
    values = [("a", 1), ("b", 2), ("a", 3), ("c", 4)]
    for value in values:
        domain.send(one_by_one, 3, value)
    domain.send(at_once, 3, *values)
    for harness in (one_by_one, at_once):
        domain.advance(harness, 9)
    assert one_by_one.output_values() == at_once.output_values()
