"""The window operator for windows that merge, such as sessions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.errors import ProgramError
from firesteel.model.assigners import MergingWindowAssigner
from firesteel.model.triggers import TriggerResult
from firesteel.runtime.operator import OperatorContext
from firesteel.runtime.windowing.operator import WindowOperator
from firesteel.state.backend import map_table
from firesteel.state.tables import MapTable


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    """Takes down which windows are to be merged."""

    def __init__(self) -> None:
        self.found: list[tuple[list[Any], Any]] = []

    def merge(self, to_be_merged: Collection[Any], merge_result: Any) -> None:
        """Windows to be merged into another."""
        self.found.append((list(dict.fromkeys(to_be_merged)), merge_result))


class MergingWindowOperator(WindowOperator):
    """Windows that merge.

    The contents of a window stay where those of its first part were, under the namespace of its *state window*; per
    key a map from window to state window is kept. Merging thus moves contents only when two windows that both have
    some become one.
    """

    _windows: MapTable

    def setup(self, context: OperatorContext) -> None:
        """Declare the map from window to state window."""
        super().setup(context)
        self._windows = map_table(self.backend, "_window/merging")

    def add(self, key: Any, window: Any, value: Any, stamp: int | None) -> bool:
        """Put a record into a window, merged with those it meets; False if the window is over."""
        window = self._merge_in(key, window)
        namespace, cleanup = self.namespaces.namespace_of(window), self.cleanup_time(window)
        if self.event_time and cleanup <= self.watermark:
            self._windows.remove_key(key, namespace)
            return False
        contents_key = (key, self._windows.entries[key][namespace])
        self.contents.add(contents_key, value, stamp)
        self.enter(key, namespace)
        timestamp = MIN_WATERMARK if stamp is None else stamp
        result = self.trigger.on_element(value, timestamp, window, self.trigger_context)
        if result is not TriggerResult.CONTINUE:
            self.act(result, key, window, namespace, contents_key)
        if cleanup != MAX_WATERMARK:
            self._cleanup_timers.add(key, namespace, cleanup)
        return True

    def _merge_in(self, key: Any, new: Any) -> Any:
        """Add a window to those of the key; the window it is, or has become part of."""
        known = [self.namespaces.window_of(namespace) for namespace in self._windows.entries.get(key, ())]
        merges = _Merges()
        assert isinstance(self.spec.assigner, MergingWindowAssigner)
        self.spec.assigner.merge_windows([*known, new], merges)
        result = new
        for parts, merged in merges.found:
            if new in parts:
                result = merged
                if new not in known:
                    parts.remove(new)
            if parts and parts != [merged]:
                self._merge(key, parts, merged)
        namespace = self.namespaces.namespace_of(result)
        if namespace not in self._windows.entries.get(key, ()):
            self._windows.put(key, namespace, namespace)
        return result

    def _merge(self, key: Any, parts: list[Any], merged: Any) -> None:
        self._refuse_past(merged)
        namespace = self.namespaces.namespace_of(merged)
        part_namespaces = [self.namespaces.namespace_of(part) for part in parts]
        state_windows = [self._windows.entries[key][part] for part in part_namespaces]
        for part in part_namespaces:
            self._windows.remove_key(key, part)
        self._windows.put(key, namespace, state_windows[0])
        self.enter(key, namespace)
        self.trigger_context.merged = part_namespaces
        self.trigger.on_merge(merged, self.trigger_context)
        for part, part_namespace in zip(parts, part_namespaces):
            if part_namespace != namespace:
                self.enter(key, part_namespace)
                self.trigger.clear(part, self.trigger_context)
                self._cleanup_timers.remove(key, part_namespace, self.cleanup_time(part))
        self.contents.merge((key, state_windows[0]), [(key, other) for other in state_windows[1:]])

    def _refuse_past(self, merged: Any) -> None:
        """A window must not end before now by merging: its results would come after their time."""
        now = self.watermark if self.event_time else self.context.clock.now
        if self.cleanup_time(merged) <= now:
            raise ProgramError(
                f"{self.spec.assigner!r} merged windows into {merged!r}, which is over at {now}. A merged window must "
                "not end before the windows it is made of."
            )

    def contents_key(self, key: Any, window: Any, namespace: Any) -> Any:
        """The entry key of the state window; None for a timer of a window that has been merged away."""
        state_window = self._windows.entries.get(key, {}).get(namespace)
        return None if state_window is None else (key, state_window)

    def delete(self, key: Any, window: Any, namespace: Any, contents_key: Any) -> None:
        """Forget everything about a window."""
        super().delete(key, window, namespace, contents_key)
        self._windows.remove_key(key, namespace)
