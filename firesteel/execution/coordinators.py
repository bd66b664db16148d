"""All coordinators of a job: called between epochs, each under the name of its operator."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from firesteel.errors import CommitError, FiresteelError, JobFailedError
from firesteel.execution.results import SubtaskDone
from firesteel.metrics import MetricGroup, MetricSnapshot
from firesteel.model.coordinator import Coordinator, CoordinatorContext, EpochPlan, Intake, OperatorReport
from firesteel.model.sink import DriverSink
from firesteel.plan.job_plan import JobPlan, PlannedCoordinator
from firesteel.runtime.coordination.sinks import SINKS, shortened
from firesteel.runtime.failure import OperatorFailure, OperatorInfo, is_from_outside
from firesteel.state import codec
from firesteel.state.store import Manifest

log = logging.getLogger("firesteel.coordinators")
_T = TypeVar("_T")
_IN_DRIVER = -1
"""The subtask under which metrics of a coordinator itself are kept."""

Orders = dict[int, dict[int, dict[str, Any]]]
"""Level -> subtask -> operator uid -> order."""


class SinkFailedError(FiresteelError):
    """A sink in the driver would not take its records. They cannot be offered again, so the job is not restarted."""

    def __init__(self, sink: DriverSink, error: Exception) -> None:
        super().__init__(
            f"{type(sink).__name__}, a sink in the driver, could not take the records of an epoch: "
            f"{type(error).__name__}: {error}. The job is not restarted: the records would be lost"
        )


class _Helper:
    """A thread that does the slow things of one coordinator, and hands the results back to the driver's loop."""

    def __init__(self, name: str, wake: Callable[[], None]) -> None:
        self._name = name
        self._wake = wake
        self._work: SimpleQueue[tuple[int, Callable[[], Any], Callable[..., None]] | None] = SimpleQueue()
        self._done: deque[tuple[int, Callable[[], None]]] = deque()
        self._thread: threading.Thread | None = None
        self._run = 0

    def call(self, work: Callable[[], _T], then: Callable[[_T | None, Exception | None], None]) -> None:
        """Do something in the thread."""
        if self._thread is None:
            # A daemon: something that waits for ever must not keep the program from ending.
            own = copy_context()  # what the job's thread has been told, such as how it reaches S3
            self._thread = threading.Thread(target=own.run, args=(self._loop,), daemon=True)
            self._thread.name = f"firesteel-{self._name}"
            self._thread.start()
        self._work.put((self._run, work, then))

    def _loop(self) -> None:
        while (task := self._work.get()) is not None:
            run, work, then = task
            if run == self._run:
                self._done.append((run, _outcome(work, then)))
                self._wake()

    def hand_back(self) -> None:
        """Call what waits for results that have come."""
        while self._done:
            run, tell = self._done.popleft()
            if run == self._run:
                tell()

    def forget(self) -> None:
        """Nobody waits any more for what has been asked so far."""
        self._run += 1

    def close(self) -> None:
        """End the thread as soon as it is free."""
        self.forget()
        self._work.put(None)


def _outcome(work: Callable[[], _T], then: Callable[[_T | None, Exception | None], None]) -> Callable[[], None]:
    try:
        result = work()
    except Exception as error:
        failure = error
        return lambda: then(None, failure)
    return lambda: then(result, None)


class _Context(CoordinatorContext):
    """What one coordinator is given."""

    def __init__(self, planned: PlannedCoordinator, job: JobServices, job_parameters: Mapping[str, str]) -> None:
        self._planned = planned
        self._job = job
        self._job_parameters = job_parameters
        self.helper = _Helper(planned.info.name, job.wake)
        self.groups: dict[int, MetricGroup] = {}

    @property
    def uid(self) -> str:
        return self._planned.info.uid

    @property
    def name(self) -> str:
        return self._planned.info.name

    @property
    def call_site(self) -> str:
        return self._planned.info.call_site

    @property
    def parallelism(self) -> int:
        return self._planned.parallelism

    @property
    def job_parameters(self) -> Mapping[str, str]:
        return self._job_parameters

    @property
    def replays(self) -> bool:
        return self._job.replays

    @property
    def metrics(self) -> MetricGroup:
        return self.metrics_of(_IN_DRIVER)

    def metrics_of(self, subtask: int) -> MetricGroup:
        return self.groups.setdefault(subtask, MetricGroup())

    @property
    def shared(self) -> MutableMapping[str, Any]:
        return self._job.shared

    def hand_out(self, collector_id: str, subtask: int, values: list[Any]) -> None:
        sink = self._job.driver_sinks[collector_id]
        self._job.make_room()  # what is printed begins at the beginning of a line
        try:
            sink.accept(subtask, values)
        except Exception as error:
            raise SinkFailedError(sink, error) from error

    def wake(self) -> None:
        self._job.wake()

    def call_async(self, work: Callable[[], _T], then: Callable[[_T | None, Exception | None], None]) -> None:
        self.helper.call(work, then)


