"""Random operations on every backend agree with a model of plain dicts, whatever is stored and restored in between.

They agree on order too: that of map state, of timers of one time and of the keys of a window is the order of the dicts.
Keys that have a state come in this order too where they are in memory, and in that of their bytes with RocksDB.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.model.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.state.backend import KeyedStateBackend, KeyScope
from firesteel.state.handles import StateHandles
from firesteel.state.key_groups import group_range, key_group
from firesteel.state.rocksdb.keys import KeyCodec
from firesteel.state.window_table import WindowTable, window_table
from tests.contract.state.backends import GROUPS, KINDS, Kind, stored_form

KEYS = (1, "a", ("a", "a"), None, 2.5, b"a")
NAMESPACES = ((0, 10), (10, 20))
keys = st.sampled_from(KEYS)
small = st.integers(0, 3)

operation = st.one_of(
    st.tuples(st.just("value.update"), keys, st.integers(0, 99)),
    st.tuples(st.just("value.clear"), keys),
    st.tuples(st.just("windowed.update"), keys, st.sampled_from(NAMESPACES), st.integers(0, 99)),
    st.tuples(st.just("windowed.clear"), keys, st.sampled_from(NAMESPACES)),
    st.tuples(st.just("sum.add"), keys, small),
    st.tuples(st.just("count.add"), keys, small),
    st.tuples(st.just("list.add"), keys, small),
    st.tuples(st.just("list.add_all"), keys, st.lists(small, max_size=3)),
    st.tuples(st.just("list.update"), keys, st.lists(small, max_size=3)),
    st.tuples(st.just("list.clear"), keys),
    st.tuples(st.just("map.put"), keys, small, st.integers(0, 99)),
    st.tuples(st.just("map.remove"), keys, small),
    st.tuples(st.just("map.clear"), keys),
    st.tuples(st.just("shared.put"), keys, st.sampled_from(NAMESPACES), small),
    st.tuples(st.just("shared.pop"), st.sampled_from(NAMESPACES)),
    st.tuples(st.just("timer.add"), keys, small),
    st.tuples(st.just("timer.remove"), keys, small),
    st.tuples(st.just("timer.fire"), small),
    st.tuples(st.just("look"), keys),
    st.tuples(st.just("pause")),
    st.tuples(st.just("changes")),
    st.tuples(st.just("base")),
    st.tuples(st.just("restart")),
    st.tuples(st.just("rescale")),
)


@dataclass
class Model:
    """What the state should be."""

    value: dict[Any, int] = field(default_factory=dict)
    windowed: dict[Any, int] = field(default_factory=dict)
    total: dict[Any, int] = field(default_factory=dict)
    count: dict[Any, int] = field(default_factory=dict)
    lists: dict[Any, list[int]] = field(default_factory=dict)
    maps: dict[Any, dict[int, int]] = field(default_factory=dict)
    shared: dict[Any, dict[Any, int]] = field(default_factory=dict)
    timers: dict[tuple[Any, int], None] = field(default_factory=dict)

    def move_to_subtasks(self) -> None:
        """What one subtask has taken over from two has the order of the subtasks, and of each its own."""
        for table in (self.value, self.total, self.count, self.lists, self.maps, *self.shared.values()):
            _sort(table, lambda key: key)
        _sort(self.windowed, lambda entry_key: entry_key[0])
        _sort(self.timers, lambda timer: timer[0])


def _sort(table: dict[Any, Any], key_of: Callable[[Any], Any]) -> None:
    entries = sorted(table.items(), key=lambda entry: key_group(key_of(entry[0]), GROUPS) >= GROUPS // 2)
    table.clear()
    table.update(entries)


class Subject:
    """A backend with handles on it."""

    def __init__(self, backend: KeyedStateBackend, shared: WindowTable) -> None:
        self.backend = backend
        self.shared = shared
        self.place = KeyScope()
        handles = StateHandles(backend)
        self.value = handles.get(ValueStateDescriptor("value"))
        self.total = handles.get(ReducingStateDescriptor("sum", lambda a, b: a + b))
        self.count = handles.get(
            AggregatingStateDescriptor("count", (lambda: 0, lambda _, acc: acc + 1, lambda acc: acc))
        )
        self.list = handles.get(ListStateDescriptor("list"))
        self.map = handles.get(MapStateDescriptor("map"))
        windowed = StateHandles(backend, self.place, "_w/", namespaced=True)
        self.windowed = windowed.get(ValueStateDescriptor("value"))
        self.timers = backend.timers("timers")


def new_subject(kind: Kind, contents: list[Any], groups: range | None = None) -> Subject:
    backend = kind.new()
    shared = window_table(backend, "shared")
    for content in contents:
        backend.apply(stored_form(content), groups)
    return Subject(backend, shared)


class Run:
    """Does every operation to the backend and to the model, and compares what they say."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.model = Model()
        self.subject = new_subject(kind, [])
        self.stored: list[Any] = []

    def do(self, name: str, *arguments: Any) -> None:
        if "." in name and name not in ("shared.pop", "timer.fire"):
            self.subject.backend.scope.key = arguments[0]
        getattr(self, name.replace(".", "_"))(*arguments)

    def value_update(self, key: Any, value: int) -> None:
        self.subject.value.update(value)
        self.model.value[key] = value

    def value_clear(self, key: Any) -> None:
        self.subject.value.clear()
        self.model.value.pop(key, None)

    def windowed_update(self, key: Any, namespace: Any, value: int) -> None:
        self.subject.place.key = (key, namespace)
        self.subject.windowed.update(value)
        self.model.windowed[(key, namespace)] = value

    def windowed_clear(self, key: Any, namespace: Any) -> None:
        self.subject.place.key = (key, namespace)
        self.subject.windowed.clear()
        self.model.windowed.pop((key, namespace), None)

    def sum_add(self, key: Any, value: int) -> None:
        self.subject.total.add(value)
        self.model.total[key] = self.model.total.get(key, 0) + value

    def count_add(self, key: Any, value: int) -> None:
        self.subject.count.add(value)
        self.model.count[key] = self.model.count.get(key, 0) + 1

    def list_add(self, key: Any, value: int) -> None:
        self.subject.list.add(value)
        self.model.lists.setdefault(key, []).append(value)

    def list_add_all(self, key: Any, values: list[int]) -> None:
        self.subject.list.add_all(values)
        if values:
            self.model.lists.setdefault(key, []).extend(values)

    def list_update(self, key: Any, values: list[int]) -> None:
        self.subject.list.update(values)
        self.model.lists[key] = list(values)
        if not values:
            del self.model.lists[key]

    def list_clear(self, key: Any) -> None:
        self.subject.list.clear()
        self.model.lists.pop(key, None)

    def map_put(self, key: Any, name: int, value: int) -> None:
        self.subject.map.put(name, value)
        self.model.maps.setdefault(key, {})[name] = value

    def map_remove(self, key: Any, name: int) -> None:
        self.subject.map.remove(name)
        mapping = self.model.maps.get(key, {})
        mapping.pop(name, None)
        if not mapping:
            self.model.maps.pop(key, None)

    def map_clear(self, key: Any) -> None:
        self.subject.map.clear()
        self.model.maps.pop(key, None)

    def shared_put(self, key: Any, namespace: Any, value: int) -> None:
        values, changed = self.subject.shared.of_window(namespace)
        expected = self.model.shared.setdefault(namespace, {})
        assert (key in values) == (key in expected)
        values[key] = values[key] + value if key in values else value
        changed[key] = None
        expected[key] = expected.get(key, 0) + value

    def shared_pop(self, namespace: Any) -> None:
        assert list(self.subject.shared.pop_window(namespace).items()) == list(
            self.model.shared.pop(namespace, {}).items()
        )

    def timer_add(self, key: Any, time: int) -> None:
        self.subject.timers.add(key, None, time)
        self.model.timers.setdefault((key, time), None)

    def timer_remove(self, key: Any, time: int) -> None:
        self.subject.timers.remove(key, None, time)
        self.model.timers.pop((key, time), None)

    def timer_fire(self, until: int) -> None:
        fired = []
        timer = self.subject.timers.pop_due(until)
        while timer is not None:
            fired.append((timer[0], timer[2]))
            timer = self.subject.timers.pop_due(until)
        due = sorted((timer for timer in self.model.timers if timer[1] <= until), key=lambda timer: timer[1])
        assert fired == due
        for timer_of_model in due:
            del self.model.timers[timer_of_model]

    def look(self, key: Any) -> None:
        model, subject = self.model, self.subject
        subject.backend.scope.key = key
        assert subject.value.value() == model.value.get(key)
        assert subject.total.get() == model.total.get(key)
        assert subject.count.get() == model.count.get(key)
        assert subject.list.get() == model.lists.get(key, [])
        mapping = model.maps.get(key, {})
        for name in range(4):
            assert subject.map.contains(name) == (name in mapping)
            assert subject.map.get(name) == mapping.get(name)
        assert list(subject.map.items()) == list(mapping.items())
        assert list(subject.map.keys()) == list(mapping)
        assert subject.map.is_empty() == (not mapping)
        for namespace in NAMESPACES:
            subject.place.key = (key, namespace)
            assert subject.windowed.value() == model.windowed.get((key, namespace))

    def pause(self) -> None:
        self.kind.pause(self.subject.backend)

    def changes(self) -> None:
        self.stored.append(stored_form(self.subject.backend.take_deltas()))

    def base(self) -> None:
        self.subject.backend.forget_deltas()
        self.stored = [stored_form(part) for part in self.subject.backend.full_parts()]

    def restart(self) -> None:
        self.changes()
        self.replace(new_subject(self.kind, self.stored))

    def rescale(self) -> None:
        """Two subtasks take over, each for its groups; then one again."""
        self.changes()
        parts = [new_subject(self.kind, self.stored, group_range(index, 2, GROUPS)) for index in range(2)]
        copies = [stored_form(part.backend.full_copy()) for part in parts]
        for part in parts:
            part.backend.close()
        assert sum(part.backend.entry_count() for part in parts) == self.entries()
        self.stored = copies
        self.replace(new_subject(self.kind, copies, range(GROUPS)))
        self.model.move_to_subtasks()

    def check_keys(self) -> None:
        """The keys that have a state come in a defined order."""
        for name, expected in (("value", self.model.value), ("list", self.model.lists), ("map", self.model.maps)):
            found = list(getattr(self.subject, name).table.entries)
            in_memory = not self.kind.name.startswith("rocksdb")
            assert found == (list(expected) if in_memory else sorted(expected, key=KeyCodec().encode))

    def replace(self, subject: Subject) -> None:
        self.subject.backend.close()
        self.subject = subject

    def entries(self) -> int:
        model = self.model
        tables = (model.value, model.windowed, model.total, model.count, model.lists, model.maps)
        return sum(map(len, tables)) + sum(map(len, model.shared.values()))

    def check_everything(self, keys_in_order: bool = True) -> None:
        for key in KEYS:
            self.look(key)
        if keys_in_order:
            self.check_keys()
        assert self.subject.backend.entry_count() == self.entries()
        assert len(self.subject.timers) == len(self.model.timers)
        for namespace in list(self.model.shared):
            self.shared_pop(namespace)
        self.timer_fire(10)


