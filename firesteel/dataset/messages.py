"""Iterations in which records send each other messages along edges: what graph iterations are made of.

Records are pairs of a key and a value. In a superstep those that are awake *send* messages, which are *combined* for
each receiver and brought to it, and those that get messages *receive* them and may change. A program that sends while
it receives, as Pregel's do, has no part that sends.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from firesteel.dataset.data_set import DataSet
from firesteel.dataset.functions import Aggregator, ConvergenceCriterion, Function
from firesteel.dataset.iteration import check_iterations
from firesteel.dataset.plan.nodes import MessageIterationNode, MessagePartNode
from firesteel.plan.graph import user_call_site

__all__ = ["UNCHANGED", "Around", "Combiner", "Messages", "Outbox", "Part", "Receiver", "Sender", "iterate_messages"]

UNCHANGED: Any = object()
"""What a receiver returns for a record that stays as it is."""

Outbox = dict[Any, list[Any]]
"""Messages by receiver; has an empty list for whoever is asked for."""

Others = Mapping[Any, list[Any]]


class Around:
    """The edges of the record that is having its turn."""

    __slots__ = ("_others", "_outgoing", "_values", "key")

    def __init__(self, others: Others, values: Others | None, outgoing: Others | bool) -> None:
        self._others = others
        self._values = values
        self._outgoing = outgoing
        self.key: Any = None

    def others(self) -> list[Any]:
        """The keys at the other ends of its edges."""
        return self._others.get(self.key) or []

    def values(self) -> list[Any]:
        """The values of its edges, in the same order."""
        others = self.others()
        return [None] * len(others) if self._values is None or not others else self._values[self.key]

    def edges(self) -> list[tuple[Any, Any, Any]]:
        """Its edges, as ``(source, target, value)``."""
        own, others, values = self.key, self.others(), self.values()
        if self._outgoing is True:
            return [(own, other, value) for other, value in zip(others, values)]
        outgoing = [] if not others or self._outgoing is False else self._outgoing[own]
        return [
            (own, other, value) if is_outgoing else (other, own, value)
            for other, value, is_outgoing in zip(others, values, outgoing or [False] * len(others))
        ]


class Receiver(Function):
    """What becomes of a record that gets messages."""

    def begin(self, around: Around, outbox: Outbox) -> None:
        """Called once per task and superstep, with what holds while the records of the task have their turns."""
        return None

    @abstractmethod
    def receive(self, key: Any, value: Any, messages: list[Any]) -> Any:
        """The new value of a record, or UNCHANGED."""

    def receive_for_nobody(self, key: Any) -> None:
        """Called for a key that has messages, but no record."""
        return None


class Sender(Function):
    """What a record that is awake sends: each in the first superstep, later those that have changed."""

    def begin(self, around: Around, outbox: Outbox) -> None:
        """Called once per task and superstep, with what holds while the records of the task have their turns."""
        return None

    @abstractmethod
    def send(self, key: Any, value: Any) -> None:
        """Put messages into the outbox."""


class Combiner(Function):
    """Makes one message of several to the same record, before they are sent, and again where they arrive."""

    @abstractmethod
    def combine(self, messages: list[Any]) -> Any:
        """One message of two or more."""


@dataclass(frozen=True)
class Part:
    """One of the functions of an iteration, with its name and what it may ask for."""

    name: str
    function: Any
    broadcast: Mapping[str, DataSet] = field(default_factory=dict)

    def node(self) -> MessagePartNode:
        """As a node of the plan."""
        broadcast = {name: data.node for name, data in self.broadcast.items()}
        return MessagePartNode(self.name, user_call_site(), broadcast=broadcast, function=self.function)


@dataclass(frozen=True)
class Messages:
    """How records send each other messages.

    :param along: Whether messages go along edges from source to target, and whether from target to source.
    :param everyone: Whether all records receive in every superstep, those without messages too. It then goes on to the
        last superstep, or to the criterion.
    :param sends_at_once: Whether what is sent in a superstep may be decided before all have received in the one before:
        true for a sender that does the same whatever the others do.
    """

    receive: Part
    send: Part | None = None
    combine: Part | None = None
    along: tuple[bool, bool] = (True, False)
    everyone: bool = False
    sends_at_once: bool = False
    aggregators: dict[str, Aggregator] = field(default_factory=dict)
    convergence: tuple[str, ConvergenceCriterion] | None = None


def iterate_messages(
    records: DataSet, edges: DataSet, messages: Messages, most: int, name: str, parallelism: int | None = None
) -> DataSet:
    """The records after the last superstep.

    :param records: ``(key, value)``.
    :param edges: ``(source, target, value)``.
    :param most: At most so many supersteps; it ends when there are no more messages.
    """
    node = MessageIterationNode(
        name,
        user_call_site(),
        (records.node, edges.node),
        parallelism=parallelism,
        receive=messages.receive.node(),
        send=None if messages.send is None else messages.send.node(),
        combine=None if messages.combine is None else messages.combine.node(),
        along=messages.along,
        everyone=messages.everyone,
        sends_at_once=messages.sends_at_once,
        max_iterations=check_iterations(name, most),
        aggregators=messages.aggregators,
        convergence=messages.convergence,
    )
    return DataSet(records.get_execution_environment(), node)
