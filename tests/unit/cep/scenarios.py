"""Patterns as plain data, as the golden files have them: built, run, and what came out of each step."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firesteel.cep import AfterMatchSkipStrategy, Pattern, WithinType
from firesteel.cep.automaton import Automaton, EventInWork, MemoryBuffer

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "cep"


def golden(name: str) -> Iterator[dict[str, Any]]:
    """The scenarios of a golden file."""
    for line in gzip.decompress((GOLDEN / name).read_bytes()).decode().splitlines():
        yield json.loads(line)


def build(scenario: dict[str, Any]) -> Pattern:
    """The pattern of a scenario."""
    kind, *name = scenario["skip"]
    throws = name[1:] == ["throw"]
    strategy = getattr(AfterMatchSkipStrategy, kind)(*name[:1])
    return _stages(scenario["pattern"], strategy.throw_exception_on_miss() if throws else strategy)


def _stages(stages: list[dict[str, Any]], strategy: AfterMatchSkipStrategy) -> Pattern:
    pattern: Pattern | None = None
    for stage in stages:
        group = stage.get("group")
        added = stage["name"] if group is None else _stages(group, AfterMatchSkipStrategy.no_skip())
        pattern = Pattern.begin(added, strategy) if pattern is None else getattr(pattern, stage["how"])(added)
        _settle(pattern, stage)
    assert pattern is not None
    return pattern


def _settle(pattern: Pattern, stage: dict[str, Any]) -> None:
    if "where" in stage:
        pattern.where(condition(stage["where"]))
    if "or_more" in stage:
        pattern.times_or_more(stage["or_more"], stage.get("times_window"))
    elif "times" in stage:
        pattern.times(*stage["times"], stage.get("times_window"))
    for setting in stage.get("settings", ()):
        getattr(pattern, setting)()
    if "until" in stage:
        pattern.until(condition(stage["until"]))
    if "within" in stage:
        pattern.within(stage["within"])
    if "within_previous" in stage:
        pattern.within(stage["within_previous"], WithinType.PREVIOUS_AND_CURRENT)


def condition(where: dict[str, Any]) -> Any:
    """A condition: letters that an event may begin with, events that were accepted, or answers that were recorded."""
    if "accepts" in where:
        return set(where["accepts"]).__contains__
    if "answers" in where:
        return _Answers(where["answers"])
    letters = set(where["letters"])
    if "fewer_than" not in where:
        return lambda event: event[0] in letters
    stage, limit = where["fewer_than"]
    return lambda event, ctx: event[0] in letters and len(ctx.get_events_for_pattern(stage)) < limit


class _Answers:
    """What an iterative condition of Flink's tests said, by event and by what it was told of other stages."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = {(event, _key(asked)): answer for event, asked, answer in answers}
        self._asked = {tuple(sorted(asked)) for _, asked, _ in answers}

    def __call__(self, event: Any, ctx: Any) -> bool:
        for names in self._asked:
            told = (event, _key({name: list(ctx.get_events_for_pattern(name)) for name in names}))
            if told in self._answers:
                return bool(self._answers[told])
        raise AssertionError(f"Flink never asked about {event} here")


def _key(asked: dict[str, Any]) -> str:
    return json.dumps(asked, sort_keys=True)


def run(automaton: Automaton, events: list[Any]) -> list[Any]:
    """Per event: matches by time, timeouts, matches by the event; [value, time], or [None, time] for time alone."""
    matches, buffer = automaton.begin(), MemoryBuffer()
    steps = []
    for value, time, *advance in events:
        by_time, timed_out = ([], []) if advance == [False] else automaton.advance_time(matches, time, buffer)
        found: list[Any] = []
        if value is not None:
            event = EventInWork(value, time, buffer, lambda: 0)
            found = automaton.process(matches, event, buffer)
            event.done()
        steps.append([by_time, [[each.match, each.timestamp] for each in timed_out], found])
        check(automaton, matches, buffer)
    return steps


def check(automaton: Automaton, matches: Any, buffer: MemoryBuffer) -> None:
    """The buffer holds what open matches need, and nothing else."""
    needed: dict[int, int] = {}
    for partial in (*matches.partial, *matches.complete):
        if partial[2] is not None:
            needed[partial[2]] = needed.get(partial[2], 0) + 1
    for node in buffer.nodes.values():
        if node[2] is not None:
            needed[node[2]] = needed.get(node[2], 0) + 1
    assert {number: node[3] for number, node in buffer.nodes.items()} == needed
    events: dict[int, int] = {}
    for node in buffer.nodes.values():
        events[node[0]] = events.get(node[0], 0) + 1
    assert {number: event[2] for number, event in buffer.events.items()} == events
