"""One job at a time in a checkpoint directory."""

from __future__ import annotations

import fcntl
import os
import uuid
from typing import IO

from firesteel.errors import CheckpointError
from firesteel.state.filesystem import FileStore, LocalFileStore

_NAME = "_lock"
_LEASE_MS = 60_000


class DirectoryLock:
    """Keeps a second job out of a checkpoint directory.

    On a local disk this is a lock of the operating system, which goes with the process however it ends. Elsewhere it is
    a lease: a file with the owner and a time, renewed with each checkpoint; one that is a minute old counts no more.
    """

    def __init__(self, files: FileStore) -> None:
        self._files = files
        self._owner = uuid.uuid4().hex
        self._handle: IO[str] | None = None
        self.held = False
        """Whether the directory is this job's."""

    def acquire(self, now: int) -> None:
        """Take the lock, or raise :class:`CheckpointError` if another job has it."""
        if isinstance(self._files, LocalFileStore):
            self._lock_file(self._files.uri)
        else:
            self._take_lease(now)
        self.held = True

    def _lock_file(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        self._handle = open(os.path.join(directory, _NAME), "w")  # noqa: SIM115 - held until release()
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._handle.close()
            self._handle = None
            raise _locked(directory) from error

    def _take_lease(self, now: int) -> None:
        if self._files.exists(_NAME):
            owner, _, renewed = self._files.read(_NAME).decode().partition(" ")
            if owner != self._owner and now - int(renewed or 0) < _LEASE_MS:
                raise _locked(self._files.uri)
        self.renew(now)

    def renew(self, now: int) -> None:
        """Say that the owner is still alive."""
        if self._handle is None:
            self._files.write(_NAME, f"{self._owner} {now}".encode())

    def release(self) -> None:
        """Let others in."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None
        elif self.held:
            self._files.delete(_NAME)
        self.held = False


def _locked(directory: str) -> CheckpointError:
    return CheckpointError(
        f"another job is using the checkpoint directory {directory}. Give each job a directory of its own "
        "(execution.checkpointing.dir), or end the other job first"
    )
