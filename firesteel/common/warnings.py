"""The warning that Firesteel gives, and giving it only once."""

from __future__ import annotations

import sys
import warnings

__all__ = ["FiresteelWarning", "warn_once"]


class FiresteelWarning(UserWarning):
    """Something in the program has no effect on this engine; the text says what and why."""


_given: set[str] = set()


def warn_once(subject: str, message: str) -> None:
    """Warn about `subject` the first time in this process, at the line of the user's program; then be silent."""
    if subject not in _given:
        _given.add(subject)
        warnings.warn(message, FiresteelWarning, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """How far up, seen from warn_once, the first frame outside this package is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("firesteel."):
        level, frame = level + 1, frame.f_back
    return level
