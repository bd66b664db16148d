"""Ending jobs from outside: cancelling one whose functions are busy, SIGTERM, programs that end before their jobs."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 (its own hook at the end of the program has to be there before ours)
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firesteel.execution.job import Job

EPOCH_SECONDS = 5.0
"""How long the present epoch may take when a job is to end. Then its functions are interrupted."""
_AGAIN_SECONDS = 2.0
_CLOSING_SECONDS = 30.0
"""How long closing may take beyond the time that functions have."""


class Interrupted(BaseException):
    """Nobody waits for what a function is doing. It is no Exception: functions must not take it for one of theirs."""


class Terminated(BaseException):
    """The process was told to end by SIGTERM while a job runs in its main thread."""


def watch_cancellation(job: Job, interrupt: Callable[[], None], timeout_ms: int) -> None:
    """Once a job is cancelled, see to it that it ends.

    The present epoch gets some seconds. Then its functions are interrupted, and interrupted again; and if not even the
    end of their processes helps, the job counts as cancelled though something of it still runs.

    :param timeout_ms: How long functions have until their processes are killed; 0 means for ever.
    """

    def watch() -> None:
        deadline = None if timeout_ms == 0 else time.monotonic() + timeout_ms / 1000 + _CLOSING_SECONDS
        wait = EPOCH_SECONDS if timeout_ms == 0 else min(EPOCH_SECONDS, timeout_ms / 1000)
        while not job.wait_for_end(wait):
            if deadline is not None and time.monotonic() >= deadline:
                job.give_up()
                return
            interrupt()
            wait = _AGAIN_SECONDS

    job.on_cancel(lambda: threading.Thread(target=watch, name="firesteel-cancel", daemon=True).start())


# --- signals -----------------------------------------------------------------------------------------

_EXIT_CODE = 128 + signal.SIGTERM
"""That of a process that SIGTERM has ended."""
_attached = False
"""Whether a job runs in the main thread."""
_detached: weakref.WeakSet[Job] = weakref.WeakSet()
_hooked = False
"""Whether the end of the program is noticed."""


@contextmanager
def orderly_signals() -> Iterator[None]:
    """While a job runs in the main thread: Ctrl-C raises KeyboardInterrupt there and SIGTERM :class:`Terminated`, once;
    the program then ends with the exit code that SIGTERM has.

    Spark's own handler of Ctrl-C would kill the running epoch. A handler of SIGTERM that the program has is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    global _attached
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    terminating = _take_sigterm()
    _attached = True
    try:
        yield
    except Terminated:
        raise SystemExit(_EXIT_CODE) from None
    finally:
        _attached = False
        signal.signal(signal.SIGINT, before)
        if terminating:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def end_with_program(job: Job) -> None:
    """A job runs in another thread: when the program ends, unless it is killed, the job ends in good order before.

    The functions of ``atexit`` are called too late for that: before them the interpreter waits for the threads of all
    thread pools, among them one that waits for the job's present epoch, and closes the pools.
    """
    global _hooked
    if not _hooked:
        _hooked = True
        threading._register_atexit(_end_detached)  # type: ignore[attr-defined]
    _detached.add(job)
    if threading.current_thread() is threading.main_thread():
        _take_sigterm()


def _take_sigterm() -> bool:
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return False
    signal.signal(signal.SIGTERM, _terminate)
    return True


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is ending; who is impatient has SIGKILL
    if _attached:
        raise Terminated
    raise SystemExit(_EXIT_CODE)


def _end_detached() -> None:
    running = [job for job in _detached if not job.wait_for_end(0)]
    for job in running:
        job.request_termination()
    deadline = time.monotonic() + EPOCH_SECONDS + _CLOSING_SECONDS
    for job in running:
        job.wait_for_end(max(0.0, deadline - time.monotonic()))
