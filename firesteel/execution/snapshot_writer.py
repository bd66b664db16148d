"""Writing a subtask's snapshot to the store without holding up the next epoch.

- Small ones are written at once: they cost less than handing them over would.
- Large changes are encoded at once (the state goes on changing) and written by a background thread.
- Full snapshots of state in RocksDB may not fit into memory: they are written piece by piece, at once to a local disk;
  for other file systems to a temporary file, which a background thread sends.
- Full snapshots of state in memory are written by a forked process, to which the operating system gives the memory as
  it stands: the cost of encoding millions of entries falls on another process. Local disks only: the clients of remote
  file systems do not survive a fork.

The driver sees that a file is complete by its being there.
"""

from __future__ import annotations

import gc
import logging
import os
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

from firesteel.state.filesystem import LocalFileStore
from firesteel.state.snapshots import OperatorSnapshot, encode, encode_parts
from firesteel.state.store import CheckpointStore

log = logging.getLogger("firesteel.snapshots")
_WRITE_AT_ONCE = 4 << 20
_PIECE = 1 << 20


class SnapshotWriter:
    """Writes state files; remembers what went wrong in the background.

    :param may_fork: Whether this process can be forked safely.
    """

    def __init__(self, may_fork: bool) -> None:
        self._may_fork = may_fork
        self._background = ThreadPoolExecutor(1, thread_name_prefix="firesteel-snapshots")
        self._children: dict[int, str] = {}
        self._problems: list[str] = []

    def write(
        self, directory: str, name: str, snapshots: dict[str, OperatorSnapshot], fork_safe: bool, at_once: bool
    ) -> None:
        """Write, or see to it that it is written.

        :param fork_safe: Whether the state can be read in a forked process.
        :param at_once: The file must be there when this returns.
        """
        store = CheckpointStore(directory)
        full = any(snapshot.full and snapshot.keyed is not None for snapshot in snapshots.values())
        local = isinstance(store.files, LocalFileStore)
        if full and fork_safe and local and self._may_fork and not at_once:
            self._write_in_child(store, name, snapshots)
            return
        if full and not fork_safe:
            self._write_streaming(store, name, snapshots, at_once or local)
            return
        data = encode(snapshots)
        if at_once or len(data) <= _WRITE_AT_ONCE:
            store.write_state(name, data)
        else:
            self._background.submit(store.write_state, name, data).add_done_callback(self._note_failure)

    def _write_streaming(
        self, store: CheckpointStore, name: str, snapshots: dict[str, OperatorSnapshot], at_once: bool
    ) -> None:
        if at_once:
            store.write_state(name, encode_parts(snapshots))
            return
        spool = tempfile.TemporaryFile(prefix="firesteel-snapshot-")  # noqa: SIM115  closed when it has been sent
        spool.writelines(encode_parts(snapshots))
        spool.seek(0)
        self._background.submit(_send, store, name, spool).add_done_callback(self._note_failure)

    def _note_failure(self, done: Future[None]) -> None:
        error = done.exception()
        if error is not None:
            self._problems.append(str(error))

    def _write_in_child(self, store: CheckpointStore, name: str, snapshots: dict[str, OperatorSnapshot]) -> None:
        child = os.fork()
        if child:
            self._children[child] = name
            return
        code = 1
        try:
            gc.disable()  # collecting would touch, and so copy, all of the parent's memory
            store.write_state(name, encode(snapshots))
            code = 0
        finally:
            os._exit(code)

    def take_problems(self) -> list[str]:
        """What has gone wrong since the last call."""
        for child in list(self._children):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                name = self._children.pop(child)
                if status:
                    self._problems.append(f"the process that wrote {name} ended with status {status}")
        problems, self._problems = self._problems, []
        return problems

    def close(self) -> None:
        """Wait for what is under way."""
        self._background.shutdown(wait=True)
        for child in list(self._children):
            os.waitpid(child, 0)
        self._children.clear()


def _send(store: CheckpointStore, name: str, spool: BinaryIO) -> None:
    with spool:
        store.write_state(name, iter(lambda: spool.read(_PIECE), b""))
