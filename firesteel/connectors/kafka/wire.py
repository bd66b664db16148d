"""A few requests of Kafka's protocol that librdkafka has no call for, and the connection that carries them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import socket
import ssl
import struct
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from firesteel.connectors.kafka.client import KafkaClientError
from firesteel.errors import ConfigurationError

__all__ = ["Connection", "Reader", "compact", "check_security"]

_T = TypeVar("_T")
_HANDSHAKE, _AUTHENTICATE = 17, 36
_MECHANISMS = {"PLAIN": None, "SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_TIMEOUT = 30.0


def compact(text: str) -> bytes:
    """A text as the newer versions of requests have it."""
    data = text.encode()
    return _varint(len(data) + 1) + data


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


class Reader:
    """Takes an answer apart, from its beginning to its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, form: str) -> Any:
        """One number, in the form of ``struct``."""
        (value,) = struct.unpack_from(f">{form}", self._data, self._at)
        self._at += struct.calcsize(f">{form}")
        return value

    def raw(self, size: int) -> bytes:
        """So many bytes."""
        data = self._data[self._at : self._at + size]
        self._at += size
        return data

    def varint(self) -> int:
        """A number of as many bytes as it needs."""
        number, shift = 0, 0
        while True:
            byte: int = self.take("B")
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def text(self) -> str | None:
        """A text, or None."""
        size = self.varint()
        return None if size == 0 else self.raw(size - 1).decode()

    def each(self, one: Callable[[], _T]) -> list[_T]:
        """An array."""
        return [one() for _ in range(max(0, self.varint() - 1))]

    def tags(self) -> None:
        """What newer brokers add, which is left out."""
        for _ in range(self.varint()):
            self.varint()
            self.raw(self.varint())


def check_security(settings: Mapping[str, str]) -> None:
    """Refuse what :class:`Connection` cannot do, when the sink is built."""
    protocol = settings.get("security.protocol", "plaintext").lower()
    mechanism = _mechanism(settings)
    if protocol.startswith("sasl") and mechanism not in _MECHANISMS:
        raise ConfigurationError(
            f"a Kafka sink that is exactly-once logs in by {', '.join(_MECHANISMS)}, and not by {mechanism}. Use one "
            "of them, or DeliveryGuarantee.AT_LEAST_ONCE."
        )


def _mechanism(settings: Mapping[str, str]) -> str:
    return settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "GSSAPI")).upper()


class Connection:
    """A connection to one broker: a request, an answer."""

    def __init__(self, host: str, port: int, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._number = 0
        protocol = settings.get("security.protocol", "plaintext").lower()
        self._socket: socket.socket = socket.create_connection((host, port), timeout=_TIMEOUT)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if protocol.endswith("ssl"):
                self._socket = self._tls().wrap_socket(self._socket, server_hostname=host)
            if protocol.startswith("sasl"):
                self._log_in()
        except BaseException:
            self.close()
            raise

    def _tls(self) -> ssl.SSLContext:
        settings = self._settings
        context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
        certificate = settings.get("ssl.certificate.location")
        if certificate is not None:
            context.load_cert_chain(certificate, settings.get("ssl.key.location"), settings.get("ssl.key.password"))
        verified = settings.get("enable.ssl.certificate.verification", "true").lower() == "true"
        named = settings.get("ssl.endpoint.identification.algorithm", "https").lower() not in ("", "none")
        context.check_hostname = verified and named
        if not verified:
            context.verify_mode = ssl.CERT_NONE
        return context

    def ask(self, key: int, version: int, body: bytes) -> Reader:
        """Send a request of the newer form, and wait for its answer."""
        answer = self._exchange(key, version, b"\0" + body + b"\0")
        answer.tags()
        return answer

    def _exchange(self, key: int, version: int, body: bytes) -> Reader:
        self._number += 1
        name = b"firesteel"
        header = struct.pack(">hhih", key, version, self._number, len(name)) + name
        self._socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        (size,) = struct.unpack(">i", self._receive(4))
        answer = Reader(self._receive(size))
        if answer.take("i") != self._number:
            raise ConnectionError("a broker has answered something else than was asked")
        return answer

    def _receive(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionError("the broker has closed the connection")
            parts += part
        return bytes(parts)

    def _log_in(self) -> None:
        mechanism = _mechanism(self._settings)
        answer = self._exchange(_HANDSHAKE, 1, _short(mechanism.encode()))
        if answer.take("h"):
            raise KafkaClientError(f"the broker does not take logins by {mechanism}")
        user, password = self._settings.get("sasl.username", ""), self._settings.get("sasl.password", "")
        digest = _MECHANISMS[mechanism]
        if digest is None:
            self._authenticate(f"\0{user}\0{password}".encode())
        else:
            self._scram(digest, user, password)

    def _scram(self, digest: str, user: str, password: str) -> None:
        """RFC 5802, without a channel binding."""
        nonce = base64.b64encode(os.urandom(24)).decode()
        first = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        challenge = self._authenticate(f"n,,{first}".encode()).decode()
        parts = dict(part.split("=", 1) for part in challenge.split(","))
        if not parts["r"].startswith(nonce):
            raise KafkaClientError("the broker's answer to the login is not meant for it")
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), base64.b64decode(parts["s"]), int(parts["i"]))
        last = f"c=biws,r={parts['r']}"
        signed = f"{first},{challenge},{last}".encode()
        client = hmac.digest(salted, b"Client Key", digest)
        signature = hmac.digest(hashlib.new(digest, client).digest(), signed, digest)
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client, signature))).decode()
        answer = self._authenticate(f"{last},p={proof}".encode()).decode()
        server = hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)
        if not hmac.compare_digest(answer, f"v={base64.b64encode(server).decode()}"):
            raise KafkaClientError("the broker does not know the password itself: it is not the one it says it is")

    def _authenticate(self, token: bytes) -> bytes:
        answer = self._exchange(_AUTHENTICATE, 0, struct.pack(">i", len(token)) + token)
        refused = answer.take("h")
        size = answer.take("h")
        message = answer.raw(max(0, size)).decode()
        if refused:
            raise KafkaClientError(f"the broker refuses the login: {message}")
        return answer.raw(max(0, answer.take("i")))

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(OSError):
            self._socket.close()


def _short(data: bytes) -> bytes:
    return struct.pack(">h", len(data)) + data
