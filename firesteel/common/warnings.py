"""The warning that Firesteel gives, and giving it only once."""

from __future__ import annotations

import warnings

__all__ = ["FiresteelWarning", "warn_once"]


class FiresteelWarning(UserWarning):
    """Something in the program has no effect on this engine; the text says what and why."""


_given: set[str] = set()


def warn_once(subject: str, message: str, stacklevel: int = 2) -> None:
    """Warn about `subject` the first time in this process, and stay silent afterwards.

    `stacklevel` counts as in :func:`warnings.warn`: 2 is the caller of the function that calls this.
    """
    if subject not in _given:
        _given.add(subject)
        warnings.warn(message, FiresteelWarning, stacklevel=stacklevel + 1)
