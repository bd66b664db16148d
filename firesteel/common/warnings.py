"""The warning that Firesteel gives, and giving it only once."""

from __future__ import annotations

import inspect
import warnings
from types import FrameType

__all__ = ["FiresteelWarning", "first_time", "warn_at", "warn_once"]


class FiresteelWarning(UserWarning):
    """Something in the program is probably not meant so, or has no effect here; the text says what and why."""


_given: set[str] = set()


def warn_once(subject: str, message: str) -> None:
    """Warn about `subject` the first time in this process, at the line of the user's program; then be silent."""
    if first_time(subject):
        warnings.warn(message, FiresteelWarning, stacklevel=_level_of_user())


def first_time(subject: str) -> bool:
    """Whether nobody was warned about `subject` yet in this process; whoever asks warns now."""
    if subject in _given:
        return False
    _given.add(subject)
    return True


def warn_at(call_site: str, message: str) -> None:
    """Warn about a line of the user's program, given as ``file:line``: what stands there may be long done."""
    file, _, line = call_site.rpartition(":")
    warnings.warn_explicit(message, FiresteelWarning, file or call_site, int(line) if line.isdigit() else 1)


def _level_of_user() -> int:
    """How far up, seen from warn_once, the first frame outside this package is."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(frame: FrameType) -> bool:
    name: str = frame.f_globals.get("__name__", "")
    return name.startswith("firesteel.")
