"""The automaton as a graph: states, and what an event may do to a partial match that waits in one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from firesteel.cep.conditions import IterativeCondition


class Action(Enum):
    """What a transition does with the event."""

    TAKE = "take"
    """The event becomes part of the match."""
    IGNORE = "ignore"
    """The event is passed over."""
    PROCEED = "proceed"
    """The event is looked at again in another state."""


class StateKind(Enum):
    """What a state means."""

    START = "start"
    NORMAL = "normal"
    PENDING = "pending"
    """The match is complete once time runs out."""
    STOP = "stop"
    """The partial match is given up."""
    FINAL = "final"
    """The match is complete."""


@dataclass(eq=False)
class Transition:
    """From a state to a state, for events for which the condition holds."""

    source: State
    action: Action
    target: State
    condition: IterativeCondition


@dataclass(eq=False)
class State:
    """Where a partial match waits for the next event.

    :param name: Unique: the stage's name, with a number behind it for all but one of its states.
    :param stage: The stage that events taken here belong to.
    """

    name: str
    stage: str
    kind: StateKind
    transitions: list[Transition] = field(default_factory=list, repr=False)

    def add(self, action: Action, target: State, condition: IterativeCondition) -> None:
        """Add a transition."""
        self.transitions.append(Transition(self, action, target, condition))

    def take(self, target: State, condition: IterativeCondition) -> None:
        """Take events for which the condition holds."""
        self.add(Action.TAKE, target, condition)

    def ignore(self, target: State, condition: IterativeCondition) -> None:
        """Pass over events for which the condition holds."""
        self.add(Action.IGNORE, target, condition)

    def proceed(self, target: State, condition: IterativeCondition) -> None:
        """Look at the event again in another state if the condition holds."""
        self.add(Action.PROCEED, target, condition)
