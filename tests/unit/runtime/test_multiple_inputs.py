"""Operators with more than two inputs: records, keys, watermarks, the end of inputs, state and BATCH mode."""

from __future__ import annotations

from functools import partial

import pytest

from firesteel.runtime.batch import RowBatch
from firesteel.runtime.failure import OperatorFailure
from firesteel.runtime.operator import MultipleInputOperator, Operator
from firesteel.state.backend import value_table
from firesteel.testing import MultipleInputOperatorHarness, TwoInputOperatorHarness


class Labelled(MultipleInputOperator):
    """Writes the number of its input on each record, and says which inputs have ended."""

    def process_input(self, input_index: int, batch: RowBatch) -> None:
        self.cursor = cursor = iter(batch.values)
        self.output.emit(RowBatch([(input_index, 1 // value) for value in cursor], batch.timestamps))

    def end_input(self, input_index: int) -> None:
        self.output.emit(RowBatch([f"end of {input_index}"]))


class CountPerKey(MultipleInputOperator):
    """Counts the records of a key over all inputs."""

    def open(self) -> None:
        assert self.context.keyed_state is not None
        self._counts = value_table(self.context.keyed_state, "counts")

    def process_input(self, input_index: int, batch: RowBatch) -> None:
        assert batch.keys is not None
        counts, results = self._counts.batch_entries, []
        for key in batch.keys:
            counts[key] = counts.get(key, 0) + 1
            results.append((input_index, key, counts[key]))
        self._counts.dirty.update(batch.keys)
        self.output.emit(RowBatch(results, batch.timestamps))


counting = partial(MultipleInputOperatorHarness, CountPerKey, 3, [str.lower, str.lower, str.lower])


def test_records_of_every_input_come_with_its_number() -> None:
    with MultipleInputOperatorHarness(Labelled, 4) as harness:
        for index in (3, 0, 2, 1):
            harness.process_element(index, 1, timestamp=index)
        assert harness.output_records() == [((3, 1), 3), ((0, 1), 0), ((2, 1), 2), ((1, 1), 1)]


def test_event_time_is_that_of_the_slowest_input() -> None:
    with MultipleInputOperatorHarness(Labelled, 3) as harness:
        harness.process_watermark(0, 10)
        harness.process_watermark(1, 20)
        assert harness.output_watermarks() == []
        harness.process_watermark(2, 5)
        assert harness.output_watermarks() == [5]


def test_the_operator_is_told_the_end_of_each_input() -> None:
    with MultipleInputOperatorHarness(Labelled, 3) as harness:
        harness.end_input()
        assert harness.output_values() == ["end of 0", "end of 1", "end of 2"]


def test_a_failure_names_the_record_of_whichever_input() -> None:
    with MultipleInputOperatorHarness(Labelled, 3) as harness, pytest.raises(OperatorFailure) as failed:
        harness.process_elements(2, [(1, None), (0, None), (2, None)])
    assert failed.value.record == "0"


def test_all_inputs_share_the_state_of_a_key_across_a_snapshot() -> None:
    with counting() as harness:
        harness.process_element(0, "a")
        harness.process_element(2, "A")
        stored = harness.snapshot()
    with counting().restore(stored) as harness:
        harness.process_element(1, "a")
        harness.process_element(1, "b")
        assert harness.output_values() == [(1, "a", 3), (1, "b", 1)]


def test_in_batch_mode_every_input_is_sorted_by_key() -> None:
    with counting(batch_mode=True) as harness:
        for index, value in [(0, "b"), (1, "a"), (2, "b"), (2, "a"), (1, "c")]:
            harness.process_element(index, value, timestamp=index)
        assert harness.output_values() == []
        harness.end_input()
        assert harness.output_values() == [(1, "a", 1), (2, "a", 2), (0, "b", 1), (2, "b", 2), (1, "c", 1)]


def test_an_operator_of_one_input_refuses_a_second_one() -> None:
    class OneInput(Operator):
        def process(self, batch: RowBatch) -> None: ...

    with pytest.raises(TypeError, match="OneInput has no input 2"):
        OneInput().receiver(2)
    harness = TwoInputOperatorHarness(OneInput)
    with pytest.raises(OperatorFailure, match="OneInput has one input only"):
        harness.process_element2(1)
