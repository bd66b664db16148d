"""Results of a running job, read one by one in the driver."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.job_client import JobClient
from firesteel.errors import interrupted

DEFAULT_CAPACITY = 10_000


class ResultBuffer:
    """Holds a limited number of records between the job and whoever reads them.

    ``accept`` is called by the thread that drives the job and waits while the buffer is full: the job advances no
    faster than its results are read.
    """

    exactly_once = True

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._changed = threading.Condition()
        self._values: list[Any] = []
        self._ended = False
        self._closed = False
        self._error: BaseException | None = None

    def accept(self, subtask: int, values: list[Any]) -> None:
        """Take the records of one subtask, waiting for room; once closed, drop them."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._values) < self._capacity)
            if not self._closed:
                self._values.extend(values)
                self._changed.notify_all()

    def finished(self, error: BaseException | None) -> None:
        """The job has ended; what is still in the buffer can be read."""
        with self._changed:
            self._ended = True
            self._error = error
            self._changed.notify_all()

    def take(self) -> list[Any]:
        """All records that have come, waiting for some. Empty at the end; raises the error that ended the job."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._ended or self._values)
            values, self._values = self._values, []
            self._changed.notify_all()
            if not values and self._error is not None and not self._closed:
                raise self._error
            return values

    def close(self) -> bool:
        """Take and give nothing any more; whether the job may still be running."""
        with self._changed:
            running = not self._ended and not self._closed
            self._closed = True
            self._values.clear()
            self._changed.notify_all()
            return running


class CloseableIterator:
    """The results of a job that runs while they are read. Made by :meth:`DataStream.execute_and_collect`.

    Closing it cancels the job, if it still runs; so does forgetting it. It is its own context manager::

        with stream.execute_and_collect() as results:
            for value in results:
                if value > 100:
                    break

    An error of the job is raised by the read that would have given the next record.
    """

    def __init__(self, buffer: ResultBuffer, client: JobClient) -> None:
        self._buffer = buffer
        self._client = client
        self._taken: Iterator[Any] = iter(())
        self._abandon = weakref.finalize(self, _cancel, buffer, client)

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Any:
        for value in self._taken:
            return value
        # Taken from the buffer in one go: a lock per record would be dear.
        try:
            self._taken = iter(self._buffer.take())
        except KeyboardInterrupt:
            self.close()
            raise interrupted("interrupted while waiting for results; the job has been cancelled") from None
        return next(self._taken)

    def __repr__(self) -> str:
        return f"CloseableIterator(results of {self._client!r})"

    def next(self) -> Any:
        """The next record; raises StopIteration when there is none."""
        return next(self)

    def close(self) -> None:
        """Stop reading: cancel the job if it still runs, and wait until it has ended. Closing twice is fine.

        If the job fails while it is being cancelled, nobody reads the results any more: the error is not raised here.
        """
        self._taken = iter(())
        cancelled = self._abandon()
        if cancelled is not None:
            cancelled.exception()

    def get_job_client(self) -> JobClient:
        """The job whose results these are."""
        return self._client

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _cancel(buffer: ResultBuffer, client: JobClient) -> CompletableFuture[None] | None:
    return client.cancel() if buffer.close() else None
