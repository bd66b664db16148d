"""The REST API described as OpenAPI: paths and parameters from the routes, forms of answers from ``shapes.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import firesteel

__all__ = ["Endpoint", "describe", "schema_of", "shapes"]

_PARAMETER = re.compile(r"\{(\w+)\}")
_TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean", "null": "null"}
_FRAMES = {"type": "array", "items": {"$ref": "#/components/schemas/Frame"}}


@dataclass(frozen=True)
class Endpoint:
    """One path with one method.

    :param summary: What it gives or does.
    :param query: Parameters after the question mark, with what they mean.
    :param status: Of the answer if all goes well.
    :param content: The type of the answer.
    """

    method: str
    path: str
    summary: str
    query: tuple[tuple[str, str], ...] = ()
    status: int = 200
    content: str = "application/json"


@cache
def shapes() -> dict[str, Any]:
    """What answers look like, by method and path; GET is left out. ``_about`` says how to read it."""
    text = resources.files("firesteel.rest").joinpath("shapes.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def schema_of(shape: Any) -> dict[str, Any]:
    """A shape as a JSON schema."""
    if shape == "frames":
        return _FRAMES
    if isinstance(shape, str):
        kinds = [_TYPES[each] for each in shape.split("|")]
        return {"type": kinds[0] if len(kinds) == 1 else kinds}
    if isinstance(shape, list):
        return {"type": "array", "items": schema_of(shape[0]) if shape else {}}
    if set(shape) == {"?"}:
        return {"anyOf": [schema_of(shape["?"]), {"type": "null"}]}
    if len(shape) == 1 and next(iter(shape)).startswith("<"):
        return {"type": "object", "additionalProperties": schema_of(next(iter(shape.values())))}
    properties = {name.removesuffix("?"): schema_of(each) for name, each in shape.items()}
    required = [name for name in shape if not name.endswith("?")]
    described: dict[str, Any] = {"type": "object", "properties": properties}
    return {**described, "required": required} if required else described


def _shapes_of(endpoint: Endpoint) -> list[Any]:
    """All forms that an answer can have: a failed operation's is another than a completed one's."""
    flinks = _PARAMETER.sub(r":\1", endpoint.path)
    key = flinks if endpoint.method == "GET" else f"{endpoint.method} {flinks}"
    wanted = [shape for name, shape in shapes().items() if re.split(r"\?| \(", name)[0] == key]
    unique: list[Any] = []
    for each in wanted:
        if each not in unique:
            unique.append(each)
    return unique


def _answer(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.content != "application/json":
        return {"description": endpoint.summary, "content": {endpoint.content: {"schema": {"type": "string"}}}}
    schemas = [schema_of(each) for each in _shapes_of(endpoint)]
    schema = schemas[0] if len(schemas) == 1 else {"oneOf": schemas} if schemas else {}
    return {"description": endpoint.summary, "content": {"application/json": {"schema": schema}}}


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    inside: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(endpoint.path)
    ]
    after = [
        {"name": name, "in": "query", "description": meaning, "schema": {"type": "string"}}
        for name, meaning in endpoint.query
    ]
    error = {
        "description": "What is wrong.",
        "content": {"application/json": {"schema": schema_of(shapes()["errors"])}},
    }
    return {
        "summary": endpoint.summary,
        "parameters": [*inside, *after],
        "responses": {str(endpoint.status): _answer(endpoint), "default": error},
    }


def describe(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The description of all endpoints."""
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    frame: Mapping[str, Any] = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "value": {"type": "integer"}, "children": _FRAMES},
        "required": ["name", "value", "children"],
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Firesteel",
            "version": firesteel.__version__,
            "description": "Watching and steering jobs, in the form of Flink's REST API.",
        },
        "servers": [{"url": "/v1"}, {"url": "/"}],
        "paths": paths,
        "components": {"schemas": {"Frame": frame}},
    }
