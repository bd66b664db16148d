"""Source functions: life cycle, backpressure, the checkpoint lock, state."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest

from firesteel.common import Types
from firesteel.common.watermark_strategy import Watermark
from firesteel.connectors.source_function import SourceFunctionSource
from firesteel.errors import CheckpointError, ConfigurationError, NoKeyError, ProgramError, SerializationError
from firesteel.model.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ParallelSourceFunction,
    RuntimeContext,
    SourceFunction,
)
from firesteel.model.state import ListStateDescriptor
from tests.unit.connectors.driver_readers import PATIENCE, Driven, values_of

Context = SourceFunction.SourceContext


class Count(SourceFunction):
    """Emits 0, 1, ... below a limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.running = True

    def run(self, ctx: Context) -> None:
        for number in range(self.limit):
            if not self.running:
                return
            ctx.collect(number)

    def cancel(self) -> None:
        self.running = False


def test_gives_what_run_emits_and_ends_when_it_returns() -> None:
    with Driven(SourceFunctionSource(Count(10))) as driven:
        assert driven.take_all(max_records=3) == list(range(10))
        assert driven.state is None


def test_collect_waits_while_the_buffer_is_full() -> None:
    with Driven(SourceFunctionSource(Count(500), buffer_records=5)) as driven:
        driven.wait()
        assert driven.take_all(max_records=7) == list(range(500))


class Marks(SourceFunction):
    def run(self, ctx: Context) -> None:
        ctx.collect("a")
        ctx.collect_with_timestamp("b", 5)
        ctx.collect_with_timestamp("c", 6)
        ctx.emit_watermark(Watermark(4))
        ctx.mark_as_temporarily_idle()
        ctx.mark_as_temporarily_idle()
        ctx.emit_watermark(7)
        ctx.collect("d")

    def cancel(self) -> None: ...


def test_records_timestamps_watermarks_and_idleness_keep_their_order() -> None:
    with Driven(SourceFunctionSource(Marks())) as driven:
        driven.take_all()
    assert driven.entries == [
        ("records", ["a"], None),
        ("records", ["b", "c"], [5, 6]),
        ("watermark", 4),
        ("idle",),
        ("active",),
        ("watermark", 7),
        ("records", ["d"], None),
    ]


class Endless(SourceFunction):
    calls: ClassVar[list[str]] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.running = True
        self.calls.append(f"open {runtime_context.get_index_of_this_subtask()}")
        assert self.get_runtime_context() is runtime_context

    def run(self, ctx: Context) -> None:
        while self.running:
            ctx.collect(1)
        self.calls.append("run returns")

    def cancel(self) -> None:
        self.running = False
        self.calls.append("cancel")

    def close(self) -> None:
        self.calls.append("close")


@pytest.fixture
def calls() -> list[str]:
    Endless.calls = []
    return Endless.calls


def test_closing_cancels_once_waits_for_run_and_closes_the_function(calls: list[str]) -> None:
    driven = Driven(SourceFunctionSource(Endless(), buffer_records=3))
    driven.wait()
    driven.reader.close()
    driven.reader.close()
    assert calls[0] == "open 0"
    assert sorted(calls[1:-1]) in (["cancel"], ["cancel", "run returns"])  # it may have waited for room
    assert calls[-1] == "close"


def test_a_subtask_that_was_never_opened_can_be_closed(calls: list[str]) -> None:
    SourceFunctionSource(Endless()).create_driver_reader(0, 1).close()
    assert calls == []


def test_a_function_that_has_ended_is_not_cancelled(calls: list[str]) -> None:
    with Driven(SourceFunctionSource(EndsAtOnce())) as driven:
        driven.take_all()
    assert calls == ["open 0", "run returns", "close"]


class EndsAtOnce(Endless):
    def run(self, ctx: Context) -> None:
        self.calls.append("run returns")


class Deaf(SourceFunction):
    threads: ClassVar[list[threading.Thread]] = []

    def run(self, ctx: Context) -> None:
        self.threads.append(threading.current_thread())
        while True:
            try:
                ctx.collect(1)
            except Exception:  # an engine's sign to stop must not be caught like this
                raise AssertionError("collect raised an Exception") from None

    def cancel(self) -> None: ...


def test_a_function_that_ignores_cancel_ends_when_it_emits() -> None:
    Deaf.threads.clear()
    with Driven(SourceFunctionSource(Deaf(), buffer_records=3)) as driven:
        driven.take_until(10)
    Deaf.threads[0].join(PATIENCE)
    assert not Deaf.threads[0].is_alive()


class Stuck(SourceFunction):
    release: ClassVar[threading.Event] = threading.Event()

    def run(self, ctx: Context) -> None:
        self.release.wait(PATIENCE)

    def cancel(self) -> None: ...


