"""The events that open matches need, each stored once, whatever number of matches and patterns share it.

A match is a path of *nodes*: each node knows the event that was taken, the stage that took it, and the node before it.
Partial matches that part ways share the nodes up to there. Nodes and events count who needs them, and go with the last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

Node = tuple[int, str, "int | None", int]
"""(number of the event, stage, number of the node before or None, how many need it)"""
Event = tuple[Any, int, int]
"""(value, timestamp, how many nodes need it)"""


class EventBuffer(ABC):
    """Nodes and events of one key. Subclasses say where they are kept; this class counts who needs them.

    What is made while an event is in work is held back until :meth:`commit`: much of it is gone by then.

    :ivar next_number: What the next node or event is called; to be kept with the rest.
    """

    next_number: int = 0

    def __init__(self) -> None:
        self._new_nodes: dict[int, Node] = {}
        self._new_events: dict[int, Event] = {}

    @abstractmethod
    def stored_node(self, number: int) -> Node:
        """A node that is kept."""

    @abstractmethod
    def store_node(self, number: int, node: Node) -> None:
        """Keep a node."""

    @abstractmethod
    def drop_node(self, number: int) -> None:
        """Forget a node."""

    @abstractmethod
    def stored_event(self, number: int) -> Event:
        """An event that is kept."""

    @abstractmethod
    def store_event(self, number: int, event: Event) -> None:
        """Keep an event."""

    @abstractmethod
    def drop_event(self, number: int) -> None:
        """Forget an event."""

    def node(self, number: int) -> Node:
        """A node."""
        return self._new_nodes.get(number) or self.stored_node(number)

    def event(self, number: int) -> Event:
        """An event."""
        return self._new_events.get(number) or self.stored_event(number)

    def add_event(self, value: Any, timestamp: int) -> int:
        """A new event, needed by the one who adds it."""
        number = self.next_number
        self.next_number = number + 1
        self._new_events[number] = (value, timestamp, 1)
        return number

    def add_node(self, event_number: int, stage: str, before: int | None, needed_by: int) -> int:
        """A new node for the event in work. The node before it must have been told (:meth:`need`)."""
        value, timestamp, needed = self._new_events[event_number]
        self._new_events[event_number] = (value, timestamp, needed + 1)
        number = self.next_number
        self.next_number = number + 1
        self._new_nodes[number] = (event_number, stage, before, needed_by)
        return number

    def need(self, number: int, more: int) -> None:
        """So many more need a node."""
        event_number, stage, before, needed = self.node(number)
        self._put_node(number, (event_number, stage, before, needed + more))

    def release(self, number: int | None) -> None:
        """One that needed a node does not need it any more."""
        while number is not None:
            event_number, stage, before, needed = self.node(number)
            if needed > 1:
                self._put_node(number, (event_number, stage, before, needed - 1))
                return
            if self._new_nodes.pop(number, None) is None:
                self.drop_node(number)
            self.release_event(event_number)
            number = before

    def release_event(self, number: int) -> None:
        """One that needed an event does not need it any more."""
        value, timestamp, needed = self.event(number)
        if needed > 1:
            event = (value, timestamp, needed - 1)
            if number in self._new_events:
                self._new_events[number] = event
            else:
                self.store_event(number, event)
        elif self._new_events.pop(number, None) is None:
            self.drop_event(number)

    def _put_node(self, number: int, node: Node) -> None:
        if number in self._new_nodes:
            self._new_nodes[number] = node
        else:
            self.store_node(number, node)

    def commit(self) -> None:
        """All has been done with an event: keep what is left of what it brought."""
        if self._new_nodes:
            for number, node in self._new_nodes.items():
                self.store_node(number, node)
            self._new_nodes.clear()
        if self._new_events:
            for number, event in self._new_events.items():
                self.store_event(number, event)
            self._new_events.clear()

    def path(self, number: int | None) -> list[tuple[str, int]]:
        """The stages and event numbers of a match from its first event to its last."""
        found: list[tuple[str, int]] = []
        while number is not None:
            event_number, stage, number, _ = self.node(number)
            found.append((stage, event_number))
        found.reverse()
        return found

    def match(self, number: int | None) -> dict[str, list[Any]]:
        """The events of a match by stage, stages in the order in which they took their first event."""
        found: dict[str, list[Any]] = {}
        for stage, event_number in self.path(number):
            value = self.event(event_number)[0]
            events = found.get(stage)
            if events is None:
                found[stage] = [value]
            else:
                events.append(value)
        return found

    def keys(self, number: int | None) -> dict[str, list[tuple[int, int]]]:
        """The same with the places of the events, (timestamp, number), instead of themselves."""
        found: dict[str, list[tuple[int, int]]] = {}
        for stage, event_number in self.path(number):
            found.setdefault(stage, []).append((self.event(event_number)[1], event_number))
        return found


class MemoryBuffer(EventBuffer):
    """A buffer in dicts: for tests, for looking into patterns, and for matching outside of a job."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[int, Node] = {}
        self.events: dict[int, Event] = {}

    def stored_node(self, number: int) -> Node:
        """A node that is kept."""
        return self.nodes[number]

    def store_node(self, number: int, node: Node) -> None:
        """Keep a node."""
        self.nodes[number] = node

    def drop_node(self, number: int) -> None:
        """Forget a node."""
        del self.nodes[number]

    def stored_event(self, number: int) -> Event:
        """An event that is kept."""
        return self.events[number]

    def store_event(self, number: int, event: Event) -> None:
        """Keep an event."""
        self.events[number] = event

    def drop_event(self, number: int) -> None:
        """Forget an event."""
        del self.events[number]
