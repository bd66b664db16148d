"""One slot's part of an epoch: its subtasks of all levels, what waits for them, and how far others may run ahead.

No I/O and no clock: messages of other slots and the time come in as arguments, messages go out through a function. A
message is a tuple, its first entry its kind:

- ``("rows", [chunk row, ...])``: chunks for subtasks of the slot that gets it;
- ``("used", level, bytes)``: so many bytes of what was sent for a level have been processed;
- ``("ended", epoch, level)``: all subtasks of a level in this slot have ended the epoch: no more chunks of theirs come.

**Back pressure.** A slot counts, for every slot and level, the bytes that it has sent and the other has not used. A
level stops while a window that it may send into is full. Nobody waits for a level before its own, so the last level can
always go on, and so can, one after the other, all that wait for it: no shape of a job can come to a deadlock.

**The end of an epoch.** Sources stop when the driver says so. A level ends the epoch when the level before it has ended
it in all slots, and everything that came has been processed. Messages of two slots keep their order, so nothing is in
flight when the last level has ended.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firesteel.execution.host import LevelTask, SubtaskHost
from firesteel.execution.results import StateLost, SubtaskDone, SubtaskFailed
from firesteel.runtime.emitters import ChunkRow
from firesteel.runtime.flow import FlowingEpoch

Message = tuple[Any, ...]

BYTES_PER_PASS = 1 << 18
"""About how many bytes of chunks a subtask takes before others of its slot have their turn."""


@dataclass
class SlotOrder:
    """What the driver asks one slot to run: an epoch of all its subtasks."""

    epoch: int
    now: int
    tasks: list[LevelTask]
    now_read_at: float | None = None
    """When ``now`` was read, by the monotonic clock of the driver's host."""
    only_one_pass: bool = False
    """Sources read once: a snapshot is wanted, and soon."""


@dataclass
class _Run:
    """A subtask in the present epoch."""

    task: LevelTask
    flow: FlowingEpoch
    inbox: deque[tuple[int, ChunkRow]]
    busy_seconds: float = 0.0
    result: SubtaskDone | None = None


@dataclass
class _Windows:
    """The bytes that were sent and not used, by slot and level."""

    size: int
    unused: Counter[tuple[int, int]] = field(default_factory=Counter)
    full: Counter[int] = field(default_factory=Counter)
    """By level: how many windows are full."""

    def add(self, slot: int, level: int, size: int) -> None:
        before = self.unused[slot, level]
        after = self.unused[slot, level] = before + size
        if before < self.size <= after:
            self.full[level] += 1
        elif after < self.size <= before:
            self.full[level] -= 1


