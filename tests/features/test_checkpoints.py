"""Checkpoints: when they are taken, what is in them, where they are kept, and how many."""

from __future__ import annotations

import itertools
import queue
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import JobClient, WatermarkStrategy
from firesteel.datastream import (
    CheckpointingMode,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.base import (
    CommitRequest,
    Committer,
    Sink,
    SinkWriter,
    TwoPhaseCommitSinkFunction,
    WriterContext,
)
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor
from firesteel.errors import CheckpointError, ConfigurationError, JobFailedError
from firesteel.execution import snapshot_writer
from firesteel.execution.coordinators import Coordinators, JobServices
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator
from firesteel.state.filesystem import LocalFileStore
from firesteel.state.store import CheckpointStore, Manifest
from firesteel.state_processor import SavepointReader
from firesteel.testing import CRASH, EPOCH_CUT, ManualClock, processing_time, use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.saving import (
    WAIT,
    Handed,
    checkpoint_ids,
    checkpointing,
    counts,
    files_below,
    from_savepoint,
    run_with_checkpoints,
)
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted


def completed(client: JobClient) -> list[Any]:
    return client.get_checkpoints()  # type: ignore[attr-defined,no-any-return]


def run(env: StreamExecutionEnvironment, clock: Any) -> JobClient:
    """Run a job to its end, well or not; its client."""
    with use_clock(clock):
        client = env.execute_async()
        client.get_job_execution_result().exception(WAIT)
    return client


# --- when ---------------------------------------------------------------------------------------------------


@pytest.mark.feature("CK-01")
@on_both
def test_there_are_no_checkpoints_unless_they_are_enabled(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, {"execution.checkpointing.dir": str(tmp_path)})
    assert not env.get_checkpoint_config().is_checkpointing_enabled()
    assert len(collect(counts(env.from_collection(list("abc"))))) == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.feature("CK-02")
def test_ten_checkpoints_in_ten_seconds(env: StreamExecutionEnvironment) -> None:
    env.enable_checkpointing(1000)
    clock = ManualClock()
    script: list[Any] = []
    for now in range(250, 10_001, 250):
        script += ["x", processing_time(now)]
    scripted(env, script, clock=clock).add_sink(lambda _: None)
    done = completed(run(env, clock))
    assert [each.checkpoint_id for each in done] == list(range(1, 11))
    assert [each.timestamp for each in done] == list(range(1000, 10_001, 1000))


@pytest.mark.feature("CK-03")
def test_the_mode(env: StreamExecutionEnvironment) -> None:
    config = env.get_checkpoint_config()
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    env.enable_checkpointing(1000, CheckpointingMode.EXACTLY_ONCE)
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert config.get_checkpoint_interval() == 1000


@pytest.mark.feature("CK-04")
def test_at_least_once_is_never_worse_than_its_word(make_env: MakeEnv) -> None:
    script = ["a", EPOCH_CUT, "b", "a", EPOCH_CUT, CRASH, "a", "b", EPOCH_CUT, CRASH, "a"]
    for keyed in (True, False):
        env = recovering(make_env(2))
        env.get_checkpoint_config().set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
        words = scripted(env, script)
        results = run_with_checkpoints(counts(words.rebalance()) if keyed else words.map(lambda word: word))
        if keyed:
            last = dict(sorted(results))
            assert last["a"] >= 4
            assert last["b"] >= 2
        else:
            assert Counter(results) == {"a": 4, "b": 2}


def slow_storage(monkeypatch: pytest.MonkeyPatch, clock: ManualClock, seconds: int) -> None:
    write = CheckpointStore.write_state

    def slowly(store: CheckpointStore, name: str, data: bytes) -> None:
        clock.advance(seconds * 1000)
        write(store, name, data)

    monkeypatch.setattr(CheckpointStore, "write_state", slowly)


@pytest.mark.feature("CK-05")
def test_a_pause_between_checkpoints(env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    env.enable_checkpointing(1000).get_checkpoint_config().set_min_pause_between_checkpoints(500)
    clock = ManualClock()
    slow_storage(monkeypatch, clock, seconds=2)
    script: list[Any] = []
    for now in range(100, 20_000, 100):
        script += ["x", processing_time(now)]
    scripted(env, script, clock=clock).add_sink(lambda _: None)
    done = completed(run(env, clock))[:-1]  # the one at the end of the job comes when the job ends
    assert len(done) > 3
    for one, other in itertools.pairwise(done):
        assert one.duration_ms >= 2000
        assert other.timestamp >= one.timestamp + one.duration_ms + 500


@pytest.mark.feature("CK-05")
def test_a_pause_excludes_checkpoints_at_once(make_env: MakeEnv) -> None:
    config = make_env().get_checkpoint_config().set_min_pause_between_checkpoints(500)
    with pytest.raises(ConfigurationError, match="2 checkpoints at once contradict the pause of 500 ms"):
        config.set_max_concurrent_checkpoints(2)
    config = make_env().get_checkpoint_config().set_max_concurrent_checkpoints(2)
    with pytest.raises(ConfigurationError, match="2 checkpoints at once contradict the pause of 500 ms"):
        config.set_min_pause_between_checkpoints(500)

    options = {"execution.checkpointing.min-pause": "500 ms", "execution.checkpointing.max-concurrent-checkpoints": 2}
    env = make_env(1, {"execution.checkpointing.interval": "1 s", **options})
    with pytest.raises(ConfigurationError, match=r"max-concurrent-checkpoints is 2 and .*min-pause is 500 ms"):
        collect(env.from_collection([1]))


class Storage:
    """Storage that writes in the background, and holds each file back until :meth:`release`."""

    released = threading.Event()

    @classmethod
    def hold(cls, monkeypatch: pytest.MonkeyPatch) -> None:
        cls.released = threading.Event()
        write = CheckpointStore.write_state

        def held(store: CheckpointStore, name: str, data: bytes) -> None:
            assert cls.released.wait(WAIT)
            write(store, name, data)

        monkeypatch.setattr(snapshot_writer, "_WRITE_AT_ONCE", 0)
        monkeypatch.setattr(CheckpointStore, "write_state", held)


class Journal(MapFunction, CheckpointedFunction):
    """Writes down records and snapshots; the record "release" lets the storage write."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _note(self, line: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{line}\n")

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("any"))
        self.state.update(["something"])

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._note(f"snapshot {context.get_checkpoint_id()}")

    def map(self, value: str) -> str:
        self._note(value)
        if value == "release":
            Storage.released.set()
        return value


def each_second(*records: str) -> list[Any]:
    script: list[Any] = []
    for second, record in enumerate(records, 1):
        script += [record, processing_time(second * 1000)]
    return script


@pytest.mark.feature("CK-06")
def test_a_checkpoint_that_takes_too_long_is_abandoned(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Storage.hold(monkeypatch)
    env = make_env(1, checkpointing(tmp_path / "chk", **{"execution.checkpointing.interval": "1 s"}))
    env.get_checkpoint_config().set_checkpoint_timeout(60_000).set_tolerable_checkpoint_failure_number(1)
    clock = ManualClock()
    script = [*each_second("a", "b", "c"), processing_time(65_000), "release", processing_time(66_000), "d"]
    script += [processing_time(67_000), "e", processing_time(69_000), "f", EPOCH_CUT, "wait", EPOCH_CUT, CRASH]
    wait_for_disk = WaitFor(tmp_path / "chk")
    scripted(env, script, clock=clock).map(Journal(tmp_path / "journal")).map(wait_for_disk).add_sink(lambda _: None)
    client = run(env, clock)

    assert "checkpoint 1 was not complete within its time; it is given up" in caplog.text
    assert "f" in (tmp_path / "journal").read_text().splitlines()  # the job went on
    [last] = checkpoint_ids(tmp_path / "chk")
    assert last == completed(client)[-1].checkpoint_id > 1
    names = CheckpointStore(str(tmp_path / "chk")).state_names()
    assert names
    assert not [name for name in names if name.startswith("1-")]


class WaitFor(MapFunction):
    """At the record "wait", waits until files of a checkpoint behind the first are on disk."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def map(self, value: str) -> str:
        while value == "wait" and not list((self.directory / "state").glob("[2-9]-*.state")):
            threading.Event().wait(0.01)
        return value


@pytest.mark.feature("CK-07")
@pytest.mark.parametrize(
    ("tolerated", "failing", "survives"), [(2, 2, True), (2, 3, False), (0, 1, False), (0, 0, True)]
)
def test_how_many_checkpoints_may_fail(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tolerated: int, failing: int, survives: bool
) -> None:
    write = CheckpointStore.write_state

    def fails(store: CheckpointStore, name: str, data: bytes) -> None:
        if int(name.partition("-")[0]) <= failing:
            raise CheckpointError("the storage is not there")
        write(store, name, data)

    monkeypatch.setattr(CheckpointStore, "write_state", fails)
    env = make_env(1, checkpointing(tmp_path))
    assert env.get_checkpoint_config().get_tolerable_checkpoint_failure_number() == 0
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(tolerated)
    script = [step for letter in "abcdef" for step in (letter, EPOCH_CUT)]
    stream = counts(scripted(env, script))
    if survives:
        assert sorted(run_with_checkpoints(stream)) == [(letter, 1) for letter in "abcdef"]
    else:
        with pytest.raises(JobFailedError, match=f"storage is not there, and no more than {tolerated} failures"):
            run_with_checkpoints(stream)


@pytest.mark.feature("CK-07")
def test_the_job_fails_over_when_too_many_checkpoints_have_failed(
    env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([True, False, True])
    write = CheckpointStore.write_manifest

    def fails(store: CheckpointStore, manifest: Any) -> str:
        if next(failures, False):
            raise CheckpointError("the storage is not there")
        return write(store, manifest)

    monkeypatch.setattr(CheckpointStore, "write_manifest", fails)
    recovering(env)
    script = [step for letter in "abcabc" for step in (letter, EPOCH_CUT)]
    results = run_with_checkpoints(counts(scripted(env, script)))
    assert sorted(results) == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1), ("c", 2)]


@pytest.mark.feature("CK-08")
@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_how_many_checkpoints_are_under_way_at_once(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    Storage.hold(monkeypatch)
    env = make_env(1, {"execution.checkpointing.interval": "1 s"})
    assert env.get_checkpoint_config().get_max_concurrent_checkpoints() == 1
    env.get_checkpoint_config().set_max_concurrent_checkpoints(at_once)
    clock = ManualClock()
    script = [*each_second(*"abcdefgh"), "release"]
    scripted(env, script, clock=clock).map(Journal(tmp_path / "journal")).add_sink(lambda _: None)
    client = run(env, clock)

    journal = (tmp_path / "journal").read_text().splitlines()
    before = journal[: journal.index("release")]
    assert [line for line in before if line.startswith("snapshot")] == [f"snapshot {n + 1}" for n in range(at_once)]
    assert [each.checkpoint_id for each in completed(client)] == list(range(1, len(completed(client)) + 1))
    assert len(completed(client)) > at_once


# --- how long they stay -------------------------------------------------------------------------------------


@pytest.mark.feature("CK-09")
@pytest.mark.parametrize("retention", ["RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION"])
def test_what_becomes_of_checkpoints_when_the_job_is_cancelled(
    make_env: MakeEnv, tmp_path: Path, retention: str
) -> None:
    option = {"execution.checkpointing.externalized-checkpoint-retention": retention}
    env = make_env(1, checkpointing(tmp_path, **option))
    counts(Handed("a").stream(env)).add_sink(lambda _: None)
    client = env.execute_async()
    while not completed(client):
        threading.Event().wait(0.01)
    client.cancel().result(WAIT)
    assert bool(checkpoint_ids(tmp_path)) == (retention == "RETAIN_ON_CANCELLATION")
    if retention == "DELETE_ON_CANCELLATION":
        assert files_below(tmp_path) == {}


@pytest.mark.feature("CK-09")
@pytest.mark.parametrize("retention", ["RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION"])
def test_checkpoints_of_a_job_that_failed_stay(make_env: MakeEnv, tmp_path: Path, retention: str) -> None:
    option = {"execution.checkpointing.externalized-checkpoint-retention": retention}
    script = ["a", EPOCH_CUT, "b", EPOCH_CUT, CRASH, "a"]
    with pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(counts(scripted(make_env(1, checkpointing(tmp_path, **option)), script)))
    assert len(checkpoint_ids(tmp_path)) == 1

    script.remove(CRASH)  # the program is mended and started again: it resumes by itself
    env = make_env(1, checkpointing(tmp_path, **option))
    assert run_with_checkpoints(counts(scripted(env, script))) == [("a", 2)]
    assert files_below(tmp_path) == {}  # a job that has finished needs none

    env = make_env(1, checkpointing(tmp_path, **option))
    assert run_with_checkpoints(counts(scripted(env, script))) == [("a", 1), ("b", 1), ("a", 2)]


def crashing(make_env: MakeEnv, directory: Path, epochs: int, **options: Any) -> None:
    """A job that takes a checkpoint after each of so many epochs, then fails."""
    script = ["first", EPOCH_CUT, *[step for n in range(epochs) for step in (f"k{n % 7}", EPOCH_CUT)], CRASH]
    with pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(counts(scripted(make_env(1, checkpointing(directory, **options)), script)))


@pytest.mark.feature("CK-10")
def test_the_last_three_checkpoints_are_kept(make_env: MakeEnv, tmp_path: Path) -> None:
    crashing(make_env, tmp_path, epochs=10, **{"execution.checkpointing.num-retained": 3})
    assert checkpoint_ids(tmp_path) == [8, 9, 10]
    assert sorted(path.name for path in tmp_path.glob("chk-*")) == ["chk-10", "chk-8", "chk-9"]
    for number in (8, 9, 10):
        state = dict(SavepointReader.read(f"{tmp_path}/chk-{number}").keyed_state("counts", "count"))
        assert sum(state.values()) == number + 1


@pytest.mark.feature("CK-10")
def test_the_directory_does_not_grow(make_env: MakeEnv, tmp_path: Path) -> None:
    crashing(make_env, tmp_path / "short", epochs=60)
    crashing(make_env, tmp_path / "long", epochs=400)
    short, long = (files_below(tmp_path / name) for name in ("short", "long"))
    most = 2 * 33 + 1  # per level: a full state file and 32 changes; and the manifest
    assert len(short) <= most
    assert len(long) <= most
    assert sum(map(len, long.values())) < 4 * sum(map(len, short.values()))
    assert len(checkpoint_ids(tmp_path / "long")) == 1


# --- what is in them ----------------------------------------------------------------------------------------


def two_paths(env: StreamExecutionEnvironment, script: list[Any]) -> Any:
    """One way through the job is slow."""

    def slow(word: str) -> str:
        threading.Event().wait(0.002)
        return word

    words = scripted(env, script)
    fast = words.key_by(lambda word: f"fast {word}")
    late = words.rebalance().map(slow).key_by(lambda word: f"slow {word}")
    return counts(fast.map(lambda word: f"fast {word}").union(late.map(lambda word: f"slow {word}")))


@pytest.mark.feature("CK-11")
def test_a_checkpoint_waits_for_nobody_and_holds_nothing_unprocessed(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(2, checkpointing(tmp_path))
    config = env.get_checkpoint_config().enable_unaligned_checkpoints()
    assert config.is_unaligned_checkpoints_enabled()
    script = [EPOCH_CUT, *"abcabc", EPOCH_CUT, CRASH]
    with pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(two_paths(env, script))
    state = dict(SavepointReader.read(str(tmp_path)).keyed_state("counts", "count"))
    assert state == {f"{path} {word}": 2 for path in ("fast", "slow") for word in "abc"}
    assert "no record is under way" in (type(config).enable_unaligned_checkpoints.__doc__ or "")


@pytest.mark.feature("CK-12")
def test_a_backlog_is_processed_before_what_is_newer(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    env.get_checkpoint_config().enable_unaligned_checkpoints()
    script = [*"ab", EPOCH_CUT, *"ab", EPOCH_CUT, CRASH, *"ab", EPOCH_CUT, *"ab", CRASH, *"ab"]
    results = run_with_checkpoints(two_paths(env, script))
    for path in ("fast", "slow"):
        for word in "ab":
            mine = [count for key, count in results if key == f"{path} {word}"]
            assert mine == [1, 2, 3, 4, 5]


class Total(KeyedProcessFunction):
    """Sums numbers; fails at one of them."""

    def __init__(self, fails_at: int) -> None:
        self.fails_at = fails_at

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value == self.fails_at:
            raise ValueError("stop here")
        self.total.update((self.total.value() or 0) + value)
        yield value


@pytest.mark.feature("CK-13")
def test_a_checkpoint_is_positions_and_the_state_at_that_point(make_env: MakeEnv, tmp_path: Path) -> None:
    options = {"firesteel.epoch.max-records": 7, "execution.checkpointing.num-retained": 100}
    env = make_env(2, checkpointing(tmp_path, **options))
    numbers = env.from_source(NumberSequenceSource(0, 999), WatermarkStrategy.no_watermarks(), "numbers")
    totals = numbers.uid("numbers").set_parallelism(1).key_by(lambda n: n % 5).process(Total(100)).uid("totals")
    with pytest.raises(JobFailedError, match="stop here"):
        run_with_checkpoints(totals)
    store = CheckpointStore(str(tmp_path))
    ids = store.checkpoint_ids()
    assert len(ids) > 10
    for number in ids:
        [split] = store.read_checkpoint(number).driver["sources"]["numbers"]["splits"].values()
        position = split[2]
        state = dict(SavepointReader.read(f"{tmp_path}/chk-{number}").keyed_state("totals", "total"))
        assert sum(state.values()) == sum(range(position))


class Seen(MapFunction, CheckpointedFunction):
    """Keeps what has passed."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        return None

    def map(self, value: Any) -> Any:
        self.state.add(value)
        return value


@pytest.mark.feature("CK-14")
def test_a_barrier_lies_between_the_same_epochs_in_all_operators(make_env: MakeEnv, tmp_path: Path) -> None:
    """Records carry the number of their epoch; one source has five in each, the other one or none."""
    epochs = 8
    env = make_env(2, checkpointing(tmp_path, **{"execution.checkpointing.num-retained": 100}))
    fast = [step for n in range(epochs) for step in (*[("fast", n)] * 5, EPOCH_CUT)]
    slow = [step for n in range(epochs) for step in (*[("slow", n)] * (n % 2), EPOCH_CUT)]
    streams = [
        scripted(env, script).rebalance().map(Seen()).uid(f"seen {name}")
        for name, script in (("fast", [*fast, CRASH]), ("slow", [*slow, EPOCH_CUT]))
    ]
    both = streams[0].union(streams[1]).rebalance().map(Seen()).uid("seen both")
    with pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(both)
    ids = checkpoint_ids(tmp_path)
    assert ids == list(range(1, epochs))
    for number in ids:  # the first epoch ends without a checkpoint
        reader = SavepointReader.read(f"{tmp_path}/chk-{number}")
        expected = {
            "seen fast": Counter({("fast", n): 5 for n in range(number + 1)}),
            "seen slow": Counter({("slow", n): 1 for n in range(number + 1) if n % 2}),
        }
        for uid, records in expected.items():
            assert Counter(reader.operator_state(uid, "seen")) == records
        assert Counter(reader.operator_state("seen both", "seen")) == expected["seen fast"] + expected["seen slow"]


def note(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(f"{line}\n")


class NotingSink(Sink):
    """A two-phase sink that writes down what it is asked to do."""

    guarantee = "exactly-once"

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path

    def create_writer(self) -> SinkWriter:
        return _NotingWriter(self)

    def create_committer(self) -> Committer:
        return _NotingCommitter(self)


class _NotingWriter(SinkWriter):
    def __init__(self, sink: NotingSink) -> None:
        self._sink = sink
        self._records: list[Any] = []

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        return None

    def write(self, value: Any, context: WriterContext) -> None:
        self._records.append(value)

    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        prepared, self._records = self._records, []
        return prepared


class _NotingCommitter(Committer):
    def __init__(self, sink: NotingSink) -> None:
        self._sink = sink

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        note(self._sink.path, f"{self._sink.name} {max(request.committable for request in requests)}")


class Numbers(Source):
    """Numbers whose enumerator writes down up to where it need not read again."""

    def __init__(self, count: int, path: Path) -> None:
        self.count, self.path = count, path

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return _NotingEnumerator(self.path)

    def create_reader(self) -> SourceReader:
        return _NumberReader(self.count)

    def initial_position(self, split: SourceSplit) -> int:
        return 0


class _NotingEnumerator(SplitEnumerator):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._found = False

    def start(self, restored: Any | None) -> None:
        self._found = bool(restored)

    def snapshot(self) -> bool:
        return self._found

    def discover_splits(self, now: int) -> list[SourceSplit]:
        found, self._found = self._found, True
        return [] if found else [SourceSplit("all")]

    def committed(self, positions: dict[str, Any]) -> None:
        note(self._path, f"source {positions['all'] - 1}")


class _NumberReader(SourceReader):
    def __init__(self, count: int) -> None:
        self._count = count

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        end = min(position + max_records, self._count)
        return ReadResult(list(range(position, end)), end, finished=end == self._count)


@pytest.mark.feature("CK-15")
def test_a_source_is_told_after_the_last_sink_has_committed(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env(1, {"firesteel.epoch.max-records": 10}))
    path = tmp_path / "journal"
    numbers = env.from_source(Numbers(50, path), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.sink_to(NotingSink("one", path))
    numbers.sink_to(NotingSink("two", path))
    run(env, checkpoint_each_epoch())
    steps = [tuple(line.split()) for line in path.read_text().splitlines()]
    assert len(steps) >= 9
    for place, (name, last) in enumerate(steps):
        if name == "source":
            assert {("one", last), ("two", last)} <= set(steps[:place])


class FailingCommits(NotingSink):
    """A sink whose commits fail, so many times in a row, once something has been committed."""

    def __init__(self, path: Path, times: int) -> None:
        super().__init__("sink", path)
        self.times = times

    def create_committer(self) -> Committer:
        return _FailingCommitter(self)


class _FailingCommitter(_NotingCommitter):
    def __init__(self, sink: FailingCommits) -> None:
        super().__init__(sink)
        self._first, self._failures = True, iter(range(sink.times))

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        if not self._first:
            for _ in self._failures:
                raise ConnectionError("the database is away")
        self._first = False
        super().commit(requests)


@pytest.mark.feature("EO-02", "RR-01")
def test_a_sink_that_cannot_commit_for_a_while_costs_nothing(make_env: MakeEnv, tmp_path: Path) -> None:
    """The commit is tried again with each restart; what else waited for the checkpoint comes once."""
    env = recovering(make_env(1, {"firesteel.epoch.max-records": 10}))
    numbers = env.from_source(Numbers(50, tmp_path / "journal"), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.sink_to(FailingCommits(tmp_path / "journal", times=3))
    assert run_with_checkpoints(numbers.map(lambda number: number)) == list(range(50))
    steps = [line.split() for line in (tmp_path / "journal").read_text().splitlines()]
    committed = [int(last) for name, last in steps if name == "sink"]
    assert sorted(set(committed)) == [19, 29, 39, 49]
    for place, (name, last) in enumerate(steps):
        assert name == "sink" or ["sink", last] in steps[:place]


@pytest.mark.feature("EO-02")
def test_a_commit_that_fails_names_sink_committable_and_the_way_out(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, {"firesteel.epoch.max-records": 10, **checkpointing(tmp_path / "checkpoints")})
    numbers = env.from_source(Numbers(50, tmp_path / "journal"), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.sink_to(FailingCommits(tmp_path / "journal", times=99)).name("table").uid("the-table")
    with pytest.raises(JobFailedError) as failure, use_clock(checkpoint_each_epoch()):
        env.execute()
    message = str(failure.value)
    assert "sink 'table' (uid 'the-table') could not commit the output of checkpoint 2" in message
    assert "ConnectionError: the database is away" in message
    assert "It was to commit 20, 21, 22 and 7 more" in message
    assert "start from an earlier checkpoint" in message


class Hesitating(NotingSink):
    """Puts off every commit, so many times, and notes under which numbers records were prepared and committed."""

    def __init__(self, path: Path, times: int) -> None:
        super().__init__("sink", path)
        self.times = times

    def create_writer(self) -> SinkWriter:
        return _NumberingWriter(self)

    def create_committer(self) -> Committer:
        return _HesitatingCommitter(self)


class _NumberingWriter(_NotingWriter):
    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        return [(checkpoint_id, record) for record in super().prepare_commit(checkpoint_id)]


class _HesitatingCommitter(_NotingCommitter):
    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            prepared_for, record = request.committable
            assert prepared_for == request.checkpoint_id
            if request.retries < self._sink.times:
                request.retry_later()
            else:
                note(self._sink.path, f"{request.retries} {record}")


@pytest.mark.feature("EO-02")
@pytest.mark.parametrize("checkpoints", [True, False])
def test_a_job_does_not_end_before_commits_that_were_put_off_are_done(
    make_env: MakeEnv, tmp_path: Path, checkpoints: bool
) -> None:
    """A sink is told the number of the checkpoint when it prepares and when it commits."""
    env = make_env(1, {"firesteel.epoch.max-records": 10})
    if checkpoints:
        recovering(env)
    numbers = env.from_source(Numbers(30, tmp_path / "told"), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.sink_to(Hesitating(tmp_path / "journal", times=1))
    run(env, itertools.count(0, 400).__next__)
    committed = [line.split() for line in (tmp_path / "journal").read_text().splitlines()]
    assert sorted(int(record) for _, record in committed) == list(range(30))
    assert {retries for retries, _ in committed} == {"1"}


@pytest.mark.feature("EO-02")
def test_a_sink_that_puts_off_for_ever_fails_the_job(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, {"sink.committer.retries": 2})
    numbers = env.from_source(Numbers(30, tmp_path / "told"), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.sink_to(Hesitating(tmp_path / "journal", times=100))
    failure = run(env, itertools.count(0, 400).__next__).get_job_execution_result().exception(WAIT)
    assert "it was put off 2 times, and no more are allowed (sink.committer.retries)" in str(failure)


@pytest.mark.feature("EO-02")
def test_output_of_a_sink_that_is_gone_is_left_alone_with_a_warning(
    make_env: MakeEnv, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it was to be committed or aborted, and however often."""
    env = make_env(1, checkpointing(tmp_path))
    env.from_collection([1]).sink_to(NotingSink("one", tmp_path / "journal")).uid("here")
    services = JobServices({}, wake=lambda: None, make_room=lambda: None, replays=True)
    coordinators = Coordinators(env._compile(env.graph.graph, None), services)
    stored = {"sinks": {"gone": {7: [{"file": "a"}]}, "here": {7: [1]}}}
    coordinators.restore(Manifest("checkpoint", 7, "job", 0, driver=stored))
    coordinators.roll_back(6)
    coordinators.restore(Manifest("checkpoint", 6, "job", 0, driver={"sinks": {"gone": {6: [{"file": "b"}]}}}))
    coordinators.close()
    assert (tmp_path / "journal").read_text().split() == ["one", "1"]
    (warning,) = [record.getMessage() for record in caplog.records if "'gone'" in record.getMessage()]
    assert "this program has no such sink" in warning
    assert "{'file': 'a'}" in warning


class Unpicklable(TwoPhaseCommitSinkFunction):
    """Its transactions are connections, which cannot be stored."""

    def begin_transaction(self) -> Any:
        return threading.Lock()

    def invoke(self, transaction: Any, value: Any, context: WriterContext) -> None: ...
    def pre_commit(self, transaction: Any) -> None: ...
    def commit(self, transaction: Any) -> None: ...
    def abort(self, transaction: Any) -> None: ...


@pytest.mark.feature("EO-02")
def test_what_cannot_be_stored_cannot_be_prepared(make_env: MakeEnv) -> None:
    env = make_env(1)
    env.from_collection([1]).sink_to(Unpicklable()).name("bad sink")
    with pytest.raises(JobFailedError, match=r"(?s)cannot be stored in a checkpoint.*operator: bad sink"):
        env.execute()


class Fills(KeyedProcessFunction):
    """Ten kilobytes of state per key; (key, version) comes in, a checksum goes out."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.block = runtime_context.get_state(ValueStateDescriptor("block"))

    def process_element(self, value: tuple[int, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        key, version = value
        if version < 0:
            block = self.block.value()
            yield key, block[:1], len(block)
        else:
            self.block.update(bytes([version]) + bytes(10_000))


@pytest.mark.feature("CK-16")
@pytest.mark.parametrize("backend", ["rocksdb", "hashmap"])
def test_a_checkpoint_of_a_small_change_is_small(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setattr(snapshot_writer, "_WRITE_AT_ONCE", 1 << 40)  # so that each is complete when its epoch ends
    keys, clock = 10_000, ManualClock()
    script = [*[(key, 1) for key in range(keys)], EPOCH_CUT, processing_time(10), EPOCH_CUT]
    script += [*[(key, 2) for key in range(keys // 100)], EPOCH_CUT, processing_time(20), EPOCH_CUT]
    script += [*[(key, 3) for key in range(keys // 200)], EPOCH_CUT, processing_time(30), EPOCH_CUT]

    def job(env: StreamExecutionEnvironment, end: list[Any]) -> DataStream:
        blocks = scripted(env, [*script, *end], clock=clock).key_by(lambda each: each[0])
        return blocks.process(Fills()).uid("fills")

    env = make_env(1, checkpointing(tmp_path, **{"state.backend.type": backend}))
    job(env, [CRASH]).add_sink(lambda _: None)
    first, second, third = completed(run(env, clock))
    assert first.full
    assert first.state_bytes > 100_000_000
    for later in (second, third):  # 1 % has changed, then half of that
        assert not later.full
        assert later.state_bytes < first.state_bytes / 10

    env = make_env(2, from_savepoint(str(tmp_path), **{"state.backend.type": backend}))
    results = collect(job(env, [(0, -1), (75, -1), (150, -1), (9_999, -1)]))
    assert sorted(results) == [(key, bytes([n]), 10_001) for key, n in ((0, 3), (75, 2), (150, 1), (9_999, 1))]


# --- where --------------------------------------------------------------------------------------------------


@pytest.mark.feature("CK-17")
@pytest.mark.parametrize("scheme", ["path", "file", "memory"])
def test_where_checkpoints_are_kept(make_env: MakeEnv, tmp_path: Path, scheme: str) -> None:
    location = {"path": str(tmp_path), "file": tmp_path.as_uri(), "memory": f"memory:/{tmp_path}"}[scheme]
    script = ["a", EPOCH_CUT, "b", EPOCH_CUT, "a", EPOCH_CUT, CRASH, "a"]
    options = checkpointing(tmp_path, **{"execution.checkpointing.dir": location})
    with pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(counts(scripted(make_env(1, options), script)))
    store = CheckpointStore(location)
    assert store.checkpoint_ids() == [2]
    assert bool(files_below(tmp_path)) == (scheme != "memory")
    assert dict(SavepointReader.read(location).keyed_state("counts", "count")) == {"a": 2, "b": 1}

    script.remove(CRASH)
    assert run_with_checkpoints(counts(scripted(make_env(1, options), script))) == [("a", 3)]
    assert store.checkpoint_ids() == []
    assert store.state_names() == []


@pytest.mark.feature("CK-17")
@pytest.mark.parametrize("executor", ["spark"], indirect=True)
def test_a_job_on_spark_resumes_from_its_directory(make_env: MakeEnv, tmp_path: Path) -> None:
    script = ["a", EPOCH_CUT, "b", EPOCH_CUT, "a", EPOCH_CUT, CRASH, "a"]
    options = checkpointing(tmp_path, **{"execution.checkpointing.dir": tmp_path.as_uri()})
    with pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(counts(scripted(make_env(2, options), script)))
    assert checkpoint_ids(tmp_path) == [2]
    script.remove(CRASH)
    assert run_with_checkpoints(counts(scripted(make_env(3, options), script))) == [("a", 3)]


@pytest.mark.feature("CK-18")
@on_both
def test_checkpoints_go_on_when_one_source_has_ended(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env(2, {"execution.checkpointing.dir": str(tmp_path)}))
    short = counts(scripted(env, ["a", "b", EPOCH_CUT, "a"])).map(lambda each: ("short", *each)).uid("short")
    long_script = ["a", EPOCH_CUT, "b", EPOCH_CUT, "a", EPOCH_CUT, "b", EPOCH_CUT, CRASH, "a", EPOCH_CUT, "b"]
    long = scripted(env, long_script).key_by(lambda word: word)
    long_counts = long.reduce(lambda one, other: one + other).map(lambda word: ("long", word[0], len(word)))
    results = run_with_checkpoints(short.union(long_counts))
    assert sorted(results) == [
        *[("long", word, n) for word in "ab" for n in (1, 2, 3)],
        *[("short", "a", 1), ("short", "a", 2), ("short", "b", 1)],
    ]


@pytest.mark.feature("CK-18")
def test_checkpoints_are_complete_when_one_source_has_ended(make_env: MakeEnv, tmp_path: Path) -> None:
    script = [step for n in range(6) for step in ("x", EPOCH_CUT)]
    env = make_env(1, checkpointing(tmp_path))
    scripted(env, ["a"]).union(scripted(env, [*script, CRASH])).map(lambda each: each).add_sink(lambda _: None)
    done = completed(run(env, checkpoint_each_epoch()))
    assert [each.checkpoint_id for each in done] == [1, 2, 3, 4, 5]


@pytest.mark.feature("SB-09")
def test_records_flow_while_a_snapshot_is_being_written(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write = threading.Event()
    write = LocalFileStore.write

    def slow_write(self: LocalFileStore, name: str, *content: Any, **how: Any) -> None:
        if name.startswith("state/"):
            assert may_write.wait(30)
        write(self, name, *content, **how)

    monkeypatch.setattr(snapshot_writer, "_WRITE_AT_ONCE", 0)  # as if every snapshot were large
    monkeypatch.setattr(LocalFileStore, "write", slow_write)
    env = make_env(1, {"execution.checkpointing.interval": "1 ms", "execution.checkpointing.dir": str(tmp_path)})
    seen: queue.Queue[Any] = queue.Queue()
    source = Handed("a")
    _seen[id(seen)] = seen
    counts(source.stream(env)).add_sink(partial(_note, id(seen))).uid("sink")
    client = env.execute_async()
    assert seen.get(timeout=30) == ("a", 1)
    for number in range(2, 6):  # one epoch each, with a snapshot on its way all the time
        source.give("a")
        assert seen.get(timeout=30) == ("a", number)
    assert client.get_checkpoints() == []

    may_write.set()
    source.end()
    client.get_job_execution_result().result(30)

    assert client.get_checkpoints()


_seen: dict[int, queue.Queue[Any]] = {}


def _note(queue_id: int, value: Any) -> None:
    """Functions are pickled, queues are not: found again by number, in this process."""
    _seen[queue_id].put(value)
