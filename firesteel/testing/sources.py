"""A source that follows a script: records, watermarks, idleness, the cuts between epochs, failures, processing time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.time import MAX_WATERMARK
from firesteel.errors import ConfigurationError, FiresteelError, ProgramError
from firesteel.model.functions import RuntimeContext
from firesteel.model.source import Boundedness, DriverReader, DriverSource, SourceEvents
from firesteel.testing.clock import ManualClock

__all__ = [
    "ACTIVE",
    "CRASH",
    "EPOCH_CUT",
    "IDLE",
    "InjectedFailure",
    "ScriptedSource",
    "element",
    "processing_time",
    "watermark",
]


class InjectedFailure(FiresteelError):
    """What :data:`CRASH` raises."""


@dataclass(frozen=True)
class _Element:
    value: Any
    timestamp: int | None


@dataclass(frozen=True)
class _Watermark:
    timestamp: int


@dataclass(frozen=True)
class _ProcessingTime:
    now: int


@dataclass(frozen=True)
class _Sign:
    name: str

    def __repr__(self) -> str:
        return self.name


EPOCH_CUT = _Sign("EPOCH_CUT")
"""Ends the epoch: what comes before and what comes after is never processed in one."""
CRASH = _Sign("CRASH")
"""Ends the epoch, then makes the job fail, once: a restarted job passes over it."""
IDLE = _Sign("IDLE")
"""The subtask is silent from here on: others need not wait for its watermark."""
ACTIVE = _Sign("ACTIVE")
"""The subtask is not idle any more."""


def element(value: Any, timestamp: int | None = None) -> _Element:
    """A record, with a timestamp in milliseconds if one is given."""
    return _Element(value, timestamp)


def watermark(timestamp: int) -> _Watermark:
    """A watermark between two records."""
    if timestamp.__class__ is not int or timestamp > MAX_WATERMARK:
        raise ConfigurationError(f"a watermark is a whole number of milliseconds, got {timestamp!r}")
    return _Watermark(timestamp)


def processing_time(now: int) -> _ProcessingTime:
    """Ends the epoch and moves the clock: the next epoch sees ``now`` as its processing time."""
    return _ProcessingTime(now)


class ScriptedSource(DriverSource):
    """Does what a script says, in the same way on every run, on every executor, and again after a restart.

    ::

        source = ScriptedSource([element("a", 1000), watermark(1500), EPOCH_CUT, element("b", 2000)])
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "script")

    Give it one script for each subtask. Subtasks without a script end at once. Anything in a script that is not made
    by the functions of this module is a record without timestamp.

    :param scripts: What each subtask does.
    :param clock: What :func:`processing_time` moves; not needed without it.
    """

    replayable = True
    guarantee = "exactly-once"

    def __init__(self, *scripts: Iterable[Any], clock: ManualClock | None = None) -> None:
        if not scripts:
            raise ConfigurationError("a ScriptedSource needs a script: a list of records and marks for each subtask")
        self._scripts: list[list[Any]] = [list(script) for script in scripts]
        self.clock = clock
        self.crashed: set[tuple[int, int]] = set()
        """Subtask and place of each :data:`CRASH` that has happened."""
        moves_clock = any(isinstance(step, _ProcessingTime) for script in self._scripts for step in script)
        if moves_clock and clock is None:
            raise ConfigurationError(
                "a script with processing_time(...) needs a clock to move. Pass clock=ManualClock(), and run the job "
                "inside use_clock(clock)."
            )

    @property
    def boundedness(self) -> Boundedness:
        """A script ends."""
        return Boundedness.BOUNDED

    def create_driver_reader(self, subtask_index: int, parallelism: int) -> DriverReader:
        """The reader of one script."""
        if parallelism < len(self._scripts):
            raise ProgramError(
                f"a ScriptedSource with {len(self._scripts)} scripts runs with parallelism {parallelism}, so that some "
                f"would never be read. Call set_parallelism({len(self._scripts)}) on its stream."
            )
        script = self._scripts[subtask_index] if subtask_index < len(self._scripts) else []
        return _ScriptReader(self, subtask_index, script)


class _ScriptReader(DriverReader):
    """Its state is its place in the script. Behind the last step there is one more place: the end has been told."""

    def __init__(self, source: ScriptedSource, subtask: int, script: Sequence[Any]) -> None:
        self._source = source
        self._subtask = subtask
        self._script = script
        self._place = 0

    def open(self, context: RuntimeContext, restored: list[Any] | None, wake: Callable[[], None]) -> None:
        # Each script stays with its subtask; those that had none before begin at the beginning.
        states = restored or []
        self._place = (states[self._subtask] if self._subtask < len(states) else None) or 0

    def has_data(self) -> bool:
        return not self.is_finished()

    def take(self, max_records: int) -> tuple[SourceEvents, Any]:
        events = SourceEvents()
        records = 0
        while records < max_records and not self.is_finished():
            step = self._script[self._place] if self._place < len(self._script) else None
            if step is CRASH and (self._subtask, self._place) not in self._source.crashed:
                if events.entries:
                    break
                self._crash()
            self._place += 1
            if self.is_finished() or self._ends_epoch(step):
                break
            records += _add(step, events.entries)
        return events, self._place

    def _ends_epoch(self, step: Any) -> bool:
        if isinstance(step, _ProcessingTime):
            assert self._source.clock is not None
            self._source.clock.move_to(step.now)
            return True
        return step is EPOCH_CUT or step is CRASH

    def _crash(self) -> None:
        self._source.crashed.add((self._subtask, self._place))
        raise InjectedFailure(f"step {self._place} of the script of subtask {self._subtask} says CRASH")

    def is_finished(self) -> bool:
        return self._place > len(self._script)

    def close(self) -> None:
        return None


def _add(step: Any, entries: list[tuple[Any, ...]]) -> int:
    """Add a step that is not the end of an epoch; how many records it is."""
    if isinstance(step, _Watermark):
        entries.append(("watermark", step.timestamp))
        return 0
    if step is IDLE or step is ACTIVE:
        entries.append(("idle",) if step is IDLE else ("active",))
        return 0
    value, stamp = (step.value, step.timestamp) if isinstance(step, _Element) else (step, None)
    last = entries[-1] if entries else None
    if last is None or last[0] != "records" or (last[2] is None) != (stamp is None):
        entries.append(("records", [], None if stamp is None else []))
    entries[-1][1].append(value)
    if stamp is not None:
        entries[-1][2].append(stamp)
    return 1
