"""Time-to-live of keyed state: what expires when, what is returned, what is removed, what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.time import Time
from firesteel.errors import ConfigurationError, StateError, StateMigrationError, UnsupportedError
from firesteel.model.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.state import codec
from firesteel.state.backend import HashMapBackend, KeyedStateBackend
from firesteel.state.handles import StateHandles
from firesteel.state.rocksdb import RocksDBBackend

NOW = 1_700_000_000_000


class CountingClock:
    """Processing time that is moved by hand, and counts how often it was read."""

    def __init__(self) -> None:
        self.time = NOW
        self.reads = 0

    @property
    def now(self) -> int:
        self.reads += 1
        return self.time

    @now.setter
    def now(self, value: int) -> None:
        self.time = value


class Place:
    """A backend, its clock, and handles on it."""

    def __init__(self, make: Callable[[], KeyedStateBackend]) -> None:
        self.make = make
        self.clock = CountingClock()
        self.open()

    def open(self) -> None:
        self.backend = self.make()
        self.backend.clock = self.clock
        self.handles = StateHandles(self.backend)
        self.backend.scope.key = "k"

    def get(self, descriptor: StateDescriptor, config: StateTtlConfig | StateTtlConfig.Builder | None = None) -> Any:
        if isinstance(config, StateTtlConfig.Builder):
            config = config.build()
        if config is not None:
            descriptor.enable_time_to_live(config)
        return self.handles.get(descriptor)

    def at(self, seconds: float) -> None:
        """Move the clock; what is in memory may go to disk."""
        self.clock.time = NOW + int(seconds * 1000)
        self.spill()

    def spill(self) -> None:
        if isinstance(self.backend, RocksDBBackend):
            self.backend.trim()

    def entries(self) -> int:
        return self.backend.entry_count()

    def restart(self) -> dict[str, Any]:
        """Go on from a full snapshot; returns its content."""
        content = codec.loads(codec.dumps(self.backend.full_copy()))
        self.backend.close()
        self.open()
        self.backend.apply(content, None)
        return dict(content)


@pytest.fixture(params=["hashmap", "rocksdb"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    made = Place((lambda: HashMapBackend(8)) if request.param == "hashmap" else (lambda: RocksDBBackend(8, memory=0)))
    yield made
    made.backend.close()


@pytest.fixture
def heap() -> Place:
    return Place(lambda: HashMapBackend(8))


@pytest.fixture
def disk() -> Iterator[Place]:
    made = Place(lambda: RocksDBBackend(8, memory=0))
    yield made
    made.backend.close()


def second() -> StateTtlConfig.Builder:
    return StateTtlConfig.new_builder(Time.seconds(1))


def quiet() -> StateTtlConfig.Builder:
    """A second, and nothing is cleaned up but what is read."""
    return second().disable_cleanup_in_background()


AVERAGE = (lambda: (0, 0), lambda value, acc: (acc[0] + value, acc[1] + 1), lambda acc: acc[0] / acc[1])


@pytest.mark.feature("TT-01")
def test_all_kinds_of_keyed_state_expire(place: Place) -> None:
    value = place.get(ValueStateDescriptor("value"), second())
    numbers = place.get(ListStateDescriptor("list"), second())
    named = place.get(MapStateDescriptor("map"), second())
    total = place.get(ReducingStateDescriptor("sum", lambda a, b: a + b), second())
    average = place.get(AggregatingStateDescriptor("average", AVERAGE), second())
    value.update(1)
    numbers.add_all([1, 2])
    named.put("a", 1)
    for each in (1, 2):
        total.add(each)
        average.add(each)
    place.at(0.5)
    assert (value.value(), numbers.get(), dict(named.items())) == (1, [1, 2], {"a": 1})
    assert (total.get(), average.get()) == (3, 1.5)
    place.at(2)
    assert (value.value(), numbers.get(), dict(named.items())) == (None, [], {})
    assert (total.get(), average.get()) == (None, None)
    total.add(5)
    average.add(5)
    assert (total.get(), average.get()) == (5, 5.0)


@pytest.mark.feature("TT-02")
@pytest.mark.parametrize("length", [Time.milliseconds(0), Time.milliseconds(-5)])
def test_the_length_is_mandatory_and_positive(length: Time) -> None:
    with pytest.raises(ConfigurationError, match="at least 1 ms"):
        StateTtlConfig.new_builder(length).build()
    with pytest.raises(TypeError):
        StateTtlConfig.new_builder()  # type: ignore[call-arg]


@pytest.mark.feature("TT-03")
def test_reading_does_not_prolong_a_life_by_default(place: Place) -> None:
    value = place.get(ValueStateDescriptor("value"), second())
    value.update("x")
    place.at(0.6)
    assert value.value() == "x"
    place.at(1.1)
    assert value.value() is None
    value.update("y")
    place.at(2.0)
    assert value.value() == "y"


@pytest.mark.feature("TT-04")
def test_reading_prolongs_a_life_if_asked_for(place: Place) -> None:
    config = second().update_ttl_on_read_and_write()
    value = place.get(ValueStateDescriptor("value"), config)
    numbers = place.get(ListStateDescriptor("list"), config)
    named = place.get(MapStateDescriptor("map"), config)
    value.update("x")
    numbers.add(1)
    named.put_all({"read": 1, "not read": 2})
    place.at(0.6)
    assert (value.value(), numbers.get(), named.get("read")) == ("x", [1], 1)
    place.at(1.1)
    assert (value.value(), numbers.get(), list(named.keys())) == ("x", [1], ["read"])
    place.at(2.2)
    assert (value.value(), numbers.get(), named.is_empty()) == (None, [], True)


@pytest.mark.feature("TT-05")
def test_what_has_expired_is_never_returned_by_default(place: Place) -> None:
    value = place.get(ValueStateDescriptor("value"), quiet())
    value.update("x")
    place.at(1)
    assert place.entries() == 1
    assert value.value() is None


@pytest.mark.feature("TT-06")
def test_what_has_expired_is_returned_until_it_is_removed_if_asked_for(place: Place) -> None:
    config = quiet().return_expired_if_not_cleaned_up()
    value = place.get(ValueStateDescriptor("value"), config)
    numbers = place.get(ListStateDescriptor("list"), config)
    named = place.get(MapStateDescriptor("map"), config)
    value.update("x")
    numbers.add(1)
    named.put("a", 1)
    place.at(5)
    assert (value.value(), numbers.get(), dict(named.items())) == ("x", [1], {"a": 1})
    assert place.entries() == 0
    assert (value.value(), numbers.get(), dict(named.items())) == (None, [], {})


@pytest.mark.feature("TT-07")
def test_list_elements_and_map_entries_expire_one_by_one(place: Place) -> None:
    numbers = place.get(ListStateDescriptor("list"), second())
    named = place.get(MapStateDescriptor("map"), second())
    numbers.add(1)
    named.put("a", 1)
    place.at(0.8)
    numbers.add(2)
    named.put("b", 2)
    place.at(1.2)
    assert numbers.get() == [2]
    assert dict(named.items()) == {"b": 2}
    assert not named.contains("a")


@pytest.mark.feature("TT-08")
def test_state_expires_by_processing_time_only() -> None:
    assert [each.name for each in StateTtlConfig.TtlTimeCharacteristic] == ["ProcessingTime"]
    with pytest.raises(UnsupportedError, match="processing time only"):
        second().set_ttl_time_characteristic("EventTime")  # type: ignore[arg-type]


@pytest.mark.feature("TT-08")
@pytest.mark.parametrize("make", [ValueStateDescriptor, ListStateDescriptor, MapStateDescriptor])
def test_each_entry_is_stored_with_a_stamp_of_8_bytes(place: Place, make: Callable[[str], StateDescriptor]) -> None:
    def stored_bytes(count: int, expires: bool) -> int:
        place.backend.close()
        place.open()
        state = place.get(make("state"), second() if expires else None)
        for key in range(count):
            place.backend.scope.key = key
            if hasattr(state, "update") and not hasattr(state, "add"):
                state.update(key)
            elif hasattr(state, "add"):
                state.add(key)
            else:
                state.put(key, key)
        place.spill()
        return len(codec.dumps(place.backend.full_copy()))

    growth = stored_bytes(250, True) - stored_bytes(250, False) - (stored_bytes(50, True) - stored_bytes(50, False))
    assert growth == 8 * 200


@pytest.mark.feature("TT-09")
@pytest.mark.parametrize("make", [ValueStateDescriptor, ListStateDescriptor, MapStateDescriptor])
@pytest.mark.parametrize("before", [True, False])
def test_a_time_to_live_cannot_be_switched_on_or_off_for_state_that_exists(
    place: Place, make: Callable[[str], StateDescriptor], before: bool
) -> None:
    place.get(make("visits"), second() if before else None)
    place.restart()
    with pytest.raises(StateMigrationError, match="'visits' was stored with"):
        place.get(make("visits"), None if before else second())


@pytest.mark.feature("TT-10")
def test_the_length_is_not_stored(place: Place) -> None:
    place.get(ValueStateDescriptor("value"), second()).update("x")
    place.restart()
    longer = place.get(ValueStateDescriptor("value"), StateTtlConfig.new_builder(Time.seconds(10)))
    place.at(5)
    assert longer.value() == "x"
    place.at(10)
    assert longer.value() is None


@pytest.mark.feature("TT-11")
def test_none_in_a_map_needs_a_nullable_type(place: Place) -> None:
    refusing = place.get(MapStateDescriptor("map", Types.STRING(), Types.LONG()), second())
    with pytest.raises(StateError, match="NULLABLE"):
        refusing.put("a", None)
    taking = place.get(MapStateDescriptor("nullable", Types.STRING(), Types.NULLABLE(Types.LONG())), second())
    taking.put("a", None)
    place.spill()
    assert taking.contains("a")
    assert taking.get("a") is None
    place.at(1)
    assert not taking.contains("a")


@pytest.mark.feature("TT-12")
@pytest.mark.filterwarnings("ignore:.*default_value is deprecated")
def test_the_default_value_is_not_used(place: Place) -> None:
    assert place.get(ValueStateDescriptor("plain", Types.LONG(), 7)).value() == 7
    assert place.get(ValueStateDescriptor("expiring", Types.LONG(), 7), second()).value() is None


@pytest.mark.feature("TT-13")
def test_reading_removes_what_has_expired_and_nothing_else(place: Place) -> None:
    value = place.get(ValueStateDescriptor("value"), quiet())
    for key in range(10):
        place.backend.scope.key = key
        value.update(key)
    place.at(2)
    place.backend.scope.key = 3
    assert value.value() is None
    assert place.entries() == 9
    place.backend.end_epoch()
    assert place.entries() == 9


@pytest.mark.feature("TT-13")
def test_background_clean_up_is_on_by_default(heap: Place) -> None:
    value = heap.get(ValueStateDescriptor("value"), second())
    for key in range(20):
        heap.backend.scope.key = key
        value.update(key)
    heap.at(2)
    for _ in range(10):  # reads of one key clean up others too
        value.value()
    assert heap.entries() == 0


@pytest.mark.feature("TT-14")
@pytest.mark.parametrize("make", [ValueStateDescriptor, ListStateDescriptor, MapStateDescriptor])
def test_full_snapshots_leave_out_what_has_expired(place: Place, make: Callable[[str], StateDescriptor]) -> None:
    state = place.get(make("state"), quiet().cleanup_full_snapshot())
    write = getattr(state, "put", None) or (lambda key, value: getattr(state, "add", state.update)(value))
    for key in range(10):
        place.backend.scope.key = key
        write("a", key)
    place.at(0.8)
    place.backend.scope.key = 99
    write("a", 99)
    place.at(1.2)
    assert place.entries() == 11
    content = place.restart()
    assert len(content["state"][2]["puts"]) == 1
    assert place.entries() == 1


@pytest.mark.feature("TT-14")
def test_incremental_checkpoints_of_the_disk_backend_are_not_filtered() -> None:
    place = Place(lambda: RocksDBBackend(8, memory=0, incremental=True))
    place.get(ValueStateDescriptor("value"), quiet().cleanup_full_snapshot()).update(1)
    place.at(5)
    assert len(place.restart()["value"][2]["puts"]) == 1
    place.backend.close()


@pytest.mark.feature("TT-15")
def test_incremental_clean_up_per_record(heap: Place) -> None:
    value = heap.get(ValueStateDescriptor("value"), second().cleanup_incrementally(10, True))
    for key in range(100):
        heap.backend.scope.key = key
        value.update(key)
    heap.at(2)
    assert heap.entries() == 100
    for record in range(11):  # the first one may only end the round before
        heap.backend.scope.key = 1000 + record
    assert heap.entries() == 0


@pytest.mark.feature("TT-15")
def test_incremental_clean_up_per_access(place: Place) -> None:
    value = place.get(ValueStateDescriptor("value"), second().cleanup_incrementally(10, False))
    for key in range(100):
        place.backend.scope.key = key
        value.update(key)
    place.at(2)
    for record in range(20):
        place.backend.scope.key = 1000 + record
    assert place.entries() == 100
    for _ in range(12):
        value.value()
    assert place.entries() == (0 if isinstance(place.backend, HashMapBackend) else 100)


@pytest.mark.feature("TT-16")
@pytest.mark.parametrize("memory", [0, 1 << 30], ids=["on disk", "in memory"])
def test_compaction_drops_values_elements_and_entries(memory: int) -> None:
    place = Place(lambda: RocksDBBackend(8, memory=memory))
    config = quiet().cleanup_in_rocksdb_compact_filter(1000)
    value = place.get(ValueStateDescriptor("value"), config)
    numbers = place.get(ListStateDescriptor("list"), config)
    named = place.get(MapStateDescriptor("map"), config)
    for key in range(5):
        place.backend.scope.key = key
        value.update(key)
        numbers.add_all([1, 2])
        named.put_all({"a": 1, "b": 2})
    place.at(0.8)
    place.backend.scope.key = 0
    numbers.add(3)
    named.put("c", 3)
    place.at(1.2)
    assert place.entries() == 15
    assert isinstance(place.backend, RocksDBBackend)
    place.backend.compact()
    assert place.entries() == 2
    kept = place.restart()
    assert kept["value"][2]["puts"] == []
    assert kept["list"][2]["puts"] == [(0, [3])]
    assert kept["map"][2]["puts"] == [(0, "c", 3)]
    place.backend.close()


@pytest.mark.feature("TT-16")
def test_compaction_reads_the_clock_once_in_so_many_entries(disk: Place) -> None:
    value = disk.get(ValueStateDescriptor("value"), quiet().cleanup_in_rocksdb_compact_filter(10))
    for key in range(100):
        disk.backend.scope.key = key
        value.update(key)
    disk.spill()
    assert isinstance(disk.backend, RocksDBBackend)
    disk.clock.reads = 0
    disk.backend.compact()
    assert 10 <= disk.clock.reads <= 13


@pytest.mark.feature("TT-16")
def test_compaction_runs_by_itself_when_much_has_changed(disk: Place) -> None:
    value = disk.get(ValueStateDescriptor("value"), second())
    for key in range(12_000):
        disk.backend.scope.key = key
        value.update(key)
    disk.at(2)
    disk.backend.end_epoch()
    assert disk.entries() == 0


@pytest.mark.feature("TT-16")
def test_compaction_runs_by_itself_after_some_time(disk: Place) -> None:
    config = quiet().cleanup_in_rocksdb_compact_filter(1000, Time.seconds(30))
    disk.get(ValueStateDescriptor("value"), config).update(1)
    disk.backend.end_epoch()
    disk.at(20)
    disk.backend.end_epoch()
    assert disk.entries() == 1
    disk.at(30)
    disk.backend.end_epoch()
    assert disk.entries() == 0


@pytest.mark.feature("TT-17")
def test_the_clean_up_may_be_changed_with_a_restart(heap: Place) -> None:
    value = heap.get(ValueStateDescriptor("value"), quiet())
    for key in range(20):
        heap.backend.scope.key = key
        value.update(key)
    heap.restart()
    value = heap.get(ValueStateDescriptor("value"), quiet().cleanup_incrementally(10, False))
    heap.at(2)
    for _ in range(5):
        value.value()
    assert heap.entries() == 0


def test_one_name_has_one_time_to_live(place: Place) -> None:
    place.get(ValueStateDescriptor("value"), second())
    with pytest.raises(StateError, match="different times to live"):
        place.get(ValueStateDescriptor("value"), StateTtlConfig.new_builder(Time.seconds(2)))
