"""The loop of a slot process while it takes part in direct exchange: a member of the job, as the conductor sees it."""

from __future__ import annotations

import logging
import queue
import selectors
import socket
import time
from dataclasses import dataclass
from typing import Any

from firesteel.execution.direct.door import Address, Door, Pass, dial
from firesteel.execution.direct.lines import Line, LineLostError
from firesteel.execution.direct.slot_flow import Message, SlotFlow, SlotOrder
from firesteel.execution.host import SubtaskHost

log = logging.getLogger("firesteel.direct")

_JOIN_SECONDS = 60.0
_SHORTEST_WAIT, _LONGEST_WAIT = 0.0003, 0.002
"""How long a slot sleeps that finds nothing to do within an epoch, before it asks its sources again."""
_WISH_SECONDS = 0.01
"""How long what waits for the end of an epoch may wait at least: an epoch for every record would be dear."""


@dataclass(frozen=True)
class Membership:
    """What a slot has to know to take part.

    :param clock_stands: Processing time does not go on within an epoch, because a test moves it.
    :param driver_machine: Where the driver is: slots on the same machine share its monotonic clock.
    """

    slots: int
    conductor: Address
    ticket: Pass
    ports: range
    window: int
    clock_stands: bool = False
    driver_machine: str = ""


@dataclass(frozen=True)
class Place:
    """Where a slot is.

    :param folder: For its Unix socket.
    :param name: The name of its Unix socket.
    :param host: The name by which other hosts reach this one; None where nobody has to.
    """

    slot: int
    folder: str
    name: str
    host: str | None


