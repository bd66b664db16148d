"""Interval joins equal a direct computation, for any order of input and any restart."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common.time import MIN_WATERMARK
from firesteel.runtime.interval_join import IntervalJoinOperator, JoinBounds
from firesteel.testing.harness import KeyedTwoInputOperatorHarness
from tests.contract.test_interval_join import LEFT_LATE, RIGHT_LATE, Pair

records = st.tuples(st.sampled_from([0, 1]), st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), max_size=5))
watermarks = st.integers(1, 8)
restarts = st.sampled_from(["full", "incremental"])
histories = st.lists(st.one_of(records, records, watermarks, restarts), max_size=15)


@pytest.mark.feature("DS-13")
@given(history=histories, lower=st.integers(-6, 6), width=st.integers(0, 8))
def test_an_interval_join_equals_a_direct_computation(history: list[Any], lower: int, width: int) -> None:
    upper = lower + width
    factory = partial(IntervalJoinOperator, Pair(), JoinBounds(lower, upper, LEFT_LATE, RIGHT_LATE))

    def make() -> KeyedTwoInputOperatorHarness:
        return KeyedTwoInputOperatorHarness(factory, lambda value: value[0], lambda value: value[0])

    harness, stored, watermark, number = make(), list[bytes](), MIN_WATERMARK, 0
    sides: tuple[list[Any], list[Any]] = ([], [])
    results: list[Any] = []
    late = 0
    for step in history:
        if isinstance(step, int):
            watermark = max(watermark, -1) + step
            harness.process_both_watermarks(watermark)
        elif isinstance(step, str):
            stored = [*stored, harness.snapshot(False)] if step == "incremental" else [harness.snapshot()]
            results += harness.output_values()
            late += len(harness.side_output(LEFT_LATE)) + len(harness.side_output(RIGHT_LATE))
            harness = make().restore(*stored)
        else:
            side, batch = step
            elements = [((key, number + index), time) for index, (key, time) in enumerate(batch)]
            number += len(elements)
            sides[side].extend(element for element in elements if element[1] >= watermark)
            (harness.process_elements1 if side == 0 else harness.process_elements2)(elements)
    results += harness.output_values()
    late += len(harness.side_output(LEFT_LATE)) + len(harness.side_output(RIGHT_LATE))
    expected = [
        (left[1], right[1])
        for left, left_time in sides[0]
        for right, right_time in sides[1]
        if left[0] == right[0] and left_time + lower <= right_time <= left_time + upper
    ]
    assert Counter(results) == Counter(expected)
    assert late == number - len(sides[0]) - len(sides[1])
