"""State of an operator subtask that does not belong to a key: list state, union list state, broadcast state."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from firesteel.errors import StateError
from firesteel.model.state import (
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorStateStore,
    ReadOnlyBroadcastState,
)
from firesteel.state.handles import Check, type_check

SPLIT = "split"
UNION = "union"
BROADCAST = "broadcast"

log = logging.getLogger("firesteel.state")
_MANY_ELEMENTS = 100_000

# What is stored: name -> (how it is redistributed, content)
Snapshot = dict[str, tuple[str, Any]]


class OperatorListState(ListState[Any]):
    """A list that belongs to the subtask."""

    def __init__(self, check: Check | None) -> None:
        self.items: list[Any] = []
        self._check = check

    def get(self) -> list[Any]:
        """The elements, in order; a list of the caller's own."""
        return list(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        """Append one element."""
        if self._check is not None:
            self._check(value)
        self.items.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        """Append elements."""
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements."""
        self.items = []
        self.add_all(values)

    def clear(self) -> None:
        """Forget all elements."""
        self.items = []


class BroadcastHandle(BroadcastState[Any, Any]):
    """A map that is the same on every subtask."""

    def __init__(self, name: str, check_key: Check | None, check_value: Check | None) -> None:
        self.mapping: dict[Any, Any] = {}
        self._name = name
        self._check_key = check_key
        self._check_value = check_value

    def get(self, key: Any) -> Any:
        """The value under ``key``, or None."""
        return self.mapping.get(key)

    def put(self, key: Any, value: Any) -> None:
        """Set the value under ``key``."""
        if self._check_key is not None:
            self._check_key(key)
        if self._check_value is not None:
            self._check_value(value)
        self.mapping[key] = value

    def put_all(self, dict_value: Any) -> None:
        """Set all entries of a dict (or pairs)."""
        for key, value in dict(dict_value).items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Forget the entry under ``key``, if there is one."""
        self.mapping.pop(key, None)

    def contains(self, key: Any) -> bool:
        """Whether there is an entry under ``key``."""
        return key in self.mapping

    def items(self) -> Iterable[tuple[Any, Any]]:
        """All entries, in order of insertion."""
        return list(self.mapping.items())

    def keys(self) -> Iterable[Any]:
        """All keys, in order of insertion."""
        return list(self.mapping)

    def values(self) -> Iterable[Any]:
        """All values, in order of insertion of their keys."""
        return list(self.mapping.values())

    def is_empty(self) -> bool:
        """Whether there are no entries."""
        return not self.mapping

    def clear(self) -> None:
        """Forget all entries."""
        self.mapping.clear()


class ReadOnlyBroadcastHandle(ReadOnlyBroadcastState[Any, Any]):
    """What the non-broadcast side sees: writing is an error, since it would differ between subtasks."""

    def __init__(self, state: BroadcastHandle, name: str) -> None:
        self._state = state
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("put", "put_all", "remove"):
            self._refuse()
        raise AttributeError(attribute)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        self._refuse()

    def __delitem__(self, key: Any) -> NoReturn:
        self._refuse()

    def clear(self) -> NoReturn:
        """Refused, as every change."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise StateError(
            f"broadcast state {self._name!r} is read-only here: only process_broadcast_element may change it, "
            "so that it stays the same on every subtask"
        )

    def get(self, key: Any) -> Any:
        """The value under ``key``, or None."""
        return self._state.get(key)

    def contains(self, key: Any) -> bool:
        """Whether there is an entry under ``key``."""
        return self._state.contains(key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        """All entries."""
        return self._state.items()

    def keys(self) -> Iterable[Any]:
        """All keys."""
        return self._state.keys()

    def values(self) -> Iterable[Any]:
        """All values."""
        return self._state.values()

    def is_empty(self) -> bool:
        """Whether there are no entries."""
        return self._state.is_empty()


class OperatorStateBackend(OperatorStateStore):
    """The operator state store of one subtask."""

    def __init__(self) -> None:
        self._lists: dict[str, tuple[str, OperatorListState]] = {}
        self._maps: dict[str, BroadcastHandle] = {}
        self._restored: dict[str, tuple[str, Any]] = {}
        self._warned: set[str] = set()

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """List state that is dealt out evenly when the job is rescaled."""
        return self._list(state_descriptor, SPLIT)

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """List state of which every subtask gets all elements of all subtasks when it is restored."""
        return self._list(state_descriptor, UNION)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """A map that the program keeps the same on every subtask."""
        name = state_descriptor.get_name()
        if name not in self._maps:
            self._refuse_other_kind(name, BROADCAST)
            handle = BroadcastHandle(
                name,
                type_check(name, "a key", state_descriptor.key_type_info),
                type_check(name, "a value", state_descriptor.value_type_info),
            )
            handle.mapping.update(self._take_restored(name, BROADCAST, {}))
            self._maps[name] = handle
        return self._maps[name]

    def read_only_broadcast_state(self, descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        """The same map for the side that may not change it."""
        handle = self.get_broadcast_state(descriptor)
        assert isinstance(handle, BroadcastHandle)
        return ReadOnlyBroadcastHandle(handle, descriptor.get_name())

    def _list(self, descriptor: ListStateDescriptor, mode: str) -> ListState[Any]:
        name = descriptor.get_name()
        if name not in self._lists:
            self._refuse_other_kind(name, mode)
            state = OperatorListState(type_check(name, "an element", descriptor.elem_type_info))
            state.items = list(self._take_restored(name, mode, []))
            self._lists[name] = (mode, state)
        found_mode, state = self._lists[name]
        if found_mode != mode:
            raise StateError(f"operator state {name!r} is {found_mode} list state already, not {mode} list state")
        return state

    def _refuse_other_kind(self, name: str, mode: str) -> None:
        if (mode == BROADCAST and name in self._lists) or (mode != BROADCAST and name in self._maps):
            raise StateError(f"operator state {name!r} is declared twice with different kinds")

    def _take_restored(self, name: str, mode: str, nothing: Any) -> Any:
        stored_mode, content = self._restored.pop(name, (mode, nothing))
        if stored_mode != mode:
            raise StateError(f"operator state {name!r} was stored as {stored_mode} state, not as {mode} state")
        return content

    @property
    def has_union_state(self) -> bool:
        """Whether there is list state of which every subtask gets all elements."""
        return any(mode == UNION for mode, _ in (*self._lists.values(), *self._restored.values()))

    def snapshot(self) -> Snapshot:
        """All states as plain data, with what was restored and not asked for since."""
        snapshot: Snapshot = dict(self._restored)
        for name, (mode, state) in self._lists.items():
            snapshot[name] = (mode, list(state.items))
            if mode == UNION and len(state.items) >= _MANY_ELEMENTS and name not in self._warned:
                self._warned.add(name)
                log.warning(
                    "union list state %r has %d elements in one subtask: on recovery every subtask reads all elements "
                    "of all subtasks. List state that is split evenly has no such cost",
                    name,
                    len(state.items),
                )
        for name, handle in self._maps.items():
            snapshot[name] = (BROADCAST, dict(handle.mapping))
        return snapshot

    def restore(self, snapshots: list[Snapshot], subtask_index: int, parallelism: int) -> None:
        """Take this subtask's share of what all former subtasks stored."""
        modes = {name: mode for snapshot in snapshots for name, (mode, _) in snapshot.items()}
        for name, mode in modes.items():
            if mode == BROADCAST:
                copies = [snapshot[name][1] for snapshot in snapshots if name in snapshot]
                share: Any = dict(copies[subtask_index % len(copies)])
            else:
                parts = [snapshot[name][1] if name in snapshot else [] for snapshot in snapshots]
                elements = [element for part in parts for element in part]
                share = elements if mode == UNION else _even_share(parts, elements, subtask_index, parallelism)
            self._restored[name] = (mode, share)


def _even_share(parts: list[list[Any]], elements: list[Any], subtask_index: int, parallelism: int) -> list[Any]:
    """Subtask's part of a split list: what it had if nothing was rescaled, otherwise an even, contiguous share."""
    if len(parts) == parallelism:
        return parts[subtask_index]
    base, extra = divmod(len(elements), parallelism)
    start = subtask_index * base + min(subtask_index, extra)
    return elements[start : start + base + (subtask_index < extra)]
