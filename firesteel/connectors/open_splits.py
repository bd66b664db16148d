"""What a reader keeps open: the splits that it reads in turns, the least recently read closed when there are many."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from firesteel.model.source import SourceSplit

__all__ = ["OpenSplits"]


class _Closeable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=_Closeable)


class OpenSplits(Generic[T]):
    """Opened splits by their id.

    :param opener: Opens a split.
    :param limit: How many may be open at a time; one more closes the one that was not read for longest.
    """

    def __init__(self, opener: Callable[[SourceSplit], T], limit: int = 64) -> None:
        self._opener = opener
        self._limit = limit
        self._open: OrderedDict[str, T] = OrderedDict()

    def get(self, split: SourceSplit) -> T:
        """The opened split, opened now if it is not."""
        found = self._open.get(split.split_id)
        if found is None:
            if len(self._open) >= self._limit:
                self._open.popitem(last=False)[1].close()
            found = self._open[split.split_id] = self._opener(split)
        self._open.move_to_end(split.split_id)
        return found

    def close(self, split: SourceSplit) -> None:
        """Close a split that has ended."""
        self._open.pop(split.split_id).close()

    def close_all(self) -> None:
        """Close everything."""
        while self._open:
            self._open.popitem()[1].close()
