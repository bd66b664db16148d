"""Runs inside Spark's Python workers: hands a task's chunks to the slot process that holds the subtask.

Spark may run a task in any of its Python workers, so nothing can be kept there. Subtasks live in slot processes beside
them, which the executor's keeper starts and ends (see ``keeper``); the worker only relays. This module is sent to the
workers by value and uses the standard library only: workers need not have Firesteel installed to load it.

Whoever connects to a slot or a keeper has to know a secret, and is told that the other side knows it too. Secrets come
with Spark's tasks and go to new processes through pipes; they are in no argument, environment or file. The sockets are
in a folder that only this user can enter, under a name that nobody can guess. It is opened once, checked, and used
through its descriptor: it cannot be exchanged in between, and its path may be of any length.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import os
import pickle
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Client, Connection, wait
from typing import Any, NamedTuple

_START_KEEPER = "from firesteel.execution.spark.keeper import main; main()"
_KEEPER = "keeper"
_ABSENT = (FileNotFoundError, ConnectionRefusedError)
"""How it shows that nobody listens: there never was a process, or only its socket is left."""


class SlotSettings(NamedTuple):
    """How the slot processes of a job are set up.

    :param slots: How many slot processes an executor has for the job.
    :param secret: The job's: known by its tasks and its slots.
    :param keeper_secret: The application's: known by all tasks and by the keepers of its executors.
    :param search_path: Where they find Firesteel and the program's modules, besides the workers' own path.
    :param package_archives: Archives with Python packages that Spark has unpacked on the executor.
    :param data_archives: Whether the job has archives of its own: functions then find them in the working directory.
    :param memory_limit: Bytes that one slot process may use.
    :param remind_seconds: How often a slot that has to end is told so.
    :param kill_seconds: When a slot that has to end is killed; 0 means never.
    """

    job_id: str
    slots: int
    secret: bytes
    keeper_secret: bytes
    search_path: list[str]
    package_archives: list[str]
    data_archives: bool
    memory_limit: int | None
    remind_seconds: float
    kill_seconds: float


def relay(
    task: bytes, plan: Any, settings: SlotSettings, inputs: Any | None = None
) -> Callable[[int, Iterable[tuple[int, Any]]], Iterator[tuple[int, Any]]]:
    """The function that Spark runs for each task of a level.

    :param task: The pickled task of the level, the same for all subtasks.
    :param plan: The broadcast plan, read only when a slot does not know the job.
    :param inputs: Where tasks have no input of their own: the broadcast list of what each has to read.
    """

    def run(index: int, rows: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = f"{context.taskAttemptId()}" if context is not None else "0"
        # All of it: Spark reuses a worker only if its input was consumed. Anchors bring no data, only their place.
        received = [row for _, row in rows if row is not None]
        if inputs is not None:
            received = [inputs.value[index]]
        try:
            with _connect(index % settings.slots, settings) as connection:
                request = (task, index, attempt, received)
                connection.send_bytes(pickle.dumps(("run", request), 5))
                kind, answer = pickle.loads(connection.recv_bytes())
                if kind == "plan?":
                    _send_plan(connection, plan, settings)
                    kind, answer = pickle.loads(connection.recv_bytes())
        except (EOFError, ConnectionError, BrokenPipeError) as error:
            raise RuntimeError(
                f"the slot process of subtask {index} has died; was it killed, or did it run out of memory?"
            ) from error
        if kind == "error":
            raise RuntimeError(answer)
        yield from answer

    return run


def host_slots(
    membership: bytes, plan: Any, settings: SlotSettings, slots: int, tasks: int, local: bool
) -> Callable[[int, Iterable[Any]], Iterator[int]]:
    """The function of the long-running tasks of direct exchange: each has its share of the slots, from start to end.

    :param membership: Pickled: what a slot has to know to find the others.
    :param slots: How many slot processes the job has; a task has those whose number leaves its own as remainder.
    :param local: Nobody on another host has to reach them.
    """

    def run(index: int, rows: Iterable[Any]) -> Iterator[int]:
        from pyspark import BarrierTaskContext

        list(rows)
        host = None if local else BarrierTaskContext.get().getTaskInfos()[index].address.rpartition(":")[0]
        with contextlib.ExitStack() as stack:
            slot_of: dict[Connection, int] = {}
            for slot in range(index, slots, tasks):
                connection = stack.enter_context(_connect(slot, settings))
                connection.send_bytes(pickle.dumps(("direct", (membership, slot, host)), 5))
                slot_of[connection] = slot
            while slot_of:
                for ready in wait(list(slot_of)):
                    assert isinstance(ready, Connection)
                    _attend_slot(ready, slot_of, plan, settings)
        yield index

    return run


def _attend_slot(connection: Connection, slot_of: dict[Connection, int], plan: Any, settings: SlotSettings) -> None:
    """Answer a slot that takes part in direct exchange, or take note of its end."""
    try:
        kind, answer = pickle.loads(connection.recv_bytes())
        if kind == "plan?":
            _send_plan(connection, plan, settings)
            return
    except (EOFError, ConnectionError, BrokenPipeError) as error:
        raise RuntimeError(
            f"slot process {slot_of[connection]} has died; was it killed, or did it run out of memory?"
        ) from error
    if kind == "error":
        raise RuntimeError(answer)
    del slot_of[connection]


def _send_plan(connection: Connection, plan: Any, settings: SlotSettings) -> None:
    from pyspark import SparkFiles

    files = SparkFiles.getRootDirectory()
    archives = [os.path.join(files, name) for name in settings.package_archives]
    path = [*sys.path, *settings.search_path, *archives]
    connection.send_bytes(pickle.dumps(("plan", (plan.value, path, files, settings.data_archives)), 5))


def close_job(settings: SlotSettings) -> Callable[[int, Iterable[Any]], Iterator[str]]:
    """The function that ends all slots of the job on the executor on which it runs, and gives what went wrong."""

    def run(index: int, rows: Iterable[Any]) -> Iterator[str]:
        list(rows)
        try:
            with _Folder(settings, create=False) as folder, folder.connect(_KEEPER, settings.keeper_secret) as keeper:
                request = ("end", (settings.job_id, settings.remind_seconds, settings.kill_seconds))
                keeper.send_bytes(pickle.dumps(request, 5))
                yield from pickle.loads(keeper.recv_bytes())
        except _ABSENT:
            pass  # nothing ever ran here

    return run


# --- sockets -----------------------------------------------------------------------------------------


def _executor_process() -> int:
    """The process that slots end with: Spark's Python daemon, our parent."""
    parent = os.getppid()
    if parent == 1:
        raise RuntimeError("the executor of this Python worker has ended, so it starts nothing any more")
    return parent


