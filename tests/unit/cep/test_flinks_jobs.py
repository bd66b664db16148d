"""What Flink's tests of whole jobs with patterns expect, of jobs here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from firesteel.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction, WithinType
from firesteel.common import Configuration, Time, WatermarkStrategy
from firesteel.datastream import DataStream, OutputTag, StreamExecutionEnvironment

TIMED_OUT = OutputTag("timed-out")


class Event(NamedTuple):
    id: int
    name: str
    price: float = 0.0


class SubEvent(Event):
    """An event of another class."""


def stream(*events: Any, parallelism: int = 1) -> DataStream:
    configuration = Configuration.from_dict({"execution.target": "in-process"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    return env.from_collection(list(events))


def timed(*events: tuple[Event, int], parallelism: int = 1) -> DataStream:
    """Events with their times; the watermark is 5 behind."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(4).with_timestamp_assigner(lambda pair, _: pair[1])
    pairs = stream(*events, parallelism=parallelism).assign_timestamps_and_watermarks(strategy)
    return pairs.map(lambda pair: pair[0])


def named(name: str) -> Callable[[Event], bool]:
    return lambda event: event.name == name


def start_middle_end() -> Pattern:
    pattern = Pattern.begin("start").where(named("start")).followed_by_any("middle").where(named("middle"))
    return pattern.followed_by_any("end").where(named("end"))


def ids(match: dict[str, list[Event]]) -> tuple[int, ...]:
    return tuple(events[0].id for events in match.values())


def collect(found: DataStream) -> list[Any]:
    with found.execute_and_collect() as results:
        return sorted(results)


def with_sub_events() -> Pattern:
    pattern = Pattern.begin("start").where(named("start")).followed_by_any("middle").subtype(SubEvent)
    return pattern.where(named("middle")).followed_by_any("end").where(named("end"))


class KeyOfMatch(PatternProcessFunction):
    def process_match(self, match: dict[str, list[Event]], ctx: PatternProcessFunction.Context) -> Iterable[str]:
        yield repr(ctx.get_current_key())


@pytest.mark.feature("CE-02")
def test_a_stream_without_keys() -> None:
    events = [Event(1, "barfoo"), Event(2, "start"), Event(3, "foobar"), SubEvent(4, "foo"), Event(5, "middle")]
    events += [SubEvent(6, "middle"), SubEvent(7, "bar"), Event(42, "42"), Event(8, "end")]
    found = CEP.pattern(stream(*events, parallelism=2), with_sub_events()).in_processing_time()
    assert collect(found.flat_select(lambda match: [ids(match)])) == [(2, 6, 8)]
    assert collect(found.process(KeyOfMatch())) == ["None"]


@pytest.mark.feature("CE-02")
def test_a_stream_with_keys() -> None:
    written = [(1, "barfoo"), (2, "start"), (3, "start"), (3, "foobar"), (4, "*foo"), (3, "*middle"), (42, "start")]
    written += [
        (42, "*middle"),
        (5, "middle"),
        (2, "*middle"),
        (7, "*bar"),
        (42, "42"),
        (3, "end"),
        (2, "end"),
        (42, "end"),
    ]
    events = [SubEvent(id, name[1:]) if name.startswith("*") else Event(id, name) for id, name in written]
    keyed = stream(*events, parallelism=2).key_by(lambda event: event.id)
    found = CEP.pattern(keyed, with_sub_events()).in_processing_time().select(ids)
    assert collect(found) == [(2, 2, 2), (3, 3, 3), (42, 42, 42)]


@pytest.mark.feature("CE-03")
def test_event_time() -> None:
    written = [(1, "start", 5), (2, "middle", 1), (3, "end", 3), (4, "end", 10), (5, "middle", 7), (5, "middle", 100)]
    events = timed(*((Event(id, name), time) for id, name, time in written), parallelism=2)
    assert collect(CEP.pattern(events, start_middle_end()).select(ids)) == [(1, 5, 4)]


@pytest.mark.feature("CE-03")
def test_event_time_with_keys() -> None:
    written = [(1, "start", 5), (1, "middle", 1), (2, "middle", 4), (2, "start", 3), (1, "end", 3), (3, "start", 5)]
    written += [(1, "end", 10), (2, "end", 8), (1, "middle", 7), (3, "middle", 9), (3, "end", 7)]
    events = timed(*((Event(id, name), time) for id, name, time in written)).key_by(lambda event: event.id)
    assert collect(CEP.pattern(events, start_middle_end()).select(ids)) == [(1, 1, 1), (2, 2, 2)]


