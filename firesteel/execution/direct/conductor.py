"""The driver's side of direct exchange: waits for the members, orders epochs, ends them, and takes the results."""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import time
from collections.abc import Callable
from typing import Any

from firesteel.execution.direct.door import Address, Door, Pass
from firesteel.execution.direct.lines import Line, LineLostError
from firesteel.execution.direct.slot_flow import SlotOrder
from firesteel.execution.results import LevelResult

_POLL_SECONDS = 0.2
_SECONDS_FOR_SPARK = 5.0
"""How long Spark may take to notice that a slot has died, whose line is closed already: it knows why."""


class MemberLostError(Exception):
    """A member has gone in the middle of the job."""


class Conductor:
    """Conducts one run of a job.

    :param host: Where to listen.
    :param check: Called now and then while waiting; raises if there is nothing to wait for.
    """

    def __init__(self, slots: int, ticket: Pass, host: str, ports: range, check: Callable[[], None]) -> None:
        self._slots = slots
        self._check = check
        self._arrivals: queue.SimpleQueue[tuple[Line, list[Any]]] = queue.SimpleQueue()
        self._lines: dict[int, Line] = {}
        self._selector = selectors.DefaultSelector()
        self._awake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._awake, selectors.EVENT_READ, None)
        self._door = Door(ticket, lambda line, first: self._arrivals.put((line, first)))
        self._door.listen_on_port(host, ports)
        self._woken = False

    @property
    def address(self) -> Address:
        """Where members find it."""
        return self._door.address

    def wake(self) -> None:
        """Have the running epoch end soon: the driver has something else to do. From any thread."""
        with contextlib.suppress(OSError):  # closed, or so full that it is awake in any case
            os.write(self._waker, b"1")

    # ---- meeting -----------------------------------------------------------------------------------------------

    def gather(self, seconds: float) -> bool:
        """Wait for all members, and tell each where the others are. Returns whether all have come."""
        known: dict[int, tuple[Address, str]] = {}
        deadline = time.monotonic() + seconds
        while len(known) < self._slots:
            self._check()
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with contextlib.suppress(queue.Empty):
                line, ((_, slot, address, machine),) = self._arrivals.get(timeout=min(left, _POLL_SECONDS))
                known[slot] = (address, machine)
                self._lines[slot] = line
        for slot, line in self._lines.items():
            self._selector.register(line, selectors.EVENT_READ, slot)
            self._send(slot, ("peers", {other: where for other, where in known.items() if other != slot}))
        return True

    # ---- epochs ------------------------------------------------------------------------------------------------

    def run(self, orders: list[SlotOrder], seconds: float) -> list[LevelResult]:
        """Run an epoch. It ends when its time is up, when the driver is woken, when a member wishes it, or when no
        source has anything more to read.
        """
        epoch = orders[0].epoch
        for slot, order in enumerate(orders):
            self._send(slot, ("epoch", order))
        results: list[LevelResult] = []
        reported: set[int] = set()
        exhausted: set[int] = set()
        stopped, deadline = orders[0].only_one_pass, time.monotonic() + seconds
        stop, self._woken = self._woken, False
        while len(reported) < self._slots:
            if not stopped and (stop or len(exhausted) == self._slots or time.monotonic() >= deadline):
                stopped = True
                for slot in range(self._slots):
                    self._send(slot, ("stop", epoch))
            self._check()
            for slot, message in self._next(_POLL_SECONDS if stopped else deadline - time.monotonic()):
                kind = message[0]
                if kind == "failed":
                    return [message[2]]
                if kind == "results":
                    reported.add(slot)
                    results.extend(message[2])
                elif kind == "exhausted":
                    exhausted.add(slot)
                elif kind == "wish":
                    stop = True
            stop = stop or self._woken
        return results

    def _next(self, seconds: float) -> list[tuple[int, Any]]:
        """Messages of members."""
        messages: list[tuple[int, Any]] = []
        for key, events in self._selector.select(max(0.0, min(seconds, _POLL_SECONDS))):
            line: Any = key.fileobj
            if key.data is None:
                os.read(self._awake, 4096)
                self._woken = True
                continue
            try:
                if events & selectors.EVENT_WRITE:
                    line.flush()
                    self._watch(line, key.data)
                if events & selectors.EVENT_READ:
                    messages.extend((key.data, message) for message in line.receive())
            except LineLostError as error:
                self._lose(key.data, error)
        return messages

    def _lose(self, slot: int, error: Exception) -> None:
        """A member's line is closed: Spark knows more about that, in a moment.

        On a cluster Spark starts the tasks of a stage anew that has failed, and says nothing: who comes then shows it.
        """
        deadline = time.monotonic() + _SECONDS_FOR_SPARK
        while time.monotonic() < deadline and self._arrivals.empty():
            self._check()
            time.sleep(0.02)
        raise MemberLostError(f"slot process {slot} does not answer any more: {error}") from error

    def _send(self, slot: int, message: Any) -> None:
        line = self._lines[slot]
        try:
            line.send(message)
        except LineLostError as error:
            self._lose(slot, error)
        self._watch(line, slot)

    def _watch(self, line: Line, slot: int) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if line.waits else 0)
        if self._selector.get_key(line).events != events:
            self._selector.modify(line, events, slot)

    # ---- the end -----------------------------------------------------------------------------------------------

    def dismiss(self) -> None:
        """Let all members go, those too that come only now."""
        self._door.close()
        while not self._arrivals.empty():
            line, ((_, slot, _, _),) = self._arrivals.get()
            self._lines.setdefault(slot, line)
        for line in self._lines.values():
            with contextlib.suppress(LineLostError):
                line.send(("leave",))
            line.close()
        self._selector.close()
        waker, self._waker = self._waker, -1
        os.close(self._awake)
        os.close(waker)
