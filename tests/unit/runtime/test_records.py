"""Copies of records: what can change is copied, what cannot is handed on, and both as pickling would have it."""

from __future__ import annotations

import array
import copyreg
import datetime
import decimal
import enum
import pickle
import threading
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Row, RowKind, Types
from firesteel.common.tuples import Tuple2
from firesteel.errors import SerializationError
from firesteel.model.functions import KeyedProcessFunction
from firesteel.model.state import ValueStateDescriptor
from firesteel.runtime.keeping import emission_of, keeps_nothing
from firesteel.runtime.process import KeyedProcessOperator
from firesteel.runtime.records import all_copied, copied, unchangeable
from firesteel.testing import KeyedOneInputOperatorHarness


class Colour(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: Any = 0


@dataclass
class Basket:
    owner: str
    items: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    value: Any

    @cached_property
    def cached(self) -> list[Any]:
        return [self.value]


@dataclass(slots=True)
class Slotted:
    items: list[Any]


class Text(str):
    pass


class BareText(str):
    __slots__ = ()


class Special:
    """Pickled by a method of its own."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __reduce__(self) -> Any:
        return Special, (list(self.items),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Special) and other.items == self.items


FIXED = [
    1, 1.5, "a", b"a", True, None, 2j, decimal.Decimal("1.5"), datetime.datetime(2026, 1, 1), datetime.date(2026, 1, 1),
    uuid.UUID(int=1), range(3), Colour.RED, (), (1, "a"), (1, (2, ("b", None))), frozenset({1}), Point(1),
    Frozen(1), Frozen((1, 2)), len, int, Colour, np.int64(3), np.float32(1.5), BareText("x"),
]  # fmt: skip

CHANGEABLE = [
    [1], [[1]], {"a": 1}, {"a": [1]}, {1}, bytearray(b"a"), array.array("i", [1]), ([1],), (1, (2, [3])), Point(1, [2]),
    Tuple2([1], 2), Basket("a", ["b"]), Frozen([1]), Slotted([1]), Row(1, 2), Row(a=[1]), Counter("ab"), deque([1], 5),
    defaultdict(list, {"a": [1]}), OrderedDict(a=[1]), Special([1]), frozenset({Frozen((1,))}), np.array([1]),
    Text("x"), {(1, 2): [3]}, [Colour.RED, {"x": {"y": [Basket("z")]}}],
]  # fmt: skip


@pytest.mark.parametrize("value", FIXED, ids=repr)
def test_what_cannot_change_is_handed_on(value: Any) -> None:
    assert copied(value) is value


@pytest.mark.parametrize("value", CHANGEABLE, ids=lambda value: repr(value).partition(" at 0x")[0])
def test_what_can_change_is_copied(value: Any) -> None:
    copy = copied(value)
    assert type(copy) is type(value)
    assert np.array_equal(copy, value) if isinstance(value, np.ndarray) else copy == value
    assert pickle.dumps(copy) == pickle.dumps(pickle.loads(pickle.dumps(value)))


def _parts(value: Any) -> list[Any]:
    """All objects inside a value that can change."""
    found = [value] if isinstance(value, (list, dict, set)) else []
    if isinstance(value, dict):
        return found + [part for each in value.values() for part in _parts(each)]
    return found + [part for each in value for part in _parts(each)] if isinstance(value, (list, tuple)) else found


nested = st.recursive(
    st.one_of(st.integers(), st.text(), st.none(), st.sets(st.integers())),
    lambda inner: st.one_of(
        st.lists(inner), st.dictionaries(st.text(), inner), st.tuples(inner, inner), st.tuples(inner)
    ),
    max_leaves=12,
)


@given(nested)
def test_a_copy_shares_nothing_that_can_change(value: Any) -> None:
    copy = copied(value)
    assert copy == value
    assert not {id(part) for part in _parts(value)} & {id(part) for part in _parts(copy)}


@given(st.lists(nested))
def test_a_list_of_records_is_copied_only_if_one_of_them_can_change(values: list[Any]) -> None:
    copies = all_copied(values)
    assert copies == values
    if unchangeable(values):
        assert copies is values
    assert not {id(part) for each in values for part in _parts(each)} & {id(p) for each in copies for p in _parts(each)}


def test_what_is_shared_or_circular_inside_a_record_stays_so() -> None:
    part = [1]
    one, other = copied((part, part))
    assert one is other and one is not part
    circle: list[Any] = []
    circle.append((circle,))
    copy = copied(circle)
    assert copy is not circle and copy[0][0] is copy
    frozen = Frozen([])
    frozen.value.append(frozen)
    assert copied(frozen).value[0].value[0] is not frozen
    basket = Basket("me")
    basket.items.append(basket)
    assert copied(basket).items[0].items[0].owner == "me"


def test_rows_keep_names_and_kind() -> None:
    row = Row(a=1, b=[2])
    row.set_row_kind(RowKind.DELETE)
    copy = copied(row)
    row["a"], row["b"][0] = 5, 6
    assert copy.as_dict() == {"a": 1, "b": [2]} and copy.get_row_kind() is RowKind.DELETE


def test_deques_and_defaultdicts_keep_their_settings() -> None:
    assert copied(deque([1], 5)).maxlen == 5
    assert copied(defaultdict(list, {"a": [1]})).default_factory is list


def test_a_frozen_object_with_something_cached_in_it_is_copied() -> None:
    frozen = Frozen(1)
    assert frozen.cached == [1]
    copy = copied(frozen)
    copy.cached.append(2)
    assert frozen.cached == [1]


def test_registered_serializers_count(monkeypatch: pytest.MonkeyPatch) -> None:
    class Registered:
        def __init__(self, text: str) -> None:
            self.text = text

    monkeypatch.setitem(copyreg.dispatch_table, Registered, lambda value: (Registered, (value.text + "!",)))
    assert copied([Registered("a")])[0].text == "a!"


def test_what_cannot_be_copied_is_refused_with_a_way_out() -> None:
    with pytest.raises(SerializationError, match=r"type lock cannot be copied.*enable_object_reuse"):
        copied({"lock": threading.Lock()})


# ---- functions that can keep nothing --------------------------------------------------------------------------

_limit = 3
_log: list[Any] = []


def _pure(value: Any) -> Any:
    return value + _limit


def _logging(value: Any) -> Any:
    _log.append(value)
    return _log


def _with_default(value: Any, kept: list[Any] = []) -> Any:  # noqa: B006
    return kept


def _setting_global(value: Any) -> Any:
    global _limit
    _limit = value
    return value


def _closing_over(thing: Any) -> Callable[[Any], Any]:
    return lambda value: (value, thing)


def _counting() -> Callable[[Any], Any]:
    last = None

    def count(value: Any) -> Any:
        nonlocal last
        before, last = last, value
        return before

    return count


@pytest.mark.parametrize(
    "call",
    [
        lambda value: value * 2, lambda value: (value[0], value[1] + 1), lambda value: _pure(value), len, str,
        lambda value: {"a": len(value), **value}, lambda value: [each for each in value if each > _limit],
        lambda value: sorted(value, key=lambda each: -each), _closing_over(5), _closing_over((1, "a")),
        _closing_over(_pure),
    ],
)  # fmt: skip
def test_functions_without_a_place_to_keep_anything(call: Callable[..., Any]) -> None:
    assert keeps_nothing(call)


@pytest.mark.parametrize(
    "call",
    [
        _logging, lambda value: _logging(value), _with_default, _setting_global, _closing_over([]), _counting(),
        _closing_over(_logging), _closing_over((_logging,)), lambda value: value.something,
        lambda value: value.method(), lambda value: Basket(value), lambda value: [_log for _ in value], [].append,
        "".join, Basket,
        Special([]).__eq__,
        lambda value: unknown_name, lambda value: getattr(value, "x"), print,  # noqa: B009, F821
    ],
)  # fmt: skip
def test_functions_that_might_keep_something(call: Callable[..., Any]) -> None:
    assert not keeps_nothing(call)


# ---- generator methods that can keep nothing ------------------------------------------------------------------


class Sums(KeyedProcessFunction):
    factor = 2

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.anything = runtime_context.get_state(ValueStateDescriptor("anything", Types.PICKLED_BYTE_ARRAY()))
        self.offset = 3
        self.log: list[Any] = []

    def at_the_end(self, value: Any, ctx: Any) -> Any:
        total = (self.total.value() or 0) + value[1] + self.offset
        self.total.update(total)
        if total > 3:
            yield value[0], total

    def twice(self, value: Any, ctx: Any) -> Any:
        yield value
        yield value

    def in_a_loop(self, value: Any, ctx: Any) -> Any:
        for _ in range(2):
            yield value

    def changing_afterwards(self, value: Any, ctx: Any) -> Any:
        yield value
        value[0] = 1

    def handing_over(self, value: Any, ctx: Any) -> Any:
        yield from [value]

    def keeping_in_self(self, value: Any, ctx: Any) -> Any:
        self.offset = value
        yield value

    def keeping_in_a_list(self, value: Any, ctx: Any) -> Any:
        self.log.append(value)
        yield value

    def keeping_in_state_of_any_type(self, value: Any, ctx: Any) -> Any:
        self.anything.update(value)
        yield value

    def asking_the_record(self, value: Any, ctx: Any) -> Any:
        yield value.part

    def calling_itself(self, value: Any, ctx: Any) -> Any:
        yield self.helper(value)

    def helper(self, value: Any) -> Any:
        return self.log

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield emission_of(getattr(self, value)) is not None


@pytest.mark.parametrize(
    ("method", "quiet"),
    [
        ("at_the_end", True), ("twice", False), ("in_a_loop", False), ("changing_afterwards", False),
        ("handing_over", False), ("keeping_in_self", False), ("keeping_in_a_list", False),
        ("keeping_in_state_of_any_type", False), ("asking_the_record", False), ("calling_itself", False),
    ],
)  # fmt: skip
def test_generator_methods_that_keep_nothing(method: str, quiet: bool) -> None:
    with KeyedOneInputOperatorHarness(partial(KeyedProcessOperator, Sums()), lambda value: 0) as harness:
        harness.process_element(method)
        assert harness.output_values() == [quiet]


class SetInOpen:
    def __init__(self) -> None:
        self.last: Any = None

    def emit(self, value: Any, ctx: Any) -> Any:
        yield self.last


def test_a_constant_that_has_been_replaced_counts_no_longer() -> None:
    owner = SetInOpen()
    emission = emission_of(owner.emit)
    assert emission is not None and emission.keeps_nothing()
    owner.last = []
    assert not emission.keeps_nothing()


class Computed:
    @property
    def last(self) -> Any:
        return 1

    def emit(self, value: Any, ctx: Any) -> Any:
        yield self.last


class Fetched:
    def __getattr__(self, name: str) -> Any:
        return 1

    def emit(self, value: Any, ctx: Any) -> Any:
        yield self.last


@pytest.mark.parametrize("owner", [Computed(), Fetched()])
def test_an_attribute_that_is_computed_is_no_constant(owner: Any) -> None:
    assert emission_of(owner.emit) is None
