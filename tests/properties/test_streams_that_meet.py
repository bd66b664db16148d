"""Broadcast, asynchronous calls and loops give the same for any parallelism, any cuts between epochs, any failures."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Time, Types
from firesteel.datastream import AsyncDataStream, KeyedBroadcastProcessFunction, RuntimeContext
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor
from tests.properties.test_core import Setting, any_setting, collect

RULES = MapStateDescriptor("rules", Types.INT(), Types.STRING())
ITEMS = ListStateDescriptor("items", Types.PICKLED_BYTE_ARRAY())

rules = st.lists(st.sampled_from("wxyz"), max_size=6)
items = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 9)), max_size=20)
small_numbers = st.lists(st.integers(1, 30), max_size=12)


class EveryRuleWithEveryItem(KeyedBroadcastProcessFunction):
    """Pairs items with rules, whichever of the two comes first."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.items = runtime_context.get_list_state(ITEMS)

    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        self.items.add(value)
        yield from ((value, rule) for rule in ctx.get_broadcast_state(RULES).values())

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Iterator[Any]:
        number, rule = value
        ctx.get_broadcast_state(RULES).put(number, rule)
        found: list[Any] = []
        ctx.apply_to_keyed_state(ITEMS, lambda key, state: found.extend(state.get()))
        yield from ((item, rule) for item in found)


@settings(max_examples=25)
@given(items, rules, any_setting, any_setting)
def test_every_item_meets_every_rule_once(
    items: list[Any], rules: list[str], setting: Setting, rule_setting: Setting
) -> None:
    env = setting.environment()
    broadcast = Setting(cuts=rule_setting.cuts).stream(env, list(enumerate(rules))).broadcast(RULES)
    keyed = setting.stream(env, list(items)).key_by(lambda item: item[0])
    expected = Counter((item, rule) for item in items for rule in rules)
    assert Counter(collect(keyed.connect(broadcast).process(EveryRuleWithEveryItem()))) == expected


async def divisors(number: int) -> list[tuple[int, int]]:
    await asyncio.sleep(0)
    return [(number, divisor) for divisor in range(1, number + 1) if number % divisor == 0]


@settings(max_examples=25)
@given(small_numbers, any_setting, st.integers(1, 5), st.booleans())
def test_every_record_is_looked_up_once(numbers: list[int], setting: Setting, capacity: int, ordered: bool) -> None:
    env = setting.environment()
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    found = collect(wait(setting.stream(env, list(numbers)).rebalance(), divisors, Time.seconds(60), capacity))
    expected = [pair for number in numbers for pair in asyncio.run(divisors(number))]
    assert Counter(found) == Counter(expected)
    if ordered and setting.parallelism == 1:
        assert found == expected


def collatz_steps(number: int) -> int:
    steps = 0
    while number > 1:
        number, steps = (number // 2 if number % 2 == 0 else 3 * number + 1), steps + 1
    return steps


@settings(max_examples=25)
@given(st.lists(st.integers(1, 8), max_size=12), any_setting)
def test_every_number_leaves_the_loop_once(numbers: list[int], setting: Setting) -> None:
    env = setting.environment()
    loop = setting.stream(env, [(number, number, 0) for number in numbers]).iterate()
    done = loop.filter(lambda state: state[1] == 1)
    odd = loop.filter(lambda state: state[1] > 1 and state[1] % 2 == 1).map(lambda s: (s[0], 3 * s[1] + 1, s[2] + 1))
    even = loop.filter(lambda state: state[1] % 2 == 0).map(lambda s: (s[0], s[1] // 2, s[2] + 1))
    loop.close_with(odd.union(even).rebalance())
    assert Counter(collect(done)) == Counter((number, 1, collatz_steps(number)) for number in numbers)
