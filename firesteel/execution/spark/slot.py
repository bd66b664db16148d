"""A slot process: holds subtasks between epochs and runs them when a Spark task asks. One request at a time."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import resource
import select
import signal
import sys
import threading
import time
import traceback
from dataclasses import replace
from multiprocessing.connection import Connection, Listener
from typing import Any

from firesteel.execution.host import LevelTask, SubtaskHost, next_partition
from firesteel.runtime.emitters import ChunkRow
from firesteel.state import codec

log = logging.getLogger("firesteel.slot")


class SlotServer:
    """Answers the relays of one executor."""

    def __init__(self, address: str) -> None:
        self._listener = Listener(address, "AF_UNIX", backlog=128)
        self._host = SubtaskHost(may_fork=True)
        self._widths: dict[str, tuple[int, ...]] = {}
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Answer requests until the process ends."""
        while True:
            connection = self._listener.accept()
            try:
                with self._lock:
                    self._answer(connection)
            except (EOFError, ConnectionError, BrokenPipeError):
                log.warning("a Spark task went away before its answer was ready")
            finally:
                connection.close()

    def _answer(self, connection: Connection) -> None:
        kind, content = pickle.loads(connection.recv_bytes())
        if kind == "close":
            self._widths.pop(content, None)
            reply: tuple[str, Any] = ("closed", self._host.close_job(content))
        else:
            reply = self._run(connection, *content)
        connection.send_bytes(pickle.dumps(reply, 5))

    def _run(
        self, connection: Connection, task_bytes: bytes, index: int, attempt: str, rows: list[Any]
    ) -> tuple[str, Any]:
        try:
            level_task: LevelTask = codec.loads(task_bytes)
            if not self._host.knows(level_task.job_id):
                self._fetch_plan(connection, level_task.job_id)
            return ("rows", self._run_level(replace(level_task, index=index, attempt=attempt), rows))
        except (EOFError, ConnectionError, BrokenPipeError):
            raise
        except Exception:  # whatever it was, the Spark task has to fail with it, not this process
            return ("error", traceback.format_exc())

    def _fetch_plan(self, connection: Connection, job_id: str) -> None:
        connection.send_bytes(pickle.dumps(("plan?", None), 5))
        _, (plan_bytes, worker_path, files, data_archives) = pickle.loads(connection.recv_bytes())
        if data_archives:
            os.chdir(files)
        for entry in worker_path:
            if entry not in sys.path:
                sys.path.append(entry)  # files that the job has added since this process was started
        plan = codec.loads(plan_bytes)
        if plan.cached_files:
            _tell_spark_files(files)
        self._host.add_plan(plan)
        self._widths[job_id] = plan.widths

    def _run_level(self, task: LevelTask, rows: list[Any]) -> list[tuple[int, ChunkRow]]:
        widths = self._widths[task.job_id]
        if task.level == 0:
            task.source_tasks = codec.loads(rows[0])
            rows = []
        produced = self._host.run(task, rows)
        following = task.level + 1
        next_width = widths[following] if following < len(widths) else 1
        return [(next_partition(row, following, next_width), row) for row in produced]

    def shut_down(self) -> None:
        """Close all functions: the executor is gone."""
        with self._lock:
            self._host.close_all()


def _tell_spark_files(directory: str) -> None:
    """Let ``SparkFiles`` find what Spark has brought to this host, as it does in Spark's own workers."""
    from pyspark import SparkFiles

    SparkFiles._root_directory = directory
    SparkFiles._is_running_on_worker = True


def main() -> None:
    """Serve until the parent of the Spark workers ends.

    Arguments: the address to listen on, the pid to end with, a pipe to tell that we are ready, a memory limit or 0.
    """
    address, watched, ready, memory_limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    if memory_limit:
        resource.setrlimit(resource.RLIMIT_AS, (memory_limit, memory_limit))
    _calm_garbage_collector()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which ends jobs in good order
    server = SlotServer(address)
    os.write(ready, b"1")
    os.close(ready)
    threading.Thread(target=_end_with, args=(watched, server, address), daemon=True).start()
    server.serve()


def _calm_garbage_collector() -> None:
    """Look for cycles of dead objects less often.

    Records and state are millions of tuples in no cycle at all. With the usual thresholds the collector would look
    through them again and again, and the cost of a record would grow with the state.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def _end_with(pid: int, server: SlotServer, address: str) -> None:
    """End this process, in good order, when another one ends."""
    _wait_for_end(pid)
    server.shut_down()
    for leftover in (address, f"{address}.lock"):
        if os.path.exists(leftover):
            os.unlink(leftover)
    with contextlib.suppress(OSError):  # another slot's socket may still be there
        os.rmdir(os.path.dirname(address))
    os._exit(0)


def _wait_for_end(pid: int) -> None:
    if hasattr(os, "pidfd_open"):
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        select.select([descriptor], [], [])
        return
    while _alive(pid):
        time.sleep(1)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
