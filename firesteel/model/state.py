"""State: the handles that functions use, and the descriptors that declare it.

The classes of handles are abstract; the state backends implement them. A handle of keyed state always means
the current key: reading it where no key is in context (in ``open``, say) raises.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from firesteel.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation, Types
from firesteel.errors import ConfigurationError, StateError
from firesteel.model.functions.adapt import as_aggregate_function, as_reduce_function
from firesteel.model.functions.base import AggregateFunction, Function, ReduceFunction
from firesteel.model.state_ttl import StateTtlConfig

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """Base of all state handles."""

    __slots__ = ()

    @abstractmethod
    def clear(self) -> None:
        """Remove the value of the current key. Other keys are untouched."""


class ValueState(State, Generic[T]):
    """One value per key."""

    __slots__ = ()

    @abstractmethod
    def value(self) -> T | None:
        """The value of the current key, or None (or the descriptor's default) if there is none.

        A mutable value that is changed must be given to :meth:`update` to be kept.
        """

    @abstractmethod
    def update(self, value: T) -> None:
        """Replace the value of the current key. None is the same as :meth:`clear`."""


class AppendingState(State, Generic[IN, OUT]):
    """State into which values are added, and from which something is read."""

    __slots__ = ()

    @abstractmethod
    def get(self) -> OUT | None:
        """What is stored for the current key, or None if nothing is."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add a value for the current key."""


class MergingState(AppendingState[IN, OUT]):
    """Appending state that can be merged, as merging windows need it."""

    __slots__ = ()


class ReducingState(MergingState[T, T]):
    """One value per key, into which every added value is reduced with a ``ReduceFunction``."""

    __slots__ = ()


class AggregatingState(MergingState[IN, OUT]):
    """One accumulator per key, into which every added value is folded with an ``AggregateFunction``."""

    __slots__ = ()


class ListState(MergingState[T, Iterable[T]]):
    """A list per key (keyed state), or per subtask (operator state)."""

    __slots__ = ()

    @abstractmethod
    def get(self) -> Iterable[T]:
        """The values in the order in which they were added; empty if there are none."""

    @abstractmethod
    def add_all(self, values: Iterable[T]) -> None:
        """Add several values at the end."""

    @abstractmethod
    def update(self, values: Iterable[T]) -> None:
        """Replace the whole list; an empty one is the same as :meth:`clear`."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class _ReadableMap(State, Generic[K, V]):
    """What all map-like states can be asked."""

    __slots__ = ()

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value under ``key``, or None if there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether there is a value under ``key``."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """All entries, in the order in which they were first put."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """The keys of all entries."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """The values of all entries."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there are no entries."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class MapState(_ReadableMap[K, V]):
    """A map per key. Entries are stored one by one: reading one does not read the others."""

    __slots__ = ()

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Put a value under ``key``."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Put all entries of a dict."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove the entry under ``key``; nothing happens if there is none."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class ReadOnlyBroadcastState(_ReadableMap[K, V]):
    """Broadcast state as the records of the other stream see it: every attempt to change it raises."""

    __slots__ = ()

    def clear(self) -> None:
        """Raises: only the broadcast side may change broadcast state."""
        raise StateError(
            "Broadcast state is read-only here: only process_broadcast_element may change it, so that it stays the "
            "same in every subtask."
        )


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """A map that is the same in every subtask, written by broadcast records."""

    __slots__ = ()

    @abstractmethod
    def clear(self) -> None:
        """Remove all entries."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Put a value under ``key``."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Put all entries of a dict."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove the entry under ``key``; nothing happens if there is none."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class StateDescriptor:
    """Declares a state: its name, which is unique within the operator, its type, and its time-to-live.

    :param name: The name; must not be empty. A restore finds the state by it.
    :param type_info: The type of the state as a whole; None if undeclared, so that any picklable object goes.
    """

    def __init__(self, name: str, type_info: TypeInformation | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"{type(self).__name__}: name must be a non-empty string, got {name!r}.")
        self.name = name
        self.type_info = self._checked(type_info, "type_info")
        self._ttl_config = StateTtlConfig.DISABLED

    def get_name(self) -> str:
        """The name of the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let the state expire. Must be called before the descriptor is used to get the state."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise ConfigurationError(
                f"{type(self).__name__}({self.name!r}).enable_time_to_live: ttl_config must be a "
                f"StateTtlConfig, got {ttl_config!r}. "
                "Make one with StateTtlConfig.new_builder(Time.hours(1)).build()."
            )
        self._ttl_config = ttl_config

    def get_ttl_config(self) -> StateTtlConfig:
        """The time-to-live; ``StateTtlConfig.DISABLED`` unless it was enabled."""
        return self._ttl_config

    def _checked(self, type_info: Any, argument: str) -> TypeInformation | None:
        if type_info is not None and not isinstance(type_info, TypeInformation):
            raise ConfigurationError(
                f"{type(self).__name__}({self.name!r}): {argument} must be a TypeInformation, "
                f"got {type_info!r}. Use Types, for example Types.LONG()."
            )
        return type_info

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return mine.keys() == theirs.keys() and all(_same(mine[each], theirs[each]) for each in mine)

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


