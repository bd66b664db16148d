"""A line: messages in order between two processes, without waiting for either of them.

A message is anything that can be pickled. It is unpickled only behind a door that both sides have passed
(see ``door``).
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections import deque
from typing import Any

from firesteel.state import codec

_LENGTH = struct.Struct("<Q")
_READ_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 20
_LATER = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
"""How it shows that a socket has nothing to give, or no room, at present."""


class LineLostError(ConnectionError):
    """The other side has gone."""


class Line:
    """One end of a line.

    :param socket_: Connected; both sides have shown that they know the secret.
    """

    def __init__(self, socket_: socket.socket) -> None:
        socket_.setblocking(False)
        if socket_.family != socket.AF_UNIX:
            socket_.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            socket_.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        self._socket = socket_
        self._outgoing: deque[memoryview] = deque()
        self._incoming = bytearray()

    def fileno(self) -> int:
        """The descriptor, for selectors."""
        return self._socket.fileno()

    @property
    def waits(self) -> bool:
        """Whether something is left to send, once the socket has room again."""
        return bool(self._outgoing)

    def send(self, message: Any) -> None:
        """Send a message, as much of it as goes now; the rest goes with :meth:`flush`."""
        data = codec.dumps(message)
        self._outgoing.append(memoryview(_LENGTH.pack(len(data)) + data))
        self.flush()

    def flush(self) -> None:
        """Send what goes without waiting."""
        try:
            while self._outgoing:
                data = self._outgoing[0]
                sent = self._socket.send(data)
                if sent == len(data):
                    self._outgoing.popleft()
                else:
                    self._outgoing[0] = data[sent:]
        except _LATER:
            return
        except OSError as error:
            raise LineLostError(str(error)) from error

    def receive(self) -> list[Any]:
        """All messages that have come."""
        self._read()
        messages, start, buffer = [], 0, self._incoming
        while len(buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer, start)
            end = start + _LENGTH.size + length
            if len(buffer) < end:
                break
            with memoryview(buffer) as view, view[start + _LENGTH.size : end] as data:
                messages.append(codec.loads(data))
            start = end
        if start:
            del buffer[:start]
        return messages

    def _read(self) -> None:
        before = len(self._incoming)
        try:
            while True:
                data = self._socket.recv(_READ_BYTES)
                if not data:
                    if len(self._incoming) > before:
                        return  # first what it has said: the end is found again
                    raise LineLostError("the other side has closed the line")
                self._incoming += data
                if len(data) < _READ_BYTES and not isinstance(self._socket, ssl.SSLSocket):
                    return
        except _LATER:
            return
        except LineLostError:
            raise
        except OSError as error:
            raise LineLostError(str(error)) from error

    def close(self) -> None:
        """Close this end."""
        self._socket.close()
