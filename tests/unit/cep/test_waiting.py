"""Events that wait in memory come out in order of time, then as they came, whatever batches they came in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firesteel.cep.waiting import WaitingEvents

TIMES = st.integers(0, 9)


@given(st.lists(st.tuples(st.lists(TIMES, max_size=6), st.none() | TIMES), max_size=8))
def test_the_same_as_a_sorted_list(steps: list[tuple[list[int], int | None]]) -> None:
    waiting, model, arrival = WaitingEvents(), [], 0
    for batch, watermark in steps:
        numbers = list(range(arrival, arrival + len(batch)))
        arrival += len(batch)
        waiting.add(batch, numbers, numbers)
        model += zip(batch, numbers)
        if watermark is not None:
            due = sorted(event for event in model if event[0] <= watermark)
            model = [event for event in model if event[0] > watermark]
            times, values, keys = waiting.take(watermark)
            assert list(zip(times, values)) == due
            assert values == keys
        assert len(waiting) == len(model)
    assert sorted((time, value) for value, time, _ in waiting.take_all()) == sorted(model)
    assert len(waiting) == 0