@given(operations=st.lists(operation, max_size=60))
def test_any_operations_agree_with_the_model(kind: Kind, operations: list[tuple[Any, ...]]) -> None:
    run = Run(kind)
    try:
        for each in operations:
            run.do(*each)
        run.check_everything()
        run.restart()
        run.check_everything()
    finally:
        run.subject.backend.close()


@pytest.mark.parametrize("other", KINDS, ids=lambda kind: kind.name)
def test_what_one_backend_stored_another_restores(kind: Kind, other: Kind) -> None:
    run = Run(kind)
    for number, key in enumerate(KEYS):
        run.do("value.update", key, number)
        run.do("list.add_all", key, [1, 2])
        run.do("map.put", key, 1, number)
        run.do("timer.add", key, number)
        run.do("shared.put", key, NAMESPACES[0], number)
    run.pause()
    run.base()
    run.do("list.add", 1, 3)
    run.do("map.remove", 1, 1)
    run.do("value.clear", "a")
    run.pause()
    run.changes()
    after = Run(other)
    after.model = copy.deepcopy(run.model)
    after.replace(new_subject(other, run.stored))
    after.check_everything(keys_in_order=not kind.name.startswith("rocksdb"))
    run.subject.backend.close()
    after.subject.backend.close()


def test_large_state_is_copied_and_restored_in_parts(kind: Kind, new_backend: Callable[[], Any]) -> None:
    backend = new_backend()
    subject = Subject(backend, window_table(backend, "shared"))
    values, changed = subject.shared.of_window((0, 10))
    for key in range(6000):
        backend.scope.key = key
        subject.value.update(key)
        subject.list.add_all([key, key + 1])
        subject.map.put("a", key)
        subject.timers.add(key, None, key % 10)
        values[key] = changed[key] = None
    kind.pause(backend)
    parts = [stored_form(part) for part in backend.full_parts()]
    assert (len(parts) == 1) == (kind.name in ("hashmap", "plug-in"))
    restored = new_subject(kind, parts)
    assert restored.backend.entry_count() == 4 * 6000
    assert restored.shared.pop_window((0, 10)) == dict.fromkeys(range(6000))
    for key in (0, 3000, 5999):
        restored.backend.scope.key = key
        assert (restored.value.value(), restored.list.get(), restored.map.get("a")) == (key, [key, key + 1], key)
    fired = [restored.timers.pop_due(0) for _ in range(600)]
    assert [timer[0] for timer in fired if timer is not None] == list(range(0, 6000, 10))
    restored.backend.close()


def test_a_change_is_small_however_large_the_state_is(kind: Kind, new_backend: Callable[[], Any]) -> None:
    backend = new_backend()
    handles = StateHandles(backend)
    lists, maps = handles.get(ListStateDescriptor("list")), handles.get(MapStateDescriptor("map"))
    backend.scope.key = "k"
    lists.add_all(range(1000))
    maps.put_all({number: number for number in range(1000)})
    kind.pause(backend)
    backend.forget_deltas()
    lists.add(1000)
    maps.put(7, 8)
    kind.pause(backend)
    changes = backend.take_deltas()
    assert changes["list"][2] == {"puts": [], "appended": [("k", [1000])], "removed": []}
    assert changes["map"][2] == {"puts": [("k", 7, 8)], "removed_keys": [], "removed": []}
    assert backend.take_deltas() == {}
