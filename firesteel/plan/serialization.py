"""Pickling what a program sends to the workers, with errors that name the culprit."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import cloudpickle

from firesteel.errors import SerializationError


def pickle_for_workers(value: Any, what: str, call_site: str) -> bytes:
    """Pickle user code. ``what`` and ``call_site`` say whose it is, for the error."""
    try:
        data: bytes = cloudpickle.dumps(value)
    except Exception as error:  # pickling runs arbitrary __reduce__ methods: anything may come out
        culprit = _find_culprit(value, set())
        detail = f"{culprit} cannot be pickled" if culprit else str(error)
        raise SerializationError(
            f"{what} (made at {call_site}) cannot be sent to the workers: {detail} ({error}). "
            "Make connections, locks and files in open() instead of capturing them"
        ) from error
    return data


def _picklable(value: Any) -> bool:
    try:
        cloudpickle.dumps(value)
    except Exception:  # see above
        return False
    return True


def _find_culprit(value: Any, seen: set[int]) -> str | None:
    """The innermost named part of ``value`` that cannot be pickled, such as ``variable 'lock' of <lambda>``."""
    if id(value) in seen:
        return None
    seen.add(id(value))
    for name, part in _named_parts(value):
        if not _picklable(part):
            return _find_culprit(part, seen) or f"{name} ({type(part).__name__})"
    return None


def _named_parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, functools.partial):
        yield from ((f"argument {index} of {value.func!r}", part) for index, part in enumerate(value.args))
        yield from ((f"argument {name!r}", part) for name, part in value.keywords.items())
    elif isinstance(value, dict):
        yield from ((f"entry {key!r}", part) for key, part in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"item {index}", part) for index, part in enumerate(value))
    elif isinstance(value, dict):
        yield from ((f"entry {name!r}", part) for name, part in value.items())
    elif inspect.ismethod(value):
        yield (f"the object of method {value.__qualname__}", value.__self__)
    elif inspect.isfunction(value):
        variables = inspect.getclosurevars(value)
        for name, part in {**variables.globals, **variables.nonlocals}.items():
            yield (f"variable {name!r} captured by {value.__qualname__}", part)
    elif hasattr(value, "__dict__"):
        for name, part in vars(value).items():
            yield (f"attribute {name!r} of {type(value).__qualname__}", part)
