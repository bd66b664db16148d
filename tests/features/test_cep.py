"""Patterns end to end: keyed and not, in both kinds of time, through crashes, savepoints and changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from firesteel.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    PatternUpdate,
)
from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.datastream import DataStream, OutputTag
from firesteel.errors import JobFailedError
from firesteel.testing import CRASH, EPOCH_CUT, use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.saving import Handed, from_savepoint, save
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

Event = tuple[str, str, int]
TIMED_OUT = OutputTag("timed-out")
LATE = OutputTag("late")


def letter(wanted: str) -> Callable[[Event], bool]:
    return lambda event: event[1] == wanted


def a_then_b() -> Pattern:
    return Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b")).within(Time.milliseconds(10))


def stamped(stream: DataStream, delay: int = 0) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(delay + 0)  # in milliseconds
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda event, _: event[2]))


def numbers(match: dict[str, list[Event]]) -> list[int]:
    return [event[2] for events in match.values() for event in events]


# Twenty events, and marked by hand what `a, then all b that come, then c` finds in them.
MARKED = [("k", name, time) for time, name in enumerate("xabcxaxbbxcabxxcbaab", start=1)]
MARKS = [[2, 3, 4], [6, 8, 9, 11], [12, 13, 16]]


@on_both
@pytest.mark.feature("CE-01")
def test_a_pattern_finds_the_matches_marked_by_hand(make_env: MakeEnv) -> None:
    pattern = (
        Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event())
        .where(letter("a"))
        .followed_by("b")
        .where(letter("b"))
        .one_or_more()
        .greedy()
        .followed_by("c")
        .where(letter("c"))
    )
    events = stamped(make_env(2).from_collection(MARKED))
    found = collect(CEP.pattern(events.key_by(lambda event: event[0]), pattern).select(numbers))
    assert found == MARKS


@on_both
@pytest.mark.feature("CE-02")
@pytest.mark.feature("CE-03")
def test_keyed_streams_never_mix_keys_and_others_are_one(make_env: MakeEnv) -> None:
    events = [("k", "a", 1), ("l", "b", 2), ("l", "a", 4), ("k", "b", 3), ("l", "x", 5), ("k", "a", 30), ("k", "b", 39)]
    keyed = CEP.pattern(stamped(make_env(2).from_collection(events), 5).key_by(lambda event: event[0]), a_then_b())
    assert sorted(collect(keyed.select(numbers))) == [[1, 3], [30, 39]]
    alone = CEP.pattern(stamped(make_env(2).from_collection(events), 5), a_then_b()).select(numbers)
    assert alone.get_parallelism() == 1
    assert sorted(collect(alone)) == [[1, 2], [30, 39]]


@on_both
@pytest.mark.feature("CE-04")
def test_a_match_that_a_crash_interrupts_is_found_once(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    script: list[Any] = [
        ("k", "a", 1),
        ("l", "a", 2),
        EPOCH_CUT,
        EPOCH_CUT,
        CRASH,
        ("k", "b", 3),
        EPOCH_CUT,
        ("k", "x", 4),
    ]
    events = stamped(scripted(env, [*script, EPOCH_CUT, CRASH, ("l", "b", 5)]))
    found = CEP.pattern(events.key_by(lambda event: event[0]), a_then_b()).select(numbers)
    with use_clock(checkpoint_each_epoch()):
        assert sorted(collect(found)) == [[1, 3], [2, 5]]


def saved(source: Handed, env: Any, pattern: Pattern) -> DataStream:
    events = stamped(source.stream(env))
    return CEP.pattern(events.key_by(lambda event: event[0]), pattern).select(numbers).uid("pattern")


@pytest.mark.feature("CE-04")
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_open_matches_go_on_from_a_savepoint_with_another_parallelism(
    make_env: MakeEnv, tmp_path: Path, backend: str
) -> None:
    options = {"state.backend.type": backend}
    source = Handed(*[(f"k{key}", "a", 1) for key in range(10)], ("k0", "x", 2))
    path, _ = save(saved(source, make_env(1, options), a_then_b()), tmp_path)
    source.give(*[(f"k{key}", "b", 5) for key in range(10)])
    source.end()
    found = collect(saved(source, make_env(3, from_savepoint(path, **options)), a_then_b()))
    assert found == [[1, 5]] * 10


def test_a_changed_pattern_does_not_start_from_an_old_savepoint(make_env: MakeEnv, tmp_path: Path) -> None:
    source = Handed(("k", "a", 1), ("k", "x", 2))
    path, _ = save(saved(source, make_env(1), a_then_b()), tmp_path)
    source.end()
    changed = a_then_b().followed_by("c").within(10)
    env = make_env(1, {**from_savepoint(path), "restart-strategy.type": "none"})
    with pytest.raises(JobFailedError, match=r"not the one whose partial matches are stored(.|\n)*another uid"):
        collect(saved(source, env, changed))


def test_patterns_change_while_the_job_runs(make_env: MakeEnv) -> None:
    class Tell(PatternProcessFunction):
        def process_match(self, match: dict[str, list[Event]], ctx: PatternProcessFunction.Context) -> Iterable[Any]:
            yield ctx.pattern_name(), numbers(match)

    env = make_env(1)
    conditions = {"a": letter("a"), "b": letter("b")}
    script: list[Any] = [
        *[("k", "a", 1), ("k", "b", 2), ("k", "x", 9), EPOCH_CUT],
        *[("k", "a", 11), ("k", "b", 12), ("k", "x", 19), EPOCH_CUT],
        ("k", "a", 21),
    ]
    control: list[Any] = [PatternUpdate("ab", "a b"), EPOCH_CUT, PatternUpdate("ab", None), ("only a", "a"), EPOCH_CUT]
    events = stamped(scripted(env, script))
    keyed = events.key_by(lambda event: event[0])
    found = CEP.dynamic_patterns(keyed, scripted(env, control), conditions).process(Tell())
    assert sorted(collect(found)) == [("ab", [1, 2]), ("only a", [11]), ("only a", [21])]


def test_processing_time_needs_no_timestamps(make_env: MakeEnv) -> None:
    events = make_env(2).from_collection([("k", "a", 1), ("k", "x", 2), ("k", "b", 3)])
    pattern = Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b"))
    found = CEP.pattern(events.key_by(lambda event: event[0]), pattern).in_processing_time().select(numbers)
    assert collect(found) == [[1, 3]]


def test_late_events_go_to_their_side_output(make_env: MakeEnv) -> None:
    env = make_env(1)
    events = stamped(scripted(env, [("k", "a", 5), EPOCH_CUT, ("k", "a", 2), ("k", "b", 6)]))
    patterns = CEP.pattern(events.key_by(lambda event: event[0]), a_then_b()).side_output_late_data(LATE)
    assert collect(patterns.in_event_time().select(numbers).get_side_output(LATE)) == [("k", "a", 2)]


EVENTS = [("k", "a", 1), ("k", "b", 2), ("k", "a", 3), ("k", "x", 50)]


class First(PatternSelectFunction):
    def select(self, pattern: dict[str, list[Event]]) -> int:
        return pattern["a"][0][2]


class FirstTimedOut(PatternTimeoutFunction):
    def timeout(self, pattern: dict[str, list[Event]], timeout_timestamp: int) -> tuple[int, int]:
        return pattern["a"][0][2], timeout_timestamp


class All(PatternFlatSelectFunction):
    def flat_select(self, pattern: dict[str, list[Event]], out: Any) -> None:  # type: ignore[override]
        for number in numbers(pattern):
            out.collect(number)


class AllTimedOut(PatternFlatTimeoutFunction):
    def timeout(self, pattern: dict[str, list[Event]], timeout_timestamp: int) -> Iterable[int]:
        yield from [*numbers(pattern), timeout_timestamp]


SELECTIONS: dict[str, tuple[Callable[[Any], DataStream], list[Any], list[Any]]] = {
    "select": (lambda found: found.select(First(), Types.LONG()), [1], []),
    "select, a function": (lambda found: found.select(lambda match: match["b"][0][2]), [2], []),
    "select, timeouts": (lambda found: found.select(TIMED_OUT, FirstTimedOut(), First()), [1], [(3, 13)]),
    "select, functions": (
        lambda found: found.select(TIMED_OUT, lambda match, time: time, numbers, output_type=None),
        [[1, 2]],
        [13],
    ),
    "flat_select": (lambda found: found.flat_select(All()), [1, 2], []),
    "flat_select, a function": (lambda found: found.flat_select(numbers), [1, 2], []),
    "flat_select, timeouts": (lambda found: found.flat_select(TIMED_OUT, AllTimedOut(), All()), [1, 2], [3, 13]),
}


@pytest.mark.feature("CE-02")
@pytest.mark.feature("CE-03")
@pytest.mark.parametrize("case", SELECTIONS)
def test_all_ways_to_select(make_env: MakeEnv, case: str) -> None:
    select, expected, timed_out = SELECTIONS[case]

    events = stamped(make_env(1).from_collection(EVENTS))
    found = select(CEP.pattern(events.key_by(lambda event: event[0]), a_then_b()))
    late = found.get_side_output(TIMED_OUT).map(lambda result: ("timed out", result))
    both = collect(found.map(lambda result: ("match", result)).union(late))
    assert [result for kind, result in both if kind == "match"] == expected
    assert [result for kind, result in both if kind == "timed out"] == timed_out


def test_a_skip_strategy_that_misses_fails_the_job(make_env: MakeEnv) -> None:
    strategy = AfterMatchSkipStrategy.skip_to_first("b").throw_exception_on_miss()
    pattern = Pattern.begin("a", strategy).where(letter("a")).next("b").where(letter("b")).optional().next("x")
    env = make_env(1, {"restart-strategy.type": "none"})
    events = stamped(env.from_collection([("k", "a", 1), ("k", "x", 2)]))
    with pytest.raises(JobFailedError, match="skip to first 'b': the match has no event of that stage"):
        collect(CEP.pattern(events, pattern).select(numbers))
