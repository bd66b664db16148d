"""Watermark strategies at work: idleness, generators of all kinds, the interval at which they are asked."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from firesteel.common import Duration, Watermark, WatermarkStrategy
from firesteel.common.time import MIN_WATERMARK
from firesteel.common.watermark import BoundedOutOfOrdernessWatermarks
from firesteel.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from firesteel.runtime.failure import OperatorFailure
from firesteel.runtime.idleness import SilenceClock
from firesteel.runtime.input_gate import InputGate
from firesteel.runtime.watermarks import TimestampsAndWatermarksOperator
from firesteel.testing import OneInputOperatorHarness


def test_a_stream_is_idle_when_it_was_asked_in_vain_for_so_long() -> None:
    silence = SilenceClock(1000)
    silence.asked_in_vain(0, 0)
    silence.asked_in_vain(999, 10)
    assert not silence.idle and silence.due(999) == 1000
    silence.asked_in_vain(1000, 999)
    assert silence.idle and silence.due(1000) is None
    silence.heard()
    assert not silence.idle


def test_a_long_epoch_with_records_is_no_silence() -> None:
    silence = SilenceClock(1000)
    silence.heard()
    # The epoch with the records began at 0 and ended at 5000.
    silence.asked_in_vain(5000, 5000)
    assert not silence.idle and silence.due(5000) == 6000
    silence.asked_in_vain(6000, 5100)
    assert silence.idle


def test_the_clock_stands_still_while_nobody_asks() -> None:
    silence = SilenceClock(1000)
    silence.asked_in_vain(0, 0)
    silence.asked_in_vain(600, 0)
    silence.not_asked()
    silence.asked_in_vain(9000, 9000)
    assert not silence.idle and silence.due(9000) == 9400
    silence.asked_in_vain(9400, 9000)
    assert silence.idle


def assigning(strategy: WatermarkStrategy, **settings: Any) -> OneInputOperatorHarness:
    return OneInputOperatorHarness(partial(TimestampsAndWatermarksOperator, strategy), **settings)


def after_epochs(harness: OneInputOperatorHarness, *epochs: tuple[int, list[Any]]) -> list[int]:
    """The watermarks after epochs of (now, timestamps)."""
    for now, stamps in epochs:
        harness.set_processing_time(now)
        harness.process_elements([(stamp, stamp) for stamp in stamps])
        harness.end_epoch()
    return harness.output_watermarks()


MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()


def test_without_an_interval_watermarks_follow_every_batch() -> None:
    assert after_epochs(assigning(MONOTONOUS), (0, [5]), (1, [9])) == [4, 8]


def test_with_an_interval_they_come_no_more_often() -> None:
    harness = assigning(MONOTONOUS, auto_watermark_interval=1000)
    assert after_epochs(harness, (0, [5]), (999, [9])) == []
    assert harness.next_processing_timer() == 1000
    assert after_epochs(harness, (1000, [])) == [8]
    assert harness.next_processing_timer() is None
    assert after_epochs(harness, (1500, [20]), (2000, [30])) == [8, 29]


def test_an_interval_of_zero_asks_nobody() -> None:
    assert after_epochs(assigning(MONOTONOUS, auto_watermark_interval=0), (0, [5]), (9000, [9])) == []


class OnTheClock(WatermarkGenerator):
    """Counts how often it was asked, records or not."""

    def __init__(self) -> None:
        self.asked = 0

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        return None

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self.asked += 1
        output.emit_watermark(Watermark(self.asked))


def test_a_generator_may_speak_though_no_records_come() -> None:
    harness = assigning(WatermarkStrategy.for_generator(OnTheClock), auto_watermark_interval=100)
    assert after_epochs(harness, (0, []), (100, []), (150, []), (200, [])) == [1, 2]
    assert harness.next_processing_timer() == 300


class OnEveryRecord(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        assert timestamp == MIN_WATERMARK
        output.emit_watermark(Watermark(event))


def test_a_punctuated_generator_is_called_without_timestamps_too() -> None:
    harness = assigning(WatermarkStrategy.for_generator(OnEveryRecord), auto_watermark_interval=0)
    harness.process_elements([(3, None), (7, None)])
    assert [entry[0] for entry in harness.output()] == [3, 3, 7, 7]
    assert harness.output_records()[0].timestamp is None


class Impatient(BoundedOutOfOrdernessWatermarks):
    """One that comes with the package, with an opinion of its own."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(timestamp))


def test_a_subclass_of_a_generator_is_asked_for_every_record() -> None:
    strategy = WatermarkStrategy.for_generator(partial(Impatient, 1000))
    assert after_epochs(assigning(strategy), (0, [1, 2, 3])) == [1, 2, 3]


class Halves(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(timestamp / 2))  # type: ignore[arg-type]


def test_a_watermark_that_is_no_whole_number_is_refused_with_the_operators_name() -> None:
    with pytest.raises(OperatorFailure, match=r"(?s)milliseconds as int, got float: 2\.5.*operator under test"):
        after_epochs(assigning(WatermarkStrategy.for_generator(Halves)), (0, [5]))


def test_idleness_of_what_comes_in_is_not_passed_on() -> None:
    harness = assigning(MONOTONOUS.with_idleness(Duration.of_seconds(1)))
    harness.process_status(idle=True)
    assert not harness.operator.output.idle
    after_epochs(harness, (0, []), (1000, []))
    assert harness.operator.output.idle
    harness.process_element(5, 5)
    assert not harness.operator.output.idle


def test_a_stream_that_was_idle_still_is_after_a_restart_until_it_speaks() -> None:
    strategy = MONOTONOUS.with_idleness(Duration.of_seconds(1))
    harness = assigning(strategy)
    after_epochs(harness, (0, [5]), (0, []), (1000, []))
    again = assigning(strategy).restore(harness.snapshot()).open()
    assert again.operator.output.idle and again.operator.output.watermark == 4
    again.process_element(3, 3)
    assert not again.operator.output.idle and again.operator.watermark == 4


EDGES = {0: (0, "a", "", 0), 1: (0, "b", "late", 0)}


def united(names: dict[int, Any]) -> InputGate:
    return InputGate([[(edge, 0) for edge in names]], names)


def test_channels_are_stored_under_names_that_survive_edits() -> None:
    gate = united(EDGES)
    gate.advance((0, 0), 100)
    gate.advance((1, 0), 50)
    swapped = united({7: EDGES[1], 9: EDGES[0]})
    assert swapped.restore([gate.snapshot()], rescaled=False)
    assert swapped.watermark == 50
    assert swapped.advance((7, 0), 120) == 100


def test_with_a_new_input_event_time_begins_anew_and_waits_for_it() -> None:
    gate = united(EDGES)
    gate.advance((0, 0), 100)
    gate.advance((1, 0), 50)
    more = united({**EDGES, 2: (0, "c", "", 0)})
    assert not more.restore([gate.snapshot()], rescaled=False)
    assert more.watermark == MIN_WATERMARK
    assert more.advance((2, 0), 70) == 50


def test_with_an_input_less_event_time_goes_on() -> None:
    gate = united(EDGES)
    gate.advance((0, 0), 100)
    gate.advance((1, 0), 50)
    less = united({0: EDGES[0]})
    assert less.restore([gate.snapshot()], rescaled=False)
    assert less.watermark == 50
    assert less.advance((0, 0), 101) == 101
