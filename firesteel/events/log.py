"""A job's event log: lines of JSON in files that are only added to, which other processes may read meanwhile.

::

    <directory>/events/<job id>/00000001.jsonl, 00000002.jsonl, ...

On a local disk each event is added to the newest file. On file systems that cannot add to a file, events are gathered
and written as one more file. Where a log grows too long, files between the first and the newest ones are deleted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from firesteel.errors import CheckpointError, ConfigurationError
from firesteel.events.history import JobHistory
from firesteel.events.types import EpochEnded, JobDescribed, JobEnded, JobEvent, event_from_json
from firesteel.state.filesystem import FileStore, LocalFileStore, file_store, make_directories

__all__ = ["EventLogWriter", "JobLog", "find_job_log", "job_logs"]

log = logging.getLogger("firesteel.events")
_FOLDER = "events"
_SUFFIX = ".jsonl"
_FILES = 16
_JOBS = 50
_FLUSH_SECONDS = 2.0


class EventLogWriter:
    """Writes the log of one job. What cannot be written is said once, and never fails the job.

    Nothing is written before :meth:`begin`: the directory may turn out to be none that the job may write to.

    :param interval_ms: Of the numbers of epochs, one is written in so many milliseconds, and the last.
    :param max_bytes: About how long the log may become.
    :param clock: Monotonic milliseconds.
    """

    def __init__(
        self, directory: str, job_id: str, interval_ms: int, max_bytes: int, clock: Callable[[], int] | None = None
    ) -> None:
        self._store = file_store(f"{directory.rstrip('/')}/{_FOLDER}/{job_id}")
        self._jobs = file_store(f"{directory.rstrip('/')}/{_FOLDER}")
        self._job_id = job_id
        self._interval_ms = interval_ms
        self._max_bytes = max_bytes
        self._file_bytes = max(max_bytes // _FILES, 1)
        self._older: deque[tuple[str, int]] = deque()
        """Files after the first one that may be deleted, with their sizes."""
        self._clock = clock or (lambda: time.monotonic_ns() // 1_000_000)
        self._epoch_at: int | None = None
        self._held_epoch: EpochEnded | None = None
        self._number = 1
        self._size = 0
        self._waiting: list[str] = []
        self._flushed_at = self._clock()
        self._broken = False
        self._held: list[JobEvent] | None = []
        """What has happened before the beginning; None afterwards."""
        self._writer = None if self._is_local else ThreadPoolExecutor(1, thread_name_prefix="firesteel-events")
        self._lock = threading.Lock()

    @property
    def _is_local(self) -> bool:
        return isinstance(self._store, LocalFileStore)

    def begin(self) -> None:
        """The directory may be written to."""
        with self._lock:
            held, self._held = self._held or [], None
        for event in held:
            self(event)

    def __call__(self, event: JobEvent) -> None:
        """Add an event."""
        with self._lock:
            if self._held is not None:
                self._held.append(event)
                return
            if isinstance(event, EpochEnded) and not self._is_epochs_turn(event):
                return
            if isinstance(event, JobEnded) and self._held_epoch is not None:
                self._add(self._held_epoch.to_json())
                self._held_epoch = None
            self._add(event.to_json())
            if isinstance(event, JobDescribed):
                self._forget_old_jobs()
            at_once = not isinstance(event, EpochEnded) or self._clock() - self._flushed_at >= _FLUSH_SECONDS * 1000
            if self._waiting and at_once:
                self._flush()

    def _is_epochs_turn(self, event: EpochEnded) -> bool:
        now = self._clock()
        if self._epoch_at is not None and now - self._epoch_at < self._interval_ms:
            self._held_epoch = event
            return False
        self._epoch_at, self._held_epoch = now, None
        return True

    def _add(self, line: str) -> None:
        if self._broken:
            return
        if self._writer is not None:
            self._waiting.append(line)
            return
        try:
            self._append(f"{line}\n".encode())
        except OSError as error:
            self._give_up(error)

    def _append(self, data: bytes) -> None:
        assert isinstance(self._store, LocalFileStore)
        make_directories(self._store.uri)
        with open(f"{self._store.uri}/{_name(self._number)}", "ab") as file:
            file.write(data)
        self._size += len(data)
        if self._size >= self._file_bytes:
            self._next_file()

    def _flush(self) -> None:
        assert self._writer is not None
        lines, self._waiting = self._waiting, []
        self._flushed_at = self._clock()
        data = "".join(f"{line}\n" for line in lines).encode()
        self._writer.submit(self._write, _name(self._number), data)
        self._size = len(data)
        self._next_file()

    def _write(self, name: str, data: bytes) -> None:
        try:
            self._store.write(name, data, durable=False)
        except CheckpointError as error:
            self._give_up(error)

    def _next_file(self) -> None:
        if self._number > 1:
            self._older.append((_name(self._number), self._size))
        while len(self._older) > 1 and sum(size for _, size in self._older) > self._max_bytes:
            spare = self._older.popleft()[0]
            if self._writer is None:
                self._store.delete(spare)
            else:
                self._writer.submit(self._delete, spare)
        self._number, self._size = self._number + 1, 0

    def _delete(self, name: str) -> None:
        try:
            self._store.delete(name)
        except (CheckpointError, OSError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if not self._broken:
            log.warning("the event log in %s cannot be written, and ends here: %s", self._store.uri, error)
        self._broken = True

    def _forget_old_jobs(self) -> None:
        """Delete the logs of jobs long gone."""
        try:
            others = [each for each in job_logs_in(self._jobs) if each.job_id != self._job_id]
            for old in others[_JOBS - 1 :]:
                self._jobs.delete(old.job_id)
        except (CheckpointError, OSError) as error:
            log.warning("old event logs in %s cannot be deleted: %s", self._jobs.uri, error)

    def close(self) -> None:
        """Write what waits."""
        with self._lock:
            if self._writer is not None:
                if self._waiting:
                    self._flush()
                self._writer.shutdown(wait=True)


@dataclass(frozen=True)
class JobLog:
    """The log of one job, to be read by any process."""

    store: FileStore
    job_id: str

    def events(self) -> Iterator[JobEvent]:
        """All events that are there, oldest first."""
        for _, lines in self._lines({}):
            yield from _decoded(lines)

    def follow(
        self, wait: Callable[[], None] | None = None, until: Callable[[JobEvent], bool] | None = None
    ) -> Iterator[JobEvent]:
        """All events that are there, and further ones as they come, until the job has ended.

        :param wait: Called when there is nothing new; by default it sleeps for a quarter of a second.
        :param until: Whether an event is the last one wanted; by default that is the end of the job.
        """
        pause = wait or (lambda: time.sleep(0.25))
        is_last = until or (lambda event: isinstance(event, JobEnded))
        read: dict[str, int] = {}
        while True:
            found = False
            for name, lines in self._lines(read):
                read[name] = read.get(name, 0) + sum(len(line) + 1 for line in lines)
                for event in _decoded(lines):
                    found = True
                    yield event
                    if is_last(event):
                        return
            if not found:
                pause()

    def _lines(self, read: dict[str, int]) -> Iterator[tuple[str, list[bytes]]]:
        """The whole lines of each file after what has been read of it; one that is just being written waits."""
        for name in [each for each in self.store.names() if each.endswith(_SUFFIX)]:
            start = read.get(name, 0)
            try:
                if self.store.size(name) <= start:
                    continue
                whole = bytes(self.store.view(name)[start:]).rpartition(b"\n")[0]
            except (CheckpointError, OSError):  # deleted since, because the log grew too long
                continue
            if whole:
                yield name, whole.split(b"\n")

    def history(self) -> JobHistory:
        """What the log tells about the job."""
        return JobHistory(self.events())

    @property
    def described(self) -> JobDescribed | None:
        """What the job is; None if its log does not begin with that."""
        first = next(self.events(), None)
        return first if isinstance(first, JobDescribed) else None


def _decoded(lines: list[bytes]) -> Iterator[JobEvent]:
    for line in lines:
        try:
            event = event_from_json(line)
        except ValueError:  # a line that a crash has cut off, with others after it
            continue
        if event is not None:
            yield event


def job_logs_in(jobs: FileStore) -> list[JobLog]:
    """The logs in a folder of logs, newest first."""
    logs = [JobLog(file_store(f"{jobs.uri}/{name}"), name) for name in jobs.names()]
    begun = [(found.time, each) for each in logs if (found := each.described) is not None]
    return [each for _, each in sorted(begun, key=lambda pair: pair[0], reverse=True)]


def job_logs(directory: str) -> list[JobLog]:
    """The logs of all jobs in a directory (that of checkpoints, or ``firesteel.events.dir``), newest first."""
    return job_logs_in(file_store(f"{directory.rstrip('/')}/{_FOLDER}"))


def find_job_log(directory: str, job_id: str | None = None) -> JobLog:
    """The log of a job, by the beginning of its id; the newest one if no id is given."""
    logs = job_logs(directory)
    if not logs:
        raise ConfigurationError(
            f"there are no event logs in {directory}: it is the directory of a job's checkpoints "
            "(execution.checkpointing.dir), or what firesteel.events.dir says"
        )
    found = [each for each in logs if each.job_id.startswith(job_id or "")]
    if not found:
        known = ", ".join(each.job_id for each in logs[:5])
        raise ConfigurationError(f"there is no log of a job {job_id!r} in {directory}; the newest are: {known}")
    return found[0]


def _name(number: int) -> str:
    return f"{number:08d}{_SUFFIX}"
