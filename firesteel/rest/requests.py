"""What is in a request: ids, parameters and bodies; and the answer to one that is wrong."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.requests import Request

__all__ = [
    "RestError",
    "body_of",
    "bytes_of",
    "choice_in",
    "flag_in",
    "format_in",
    "hex_id",
    "numbers_in",
    "text_in",
    "trigger_in",
    "words",
]

_ID = re.compile("[0-9a-f]{32}")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MOST_SUBTASKS = 1 << 15
MAX_BODY = 1 << 20
"""How long the body of a request may be."""


class RestError(Exception):
    """A request that cannot be answered: the HTTP status, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def hex_id(request: Request, name: str) -> str:
    """An id in the path."""
    text = str(request.path_params[name]).lower()
    if _ID.fullmatch(text) is None:
        raise RestError(400, f"Bad request: {name} is {text!r}, but ids are made of 32 hexadecimal digits.")
    return text


def words(request: Request, name: str, allowed: tuple[str, ...] = ()) -> list[str] | None:
    """A parameter that is a list with commas; None if it is not there."""
    texts = request.query_params.getlist(name)
    if not texts:
        return None
    found = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    for word in found:
        if allowed and word not in allowed:
            raise RestError(400, f"Bad request: {name} is {word!r}, expected some of {', '.join(allowed)}.")
    return found


def numbers_in(request: Request, name: str) -> set[int] | None:
    """A parameter such as ``1,3,5-9``; None if it is not there."""
    found = words(request, name)
    if found is None:
        return None
    numbers: set[int] = set()
    for word in found:
        match = _RANGE.fullmatch(word)
        if match is None:
            raise RestError(400, f"Bad request: {name} is {word!r}, expected numbers and ranges such as 1,3,5-9.")
        first = int(match[1])
        numbers.update(range(first, min(int(match[2] or first), _MOST_SUBTASKS) + 1))
    return numbers


async def bytes_of(request: Request, most: int) -> bytes:
    """The body as it is, unless it is too long."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise RestError(413, f"The body of the request is longer than {most} bytes.")
    return bytes(data)


async def body_of(request: Request) -> dict[str, Any]:
    """The body: a JSON object; nothing counts as an empty one."""
    data = await bytes_of(request, MAX_BODY)
    try:
        body = json.loads(data or b"{}")
    except ValueError as error:
        raise RestError(400, f"The body of the request is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise RestError(400, f"The body of the request has to be a JSON object, got {type(body).__name__}.")
    return body


def flag_in(body: dict[str, Any], name: str) -> bool:
    """A truth value of the body; false if it is not there."""
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise RestError(400, f"{name} has to be true or false, got {value!r}.")
    return bool(value)


def text_in(body: dict[str, Any], name: str) -> str | None:
    """A text of the body; None if it is empty or not there."""
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise RestError(400, f"{name} has to be a text, got {value!r}.")
    return value or None


def choice_in(body: dict[str, Any], name: str, choices: tuple[str, ...]) -> str:
    """One of some words in the body; the first if it is not there."""
    value = text_in(body, name) or choices[0]
    if value not in choices:
        raise RestError(400, f"{name} is {value!r}, expected one of {', '.join(choices)}.")
    return value


def trigger_in(body: dict[str, Any]) -> str | None:
    """The id that a client has made up for its request."""
    trigger_id = text_in(body, "triggerId")
    if trigger_id is not None and _ID.fullmatch(trigger_id.lower()) is None:
        raise RestError(400, f"triggerId is {trigger_id!r}, but ids are made of 32 hexadecimal digits.")
    return None if trigger_id is None else trigger_id.lower()


def format_in(body: dict[str, Any]) -> None:
    """Check ``formatType``. Savepoints have one format, which both of Flink's names stand for."""
    wanted = text_in(body, "formatType")
    if wanted not in (None, "CANONICAL", "NATIVE"):
        raise RestError(400, f"formatType is {wanted!r}, expected CANONICAL or NATIVE: both give the same format here.")
