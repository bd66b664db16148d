"""What the operator keeps per key, in keyed state.

===============  ===========================================================================================
``_cep/waiting``  events that the watermark has not reached: timestamp -> events, in order of arrival
``_cep/events``   events that open matches need: number -> (event, timestamp, how many nodes need it)
``_cep/nodes``    the paths of open matches: number -> (event's number, stage, node before, how many need it)
``_cep/matches``  (next number, {pattern: (partial matches, complete matches that wait)})
===============  ===========================================================================================
"""

from __future__ import annotations

from typing import Any

from firesteel.cep.automaton import Automaton, EventBuffer, Matches
from firesteel.cep.automaton.buffer import Event, Node
from firesteel.state.backend import KeyedStateBackend, map_table, value_table


class KeyedBuffer(EventBuffer):
    """The event buffer of the key in work."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        super().__init__()
        self._nodes = map_table(backend, "_cep/nodes")
        self._events = map_table(backend, "_cep/events")
        self.key: Any = None

    def stored_node(self, number: int) -> Node:
        """A node that is kept."""
        node: Node = self._nodes.entries[self.key][number]
        return node

    def store_node(self, number: int, node: Node) -> None:
        """Keep a node."""
        self._nodes.put(self.key, number, node)

    def drop_node(self, number: int) -> None:
        """Forget a node."""
        self._nodes.remove_key(self.key, number)

    def stored_event(self, number: int) -> Event:
        """An event that is kept."""
        event: Event = self._events.entries[self.key][number]
        return event

    def store_event(self, number: int, event: Event) -> None:
        """Keep an event."""
        self._events.put(self.key, number, event)

    def drop_event(self, number: int) -> None:
        """Forget an event."""
        self._events.remove_key(self.key, number)


class KeyedMatches:
    """Where each key stands with each pattern. One key is in work at a time: :meth:`load`, then :meth:`store`."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._table = value_table(backend, "_cep/matches")
        self.buffer = KeyedBuffer(backend)
        self.waiting = map_table(backend, "_cep/waiting")
        self._known: dict[str, Matches] = {}
        self._before: dict[str, tuple[list[Any], list[Any]]] = {}
        self._stored = False

    def load(self, key: Any) -> bool:
        """Take a key in work. Returns whether a match is open for it."""
        buffer = self.buffer
        buffer.key = key
        stored = self._table.entries.get(key)
        self._known = {}
        if stored is None:
            self._stored = False
            buffer.next_number = 0
            self._before = {}
        else:
            self._stored = True
            buffer.next_number, self._before = stored
        return self._stored

    def is_open(self, key: Any) -> bool:
        """Whether a match is open for a key."""
        return key in self._table.entries

    def of(self, name: str, automaton: Automaton) -> Matches:
        """Where the key in work stands with a pattern."""
        found = self._known.get(name)
        if found is None:
            before = self._before.get(name)
            # The heap of complete matches is changed in place; that of partial ones never is.
            found = automaton.begin() if before is None else Matches(before[0], list(before[1]))
            self._known[name] = found
        return found

    def store(self) -> None:
        """Keep where the key in work stands now."""
        after = {name: entry for name, entry in self._before.items() if name not in self._known}
        for name, matches in self._known.items():
            if not matches.idle:
                after[name] = (matches.partial, matches.complete)
        if after:
            self._table.put(self.buffer.key, (self.buffer.next_number, after))
        elif self._stored:
            self._table.remove(self.buffer.key)

    def open_keys(self) -> list[Any]:
        """All keys for which a match is open."""
        return list(self._table.entries)

    def forget(self, name: str) -> None:
        """The key in work has nothing to do with a pattern any more, whose matches have been released."""
        if name in self._before:
            after = {each: entry for each, entry in self._before.items() if each != name}
            if after:
                self._table.put(self.buffer.key, (self.buffer.next_number, after))
            else:
                self._table.remove(self.buffer.key)
