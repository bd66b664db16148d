"""The state objects that user functions hold: thin views on tables, for whatever key is in scope.

They run once or more per record, so they do little: one dict access and, for writes, one mark.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from firesteel.common import TypeInformation
from firesteel.common.typeinfo import BasicTypeInfo, NullableTypeInfo, PickledBytesTypeInfo
from firesteel.errors import StateError, TypeMismatchError
from firesteel.model.functions import AggregateFunction
from firesteel.model.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from firesteel.state.backend import KeyedStateBackend, KeyScope, list_table, map_table, value_table
from firesteel.state.tables import ABSENT, ListTable, MapTable, Table, ValueTable
from firesteel.state.ttl import IncrementalCleanup, TtlPolicy
from firesteel.state.ttl_handles import (
    TtlAggregatingHandle,
    TtlListHandle,
    TtlMapHandle,
    TtlReducingHandle,
    TtlValueHandle,
)

Check = Callable[[Any], None]


def type_check(state_name: str, what: str, type_info: TypeInformation | None) -> Check | None:
    """A function that refuses values that do not fit the declared type; None if no type was declared."""
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return None

    def check(value: Any) -> None:
        reason = type_info.check(value)
        if reason is not None:
            raise TypeMismatchError(f"{what} of state {state_name!r} must fit its type {type_info}: {reason}")

    return _quick_check(type_info, check) if isinstance(type_info, BasicTypeInfo) else check


def _quick_check(type_info: BasicTypeInfo, check: Check) -> Check:
    """A check that looks at the class first: state is checked once per update."""
    usual, bounds = type_info.usual_class, type_info.bounds
    if usual is None:
        return check
    if bounds is None:

        def check_class(value: Any) -> None:
            if value.__class__ is not usual:
                check(value)

        return check_class
    low, high = bounds

    def check_whole_number(value: Any) -> None:
        if value.__class__ is not int or not low <= value < high:
            check(value)

    return check_whole_number


class ValueHandle(ValueState[Any]):
    """Value state without a declared type."""

    def __init__(self, table: ValueTable, scope: KeyScope) -> None:
        self.table = table
        self._entries = table.entries
        self._mark = table.dirty.add
        self._scope = scope

    def value(self) -> Any:
        """The value for the key in scope, or None. (None is never stored.)"""
        return self._entries.get(self._scope.key)

    def update(self, value: Any) -> None:
        """Set the value for the key in scope. None clears it."""
        if value is None:
            self.clear()
            return
        key = self._scope.key
        self._entries[key] = value
        self._mark(key)

    def clear(self) -> None:
        """Forget the value for the key in scope."""
        self.table.remove(self._scope.key)


class TypedValueHandle(ValueHandle):
    """Value state with a declared type: values that do not fit are refused."""

    def __init__(self, table: ValueTable, scope: KeyScope, check: Check, type_info: TypeInformation) -> None:
        super().__init__(table, scope)
        self.declared = (type_info,)
        self._check = check

    def update(self, value: Any) -> None:
        """Set the value for the key in scope. None clears it."""
        if value is None:
            self.clear()
            return
        self._check(value)
        key = self._scope.key
        self._entries[key] = value
        self._mark(key)


class WholeNumberHandle(TypedValueHandle):
    """Value state of a whole number, the most frequent kind: the check without a call."""

    def __init__(self, table: ValueTable, scope: KeyScope, check: Check, type_info: BasicTypeInfo) -> None:
        super().__init__(table, scope, check, type_info)
        bounds = type_info.bounds
        assert bounds is not None
        # The bounds are those of two's complement: a number with so many bits fits, whatever its sign.
        self._bits = (bounds[1] - 1).bit_length()

    def update(self, value: Any) -> None:
        """Set the value for the key in scope. None clears it."""
        if value.__class__ is int and value.bit_length() <= self._bits:
            key = self._scope.key
            self._entries[key] = value
            self._mark(key)
        else:
            super().update(value)


class DefaultedValue(ValueState[Any]):
    """Value state with a default for keys that have no value."""

    def __init__(self, handle: ValueHandle, default: Any) -> None:
        self.table = handle.table
        self._handle = handle
        self._default = default

    def value(self) -> Any:
        """The value for the key in scope, or a copy of the default."""
        value = self._handle.value()
        return copy.deepcopy(self._default) if value is None else value

    def update(self, value: Any) -> None:
        """Set the value for the key in scope. None clears it."""
        self._handle.update(value)

    def clear(self) -> None:
        """Forget the value for the key in scope."""
        self._handle.clear()


class ReducingHandle(ReducingState[Any]):
    """Reducing state: the running aggregate is all that is stored."""

    def __init__(
        self, table: ValueTable, scope: KeyScope, reduce: Callable[[Any, Any], Any], check: Check | None
    ) -> None:
        self.table = table
        self._scope = scope
        self._reduce = reduce
        self._check = check

    def get(self) -> Any:
        """The aggregate for the key in scope, or None."""
        return self.table.entries.get(self._scope.key)

    def add(self, value: Any) -> None:
        """Reduce a value into the aggregate."""
        if self._check is not None:
            self._check(value)
        key = self._scope.key
        current = self.table.entries.get(key, ABSENT)
        self.table.put(key, value if current is ABSENT else self._reduce(current, value))

    def clear(self) -> None:
        """Forget the aggregate for the key in scope."""
        self.table.remove(self._scope.key)


class AggregatingHandle(AggregatingState[Any, Any]):
    """Aggregating state: the accumulator is all that is stored."""

    def __init__(self, table: ValueTable, scope: KeyScope, function: AggregateFunction) -> None:
        self.table = table
        self._scope = scope
        self._function = function

    def get(self) -> Any:
        """The result for the key in scope, or None if nothing was added."""
        accumulator = self.table.entries.get(self._scope.key, ABSENT)
        return None if accumulator is ABSENT else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Add a value to the accumulator."""
        key = self._scope.key
        accumulator = self.table.entries.get(key, ABSENT)
        if accumulator is ABSENT:
            accumulator = self._function.create_accumulator()
        self.table.put(key, self._function.add(value, accumulator))

    def clear(self) -> None:
        """Forget the accumulator for the key in scope."""
        self.table.remove(self._scope.key)