class ValueStateDescriptor(StateDescriptor):
    """Declares a :class:`ValueState`.

    :param name: The name of the state.
    :param value_type_info: The type of the value; None if undeclared.
    :param default_value: Deprecated, as in Flink: what ``value()`` returns for a key that has none, a fresh
        copy for each key. Ignored while a time-to-live is enabled. Check for None instead.
    """

    def __init__(
        self, name: str, value_type_info: TypeInformation | None = None, default_value: Any | None = None
    ) -> None:
        super().__init__(name, value_type_info)
        self.default_value = default_value
        if default_value is not None:
            warnings.warn(
                f"ValueStateDescriptor({name!r}): default_value is deprecated; check for None instead.",
                DeprecationWarning,
                stacklevel=2,
            )

    def get_default_value(self) -> Any | None:
        """A fresh copy of the default value, or None."""
        return copy.deepcopy(self.default_value)


class ListStateDescriptor(StateDescriptor):
    """Declares a :class:`ListState`.

    :param name: The name of the state.
    :param elem_type_info: The type of the elements; None if undeclared.
    """

    type_info: ListTypeInfo

    def __init__(self, name: str, elem_type_info: TypeInformation | None = None) -> None:
        super().__init__(name)
        self.elem_type_info = self._checked(elem_type_info, "elem_type_info")
        self.type_info = Types.LIST(self.elem_type_info or Types.PICKLED_BYTE_ARRAY())


class MapStateDescriptor(StateDescriptor):
    """Declares a :class:`MapState` or a :class:`BroadcastState`.

    :param name: The name of the state.
    :param key_type_info: The type of the keys; None if undeclared.
    :param value_type_info: The type of the values; None if undeclared.
    """

    type_info: MapTypeInfo

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation | None = None,
        value_type_info: TypeInformation | None = None,
    ) -> None:
        super().__init__(name)
        self.key_type_info = self._checked(key_type_info, "key_type_info")
        self.value_type_info = self._checked(value_type_info, "value_type_info")
        anything = Types.PICKLED_BYTE_ARRAY()
        self.type_info = Types.MAP(self.key_type_info or anything, self.value_type_info or anything)


class ReducingStateDescriptor(StateDescriptor):
    """Declares a :class:`ReducingState`.

    :param name: The name of the state.
    :param reduce_function: A ``ReduceFunction`` or a callable of two values.
    :param type_info: The type of the values; None if undeclared.
    """

    def __init__(self, name: str, reduce_function: Any, type_info: TypeInformation | None = None) -> None:
        super().__init__(name, type_info)
        self._reduce_function = as_reduce_function(reduce_function, f"ReducingStateDescriptor({name!r})")

    def get_reduce_function(self) -> ReduceFunction:
        """The function with which added values are reduced."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Declares an :class:`AggregatingState`.

    :param name: The name of the state.
    :param agg_function: An ``AggregateFunction``, or a tuple (create_accumulator, add, get_result[, merge]).
    :param state_type_info: The type of the accumulator; None if undeclared.
    """

    def __init__(self, name: str, agg_function: Any, state_type_info: TypeInformation | None = None) -> None:
        super().__init__(name, state_type_info)
        self._agg_function = as_aggregate_function(agg_function, f"AggregatingStateDescriptor({name!r})")

    def get_agg_function(self) -> AggregateFunction:
        """The function with which added values are aggregated."""
        return self._agg_function


class OperatorStateStore(ABC):
    """State of a subtask that belongs to no key. Got in ``CheckpointedFunction.initialize_state``."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list that is split evenly among the subtasks when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list of which every subtask gets all elements of all subtasks after a restore."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """A map that is the same in every subtask."""


def _same(mine: Any, theirs: Any) -> bool:
    """Equality by content; function objects are equal if their class and their settings are."""
    if isinstance(mine, Function):
        return type(mine) is type(theirs) and vars(mine) == vars(theirs)
    return bool(mine == theirs)
