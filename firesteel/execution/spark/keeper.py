"""The keeper: a process beside each executor that starts the slot processes of jobs, and sees to it that they end.

It runs no code of users, so nothing can keep it from its work. It has imported what slots need and forks them, which
takes milliseconds: every job gets slot processes of its own, and shares with other jobs neither credentials nor
serializers, classes, modules or the working directory.

A slot that has to end (its job has ended, or the executor has) is told by SIGTERM, which interrupts what its functions
are doing so that they can be closed. After a deadline it is killed, with everything it has started. If the keeper
itself is killed, the operating system kills the slots.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hmac  # noqa: F401  what every connection needs is here before slots are forked
import logging
import os
import pickle
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

import firesteel.datastream  # noqa: F401  most programs use it; imported here, it costs slots nothing
from firesteel.execution.spark import slot
from firesteel.execution.worker_logging import set_up_logging
from firesteel.state.work_directory import sweep

log = logging.getLogger("firesteel.keeper")

_NAME = "keeper"
_CLIENT_SECONDS = 10.0
"""How long a client may keep the keeper waiting in the middle of a request."""
_SECONDS_AFTER_EXECUTOR = 10.0
"""How long slots have to close their functions when their executor has ended: nobody waits for them any more."""
_REMIND_AFTER_EXECUTOR = 2.0
_PR_SET_PDEATHSIG = 1


@dataclass
class _Slot:
    """A slot process that runs.

    :param problems: A pipe that gives what went wrong while it closed its functions.
    :param remind_at: When to tell it again that it has to end.
    """

    job_id: str
    index: int
    name: str
    pid: int
    problems: int
    remind_seconds: float = 0.0
    remind_at: float | None = None
    kill_at: float | None = None
    killed_after: float | None = None


class Keeper:
    """Starts and ends the slots of one executor.

    :param folder: The folder for sockets, open; ``path`` is where it is.
    :param executor: The process to end with: its descriptor, or None and its number where there are none.
    """

    def __init__(self, path: str, folder: int, secret: bytes, executor: tuple[int | None, int]) -> None:
        self._path, self._folder, self._secret = path, folder, secret
        self._watched, self._executor = executor
        self._slots: dict[tuple[str, int], _Slot] = {}
        self._problems: dict[str, list[str]] = {}
        self._waiting: dict[str, list[Connection]] = {}
        """Who waits for the end of a job's slots."""
        self._ending = False
        self._selector = selectors.DefaultSelector()
        self._listener = self._listen(_NAME)
        self._selector.register(self._listener, selectors.EVENT_READ, self._answer_client)
        if self._watched is not None:
            self._selector.register(self._watched, selectors.EVENT_READ, self._end_all)
        self._signals, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._wake = wake
        self._selector.register(self._signals, selectors.EVENT_READ, lambda: os.read(self._signals, 1024))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which ends jobs in good order
        signal.signal(signal.SIGTERM, lambda *_: self._end_all())
        signal.signal(signal.SIGALRM, _too_slow)

    def _listen(self, name: str) -> socket.socket:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._folder)  # what is left of one that was killed
        by_descriptor = f"/proc/self/fd/{self._folder}"
        base = by_descriptor if os.path.isdir(by_descriptor) else self._path
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{base}/{name}")
        listener.listen(128)
        return listener

    def serve(self) -> None:
        """Answer until the executor has ended, and all slots after it."""
        while self._slots or not self._ending:
            for key, _ in self._selector.select(self._seconds_to_wait()):
                key.data()
            if self._watched is None and not _alive(self._executor):
                self._end_all()
            self._reap()
            self._urge(time.monotonic())

    def _seconds_to_wait(self) -> float | None:
        times = [at for each in self._slots.values() for at in (each.remind_at, each.kill_at) if at is not None]
        longest = 1.0 if self._watched is None else None
        if not times:
            return longest
        wait = max(0.0, min(times) - time.monotonic())
        return wait if longest is None else min(wait, longest)

    # --- clients ------------------------------------------------------------------------------------

    def _answer_client(self) -> None:
        accepted, _ = self._listener.accept()
        connection = Connection(accepted.detach())
        signal.setitimer(signal.ITIMER_REAL, _CLIENT_SECONDS)
        try:
            deliver_challenge(connection, self._secret)
            answer_challenge(connection, self._secret)
            self._answer(connection, *pickle.loads(connection.recv_bytes()))
        except Exception as error:  # whatever a client does, the keeper has to go on
            log.warning("a request could not be answered: %s: %s", type(error).__name__, error)
            connection.close()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _answer(self, connection: Connection, kind: str, content: Any) -> None:
        if kind == "start":
            self._start(*content)
            connection.send_bytes(b"started")
            connection.close()
            return
        job_id, remind_seconds, kill_seconds = content
        self._waiting.setdefault(job_id, []).append(connection)
        for each in self._slots.values():
            if each.job_id == job_id:
                self._end(each, remind_seconds, kill_seconds)
        self._tell_waiting(job_id)

    def _tell_waiting(self, job_id: str) -> None:
        """Tell those who wait for the end of a job, if it has come, what went wrong; the first one only."""
        if any(each.job_id == job_id for each in self._slots.values()):
            return
        problems = self._problems.pop(job_id, [])
        for connection in self._waiting.pop(job_id, []):
            with contextlib.suppress(OSError), connection:
                connection.send_bytes(pickle.dumps(problems, 5))
                problems = []

    # --- slots --------------------------------------------------------------------------------------

    def _start(self, job_id: str, index: int, name: str, secret: bytes, path: list[str], memory_limit: int) -> None:
        self._reap()
        if self._ending:
            raise RuntimeError("the executor has ended")
        if (job_id, index) in self._slots:
            return
        listener = self._listen(name)
        problems, tell_problems = os.pipe()
        keeper = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            listener.close()
            os.close(tell_problems)
            self._slots[job_id, index] = _Slot(job_id, index, name, pid, problems)
            return
        try:
            os.setsid()  # and so the leader of a group: what it starts can be killed with it
            end_with_parent(keeper)
            self._forget_everything(problems)
            sys.path[:] = path
            os.environ["PYTHONPATH"] = os.pathsep.join(path)
            slot.run_slot(listener, secret, tell_problems, memory_limit, self._path)
        except BaseException:
            log.exception("slot process %d of job %s has failed", index, job_id)
        finally:
            os._exit(1)

    def _forget_everything(self, problems: int) -> None:
        """In a new slot: close what belongs to the keeper."""
        signal.set_wakeup_fd(-1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each in (signal.SIGCHLD, signal.SIGALRM):
            signal.signal(each, signal.SIG_DFL)
        self._selector.close()
        self._listener.close()
        others = [each.problems for each in self._slots.values()]
        for descriptor in (self._folder, self._signals, self._wake, problems, *others):
            os.close(descriptor)
        if self._watched is not None:
            os.close(self._watched)
        for connections in self._waiting.values():
            for connection in connections:
                connection.close()

    def _end(self, each: _Slot, remind_seconds: float, kill_seconds: float) -> None:
        """Tell a slot to end, and note when it is to be told again and when to be killed."""
        now = time.monotonic()
        each.remind_seconds, each.remind_at = max(0.1, remind_seconds), now
        if kill_seconds > 0 and (each.kill_at is None or now + kill_seconds < each.kill_at):
            each.kill_at, each.killed_after = now + kill_seconds, kill_seconds
        self._urge(now)

    def _urge(self, now: float) -> None:
        for each in self._slots.values():
            if each.kill_at is not None and now >= each.kill_at:
                each.kill_at = each.remind_at = None
                text = f"slot process {each.index} did not end within {each.killed_after:g} s and was killed"
                self._problems.setdefault(each.job_id, []).append(text)
                os.killpg(each.pid, signal.SIGKILL)
            elif each.remind_at is not None and now >= each.remind_at:
                each.remind_at = now + each.remind_seconds
                os.kill(each.pid, signal.SIGTERM)

    def _end_all(self) -> None:
        """The executor has ended: nobody takes the results of its slots any more."""
        if self._ending:
            return
        self._ending = True
        if self._watched is not None:
            self._selector.unregister(self._watched)
        for each in self._slots.values():
            self._end(each, _REMIND_AFTER_EXECUTOR, _SECONDS_AFTER_EXECUTOR)

    def _reap(self) -> None:
        """Take note of slots that have ended, and kill what they have left."""
        for key, each in list(self._slots.items()):
            if os.waitid(os.P_PID, each.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(each.pid, signal.SIGKILL)  # before its number can be given to another
            os.waitpid(each.pid, 0)
            del self._slots[key]
            for name in (each.name, slot.name_for_peers(each.name)):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._folder)
            with os.fdopen(each.problems, "rb") as pipe:
                told = pipe.read()
            if told and each.job_id in self._waiting:
                self._problems.setdefault(each.job_id, []).extend(pickle.loads(told))
            self._tell_waiting(each.job_id)

    def clean_up(self) -> None:
        """Delete the folder."""
        for name in os.listdir(self._folder):
            os.unlink(name, dir_fd=self._folder)
        with contextlib.suppress(OSError):
            os.rmdir(self._path)


def _too_slow(*_: object) -> None:
    raise TimeoutError("the client has not finished its request")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def end_with_parent(parent: int) -> None:
    """Have the operating system kill this process when its parent ends, however that happens. On Linux only."""
    prctl = getattr(_C_LIBRARY, "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it was quicker


_C_LIBRARY = ctypes.CDLL(None)


def main() -> None:
    """Keep until the executor ends. What to do comes through standard input, for secrets are among it.

    The number of the process that is watched is an argument only so that people see in a list of processes what
    belongs together.
    """
    path, folder, in_use, ready, watched, secret = pickle.load(sys.stdin.buffer)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    for descriptor in (folder, in_use, ready, *([] if watched is None else [watched])):
        os.set_inheritable(descriptor, False)
    set_up_logging("WARNING")  # a slot shows what its job asks for
    sweep(os.path.dirname(path))
    keeper = Keeper(path, folder, secret, (watched, int(sys.argv[1])))
    gc.freeze()
    os.write(ready, b"1")
    os.close(ready)
    keeper.serve()
    keeper.clean_up()
