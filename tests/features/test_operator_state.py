"""State that belongs to a subtask: CheckpointedFunction, list state, union list state."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import JobStatus, Types
from firesteel.datastream import (
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    RichParallelSourceFunction,
    SourceFunction,
)
from firesteel.datastream.state import ListStateDescriptor
from firesteel.errors import CheckpointError, JobFailedError
from firesteel.state.store import CheckpointStore
from firesteel.state_processor import SavepointReader
from firesteel.testing import CRASH, EPOCH_CUT, use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.saving import (
    WAIT,
    Handed,
    checkpointing,
    from_savepoint,
    run_with_checkpoints,
    save,
)
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

ITEMS = ListStateDescriptor("items", Types.STRING())


class Keeps(ProcessFunction, CheckpointedFunction):
    """Keeps all records in list state; says what its subtask has when "tell" comes.

    :param union: Whether the list is union list state.
    :param journal: A file in which its calls are written down.
    """

    def __init__(self, union: bool = False, journal: Path | None = None) -> None:
        self.union, self.journal = union, journal
        self.items: list[str] = []

    def _note(self, line: str) -> None:
        if self.journal is not None:
            with self.journal.open("a") as file:
                file.write(f"{line}\n")

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_union_list_state(ITEMS) if self.union else store.get_list_state(ITEMS)
        self.items = list(self.state.get())
        self.restored = context.is_restored()
        self._note(f"initialize {context.is_restored()} {context.get_restored_checkpoint_id()}")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.items)
        self._note(f"snapshot {self.subtask} {context.get_checkpoint_id()}")

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value == "tell":
            yield self.subtask, sorted(self.items), self.restored
        else:
            self.items.append(value)


def keeping(env: StreamExecutionEnvironment, source: Handed, union: bool = False, parallelism: int = 1) -> Any:
    """Records go to subtasks in turn."""
    kept = source.stream(env).rebalance().process(Keeps(union)).uid("keeps").set_parallelism(parallelism)
    return kept.map(lambda told: told).set_parallelism(1)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


@pytest.mark.feature("OS-01")
def test_a_snapshot_is_asked_for_once_per_checkpoint_and_subtask(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env(2, {"execution.checkpointing.dir": str(tmp_path / "chk")}))
    script = ["a", EPOCH_CUT, "b", EPOCH_CUT, "c", CRASH, "d", EPOCH_CUT, "e"]
    stream = scripted(env, script).rebalance().process(Keeps(journal=tmp_path / "journal"))
    stream.add_sink(lambda _: None)
    with use_clock(checkpoint_each_epoch()):
        client = env.execute_async()
        client.get_job_execution_result().result(WAIT)

    journal = lines(tmp_path / "journal")
    starts = [line for line in journal if line.startswith("initialize")]
    assert starts[:2] == ["initialize False None"] * 2
    assert len(set(starts[2:])) == 1
    assert starts[2].startswith("initialize True ")
    assert len(starts) == 4
    snapshots = Counter(line for line in journal if line.startswith("snapshot"))
    assert set(snapshots.values()) == {1}
    completed = {each.checkpoint_id for each in client.get_checkpoints()}  # type: ignore[attr-defined]
    assert {f"snapshot {subtask} {number}" for subtask in (0, 1) for number in completed} == set(snapshots)


@pytest.mark.feature("OS-02")
def test_is_restored_after_a_crash_and_after_a_savepoint(make_env: MakeEnv, tmp_path: Path) -> None:
    script = ["tell", EPOCH_CUT, "x", EPOCH_CUT, CRASH, "tell"]
    stream = scripted(recovering(make_env()), script).process(Keeps())
    assert run_with_checkpoints(stream) == [(0, [], False), (0, ["x"], True)]

    source = Handed("a", "tell")
    path, told = save(keeping(make_env(), source), tmp_path)
    assert told == [(0, ["a"], False)]
    source.give("tell")
    source.end()
    assert collect(keeping(make_env(1, from_savepoint(path)), source)) == [(0, ["a"], True)]


@pytest.mark.feature("OS-03")
@on_both
def test_a_list_is_split_evenly(make_env: MakeEnv, tmp_path: Path) -> None:
    source = Handed("e1", "e2")
    path, _ = save(keeping(make_env(), source), tmp_path)
    source.give("tell", "tell")
    source.end()
    told = collect(keeping(make_env(1, from_savepoint(path)), source, parallelism=2))
    assert sorted(told) == [(0, ["e1"], True), (1, ["e2"], True)]


@pytest.mark.feature("OS-03")
@pytest.mark.parametrize(("before", "after"), [(3, 1), (3, 2), (2, 5), (3, 3)])
def test_no_element_is_lost_or_doubled_when_lists_are_split_anew(
    make_env: MakeEnv, tmp_path: Path, before: int, after: int
) -> None:
    source = Handed(*(f"e{n}" for n in range(10)))
    path, _ = save(keeping(make_env(), source, parallelism=before), tmp_path)
    source.give(*["tell"] * after)
    source.end()
    told = collect(keeping(make_env(1, from_savepoint(path)), source, parallelism=after))
    assert sorted(item for _, items, _ in told for item in items) == [f"e{n}" for n in range(10)]
    sizes = [len(items) for _, items, _ in told]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.feature("OS-03")
def test_each_subtask_gets_its_own_list_back_after_a_failure(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    script = ["a", "b", "c", "d", EPOCH_CUT, EPOCH_CUT, CRASH, "tell", "tell"]
    stream = scripted(env, script).rebalance().process(Keeps())
    assert sorted(run_with_checkpoints(stream)) == [(0, ["a", "c"], True), (1, ["b", "d"], True)]


@pytest.mark.feature("OS-04")
@pytest.mark.parametrize("after", [2, 1, 3])
def test_each_subtask_gets_all_elements_of_union_state(make_env: MakeEnv, tmp_path: Path, after: int) -> None:
    source = Handed("a", "b")
    path, _ = save(keeping(make_env(), source, union=True, parallelism=2), tmp_path)
    source.give(*["tell"] * after)
    source.end()
    told = collect(keeping(make_env(1, from_savepoint(path)), source, union=True, parallelism=after))
    assert sorted(told) == [(subtask, ["a", "b"], True) for subtask in range(after)]


@pytest.mark.feature("OS-04")
def test_union_state_after_a_failure(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    script = ["a", "b", EPOCH_CUT, EPOCH_CUT, CRASH, "tell", "tell"]
    stream = scripted(env, script).rebalance().process(Keeps(union=True))
    assert sorted(run_with_checkpoints(stream)) == [(0, ["a", "b"], True), (1, ["a", "b"], True)]


class Many(MapFunction, CheckpointedFunction):
    """Has a large list."""

    def __init__(self, union: bool) -> None:
        self.union = union

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store, large = context.get_operator_state_store(), ListStateDescriptor("large")
        self.state = store.get_union_list_state(large) if self.union else store.get_list_state(large)
        self.state.update(range(100_000))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        return None

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.feature("OS-04")
@pytest.mark.parametrize("union", [True, False])
def test_much_union_state_is_warned_of_once(make_env: MakeEnv, caplog: pytest.LogCaptureFixture, union: bool) -> None:
    env = recovering(make_env())
    run_with_checkpoints(scripted(env, ["a", EPOCH_CUT, "b", EPOCH_CUT, "c"]).map(Many(union)))
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == union
    for warning in warnings:
        assert "union list state 'large' has 100000 elements" in warning


class Partitions(RichParallelSourceFunction, CheckpointedFunction):
    """Four partitions of 30 numbers; each subtask reads its share and keeps {partition: offset}."""

    def open(self, runtime_context: RuntimeContext) -> None:
        index, width = runtime_context.get_index_of_this_subtask(), runtime_context.get_number_of_parallel_subtasks()
        self.offsets = {n: self.offsets.get(n, 0) for n in range(index, 4, width)}
        self.running = True

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_union_list_state(ListStateDescriptor("offsets"))
        self.offsets = dict(self.state.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.offsets.items())

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while self.running and any(offset < 30 for offset in self.offsets.values()):
            for partition, offset in self.offsets.items():
                with ctx.get_checkpoint_lock():
                    if offset < 30:
                        ctx.collect((partition, offset))
                        self.offsets[partition] = offset + 1

    def cancel(self) -> None:
        self.running = False


class FailsOnce(MapFunction):
    """Fails once at a record; the mark is on disk because the function is built anew after a failure."""

    def __init__(self, at: Any, mark: Path) -> None:
        self.at, self.mark = at, mark

    def map(self, value: Any) -> Any:
        if value == self.at and not self.mark.exists():
            self.mark.touch()
            raise ValueError("fails once")
        return value


@pytest.mark.feature("OS-05")
def test_offsets_of_a_partitioned_source(make_env: MakeEnv, tmp_path: Path) -> None:
    """The counts per (partition, offset) are kept in state: each is seen once, though the job fails on the way."""
    env = recovering(make_env(2, {"firesteel.epoch.max-records": 7}))
    stream = env.add_source(Partitions()).map(FailsOnce((2, 17), tmp_path / "mark")).set_parallelism(2)
    totals = stream.map(lambda each: (each, 1)).key_by(lambda each: each[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    seen = run_with_checkpoints(totals)
    assert (tmp_path / "mark").exists()
    assert sorted(seen) == [((partition, offset), 1) for partition in range(4) for offset in range(30)]


class CountingMap(MapFunction, CheckpointedFunction):
    """(record, how many this subtask has seen)."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("count", Types.LONG()))
        self.count = sum(self.state.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update([self.count])

    def map(self, value: Any) -> Any:
        self.count += 1
        return value, self.count


class BufferingSink(SinkFunction, CheckpointedFunction):
    """Counts what it has got, and writes three records at a time: what waits for the third is in its state."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.waiting_state = store.get_list_state(ListStateDescriptor("waiting"))
        self.count_state = store.get_list_state(ListStateDescriptor("count"))
        self.waiting, self.count = list(self.waiting_state.get()), sum(self.count_state.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.waiting_state.update(self.waiting)
        self.count_state.update([self.count])

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self.count += 1
        self.waiting.append(value)
        if len(self.waiting) == 3:
            with self.path.open("a") as file:
                file.write(f"{self.count}: {self.waiting}\n")
            self.waiting = []


@pytest.mark.feature("OS-06")
def test_a_map_and_a_sink_go_on_counting(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env())
    counted = scripted(env, ["a", EPOCH_CUT, "b", EPOCH_CUT, CRASH, "c", "d", EPOCH_CUT, CRASH, "e", "f"])
    counted = counted.map(CountingMap())
    counted.add_sink(BufferingSink(tmp_path / "out"))  # type: ignore[arg-type]
    assert run_with_checkpoints(counted) == [(name, n) for n, name in enumerate("abcdef", 1)]
    assert lines(tmp_path / "out") == [
        "3: [('a', 1), ('b', 2), ('c', 3)]",
        "6: [('d', 4), ('e', 5), ('f', 6)]",
    ]


@pytest.mark.feature("OS-06")
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_a_buffering_sink_rescales(make_env: MakeEnv, tmp_path: Path, before: int, after: int) -> None:
    def job(source: Handed, parallelism: int, **options: Any) -> Any:
        stream = source.stream(make_env(1, options)).rebalance()
        stream.add_sink(BufferingSink(tmp_path / "out")).uid("sink").set_parallelism(parallelism)  # type: ignore[arg-type]
        return stream.filter(lambda _: False)

    source = Handed("a", "b")
    path, _ = save(job(source, before), tmp_path)
    source.give("c", "d", "e", "f")
    source.end()
    collect(job(source, after, **from_savepoint(path)))
    written = sorted(name for line in lines(tmp_path / "out") for name in "abcdef" if f"'{name}'" in line)
    assert written == list("abcdef")  # with two subtasks as well: each has got one of the two that waited


# --- subtasks that have ended -------------------------------------------------------------------------------


def one_ends(env: StreamExecutionEnvironment, short: list[Any], long: list[Any], union: bool) -> Any:
    """Two subtasks of one operator, each fed by a subtask of the source."""
    return scripted(env, short, long).process(Keeps(union)).set_parallelism(2).uid("keeps")


LONG = ["b", EPOCH_CUT, "c", EPOCH_CUT, "d", EPOCH_CUT, "e", EPOCH_CUT, "f"]


@pytest.mark.feature("OS-07")
def test_checkpoints_pause_while_a_part_of_union_state_has_ended(
    make_env: MakeEnv, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = make_env(2, checkpointing(tmp_path))
    one_ends(env, ["a", EPOCH_CUT], LONG, union=True).add_sink(lambda _: None)
    with use_clock(checkpoint_each_epoch()):
        client = env.execute_async()
        client.get_job_execution_result().result(WAIT)
    [pause] = [record.getMessage() for record in caplog.records if "checkpoints pause" in record.getMessage()]
    assert "has union list state, and 1 of its 2 subtasks have ended" in pause
    completed = [each.checkpoint_id for each in client.get_checkpoints()]  # type: ignore[attr-defined]
    assert len(completed) == 1  # the one at the end of the job, when both were done


@pytest.mark.feature("OS-07")
def test_a_savepoint_is_refused_while_a_part_of_union_state_has_ended(make_env: MakeEnv, tmp_path: Path) -> None:
    env, source = make_env(), Handed("a")  # which has records for its first subtask only
    stream = source.stream(env).set_parallelism(2).process(Keeps(union=True)).set_parallelism(2)
    with stream.execute_and_collect() as results:
        client = results.get_job_client()
        with pytest.raises(CheckpointError, match="has union list state, and 1 of its 2 subtasks have ended"):
            client.trigger_savepoint(str(tmp_path)).result(WAIT)
        assert client.get_job_status().result() is JobStatus.RUNNING
        source.end()
        assert list(results) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.feature("OS-08")
def test_list_state_of_a_subtask_that_has_ended_is_dropped(make_env: MakeEnv, tmp_path: Path) -> None:
    short = ["a", EPOCH_CUT, EPOCH_CUT]
    env = make_env(2, checkpointing(tmp_path, **{"execution.checkpointing.num-retained": 9}))
    with pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(one_ends(env, short, [*LONG, EPOCH_CUT, CRASH], union=False))
    ids = CheckpointStore(str(tmp_path)).checkpoint_ids()
    contents = [SavepointReader.read(f"{tmp_path}/chk-{number}").operator_state("keeps", "items") for number in ids]
    assert contents[0] == ["a", "b", "c"]
    assert contents[-1] == ["b", "c", "d", "e", "f"]

    env = make_env(2, from_savepoint(str(tmp_path)))
    restored = scripted(env, short, [*LONG, EPOCH_CUT, "tell"]).rebalance().process(Keeps()).uid("keeps")
    assert collect(restored.set_parallelism(1)) == [(0, ["b", "c", "d", "e", "f"], True)]
