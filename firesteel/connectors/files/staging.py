"""The hidden place of a file sink where files are written before they are shown.

::

    <base path>/.inprogress/<sink>-<subtask>/<attempt>/.<name>.inprogress      being written
    <base path>/.inprogress/<sink>-<subtask>/<attempt>/.<name>.pending         complete, waits for its checkpoint

The sink's number is new with every start of the program; the attempt counts the restarts in between.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import IO, Any

from firesteel.connectors.files.storage import Storage

__all__ = ["HIDDEN_FOLDER", "SinkRun", "Staging"]

HIDDEN_FOLDER = ".inprogress"
"""Below the base path."""
_WRITING = ".inprogress"
_WAITING = ".pending"


@dataclass(frozen=True)
class SinkRun:
    """One use of a sink by one run of a program: who owns files in the hidden place.

    :param host: The machine of the driver.
    :param pid: The process of the driver.
    """

    id: str
    host: str
    pid: int

    @staticmethod
    def of_this_process() -> SinkRun:
        """A new one, of this process."""
        return SinkRun(uuid.uuid4().hex[:12], socket.gethostname(), os.getpid())

    def surely_over(self) -> bool:
        """Whether its driver ran on this machine and is gone. Of other machines nothing is known."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False  # somebody else's process has that number, or it is alive: leave the files
        return False

    def to_state(self) -> dict[str, Any]:
        """As plain data."""
        return {"id": self.id, "host": self.host, "pid": self.pid}


class Staging:
    """The part of the hidden place that belongs to one subtask.

    :param base: The sink's base path in the storage.
    :param attempt: How often the job has been restarted.
    """

    def __init__(self, storage: Storage, base: str, run: SinkRun, subtask: int, attempt: int) -> None:
        self._storage = storage
        self._base = base
        self._folder = f"{base}/{HIDDEN_FOLDER}/{run.id}-{subtask}"
        self._attempt = str(attempt)

    def create(self, name: str) -> tuple[str, IO[bytes]]:
        """Begin a file of that final name."""
        path = f"{self._folder}/{self._attempt}/.{name}{_WRITING}"
        return path, self._storage.create(path)

    def finish(self, path: str, stream: IO[bytes]) -> tuple[str, int]:
        """Complete a file: where it is now, and its size."""
        size = stream.tell()
        self._storage.finish(stream)
        waiting = path.removesuffix(_WRITING) + _WAITING
        self._storage.move(path, waiting)
        return waiting, size

    def sweep(self, keep: Collection[str]) -> None:
        """Delete what earlier attempts have left, and what another instance of this subtask was writing.

        Complete files of the present attempt stay: the driver knows them, and may still have to show them.
        """
        for attempt in self._storage.entries(self._folder):
            for file in self._storage.entries(attempt.path):
                stale = attempt.name != self._attempt or file.name.endswith(_WRITING)
                if stale and file.path not in keep:
                    self._storage.delete(file.path)
            self._storage.prune(attempt.path)
        self._storage.prune(self._folder)

    @staticmethod
    def sweep_former(storage: Storage, base: str, run: SinkRun, subtask: int, keep: Collection[str]) -> None:
        """Delete what a run of the program that is surely over has left."""
        if run.surely_over():
            Staging(storage, base, run, subtask, -1).sweep(keep)

    @staticmethod
    def prune(storage: Storage, base: str, run: SinkRun) -> None:
        """Delete the folders of a run in which nothing is left, and the hidden place if it was the last."""
        top = f"{base}/{HIDDEN_FOLDER}"
        for folder in storage.entries(top):
            if folder.name.startswith(f"{run.id}-"):
                for attempt in storage.entries(folder.path):
                    storage.prune(attempt.path)
                storage.prune(folder.path)
        storage.prune(top)
