"""Keys that are lists: state is found by the tuple of their items, which cannot change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["FrozenKey", "frozen", "has_list_key"]


def frozen(key: Any) -> Any:
    """The key with tuples in place of lists and bytes in place of bytearrays, inside too."""
    if isinstance(key, list) or type(key) is tuple:
        return tuple(map(frozen, key))
    return bytes(key) if isinstance(key, bytearray) else key


class FrozenKey:
    """A key selector whose keys are frozen."""

    def __init__(self, select: Callable[[Any], Any]) -> None:
        self.select = select

    def __call__(self, value: Any) -> Any:
        return frozen(self.select(value))


def has_list_key(select: Callable[[Any], Any], value: Any) -> bool:
    """Whether freezing its key lets a record be routed; False if the selector itself fails."""
    try:
        key = select(value)
        hash(frozen(key))
    except Exception:
        return False
    return _holds_mutable(key)


def _holds_mutable(key: Any) -> bool:
    return isinstance(key, (list, bytearray)) or (type(key) is tuple and any(map(_holds_mutable, key)))
