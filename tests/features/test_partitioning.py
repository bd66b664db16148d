"""How records travel: to which subtasks, how many times, and in which key groups."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from firesteel.datastream import MapFunction, Partitioner, StreamExecutionEnvironment
from firesteel.state.backend import HashMapBackend, value_table
from firesteel.state.key_groups import group_range, key_group
from firesteel.state.store import CheckpointStore
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


@on_both
@pytest.mark.feature("PA-06")
@pytest.mark.usefixtures("keep_checkpoints")
def test_key_groups_carry_state_to_another_parallelism(make_env: MakeEnv, tmp_path: Path) -> None:
    options = {
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.dir": str(tmp_path),
        "execution.checkpointing.num-retained": 100,
        "firesteel.epoch.max-records": 400,
    }
    env = make_env(1, options)
    env.set_max_parallelism(8)
    numbers = env.from_sequence(0, 3_999).key_by(lambda n: f"key {n % 100}")
    numbers.reduce(lambda a, b: max(a, b)).uid("largest").add_sink(lambda _: None)
    env.execute()

    store = CheckpointStore(str(tmp_path))
    manifests = [store.read_checkpoint(number) for number in store.checkpoint_ids()]
    manifest = next(each for each in reversed(manifests) if each.operators["largest"].files)
    assert (manifest.operators["largest"].parallelism, manifest.operators["largest"].max_parallelism) == (1, 8)
    before = restored_keys(store, manifest, 0, 1)
    assert {key_group(key, 8) for key in before} == set(range(8))

    after = [restored_keys(store, manifest, subtask, 2) for subtask in (0, 1)]

    groups = [{key_group(key, 8) for key in keys} for keys in after]
    assert groups == [{0, 1, 2, 3}, {4, 5, 6, 7}]
    assert before == after[0] | after[1] == {f"key {n}" for n in range(100)}


def restored_keys(store: CheckpointStore, manifest, subtask: int, parallelism: int) -> set[str]:
    """The keys that a subtask of the operator goes on with at that parallelism."""
    restore = store.load(manifest, ["largest"], subtask, parallelism)["largest"]
    backend = HashMapBackend(8)
    for change in restore.keyed:
        backend.apply(change, group_range(subtask, parallelism, 8) if restore.rescaled else None)
    return set(value_table(backend, "_reduce").entries)


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