def test_a_function_that_does_not_return_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    Stuck.release.clear()
    Driven(SourceFunctionSource(Stuck(), close_timeout=0.01)).reader.close()
    Stuck.release.set()
    assert "Stuck has not returned 0.01 s after cancel()" in caplog.text


class Broken(Count):
    def run(self, ctx: Context) -> None:
        super().run(ctx)
        raise ValueError("no more luck")


def test_errors_in_run_come_out_of_take_and_is_finished() -> None:
    with Driven(SourceFunctionSource(Broken(0))) as driven:
        driven.wait()
        with pytest.raises(ValueError, match="no more luck"):
            driven.reader.is_finished()
        with pytest.raises(ValueError, match="no more luck"):
            driven.reader.take(1)


class Checkpointed(ParallelSourceFunction, CheckpointedFunction, CheckpointListener):
    """Counts to a limit under the checkpoint lock; ``first`` says what comes first, the record or the offset."""

    def __init__(self, limit: int, first: str = "collect", section: int = 1) -> None:
        self.limit = limit
        self.first = first
        self.section = section
        self.offset = 0
        self.running = True
        self.snapshots: list[int] = []
        self.completed: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("offset", Types.LONG()))
        if context.is_restored():
            self.offset = sum(self.state.get())
            self.snapshots.append(context.get_restored_checkpoint_id() or 0)
        with pytest.raises(NoKeyError):
            context.get_keyed_state_store()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update([self.offset])
        self.snapshots.append(context.get_checkpoint_id())
        assert context.get_checkpoint_timestamp() > 0

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.completed.append(checkpoint_id)

    def run(self, ctx: Context) -> None:
        while self.running and self.offset < self.limit:
            with ctx.get_checkpoint_lock():
                for _ in range(self.section):
                    self.emit_one(ctx)

    def emit_one(self, ctx: Context) -> None:
        number = self.offset
        if self.first == "collect":
            ctx.collect(number)
        self.offset += 1
        if self.first == "offset":
            ctx.collect(number)

    def cancel(self) -> None:
        self.running = False


def offset_in(state: dict[str, Any]) -> int:
    return sum(state["operator_state"]["offset"][1])


@pytest.mark.feature("SS-06")
@pytest.mark.parametrize("first", ["collect", "offset"])
@pytest.mark.parametrize("max_records", [1, 7, 1_000])
def test_no_snapshot_shows_an_offset_ahead_of_or_behind_the_records(first: str, max_records: int) -> None:
    source = SourceFunctionSource(Checkpointed(400, first), buffer_records=5)
    assert source.parallel and source.replayable and source.guarantee == "exactly-once"
    subtasks = [Driven(source, None, index, 2) for index in range(2)]
    for driven in subtasks:
        while driven.take_next(max_records):
            if driven.state is not None:
                waiting = values_of(driven.state["waiting"])
                assert offset_in(driven.state) == len(driven.values) + len(waiting)
        assert driven.values == list(range(400))
        driven.reader.close()


@pytest.mark.parametrize("cut", [1, 50, 133])
def test_a_restored_function_goes_on_without_gap_or_repeat(cut: int) -> None:
    source = SourceFunctionSource(Checkpointed(200), buffer_records=20)
    with Driven(source) as before:
        before.take_until(cut, max_records=3)
    with Driven(source, before.state) as after:
        assert before.values + after.take_all() == list(range(200))


def test_a_section_larger_than_the_buffer_neither_deadlocks_nor_tears() -> None:
    source = SourceFunctionSource(Checkpointed(300, section=100), buffer_records=5)
    with Driven(source) as driven:
        while driven.take_next(max_records=30):
            if driven.state is not None:
                assert offset_in(driven.state) % 100 == 0
                assert offset_in(driven.state) == len(driven.values) + len(values_of(driven.state["waiting"]))
        assert driven.values == list(range(300))


def test_a_section_without_end_is_an_error() -> None:
    source = SourceFunctionSource(Checkpointed(10**9, section=10**9), buffer_records=100, lock_records=1_000)
    with Driven(source) as driven:
        driven.wait()
        with pytest.raises(ProgramError, match=r"Checkpointed has emitted .* without releasing the checkpoint lock"):
            for _ in range(1_000):
                driven.take()
                driven.wait()


class Holds(Checkpointed):
    """Holds the lock after a record until it is told to go on."""

    emitted: ClassVar[threading.Event] = threading.Event()
    go_on: ClassVar[threading.Event] = threading.Event()

    def emit_one(self, ctx: Context) -> None:
        super().emit_one(ctx)
        self.emitted.set()
        self.go_on.wait(PATIENCE)