class SlotFlow:
    """The subtasks of slot ``slot`` of ``slots``: those whose number leaves this remainder.

    :param widths: How many subtasks each level has.
    :param window: How many bytes another slot may have waiting for one of its levels, before this slot stops sending.
    :param send: Takes a message for another slot.
    :param timer: Seconds since some moment, to measure how long subtasks are busy.
    """

    def __init__(
        self,
        slot: int,
        slots: int,
        widths: tuple[int, ...],
        host: SubtaskHost,
        window: int,
        send: Callable[[int, Message], None],
        timer: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.timer = timer
        self._slot, self._slots, self._widths = slot, slots, widths
        self._host = host
        self._send = send
        self._windows = _Windows(window)
        self._used: Counter[tuple[int, int]] = Counter()
        """By slot and level: bytes that were used, and the sender not told."""
        self._inboxes: dict[tuple[int, int], deque[tuple[int, ChunkRow]]] = {
            (level, index): deque() for level, width in enumerate(widths) for index in range(slot, width, slots)
        }
        self._ended: Counter[tuple[int, int]] = Counter()
        """By epoch and level: how many slots have ended it."""
        self._epoch = 0
        self._levels: list[list[_Run]] = []
        self._open_level = 0
        """The lowest level that has not ended the epoch in this slot."""
        self._stopping = False
        self._one_pass = False
        self._ticked_at = 0
        self.failure: SubtaskFailed | StateLost | None = None

    # ---- what comes --------------------------------------------------------------------------------------------

    def begin(self, order: SlotOrder) -> None:
        """Begin an epoch."""
        self._epoch = order.epoch
        self._stopping, self._one_pass = False, order.only_one_pass
        self._open_level = 0
        self._ticked_at = order.now
        self._levels = [[] for _ in self._widths]
        self._ended = Counter({place: count for place, count in self._ended.items() if place[0] >= order.epoch})
        for task in order.tasks:
            with _Noting(self, task):
                run = _Run(task, self._host.flow(task), self._inboxes[task.level, task.index])
                self._levels[task.level].append(run)
        for runs in self._levels:
            for run in runs:
                with _Noting(self, run.task, run):
                    self._deliver(run.flow.begin())

    def stop(self) -> None:
        """Sources read no more: the epoch ends."""
        self._stopping = True

    def receive(self, sender: int, message: Message) -> None:
        """Take a message of another slot."""
        kind = message[0]
        if kind == "rows":
            for row in message[1]:
                self._inboxes[row[0], row[1]].append((sender, row))
        elif kind == "used":
            self._windows.add(sender, message[1], -message[2])
        elif kind == "ended":
            self._ended[message[1], message[2]] += 1
        else:
            raise ValueError(f"a slot was sent what it does not know: {kind!r}")

    def fail(self, task: LevelTask, error: Exception) -> None:
        """A subtask has failed: of several failures the first counts."""
        self.failure = self.failure or self._host.failed(task, error)

    # ---- the driver's questions --------------------------------------------------------------------------------

    @property
    def results(self) -> list[SubtaskDone]:
        """What to report, once the epoch has ended here."""
        return [run.result for runs in self._levels for run in runs if run.result is not None]

    @property
    def done(self) -> bool:
        """Whether the epoch has ended in this slot."""
        return self._open_level == len(self._widths)

    @property
    def exhausted(self) -> bool:
        """Whether no source of this slot has anything more to read in this epoch."""
        return not any(run.flow.may_read for runs in self._levels for run in runs)

    def wants_end(self, now: int) -> bool:
        """Whether something waits here that only the end of the epoch brings on."""
        return any(run.result is None and run.flow.wants_end(now) for runs in self._levels for run in runs)

    # ---- work --------------------------------------------------------------------------------------------------

    def step(self, now: int) -> bool:
        """Let every subtask do a little, those of later levels first. Returns whether there was anything to do."""
        worked = False
        for level in range(len(self._levels) - 1, self._open_level - 1, -1):
            if self.failure is None and not self._blocked(level):
                for run in self._levels[level]:
                    worked = self._advance(run, now) or worked
        if now > self._ticked_at:
            self._ticked_at = now
            self._tick(now)
        while self.failure is None and self._end_level(now):
            worked = True
        return worked

    def _blocked(self, level: int) -> bool:
        """Whether what the level makes would find a full window."""
        full = self._windows.full
        return any(full[later] for later in range(level + 1, len(self._widths)))

    def _advance(self, run: _Run, now: int) -> bool:
        if run.inbox:
            with _Noting(self, run.task, run):
                self._deliver(run.flow.take(self._waiting(run), now))
            return True
        if run.flow.may_read and not (self._stopping or self._one_pass):
            before = run.flow.records_read
            with _Noting(self, run.task, run):
                produced = run.flow.read(now)
                self._deliver(produced)
                return bool(produced) or run.flow.records_read > before
        return False

    def _waiting(self, run: _Run) -> list[ChunkRow]:
        """Chunks for one pass; who sent them learns in time that they are used."""
        rows: list[ChunkRow] = []
        size, level = 0, run.task.level
        while run.inbox and size < BYTES_PER_PASS:
            sender, row = run.inbox.popleft()
            rows.append(row)
            size += len(row[6])
            self._used[sender, level] += len(row[6])
        for (sender, of_level), used in self._used.items():
            if of_level == level and used >= self._windows.size // 4:
                self._used[sender, level] = 0
                if sender == self._slot:
                    self._windows.add(sender, level, -used)
                else:
                    self._send(sender, ("used", level, used))
        return rows

    def _deliver(self, rows: list[ChunkRow]) -> None:
        by_slot: dict[int, list[ChunkRow]] = {}
        for row in rows:
            slot = row[1] % self._slots
            self._windows.add(slot, row[0], len(row[6]))
            by_slot.setdefault(slot, []).append(row)
        for slot, mine in by_slot.items():
            if slot == self._slot:
                self.receive(slot, ("rows", mine))
            else:
                self._send(slot, ("rows", mine))

    def _tick(self, now: int) -> None:
        for level, runs in enumerate(self._levels):
            if self.failure is None and not self._blocked(level):
                for run in runs:
                    if run.result is None:
                        with _Noting(self, run.task, run):
                            self._deliver(run.flow.tick(now))

    def _end_level(self, now: int) -> bool:
        """End the epoch in the lowest open level, if it is time to. Returns whether it has."""
        level = self._open_level
        if self.done or not self._may_end(level):
            return False
        for run in self._levels[level]:
            with _Noting(self, run.task, run):
                produced, run.result = self._host.end_flow(run.task, run.flow, now)
                self._deliver(produced)
                run.result.busy_seconds = run.busy_seconds
        if self.failure is None:
            self._open_level += 1
            self._ended[self._epoch, level] += 1
            for slot in range(self._slots):
                if slot != self._slot and not self.done:
                    self._send(slot, ("ended", self._epoch, level))
        return self.failure is None

    def _may_end(self, level: int) -> bool:
        runs = self._levels[level]
        if level == 0:
            return self._stopping or self._one_pass
        return self._ended[self._epoch, level - 1] == self._slots and not any(run.inbox for run in runs)


class _Noting:
    """Around a pass of a subtask: a failure becomes the slot's result, and the time counts as the subtask's."""

    def __init__(self, flow: SlotFlow, task: LevelTask, run: _Run | None = None) -> None:
        self._flow, self._task, self._run = flow, task, run
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = self._flow.timer()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if self._run is not None:
            self._run.busy_seconds += self._flow.timer() - self._began
        if not isinstance(error, Exception):
            return False
        self._flow.fail(self._task, error)
        return True
