"""Runs inside Spark's Python workers: hands a task's chunks to the slot process that holds the subtask.

Spark may run a task in any of its Python workers, so nothing can be kept there. Subtasks live in slot processes beside
them, which stay for as long as the executor does; the worker only relays. This module is sent to the workers by value
and uses the standard library only: workers need not have Firesteel installed to load it.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Client, Connection
from typing import Any, NamedTuple

_START_SLOT = "from firesteel.execution.spark.slot import main; main()"


class SlotSettings(NamedTuple):
    """How slot processes are set up.

    :param slots: How many slot processes an executor has.
    :param search_path: Where they find Firesteel and the program's modules, besides the workers' own path.
    :param package_archives: Archives with Python packages that Spark has unpacked on the executor.
    :param data_archives: Whether the job has archives of its own: functions then find them in the working directory.
    :param memory_limit: Bytes that one slot process may use.
    """

    slots: int
    search_path: list[str]
    package_archives: list[str]
    data_archives: bool
    memory_limit: int | None


def relay(
    task: bytes, plan: Any, settings: SlotSettings, inputs: Any | None = None
) -> Callable[[int, Iterable[tuple[int, Any]]], Iterator[tuple[int, Any]]]:
    """The function that Spark runs for each task of a level.

    :param task: The pickled task of the level, the same for all subtasks.
    :param plan: The broadcast plan, read only when a slot does not know the job.
    :param inputs: Where tasks have no input of their own: the broadcast list of what each has to read.
    """

    def run(index: int, rows: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        from pyspark import SparkFiles, TaskContext

        context = TaskContext.get()
        attempt = f"{context.taskAttemptId()}" if context is not None else "0"
        # All of it: Spark reuses a worker only if its input was consumed. Anchors bring no data, only their place.
        received = [row for _, row in rows if row is not None]
        if inputs is not None:
            received = [inputs.value[index]]
        connection = _connect(index % settings.slots, settings)
        try:
            request = (task, index, attempt, received)
            connection.send_bytes(pickle.dumps(("run", request), 5))
            kind, answer = pickle.loads(connection.recv_bytes())
            if kind == "plan?":
                files = SparkFiles.getRootDirectory()
                archives = [os.path.join(files, name) for name in settings.package_archives]
                path = [*sys.path, *settings.search_path, *archives]
                connection.send_bytes(pickle.dumps(("plan", (plan.value, path, files, settings.data_archives)), 5))
                kind, answer = pickle.loads(connection.recv_bytes())
        except (EOFError, ConnectionError, BrokenPipeError) as error:
            raise RuntimeError(
                f"the slot process of subtask {index} has died; was it killed, or did it run out of memory?"
            ) from error
        finally:
            connection.close()
        if kind == "error":
            raise RuntimeError(answer)
        yield from answer

    return run


def close_job(job_id: str, slots: int) -> Callable[[int, Iterable[Any]], Iterator[str]]:
    """The function that closes a job in all slots of the executor on which it runs."""

    def run(index: int, rows: Iterable[Any]) -> Iterator[str]:
        list(rows)
        for slot in range(slots):
            try:
                connection = Client(_address(slot), "AF_UNIX")
            except (FileNotFoundError, ConnectionRefusedError):
                continue  # a slot that never ran anything
            try:
                connection.send_bytes(pickle.dumps(("close", job_id), 5))
                yield from pickle.loads(connection.recv_bytes())[1]
            finally:
                connection.close()

    return run


def _folder() -> str:
    """A private folder for the sockets of this executor's slots: they belong to Spark's Python daemon, our parent."""
    path = os.path.join(tempfile.gettempdir(), f"firesteel-{os.getuid()}-{os.getppid()}")
    os.makedirs(path, mode=0o700, exist_ok=True)
    if os.stat(path).st_uid != os.getuid():
        raise RuntimeError(f"{path} belongs to somebody else")
    return path


def _address(slot: int) -> str:
    return os.path.join(_folder(), f"slot-{slot}.sock")


def _connect(slot: int, settings: SlotSettings) -> Connection:
    """A connection to the slot process, which is started if it is not there."""
    address = _address(slot)
    try:
        return Client(address, "AF_UNIX")
    except (FileNotFoundError, ConnectionRefusedError):
        pass  # not there, or the remains of one that died
    with open(f"{address}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return Client(address, "AF_UNIX")  # another task was quicker
        except FileNotFoundError:
            pass
        except ConnectionRefusedError:
            os.unlink(address)
        _start_slot(address, settings)
        return Client(address, "AF_UNIX")


def _is_archive_of_spark(entry: str) -> bool:
    name = os.path.basename(entry)
    return name == "pyspark.zip" or (name.startswith("py4j-") and name.endswith(".zip"))


def _start_slot(address: str, settings: SlotSettings) -> None:
    """Start a slot process and wait until it listens."""
    ready, tell_ready = os.pipe()
    # Spark's own archives last: an installed PySpark is the same, and need not be compiled in every new process.
    path = sorted(dict.fromkeys([*settings.search_path, *sys.path]), key=_is_archive_of_spark)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in path if entry)}
    arguments = [address, str(os.getppid()), str(tell_ready), str(settings.memory_limit or 0)]
    process = subprocess.Popen(
        [sys.executable, "-c", _START_SLOT, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),
        pass_fds=(tell_ready,),
        start_new_session=True,
    )
    os.close(tell_ready)
    with os.fdopen(ready, "rb") as pipe:
        if not pipe.read(1):
            raise RuntimeError(
                f"a slot process could not be started (exit code {process.wait()}); its error output is in this "
                "executor's stderr. Is firesteel importable with these paths: " + environment["PYTHONPATH"]
            )
