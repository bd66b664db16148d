"""Doors: where driver and slots of a job listen, and how who comes in shows that it belongs to the job.

Both sides prove that they know the job's secret, by a keyed hash over numbers that both have made up, before anything
else is said. The hash names the role of who makes it, so it cannot be played back; if the line is encrypted, it also
covers what is unique about the encrypted channel, so nobody can sit in between. Encryption is TLS with keys agreed upon
for this line alone: certificates would say nothing that the secret does not.

Somebody who does not know the secret gets 32 random bytes and, after ten seconds at the most, a closed socket. Whoever
says nothing, or nonsense, keeps nobody waiting: each visitor has a thread of its own, and the oldest of too many has to
go.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import os
import secrets
import select
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.execution.direct.lines import Line

log = logging.getLogger("firesteel.direct")

_NUMBER_BYTES = 32
_HASH_BYTES = 32
_VISIT_SECONDS = 10.0
_MOST_VISITORS = 64
_TRIES = 5
"""How often one calls again that was sent away, because too many others were at the door."""
_CIPHERS = "AECDH-AES256-SHA:@SECLEVEL=0"
"""Keys are agreed upon without certificates, which OpenSSL allows only if asked for by name."""


@dataclass(frozen=True)
class Address:
    """Where a door is: a Unix socket for those on the same host, and a port for others."""

    folder: str | None = None
    name: str | None = None
    host: str | None = None
    port: int = 0


@dataclass(frozen=True)
class Pass:
    """What lets one in.

    :param encrypted: Whether what goes over ports is encrypted.
    """

    secret: bytes
    encrypted: bool = False


def parse_ports(text: str) -> range:
    """The ports of a setting such as ``50100-50200``, ``50100`` or ``0``."""
    first, _, last = text.partition("-")
    try:
        ports = range(int(first), int(last or first) + 1)
    except ValueError:
        ports = range(0)
    if not ports or ports[0] < 0 or ports[-1] > 65535:
        raise ConfigurationError(
            f"firesteel.direct.ports cannot be {text!r}: expected a port, or a range of ports such as 50100-50200"
        )
    return ports


class Door:
    """Listens, and hands over those who have shown that they know the secret.

    :param welcome: Called with a line and its first messages, one at least, in a thread of the door's.
    """

    def __init__(self, ticket: Pass, welcome: Callable[[Line, list[Any]], None]) -> None:
        self._ticket = ticket
        self._welcome = welcome
        self._listeners: list[socket.socket] = []
        self._unlink: Callable[[], None] | None = None
        self._visitors: deque[socket.socket] = deque()
        self._lock = threading.Lock()
        self.address = Address()

    def listen_in_folder(self, folder: str, name: str) -> None:
        """Listen on a Unix socket in a folder."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=descriptor)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(_path(descriptor, folder, name))
        self.address = Address(folder, name, self.address.host, self.address.port)
        self._listen(listener)

        def unlink() -> None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)
            os.close(descriptor)

        self._unlink = unlink

    def listen_on_port(self, host: str, ports: range) -> None:
        """Listen on the first of these ports that is free."""
        family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
        for port in ports:
            listener = socket.socket(family)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((host, port))
            except OSError as error:
                listener.close()
                reason = error
                continue
            self.address = Address(self.address.folder, self.address.name, host, listener.getsockname()[1])
            self._listen(listener)
            return
        raise ConfigurationError(
            f"direct exchange cannot listen on {host}, on none of the ports {ports[0]}-{ports[-1]} "
            f"(firesteel.direct.ports): {reason}"
        )

    def _listen(self, listener: socket.socket) -> None:
        listener.listen(128)
        self._listeners.append(listener)
        threading.Thread(target=self._accept, args=(listener,), name="firesteel-door", daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                visitor, _ = listener.accept()
            except OSError:
                if listener.fileno() == -1:
                    return  # closed
                continue  # the visitor has gone again
            handle = visitor.dup()  # encryption takes the socket itself over
            with self._lock:
                self._visitors.append(handle)
                if len(self._visitors) > _MOST_VISITORS:
                    _shut(self._visitors.popleft())
            threading.Thread(target=self._ask, args=(visitor, handle), name="firesteel-visitor", daemon=True).start()

    def _ask(self, visitor: socket.socket, handle: socket.socket) -> None:
        """Let a visitor in who knows the secret, and nobody else."""
        timer = threading.Timer(_VISIT_SECONDS, _shut, (handle,))
        timer.daemon = True
        timer.start()
        try:
            line = Line(_answer(visitor, self._ticket))
            try:
                first = _first_messages(line)
            except BaseException:
                line.close()
                raise
        except Exception as error:  # whatever a stranger does
            log.debug("a visitor was not let in: %s: %s", type(error).__name__, error)
            return
        finally:
            timer.cancel()
            with self._lock, contextlib.suppress(ValueError):
                self._visitors.remove(handle)
            handle.close()
        self._welcome(line, first)

    def close(self) -> None:
        """Listen no more."""
        for listener in self._listeners:
            _shut(listener)
            listener.close()
        with self._lock:
            for visitor in self._visitors:
                _shut(visitor)
        if self._unlink is not None:
            self._unlink()
            self._unlink = None


def dial(address: Address, ticket: Pass, first: Any, same_host: bool) -> Line:
    """A line to whoever listens there, after both have shown that they know the secret.

    :param first: The first message, which says who one is.
    :param same_host: Whether the folder may be on this host.
    """
    for left in reversed(range(_TRIES)):
        try:
            line = Line(_call(address, ticket, same_host))
            break
        except ConnectionError:
            if not left:
                raise
    line.send(first)
    return line


def _call(address: Address, ticket: Pass, same_host: bool) -> socket.socket:
    if same_host and address.folder is not None and address.name is not None:
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            descriptor = os.open(address.folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                unix = socket.socket(socket.AF_UNIX)
                unix.settimeout(_VISIT_SECONDS)
                unix.connect(_path(descriptor, address.folder, address.name))
                return _introduce(unix, ticket)
            finally:
                os.close(descriptor)
    if address.host is None:
        raise ConnectionError(f"nobody listens in {address.folder}")
    return _introduce(socket.create_connection((address.host, address.port), _VISIT_SECONDS), ticket)


def _path(descriptor: int, folder: str, name: str) -> str:
    """The path of a socket, which may not be long: by the folder's descriptor where that is possible."""
    by_descriptor = f"/proc/self/fd/{descriptor}"
    return f"{by_descriptor if os.path.isdir(by_descriptor) else folder}/{name}"


# ---- what both say -------------------------------------------------------------------------------------------------


def _answer(visitor: socket.socket, ticket: Pass) -> socket.socket:
    """The side that was called."""
    visitor.settimeout(_VISIT_SECONDS)
    with _closing_on_failure(visitor, ticket, server=True) as (known, channel):
        mine = secrets.token_bytes(_NUMBER_BYTES)
        known.sendall(mine)
        theirs = _exactly(known, _NUMBER_BYTES)
        if not hmac.compare_digest(_exactly(known, _HASH_BYTES), _proof(ticket, b"caller", mine, theirs, channel)):
            raise PermissionError("does not know the secret")
        known.sendall(_proof(ticket, b"called", mine, theirs, channel))
        return known


def _introduce(called: socket.socket, ticket: Pass) -> socket.socket:
    """The side that calls."""
    with _closing_on_failure(called, ticket, server=False) as (known, channel):
        theirs = _exactly(known, _NUMBER_BYTES)
        mine = secrets.token_bytes(_NUMBER_BYTES)
        known.sendall(mine + _proof(ticket, b"caller", theirs, mine, channel))
        if not hmac.compare_digest(_exactly(known, _HASH_BYTES), _proof(ticket, b"called", theirs, mine, channel)):
            raise PermissionError("who answers does not know the job's secret")
        return known


@contextlib.contextmanager
def _closing_on_failure(raw: socket.socket, ticket: Pass, server: bool) -> Iterator[tuple[socket.socket, bytes]]:
    """The socket to go on with, and what is unique about its channel; closed if what follows fails."""
    known = raw
    try:
        known, channel = _encrypt(raw, ticket, server)
        yield known, channel
    except BaseException:
        known.close()
        raw.close()
        raise


def _proof(ticket: Pass, role: bytes, called: bytes, caller: bytes, channel: bytes) -> bytes:
    return hmac.new(ticket.secret, b"firesteel-direct " + role + called + caller + channel, hashlib.sha256).digest()


def _exactly(known: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = known.recv(size - len(data))
        if not more:
            raise ConnectionError("the other side has hung up")
        data += more
    return data


def _first_messages(line: Line) -> list[Any]:
    """The first messages of a line, which have to come soon."""
    messages: list[Any] = []
    while not messages:
        if not select.select([line], [], [], _VISIT_SECONDS)[0]:
            raise TimeoutError("says nothing")
        messages = line.receive()
    return messages


def _encrypt(known: socket.socket, ticket: Pass, server: bool) -> tuple[socket.socket, bytes]:
    """The socket to go on with, and what is unique about its channel. Unix sockets do not leave the host."""
    if not ticket.encrypted or known.family == socket.AF_UNIX:
        return known, b""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    if not server:
        context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the secret shows who it is, bound to this very channel
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2  # later ones have no such ciphers
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION  # what is unique about it stays so
    context.set_ciphers(_CIPHERS)
    try:
        wrapped = context.wrap_socket(known, server_side=server)
    except ssl.SSLEOFError as error:
        raise ConnectionError("the other side has hung up") from error
    channel = wrapped.get_channel_binding("tls-unique")
    if not channel:
        raise ConnectionError("the encrypted channel has nothing unique about it")
    return wrapped, channel


def _shut(known: socket.socket) -> None:
    with contextlib.suppress(OSError):
        known.shutdown(socket.SHUT_RDWR)
