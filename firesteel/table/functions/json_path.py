"""Paths into JSON, as Flink reads them: ``lax $.a[0].b``, ``strict $.["a b"]``, ``$.a[*]``, ``$.a[?(@.k == 2)]``."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

__all__ = ["Found", "JsonError", "is_scalar", "look_up"]


class JsonError(ValueError):
    """Text that is no JSON, a path that is none, or one that leads nowhere in strict mode."""


@dataclass(frozen=True)
class Found:
    """What a path led to, in which mode; or the error that it led to."""

    value: Any = None
    lax: bool = False
    error: JsonError | None = None


Step = Callable[[Any], Iterator[Any]]
_MODE = re.compile(r"\s*(strict|lax)\s+(.+)", re.IGNORECASE | re.DOTALL)


def is_scalar(value: Any) -> bool:
    """Whether a value is neither an object nor an array."""
    return not isinstance(value, (dict, list))


def look_up(document: str, path: str) -> Found:
    """Follow a path into a JSON document. A path without a mode is strict."""
    match = _MODE.fullmatch(path)
    lax = match is not None and match.group(1).lower() == "lax"
    try:
        steps, definite = _steps(match.group(2).strip() if match else path.strip())
        root = parse_json(document)
        values = list(_follow([root], steps))
    except JsonError as error:
        return Found(lax=lax, error=error)
    if not definite:
        return Found(values, lax)
    if values:
        return Found(values[0], lax)
    return Found(None, lax, None if lax else JsonError(f"no results for the path {path}"))


def parse_json(document: str) -> Any:
    """A JSON text as Python values; :class:`JsonError` if it is none."""
    try:
        return json.loads(document, parse_float=Decimal, parse_constant=_no_constant, strict=False)
    except (ValueError, RecursionError) as error:
        raise JsonError(f"{document!r} is not JSON: {error}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _follow(values: list[Any], steps: tuple[Step, ...]) -> list[Any]:
    for step in steps:
        values = [found for value in values for found in step(value)]
    return values


def _member(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _element(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _slice(start: str, end: str) -> Step:
    bounds = slice(int(start) if start else None, int(end) if end else None)

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[bounds]

    return step


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _deep(inner: Step) -> Step:
    def step(value: Any) -> Iterator[Any]:
        yield from inner(value)
        for child in _all(value):
            yield from step(child)

    return step


def _several(steps: list[Step]) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for each in steps:
            yield from each(value)

    return step


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FILTER = re.compile(r"\?\(\s*@((?:\.\w+|\[[^\]]*\])*)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*\)", re.DOTALL)


def _filter(text: str) -> Step:
    match = _FILTER.fullmatch(text)
    if match is None:
        raise JsonError(f"the filter [{text}] cannot be read")
    inner, _ = _steps(f"${match.group(1)}")
    compare = _COMPARE.get(match.group(2) or "")
    wanted = _literal(match.group(3)) if match.group(3) else None

    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else [value]:
            found = _follow([item], inner)
            if found and (compare is None or _holds(compare, found[0], wanted)):
                yield item

    return step


def _holds(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    try:
        return compare(left, right)
    except TypeError:
        return False


def _literal(text: str) -> Any:
    if text.startswith("'") and text.endswith("'"):
        return text[1:-1]
    return parse_json(text)


_NAME = re.compile(r"[^.\[\]()?*,:'\"\s@$]+")
_BRACKET = re.compile(
    r"\[((?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\?\([^\]]*(?:\[[^\]]*\][^\]]*)*\)|[^\]'\"])*)\]", re.DOTALL
)


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[tuple[Step, ...], bool]:
    """The steps of a path, and whether it leads to one place at most."""
    if not path.startswith("$"):
        raise JsonError(f"the path {path!r} does not begin with $")
    steps: list[Step] = []
    definite, at = True, 1
    while at < len(path):
        deep = path.startswith("..", at)
        dots = 2 if deep else int(path.startswith(".", at))
        at += dots
        step, at, single = _step(path, at, dotted=dots > 0)
        steps.append(_deep(step) if deep else step)
        definite = definite and single and not deep
    return tuple(steps), definite


def _step(path: str, at: int, dotted: bool) -> tuple[Step, int, bool]:
    bracket = _BRACKET.match(path, at)
    if bracket is not None:
        step, single = _bracketed(bracket.group(1).strip())
        return step, bracket.end(), single
    if dotted and path.startswith("*", at):
        return _all, at + 1, False
    name = _NAME.match(path, at)
    if not dotted or name is None:
        raise JsonError(f"the path {path!r} cannot be read from position {at + 1} on")
    return _member(name.group()), name.end(), True


def _bracketed(text: str) -> tuple[Step, bool]:
    if text == "*":
        return _all, False
    if text.startswith("?"):
        return _filter(text), False
    if text[:1] in {"'", '"'}:
        names = re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", text)
        members = [_member(re.sub(r"\\(.)", r"\1", single or double)) for single, double in names]
        return (members[0], True) if len(members) == 1 else (_several(members), False)
    if re.fullmatch(r"-?\d+", text):
        return _element(int(text)), True
    bounds = re.fullmatch(r"(-?\d*)\s*:\s*(-?\d*)", text)
    if bounds is not None:
        return _slice(*bounds.groups()), False
    if re.fullmatch(r"-?\d+(\s*,\s*-?\d+)+", text):
        return _several([_element(int(each)) for each in text.split(",")]), False
    raise JsonError(f"the path has [{text}], which cannot be read")
