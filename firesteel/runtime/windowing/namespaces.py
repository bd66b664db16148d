"""Windows as they stand in state and timers: plain tuples, so that a snapshot contains no class of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.model.assigners import WindowAssigner
from firesteel.model.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
    Window,
)

_GLOBAL: tuple[Any, ...] = ()


class Namespaces:
    """From window to namespace and back. Windows of a class the user wrote stand for themselves."""

    def __init__(self, assigner: WindowAssigner[Any, Any]) -> None:
        serializer = assigner.get_window_serializer()
        self._window_class: type[Any] | None = None
        self._make: Callable[..., Any]
        if isinstance(serializer, TimeWindowSerializer):
            self._window_class, self._make = TimeWindow, TimeWindow
        elif isinstance(serializer, CountWindowSerializer):
            self._window_class, self._make = CountWindow, CountWindow
        elif isinstance(serializer, GlobalWindowSerializer):
            self._window_class, self._make = GlobalWindow, GlobalWindow.get

    def namespace_of(self, window: Any) -> Any:
        """What stands for the window in state."""
        if window.__class__ is not self._window_class:
            return window
        return _GLOBAL if self._window_class is GlobalWindow else tuple(window)

    def window_of(self, namespace: Any) -> Any:
        """The window for which a namespace stands."""
        return namespace if isinstance(namespace, Window) else self._make(*namespace)
