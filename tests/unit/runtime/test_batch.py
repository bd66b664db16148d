"""Batches of records: what every format can do."""

from __future__ import annotations

from firesteel.runtime.batch import RowBatch


def test_a_slice_has_the_timestamps_and_keys_of_its_records() -> None:
    part = RowBatch(["a", "b", "c"], [1, 2, 3], ["x", "y", "z"]).slice(1, 3)
    assert (part.values, part.timestamps, part.keys) == (["b", "c"], [2, 3], ["y", "z"])


def test_records_are_taken_in_the_order_that_was_asked_for() -> None:
    taken = RowBatch(["a", "b", "c"], [1, 2, 3], ["x", "y", "z"]).take([2, 0])
    assert (taken.values, taken.timestamps, taken.keys) == (["c", "a"], [3, 1], ["z", "x"])


def test_what_a_batch_does_not_have_its_parts_do_not_have() -> None:
    batch = RowBatch([1, 2, 3])
    assert batch.slice(0, 2).timestamps is None and batch.take([1]).keys is None
    assert batch.rows() is batch
