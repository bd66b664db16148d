"""Sources written as a loop in Python: a user's ``SourceFunction``, run in threads of the driver."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from firesteel.common.watermark import Watermark
from firesteel.connectors.buffer import EventBuffer, EventList, SourceClosed
from firesteel.connectors.checkpoint_lock import CheckpointLock
from firesteel.errors import CheckpointError, ConfigurationError, NoKeyError, ProgramError
from firesteel.model.functions import (
    Function,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedStateStore,
    ParallelSourceFunction,
    RuntimeContext,
    SourceFunction,
)
from firesteel.model.source import Boundedness, DriverReader, DriverSource, SourceEvents
from firesteel.model.state import OperatorStateStore
from firesteel.plan.graph import user_call_site
from firesteel.plan.serialization import pickle_for_workers
from firesteel.state.operator_state import OperatorStateBackend

__all__ = ["SourceFunctionSource"]

_LOG = logging.getLogger(__name__)
_STATE_VERSION = 1
_LOCK_WAIT_SECONDS = 0.02


class SourceFunctionSource(DriverSource):
    """Runs a :class:`SourceFunction`: ``run`` in a thread per subtask, in the driver.

    What it emits waits in a bounded buffer for the next epoch; when the buffer is full, ``collect`` waits. Each
    subtask works on its own copy of the function.

    A function with ``snapshot_state`` and ``initialize_state`` (deriving from ``CheckpointedFunction`` or not) keeps
    its position in operator state: a snapshot is taken, under the checkpoint lock, with each epoch's records, so that
    it stands exactly after them. Such a source is replayable, if it can go back to the position it has stored.
    Without these two methods nothing is promised: when the job fails, records that had been emitted and not
    checkpointed are lost, and ``run`` begins again, so that it may emit others a second time.

    :param function: The function. It is pickled now: changing it later has no effect.
    :param parallel: Whether it may run in several subtasks; None: if it is a ``ParallelSourceFunction``.
    :param buffer_records: How many records may wait in a subtask.
    :param lock_records: How many records a function may emit without releasing the checkpoint lock in between. They
        have to wait, since a snapshot cannot be taken: more than this is an error.
    :param close_timeout: How many seconds ``run`` may take to return after ``cancel``.
    """

    guarantee = "none"

    def __init__(
        self,
        function: SourceFunction,
        parallel: bool | None = None,
        *,
        buffer_records: int = 10_000,
        lock_records: int = 1_000_000,
        close_timeout: float = 10.0,
    ) -> None:
        for method in ("run", "cancel"):
            if not callable(getattr(function, method, None)):
                raise ConfigurationError(
                    f"a source function has the methods run(ctx) and cancel(), got {function!r:.80} without {method}. "
                    "Derive it from SourceFunction."
                )
        if buffer_records < 1:
            raise ConfigurationError(f"buffer_records must be at least 1, got {buffer_records}")
        self._name = type(function).__name__
        self._pickled = _pickle(function)
        self.parallel = isinstance(function, ParallelSourceFunction) if parallel is None else parallel
        self.buffer_records = buffer_records
        self.lock_records = lock_records
        self.close_timeout = close_timeout
        if _is_checkpointed(function):
            self.replayable = True
            self.guarantee = "exactly-once"

    @property
    def boundedness(self) -> Boundedness:
        """Unbounded: nobody knows when ``run`` returns."""
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_driver_reader(self, subtask_index: int, parallelism: int) -> DriverReader:
        """A reader with its own copy of the function."""
        if parallelism > 1 and not self.parallel:
            raise ProgramError(
                f"the source function {self._name} is not parallel, but the source has parallelism {parallelism}. "
                "Derive it from ParallelSourceFunction or set the parallelism of the source to 1."
            )
        return _FunctionReader(pickle.loads(self._pickled), self, subtask_index, parallelism)


def _pickle(function: SourceFunction) -> bytes:
    try:
        # By reference where that is possible: the copy is made in this very process.
        return pickle.dumps(function)
    except Exception:  # pickling runs arbitrary __reduce__ methods; what follows copes with more, or says what is wrong
        return pickle_for_workers(function, f"source function {type(function).__name__}", user_call_site())


def _is_checkpointed(function: Any) -> bool:
    """Whether it takes part in checkpoints; the base class is not asked for."""
    return callable(getattr(function, "snapshot_state", None)) and callable(getattr(function, "initialize_state", None))


class _Context(SourceFunction.SourceContext):
    """What ``run`` emits to."""

    def __init__(self, buffer: EventBuffer) -> None:
        self._buffer = buffer
        self.lock = CheckpointLock()
        self._idle = False

    def collect(self, element: Any) -> None:
        with self.lock:
            self._become_active()
            self._buffer.add_record(element)

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        with self.lock:
            self._become_active()
            self._buffer.add_record(element, timestamp)

    def emit_watermark(self, mark: Any) -> None:
        with self.lock:
            self._become_active()
            self._buffer.add_sign("watermark", mark.timestamp if isinstance(mark, Watermark) else int(mark))

    def mark_as_temporarily_idle(self) -> None:
        with self.lock:
            if not self._idle:
                self._idle = True
                self._buffer.add_sign("idle")

    def _become_active(self) -> None:
        if self._idle:
            self._idle = False
            self._buffer.add_sign("active")

    def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
        return self.lock

    def close(self) -> None:
        self._buffer.close()


class _FunctionReader(DriverReader):
    """One subtask: the function, its thread, and what it has emitted.

    The function fills the buffer; :meth:`take` moves its content to ``_ready``. A function that holds the checkpoint
    lock while the buffer is full waits for room with the lock held, and that wait must not meet a ``take`` that
    waits for the lock. Releasing the lock inside ``collect`` is no way out: the snapshot would then be taken between
    the emission of a record and the change of the position, where the two do not agree. So ``take`` makes room while
    it tries to get the lock; if that takes too long, it hands over nothing this time, with the state as it was.
    """

    def __init__(self, function: Any, source: SourceFunctionSource, subtask_index: int, parallelism: int) -> None:
        # configuration
        self._function = function
        self._name = type(function).__name__
        self._source = source
        self._subtask_index = subtask_index
        self._parallelism = parallelism
        self._checkpointed = _is_checkpointed(function)
        # transient
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._opened = False
        self._ended = False
        self._closed = False
        self._refused = False  # the function holds the lock; it wakes the engine when it releases it
        self._complete: int | None = None  # the snapshot of a complete checkpoint of which the function must be told
        # checkpointed
        self._operator_state = OperatorStateBackend()
        self._ready = EventList()
        self._snapshots = 0
        self._state: dict[str, Any] | None = None
        self._ready_is_covered = True  # all of _ready was emitted before the last snapshot

    def open(self, context: RuntimeContext, restored: Any | None, wake: Callable[[], None]) -> None:
        """Start the function.

        :param restored: The state that :meth:`take` returned, or a list with the states of all former subtasks (None
            for those that had none): union state and another parallelism need them all.
        """
        self._opened = True
        self._wake = wake
        self._buffer = EventBuffer(self._source.buffer_records, wake)
        self._context = _Context(self._buffer)
        if restored is not None:
            self._restore(restored)
        if self._checkpointed:
            self._function.initialize_state(
                _InitializationContext(self._operator_state, None if restored is None else self._snapshots)
            )
        if isinstance(self._function, Function):
            self._function.set_runtime_context(context)
        if callable(getattr(self._function, "open", None)):
            self._function.open(context)
        name = f"firesteel-source-{self._name}-{self._subtask_index}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _restore(self, restored: Any) -> None:
        states, index, parallelism = [restored], 0, 1
        if isinstance(restored, list):
            states = [state for state in restored if state is not None]
            index, parallelism = self._subtask_index, self._parallelism
        for state in states:
            if state["version"] != _STATE_VERSION:
                raise CheckpointError(
                    f"the state of source function {self._name} has version {state['version']!r}; this release reads "
                    f"version {_STATE_VERSION}"
                )
        self._operator_state.restore([state["operator_state"] for state in states], index, parallelism)
        self._snapshots = max((state["snapshots"] for state in states), default=0)
        for former, state in enumerate(states):
            # Emitted before the snapshot and not handed over then: comes back in exactly one subtask.
            if former % parallelism == index:
                self._ready.extend(EventList.of(state["waiting"]))
        self._state = self._state_now()

    def _run(self) -> None:
        try:
            self._function.run(self._context)
        except SourceClosed:
            pass  # the job has ended and the function tried to emit more
        except BaseException as error:
            # SystemExit and the like too: what ends run() must be seen by the job.
            self._error = None if self._closed else error
        finally:
            self._ended = True
            self._wake()

    def has_data(self) -> bool:
        """Whether something has been emitted that can be taken."""
        return not self._buffer.is_empty() or (bool(self._ready.entries) and not self._refused)

    def take(self, max_records: int) -> tuple[SourceEvents, Any]:
        """Hand over what was emitted, and the function's state after it."""
        self._raise_error()
        if self._ready.records < max_records or not self._ready_is_covered:
            if not self._checkpointed:
                self._ready.extend(self._buffer.drain())
            elif not self._snapshot():
                return SourceEvents(), self._state
        events = SourceEvents(self._ready.split_off(max_records))
        if self._state is not None:
            self._state = {**self._state, "waiting": list(self._ready.entries)}
        return events, self._state

    def _snapshot(self) -> bool:
        """Take a snapshot that stands after all that is in ``_ready``; False if the function keeps the lock."""
        if not self._lock():
            return False
        try:
            self._raise_error()
            self._snapshots += 1
            self._function.snapshot_state(_SnapshotContext(self._snapshots))
            self._state = self._state_now()
            self._ready_is_covered = True
            self._tell_function()
        finally:
            self._context.lock.release_by_engine()
        return True

    def _state_now(self) -> dict[str, Any]:
        return {
            "version": _STATE_VERSION,
            "snapshots": self._snapshots,
            # Copied: the function goes on changing its objects while the engine writes the snapshot.
            "operator_state": copy.deepcopy(self._operator_state.snapshot()),
            "waiting": list(self._ready.entries),
        }

    def _lock(self) -> bool:
        """Get the checkpoint lock, making room meanwhile for a function that waits for room while holding it."""
        locked = self._context.lock.acquire_for_engine(_LOCK_WAIT_SECONDS, self._make_room, self._lock_released)
        self._refused = not locked
        if locked:
            self._make_room()
        return locked

    def _make_room(self) -> None:
        emitted = self._buffer.drain()
        if emitted.entries:
            self._ready.extend(emitted)
            self._ready_is_covered = False
        if self._ready.records > self._source.lock_records:
            raise ProgramError(
                f"the source function {self._name} has emitted {self._ready.records} records without releasing the "
                "checkpoint lock: no snapshot can be taken after them, so they cannot be processed. Hold the lock for "
                "a few records at a time."
            )

    def _lock_released(self) -> None:
        self._refused = False
        self._wake()

    def is_finished(self) -> bool:
        """Whether ``run`` has returned and everything was taken."""
        self._raise_error()
        return self._ended and not self._ready.entries and self._buffer.is_empty()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tell the function, by the number under which it took its snapshot; later if it keeps the lock."""
        if not self._checkpointed or not callable(getattr(self._function, "notify_checkpoint_complete", None)):
            return
        self._complete = self._snapshots
        if self._lock():
            try:
                self._tell_function()
            finally:
                self._context.lock.release_by_engine()

    def _tell_function(self) -> None:
        complete, self._complete = self._complete, None
        if complete is not None:
            self._function.notify_checkpoint_complete(complete)

    def close(self) -> None:
        """Cancel the function, wait for its thread, close the function."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._stop_thread(self._thread)
        if self._opened and callable(getattr(self._function, "close", None)):
            self._function.close()

    def _stop_thread(self, thread: threading.Thread) -> None:
        if not self._ended:
            self._function.cancel()
        self._context.close()
        thread.join(self._source.close_timeout)
        if thread.is_alive():
            _LOG.warning(
                "run() of the source function %s has not returned %s s after cancel(). Make cancel() set a flag that "
                "run() looks at, and do not wait in run() for longer than that.",
                self._name,
                self._source.close_timeout,
            )


class _SnapshotContext(FunctionSnapshotContext):
    """Snapshots of a source function are numbered per subtask; completion is told by the same number."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._timestamp = time.time_ns() // 1_000_000

    def get_checkpoint_id(self) -> int:
        return self._number

    def get_checkpoint_timestamp(self) -> int:
        return self._timestamp


class _InitializationContext(FunctionInitializationContext):
    def __init__(self, store: OperatorStateStore, restored_snapshot: int | None) -> None:
        self._store = store
        self._restored_snapshot = restored_snapshot

    def is_restored(self) -> bool:
        return self._restored_snapshot is not None

    def get_restored_checkpoint_id(self) -> int | None:
        return self._restored_snapshot

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._store

    def get_keyed_state_store(self) -> KeyedStateStore:
        raise NoKeyError(
            "a source has no keyed state: its records have no keys yet. Use get_operator_state_store() instead."
        )
