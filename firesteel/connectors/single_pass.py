"""The enumerator of sources whose splits are all known when the job starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.model.source import SourceSplit, SplitEnumerator

__all__ = ["SinglePassEnumerator"]


class SinglePassEnumerator(SplitEnumerator):
    """Hands out a fixed set of splits once, at the start of the job.

    :param splits: The splits, or a function that finds them. The function is called when the job starts afresh, not
        when it continues from a checkpoint: the splits are in the checkpoint then.
    """

    def __init__(self, splits: Iterable[SourceSplit] | Callable[[], Iterable[SourceSplit]]) -> None:
        self._splits = splits
        self._pending: list[SourceSplit] = []

    def start(self, restored: Any | None) -> None:
        """Find the splits, unless they have been handed out before the checkpoint."""
        if restored is None or not restored["handed_out"]:
            self._pending = list(self._splits() if callable(self._splits) else self._splits)

    def discover_splits(self, now: int) -> Iterable[SourceSplit]:
        """All splits the first time, then none."""
        pending, self._pending = self._pending, []
        return pending

    def no_more_splits(self) -> bool:
        """Whether the splits have been handed out."""
        return not self._pending

    def snapshot(self) -> dict[str, bool]:
        """Whether the splits have been handed out."""
        return {"handed_out": not self._pending}
