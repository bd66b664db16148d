"""The state objects that user functions hold when the state has a time-to-live.

The same views on tables as :mod:`firesteel.state.handles`, for entries that are pairs ``(value, stamp)``. Reading
something that has expired removes it; with the visibility *ReturnExpiredIfNotCleanedUp* that one read still returns
it, as in Flink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from firesteel.errors import StateError
from firesteel.model.functions import AggregateFunction
from firesteel.model.state import AggregatingState, ListState, MapState, ReducingState, ValueState
from firesteel.state.backend import KeyScope
from firesteel.state.tables import ABSENT, ListTable, MapTable, ValueTable
from firesteel.state.ttl import Stamped, TtlPolicy, keep_live

Check = Callable[[Any], None]


class _SingleValue:
    """What value, reducing and aggregating state share: one pair per key."""

    def __init__(
        self, table: ValueTable, scope: KeyScope, policy: TtlPolicy, on_access: Callable[[], None] | None
    ) -> None:
        self.table = table
        self._scope = scope
        self._policy = policy
        self._on_access = on_access

    def _read(self) -> Any:
        """The value as a read returns it, or ABSENT; its life is prolonged, or it is removed."""
        if self._on_access is not None:
            self._on_access()
        key, policy = self._scope.key, self._policy
        found = self.table.entries.get(key)
        if found is None:
            return ABSENT
        value, stamp = found
        now = policy.clock.now
        if stamp <= now - policy.length:
            self.table.remove(key)
            return value if policy.return_expired else ABSENT
        if policy.update_on_read and stamp != now:
            self.table.put(key, (value, now))
        return value

    def _current(self) -> Any:
        """The value into which another one is folded, or ABSENT."""
        if self._on_access is not None:
            self._on_access()
        found = self.table.entries.get(self._scope.key)
        if found is None or (found[1] <= self._policy.horizon() and not self._policy.return_expired):
            return ABSENT
        return found[0]

    def _write(self, value: Any) -> None:
        self.table.put(self._scope.key, (value, self._policy.clock.now))

    def clear(self) -> None:
        """Forget the value for the key in scope."""
        self.table.remove(self._scope.key)


class TtlValueHandle(_SingleValue, ValueState[Any]):
    """Value state that expires. The default value of the descriptor is not used, as in Flink."""

    def __init__(
        self,
        table: ValueTable,
        scope: KeyScope,
        policy: TtlPolicy,
        on_access: Callable[[], None] | None,
        check: Check | None,
    ) -> None:
        super().__init__(table, scope, policy, on_access)
        self._check = check

    def value(self) -> Any:
        """The value for the key in scope, or None."""
        value = self._read()
        return None if value is ABSENT else value

    def update(self, value: Any) -> None:
        """Set the value for the key in scope. None clears it."""
        if self._on_access is not None:
            self._on_access()
        if value is None:
            self.clear()
            return
        if self._check is not None:
            self._check(value)
        self._write(value)


class TtlReducingHandle(_SingleValue, ReducingState[Any]):
    """Reducing state that expires as a whole; adding prolongs its life."""

    def __init__(
        self,
        table: ValueTable,
        scope: KeyScope,
        policy: TtlPolicy,
        on_access: Callable[[], None] | None,
        reduce: Callable[[Any, Any], Any],
        check: Check | None,
    ) -> None:
        super().__init__(table, scope, policy, on_access)
        self._reduce = reduce
        self._check = check

    def get(self) -> Any:
        """The aggregate for the key in scope, or None."""
        value = self._read()
        return None if value is ABSENT else value

    def add(self, value: Any) -> None:
        """Reduce a value into the aggregate, or begin a new one."""
        if self._check is not None:
            self._check(value)
        current = self._current()
        self._write(value if current is ABSENT else self._reduce(current, value))


class TtlAggregatingHandle(_SingleValue, AggregatingState[Any, Any]):
    """Aggregating state that expires as a whole; adding prolongs its life."""

    def __init__(
        self,
        table: ValueTable,
        scope: KeyScope,
        policy: TtlPolicy,
        on_access: Callable[[], None] | None,
        function: AggregateFunction,
    ) -> None:
        super().__init__(table, scope, policy, on_access)
        self._function = function

    def get(self) -> Any:
        """The result for the key in scope, or None if nothing was added."""
        accumulator = self._read()
        return None if accumulator is ABSENT else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Add a value to the accumulator, or to a new one."""
        accumulator = self._current()
        if accumulator is ABSENT:
            accumulator = self._function.create_accumulator()
        self._write(self._function.add(value, accumulator))


