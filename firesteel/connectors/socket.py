"""A source of lines from a TCP connection."""

from __future__ import annotations

import codecs
import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from typing import Any

from firesteel.connectors.buffer import EventBuffer, SourceClosed
from firesteel.errors import ConfigurationError, JobError
from firesteel.model.functions import RuntimeContext
from firesteel.model.source import Boundedness, DriverReader, DriverSource, SourceEvents

__all__ = ["SocketSource"]

_LOG = logging.getLogger(__name__)
_RECEIVE_BYTES = 64 * 1024
_JOIN_SECONDS = 5.0


class SocketSource(DriverSource):
    r"""Text received over a TCP connection, cut at a delimiter. The driver connects, as a client, when the job starts.

    Ends when the other side closes the connection, after ``max_retry`` attempts to connect again; what came after
    the last delimiter is then the last record. With the delimiter ``\n`` a ``\r`` before it is dropped too. Bytes
    that are not UTF-8 become replacement characters. Nothing can be read twice from a socket: after a failure of the
    job what had been received and not checkpointed is lost.

    :param host: The name or address to connect to.
    :param port: The port to connect to.
    :param delimiter: What stands between records.
    :param max_retry: How often to connect again after the connection was closed; -1 for no limit.
    :param retry_delay: Seconds to wait before connecting again.
    :param buffer_records: With so many records waiting for the job nothing more is received, so that the sender
        feels when the job is slow.
    """

    replayable = False
    guarantee = "at-most-once"

    def __init__(
        self,
        host: str,
        port: int,
        delimiter: str = "\n",
        max_retry: int = 0,
        *,
        retry_delay: float = 0.5,
        buffer_records: int = 100_000,
    ) -> None:
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
            raise ConfigurationError(f"a port is a whole number from 1 to 65535, got {port!r}")
        if not isinstance(delimiter, str) or not delimiter:
            raise ConfigurationError(f"a delimiter is a text that is not empty, got {delimiter!r}. For lines: '\\n'.")
        if max_retry < -1:
            raise ConfigurationError(f"max_retry is a number of attempts, or -1 for no limit; got {max_retry}")
        if buffer_records < 1:
            raise ConfigurationError(f"buffer_records must be at least 1, got {buffer_records}")
        self.host = host
        self.port = port
        self.delimiter = delimiter
        self.max_retry = max_retry
        self.retry_delay = retry_delay
        self.buffer_records = buffer_records

    @property
    def boundedness(self) -> Boundedness:
        """Unbounded: nobody knows when the other side closes the connection."""
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_driver_reader(self, subtask_index: int, parallelism: int) -> DriverReader:
        """The one reader."""
        if parallelism != 1:
            raise ConfigurationError(
                f"a socket source has parallelism 1, got {parallelism}. Set the parallelism of the operators after it."
            )
        return _SocketReader(self)


class _SocketReader(DriverReader):
    def __init__(self, source: SocketSource) -> None:
        self._source = source
        self._stop = threading.Event()
        self._ended = False
        self._error: BaseException | None = None
        self._connection: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._rest = ""

    def open(self, context: RuntimeContext, restored: list[Any] | None, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._buffer = EventBuffer(self._source.buffer_records, wake)
        self._thread = threading.Thread(
            target=self._run, name=f"firesteel-socket-{self._source.host}:{self._source.port}", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        try:
            self._receive_all()
            if self._rest and not self._stop.is_set():
                self._buffer.add_record(self._rest)
        except SourceClosed:
            pass  # the job has ended and wants nothing more
        except Exception as error:
            self._error = None if self._stop.is_set() else error
        finally:
            self._ended = True
            self._wake()

    def _receive_all(self) -> None:
        """Receive until the connection has been closed once more than may be retried."""
        attempts_left = self._source.max_retry
        first = True
        while not self._stop.is_set():
            try:
                self._receive_connection(self._connect())
            except OSError as error:
                if first or attempts_left == 0:
                    raise JobError(
                        f"the connection to {self._source.host}:{self._source.port} failed: {error}. "
                        f"Is something listening there (for instance: nc -lk {self._source.port})?"
                    ) from error
                _LOG.warning("connection to %s:%s failed: %s", self._source.host, self._source.port, error)
            first = False
            if attempts_left == 0 or self._stop.wait(self._source.retry_delay):
                return
            attempts_left -= 1
            _LOG.warning("lost the connection to %s:%s, connecting again", self._source.host, self._source.port)

    def _connect(self) -> socket.socket:
        connection = socket.create_connection((self._source.host, self._source.port), timeout=10)
        connection.settimeout(None)
        self._connection = connection
        if self._stop.is_set():  # close() may have come between: it has not seen this connection
            connection.close()
        return connection

    def _receive_connection(self, connection: socket.socket) -> None:
        """Emit what comes until the other side closes. What follows the last delimiter is kept for later."""
        delimiter = self._source.delimiter
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        with connection:
            while data := connection.recv(_RECEIVE_BYTES):
                *lines, self._rest = (self._rest + decoder.decode(data)).split(delimiter)
                for line in lines:
                    self._buffer.add_record(line[:-1] if delimiter == "\n" and line.endswith("\r") else line)
        self._rest += decoder.decode(b"", final=True)

    def has_data(self) -> bool:
        return not self._buffer.is_empty()

    def take(self, max_records: int) -> tuple[SourceEvents, Any]:
        return self._buffer.take(max_records), None

    def is_finished(self) -> bool:
        if self._error is not None:
            raise self._error
        return self._ended and self._buffer.is_empty()

    def close(self) -> None:
        if self._thread is None:
            return  # another subtask or source failed to open before this one was
        self._stop.set()
        self._buffer.close()
        if self._connection is not None:
            with contextlib.suppress(OSError):  # it is closed already, which is what is wanted
                self._connection.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits in recv
        self._thread.join(_JOIN_SECONDS)
        if self._thread.is_alive():
            _LOG.warning("the thread of the socket source has not ended after %s s", _JOIN_SECONDS)
