"""A pattern looked for in a list of events, in memory."""

from __future__ import annotations

from typing import Any

from firesteel.cep.automaton.automaton import Automaton, EventInWork, Match, TimedOut
from firesteel.cep.automaton.buffer import MemoryBuffer


class Matcher:
    """Looks for a pattern in the events of one key, one after the other, in order of time.

    ::

        matcher = Matcher(pattern.compile())
        for event in events:
            for match in matcher.process(event, event.time):
                print(match["large"])

    :ivar timed_out: Partial matches that ran out of time, if the automaton was made to tell of them.
    """

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.matches = automaton.begin()
        self.buffer = MemoryBuffer()
        self.timed_out: list[TimedOut] = []
        self.now = 0

    def process(self, value: Any, timestamp: int) -> list[Match]:
        """Take the next event; returns the matches that are complete with it or by its time."""
        found = self.advance_time(timestamp)
        event = EventInWork(value, timestamp, self.buffer, lambda: self.now)
        found.extend(self.automaton.process(self.matches, event, self.buffer))
        event.done()
        return found

    def advance_time(self, timestamp: int) -> list[Match]:
        """Time has come so far; returns the matches that are complete by that."""
        found, timed_out = self.automaton.advance_time(self.matches, timestamp, self.buffer)
        self.timed_out.extend(timed_out)
        return found
