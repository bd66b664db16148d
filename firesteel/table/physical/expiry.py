"""How long rows are remembered that nobody touches: ``table.exec.state.ttl``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Expiry"]


class Expiry:
    """Knows which entries are too old, and looks for them now and then.

    An entry lives for `length` milliseconds of processing time after it was written; 0 is for ever.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        self._next_look: int | None = None

    def has_expired(self, written: int, now: int) -> bool:
        """Whether what was written then is forgotten by now."""
        return 0 < self.length <= now - written

    def sweep(self, now: int, entries: Any, written: Callable[[Any], int], forget: Callable[[Any], None]) -> None:
        """Forget all entries that have expired; done twice in the length of a life, so that the cost is spread."""
        if not self.length:
            return
        if self._next_look is None or now < self._next_look:
            self._next_look = self._next_look or now + self.length // 2
            return
        self._next_look = now + self.length // 2
        for key in [key for key, entry in entries.items() if self.has_expired(written(entry), now)]:
            forget(key)
