"""A slot process: holds subtasks of one job between epochs and runs them when a Spark task asks. One request at a time.

Functions run in the main thread, so that a signal can interrupt them: SIGTERM from the keeper when the process has to
end, another one from a thread of our own when the task that asked has gone, because Spark has killed it or its worker
has died. Nobody waits for what it is doing then, and the next request begins with a restore.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import resource
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

from firesteel.execution.direct.lines import LineLostError
from firesteel.execution.direct.member import Member, Place
from firesteel.execution.ending import Interrupted
from firesteel.execution.host import LevelTask, SubtaskHost, next_partition
from firesteel.execution.worker_logging import set_up_logging
from firesteel.runtime.emitters import ChunkRow
from firesteel.state import codec

log = logging.getLogger("firesteel.slot")

_PROBLEMS, _PROBLEM_LENGTH = 50, 1000
"""What goes wrong while closing has to fit into a pipe, since nobody reads it before the end."""
_ABANDONED = getattr(signal, "SIGRTMIN", signal.SIGUSR2)


class SlotServer:
    """Answers the relays of one executor for one job.

    :param secret: The job's: who connects has to know it.
    :param folder: Where the sockets are.
    """

    def __init__(self, listener: socket.socket, secret: bytes, folder: str) -> None:
        self._listener = listener
        self._folder = folder
        self._secret = secret
        self._host = SubtaskHost(may_fork=True)
        self._widths: dict[str, tuple[int, ...]] = {}
        self._inside = False
        """Whether the main thread is where it may be interrupted."""
        self._ending = False
        self._clients = _ClientWatch()

    def serve(self) -> None:
        """Answer requests until the process is told to end."""
        signal.signal(signal.SIGTERM, self._on_end)
        signal.signal(_ABANDONED, self._on_abandoned)
        while not self._ending:
            try:
                self._inside = True
                self._serve_one()
            except Interrupted:
                self._inside = False
                self._forget()
            except (EOFError, ConnectionError, BrokenPipeError):
                log.warning("a Spark task went away before its answer was ready")
            except Exception:  # a stranger, most likely; the next one may be a friend
                log.warning("a request could not be read:\n%s", traceback.format_exc())
        self._inside = False
        signal.signal(_ABANDONED, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def _on_end(self, *_: object) -> None:
        self._ending = True
        if self._inside:
            raise Interrupted("the slot process has to end")

    def _on_abandoned(self, *_: object) -> None:
        if self._inside and self._clients.gone:
            raise Interrupted("the Spark task has gone")

    def _forget(self) -> None:
        """Throw away what was interrupted in the middle. At the end of the process, that is done anyway."""
        if not self._ending:
            for job_id in list(self._widths):
                self._widths.pop(job_id)
                self._host.close_job(job_id)

    def _serve_one(self) -> None:
        accepted, _ = self._listener.accept()
        with Connection(accepted.detach()) as connection:
            deliver_challenge(connection, self._secret)
            answer_challenge(connection, self._secret)
            kind, content = pickle.loads(connection.recv_bytes())
            with self._clients.watching(connection):
                reply = (self._take_part if kind == "direct" else self._run)(connection, *content)
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

    def _take_part(
        self, connection: Connection, membership_bytes: bytes, slot: int, host: str | None
    ) -> tuple[str, Any]:
        """Exchange chunks with other slots directly, until the driver lets this one go."""
        try:
            job_id, membership = codec.loads(membership_bytes)
            if not self._host.knows(job_id):
                self._fetch_plan(connection, job_id)
            place = Place(slot, self._folder, name_for_peers(f"{job_id}-{slot}"), host)
            Member(membership, place, self._host, self._widths[job_id]).take_part()
            return ("done", None)
        except LineLostError as error:
            return ("error", f"slot process {slot} has lost the driver: {error}")
        except Exception:
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
        set_up_logging(plan.settings.log_level, plan.settings.log_levels)
        if plan.settings.cached_files:
            _tell_spark_files(files)
        self._host.add_plan(plan)
        self._widths[job_id] = plan.widths

    def _run_level(self, task: LevelTask, rows: list[Any]) -> list[tuple[int, ChunkRow]]:
        widths = self._widths[task.job_id]
        if task.level == 0:
            task.orders = codec.loads(rows[0])
            rows = []
        produced = self._host.run(task, rows)
        following = task.level + 1
        next_width = widths[following] if following < len(widths) else 1
        return [(next_partition(row, following, next_width), row) for row in produced]

    def close(self) -> list[str]:
        """Close all functions. Returns what went wrong."""
        return self._host.close_all()


class _ClientWatch:
    """Notices when the client of the present request has gone.

    A thread waits for that with the operating system's help; telling it of a client costs two calls and does not wake
    it. Where there is no epoll, nobody looks: the client is found to be gone when it is answered.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._present: int | None = None
        self.gone = False
        self._poll: Any = None
        if hasattr(select, "epoll"):
            self._poll = select.epoll()
            threading.Thread(target=self._watch, name="firesteel-clients", daemon=True).start()

    @contextlib.contextmanager
    def watching(self, connection: Connection) -> Iterator[None]:
        """Interrupt what runs inside if the client goes."""
        if self._poll is None:
            yield
            return
        self.gone = False
        self._present = connection.fileno()
        self._poll.register(self._present, select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLONESHOT)
        try:
            yield
        finally:
            with self._lock:
                descriptor, self._present = self._present, None
            self._poll.unregister(descriptor)

    def _watch(self) -> None:
        while True:
            for descriptor, _ in self._poll.poll():
                with self._lock:
                    if descriptor == self._present:
                        self.gone = True
                        signal.pthread_kill(threading.main_thread().ident or 0, _ABANDONED)


def _tell_spark_files(directory: str) -> None:
    """Let ``SparkFiles`` find what Spark has brought to this host, as it does in Spark's own workers."""
    from pyspark import SparkFiles

    SparkFiles._root_directory = directory
    SparkFiles._is_running_on_worker = True


def name_for_peers(name: str) -> str:
    """The name of the socket on which other slots find the one that answers relays under this name."""
    return f"{name}-peers"


def run_slot(listener: socket.socket, secret: bytes, problems: int, memory_limit: int, folder: str) -> None:
    """Serve until told to end, close all functions, and end the process.

    :param problems: A pipe for what goes wrong while closing.
    :param memory_limit: Bytes; 0 means that there is none.
    :param folder: Where the sockets are.
    """
    if memory_limit:
        resource.setrlimit(resource.RLIMIT_AS, (memory_limit, memory_limit))
    _calm_garbage_collector()
    server = SlotServer(listener, secret, folder)
    server.serve()
    listener.close()
    told = [problem[:_PROBLEM_LENGTH] for problem in server.close()[:_PROBLEMS]]
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(problems, pickle.dumps(told, 5))
    os._exit(0)


def _calm_garbage_collector() -> None:
    """Look for cycles of dead objects less often.

    Records and state are millions of tuples in no cycle at all. With the usual thresholds the collector would look
    through them again and again, and the cost of a record would grow with the state.
    """
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