@dataclass
class JobServices:
    """What the driver does for the coordinators of its job.

    :param replays: Whether the job may go back: to a checkpoint, or in BATCH mode to the beginning.
    :param make_room: Called before the program's own output.
    """

    driver_sinks: Mapping[str, DriverSink]
    wake: Callable[[], None]
    make_room: Callable[[], None]
    replays: bool
    shared: dict[str, Any] = field(default_factory=dict)


class _Member:
    """A coordinator with its place in the plan."""

    def __init__(self, planned: PlannedCoordinator, job: JobServices, job_parameters: Mapping[str, str]) -> None:
        self.planned = planned
        self.context = _Context(planned, job, job_parameters)
        self.coordinator: Coordinator = planned.factory()

    @property
    def uid(self) -> str:
        return self.planned.info.uid

    @contextmanager
    def named(self) -> Iterator[Coordinator]:
        """What a coordinator raises names the operator and the line that made it, as in a task."""
        with _named(self.planned.info):
            yield self.coordinator


class Coordinators:
    """The coordinators of one job, from the first run to the end."""

    def __init__(self, plan: JobPlan, job: JobServices) -> None:
        self._members = [_Member(planned, job, plan.job_parameters) for planned in plan.coordinators]
        from_the_end = list(reversed(self._members))
        self._from_the_end = sorted(from_the_end, key=lambda member: not member.coordinator.first)
        """Output becomes visible before input is acknowledged, and what cannot come again is handed out first."""
        self._listener = {uid: member for member in self._members for uid in member.planned.listens_to}
        self._unknown: set[str] = set()
        for member in self._members:
            with member.named() as coordinator:
                coordinator.open(member.context)

    @property
    def commits(self) -> bool:
        """Whether there is one that needs epochs to become final."""
        return any(member.coordinator.commits for member in self._members)

    # --- runs ---------------------------------------------------------------------------------------

    def restore(self, manifest: Manifest | None) -> None:
        """A run begins: from a checkpoint, or from nothing."""
        stored = {} if manifest is None else manifest.driver
        checkpoint_id = None if manifest is None else manifest.checkpoint_id
        for uid, committables in stored.get(SINKS, {}).items():
            self._leave_alone(uid, [each for prepared in committables.values() for each in prepared])
        for member in self._from_the_end:
            with member.named() as coordinator:
                coordinator.restore(checkpoint_id, stored.get(coordinator.kind, {}).get(member.uid))

    def roll_back(self, checkpoint_id: int | None) -> None:
        """The job has failed: what came after the checkpoint does not count. What one raises stops no other."""
        for member in self._from_the_end:
            member.context.helper.forget()
            self._quietly(member, lambda coordinator: coordinator.roll_back(checkpoint_id))

    def close(self) -> None:
        """The job has ended."""
        for member in self._members:
            member.context.helper.close()
            self._quietly(member, lambda coordinator: coordinator.close())

    @staticmethod
    def _quietly(member: _Member, action: Callable[[Coordinator], None]) -> None:
        try:
            action(member.coordinator)
        except Exception:  # must not hide how the job ended
            log.exception("%s failed to stop", member.planned.info.name)

    def _leave_alone(self, uid: str, committables: list[Any]) -> None:
        """Output of a sink that the program does not have is neither committed nor aborted; that is said once."""
        member = self._listener.get(uid)
        if uid in self._unknown or (member is not None and member.coordinator.kind == SINKS):
            return
        self._unknown.add(uid)
        log.warning(
            "there is output of the sink with uid %r to be committed or aborted, but this program has no such "
            "sink: it stays as it is. %s",
            uid,
            shortened(committables),
        )

    # --- between epochs -----------------------------------------------------------------------------

    def poll(self, now: int) -> None:
        """Let all look around."""
        for member in self._members:
            with member.named() as coordinator:
                member.context.helper.hand_back()
                coordinator.poll(now)

    def has_work(self, now: int) -> bool:
        """Whether an epoch would do something, or everything has come to its end."""
        for member in self._members:
            with member.named() as coordinator:
                if coordinator.has_work(now):
                    return True
        return self._ended()

    def _ended(self) -> bool:
        for member in self._members:
            with member.named() as coordinator:
                if not coordinator.ended():
                    return False
        return True

    def next_work_time(self, now: int) -> int | None:
        """When the first one wants to be asked again."""
        times = [member.coordinator.next_work_time(now) for member in self._members]
        return min((at for at in times if at is not None), default=None)

    def unfinished(self) -> bool:
        """Whether the job must not end yet."""
        return any(member.coordinator.unfinished() for member in self._members)

    # --- epochs -------------------------------------------------------------------------------------

    def orders(self, epoch: EpochPlan) -> Orders:
        """What all subtasks are told."""
        orders: Orders = {}
        for member in self._members:
            with member.named() as coordinator:
                mine = coordinator.orders(epoch)
            for subtask, order in mine.items():
                orders.setdefault(member.planned.level, {}).setdefault(subtask, {})[member.uid] = order
        return orders

    def apply(self, results: list[SubtaskDone]) -> None:
        """Hand out what the subtasks have reported."""
        reports: dict[str, list[OperatorReport]] = {member.uid: [] for member in self._members}
        for result in sorted(results, key=lambda result: (result.level, result.index)):
            for uid, packed in result.report.messages.items():
                member = self._listener.get(uid)
                if member is not None:
                    reports[member.uid].append(OperatorReport(uid, result.index, codec.loads(packed)))
                elif uid not in self._unknown:
                    self._unknown.add(uid)
                    log.warning("operator %r reports to the driver, where nobody listens: %.300r", uid, packed)
        for member in self._members:
            with member.named() as coordinator:
                coordinator.apply(reports[member.uid])

    def intakes(self) -> list[Intake]:
        """What has come in by the last epoch, by source."""
        found = [member.coordinator.intake() for member in self._members]
        return [intake for intake in found if intake is not None]

    def metrics(self) -> dict[str, dict[int, MetricSnapshot]]:
        """By uid and subtask: what was measured in the driver."""
        return {
            member.uid: {subtask: group.snapshot() for subtask, group in member.context.groups.items()}
            for member in self._members
            if member.context.groups
        }

    # --- checkpoints --------------------------------------------------------------------------------

    def snapshot(self, checkpoint_id: int) -> dict[str, dict[str, Any]]:
        """Kind -> uid -> state: what :meth:`restore` goes on from."""
        stored: dict[str, dict[str, Any]] = {}
        for member in self._members:
            with member.named() as coordinator:
                state = coordinator.snapshot(checkpoint_id)
            if state is not None:
                stored.setdefault(member.coordinator.kind, {})[member.uid] = state
        return stored

    def committed(self, checkpoint_id: int) -> None:
        """A checkpoint is complete."""
        for member in self._from_the_end:
            with member.named() as coordinator:
                coordinator.committed(checkpoint_id)

    def shortcomings(self) -> list[str]:
        """Why the job cannot give exactly-once."""
        found = [member.coordinator.shortcoming() for member in self._members]
        return [text for text in found if text is not None]


@contextmanager
def _named(info: OperatorInfo) -> Iterator[None]:
    try:
        yield
    except (OperatorFailure, CommitError, JobFailedError, SinkFailedError):  # these say it all themselves
        raise
    except BaseException as error:
        if is_from_outside(error):
            raise
        raise OperatorFailure.of(info, error) from error