def test_a_single_stage() -> None:
    pattern = Pattern.begin("start").where(lambda pair: pair[1] == 1)
    found = CEP.pattern(stream((0, 1), (0, 2)), pattern).in_processing_time()
    assert collect(found.select(lambda match: match["start"][0])) == [(0, 1)]


@pytest.mark.parametrize("within", WithinType)
def test_a_window_in_processing_time(within: WithinType) -> None:
    pattern = Pattern.begin("start").followed_by_any("end").within(Time.days(1), within)
    found = CEP.pattern(stream(1, 2), pattern).in_processing_time()
    assert collect(found.select(lambda match: match["start"][0] + match["end"][0])) == [3]


@pytest.mark.feature("CE-03")
@pytest.mark.parametrize(
    ("within", "matches", "timeouts"),
    [
        (WithinType.FIRST_AND_LAST, [(2.0, 2.0, 2.0)], [1.0, 2.0, 2.0]),
        (WithinType.PREVIOUS_AND_CURRENT, [(1.0, 2.0, 2.0), (2.0, 2.0, 2.0)], [1.0, 2.0]),
    ],
)
def test_timeouts(within: WithinType, matches: list[Any], timeouts: list[float]) -> None:
    written = [("start", 1.0, 1), ("middle", 2.0, 5), ("start", 2.0, 4), ("end", 2.0, 6)]

    events = timed(*((Event(1, name, price), time) for name, price, time in written))
    found = CEP.pattern(events, start_middle_end().within(Time.milliseconds(3), within)).select(
        TIMED_OUT,
        lambda match, time: match["start"][0].price,
        lambda match: tuple(each[0].price for each in match.values()),
    )
    both = found.map(lambda match: ("match", match)).union(
        found.get_side_output(TIMED_OUT).map(lambda price: ("", price))
    )
    assert collect(both) == [*(("", price) for price in timeouts), *(("match", match) for match in matches)]


def test_one_condition_or_another() -> None:
    names = ["start", "middle", "end", "start", "middle", "end"]
    events = [Event(id, name, float(id)) for id, name in enumerate(names, start=1)]
    pattern = Pattern.begin("start").where(named("start")).followed_by_any("middle")
    pattern.where(lambda event: event.price == 2.0).or_(lambda event: event.price == 5.0)
    found = CEP.pattern(stream(*events), pattern.followed_by_any("end").where(named("end"))).in_processing_time()
    assert collect(found.select(ids)) == [(1, 2, 3), (1, 2, 6), (1, 5, 6), (4, 5, 6)]


def test_a_comparator_in_event_time() -> None:
    written = [(1, "start", 1.0, 5), (2, "middle", 2.0, 1), (3, "end", 3.0, 3), (4, "end", 4.0, 10)]
    written += [(5, "middle", 6.0, 7), (6, "middle", 5.0, 7), (7, "middle", 5.0, 100)]
    events = timed(*((Event(id, name, price), time) for id, name, price, time in written))
    found = CEP.pattern(events, start_middle_end(), lambda one, other: int(one.price - other.price))
    with found.select(ids).execute_and_collect() as results:
        assert list(results) == [(1, 6, 4), (1, 5, 4)]


def test_what_a_match_has_used_is_skipped() -> None:
    strategy = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = Pattern.begin("start", strategy).where(lambda pair: pair[1] == "a").times(2)
    found = CEP.pattern(stream((1, "a"), (2, "a"), (3, "a"), (4, "a")), pattern).in_processing_time()
    assert collect(found.select(lambda match: [pair[0] for pair in match["start"]])) == [[1, 2], [3, 4]]


def test_a_complete_match_that_waited_comes_out_when_an_earlier_one_runs_out_of_time() -> None:
    def the_end_of_few(event: Event, ctx: Any) -> bool:
        return event.name == ("middle" if len(ctx.get_events_for_pattern("start")) > 2 else "end")

    pattern = (
        Pattern.begin("start", AfterMatchSkipStrategy.skip_past_last_event())
        .where(named("start"))
        .one_or_more()
        .consecutive()
        .greedy()
        .followed_by("middle")
        .where(the_end_of_few)
        .within(Time.milliseconds(100))
    )
    names = ["start", "start", "start", "start", "end"]
    events = timed(*((Event(time + 1, name), time) for time, name in enumerate(names)))
    assert collect(CEP.pattern(events, pattern).select(ids)) == [(3, 5)]
