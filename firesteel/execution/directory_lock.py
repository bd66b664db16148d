"""One job at a time in a checkpoint directory."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import os
import socket
import sys
import threading
import uuid
from collections.abc import Callable
from contextvars import copy_context
from typing import IO

from firesteel.errors import CheckpointError
from firesteel.execution.clock import monotonic_ms
from firesteel.state.filesystem import FileStore, LocalFileStore

log = logging.getLogger("firesteel.checkpoints")
_NAME = "_lock"
_LEASE_MS = 60_000
_RENEW_SECONDS = 15.0


class DirectoryLock:
    """Keeps a second job out of a checkpoint directory.

    On a local disk this is a lock of the operating system, which goes with the process however it ends.

    Elsewhere it is a lease: a file in ``_lock/`` that says who and when, written anew four times a minute. One that is
    a minute old counts no more, nor does one of a process of this host that is gone. Neither renaming nor conditional
    writing is needed: whoever wants the directory writes a claim first and looks for others then. Of two that do so
    at once, the one that looks last sees both, so they never both get it; it may be that neither does. This holds on
    file systems that show everybody what has been written, as S3, GCS, Azure and HDFS do, and for clocks that agree to
    some seconds.
    """

    def __init__(self, files: FileStore, ticks: Callable[[], int] = monotonic_ms) -> None:
        self._files = files
        self._ticks = ticks
        self._owner = uuid.uuid4().hex
        self._handle: IO[str] | None = None
        self._claim: str | None = None
        self._renewed = 0
        """The time that the last claim says."""
        self._renewed_at = 0
        """When that was, by a clock that nobody puts forward or back."""
        self._lost = False
        self._renewing = threading.Lock()
        """While a claim is replaced, nobody may look whether it is there."""
        self._door: socket.socket | None = None
        self._stopped = threading.Event()
        self._renewer: threading.Thread | None = None
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
        try:
            os.makedirs(directory, exist_ok=True)
            self._door = _close_door(directory)
            self._handle = open(os.path.join(directory, _NAME), "w")  # noqa: SIM115 - held until release()
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint directory {directory} cannot be written to: {error.strerror or error}. Choose another "
                "one with execution.checkpointing.dir, or let the user of this process write to it"
            ) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._let_go()
            raise _locked(directory) from error

    def _let_go(self) -> None:
        for each in (self._handle, self._door):
            if each is not None:
                each.close()
        self._handle = self._door = None

    def _lock_file_is_there(self) -> bool:
        """Whether the file that is locked is still the one in the directory: others would lock another one."""
        assert self._handle is not None
        try:
            return os.path.samestat(os.stat(os.path.join(self._files.uri, _NAME)), os.fstat(self._handle.fileno()))
        except OSError:
            return False

    # ---- leases --------------------------------------------------------------------------------------------------

    def _take_lease(self, now: int) -> None:
        self.renew(now)
        claims = self._files.names(_NAME)
        if self._claim not in claims:
            raise CheckpointError(f"{self._files.uri}/{_NAME} does not show what was written there a moment ago")
        others = [claim for claim in claims if claim != self._claim]
        if any(self._counts(claim, now) for claim in others):
            self._withdraw()
            raise _locked(self._files.uri, f". If it was killed: its claim ends {_LEASE_MS // 1000} seconds after")
        for claim in others:
            self._files.delete(f"{_NAME}/{claim}")

    def _counts(self, claim: str, now: int) -> bool:
        renewed = claim.partition("-")[0]
        if renewed.isdigit() and now - int(renewed) >= _LEASE_MS:
            return False
        try:
            return not _surely_over(json.loads(self._files.read(f"{_NAME}/{claim}")))
        except (CheckpointError, ValueError):  # just being replaced by a newer one, or written by something else
            return True

    def renew(self, now: int) -> None:
        """Say that the owner is still alive: a new claim before the old one goes, so that there always is one."""
        with self._renewing:
            self._renew(now)

    def _renew(self, now: int) -> None:
        now = max(now, self._renewed)  # for others the claim must not grow older because a clock was put back
        if self._handle is not None or (self._claim is not None and now == self._renewed):
            self._renewed_at = self._ticks()
            return
        if self._claim is not None and not self._files.exists(f"{_NAME}/{self._claim}"):
            self._lost = True  # whoever came since has not seen it: a new claim would come too late
            return
        claim = f"{now}-{self._owner}"
        self._files.write(f"{_NAME}/{claim}", json.dumps({"host": socket.gethostname(), "pid": os.getpid()}).encode())
        self._withdraw()
        self._claim, self._renewed, self._renewed_at = claim, now, self._ticks()

    def _withdraw(self) -> None:
        if self._claim is not None:
            self._files.delete(f"{_NAME}/{self._claim}")
            self._claim = None

    def keep(self, clock: Callable[[], int]) -> None:
        """Renew a lease in the background until :meth:`release`, however long epochs take."""
        if self._handle is None:
            self._renewer = threading.Thread(
                target=copy_context().run, args=(self._keep_renewing, clock), name="firesteel-lease", daemon=True
            )
            self._renewer.start()

    def _keep_renewing(self, clock: Callable[[], int]) -> None:
        while not self._stopped.wait(_RENEW_SECONDS):
            try:
                self.renew(clock())
            except CheckpointError as error:  # check() tells if it goes on for too long
                log.warning("the lease of %s could not be renewed: %s", self._files.uri, error)

    def check(self) -> None:
        """Raise :class:`DirectoryLostError` if the directory was deleted, and :class:`CheckpointError` if the lease has
        ended: another job may have the directory by now.
        """
        if self._handle is not None:
            there = self._lock_file_is_there()
        else:
            with self._renewing:
                there = not self._lost and (self._claim is None or self._files.exists(f"{_NAME}/{self._claim}"))
        if not there:
            raise DirectoryLostError(
                f"the checkpoint directory {self._files.uri}, or the lock in it, was deleted or replaced while the job "
                "was using it. Its checkpoints may be gone, and another job may be using it. Nothing more is written "
                "there. Put it back from a copy, or start from a savepoint (execution.state-recovery.path), or anew"
            )
        if self._handle is None and self._ticks() - self._renewed_at >= _LEASE_MS:
            raise CheckpointError(
                f"the lease of {self._files.uri} could not be renewed for {_LEASE_MS // 1000} seconds, so that another "
                "job may be using the directory"
            )

    def release(self) -> None:
        """Let others in."""
        self._stopped.set()
        if self._renewer is not None:
            self._renewer.join()
        if self._handle is not None:
            self._let_go()
        elif self.held:
            self._withdraw()
        self.held = False


class DirectoryLostError(CheckpointError):
    """The checkpoint directory was deleted under the job: no restart can help."""


def _close_door(directory: str) -> socket.socket | None:
    """A lock that is not in the directory, and so cannot be deleted with it: a name that one process of a host has.

    It only adds to the lock in the directory, which also keeps out jobs of other hosts and containers.
    """
    if not sys.platform.startswith("linux"):
        return None
    path = f"{os.getuid()} {os.path.realpath(directory)}"
    door = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        door.bind(f"\0firesteel-checkpoints-{hashlib.sha256(os.fsencode(path)).hexdigest()}")
    except OSError as error:
        door.close()
        if error.errno == errno.EADDRINUSE:
            raise _locked(directory) from error
        return None  # there are sandboxes without such names
    return door


def _surely_over(owner: dict[str, object]) -> bool:
    """Whether a claim is of a process of this host that is gone. Of other hosts nothing is known."""
    pid = owner.get("pid")
    if owner.get("host") != socket.gethostname() or not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False  # alive, or somebody else's process has that number by now
    return False


def _locked(directory: str, more: str = "") -> CheckpointError:
    return CheckpointError(
        f"another job is using the checkpoint directory {directory}. Give each job a directory of its own "
        f"(execution.checkpointing.dir), or end the other job first{more}"
    )
