"""Who may use the REST API: under which names it is called, with which token, and from which pages.

A page of a stranger, open in a browser on this machine, can send requests to any address that the browser reaches. It
cannot choose their ``Host`` and ``Origin``, so these say whether a request is meant for this server.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Access", "Guard", "is_loopback"]

_READING = {"GET", "HEAD", "OPTIONS"}


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches a server on that address."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Access:
    """Who may ask.

    :param token: What a request has to show; None asks for nothing.
    :param hosts: Names of the server, beside ``localhost`` and addresses in digits: names can be made to point
        anywhere by whoever owns them, addresses cannot.
    """

    token: str | None = None
    hosts: frozenset[str] = frozenset()

    @staticmethod
    def of(bind_address: str, token: str | None, more_hosts: Iterable[str]) -> Access:
        """The access to a server on an address."""
        own = set() if is_loopback(bind_address) else {socket.gethostname(), socket.getfqdn(), bind_address}
        return Access(token, frozenset(each.lower() for each in own | set(more_hosts)))

    def refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        """Why a request is not answered, with the HTTP status; None if it is."""
        host = _name_of(headers.get("host", ""))
        if not self._is_own(host):
            return 403, (
                f"This server is not called {host!r}. If it is, through a proxy for instance, add the name to "
                "firesteel.rest.allowed-hosts."
            )
        if method not in _READING and _comes_from_elsewhere(headers):
            return 403, "Pages of other servers may not change anything here."
        if self.token is not None and not self._shows_token(headers.get("authorization", "")):
            return 401, "A token is needed: 'Authorization: Bearer TOKEN', with what firesteel.rest.token says."
        return None

    def _is_own(self, host: str) -> bool:
        if host == "localhost" or host in self.hosts:
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True

    def _shows_token(self, authorization: str) -> bool:
        scheme, _, shown = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                shown = base64.b64decode(shown, validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return False
        elif scheme.lower() != "bearer":
            return False
        assert self.token is not None
        return secrets.compare_digest(shown.strip().encode(), self.token.encode())


def _name_of(host: str) -> str:
    """The host without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _comes_from_elsewhere(headers: Headers) -> bool:
    """Whether a browser sends this for a page of another server. Other clients send neither header."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    except ValueError:
        return True


class Guard:
    """Lets through what :class:`Access` allows."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "http":
            refusal = self._access.refusal(scope["method"], Headers(scope=scope))
            if refusal is not None:
                status, message = refusal
                wanted = {"WWW-Authenticate": 'Basic realm="firesteel", charset="UTF-8"'} if status == 401 else None
                await JSONResponse({"errors": [message]}, status, wanted)(scope, receive, send)
                return
        await self._app(scope, receive, send)
