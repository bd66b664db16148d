"""The lock under which a source function emits and the engine takes snapshots."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

__all__ = ["CheckpointLock"]


class CheckpointLock:
    """A reentrant lock that a function's loop cannot keep from the engine.

    A loop that releases a plain lock and takes it again at once nearly always wins it back before a waiting thread
    has woken up. Here new takers stand back while the engine wants the lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._depth = 0
        self._gate = threading.Event()
        self._gate.set()
        self._on_release: Callable[[], None] | None = None

    def acquire(self) -> None:
        """Take the lock, again if this thread has it already."""
        me = threading.get_ident()
        if self._owner != me:
            while True:
                if not self._gate.is_set():
                    self._gate.wait()
                self._lock.acquire()
                if self._gate.is_set():
                    break
                self._lock.release()  # the engine has asked for it in between
            self._owner = me
        self._depth += 1

    def release(self) -> None:
        """Give the lock back, once for each time it was taken."""
        if self._owner != threading.get_ident():
            raise RuntimeError("the checkpoint lock is released by a thread that does not hold it")
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            self._lock.release()
            call, self._on_release = self._on_release, None
            if call is not None:
                call()

    def __enter__(self) -> CheckpointLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def acquire_for_engine(
        self, seconds: float, while_waiting: Callable[[], None], on_release: Callable[[], None]
    ) -> bool:
        """Take the lock before any other taker, if it comes free within ``seconds``.

        :param while_waiting: Called now and then while the lock is held by someone else.
        :param on_release: Called by the holder when it releases the lock, if it did not come free in time.
        """
        self._gate.clear()
        acquired = False
        try:
            acquired = self._wait(seconds, while_waiting, on_release)
        finally:
            if not acquired:
                self._gate.set()
        if acquired:
            self._owner = threading.get_ident()
            self._depth = 1
        return acquired

    def _wait(self, seconds: float, while_waiting: Callable[[], None], on_release: Callable[[], None]) -> bool:
        deadline = time.monotonic() + seconds
        patience = 0.0
        while not self._lock.acquire(timeout=patience):
            while_waiting()
            patience = 0.001
            if time.monotonic() > deadline:
                # Left behind before the last try: whoever holds the lock after that will find it.
                self._on_release = on_release
                if not self._lock.acquire(blocking=False):
                    return False
                break
        self._on_release = None
        return True

    def release_by_engine(self) -> None:
        """Give back what :meth:`acquire_for_engine` took, and let others take it."""
        self._gate.set()
        self.release()