class Member:
    """Takes part in one run of a job, until the conductor lets it go.

    :param widths: How many subtasks each level has.
    """

    def __init__(self, membership: Membership, place: Place, host: SubtaskHost, widths: tuple[int, ...]) -> None:
        self._membership, self._place = membership, place
        self._selector = selectors.DefaultSelector()
        self._arrivals: queue.SimpleQueue[tuple[Line, list[Any]]] = queue.SimpleQueue()
        self._lines: dict[int, Line] = {}
        self._flow = SlotFlow(
            place.slot, membership.slots, widths, host, membership.window, self._send, time.perf_counter
        )
        self._door = Door(membership.ticket, lambda line, first: self._arrivals.put((line, first)))
        self._conductor: Line | None = None
        self._early: list[Message] = []
        """Orders that came before all were there."""
        self._running = False
        self._epoch = 0
        self._told: set[str] = set()
        self._began = 0.0
        self._now_at_beginning = 0
        self._now_read_at = 0.0
        self._machine = machine()
        self._broken = False
        self._released = False

    def take_part(self) -> None:
        """Meet the others, and run epochs until let go. Raises :class:`LineLostError` if the driver has gone."""
        try:
            self._meet()
            self._loop()
        finally:
            self._door.close()
            self._selector.close()
            for line in (*self._lines.values(), *([] if self._conductor is None else [self._conductor])):
                line.close()

    # ---- meeting -----------------------------------------------------------------------------------------------

    def _meet(self) -> None:
        membership, place = self._membership, self._place
        self._door.listen_in_folder(place.folder, place.name)
        if place.host is not None:
            self._door.listen_on_port(place.host, membership.ports)
        hello = ("joined", place.slot, self._door.address, self._machine)
        self._conductor = dial(membership.conductor, membership.ticket, hello, same_host=False)
        peers = self._wait_for_peers()
        for slot, (address, other_machine) in peers.items():
            if slot > place.slot:
                first = ("peer", place.slot)
                self._lines[slot] = dial(address, membership.ticket, first, same_host=other_machine == self._machine)
        while len(self._lines) < membership.slots - 1:
            line, ((_, slot), *early) = self._arrivals.get(timeout=_JOIN_SECONDS)
            self._lines[slot] = line
            for message in early:  # who was quicker has begun the first epoch already
                self._flow.receive(slot, message)
        self._selector.register(self._conductor, selectors.EVENT_READ, None)
        for slot, line in self._lines.items():
            self._selector.register(line, selectors.EVENT_READ, slot)
        for message in self._early:
            self._obey(message)

    def _wait_for_peers(self) -> dict[int, tuple[Address, str]]:
        assert self._conductor is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._conductor, selectors.EVENT_READ)
            while True:
                if not selector.select(_JOIN_SECONDS):
                    raise LineLostError("the driver does not say who else takes part")
                first, *self._early = self._conductor.receive() or [("nothing",)]
                if first[0] == "leave":
                    raise LineLostError("the driver has given up before all were there")
                if first[0] == "peers":
                    peers: dict[int, tuple[Address, str]] = first[1]
                    return peers

    # ---- epochs ------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        wait = _SHORTEST_WAIT
        worked = False
        while not self._released:
            timeout = (0 if worked else wait) if self._running else None
            for key, events in self._selector.select(timeout):
                self._attend(key, events)
            if self._running:
                worked = self._step()
                wait = _SHORTEST_WAIT if worked else min(wait * 1.5, _LONGEST_WAIT)

    def _attend(self, key: selectors.SelectorKey, events: int) -> None:
        line: Any = key.fileobj
        try:
            if events & selectors.EVENT_WRITE:
                line.flush()
                self._watch(line, key.data)
            if events & selectors.EVENT_READ:
                for message in line.receive():
                    if key.data is None:
                        self._obey(message)
                    else:
                        self._flow.receive(key.data, message)
        except LineLostError:
            if key.data is None:
                raise
            self._selector.unregister(line)  # the driver learns that from Spark; nothing can be done here until then
            self._broken, self._running = True, False

    def _obey(self, message: Message) -> None:
        if message[0] == "epoch":
            order: SlotOrder = message[1]
            self._epoch, self._told = order.epoch, set()
            self._began = time.monotonic()
            self._set_clock(order)
            self._running = not self._broken
            self._flow.begin(order)
        elif message[0] == "stop":
            if message[1] == self._epoch:
                self._flow.stop()
        elif message[0] == "leave":
            self._released, self._running = True, False

    def _step(self) -> bool:
        now = self._now()
        worked = self._flow.step(now)
        if self._flow.failure is not None:
            self._running = False
            self._tell(("failed", self._epoch, self._flow.failure))
        elif self._flow.done:
            self._running = False
            self._tell(("results", self._epoch, self._flow.results))
        elif "exhausted" not in self._told and self._flow.exhausted:
            self._told.add("exhausted")
            self._tell(("exhausted", self._epoch))
        elif "wish" not in self._told and self._wishes(now):
            self._told.add("wish")
            self._tell(("wish", self._epoch))
        return worked

    def _wishes(self, now: int) -> bool:
        return time.monotonic() - self._began > _WISH_SECONDS and self._flow.wants_end(now)

    def _set_clock(self, order: SlotOrder) -> None:
        """Take over the driver's processing time; on another machine, how old it is cannot be known."""
        shared = order.now_read_at is not None and self._membership.driver_machine == self._machine
        self._now_at_beginning = order.now
        self._now_read_at = order.now_read_at if shared and order.now_read_at is not None else self._began

    def _now(self) -> int:
        """Processing time: the driver's, and what has passed since it was read there, or came here."""
        if self._membership.clock_stands:
            return self._now_at_beginning
        return self._now_at_beginning + int((time.monotonic() - self._now_read_at) * 1000)

    # ---- sending -----------------------------------------------------------------------------------------------

    def _send(self, slot: int, message: Message) -> None:
        line = self._lines[slot]
        try:
            line.send(message)
        except LineLostError:
            self._broken, self._running = True, False
            return
        if line.waits:
            self._watch(line, slot)

    def _tell(self, message: Message) -> None:
        assert self._conductor is not None
        self._conductor.send(message)
        if self._conductor.waits:
            self._watch(self._conductor, None)

    def _watch(self, line: Line, data: int | None) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if line.waits else 0)
        if self._selector.get_key(line).events != events:
            self._selector.modify(line, events, data)


def machine() -> str:
    """What tells hosts apart that have the same name, and containers on one host."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{socket.gethostname()} {file.read().strip()}"
    except OSError:
        return socket.gethostname()