class TtlListHandle(ListState[Any]):
    """List state whose elements expire one by one."""

    def __init__(
        self,
        table: ListTable,
        scope: KeyScope,
        policy: TtlPolicy,
        on_access: Callable[[], None] | None,
        check: Check | None,
    ) -> None:
        self.table = table
        self._scope = scope
        self._policy = policy
        self._on_access = on_access
        self._check = check

    def get(self) -> list[Any]:
        """The elements for the key in scope, in order; a list of the caller's own."""
        if self._on_access is not None:
            self._on_access()
        key, policy = self._scope.key, self._policy
        items: list[Stamped] | None = self.table.entries.get(key)
        if items is None:
            return []
        shown = list(items)
        live = keep_live(self.table, key, items, policy.horizon())
        if live and policy.update_on_read:
            now = policy.clock.now
            self.table.put(key, [(value, now) for value, _ in live])
        return [value for value, _ in (shown if policy.return_expired else live)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        """Append one element."""
        self.table.append(self._scope.key, self._stamped((value,)))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append elements."""
        items = self._stamped(values)
        if items:
            self.table.append(self._scope.key, items)

    def update(self, values: Iterable[Any]) -> None:
        """Replace all elements. No elements: the same as :meth:`clear`."""
        items = self._stamped(values)
        if items:
            self.table.put(self._scope.key, items)
        else:
            self.clear()

    def clear(self) -> None:
        """Forget all elements for the key in scope."""
        self.table.remove(self._scope.key)

    def _stamped(self, values: Iterable[Any]) -> list[Stamped]:
        if self._on_access is not None:
            self._on_access()
        now = self._policy.clock.now
        items = [(value, now) for value in values]
        for value, _ in items:
            if value is None:
                raise StateError("None cannot be an element of list state")
            if self._check is not None:
                self._check(value)
        return items


class TtlMapHandle(MapState[Any, Any]):
    """Map state whose entries expire one by one.

    :param nullable: Whether None may be a value; it may if the descriptor's value type says so.
    """

    def __init__(
        self,
        table: MapTable,
        scope: KeyScope,
        policy: TtlPolicy,
        on_access: Callable[[], None] | None,
        check_key: Check | None,
        check_value: Check | None,
        nullable: bool,
    ) -> None:
        self.table = table
        self._scope = scope
        self._policy = policy
        self._on_access = on_access
        self._check_key = check_key
        self._check_value = check_value
        self._nullable = nullable

    def _read(self, key: Any) -> Any:
        if self._on_access is not None:
            self._on_access()
        entry_key, policy = self._scope.key, self._policy
        mapping = self.table.entries.get(entry_key)
        found = None if mapping is None else mapping.get(key)
        if found is None:
            return ABSENT
        value, stamp = found
        now = policy.clock.now
        if stamp <= now - policy.length:
            self.table.remove_key(entry_key, key)
            return value if policy.return_expired else ABSENT
        if policy.update_on_read and stamp != now:
            self.table.put(entry_key, key, (value, now))
        return value

    def get(self, key: Any) -> Any:
        """The value under ``key``, or None."""
        value = self._read(key)
        return None if value is ABSENT else value

    def contains(self, key: Any) -> bool:
        """Whether there is an entry under ``key``."""
        return self._read(key) is not ABSENT

    def put(self, key: Any, value: Any) -> None:
        """Set the value under ``key``. None is refused unless the value type is nullable."""
        if self._on_access is not None:
            self._on_access()
        if self._check_key is not None:
            self._check_key(key)
        if value is None and not self._nullable:
            raise StateError(
                "None cannot be a value of map state with a time-to-live. Declare the value type with "
                "Types.NULLABLE(...), or remove the entry instead"
            )
        if self._check_value is not None and value is not None:
            self._check_value(value)
        self.table.put(self._scope.key, key, (value, self._policy.clock.now))

    def put_all(self, dict_value: Any) -> None:
        """Set all entries of a dict (or pairs)."""
        for key, value in dict(dict_value).items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Forget the entry under ``key``, if there is one."""
        self.table.remove_key(self._scope.key, key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        """All entries, in order of insertion; changing the state while iterating is fine."""
        if self._on_access is not None:
            self._on_access()
        entry_key, policy, table = self._scope.key, self._policy, self.table
        mapping = table.entries.get(entry_key)
        if mapping is None:
            return []
        now, horizon = policy.clock.now, policy.horizon()
        shown: list[tuple[Any, Any]] = []
        for key, (value, stamp) in list(mapping.items()):
            if stamp <= horizon:
                table.remove_key(entry_key, key)
                if policy.return_expired:
                    shown.append((key, value))
                continue
            shown.append((key, value))
            if policy.update_on_read and stamp != now:
                table.put(entry_key, key, (value, now))
        return shown

    def keys(self) -> Iterable[Any]:
        """All keys, in order of insertion."""
        return [key for key, _ in self.items()]

    def values(self) -> Iterable[Any]:
        """All values, in order of insertion of their keys."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Whether there are no entries."""
        return not self.items()

    def clear(self) -> None:
        """Forget all entries for the key in scope."""
        self.table.remove(self._scope.key)
