"""Jobs that fail and go on: restart strategies, what is restored, and stored state that cannot be used."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import RestartStrategies, WatermarkStrategy
from firesteel.datastream import DataStream, KeyedProcessFunction, MapFunction, RuntimeContext, RuntimeExecutionMode
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from firesteel.datastream.state import MapStateDescriptor
from firesteel.errors import CheckpointError, JobFailedError
from firesteel.execution import directory_lock
from firesteel.execution.directory_lock import DirectoryLock
from firesteel.state import filesystem
from firesteel.state.filesystem import file_store
from firesteel.state.store import CheckpointStore
from firesteel.state_processor import SavepointReader
from firesteel.testing import CRASH, EPOCH_CUT, use_clock
from tests.features.executors import MakeEnv, collect
from tests.features.kill_points import SqliteSink, sqlite_rows
from tests.features.saving import (
    NO_RESTART,
    WAIT,
    Handed,
    checkpoint_ids,
    checkpointing,
    counts,
    files_below,
    from_savepoint,
    run_with_checkpoints,
    save,
)
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted


class Fails(MapFunction):
    """Fails so many times at one record, each time with another message; the tries are counted on disk.

    :param kill: Kill the process instead.
    """

    def __init__(self, times: int, directory: Path, at: Any = "x", kill: bool = False) -> None:
        self.times, self.directory, self.at, self.kill = times, directory, at, kill

    def map(self, value: Any) -> Any:
        tries = len(list(self.directory.glob("try-*")))
        if value == self.at and tries < self.times:
            (self.directory / f"try-{tries}").touch()
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError(f"failure number {tries + 1}")
        return value


@pytest.mark.feature("RR-02")
def test_fixed_delay_restarts(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env()
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 100))
    assert run_with_checkpoints(counts(scripted(env, ["a", EPOCH_CUT, "x"]).map(Fails(3, tmp_path)))) == [
        ("a", 1),
        ("x", 1),
    ]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.feature("RR-02")
def test_a_failure_too_many(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env()
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    with pytest.raises(JobFailedError, match=r"^ValueError: failure number 4\n") as failure:
        run_with_checkpoints(scripted(env, ["a", EPOCH_CUT, "x"]).map(Fails(4, tmp_path)))
    assert "restarts: 3; the first failure was: ValueError: failure number 1" in str(failure.value)


@pytest.mark.feature("RR-02")
@pytest.mark.parametrize("enabled", [True, False])
def test_without_restarts_the_first_failure_is_the_end(make_env: MakeEnv, tmp_path: Path, enabled: bool) -> None:
    env = make_env(1, NO_RESTART if enabled else {})  # without checkpoints there are none unless asked for
    if enabled:
        env.enable_checkpointing(10)
    with pytest.raises(JobFailedError, match="failure number 1") as failure:
        collect(scripted(env, ["x"]).map(Fails(1, tmp_path)))
    assert "restarts" not in str(failure.value)


@pytest.mark.feature("RR-02")
def test_failure_rate(make_env: MakeEnv, tmp_path: Path) -> None:
    """Failures a minute apart are tolerated, the third within a minute is not. The clock moves when it is read."""
    for apart, survives in ((60_000, True), (10, False)):
        env = make_env()
        env.enable_checkpointing(10)
        env.set_restart_strategy(RestartStrategies.failure_rate_restart(2, 60_000, 0))
        clock = iter(range(0, 10**9, apart))
        stream = scripted(env, ["a", CRASH, CRASH, CRASH, "b"])
        with use_clock(clock.__next__), contextlib.ExitStack() as stack:
            if not survives:
                stack.enter_context(pytest.raises(JobFailedError, match="CRASH"))
            assert collect(stream) == ["a", "b"]


class Tells(MapFunction, CheckpointedFunction):
    """Writes down from which checkpoint it goes on."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        with self.path.open("a") as file:
            file.write(f"{self.name} {context.get_restored_checkpoint_id()}\n")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        return None

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.feature("RR-03")
def test_all_operators_go_back_to_one_checkpoint(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env(2))
    path = tmp_path / "journal"
    script = [step for n in range(5) for step in (n, EPOCH_CUT)]
    first = scripted(env, [*script, CRASH, 5, EPOCH_CUT, 6, CRASH, 7]).map(Tells(path, "first"))
    second = first.rebalance().map(Tells(path, "second"))
    results = run_with_checkpoints(second.key_by(lambda n: n).map(Tells(path, "third")))
    assert sorted(results) == list(range(8))
    told = [line.split() for line in path.read_text().splitlines()]
    starts = [told[begin : begin + len(told) // 3] for begin in range(0, len(told), len(told) // 3)]
    restored = [{number for _, number in start} for start in starts]
    assert restored[0] == {"None"}
    assert all(len(numbers) == 1 for numbers in restored)
    assert int(next(iter(restored[1]))) < int(next(iter(restored[2])))
    for start in starts:
        assert {name for name, _ in start} == {"first", "second", "third"}


class Sums(KeyedProcessFunction):
    """Keeps the sum and the last five numbers of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_map_state(MapStateDescriptor("sums"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.state.put("sum", (self.state.get("sum") or 0) + value)
        self.state.put("last", [*(self.state.get("last") or []), value][-5:])
        yield ctx.get_current_key(), self.state.get("sum")


@pytest.mark.feature("RR-05", "EO-01")
def test_a_hundred_failures_leave_no_trace(make_env: MakeEnv, tmp_path: Path) -> None:
    """The final keyed state, as read from a savepoint, is that of a run without failures, wherever the job failed."""
    numbers = list(range(60))

    def final_state(crashes: set[int], parallelism: int, directory: Path) -> dict[Any, Any]:
        env = recovering(make_env(parallelism, {"execution.checkpointing.dir": f"memory:/{directory}"}))
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(len(crashes) + 1, 0))
        script: list[Any] = []
        for number in numbers:
            script += [*[CRASH] * (number in crashes), number, *[EPOCH_CUT] * (number % 3 == 0)]
        keeps_open = Handed()
        stream = scripted(env, script).union(keeps_open.stream(env))
        totals = stream.key_by(lambda n: n % 7).process(Sums()).uid("sums")
        seen: list[Any] = []
        with use_clock(checkpoint_each_epoch()), totals.execute_and_collect() as results:
            while len(seen) < len(numbers):
                seen.append(next(results))
            path = results.get_job_client().stop_with_savepoint(False, str(directory)).result(WAIT)
        assert len(set(seen)) == len(numbers)
        return dict(SavepointReader.read(path).keyed_state("sums", "sums"))

    undisturbed = final_state(set(), 2, tmp_path / "undisturbed")
    assert {key: entries["sum"] for key, entries in undisturbed.items()} == {
        key: sum(n for n in numbers if n % 7 == key) for key in range(7)
    }
    dice = random.Random(5)
    for run in range(25):
        crashes = set(dice.sample(numbers, 4))
        assert final_state(crashes, dice.choice([1, 2, 3]), tmp_path / str(run)) == undisturbed


@pytest.mark.feature("RT-08")
@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2)])
def test_a_checkpoint_is_taken_up_with_another_parallelism(
    make_env: MakeEnv, tmp_path: Path, before: int, after: int
) -> None:
    words = [f"w{n % 11}" for n in range(66)]
    script = [*words[:33], EPOCH_CUT, EPOCH_CUT, CRASH, *words[33:]]
    with pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(counts(scripted(make_env(before, checkpointing(tmp_path)), script)))
    script.remove(CRASH)
    results = run_with_checkpoints(counts(scripted(make_env(after, checkpointing(tmp_path)), script)))
    assert sorted(results) == sorted((f"w{n}", count) for n in range(11) for count in (4, 5, 6))


# --- BATCH --------------------------------------------------------------------------------------------------


def batch_job(make_env: MakeEnv, directory: Path, sink: Path, kill: bool) -> DataStream:
    """Sums of 0 to 999 by key; fails once, in the middle. Checkpoints are asked for, in vain."""
    env = make_env(2, {"execution.checkpointing.dir": str(directory / "chk"), "firesteel.epoch.max-records": 50})
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    numbers = env.from_source(NumberSequenceSource(0, 999), WatermarkStrategy.no_watermarks(), "numbers")
    mended = numbers.map(Fails(1, directory, at=450, kill=kill))
    mended.sink_to(SqliteSink(sink))
    return mended.key_by(lambda n: n % 3).reduce(lambda a, b: a + b)


@pytest.mark.feature("BB-04")
@pytest.mark.parametrize("executor", ["in-process", "spark"], indirect=True)
def test_a_batch_job_recovers_by_reading_again(make_env: MakeEnv, tmp_path: Path, executor: str) -> None:
    job = batch_job(make_env, tmp_path, tmp_path / "db", kill=executor == "spark")
    assert sorted(run_with_checkpoints(job)) == sorted(sum(range(key, 1000, 3)) for key in range(3))
    assert (tmp_path / "try-0").exists()
    assert not (tmp_path / "chk").exists()
    assert sqlite_rows(tmp_path / "db") == list(range(1000))


@pytest.mark.feature("BB-04")
def test_a_batch_job_hands_out_its_results_once(make_env: MakeEnv, tmp_path: Path, monkeypatch: Any) -> None:
    """What was computed before the failure is computed again, and seen once; there is no directory in secret either."""
    made: list[str] = []
    monkeypatch.setattr("firesteel.execution.checkpoints.process_folder", made.append)
    env = make_env(1, {"firesteel.epoch.max-records": 5})
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    numbers = env.from_source(NumberSequenceSource(0, 99), WatermarkStrategy.no_watermarks(), "numbers")
    assert run_with_checkpoints(numbers.map(Fails(1, tmp_path, at=60))) == list(range(100))
    assert made == []
    numbers.print()
    assert "state" not in env.get_execution_plan().replace(__file__, "").lower()


# --- stored state that cannot be used -----------------------------------------------------------------------

SCRIPT = ["a", EPOCH_CUT, "b", EPOCH_CUT, "a", EPOCH_CUT, CRASH, "a"]


def failed_job(make_env: MakeEnv, directory: Path, **options: Any) -> None:
    with pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(counts(scripted(make_env(1, checkpointing(directory, **options)), SCRIPT)))


def mended_job(make_env: MakeEnv, directory: Path, **options: Any) -> list[Any]:
    script = [step for step in SCRIPT if step is not CRASH]
    return run_with_checkpoints(counts(scripted(make_env(1, checkpointing(directory, **options)), script)))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace(path: Path) -> None:
    path.write_bytes(b"\x42\x10\x74\x2f" + bytes(100))


@pytest.mark.feature("RR-04")
@pytest.mark.parametrize("damage", [cut, change, empty, replace, Path.unlink])
@pytest.mark.parametrize("pattern", ["chk-*/_metadata", "state/*-1-0-*.state"], ids=["manifest", "state file"])
def test_a_damaged_checkpoint_is_refused_and_left_alone(
    make_env: MakeEnv, tmp_path: Path, damage: Any, pattern: str
) -> None:
    failed_job(make_env, tmp_path)
    damaged = sorted(tmp_path.glob(pattern))[0]
    damage(damaged)
    before = files_below(tmp_path)
    with pytest.raises(JobFailedError) as failure:
        mended_job(make_env, tmp_path, **{"restart-strategy.type": "fixed-delay"})
    assert isinstance(failure.value.__cause__, CheckpointError)
    message = str(failure.value)
    assert damaged.name in message
    assert any(word in message for word in ("damaged", "cut off", "missing", "not written by", "not a Firesteel"))
    assert files_below(tmp_path) == before


@pytest.mark.feature("RR-04")
def test_another_checkpoint_is_chosen_when_one_is_damaged(make_env: MakeEnv, tmp_path: Path) -> None:
    failed_job(make_env, tmp_path, **{"execution.checkpointing.num-retained": 5})
    first, *_, last = checkpoint_ids(tmp_path)
    cut(tmp_path / f"chk-{last}" / "_metadata")
    with pytest.raises(JobFailedError, match=rf"chk-{last}/_metadata is damaged.*set execution.state-recovery.path"):
        mended_job(make_env, tmp_path)
    # From the first checkpoint, which was taken after two records, the third one is counted again.
    assert mended_job(make_env, tmp_path, **from_savepoint(f"{tmp_path}/chk-{first}")) == [("a", 2), ("a", 3)]


@pytest.mark.feature("RR-04")
@pytest.mark.parametrize(
    ("sign", "message"),
    [("_metadata", "it is a savepoint"), ("offsets", "it is the checkpoint location of a Spark streaming query")],
)
def test_a_directory_of_another_kind_is_refused(make_env: MakeEnv, tmp_path: Path, sign: str, message: str) -> None:
    if sign == "_metadata":
        path, _ = save(counts(Handed("a").stream(make_env())), tmp_path)
        directory = Path(path)
    else:
        directory = tmp_path / "query"
        (directory / "offsets").mkdir(parents=True)
        (directory / "state").mkdir()
        (directory / "state" / "1.delta").write_text("theirs")
    before = files_below(tmp_path)
    with pytest.raises(JobFailedError, match=message):
        mended_job(make_env, directory)
    assert files_below(tmp_path) == before


@pytest.mark.feature("RR-04")
def test_files_of_others_in_the_directory_stay(make_env: MakeEnv, tmp_path: Path) -> None:
    theirs = {"notes.txt": b"1", "state/model.bin": b"2", "chk-latest/info": b"3"}
    for name, content in theirs.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    failed_job(make_env, tmp_path)
    assert mended_job(make_env, tmp_path) == [("a", 3)]
    assert files_below(tmp_path) == theirs


@pytest.mark.feature("RR-04")
@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_a_second_job_is_locked_out(make_env: MakeEnv, tmp_path: Path, scheme: str) -> None:
    location = str(tmp_path) if scheme == "file" else f"memory:/{tmp_path}"
    options = checkpointing(tmp_path, **{"execution.checkpointing.dir": location})
    source = Handed("a")
    with counts(source.stream(make_env(1, options))).execute_and_collect() as results:
        assert next(results) == ("a", 1)
        for _ in range(2):  # being refused does not open the lock
            with pytest.raises(JobFailedError, match="another job is using the checkpoint directory"):
                collect(counts(Handed("z", ended=True).stream(make_env(1, options))))
        source.give("a")
        source.end()
        assert list(results) == [("a", 2)]
    assert collect(counts(Handed("z", ended=True).stream(make_env(1, options)))) == [("z", 1)]


@pytest.mark.feature("RR-04")
def test_a_checkpoint_directory_that_is_deleted_ends_the_job_with_the_next_checkpoint(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    """At once, and not after restarts that could go on from nothing."""
    directory = tmp_path / "checkpoints"

    def delete(word: str) -> str:
        if word == "delete":
            shutil.rmtree(directory)
        return word

    env = recovering(make_env(1, {"execution.checkpointing.dir": str(directory)}))
    words = scripted(env, ["a", EPOCH_CUT, "b", EPOCH_CUT, "delete", EPOCH_CUT, "c", EPOCH_CUT, "d"])
    with pytest.raises(JobFailedError, match="deleted or replaced while the job was using it") as failure:
        run_with_checkpoints(words.map(delete))
    assert "restarts:" not in str(failure.value)
    assert CheckpointStore(str(directory)).checkpoint_ids() == []


@pytest.mark.feature("RR-04")
def test_a_lease_runs_out(tmp_path: Path) -> None:
    files = file_store(f"memory:/{tmp_path}")
    dead, other = DirectoryLock(files), DirectoryLock(files)
    dead.acquire(1000)
    with pytest.raises(CheckpointError, match="another job"):
        other.acquire(1000 + directory_lock._LEASE_MS - 1)
    other.acquire(1000 + directory_lock._LEASE_MS)
    assert other.held


# --- a full disk --------------------------------------------------------------------------------------------


class FullDisk:
    """Lets so many bytes be written, then says that there is no space left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refuse: str) -> None:
        self.refuse = refuse
        self.full = False
        self._replace = filesystem.os.replace
        monkeypatch.setattr(filesystem.os, "fsync", self._fsync)
        monkeypatch.setattr(filesystem.os, "replace", self._rename)

    def _fsync(self, descriptor: int) -> None:
        return None

    def _rename(self, temporary: str, path: str) -> None:
        if self.full and self.refuse in path:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._replace(temporary, path)


class FillsDisk(MapFunction):
    """The record "full" fills the disk, "free" frees it."""

    disk: Any = None

    def map(self, value: Any) -> Any:
        if FillsDisk.disk is not None and value in ("full", "free"):
            FillsDisk.disk.full = value == "full"
        return value


@pytest.mark.feature("RR-04")
@pytest.mark.parametrize("refuse", [".state", "_metadata"])
def test_a_full_disk_is_a_checkpoint_that_failed(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, refuse: str
) -> None:
    FillsDisk.disk = FullDisk(monkeypatch, refuse)
    env = make_env(1, checkpointing(tmp_path / "chk"))
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(5)
    script = ["a", EPOCH_CUT, "a", EPOCH_CUT, "full", EPOCH_CUT, "a", EPOCH_CUT, "free", EPOCH_CUT, "a", EPOCH_CUT]
    words = scripted(env, [*script, CRASH]).map(FillsDisk())
    words.sink_to(SqliteSink(tmp_path / "db"))
    with caplog.at_level(logging.WARNING), pytest.raises(JobFailedError, match="CRASH"):
        run_with_checkpoints(counts(words))
    assert "No space left on device" in caplog.text
    [last] = checkpoint_ids(tmp_path / "chk")
    state = dict(SavepointReader.read(f"{tmp_path}/chk/chk-{last}").keyed_state("counts", "count"))
    assert state == {"a": 4, "full": 1, "free": 1}
    # What waited for the checkpoints that failed was committed with the next one, once.
    assert Counter(sqlite_rows(tmp_path / "db")) == Counter({"a": 4, "full": 1, "free": 1})
    assert not list((tmp_path / "chk").rglob("*.part"))


@pytest.mark.feature("RR-04")
@pytest.mark.parametrize("refuse", [".state", "_metadata"])
def test_a_full_disk_leaves_the_last_checkpoint_as_it_was(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuse: str
) -> None:
    disk = FillsDisk.disk = FullDisk(monkeypatch, refuse)
    script = ["a", EPOCH_CUT, "b", EPOCH_CUT, "full", EPOCH_CUT, "a"]
    with pytest.raises(JobFailedError, match="No space left on device"):
        run_with_checkpoints(counts(scripted(make_env(1, checkpointing(tmp_path)), script).map(FillsDisk())))
    assert len(checkpoint_ids(tmp_path)) == 1
    disk.full = False
    script[4] = "free"
    job = counts(scripted(make_env(1, checkpointing(tmp_path)), script).map(FillsDisk()))
    assert run_with_checkpoints(job) == [("free", 1), ("a", 2)]


@pytest.mark.feature("RR-04")
def test_a_full_disk_leaves_nothing_of_a_savepoint(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch, "")
    source = Handed("a")
    with counts(source.stream(make_env())).execute_and_collect() as results:
        client = results.get_job_client()
        disk.full = True
        with pytest.raises(CheckpointError, match=r"could not be written: .*No space left on device"):
            client.stop_with_savepoint(False, str(tmp_path)).result(WAIT)
        assert list(tmp_path.iterdir()) == []
        disk.full = False
        source.give("a")
        source.end()
        assert list(results) == [("a", 1), ("a", 2)]  # the job has gone on
