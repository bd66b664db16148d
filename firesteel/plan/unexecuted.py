"""Programs that define sinks and end without running them: said at the end of the process, where silence was."""

from __future__ import annotations

import atexit
import sys

from firesteel.common.warnings import warn_at

__all__ = ["defined", "forget", "forget_all"]

_defined: dict[int, list[str]] = {}
"""Environment -> the lines of the sinks that were defined since its last job."""


def defined(environment: int, call_site: str) -> None:
    """A sink has been defined, at a line of the program."""
    if not _defined:
        atexit.unregister(_warn)
        atexit.register(_warn)
    _defined.setdefault(environment, []).append(call_site)


def forget(environment: int) -> None:
    """The environment has run what was defined, or drawn its plan, or has been closed."""
    _defined.pop(environment, None)


def forget_all() -> None:
    """The program has failed: what it did not come to is no news."""
    _defined.clear()


def _warn() -> None:
    failed = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    for call_sites in _defined.values() if failed is None else ():
        others = "" if len(call_sites) == 1 else f" (nor the {len(call_sites) - 1} defined after it)"
        warn_at(call_sites[0], f"this sink was never executed{others}: nothing runs before env.execute().")
