from __future__ import annotations

import operator
import pickle

import pytest

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.errors import ConfigurationError, StateError
from firesteel.model.functions import AggregateFunction, ReduceFunction
from firesteel.model.output_tag import OutputTag
from firesteel.model.state import (
    AggregatingStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class Sum(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 + value2


class Mean(AggregateFunction):
    def create_accumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def descriptors():
    return [
        ValueStateDescriptor("value", Types.LONG()),
        ListStateDescriptor("list", Types.LONG()),
        MapStateDescriptor("map", Types.STRING(), Types.LONG()),
        ReducingStateDescriptor("reducing", Sum(), Types.LONG()),
        AggregatingStateDescriptor("aggregating", Mean(), Types.TUPLE([Types.LONG(), Types.LONG()])),
    ]


@pytest.mark.parametrize("index", range(5))
def test_descriptors_compare_by_content(index):
    descriptor, same = descriptors()[index], descriptors()[index]
    assert descriptor == same
    assert hash(descriptor) == hash(same)
    assert pickle.loads(pickle.dumps(descriptor)) == descriptor
    assert all(descriptor != other for number, other in enumerate(descriptors()) if number != index)
    same.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    assert descriptor != same


def test_descriptors_with_another_type_or_function_differ():
    assert ValueStateDescriptor("a", Types.LONG()) != ValueStateDescriptor("a", Types.STRING())
    assert ReducingStateDescriptor("a", min) != ReducingStateDescriptor("a", max)
    assert ReducingStateDescriptor("a", min) == ReducingStateDescriptor("a", min)


def test_descriptors_know_the_type_of_the_whole_state():
    value, items, entries, reducing, aggregating = descriptors()
    assert value.type_info == reducing.type_info == items.elem_type_info == Types.LONG()
    assert items.type_info == Types.LIST(Types.LONG())
    assert entries.type_info == Types.MAP(Types.STRING(), Types.LONG())
    assert aggregating.type_info == Types.TUPLE([Types.LONG(), Types.LONG()])
    assert value.get_name() == value.name == "value"


def test_types_may_be_left_out():
    assert ValueStateDescriptor("a").type_info is None
    anything = Types.PICKLED_BYTE_ARRAY()
    assert ListStateDescriptor("a").type_info == Types.LIST(anything)
    assert MapStateDescriptor("a").type_info == Types.MAP(anything, anything)
    assert MapStateDescriptor("a").key_type_info is None
    half = MapStateDescriptor("a", Types.STRING())
    assert half.type_info == Types.MAP(Types.STRING(), Types.PICKLED_BYTE_ARRAY())


def test_ttl_is_off_until_it_is_enabled():
    config = StateTtlConfig.new_builder(Time.seconds(1)).build()
    for descriptor in descriptors():
        assert not descriptor.get_ttl_config().is_enabled()
        descriptor.enable_time_to_live(config)
        assert descriptor.get_ttl_config() == config


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ValueStateDescriptor("", Types.LONG()), "ValueStateDescriptor: name"),
        (lambda: ListStateDescriptor(None, Types.LONG()), "ListStateDescriptor: name"),
        (lambda: ValueStateDescriptor("a", int), "TypeInformation"),
        (lambda: ListStateDescriptor("a", int), "elem_type_info"),
        (lambda: MapStateDescriptor("a", Types.LONG(), "int"), "value_type_info"),
        (lambda: ReducingStateDescriptor("a", 5), "ReducingStateDescriptor\\('a'\\): func"),
        (lambda: ReducingStateDescriptor("a", lambda x: x), "2 arguments"),
        (lambda: AggregatingStateDescriptor("a", max), "AggregateFunction"),
        (lambda: ValueStateDescriptor("a").enable_time_to_live(Time.seconds(1)), "StateTtlConfig"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_reducing_and_aggregating_states_take_plain_callables():
    assert ReducingStateDescriptor("a", operator.add).get_reduce_function().reduce(2, 3) == 5
    count = AggregatingStateDescriptor("a", (int, lambda value, acc: acc + 1, str)).get_agg_function()
    assert count.get_result(count.add("x", count.create_accumulator())) == "1"


def test_default_value_is_deprecated_and_given_as_a_fresh_copy():
    with pytest.warns(DeprecationWarning, match="'seen'.*check for None"):
        descriptor = ValueStateDescriptor("seen", None, [])
    descriptor.get_default_value().append(1)
    assert descriptor.get_default_value() == []
    assert ValueStateDescriptor("seen").get_default_value() is None


class DictMap(MapState):
    """The smallest map state: only what is abstract."""

    def __init__(self):
        self.entries = {}

    def get(self, key):
        return self.entries.get(key)

    def put(self, key, value):
        self.entries[key] = value

    def put_all(self, dict_value):
        self.entries.update(dict_value)

    def remove(self, key):
        self.entries.pop(key, None)

    def contains(self, key):
        return key in self.entries

    def items(self):
        return self.entries.items()

    def keys(self):
        return self.entries.keys()

    def values(self):
        return self.entries.values()

    def is_empty(self):
        return not self.entries

    def clear(self):
        self.entries.clear()


class DictBroadcast(DictMap, BroadcastState):
    """The same as broadcast state."""


@pytest.mark.parametrize("kind", [DictMap, DictBroadcast])
def test_map_states_can_be_used_like_dicts(kind):
    state = kind()
    state["a"] = 1
    state["b"] = 2
    del state["a"]
    assert "b" in state
    assert "a" not in state
    assert state["b"] == 2
    assert list(state) == ["b"]


def test_read_only_broadcast_state_cannot_be_cleared():
    with pytest.raises(StateError, match="read-only"):
        ReadOnlyBroadcastState.clear(DictBroadcast())


def test_list_state_can_be_iterated():
    class Fixed(ListState):
        def get(self):
            return [1, 2]

        def add(self, value): ...

        def add_all(self, values): ...

        def update(self, values): ...

        def clear(self): ...

    assert [*Fixed()] == [1, 2]


@pytest.mark.feature("SO-01")
@pytest.mark.parametrize("name", ["", None, 5])
def test_output_tags_need_a_name(name):
    with pytest.raises(ConfigurationError, match="non-empty string"):
        OutputTag(name)


@pytest.mark.feature("SO-01")
def test_output_tag_has_a_name_and_a_type_of_its_own():
    tag = OutputTag("late", Types.STRING())
    assert (tag.tag_id, tag.name, tag.type_info) == ("late", "late", Types.STRING())
    assert OutputTag("late").type_info is None
    with pytest.raises(ConfigurationError, match="type_info"):
        OutputTag("late", str)


def test_output_tags_are_equal_by_name_and_pickle():
    tag = OutputTag("late", Types.STRING())
    assert pickle.loads(pickle.dumps(tag)) == tag == OutputTag("late")
    assert len({tag, OutputTag("late"), OutputTag("other")}) == 2
    assert tag != "late"
