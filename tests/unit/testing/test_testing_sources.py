"""The source that follows a script, and the clock that is moved by hand."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Duration
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.execution.clock import SteadyClock, processing_clock
from firesteel.model.source import DriverReader
from firesteel.testing import (
    ACTIVE,
    CRASH,
    EPOCH_CUT,
    IDLE,
    InjectedFailure,
    ManualClock,
    ScriptedSource,
    element,
    processing_time,
    use_clock,
    watermark,
)


def reader_of(source: ScriptedSource, restored: Any = None, subtask: int = 0, parallelism: int = 1) -> DriverReader:
    reader = source.create_driver_reader(subtask, parallelism)
    reader.open(None, restored, lambda: None)  # type: ignore[arg-type]
    return reader


def epochs(reader: DriverReader, max_records: int = 100) -> list[list[tuple[Any, ...]]]:
    taken = []
    while not reader.is_finished():
        assert reader.has_data()
        taken.append(reader.take(max_records)[0].entries)
    assert not reader.has_data()
    return taken


def test_records_and_marks_come_in_the_order_of_the_script() -> None:
    script = [element("a", 1), element("b", 2), watermark(2), "c", IDLE, ACTIVE, element("d")]
    [events] = epochs(reader_of(ScriptedSource(script)))
    assert events == [
        ("records", ["a", "b"], [1, 2]),
        ("watermark", 2),
        ("records", ["c"], None),
        ("idle",),
        ("active",),
        ("records", ["d"], None),
    ]


def test_cuts_separate_epochs_also_from_the_end() -> None:
    assert epochs(reader_of(ScriptedSource([1, EPOCH_CUT, EPOCH_CUT, 2, EPOCH_CUT]))) == [
        [("records", [1], None)],
        [],
        [("records", [2], None)],
        [],
    ]


def test_no_more_records_are_taken_than_allowed() -> None:
    taken = epochs(reader_of(ScriptedSource([1, 2, 3])), max_records=2)
    assert taken == [[("records", [1, 2], None)], [("records", [3], None)]]


def test_a_crash_happens_once_and_the_reader_goes_on_from_where_it_is_told() -> None:
    source = ScriptedSource([1, CRASH, 2])
    reader = reader_of(source)
    events, place = reader.take(100)
    assert events.entries == [("records", [1], None)]
    with pytest.raises(InjectedFailure, match="step 1 of the script of subtask 0 says CRASH"):
        reader.take(100)
    assert epochs(reader_of(source, restored=[place])) == [[], [("records", [2], None)]]


def test_processing_time_ends_the_epoch_and_moves_the_clock() -> None:
    clock = ManualClock(5)
    reader = reader_of(ScriptedSource([1, processing_time(9), 2], clock=clock))
    assert reader.take(100)[0].entries == [("records", [1], None)]
    assert clock() == 9
    assert reader.take(100)[0].entries == [("records", [2], None)]


def test_subtasks_without_a_script_end_at_once() -> None:
    source = ScriptedSource([1], [2])
    assert epochs(reader_of(source, subtask=1, parallelism=3)) == [[("records", [2], None)]]
    assert epochs(reader_of(source, subtask=2, parallelism=3)) == [[]]


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs a script"):
        ScriptedSource()
    with pytest.raises(ConfigurationError, match="needs a clock to move"):
        ScriptedSource([processing_time(1)])
    with pytest.raises(ProgramError, match=r"with 2 scripts runs with parallelism 1.*set_parallelism\(2\)"):
        ScriptedSource([1], [2]).create_driver_reader(0, 1)
    with pytest.raises(ConfigurationError, match="a whole number of milliseconds, got '5'"):
        watermark("5")  # type: ignore[arg-type]


def test_a_clock_moves_forward_only() -> None:
    clock = ManualClock(100)
    clock.move_to(50)
    assert clock() == 100
    clock.advance(Duration.of_seconds(1))
    assert clock() == 1100
    with pytest.raises(ConfigurationError, match="cannot be moved back"):
        clock.advance(-1)


def test_jobs_inside_the_block_get_the_clock_and_others_the_wall_clock() -> None:
    clock = ManualClock()
    with use_clock(clock):
        assert processing_clock() is clock
    assert isinstance(processing_clock(), SteadyClock)
