"""How records travel: to which subtasks, how many times, and in which key groups."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from firesteel.common import Types
from firesteel.datastream import (
    CloseableIterator,
    KeyedProcessFunction,
    MapFunction,
    Partitioner,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.state.backend import HashMapBackend, value_table
from firesteel.state.key_groups import group_range, key_group
from firesteel.state.store import CheckpointStore, find_manifest
from tests.features.executors import MakeEnv, collect, on_both


class WithSubtask(MapFunction):
    """From value to (value, subtask)."""

    def open(self, runtime_context):
        self.index = runtime_context.get_index_of_this_subtask()

    def map(self, value):
        return value, self.index


@on_both
@pytest.mark.feature("PA-01")
def test_key_by_sends_equal_keys_to_one_subtask(make_env: MakeEnv) -> None:
    keyed = make_env(2).from_sequence(0, 9_999).key_by(lambda n: n % 50)
    seen = collect(keyed.map(WithSubtask()))

    subtasks = defaultdict(set)
    for n, subtask in seen:
        subtasks[n % 50].add(subtask)
    assert sorted(n for n, _ in seen) == list(range(10_000))
    assert len(subtasks) == 50
    assert all(len(each) == 1 for each in subtasks.values())
    assert set.union(*subtasks.values()) == {0, 1}


@on_both
@pytest.mark.feature("PA-02")
def test_broadcast_sends_every_record_to_all_subtasks(make_env: MakeEnv) -> None:
    seen = collect(make_env(2).from_collection([1, 2, 3, 4, 5]).broadcast().map(WithSubtask()))
    assert Counter(seen) == {(n, subtask): 1 for n in range(1, 6) for subtask in (0, 1)}


@on_both
@pytest.mark.feature("PA-03")
def test_rebalance_spreads_records_evenly(make_env: MakeEnv) -> None:
    env = make_env(2, {"firesteel.epoch.max-records": 333})
    seen = collect(env.from_collection(range(1000)).rebalance().map(WithSubtask()))
    assert Counter(subtask for _, subtask in seen) == {0: 500, 1: 500}
    assert sorted(n for n, _ in seen) == list(range(1000))


class ByParity(Partitioner):
    def partition(self, key, num_partitions):
        return key % 2


@on_both
@pytest.mark.feature("PA-04")
@pytest.mark.parametrize("partitioner", [lambda key, count: key % 2, ByParity()], ids=["callable", "Partitioner"])
def test_partition_custom_sends_records_where_the_partitioner_says(make_env: MakeEnv, partitioner) -> None:
    records = [("x", n) for n in range(20)]
    partitioned = make_env(2).from_collection(records).partition_custom(partitioner, lambda record: record[1])
    seen = collect(partitioned.map(WithSubtask()))
    assert sorted(seen) == [(("x", n), n % 2) for n in range(20)]


def exchanges(env: StreamExecutionEnvironment) -> list[str]:
    plan = json.loads(env.get_execution_plan())
    edges = [edge for node in plan["nodes"] for edge in node.get("predecessors", [])]
    return [edge["ship_strategy"] for edge in edges if not edge["chained"]]


@pytest.mark.feature("PA-05")
def test_the_plan_shows_one_exchange_per_key_by(make_env: MakeEnv) -> None:
    env = make_env(2)
    numbers = env.from_sequence(1, 10).map(lambda n: n)
    numbers.key_by(lambda n: n % 2).map(lambda n: n).key_by(lambda n: n % 3).map(lambda n: n).print()
    assert exchanges(env) == ["HASH", "HASH"]


@pytest.mark.feature("PA-05")
def test_two_key_by_in_a_row_are_one_exchange(make_env: MakeEnv) -> None:
    env = make_env(2)
    env.from_sequence(1, 10).key_by(lambda n: n % 2).key_by(lambda n: n % 2).map(WithSubtask()).print()
    assert exchanges(env) == ["HASH"]


class Count(KeyedProcessFunction):
    """Emits (key, count, subtask)."""

    def open(self, runtime_context):
        self.index = runtime_context.get_index_of_this_subtask()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value(), self.index


def counts(env: StreamExecutionEnvironment) -> CloseableIterator:
    """Endless numbers, counted for a hundred keys in eight key groups."""
    env.set_max_parallelism(8)
    numbers = env.from_data_generator(lambda n: n).set_parallelism(1).uid("numbers")
    results = numbers.key_by(lambda n: f"key {n % 100}").process(Count()).uid("counts").execute_and_collect()
    assert isinstance(results, CloseableIterator)
    return results


@on_both
@pytest.mark.feature("PA-06")
def test_key_groups_carry_state_to_another_parallelism(make_env: MakeEnv, tmp_path: Path) -> None:
    options = {"firesteel.epoch.max-records": 500}
    with counts(make_env(1, options)) as results:
        next(results)
        path = results.get_job_client().stop_with_savepoint(False, str(tmp_path)).result()
        last = {key: count for key, count, _ in results}

    manifest = find_manifest(path)
    stored = manifest.operators["counts"]
    assert (stored.parallelism, stored.max_parallelism) == (1, 8)
    [state] = CheckpointStore(path).load(manifest, ["counts"], 0, 1)["counts"].keyed
    backend = HashMapBackend(8)
    backend.apply(state, None)
    keys = set(value_table(backend, "count").entries)
    assert keys == {f"key {n}" for n in range(100)}
    assert {key_group(key, 8) for key in keys} == set(range(8))

    with counts(make_env(2, {**options, "execution.state-recovery.path": path})) as results:
        first: dict[str, int] = {}
        subtasks = defaultdict(set)
        for key, count, subtask in itertools.islice(results, 500):
            first.setdefault(key, count)
            subtasks[key_group(key, 8)].add(subtask)
    assert first == {key: count + 1 for key, count in last.items()}
    assert subtasks == {group: {0 if group in group_range(0, 2, 8) else 1} for group in range(8)}


@on_both
def test_global_sends_everything_to_the_first_subtask(make_env: MakeEnv) -> None:
    seen = collect(make_env(2).from_sequence(1, 20).global_().map(WithSubtask()))
    assert sorted(seen) == [(n, 0) for n in range(1, 21)]


def test_shuffle_reaches_all_subtasks(make_env: MakeEnv) -> None:
    seen = collect(make_env(2).from_collection(range(1000)).shuffle().map(WithSubtask()))
    assert sorted(n for n, _ in seen) == list(range(1000))
    assert all(count > 400 for count in Counter(subtask for _, subtask in seen).values())


def test_rescale_keeps_each_sender_to_its_own_receivers(make_env: MakeEnv) -> None:
    tagged = make_env(4).from_sequence(0, 99).set_parallelism(2).map(WithSubtask()).set_parallelism(2)
    seen = collect(tagged.rescale().map(WithSubtask()))
    receivers = {(sender, receiver) for (_, sender), receiver in seen}
    assert receivers == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert Counter(receiver for _, receiver in seen) == {0: 25, 1: 25, 2: 25, 3: 25}


def test_forward_keeps_the_subtask(make_env: MakeEnv) -> None:
    tagged = make_env(3).from_sequence(0, 29).map(WithSubtask()).forward()
    seen = collect(tagged.map(WithSubtask()).start_new_chain())
    assert len(seen) == 30
    assert all(sender == receiver for (_, sender), receiver in seen)


@on_both
def test_parallelism_beyond_the_cores_works(make_env: MakeEnv) -> None:
    seen = collect(make_env(5).from_sequence(1, 50).rebalance().map(WithSubtask()))
    assert sorted(n for n, _ in seen) == list(range(1, 51))
    assert {subtask for _, subtask in seen} == {0, 1, 2, 3, 4}
