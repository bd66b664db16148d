"""Combines the panes of sliding windows, key by key, without starting again for each window."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.runtime.records import copied, unchangeable
from firesteel.runtime.windowing.contents import Fold
from firesteel.state.tables import ABSENT


class PaneCombiner:
    """The combined values of a run of panes that grows at one end and shrinks at the other: a queue out of two stacks.

    *Back* is the combination of the newer panes: a new pane is merged into it. *Front* is the combination of the older
    ones, made from the newest to the oldest, remembering with each pane what it replaced: taking the oldest pane away
    is putting that back. When front is used up, what is in back is turned over. Each value of a pane is thus merged
    at most twice, whatever the number of windows that contain the pane.

    Merge functions may change what they are given, but the panes are still needed: unless all values are of types
    that cannot change, copies are merged.
    """

    def __init__(self, fold: Fold) -> None:
        self._user_merge = fold.merge
        self._merge: Callable[[Any, Any], Any] = fold.merge
        self._copying = False
        self.reset()

    def reset(self) -> None:
        """Forget all panes."""
        self._front: dict[Any, Any] = {}
        self._replaced: list[tuple[int, dict[Any, Any]]] = []
        self._back: dict[Any, Any] = {}
        self._back_panes: list[tuple[int, dict[Any, Any]]] = []
        self.pushed_until = MIN_WATERMARK
        self._turned_until = MIN_WATERMARK
        """Panes that start before this are in front, the others in back."""

    def shape(self) -> tuple[int, int]:
        """Which panes are in front and which in back: the order of the keys, and of merging, follows from it."""
        return self._turned_until, self.pushed_until

    def rebuild(self, shape: tuple[int, int], panes: Iterable[tuple[int, dict[Any, Any]]]) -> None:
        """Take in panes, oldest first, so that they are combined as they were when they had this shape."""
        turned_until, pushed_until = shape
        for start, values in panes:
            if start >= turned_until and self._back_panes and self._back_panes[0][0] < turned_until:
                self._turn_over(MIN_WATERMARK)
            if start < pushed_until:
                self.push(start, values)
        if self._back_panes and self._back_panes[0][0] < turned_until:
            self._turn_over(MIN_WATERMARK)
        self._turned_until, self.pushed_until = shape

    def pane_changes(self, start: int) -> None:
        """A record is about to be added to a pane: if it is part of the combination, that is worth nothing any more."""
        if start < self.pushed_until:
            self.reset()

    def push(self, start: int, values: dict[Any, Any]) -> None:
        """Add a pane that is newer than all others."""
        if not self._copying and not unchangeable(values.values()):
            self._copying = True
            self._merge = self._merge_copies
        back, merge = self._back, self._merge
        for key, value in values.items():
            back[key] = merge(back[key], value) if key in back else value
        self._back_panes.append((start, values))
        self.pushed_until = start + 1

    def evict(self, limit: int) -> None:
        """Take away the panes that start before ``limit``."""
        front, replaced = self._front, self._replaced
        while replaced and replaced[-1][0] < limit:
            for key, before in replaced.pop()[1].items():
                if before is ABSENT:
                    del front[key]
                else:
                    front[key] = before
        if self._back_panes and self._back_panes[0][0] < limit:
            self._turn_over(limit)

    def _turn_over(self, limit: int) -> None:
        """Front is used up: make it anew out of the panes in back."""
        panes = [pane for pane in self._back_panes if pane[0] >= limit]
        self._back, self._back_panes, self._turned_until = {}, [], self.pushed_until
        front, merge = self._front, self._merge
        for start, values in reversed(panes):
            replaced: dict[Any, Any] = {}
            for key, value in values.items():
                replaced[key] = before = front.get(key, ABSENT)
                front[key] = value if before is ABSENT else merge(value, before)
            self._replaced.append((start, replaced))

    def combined(self) -> dict[Any, Any]:
        """The combined value of each key."""
        front, back, merge = self._front, self._back, self._merge
        result = front.copy()
        for key, value in back.items():
            result[key] = merge(result[key], value) if key in result else value
        if self._copying:
            return {key: copied(value) for key, value in result.items()}
        return result

    def _merge_copies(self, first: Any, second: Any) -> Any:
        return self._user_merge(copied(first), copied(second))
