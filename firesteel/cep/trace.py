"""A trace: for an event of a key, which partial matches are open and what the event does to each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.cep.automaton import Action, Automaton, EventBuffer, EventInWork, Matches, StateKind
from firesteel.cep.conditions import describe, holds
from firesteel.model.output_tag import OutputTag


@dataclass(frozen=True)
class TracedPartial:
    """One open partial match as an event finds it.

    :param taken: The events it has taken, by stage.
    :param waits_for: The stages whose events it could take next.
    :param outcome: What the event does to it: ``"takes"``, ``"ignores"``, ``"given up"`` or, before it has begun,
        ``"does not begin"``.
    :param reasons: Each condition that was asked, and its answer.
    """

    taken: dict[str, list[Any]]
    waits_for: list[str]
    outcome: str
    reasons: list[str]

    def __str__(self) -> str:
        taken = ", ".join(f"{stage}={events!r}" for stage, events in self.taken.items()) or "nothing yet"
        waits = " or ".join(self.waits_for) or "the end of its window"
        return f"[{taken}] waits for {waits}: {self.outcome}" + "".join(f"\n    {reason}" for reason in self.reasons)


@dataclass(frozen=True)
class TraceRecord:
    """What one event met: an entry of the trace."""

    key: Any
    pattern: str
    event: Any
    timestamp: int
    partial_matches: list[TracedPartial]

    def __str__(self) -> str:
        open_matches = "\n  ".join(str(each) for each in self.partial_matches)
        return f"{self.pattern}, key {self.key!r}, {self.timestamp}: {self.event!r}\n  {open_matches}"


@dataclass(frozen=True)
class Tracer:
    """Which keys are traced, and where to.

    :param keys: None: all of them.
    """

    tag: OutputTag
    keys: frozenset[Any] | None = None

    def wants(self, key: Any) -> bool:
        """Whether a key is traced."""
        return self.keys is None or key in self.keys

    @staticmethod
    def look(
        key: Any, name: str, automaton: Automaton, matches: Matches, event: EventInWork, buffer: EventBuffer
    ) -> TraceRecord:
        """What the event is about to do. Conditions are asked, nothing is changed."""
        partial = sorted(matches.partial, key=lambda each: each[0])
        looks = [_look(automaton, each[1], each[2], event, buffer) for each in partial]
        return TraceRecord(key, name, event.value, event.timestamp(), looks)


def _look(
    automaton: Automaton, number: int, node: int | None, event: EventInWork, buffer: EventBuffer
) -> TracedPartial:
    event.look_from(node)
    waits: list[str] = []
    reasons: list[str] = []
    actions: set[str] = set()
    states = [automaton.states[number]]
    while states:
        state = states.pop()
        for transition in state.transitions:
            stops = transition.target.kind is StateKind.STOP
            answer = holds(transition.condition, event.value, event)
            if transition.action is Action.TAKE and state.kind is not StateKind.STOP and state.stage not in waits:
                waits.append(state.stage)
            if transition.action is not Action.IGNORE or answer:
                what = f"{'exclude by' if stops else transition.action.value} {state.stage!r}"
                reasons.append(f"{what}: {describe(transition.condition)} is {answer}")
            if answer and (stops or transition.action is not Action.PROCEED):
                actions.add("stop" if stops else transition.action.value)
            elif answer:
                states.append(transition.target)
    return TracedPartial(buffer.match(node), waits, _outcome(actions, node is None), reasons)


def _outcome(actions: set[str], begins: bool) -> str:
    if "stop" in actions:
        return "given up"
    if "take" in actions:
        return "takes" if not begins else "begins"
    if begins:
        return "does not begin"
    return "ignores" if "ignore" in actions else "given up"
