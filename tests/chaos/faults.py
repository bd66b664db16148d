"""Breaking a process at a chosen step of a checkpoint: it is killed, or an exception is raised, once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firesteel.connectors.files.writer import FileCommitter, FileWriter
from firesteel.execution.hands import snapshots
from firesteel.runtime.chain import ChainInstance
from firesteel.runtime.coordination.sinks import SinkCoordinator
from firesteel.runtime.coordination.sources import SourceCoordinator
from firesteel.state.store import CheckpointStore
from firesteel.testing import InjectedFailure


@dataclass(frozen=True)
class Step:
    """A step in the life of a checkpoint: a method that is called for it.

    :param inner: What the method calls in its middle: "within" is just before it, or before the second such call.
    :param calls: How many calls there are at the least, in a job of some size.
    :param may_raise: Whether an exception there is something to recover from; the others are too late or too early
        for that, but a process can be killed there.
    """

    owner: Any
    method: str
    inner: tuple[Any, str] | None = None
    calls: int = 9
    may_raise: bool = True
    within_second: bool = False

    @property
    def moments(self) -> list[str]:
        return ["before", "within", "after"] if self.inner is not None else ["before", "after"]


_RENAME = (os, "replace")

STEPS = {
    "record": Step(FileWriter, "write", calls=400),
    "prepare": Step(FileWriter, "prepare_commit", (FileWriter, "_release")),
    "snapshot": Step(ChainInstance, "snapshot", (FileWriter, "snapshot")),
    "state": Step(CheckpointStore, "write_state", _RENAME),
    "manifest": Step(CheckpointStore, "write_manifest", _RENAME),
    "commit": Step(FileCommitter, "commit", (FileCommitter, "_show"), within_second=True),
    "told": Step(SourceCoordinator, "committed"),
    "delete": Step(CheckpointStore, "delete_checkpoint", may_raise=False),
    "sweep": Step(CheckpointStore, "delete_state", may_raise=False),
    "savepoint": Step(snapshots, "write_savepoint", _RENAME, calls=1),
    "end": Step(CheckpointStore, "delete_everything", (CheckpointStore, "delete_state"), calls=1, may_raise=False),
    "recommit": Step(SinkCoordinator, "restore", calls=1, may_raise=False),
    "load": Step(CheckpointStore, "load", calls=4),
}
"""In the order of an epoch: a record is written; the sink prepares its output; operators give their snapshots; state
files are written; the manifest is written, which is the commit; output is shown; sources are told; old checkpoints are
deleted, and their state files. Then the steps of a savepoint, of a job's end, and of a start after a crash."""


@dataclass
class Fault:
    """One break: at the n-th call of a step's method, or the first after it that gets so far.

    :param mark: A file that is made when it happens, so that it happens once in all processes.
    """

    step: str
    moment: str
    nth: int
    kill: bool
    mark: Path
    _calls: int = 0
    _inner_calls: int = -1
    """Calls of the inner method since the outer one began; below 0 outside of it."""

    @staticmethod
    def parse(text: str, mark: Path) -> Fault:
        step, moment, nth, action = text.split(":")
        return Fault(step, moment, int(nth), action == "kill", mark)

    def install(self) -> None:
        """Wrap the methods of this process."""
        step = STEPS[self.step]
        _wrap(step.owner, step.method, self._around)
        if self.moment == "within":
            assert step.inner is not None
            _wrap(*step.inner, self._before_inner)

    def _around(self, call: Callable[[], Any]) -> Any:
        self._calls += 1
        mine = self._calls >= self.nth
        if mine and self.moment == "before":
            self._break()
        self._inner_calls = 0 if mine else -1
        try:
            result = call()
        finally:
            self._inner_calls = -1
        if mine and self.moment == "after":
            self._break()
        return result

    def _before_inner(self, call: Callable[[], Any]) -> Any:
        if self._inner_calls == STEPS[self.step].within_second:
            self._break()
        if self._inner_calls >= 0:
            self._inner_calls += 1
        return call()

    def _break(self) -> None:
        if self.mark.exists():
            return
        self.mark.touch()
        if self.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        raise InjectedFailure(f"{self.moment} {self.step}")


def _wrap(owner: Any, name: str, around: Callable[[Callable[[], Any]], Any]) -> None:
    original = getattr(owner, name)

    def method(*arguments: Any, **keywords: Any) -> Any:
        return around(lambda: original(*arguments, **keywords))

    setattr(owner, name, method)


_installed: set[Path] = set()


def mark_of(directory: Path, fault: str) -> Path:
    """The file that says that a fault has struck."""
    return directory / f"broken-{fault}".replace(":", "-")


def install_once(directory: Path, faults: list[str]) -> None:
    """Install faults in this process, those that have not been."""
    for fault in faults:
        mark = mark_of(directory, fault)
        if mark not in _installed:
            _installed.add(mark)
            Fault.parse(fault, mark).install()


def all_faults(action: str, nth: int = 2) -> list[str]:
    """Every moment of every step once, in order: ``kill`` or ``raise``."""
    return [
        f"{name}:{moment}:{min(nth, step.calls)}:{action}"
        for name, step in STEPS.items()
        for moment in step.moments
        if step.may_raise or action == "kill"
    ]
