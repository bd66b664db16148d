"""A directory for files that nobody needs once its process has ended, and that a killed process leaves behind.

A lock of the operating system on a file in it says that somebody still uses it: the process that made it, or one that
was forked from it. Such locks go with the processes, however they end.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from typing import IO

PREFIX = "firesteel-rocksdb-"
_LOCK = "in-use"


class WorkDirectory:
    """A new directory, this process's own until :meth:`delete`.

    :param parent: Where to make it; None means the system's temporary directory.
    """

    def __init__(self, parent: str | None) -> None:
        where = parent or tempfile.gettempdir()
        os.makedirs(where, exist_ok=True)
        sweep(where)
        self.path, self._lock = _make(where)

    def delete(self) -> None:
        """Delete it with everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _make(where: str) -> tuple[str, IO[str]]:
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX, dir=where)
        lock = open(os.path.join(path, _LOCK), "w")  # noqa: SIM115  held until the directory is deleted
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(lock.name):
                return path, lock
        lock.close()  # another process was sweeping just then, and took the new directory for a left one


def sweep(where: str) -> None:
    """Delete the directories of processes that were killed."""
    for entry in os.scandir(where):
        if not entry.name.startswith(PREFIX):
            continue
        # An error means that it is in use, of another user, or just deleted by somebody else.
        with contextlib.suppress(OSError), open(os.path.join(entry.path, _LOCK)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(entry.path, ignore_errors=True)
