"""Directories for files that nobody needs once their process has ended, and that a killed process leaves behind.

A lock of the operating system on a file in such a directory says that somebody still uses it: the process that made it,
or one that was forked from it. Such locks go with the processes, however they end; whoever makes the next directory
deletes those that nobody uses any more.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from typing import IO

PREFIX = "firesteel-"
LOCK = "in-use"


class WorkDirectory:
    """A new directory, this process's own until :meth:`delete`; other users cannot look into it.

    :param parent: Where to make it; None means the system's temporary directory.
    :param purpose: A word for its name.
    """

    def __init__(self, parent: str | None, purpose: str) -> None:
        where = parent or tempfile.gettempdir()
        os.makedirs(where, exist_ok=True)
        sweep(where)
        self.path, self._lock = _make(where, purpose)

    def delete(self) -> None:
        """Delete it with everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


_of_process: dict[int, WorkDirectory] = {}
"""By process: a forked one must not delete what belongs to its parent."""


def process_folder(purpose: str) -> str:
    """A new folder that is deleted when this process ends, or by the next process that makes one if it is killed."""
    mine = _of_process.get(os.getpid())
    if mine is None:
        mine = _of_process[os.getpid()] = WorkDirectory(None, "work")
    return tempfile.mkdtemp(prefix=f"{purpose}-", dir=mine.path)


@atexit.register  # now and not with the first folder: so it is done after what uses folders has ended
def _delete_mine() -> None:
    mine = _of_process.pop(os.getpid(), None)
    if mine is not None:
        mine.delete()


def _make(where: str, purpose: str) -> tuple[str, IO[str]]:
    while True:
        path = tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-", dir=where)
        try:
            lock = open(os.path.join(path, LOCK), "w")  # noqa: SIM115  held until the directory is deleted
        except FileNotFoundError:
            continue
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(lock.name):
                return path, lock
        lock.close()  # another process was sweeping just then, and took the new directory for a left one


def sweep(where: str) -> None:
    """Delete the directories of processes that were killed.

    Only this user's own, and no symbolic links: in a directory that all write to, others may have put anything under
    such a name.
    """
    for entry in os.scandir(where):
        if not entry.name.startswith(PREFIX):
            continue
        # An error means that it is in use, or just deleted by somebody else.
        with contextlib.suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            with open(os.path.join(entry.path, LOCK)) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(entry.path, ignore_errors=True)
