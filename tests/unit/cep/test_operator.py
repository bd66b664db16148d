"""The operator on its own: order, lateness, both kinds of time, timeouts, state."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from firesteel.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    PatternUpdate,
    RichIterativeCondition,
    TimedOutPartialMatchHandler,
    WithinType,
)
from firesteel.cep.dynamic import DynamicCepOperator
from firesteel.cep.operator import CepOperator, CepSettings
from firesteel.cep.trace import Tracer, TraceRecord
from firesteel.common.time import MAX_WATERMARK, Time
from firesteel.datastream import OutputTag, RuntimeContext
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.errors import ConfigurationError, StateMigrationError
from firesteel.runtime.failure import OperatorFailure
from firesteel.state.backend import HashMapBackend
from firesteel.state.rocksdb.backend import RocksDBBackend
from firesteel.testing import KeyedOneInputOperatorHarness, KeyedTwoInputOperatorHarness

TIMED_OUT = OutputTag("timed-out")
LATE = OutputTag("late")
TRACE = OutputTag("trace")

# An event: (key, letter, number).
Event = tuple[str, str, int]


def letter(wanted: str) -> Callable[[Event], bool]:
    return lambda event: event[1] == wanted


def a_then_b(window: int | None = None) -> Pattern:
    return Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b")).within(window)


class Tell(PatternProcessFunction):
    """Results that show everything there is to see."""

    def process_match(self, match: dict[str, list[Any]], ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        yield ctx.get_current_key(), {stage: [event[2] for event in events] for stage, events in match.items()}


class TellTimeouts(Tell, TimedOutPartialMatchHandler):
    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: PatternProcessFunction.Context) -> None:
        ctx.output(
            TIMED_OUT, (ctx.timestamp(), {stage: [each[2] for each in events] for stage, events in match.items()})
        )


class TellWhich(Tell):
    def process_match(self, match: dict[str, list[Any]], ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        yield ctx.pattern_name(), [event[2] for events in match.values() for event in events]


def harness(
    pattern: Pattern | dict[str, Pattern],
    function: PatternProcessFunction | None = None,
    settings: CepSettings | None = None,
    **more: Any,
) -> KeyedOneInputOperatorHarness:
    patterns = pattern if isinstance(pattern, dict) else {"pattern": pattern}
    factory = partial(CepOperator, patterns, function or Tell(), settings or CepSettings())
    return KeyedOneInputOperatorHarness(factory, lambda event: event[0], **more)


def send(operator: KeyedOneInputOperatorHarness, text: str, key: str = "k", start: int = 1) -> None:
    """``"a b x"``: events with the numbers and times 1, 2, 3."""
    for time, name in enumerate(text.split(), start=start):
        operator.process_element((key, name, time), timestamp=time)


# ---- order ------------------------------------------------------------------------------------------------------


@pytest.mark.feature("CE-03")
def test_events_are_taken_in_order_of_event_time_whatever_the_order_they_come_in() -> None:
    events = [(("k", name, time), time) for time, name in enumerate("abxaabxb", start=1)]
    found = []
    for seed in range(5):
        operator = harness(a_then_b())
        random.Random(seed).shuffle(events)
        operator.process_elements(events)
        assert operator.output_values() == []
        operator.process_watermark(100)
        found.append(operator.output_records())
    assert found == [found[0]] * 5
    assert [(record.value[1]["a"], record.timestamp) for record in found[0]] == [([1], 2), ([4], 6), ([5], 6)]


def test_only_what_the_watermark_has_reached_is_taken() -> None:
    operator = harness(a_then_b())
    send(operator, "a x b")
    operator.process_watermark(2)
    assert operator.output_values() == []
    operator.process_watermark(3)
    assert operator.output_values() == [("k", {"a": [1], "b": [3]})]


def test_events_of_the_same_time_are_taken_by_the_comparator_then_as_they_came() -> None:
    def by_number(one: Event, other: Event) -> int:
        return (one[2] > other[2]) - (one[2] < other[2])

    any_two = Pattern.begin("first").next("second")
    arrivals = [("k", "y", 2), ("k", "x", 1), ("k", "z", 2)]
    for comparator, expected in ((None, [[2, 1], [1, 2]]), (by_number, [[1, 2], [2, 2]])):
        operator = harness(any_two, settings=CepSettings(comparator=comparator))
        operator.process_elements([(event, 5) for event in arrivals])
        operator.process_watermark(5)
        assert [[*match["first"], *match["second"]] for _, match in operator.output_values()] == expected


def test_events_that_wait_in_state_come_before_those_of_the_same_time_that_came_later() -> None:
    operator = harness(Pattern.begin("first").next("second").next("third"))
    operator.process_elements([(("k", "x", 1), 7), (("k", "x", 2), 7)])
    operator.snapshot()
    operator.process_elements([(("k", "x", 3), 7), (("k", "x", 0), 6)])
    operator.process_watermark(7)
    found = [[number for numbers in match.values() for number in numbers] for _, match in operator.output_values()]
    assert found == [[0, 1, 2], [1, 2, 3]]


@pytest.mark.feature("CE-02")
def test_keys_never_mix() -> None:
    operator = harness(Pattern.begin("a").where(letter("a")).next("b").where(letter("b")))
    for time, (key, name) in enumerate([("k", "a"), ("l", "b"), ("l", "a"), ("k", "b")], start=1):
        operator.process_element((key, name, time), timestamp=time)
    operator.process_watermark(10)
    assert operator.output_values() == [("k", {"a": [1], "b": [4]})]


# ---- lateness ---------------------------------------------------------------------------------------------------


def test_late_events_go_to_the_side_output() -> None:
    operator = harness(a_then_b(), settings=CepSettings(late_tag=LATE))
    operator.process_watermark(5)
    operator.process_elements([(("k", "a", 6), 6), (("k", "a", 5), 5), (("k", "b", 7), 7), (("k", "b", 1), 1)])
    operator.process_watermark(10)
    assert operator.side_output(LATE) == [(("k", "a", 5), 5), (("k", "b", 1), 1)]
    assert operator.output_values() == [("k", {"a": [6], "b": [7]})]


def test_late_events_without_a_side_output_are_counted() -> None:
    operator = harness(a_then_b())
    operator.process_watermark(5)
    operator.process_elements([(("k", "a", 5), 5), (("k", "b", 7), 7)])
    assert operator.metrics().counters["numLateRecordsDropped"] == 1


def test_an_event_without_a_timestamp_is_refused() -> None:
    with pytest.raises(OperatorFailure, match=r"without a timestamp: \('k', 'a', 1\)(.|\n)*in_processing_time"):
        harness(a_then_b()).process_element(("k", "a", 1))


# ---- timeouts ---------------------------------------------------------------------------------------------------


@pytest.mark.feature("CE-03")
def test_a_partial_match_over_the_limit_goes_to_the_side_output_with_the_time_it_ran_out() -> None:
    operator = harness(a_then_b(5), TellTimeouts())
    send(operator, "a x x x x b")
    operator.process_watermark(5)
    assert operator.side_output(TIMED_OUT) == []
    operator.process_watermark(6)
    assert operator.side_output(TIMED_OUT) == [((6, {"a": [1]}), 6)]
    assert operator.output_values() == []
    assert operator.state_entries() == 0
    assert operator.timers() == 0


def test_a_window_between_two_events_runs_out_without_further_events() -> None:
    pattern = a_then_b().within(3, WithinType.PREVIOUS_AND_CURRENT)
    operator = harness(pattern, TellTimeouts())
    send(operator, "a")
    operator.process_watermark(100)
    assert operator.side_output(TIMED_OUT) == [((4, {"a": [1]}), 4)]
    assert operator.state_entries() == 0


def test_what_is_not_followed_is_found_when_the_window_is_over() -> None:
    pattern = Pattern.begin("a").where(letter("a")).not_followed_by("b").where(letter("b")).within(5)
    operator = harness(pattern)
    send(operator, "a a b")
    send(operator, "a", key="l", start=2)
    operator.process_watermark(3)
    assert operator.output_values() == []
    operator.process_watermark(6)
    assert operator.output_values() == []
    operator.process_watermark(7)
    assert operator.output_records() == [(("l", {"a": [2]}), 7)]


def test_partial_matches_are_given_up_silently_if_nobody_asks() -> None:
    operator = harness(a_then_b(5))
    send(operator, "a")
    operator.process_watermark(MAX_WATERMARK)
    assert operator.output_values() == []
    assert operator.state_entries() == 0


# ---- processing time --------------------------------------------------------------------------------------------


def test_in_processing_time_events_are_taken_as_they_come() -> None:
    operator = harness(a_then_b(10), TellTimeouts(), CepSettings(processing_time=True), now=100)
    operator.process_element(("k", "a", 1))
    operator.set_processing_time(105)
    operator.process_element(("k", "b", 2))
    assert operator.output_records() == [(("k", {"a": [1], "b": [2]}), None)]
    operator.process_element(("k", "a", 3))
    assert operator.next_processing_timer() is not None
    operator.set_processing_time(116)
    assert operator.side_output(TIMED_OUT) == [((115, {"a": [3]}), None)]
    assert operator.next_processing_timer() is None


def test_in_processing_time_a_comparator_orders_what_comes_together() -> None:
    settings = CepSettings(processing_time=True, comparator=lambda one, other: one[2] - other[2])
    operator = harness(Pattern.begin("first").next("second"), settings=settings, now=50)
    operator.process_elements([(("k", "x", 2), None), (("k", "x", 1), None)])
    assert operator.output_values() == []
    assert operator.next_processing_timer() == 51
    operator.set_processing_time(51)
    assert operator.output_values() == [("k", {"first": [1], "second": [2]})]


def test_what_waits_to_be_ordered_is_not_lost_at_the_end() -> None:
    settings = CepSettings(processing_time=True, comparator=lambda one, other: one[2] - other[2])
    operator = harness(Pattern.begin("first").next("second"), settings=settings, now=50)
    operator.process_elements([(("k", "x", 2), None), (("k", "x", 1), None)])
    operator.end_input()
    assert operator.output_values() == [("k", {"first": [1], "second": [2]})]


# ---- state ------------------------------------------------------------------------------------------------------

BACKENDS: dict[str, Any] = {"hashmap": HashMapBackend, "rocksdb": partial(RocksDBBackend, memory=1 << 20)}


@pytest.mark.feature("CE-04")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("cut", range(9))
def test_a_cut_anywhere_changes_nothing(cut: int, backend: str) -> None:
    pattern = (
        Pattern.begin("a", AfterMatchSkipStrategy.skip_to_next())
        .where(letter("a"))
        .followed_by("b")
        .where(letter("b"))
        .one_or_more()
        .followed_by("c")
        .where(letter("c"))
        .within(6)
    )
    text = "a b a b c b c a"
    events = [(("k", name, time), time) for time, name in enumerate(text.split(), start=1)]

    def run(*parts: list[Any]) -> tuple[list[Any], list[Any]]:
        values: list[Any] = []
        timeouts: list[Any] = []
        stored: list[bytes] = []
        for number, part in enumerate(parts):
            operator = harness(pattern, TellTimeouts(), state_backend=BACKENDS[backend])
            if stored:
                operator.restore(*stored)
            for event, time in part:
                operator.process_element(event, timestamp=time)
                if time % 2 == 0:
                    operator.process_watermark(time - 1)
                if number == 0 and time == 2:
                    stored = [operator.snapshot()]
            if number == len(parts) - 1:
                operator.process_watermark(100)
            stored = [*stored, operator.snapshot(full=not stored)]
            values += operator.output_records()
            timeouts += operator.side_output(TIMED_OUT)
            operator.close()
        return values, timeouts

    assert run(events[:cut], events[cut:]) == run(events)
    assert run(events)[0]


@pytest.mark.feature("CE-04")
def test_open_matches_survive_another_parallelism() -> None:
    before = harness(a_then_b())
    keys = [f"key-{number}" for number in range(20)]
    for key in keys:
        before.process_element((key, "a", 1), timestamp=1)
    before.process_watermark(1)
    for key in keys:
        before.process_element((key, "b", 2), timestamp=2)
    stored = before.snapshot()
    found = []
    for index in range(3):
        after = harness(a_then_b(), subtask_index=index, parallelism=3).restore(stored, rescaled=True)
        after.process_watermark(2)
        found += [key for key, _ in after.output_values()]
    assert sorted(found) == sorted(keys)


@pytest.mark.parametrize(
    "changed",
    [
        a_then_b().followed_by("c"),
        a_then_b(5),
        Pattern.begin("a").where(letter("a")).next("b").where(letter("b")),
        Pattern.begin("a", AfterMatchSkipStrategy.skip_to_next()).where(letter("a")).followed_by("b"),
    ],
)
def test_a_changed_pattern_does_not_go_on_from_an_old_savepoint(changed: Pattern) -> None:
    before = harness(a_then_b())
    send(before, "a")
    before.process_watermark(1)
    with pytest.raises((StateMigrationError, OperatorFailure), match=r"the pattern \((.|\n)*another uid"):
        harness(changed).restore(before.snapshot()).open()


@pytest.mark.parametrize("backend", BACKENDS)
def test_state_does_not_grow_with_the_number_of_events(backend: str) -> None:
    rng = random.Random(1)
    count, keys = (1_000_000, 50) if backend == "hashmap" else (10_000, 50)
    operator = harness(a_then_b(20), state_backend=BACKENDS[backend])
    most = 0
    for start in range(0, count, 2000):
        operator.process_elements(
            [((f"k{rng.randrange(keys)}", rng.choice("abx"), time), time) for time in range(start, start + 2000)]
        )
        operator.process_watermark(start + 1990)
        operator.snapshot(full=False)
        most = max(most, operator.state_entries())
        assert operator.timers() <= 2 * keys + 10
    assert most <= 4 * keys
    operator.process_watermark(MAX_WATERMARK)
    assert operator.state_entries() == 0
    assert operator.timers() == 0
    operator.close()


# ---- several patterns, patterns that change ---------------------------------------------------------------------


def test_several_patterns_share_one_operator_and_its_events() -> None:
    patterns = {
        "rise": Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b")),
        "fall": Pattern.begin("a").where(letter("a")).followed_by("c").where(letter("c")),
    }
    operator = harness(patterns, TellWhich())
    send(operator, "a x")
    operator.process_watermark(2)
    content = operator.operator.context.keyed_state.full_copy()  # type: ignore[union-attr]
    assert [len(content[f"_cep/{table}"][2]["puts"]) for table in ("events", "nodes")] == [1, 2]
    send(operator, "c b", start=3)
    operator.process_watermark(4)
    assert operator.output_values() == [("fall", [1, 3]), ("rise", [1, 4])]
    assert operator.state_entries() == 0


CONDITIONS = {"a": letter("a"), "b": letter("b"), "c": letter("c")}


def dynamic(**more: Any) -> KeyedTwoInputOperatorHarness:
    factory = partial(DynamicCepOperator, CONDITIONS, TellWhich(), CepSettings())
    return KeyedTwoInputOperatorHarness(factory, lambda update: None, lambda event: event[0], **more)


def feed(operator: KeyedTwoInputOperatorHarness, text: str, start: int) -> None:
    events = list(enumerate(text.split(), start=start))
    operator.process_elements2([(("k", name, time), time) for time, name in events])
    operator.process_watermark2(events[-1][0])


def test_patterns_come_and_go_while_the_job_runs() -> None:
    operator = dynamic()
    operator.process_watermark1(MAX_WATERMARK)
    feed(operator, "a b", 1)
    operator.process_element1(("ab", "a -> b"))
    feed(operator, "a b a", 3)
    assert operator.output_values() == [("ab", [3, 4])]
    stages = [{"begin": "a", "where": "a"}, {"next": "c", "where": "c"}]
    operator.process_element1(PatternUpdate("ac", {"stages": stages}))
    operator.process_element1(PatternUpdate("ab", None))
    feed(operator, "b a c", 6)
    assert operator.output_values() == [("ab", [3, 4]), ("ac", [7, 8])]
    assert operator.state_entries() == 0


def test_dynamic_patterns_and_their_matches_are_part_of_a_snapshot() -> None:
    operator = dynamic()
    operator.process_watermark1(MAX_WATERMARK)
    operator.process_element1(("ab", "a -> b"))
    feed(operator, "a", 1)
    after = dynamic().restore(operator.snapshot())
    feed(after, "b", 2)
    assert after.output_values() == [("ab", [1, 2])]


def test_replacing_a_pattern_drops_its_partial_matches_and_keeps_those_of_others() -> None:
    operator = dynamic()
    operator.process_watermark1(MAX_WATERMARK)
    operator.process_element1(("one", "a -> b"))
    operator.process_element1(("two", "a -> b"))
    feed(operator, "a", 1)
    operator.process_element1(("one", "a -> b"))  # the same again: nothing changes
    operator.process_element1(("two", "x:a -> y:b"))
    feed(operator, "b", 2)
    assert operator.output_values() == [("one", [1, 2])]


def test_a_bad_update_is_an_error_that_names_the_pattern() -> None:
    operator = dynamic()
    with pytest.raises(OperatorFailure, match=r"pattern 'bad' of the control stream(.|\n)*no condition 'nothing'"):
        operator.process_element1(("bad", "a -> nothing"))
    with pytest.raises(OperatorFailure, match="must be a PatternUpdate or"):
        dynamic().process_element1(17)


# ---- functions and conditions -----------------------------------------------------------------------------------


class Limit(RichIterativeCondition):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.limit = int(runtime_context.get_job_parameter("limit", "0"))

    def filter(self, value: Event, ctx: Any) -> bool:
        return value[2] > self.limit


def test_rich_conditions_are_opened_and_know_their_surroundings() -> None:
    operator = harness(Pattern.begin("large").where(Limit()), job_parameters={"limit": "2"})
    send(operator, "x x x x")
    operator.process_watermark(10)
    assert [match["large"] for _, match in operator.output_values()] == [[3], [4]]


class Stateful(RichIterativeCondition):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("sum"))

    def filter(self, value: Event, ctx: Any) -> bool:
        return True


def test_conditions_have_no_state() -> None:
    with pytest.raises(OperatorFailure, match="no state of their own"):
        harness(Pattern.begin("a").where(Stateful())).open()


def test_an_error_in_a_condition_names_the_event() -> None:
    operator = harness(Pattern.begin("a").where(lambda event: 1 / event[2] > 0))
    operator.process_element(("k", "a", 0), timestamp=1)
    with pytest.raises(OperatorFailure, match=r"ZeroDivisionError(.|\n)*record:   \('k', 'a', 0\)"):
        operator.process_watermark(1)


def test_conditions_see_the_times() -> None:
    def late_in_the_day(event: Event, ctx: Any) -> bool:
        return bool(ctx.timestamp() > 2 and ctx.current_processing_time() == 77)

    operator = harness(Pattern.begin("a").where(late_in_the_day), now=77)
    send(operator, "x x x")
    operator.process_watermark(5)
    assert [match["a"] for _, match in operator.output_values()] == [[3]]


# ---- trace ------------------------------------------------------------------------------------------------------


def test_the_trace_says_which_matches_are_open_and_why_an_event_did_not_extend_one() -> None:
    pattern = Pattern.from_text("a b", CONDITIONS)
    operator = harness(pattern, settings=CepSettings(trace=Tracer(TRACE, frozenset({"k"}))))
    send(operator, "a x")
    send(operator, "a b", key="other")
    operator.process_watermark(5)
    records = [record.value for record in operator.side_output(TRACE)]
    assert all(isinstance(record, TraceRecord) and record.key == "k" for record in records)
    begun, given_up = records
    assert [each.outcome for each in begun.partial_matches] == ["begins"]
    assert [(each.taken, each.waits_for, each.outcome) for each in given_up.partial_matches] == [
        ({"a": [("k", "a", 1)]}, ["b"], "given up"),
        ({}, ["a"], "does not begin"),
    ]
    assert "take 'b': b is False" in str(given_up)


# ---- the door ---------------------------------------------------------------------------------------------------


def test_wrong_arguments_are_refused_when_the_graph_is_built() -> None:
    from firesteel.datastream import StreamExecutionEnvironment

    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(ConfigurationError, match="stream must be a DataStream"):
        CEP.pattern([1], a_then_b())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="must be a Pattern"):
        CEP.pattern(stream, "a b")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="comparator"):
        CEP.pattern(stream, a_then_b(), 3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="OutputTag"):
        CEP.pattern(stream, a_then_b()).side_output_late_data("late")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="select: give it a function"):
        CEP.pattern(stream, a_then_b()).select(TIMED_OUT, str)
    with pytest.raises(ConfigurationError, match="PatternProcessFunction"):
        CEP.pattern(stream, a_then_b()).process(str)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="a length of time"):
        a_then_b().within("5 s")  # type: ignore[arg-type]
    assert Time.seconds(1)
