"""Paths with what answers them: the one list that the server and its description are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from firesteel.rest.openapi import Endpoint

__all__ = ["Handled", "reading", "steering", "text"]


@dataclass(frozen=True)
class Handled:
    """An endpoint, and the function that answers it."""

    endpoint: Endpoint
    handler: Callable[[Request], Awaitable[Response]]

    def route(self) -> Route:
        """As the application wants it."""
        return Route(self.endpoint.path, self.handler, methods=[self.endpoint.method])


def reading(
    path: str, summary: str, answer: Callable[[Request], Any], query: tuple[tuple[str, str], ...] = ()
) -> Handled:
    """What is read, as JSON. The answer is made in a thread of its own, because logs may have to be read."""

    async def endpoint(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer, request))

    return Handled(Endpoint("GET", path, summary, query), endpoint)


def text(path: str, summary: str, answer: Callable[[Request], str]) -> Handled:
    """What is read, as plain text."""

    async def endpoint(request: Request) -> Response:
        return PlainTextResponse(await run_in_threadpool(answer, request))

    return Handled(Endpoint("GET", path, summary, content="text/plain"), endpoint)


def steering(
    method: str, path: str, summary: str, handler: Callable[[Request], Awaitable[Response]], status: int = 202
) -> Handled:
    """What changes something, or needs no thread to be answered."""
    return Handled(Endpoint(method, path, summary, status=status), handler)