class ListHandle(ListState[Any]):
    """List state. Appending costs only what is appended."""

    def __init__(self, table: ListTable, scope: KeyScope, check: Check | None) -> None:
        self.table = table
        self._scope = scope
        self._check = check

    def get(self) -> list[Any]:
        """The elements for the key in scope, in order; a list of the caller's own."""
        return list(self.table.entries.get(self._scope.key, ()))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        """Append one element."""
        self._refuse(value)
        self.table.append(self._scope.key, (value,))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append elements."""
        items = list(values)
        for item in items:
            self._refuse(item)
        if items:
            self.table.append(self._scope.key, items)

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements. No elements: the same as :meth:`clear`."""
        items = list(values)
        for item in items:
            self._refuse(item)
        if items:
            self.table.put(self._scope.key, items)
        else:
            self.clear()

    def clear(self) -> None:
        """Forget all elements for the key in scope."""
        self.table.remove(self._scope.key)

    def _refuse(self, value: Any) -> None:
        if value is None:
            raise StateError("None cannot be an element of list state")
        if self._check is not None:
            self._check(value)


class MapHandle(MapState[Any, Any]):
    """Map state. Each entry of the map is stored by itself."""

    def __init__(self, table: MapTable, scope: KeyScope, check_key: Check | None, check_value: Check | None) -> None:
        self.table = table
        self._entries = table.entries
        self._scope = scope
        self._check_key = check_key
        self._check_value = check_value

    def _mapping(self) -> dict[Any, Any]:
        return self._entries.get(self._scope.key) or {}

    def get(self, key: Any) -> Any:
        """The value under ``key``, or None."""
        mapping = self._entries.get(self._scope.key)
        return None if mapping is None else mapping.get(key)

    def put(self, key: Any, value: Any) -> None:
        """Set the value under ``key``."""
        if self._check_key is not None:
            self._check_key(key)
        if self._check_value is not None and value is not None:
            self._check_value(value)
        self.table.put(self._scope.key, key, value)

    def put_all(self, dict_value: Any) -> None:
        """Set all entries of a dict (or pairs)."""
        for key, value in dict(dict_value).items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Forget the entry under ``key``, if there is one."""
        self.table.remove_key(self._scope.key, key)

    def contains(self, key: Any) -> bool:
        """Whether there is an entry under ``key``."""
        return key in self._mapping()

    def items(self) -> Iterable[tuple[Any, Any]]:
        """All entries, in order of insertion; changing the state while iterating is fine."""
        return list(self._mapping().items())

    def keys(self) -> Iterable[Any]:
        """All keys, in order of insertion."""
        return list(self._mapping())

    def values(self) -> Iterable[Any]:
        """All values, in order of insertion of their keys."""
        return list(self._mapping().values())

    def is_empty(self) -> bool:
        """Whether there are no entries."""
        return not self._mapping()

    def clear(self) -> None:
        """Forget all entries for the key in scope."""
        self.table.remove(self._scope.key)


def _value_handle(
    table: ValueTable, scope: KeyScope, check: Check | None, type_info: TypeInformation | None
) -> ValueHandle:
    """The quickest handle that checks what the declared type asks for."""
    if check is None or type_info is None:
        return ValueHandle(table, scope)
    if isinstance(type_info, BasicTypeInfo) and type_info.bounds is not None:
        return WholeNumberHandle(table, scope, check, type_info)
    return TypedValueHandle(table, scope, check, type_info)


def holds_unchangeable(handle: Any) -> bool:
    """Whether the declared types of a state let nothing in that can be changed: numbers, texts and the like only."""
    types = getattr(handle, "declared", ())
    return bool(types) and all(isinstance(each, BasicTypeInfo) and each.usual_class is not None for each in types)


class StateHandles:
    """Makes state handles from descriptors, and remembers them: one name is one state.

    :param scope: Under which entry key the handles work: the backend's own scope for keyed state, another one for
        state that belongs to a window.
    :param prefix: Put before the names, to keep kinds of state apart (window state, trigger state).
    """

    def __init__(
        self, backend: KeyedStateBackend, scope: KeyScope | None = None, prefix: str = "", namespaced: bool = False
    ) -> None:
        self._backend = backend
        self._scope = scope or backend.scope
        self._prefix = prefix
        self._namespaced = namespaced
        self._handles: dict[str, tuple[StateDescriptor, Any]] = {}

    def get(self, descriptor: StateDescriptor) -> Any:
        """The handle for a descriptor; the same one for the same name."""
        name = descriptor.get_name()
        found = self._handles.get(name)
        if found is not None:
            self._refuse_mismatch(found[0], descriptor)
            return found[1]
        self._backend.declare_type(self._prefix + name, descriptor.type_info)
        handle = self._make(descriptor)
        self._handles[name] = (descriptor, handle)
        return handle

    def keys(self, descriptor: StateDescriptor) -> list[Any]:
        """All keys that have the state; a list of the caller's own, so that state may be changed meanwhile."""
        return list(self.get(descriptor).table.entries)

    @staticmethod
    def _refuse_mismatch(known: StateDescriptor, wanted: StateDescriptor) -> None:
        if type(known) is not type(wanted) or str(known.type_info) != str(wanted.type_info):
            raise StateError(
                f"state {known.get_name()!r} is declared twice in one operator with different types: "
                f"{type(known).__name__} of {known.type_info} and {type(wanted).__name__} of {wanted.type_info}. "
                "Give one of them another name"
            )
        if known.get_ttl_config() != wanted.get_ttl_config():
            raise StateError(
                f"state {known.get_name()!r} is declared twice in one operator with different times to live: "
                f"{known.get_ttl_config()} and {wanted.get_ttl_config()}. Give one of them another name"
            )

    def _make(self, descriptor: StateDescriptor) -> Any:
        if descriptor.get_ttl_config().is_enabled():
            return self._make_expiring(descriptor)
        name = descriptor.get_name()
        full_name = self._prefix + name
        backend, scope, namespaced = self._backend, self._scope, self._namespaced
        if isinstance(descriptor, MapStateDescriptor):
            table = map_table(backend, full_name, namespaced)
            return MapHandle(
                table,
                scope,
                type_check(name, "a key", descriptor.key_type_info),
                type_check(name, "a value", descriptor.value_type_info),
            )
        if isinstance(descriptor, ListStateDescriptor):
            check = type_check(name, "an element", descriptor.elem_type_info)
            return ListHandle(list_table(backend, full_name, namespaced), scope, check)
        values = value_table(backend, full_name, namespaced)
        check = type_check(name, "the value", descriptor.type_info)
        if isinstance(descriptor, ReducingStateDescriptor):
            return ReducingHandle(values, scope, descriptor.get_reduce_function().reduce, check)
        if isinstance(descriptor, AggregatingStateDescriptor):
            return AggregatingHandle(values, scope, descriptor.get_agg_function())
        if isinstance(descriptor, ValueStateDescriptor):
            handle = _value_handle(values, scope, check, descriptor.type_info)
            default = descriptor.default_value
            return handle if default is None else DefaultedValue(handle, default)
        raise StateError(f"unknown kind of state descriptor: {type(descriptor).__name__}")

    def _make_expiring(self, descriptor: StateDescriptor) -> Any:
        """A handle for state with a time-to-live: classes of its own, so that other state does not pay for it."""
        name = descriptor.get_name()
        full_name, scope = self._prefix + name, self._scope
        place = (self._backend, full_name, self._namespaced, True)
        policy = TtlPolicy(descriptor.get_ttl_config(), self._backend.clock)
        if isinstance(descriptor, MapStateDescriptor):
            maps = map_table(*place)
            check_key = type_check(name, "a key", descriptor.key_type_info)
            value_type = descriptor.value_type_info
            nullable = value_type is None or isinstance(value_type, (NullableTypeInfo, PickledBytesTypeInfo))
            check_value = type_check(name, "a value", value_type)
            on_access = self._start_cleanup(full_name, maps, policy)
            return TtlMapHandle(maps, scope, policy, on_access, check_key, check_value, nullable)
        if isinstance(descriptor, ListStateDescriptor):
            lists = list_table(*place)
            check = type_check(name, "an element", descriptor.elem_type_info)
            return TtlListHandle(lists, scope, policy, self._start_cleanup(full_name, lists, policy), check)
        values = value_table(*place)
        on_access = self._start_cleanup(full_name, values, policy)
        check = type_check(name, "the value", descriptor.type_info)
        if isinstance(descriptor, ReducingStateDescriptor):
            reduce = descriptor.get_reduce_function().reduce
            return TtlReducingHandle(values, scope, policy, on_access, reduce, check)
        if isinstance(descriptor, AggregatingStateDescriptor):
            return TtlAggregatingHandle(values, scope, policy, on_access, descriptor.get_agg_function())
        if isinstance(descriptor, ValueStateDescriptor):
            return TtlValueHandle(values, scope, policy, on_access, check)
        raise StateError(f"unknown kind of state descriptor: {type(descriptor).__name__}")

    def _start_cleanup(self, full_name: str, table: Table, policy: TtlPolicy) -> Callable[[], None] | None:
        """Tell the backend about the time-to-live; what has to be called on each access, if anything."""
        self._backend.set_ttl(full_name, policy)
        if not self._backend.cleans_up_incrementally or policy.incremental_size == 0:
            return None
        cleanup = IncrementalCleanup(table, policy)
        if policy.per_record:
            self._backend.scope.watch(cleanup)
        return cleanup
