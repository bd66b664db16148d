"""Coordinators at their own door: what the driver calls when, and what each of the engine's own makes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.common.watermark_strategy import WatermarkAlignment
from firesteel.errors import CommitError, JobFailedError
from firesteel.execution.coordinators import Coordinators, JobServices, SinkFailedError
from firesteel.execution.results import Place, SubtaskDone
from firesteel.model.coordinator import Coordinator, CoordinatorContext, EpochPlan
from firesteel.model.sink import CommitRequest, Committer, DriverSink
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator
from firesteel.plan.job_plan import JobPlan, PlannedCoordinator
from firesteel.runtime.coordination.loops import LoopCoordinator
from firesteel.runtime.coordination.results import ResultCoordinator
from firesteel.runtime.coordination.sinks import SinkCoordinator
from firesteel.runtime.coordination.sources import SourceCoordinator
from firesteel.runtime.epoch import SubtaskReport
from firesteel.runtime.failure import OperatorFailure, OperatorInfo
from firesteel.runtime.sinks import Prepared
from firesteel.runtime.source import SourceReport
from firesteel.state import codec
from firesteel.state.store import Manifest

WAIT = 10
EPOCH = EpochPlan(now=0, checkpoint_id=1, max_records=100)


class Bench:
    """Coordinators of a job, driven by hand: uid -> coordinator, in the order of levels."""

    def __init__(
        self,
        members: Mapping[str, Coordinator | Callable[[], Coordinator]],
        driver_sinks: Mapping[str, DriverSink] | None = None,
        replays: bool = True,
        parallelism: int = 1,
        tails: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.woken = threading.Event()
        planned = [
            PlannedCoordinator(
                info=OperatorInfo(uid, uid, "program.py:1"),
                level=level,
                parallelism=parallelism,
                factory=(lambda each=each: each) if isinstance(each, Coordinator) else each,
                listens_to=(uid, *(tails or {}).get(uid, ())),
            )
            for level, (uid, each) in enumerate(members.items())
        ]
        plan = JobPlan("job", (), tuple(planned), Configuration(), batch_mode=False)
        services = JobServices(driver_sinks or {}, self.woken.set, lambda: None, replays)
        self.all = Coordinators(plan, services)
        self.all.restore(None)

    def apply(self, *messages: tuple[str, Any], subtask: int = 0) -> None:
        """An epoch in which operators have reported."""
        self.all.apply([done(subtask, *messages)])

    def stored(self, checkpoint_id: int) -> Manifest:
        """A checkpoint of now, as it would be read back."""
        return Manifest("checkpoint", checkpoint_id, "job", 0, driver=self.all.snapshot(checkpoint_id))


def done(subtask: int, *messages: tuple[str, Any]) -> SubtaskDone:
    """What a subtask says at the end of an epoch."""
    report = SubtaskReport(0, subtask, {uid: codec.dumps(message) for uid, message in messages})
    return SubtaskDone(0, subtask, "1", report, Place("here", 1))


class Noting(Coordinator):
    """Writes down what it is told."""

    def __init__(self, name: str, journal: list[Any]) -> None:
        self.name, self.journal = name, journal

    def restore(self, checkpoint_id: int | None, state: Any | None) -> None:
        self.journal.append((self.name, "restore", checkpoint_id, state))

    def snapshot(self, checkpoint_id: int) -> str:
        return f"{self.name} at {checkpoint_id}"

    def committed(self, checkpoint_id: int) -> None:
        self.journal.append((self.name, checkpoint_id))


class First(Noting):
    first = True


def test_output_becomes_final_before_input_is_acknowledged_and_what_cannot_come_again_first() -> None:
    journal: list[Any] = []
    members = {
        "source": Noting("source", journal),
        "collect": First("collect", journal),
        "sink": Noting("sink", journal),
    }
    bench = Bench(members)
    journal.clear()
    bench.all.committed(3)
    assert journal == [("collect", 3), ("sink", 3), ("source", 3)]


def test_state_comes_back_by_kind_and_uid() -> None:
    journal: list[Any] = []
    bench = Bench({"a": Noting("a", journal), "b": Noting("b", journal)})
    manifest = bench.stored(4)
    assert manifest.driver == {"coordinators": {"a": "a at 4", "b": "b at 4"}}
    journal.clear()
    bench.all.restore(manifest)
    assert sorted(journal) == [("a", "restore", 4, "a at 4"), ("b", "restore", 4, "b at 4")]


class Broken(Noting):
    def poll(self, now: int) -> None:
        raise ValueError("no")


def test_what_a_coordinator_raises_names_its_operator() -> None:
    with pytest.raises(OperatorFailure) as failure:
        Bench({"numbers": Broken("numbers", [])}).all.poll(0)
    assert failure.value.info.name == "numbers"
    assert "ValueError: no" in str(failure.value)


# ---- call_async ------------------------------------------------------------------------------------------------------


class Asking(Noting):
    """Asks something slow whenever it is told to."""

    def __init__(self) -> None:
        super().__init__("asking", [])
        self.threads: set[str] = set()

    def ask(self, work: Callable[[], Any]) -> None:
        self.context.call_async(work, lambda result, error: self._heard(result, error))

    def _heard(self, result: Any, error: Exception | None) -> None:
        self.threads.add(threading.current_thread().name)
        self.journal.append(result if error is None else error)


def polled(bench: Bench, condition: Callable[[], bool]) -> None:
    """Poll as the driver does, which is woken by results."""
    while not condition():
        assert bench.woken.wait(WAIT)
        bench.woken.clear()
        bench.all.poll(0)


def test_slow_work_is_done_in_order_beside_the_loop_and_heard_of_in_it() -> None:
    asking = Asking()
    bench = Bench({"asking": asking})
    asking.journal.clear()
    workers: list[str] = []
    go = threading.Event()

    def slow(number: int) -> int:
        assert go.wait(WAIT)
        workers.append(threading.current_thread().name)
        return number

    for number in range(3):
        asking.ask(lambda number=number: slow(number))
    bench.all.poll(0)
    assert asking.journal == []
    go.set()
    polled(bench, lambda: len(asking.journal) == 3)
    assert asking.journal == [0, 1, 2]
    assert asking.threads == {threading.current_thread().name}
    assert set(workers).isdisjoint(asking.threads)
    bench.all.close()


def test_what_slow_work_raises_is_handed_over() -> None:
    asking = Asking()
    bench = Bench({"asking": asking})
    asking.journal.clear()
    asking.ask(lambda: 1 // 0)
    polled(bench, lambda: bool(asking.journal))
    assert isinstance(asking.journal[0], ZeroDivisionError)
    bench.all.close()


def test_nobody_hears_of_work_that_was_asked_for_before_a_failure() -> None:
    asking = Asking()
    bench = Bench({"asking": asking})
    asking.journal.clear()
    go = threading.Event()
    asking.ask(lambda: go.wait(WAIT))
    asking.ask(lambda: "also before")
    bench.all.roll_back(None)
    go.set()
    asking.ask(lambda: "after")
    polled(bench, lambda: bool(asking.journal))
    assert asking.journal == ["after"]
    bench.all.close()


# ---- two-phase sinks -------------------------------------------------------------------------------------------------

asked: list[list[CommitRequest]] = []
aborted: list[Any] = []
answers: list[Callable[[CommitRequest], None]] = []


class Remembering(Committer):
    """Notes what it is asked, and answers as the test wants; without that it commits."""

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        asked.append([CommitRequest(**vars(request)) for request in requests])
        answer = answers.pop(0) if answers else None
        for request in requests if answer is not None else ():
            answer(request)

    def abort(self, committables: Sequence[Any]) -> None:
        aborted.extend(committables)


@pytest.fixture
def sink() -> Bench:
    asked.clear(), aborted.clear(), answers.clear()
    return Bench({"sink": lambda: SinkCoordinator(codec.dumps(Remembering), retries=2)})


def numbers_asked() -> list[list[tuple[Any, int]]]:
    return [[(request.committable, request.checkpoint_id) for request in requests] for requests in asked]


def test_a_sink_commits_what_was_prepared_up_to_the_checkpoint_under_its_own_number(sink: Bench) -> None:
    sink.apply(("sink", Prepared(1, ["a"])))
    sink.apply(("sink", Prepared(2, ["b", "c"])))
    sink.apply(("sink", Prepared(3, ["d"])))
    sink.all.committed(2)  # checkpoint 1 was given up
    assert numbers_asked() == [[("a", 1), ("b", 2), ("c", 2)]]
    assert sink.all.snapshot(3) == {"sinks": {"sink": {3: ["d"]}}}
    sink.all.committed(2)
    assert len(asked) == 1


def test_after_a_failure_newer_output_is_aborted_and_older_committed_again(sink: Bench) -> None:
    sink.apply(("sink", Prepared(1, ["a"])))
    checkpoint = sink.stored(1)
    sink.apply(("sink", Prepared(2, ["b"])))
    sink.all.roll_back(1)
    assert aborted == ["b"]
    sink.all.restore(checkpoint)
    assert numbers_asked() == [[("a", 1)]]
    assert asked[0][0].recovered
    assert sink.all.snapshot(2) == {}


def test_without_a_checkpoint_everything_is_aborted(sink: Bench) -> None:
    sink.apply(("sink", Prepared(1, ["a"])))
    sink.all.roll_back(None)
    assert aborted == ["a"]


def test_what_is_put_off_stays_in_checkpoints_is_tried_again_and_keeps_the_job_open(sink: Bench) -> None:
    answers.append(CommitRequest.retry_later)
    sink.apply(("sink", Prepared(1, ["a"])))
    sink.all.committed(1)
    assert sink.all.unfinished()
    assert sink.all.snapshot(2) == {"sinks": {"sink": {1: ["a"]}}}
    for now in (100, 1099):
        sink.all.poll(now)
    assert len(asked) == 1
    assert sink.all.next_work_time(500) == 1100
    sink.all.poll(1100)
    assert asked[1][0].retries == 1
    assert not sink.all.unfinished()
    assert sink.all.snapshot(2) == {}
    assert sink.all.metrics()["sink"][-1].counters == {"retriedCommittables": 1}


def test_one_of_several_can_be_put_off_and_changed(sink: Bench) -> None:
    answers.append(lambda request: request.retry_later("b again") if request.committable == "b" else None)
    sink.apply(("sink", Prepared(1, ["a", "b"])))
    sink.all.committed(1)
    sink.apply(("sink", Prepared(2, ["c"])))
    sink.all.committed(2)
    assert numbers_asked()[1] == [("b again", 1), ("c", 2)]


def test_a_sink_that_puts_off_too_often_fails(sink: Bench) -> None:
    answers.extend([CommitRequest.retry_later] * 3)
    sink.apply(("sink", Prepared(1, ["a"])))
    sink.all.committed(1)
    sink.all.committed(1)
    with pytest.raises(CommitError, match=r"'sink' \(uid 'sink'\) .* put off 2 times.*sink.committer.retries.*'a'"):
        sink.all.committed(1)


def test_what_was_visible_before_is_counted(sink: Bench) -> None:
    answers.append(CommitRequest.already_committed)
    sink.all.restore(Manifest("checkpoint", 5, "job", 0, driver={"sinks": {"sink": {5: ["a"]}}}))
    assert sink.all.metrics()["sink"][-1].counters == {"alreadyCommittedCommittables": 1}


# ---- collected results -----------------------------------------------------------------------------------------------


class Taker:
    exactly_once = True

    def __init__(self) -> None:
        self.taken: list[Any] = []

    def accept(self, subtask: int, values: list[Any]) -> None:
        if "bad" in values:
            raise OSError("full")
        self.taken += values

    def finished(self, error: BaseException | None) -> None: ...


@pytest.mark.parametrize(("exactly_once", "replays"), [(True, True), (True, False), (False, True)])
def test_records_are_handed_out_when_they_cannot_come_again(exactly_once: bool, replays: bool) -> None:
    taker = Taker()
    bench = Bench({"collect": ResultCoordinator("id", exactly_once)}, {"id": taker}, replays)
    bench.all.orders(EpochPlan(0, checkpoint_id=1))
    bench.apply(("collect", [1]))
    bench.all.orders(EpochPlan(0, checkpoint_id=2))
    bench.apply(("collect", [2]))
    waits = exactly_once and replays
    assert taker.taken == ([] if waits else [1, 2])
    bench.all.committed(1)
    assert taker.taken == ([1] if waits else [1, 2])
    bench.all.roll_back(1)
    bench.all.restore(None)
    bench.all.committed(2)
    assert taker.taken == ([1] if waits else [1, 2])


def test_a_sink_in_the_driver_that_breaks_says_so_itself() -> None:
    bench = Bench({"collect": ResultCoordinator("id", False)}, {"id": Taker()})
    with pytest.raises(SinkFailedError, match=r"Taker, a sink in the driver, could not take .* OSError: full"):
        bench.apply(("collect", ["bad"]))


# ---- loops -----------------------------------------------------------------------------------------------------------


def test_a_loop_ends_in_two_steps_when_nothing_comes_back() -> None:
    bench = Bench({"head": LoopCoordinator()}, tails={"head": ("tail",)})
    bench.apply(("head", False), ("tail", b"one"))
    assert bench.all.orders(EPOCH)[0][0]["head"].chunks == [b"one"]
    phases = []
    for _ in range(3):
        bench.apply(("head", True))
        bench.all.has_work(0)
        order = bench.all.orders(EPOCH)[0][0]["head"]
        phases.append((order.release, order.close))
    assert phases == [(True, False), (True, True), (True, True)]
    with pytest.raises(JobFailedError, match="records came back to 'head'"):
        bench.apply(("head", True), ("tail", b"late"))


def test_a_loop_waits_for_records_in_another_one() -> None:
    bench = Bench({"a": LoopCoordinator(), "b": LoopCoordinator()}, tails={"a": ("x",), "b": ("y",)})
    bench.apply(("a", True), ("b", True), ("y", b"one"))
    assert not bench.all.orders(EPOCH)[0][0]["a"].release
    bench.apply(("a", True), ("b", True))
    assert bench.all.orders(EPOCH)[0][0]["a"].release


def test_records_on_their_way_back_are_dealt_out_anew_after_rescaling() -> None:
    bench = Bench({"head": LoopCoordinator()}, tails={"head": ("tail",)}, parallelism=3)
    results = [done(index, ("tail", bytes([index]))) for index in range(3)]
    bench.all.apply(results)
    narrow = Bench({"head": LoopCoordinator()}, tails={"head": ("tail",)}, parallelism=2)
    narrow.all.restore(bench.stored(1))
    orders = narrow.all.orders(EPOCH)[0]
    assert {index: order["head"].chunks for index, order in orders.items()} == {0: [b"\x00", b"\x02"], 1: [b"\x01"]}


# ---- sources ---------------------------------------------------------------------------------------------------------


class Splits(Source):
    """Has the splits that the test gives it."""

    def __init__(self, *names: str) -> None:
        self.enumerator = _Given(list(names))

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return self.enumerator

    def create_reader(self) -> SourceReader:
        return _NoReader()

    def initial_position(self, split: SourceSplit) -> int:
        return 0


class _NoReader(SourceReader):
    def read(self, split: SourceSplit, position: Any, max_records: int, now: int) -> ReadResult:
        raise AssertionError("nothing is read here")


class _Given(SplitEnumerator):
    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.context: CoordinatorContext | None = None
        self.committed_positions: list[dict[str, Any]] = []

    def open(self, context: CoordinatorContext) -> None:
        self.context = context

    def discover_splits(self, now: int) -> list[SourceSplit]:
        names, self.names = self.names, []
        return [SourceSplit(name) for name in names]

    def no_more_splits(self) -> bool:
        return False

    def committed(self, positions: dict[str, Any]) -> None:
        self.committed_positions.append(positions)


def test_a_source_tells_its_enumerator_the_positions_of_the_checkpoint_not_of_now() -> None:
    source = Splits("a", "b")
    bench = Bench({"source": SourceCoordinator(source)})
    assert source.enumerator.context is not None
    bench.all.poll(0)
    bench.apply(("source", SourceReport({"a": (10, False), "b": (5, True)}, records=15)))
    bench.all.snapshot(1)
    bench.apply(("source", SourceReport({"a": (20, False)}, records=10)))
    bench.all.committed(1)
    bench.all.committed(1)
    assert source.enumerator.committed_positions == [{"a": 10, "b": 5}]
    assert set(bench.all.snapshot(2)["sources"]["source"]["splits"]) == {"a"}  # b is done
    assert [intake.records for intake in bench.all.intakes()] == [{0: 10}]


def test_a_split_that_is_found_twice_is_an_error_of_its_source() -> None:
    source = Splits("a", "a")
    with pytest.raises(OperatorFailure, match="'source' has found split 'a' twice"):
        Bench({"source": SourceCoordinator(source)}).all.poll(0)


def test_sources_of_a_group_wait_for_each_other() -> None:
    alignment = WatermarkAlignment("group", max_drift_ms=100, update_interval_ms=1)
    fast, slow = (SourceCoordinator(Splits(name), alignment) for name in ("f", "s"))
    bench = Bench({"fast": fast, "slow": slow})
    bench.all.poll(0)
    bench.apply(
        ("fast", SourceReport({"f": (1, False)}, {"f": 1000})), ("slow", SourceReport({"s": (1, False)}, {"s": 10}))
    )
    bench.all.poll(10)
    orders = bench.all.orders(EpochPlan(10, 1))
    assert orders[0][0]["fast"].held_back == ["f"]
    assert [split.split_id for split, _ in orders[1][0]["slow"].splits] == ["s"]
