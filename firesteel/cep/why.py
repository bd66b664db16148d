"""Why a match is one: the way of its events through the automaton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firesteel.cep.automaton import Action, Automaton, EventInWork, MemoryBuffer, State, StateKind
from firesteel.cep.conditions import IterativeCondition, describe, holds
from firesteel.errors import ProgramError

if TYPE_CHECKING:
    from firesteel.cep.pattern import Pattern


@dataclass(frozen=True)
class _Step:
    """One event that was taken."""

    stage: str
    event: Any
    condition: IterativeCondition
    passed: tuple[str, ...]
    """Stages that were left out on the way here."""


def why(pattern: Pattern, match: Mapping[str, Any]) -> str:
    """How the events of a match went through the automaton of the pattern, as text."""
    automaton = pattern.compile()
    unknown = set(match) - {state.stage for state in automaton.states}
    if unknown:
        raise ProgramError(f"why: the pattern has no stage {sorted(unknown)[0]!r}, so this is no match of it.")
    steps = _search(automaton, {stage: list(events) for stage, events in match.items()})
    if steps is None:
        raise ProgramError(
            f"why: no way through the pattern takes these events: {dict(match)!r:.200}. Is it a match of this pattern?"
        )
    return "\n".join(_lines(pattern, steps))


def _lines(pattern: Pattern, steps: list[_Step]) -> list[str]:
    contiguity = {stage.get_name(): stage.get_quantifier() for stage in _all(pattern)}
    lines: list[str] = []
    before: str | None = None
    for number, step in enumerate(steps, start=1):
        quantifier = contiguity[step.stage]
        between = quantifier.inner if step.stage == before else quantifier.contiguity
        how = "begins with" if number == 1 else f"{between.value}:"
        lines += [f"   {stage!r} was left out" for stage in step.passed if stage not in (step.stage, before)]
        lines.append(f"{number}. {how} {step.event!r}, taken by {step.stage!r}: {describe(step.condition)} holds")
        before = step.stage
    return lines


def _all(pattern: Pattern) -> list[Pattern]:
    from firesteel.cep.pattern import GroupPattern

    found: list[Pattern] = []
    for stage in pattern.stages():
        found += _all(stage.get_raw_pattern()) if isinstance(stage, GroupPattern) else [stage]
    return found


def _search(automaton: Automaton, left: dict[str, list[Any]]) -> list[_Step] | None:
    """A way that takes exactly these events, those of each stage in their order."""
    buffer = MemoryBuffer()

    def from_state(state: State, node: int | None, left: dict[str, list[Any]], passed: tuple[str, ...]) -> Any:
        if not any(left.values()) and _may_end(state, set()):
            return []
        for transition in state.transitions:
            target = transition.target
            if target.kind is StateKind.STOP:
                continue
            if transition.action is Action.TAKE:
                found = take(state, transition.condition, target, node, left, passed)
            elif transition.action is Action.PROCEED and target.name not in passed:
                found = from_state(target, node, left, (*passed, state.stage, target.name))
            elif target is not state and transition.action is Action.IGNORE:
                found = from_state(target, node, left, passed)
            else:
                found = None
            if found is not None:
                return found
        return None

    def take(state: State, condition: Any, target: State, node: int | None, left: Any, passed: Any) -> Any:
        if not left.get(state.stage):
            return None
        value, *rest = left[state.stage]
        event = EventInWork(value, 0, buffer, lambda: 0)
        event.look_from(node)
        if not holds(condition, value, event):
            return None
        taken = buffer.add_node(event.number(), state.stage, node, 1)
        found = from_state(target, taken, {**left, state.stage: rest}, ())
        return None if found is None else [_Step(state.stage, value, condition, tuple(dict.fromkeys(passed))), *found]

    found: list[_Step] | None = from_state(automaton.states[automaton.start], None, left, ())
    return found


def _may_end(state: State, seen: set[str]) -> bool:
    """Whether a match may be complete here: at the end, or where only things that must not come are waited for."""
    if state.kind in (StateKind.FINAL, StateKind.PENDING):
        return True
    seen.add(state.name)
    return any(
        (each.action is Action.PROCEED or each.target.kind is StateKind.FINAL)
        and each.action is not Action.TAKE
        and each.target.name not in seen
        and _may_end(each.target, seen)
        for each in state.transitions
    )