class _Folder:
    """The folder with the sockets of an executor's keeper and slots. It is found by all who know the secret."""

    def __init__(self, settings: SlotSettings, create: bool) -> None:
        number = str(_executor_process()).encode()
        name = hmac.new(settings.keeper_secret, number, hashlib.sha256).hexdigest()[:32]
        self.path = os.path.join(tempfile.gettempdir(), f"firesteel-slots-{name}")
        if create:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.path, 0o700)
        self.descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        status = os.fstat(self.descriptor)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            os.close(self.descriptor)
            raise RuntimeError(f"{self.path} is not a folder of this user's alone: somebody has put it there")

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def connect(self, name: str, secret: bytes) -> Connection:
        """A connection to whoever listens there, after both have shown that they know the secret."""
        by_descriptor = f"/proc/self/fd/{self.descriptor}"
        base = by_descriptor if os.path.isdir(by_descriptor) else self.path
        return Client(f"{base}/{name}", "AF_UNIX", authkey=secret)

    def lock(self, name: str) -> int:
        """Take the lock of a file in the folder; whoever closes the descriptor last gives it back."""
        descriptor = os.open(name, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600, dir_fd=self.descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor

    @property
    def is_gone(self) -> bool:
        """Whether somebody has deleted it, having found it unused."""
        return os.fstat(self.descriptor).st_nlink == 0


def _connect(slot: int, settings: SlotSettings) -> Connection:
    """A connection to the slot process, which is started if it is not there."""
    name = f"{settings.job_id}-{slot}"
    for attempt in range(10):
        with _Folder(settings, create=True) as folder:
            with contextlib.suppress(*_ABSENT):
                return folder.connect(name, settings.secret)
            with _keeper(folder, settings) as keeper:
                path = _search_path(settings)
                start = (settings.job_id, slot, name, settings.secret, path, settings.memory_limit or 0)
                keeper.send_bytes(pickle.dumps(("start", start), 5))
                keeper.recv_bytes()
            with contextlib.suppress(*_ABSENT):
                return folder.connect(name, settings.secret)
        time.sleep(0.02 * attempt)  # it is dying this very moment, which its keeper has not seen yet
    raise RuntimeError(f"slot process {slot} could not be started; its error output is in this executor's stderr")


def _keeper(folder: _Folder, settings: SlotSettings) -> Connection:
    """A connection to the executor's keeper, which is started if it is not there."""
    with contextlib.suppress(*_ABSENT):
        return folder.connect(_KEEPER, settings.keeper_secret)
    starting = folder.lock("starting")
    try:
        with contextlib.suppress(*_ABSENT):
            return folder.connect(_KEEPER, settings.keeper_secret)  # another task was quicker
        in_use = folder.lock("in-use")
        try:
            if folder.is_gone:
                raise FileNotFoundError(folder.path)
            _start_keeper(folder, in_use, settings)
        finally:
            os.close(in_use)  # it is the keeper's now
        return folder.connect(_KEEPER, settings.keeper_secret)
    finally:
        os.close(starting)


def _is_archive_of_spark(entry: str) -> bool:
    name = os.path.basename(entry)
    return name == "pyspark.zip" or (name.startswith("py4j-") and name.endswith(".zip"))


def _search_path(settings: SlotSettings) -> list[str]:
    """Spark's own archives last: an installed PySpark is the same, and need not be compiled in every new process."""
    path = sorted(dict.fromkeys([*settings.search_path, *sys.path]), key=_is_archive_of_spark)
    return [entry for entry in path if entry]


def _start_keeper(folder: _Folder, in_use: int, settings: SlotSettings) -> None:
    """Start a keeper and wait until it listens."""
    executor = _executor_process()
    watched = os.pidfd_open(executor) if hasattr(os, "pidfd_open") else None
    if os.getppid() != executor:
        raise RuntimeError("the executor of this Python worker has just ended, so it starts nothing any more")
    ready, tell_ready = os.pipe()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_search_path(settings))}
    inherited = [folder.descriptor, in_use, tell_ready, *([] if watched is None else [watched])]
    process = subprocess.Popen(
        [sys.executable, "-c", _START_KEEPER, str(executor)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=sys.stderr.fileno(),
        pass_fds=inherited,
        start_new_session=True,
    )
    os.close(tell_ready)
    if watched is not None:
        os.close(watched)
    assert process.stdin is not None
    told = (folder.path, folder.descriptor, in_use, tell_ready, watched, settings.keeper_secret)
    with contextlib.suppress(BrokenPipeError), process.stdin:
        pickle.dump(told, process.stdin)
    with os.fdopen(ready, "rb") as pipe:
        if not pipe.read(1):
            raise RuntimeError(
                f"slot processes cannot be started (exit code {process.wait()}); the error output is in this "
                "executor's stderr. Is firesteel importable with these paths: " + environment["PYTHONPATH"]
            )