def test_while_the_lock_is_held_nothing_is_handed_over_and_its_release_wakes_the_engine() -> None:
    Holds.emitted.clear()
    Holds.go_on.clear()
    with Driven(SourceFunctionSource(Holds(1))) as driven:
        assert Holds.emitted.wait(PATIENCE)
        assert driven.reader.has_data()
        assert driven.take() == [] and driven.state is None
        assert not driven.reader.has_data(), "no epoch can get further before the lock is released"
        assert not driven.reader.is_finished()
        driven.woken.clear()
        Holds.go_on.set()
        driven.wait()
        assert driven.take_all() == [0]


def test_a_function_is_told_of_complete_checkpoints_by_the_number_of_its_snapshot() -> None:
    with Driven(SourceFunctionSource(Checkpointed(3))) as driven:
        driven.take_all()
        driven.reader.checkpoint_complete(41)
        function = driven.reader._function  # type: ignore[attr-defined]
        assert function.completed == function.snapshots[-1:] == [driven.state["snapshots"]]


class Duck:
    """Has all the methods and none of the base classes."""

    def __init__(self) -> None:
        self.offset = 0

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("offset", Types.LONG()))
        self.offset = sum(self.state.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update([self.offset])

    def run(self, ctx: Context) -> None:
        with ctx.get_checkpoint_lock():
            ctx.collect(self.offset)
            self.offset += 1

    def cancel(self) -> None: ...


@pytest.mark.feature("EX-45")
def test_state_methods_are_found_without_a_base_class() -> None:
    source = SourceFunctionSource(Duck())  # type: ignore[arg-type]
    assert source.replayable
    with Driven(source) as first:
        assert first.take_all() == [0]
    with Driven(source, first.state) as second:
        assert second.take_all() == [1]


def test_states_of_all_former_subtasks_are_dealt_out_when_the_parallelism_changes() -> None:
    source = SourceFunctionSource(Checkpointed(20), buffer_records=10)
    states = []
    for index in range(3):
        with Driven(source, None, index, 3) as driven:
            driven.take_until(5, max_records=1)
            states.append(driven.state)
    assert any(state["waiting"] for state in states)
    restored = []
    for index in range(2):
        with Driven(source, states, index, 2) as driven:
            driven.take_until(1)
            restored.append(driven)
    waiting = [value for state in states for value in values_of(state["waiting"])]
    assert waiting
    taken = [value for driven in restored for value in driven.values]
    assert all(taken.count(value) >= waiting.count(value) for value in waiting)


def test_subtasks_that_had_no_state_are_left_out_when_restoring() -> None:
    source = SourceFunctionSource(Checkpointed(8))
    with Driven(source) as driven:
        driven.take_until(3)
    with Driven(source, [None, driven.state], 0, 1) as restored:
        assert driven.values + restored.take_all() == list(range(8))
    with Driven(source, [None], 0, 1) as empty:
        assert empty.take_all() == list(range(8))


def test_a_state_of_another_version_is_refused() -> None:
    state = {"version": 99, "snapshots": 1, "operator_state": {}, "waiting": []}
    with pytest.raises(CheckpointError, match="version 99"):
        Driven(SourceFunctionSource(Checkpointed(1)), state)


def test_each_subtask_has_its_own_copy() -> None:
    function = Checkpointed(5)
    source = SourceFunctionSource(function)
    function.limit = 0
    with Driven(source, None, 0, 2) as first, Driven(source, None, 1, 2) as second:
        assert first.take_all() == second.take_all() == list(range(5))


def test_local_classes_and_lambdas_are_fine() -> None:
    class Local(Count):
        make: Any = staticmethod(lambda number: -number)

        def run(self, ctx: Context) -> None:
            ctx.collect(self.make(self.limit))

    with Driven(SourceFunctionSource(Local(3))) as driven:
        assert driven.take_all() == [-3]


def test_only_parallel_functions_run_in_parallel() -> None:
    with pytest.raises(ProgramError, match=r"Count is not parallel.* parallelism 2"):
        SourceFunctionSource(Count(1)).create_driver_reader(0, 2)
    SourceFunctionSource(Count(1), parallel=True).create_driver_reader(0, 2)


def test_without_state_methods_it_is_not_replayable() -> None:
    source = SourceFunctionSource(Count(1))
    assert (source.replayable, source.guarantee, source.parallel) == (False, "none", False)


def test_refuses_what_is_no_source_function_and_what_cannot_be_copied() -> None:
    with pytest.raises(ConfigurationError, match="without run"):
        SourceFunctionSource(object())  # type: ignore[arg-type]
    function = Count(1)
    function.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(SerializationError, match=r"Count.*lock"):
        SourceFunctionSource(function)
