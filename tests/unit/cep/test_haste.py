"""Events that change nothing are passed over quickly: that must show in nothing but speed."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from firesteel.cep import AfterMatchSkipStrategy, Pattern
from firesteel.cep.operator import CepOperator, CepSettings
from firesteel.cep.selecting import Selecting
from firesteel.common import Time
from firesteel.testing import KeyedOneInputOperatorHarness

Event = tuple[int, str, int]
"""(key, kind, time)"""


def kind(wanted: str) -> Any:
    return lambda event: event[1] == wanted


def patterns() -> list[Pattern]:
    begin = Pattern.begin("a").where(kind("a"))
    past_last = AfterMatchSkipStrategy.skip_past_last_event()
    return [
        begin.followed_by("b").where(kind("b")).within(Time.milliseconds(5)),
        begin.next("b").where(kind("b")).within(Time.milliseconds(5)),
        begin.followed_by_any("b").where(kind("b")).followed_by("c").where(kind("c")).within(Time.milliseconds(9)),
        begin.not_followed_by("b").where(kind("b")).followed_by("c").where(kind("c")),
        begin.followed_by("b").where(kind("b")).one_or_more().followed_by("c").where(kind("c")),
        Pattern.begin("a", past_last).where(kind("a")).times(2).followed_by("b").where(kind("b")),
    ]


def found(pattern: Pattern, rounds: list[list[Event]], settings: CepSettings) -> list[Any]:
    factory = partial(CepOperator, {"pattern": pattern}, Selecting(lambda match: dict(match)), settings)
    operator = KeyedOneInputOperatorHarness(factory, lambda event: event[0])
    time = 0
    for events in rounds:
        placed = [(event[0], event[1], time + event[2]) for event in events]
        operator.process_elements([(event, event[2]) for event in placed])
        time += 4
        operator.process_watermark(time - 1)
    operator.process_watermark(1000)
    values = operator.output_values()
    operator.close()
    return list(values)


events = st.tuples(st.integers(0, 1), st.sampled_from("abcx"), st.integers(0, 7))


@given(st.integers(0, len(patterns()) - 1), st.lists(st.lists(events, max_size=6), max_size=6))
def test_haste_changes_nothing(which: int, rounds: list[list[Event]]) -> None:
    pattern = patterns()[which]
    without_haste = CepSettings(comparator=lambda one, other: 0)
    assert found(pattern, rounds, CepSettings()) == found(pattern, rounds, without_haste)
