"""The automaton that finds patterns: no streams, no state backend, no clock in it.

This is the door for whoever wants to match patterns without a DataStream: tests, tools, SQL's MATCH_RECOGNIZE. ::

    automaton = compile_pattern(pattern)
    matches, buffer = automaton.begin(), MemoryBuffer()
    for value, timestamp in events:
        complete, timed_out = automaton.advance_time(matches, timestamp, buffer)
        event = EventInWork(value, timestamp, buffer, lambda: 0)
        complete += automaton.process(matches, event, buffer)
        event.done()

:class:`Matcher` is the same in one object.
"""

from __future__ import annotations

from firesteel.cep.automaton.automaton import Automaton, EventInWork, Match, Matches, TimedOut
from firesteel.cep.automaton.buffer import EventBuffer, MemoryBuffer
from firesteel.cep.automaton.compiler import compile_pattern
from firesteel.cep.automaton.matcher import Matcher
from firesteel.cep.automaton.states import Action, State, StateKind, Transition

__all__ = [
    "Action",
    "Automaton",
    "EventBuffer",
    "EventInWork",
    "Match",
    "Matcher",
    "Matches",
    "MemoryBuffer",
    "State",
    "StateKind",
    "TimedOut",
    "Transition",
    "compile_pattern",
]
