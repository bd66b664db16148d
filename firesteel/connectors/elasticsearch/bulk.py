"""Bulk requests over HTTP, one connection at a time, and what to do with the answers."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from firesteel.errors import ConfigurationError, JobError

__all__ = ["BulkClient", "BulkSettings", "ElasticsearchError"]

_BUSY = (429, 502, 503, 504)


class ElasticsearchError(JobError):
    """A cluster has refused documents, or cannot be reached. The text names the host and what it said."""


@dataclass(repr=False)
class BulkSettings:
    """How a cluster is reached and asked. What is printed of it has no password.

    :param retries: How often what was refused for a while is sent again.
    :param delay_ms: The pause before that.
    :param doubles: Whether each pause is twice the one before.
    """

    hosts: Sequence[str] = ()
    user: str | None = None
    password: str | None = None
    path_prefix: str = ""
    timeout_ms: int | None = None
    retries: int = 0
    delay_ms: int = 0
    doubles: bool = False

    def __repr__(self) -> str:
        return f"BulkSettings({', '.join(self.hosts)})"

    def pause_ms(self, attempt: int) -> int:
        """How long to wait before an attempt, the first being 0."""
        return self.delay_ms * (2**attempt if self.doubles else 1)


def checked_host(host: Any) -> str:
    """A host as ``http://name:port``."""
    if not isinstance(host, str) or not host:
        raise ConfigurationError(f"a host is a text such as localhost:9200, got {host!r}")
    full = host if "://" in host else f"http://{host}"
    parts = urlsplit(full)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"a host is a text such as https://search:9200, got {host!r}")
    if parts.username or parts.password:
        raise ConfigurationError("a host has no user and password in it: use set_connection_username() and _password()")
    return full


class BulkClient:
    """Sends documents, to the next host if one is away."""

    @staticmethod
    def pause(seconds: float) -> None:
        """Wait before the next attempt."""
        time.sleep(seconds)

    def __init__(self, settings: BulkSettings) -> None:
        self._settings = settings
        self._host = 0
        self._connection: http.client.HTTPConnection | None = None
        self._headers = {"Content-Type": "application/x-ndjson", "Accept": "application/json"}
        if settings.user is not None:
            login = base64.b64encode(f"{settings.user}:{settings.password or ''}".encode()).decode()
            self._headers["Authorization"] = f"Basic {login}"

    @property
    def host(self) -> str:
        """The host that is asked."""
        return self._settings.hosts[self._host % len(self._settings.hosts)]

    def send(self, documents: Sequence[bytes]) -> list[tuple[bytes, str]]:
        """Send documents until they are taken, or refused for good: gives those, and why.

        :raises ElasticsearchError: The cluster is away, or refuses the request as a whole.
        """
        refused: list[tuple[bytes, str]] = []
        left, attempt = list(documents), 0
        while left:
            busy, said = self._send_once(left, refused)
            if not busy:
                break
            if attempt >= self._settings.retries:
                raise ElasticsearchError(
                    f"{self.host}: {len(busy)} documents were not taken after {attempt + 1} attempts: {said}"
                )
            self.pause(self._settings.pause_ms(attempt) / 1000)
            attempt += 1
            left = busy
        return refused

    def _send_once(self, documents: list[bytes], refused: list[tuple[bytes, str]]) -> tuple[list[bytes], str]:
        """What is to be sent again, and why."""
        try:
            status, body = self._post(b"".join(documents))
        except (OSError, http.client.HTTPException) as error:
            self.close()
            host, self._host = self.host, self._host + 1
            return documents, f"{host}: {type(error).__name__}: {error}"
        if status in _BUSY:
            return documents, f"status {status}: {body[:300].decode(errors='replace')}"
        if status >= 300:
            raise ElasticsearchError(f"{self.host}: status {status}: {body[:500].decode(errors='replace')}")
        answer = json.loads(body)
        if not answer.get("errors"):
            return [], ""
        busy, said = [], ""
        for document, item in zip(documents, answer["items"], strict=True):
            (result,) = item.values()
            if result["status"] in _BUSY:
                busy.append(document)
                said = _reason(result)
            elif result["status"] >= 300:
                refused.append((document, _reason(result)))
        return busy, said

    def _post(self, body: bytes) -> tuple[int, bytes]:
        if self._connection is None:
            parts = urlsplit(self.host)
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            timeout = None if self._settings.timeout_ms is None else self._settings.timeout_ms / 1000
            self._connection = kind(str(parts.hostname), parts.port or 9200, timeout=timeout)
        self._connection.request("POST", f"{self._settings.path_prefix}/_bulk", body, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        """Hang up. The client connects anew if it is used again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.close()


def _reason(result: dict[str, Any]) -> str:
    error = result.get("error")
    told = f"{error.get('type')}: {error.get('reason')}" if isinstance(error, dict) else str(error)
    return f"status {result['status']}, {told}"
