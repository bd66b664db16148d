"""Writing a subtask's snapshot to the store without holding up the next epoch.

- Small ones are written at once: they cost less than handing them over would.
- Large changes are encoded at once (the state goes on changing) and written by a background thread.
- Full snapshots are written by a forked process, to which the operating system gives the memory as it stands: the cost
  of encoding millions of entries falls on another process. What is in RocksDB is frozen before. On local disks that
  process writes the file itself. The clients of remote file systems do not survive a fork: for those it writes a
  temporary file, which a background thread of this process sends.
- Where forking is not safe, full snapshots that may not fit into memory are written at once, piece by piece; others are
  treated as large changes are.

The driver sees that a file is complete by its being there.
"""

from __future__ import annotations

import gc
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

from firesteel.errors import CheckpointError
from firesteel.state.backend import Frozen, KeyedStateBackend
from firesteel.state.filesystem import LocalFileStore
from firesteel.state.snapshots import OperatorSnapshot, encode, encode_parts, operator_sizes
from firesteel.state.store import CheckpointStore

log = logging.getLogger("firesteel.snapshots")
_WRITE_AT_ONCE = 4 << 20
_PIECE = 1 << 20
_THREADS = 4
"""They wait for other processes and for the network, mostly."""


class SnapshotWriter:
    """Writes state files; remembers what went wrong in the background.

    :param may_fork: Whether this process can be forked safely.
    """

    def __init__(self, may_fork: bool) -> None:
        self._may_fork = may_fork
        self._background = ThreadPoolExecutor(_THREADS, thread_name_prefix="firesteel-snapshots")
        self._children: dict[int, tuple[str, list[Frozen]]] = {}
        self._problems: list[str] = []

    def write(
        self,
        directory: str,
        name: str,
        snapshots: dict[str, OperatorSnapshot],
        backends: Sequence[KeyedStateBackend],
        at_once: bool,
    ) -> dict[str, int]:
        """Write, or see to it that it is written. Returns how many bytes each operator takes, if that is known now.

        :param backends: Where the keyed state of the snapshots is.
        :param at_once: The file must be there when this returns.
        """
        store = CheckpointStore(directory)
        full = any(snapshot.full and snapshot.keyed is not None for snapshot in snapshots.values())
        if full and self._may_fork and not at_once and all(backend.fork_safe for backend in backends):
            self._write_elsewhere(store, name, snapshots, backends)
            return {}
        if full and not all(backend.in_memory for backend in backends):
            self._write_streaming(store, name, snapshots, at_once or isinstance(store.files, LocalFileStore))
            return {}
        data = encode(snapshots)
        if at_once or len(data) <= _WRITE_AT_ONCE:
            store.write_state(name, data)
        else:
            self._background.submit(store.write_state, name, data).add_done_callback(self._note_failure)
        return operator_sizes(data)

    def _write_streaming(
        self, store: CheckpointStore, name: str, snapshots: dict[str, OperatorSnapshot], at_once: bool
    ) -> None:
        if at_once:
            store.write_state(name, encode_parts(snapshots))
            return
        spool = _spool()
        spool.writelines(encode_parts(snapshots))
        self._background.submit(_send, store, name, spool).add_done_callback(self._note_failure)

    def _note_failure(self, done: Future[None]) -> None:
        error = done.exception()
        if error is not None:
            self._problems.append(str(error))

    # ---- in another process --------------------------------------------------------------------------------------

    def _write_elsewhere(
        self,
        store: CheckpointStore,
        name: str,
        snapshots: dict[str, OperatorSnapshot],
        backends: Sequence[KeyedStateBackend],
    ) -> None:
        if isinstance(store.files, LocalFileStore):
            child, frozen = _fork(backends, lambda: store.write_state(name, encode_parts(snapshots)))
            self._children[child] = name, frozen
            return
        spool = _spool()

        def fill() -> None:
            spool.writelines(encode_parts(snapshots))
            spool.flush()

        child, frozen = _fork(backends, fill)
        waiting = self._background.submit(_send_when_filled, store, name, spool, child, frozen)
        waiting.add_done_callback(self._note_failure)

    def take_problems(self) -> list[str]:
        """What has gone wrong since the last call."""
        for child in list(self._children):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                self._end_of(child, status)
        problems, self._problems = self._problems, []
        return problems

    def _end_of(self, child: int, status: int) -> None:
        name, frozen = self._children.pop(child)
        if status:
            self._problems.append(_ended_badly(name, status))
            _release(frozen)  # it may not have come to that

    def close(self) -> None:
        """Wait for what is under way."""
        self._background.shutdown(wait=True)
        for child in list(self._children):
            self._end_of(child, os.waitpid(child, 0)[1])


def _fork(backends: Sequence[KeyedStateBackend], work: Callable[[], None]) -> tuple[int, list[Frozen]]:
    """Do something in a forked process that sees the state as it is now. Returns its id, and what was frozen for it."""
    frozen: list[Frozen] = []
    try:
        for backend in backends:
            frozen.append(backend.freeze())  # noqa: PERF401  what is frozen when one fails has to be released
        child = os.fork()
    except BaseException:
        _release(frozen)
        raise
    if child:
        return child, frozen
    code = 1
    try:
        gc.disable()  # collecting would touch, and so copy, all of the parent's memory
        for each in frozen:
            each.enter()
        work()
        code = 0
    except BaseException:
        log.exception("a full snapshot could not be written")
    finally:
        _release(frozen)
        os._exit(code)  # without closing what belongs to the parent


def _release(frozen: list[Frozen]) -> None:
    for each in frozen:
        each.release()


def _ended_badly(name: str, status: int) -> str:
    return f"the process that wrote {name} ended with status {status}; its error output says why"


def _spool() -> BinaryIO:
    return tempfile.TemporaryFile(prefix="firesteel-snapshot-")  # closed when it has been sent


def _send(store: CheckpointStore, name: str, spool: BinaryIO) -> None:
    with spool:
        spool.seek(0)
        store.write_state(name, iter(lambda: spool.read(_PIECE), b""))


def _send_when_filled(store: CheckpointStore, name: str, spool: BinaryIO, child: int, frozen: list[Frozen]) -> None:
    status = os.waitpid(child, 0)[1]
    if status:
        _release(frozen)
        spool.close()
        raise CheckpointError(_ended_badly(name, status))
    _send(store, name, spool)
