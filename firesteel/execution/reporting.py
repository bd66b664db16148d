"""Tells everybody who wants to know what happens to a job: metrics, the progress line, its history, its log."""

from __future__ import annotations

import logging
import os
import socket
import time
import traceback
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import firesteel
from firesteel.common import JobStatus
from firesteel.common.options import STATE_BACKEND
from firesteel.events import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    EpochEnded,
    ExceptionRaised,
    JobDescribed,
    JobEnded,
    JobEvent,
    OperatorDescription,
    OperatorNumbers,
    OperatorState,
    Restored,
    StatusChanged,
    SubtaskNumbers,
    SubtaskState,
    VertexDescription,
    VertexInput,
    operator_id,
)
from firesteel.execution.checkpoint_settings import CheckpointSettings
from firesteel.execution.clock import wall_clock_ms
from firesteel.execution.job_metrics import EpochStats
from firesteel.execution.results import StateLost, SubtaskDone, SubtaskFailed
from firesteel.metrics import MetricSnapshot
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.failure import OperatorFailure, bounded
from firesteel.runtime.layout import PlannedChain
from firesteel.state.filesystem import LocalFileStore
from firesteel.state.snapshots import operator_sizes
from firesteel.state.store import CheckpointStore, Manifest

log = logging.getLogger("firesteel.events")
Subscriber = Callable[[JobEvent], None]


@dataclass
class _Snapshot:
    """What one subtask has stored for a checkpoint or savepoint."""

    subtask: int
    file: str | None
    uids: list[str]
    sizes: dict[str, int]
    seconds: float


@dataclass
class _Times:
    """How one task of a level has spent its time so far, in seconds."""

    busy: float = 0.0
    idle: float = 0.0
    back_pressured: float = 0.0


class JobReporter:
    """Makes events of what the driver of a job does, and gives them to all subscribers.

    A subscriber that fails is not asked again; the job goes on.
    """

    def __init__(self, plan: JobPlan, job_id: str, subscribers: list[Subscriber]) -> None:
        self._plan = plan
        self._job_id = job_id
        self._subscribers = list(subscribers)
        self._vertices = {chain.id: operator_id(chain.operators[0].info.uid) for chain in plan.chains}
        self._vertex_of = {each.info.uid: self._vertices[chain.id] for chain in plan.chains for each in chain.operators}
        self._producers = _producers(plan)
        self._times: dict[tuple[int, int], _Times] = defaultdict(_Times)
        self._bytes: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
        """Chain and subtask -> bytes in, bytes out."""
        self._measured_at: float | None = None
        self._taken: dict[tuple[bool, int], tuple[int, list[_Snapshot]]] = {}
        """Checkpoint or savepoint -> when its snapshots were taken, and by whom."""
        self.restarts = 0

    def publish(self, event: JobEvent) -> None:
        """Give an event to all subscribers."""
        for subscriber in list(self._subscribers):
            try:
                subscriber(event)
            except Exception:
                log.exception("%r failed with an event of job %s and gets no more", subscriber, self._job_id)
                self._subscribers.remove(subscriber)

    # ---- the job -------------------------------------------------------------------------------------------------

    def described(self, settings: CheckpointSettings) -> None:
        """The job is about to begin."""
        plan, configuration = self._plan, self._plan.configuration
        self.publish(
            JobDescribed(
                wall_clock_ms(),
                job_id=self._job_id,
                name=plan.name,
                batch_mode=plan.batch_mode,
                bounded=plan.bounded,
                parallelism=plan.parallelism,
                host=socket.gethostname(),
                pid=os.getpid(),
                version=firesteel.__version__,
                checkpoint_interval=settings.interval,
                checkpoint_directory=settings.directory,
                state_backend=str(configuration.get(STATE_BACKEND)),
                configuration=configuration.shown(),
                vertices=tuple(self._vertex(chain) for chain in plan.chains),
            )
        )
        self.status(JobStatus.CREATED)

    def _vertex(self, chain: PlannedChain) -> VertexDescription:
        operators = tuple(
            OperatorDescription(
                operator_id(each.info.uid),
                each.info.uid,
                each.info.name,
                each.info.call_site,
                source=each.inputs == 0,
                sink=each.is_sink,
                keyed=each.keyed,
            )
            for each in chain.operators
        )
        inputs = tuple(VertexInput(self._vertices[self._producers[edge.id]], edge.kind) for edge in chain.inputs)
        level, width, most = chain.level, chain.parallelism, chain.max_parallelism
        return VertexDescription(self._vertices[chain.id], chain.name, level, width, most, operators, inputs)

    def status(self, status: JobStatus) -> None:
        """The job has another status."""
        self.publish(StatusChanged(wall_clock_ms(), status.name, self.restarts))

    def restored(self, manifest: Manifest) -> None:
        """The job goes on from a checkpoint or savepoint."""
        savepoint = manifest.kind == "savepoint"
        path = manifest.directory if savepoint else f"{manifest.directory}/chk-{manifest.checkpoint_id}"
        self.publish(Restored(wall_clock_ms(), manifest.checkpoint_id, savepoint, path))
        self._taken.clear()

    def exception(self, error: BaseException, where: SubtaskFailed | StateLost | None, fatal: bool) -> None:
        """Something has failed."""
        info = error.info if isinstance(error, OperatorFailure) else None
        uid = None if info is None or info.uid not in self._vertex_of else info.uid
        named = isinstance(error, OperatorFailure)
        self.publish(
            ExceptionRaised(
                wall_clock_ms(),
                exception=error.exception_type if isinstance(error, OperatorFailure) else type(error).__name__,
                message=bounded(error.message if isinstance(error, OperatorFailure) else str(error)),
                traceback=bounded(str(error) if named else "".join(traceback.format_exception(error))),
                operator=None if info is None else info.name,
                operator_uid=uid,
                operator_id=None if uid is None else operator_id(uid),
                vertex=None if uid is None else self._vertex_of[uid],
                subtask=None if where is None else where.index,
                host=None if where is None else where.place.host,
                pid=None if where is None else where.place.pid,
                record=error.record if isinstance(error, OperatorFailure) else None,
                restarts=self.restarts,
                fatal=fatal,
            )
        )

    def ended(
        self, status: JobStatus, runtime_ms: int, error: BaseException | None, counters: dict[str, int], story: str
    ) -> None:
        """The job has ended."""
        text = None if error is None else bounded(str(error) or type(error).__name__)
        self.publish(JobEnded(wall_clock_ms(), status.name, runtime_ms, text, dict(counters), story))

    # ---- checkpoints ---------------------------------------------------------------------------------------------

    def snapshots_taken(self, checkpoint_id: int, savepoint: bool, results: list[SubtaskDone]) -> None:
        """All subtasks have taken their snapshots."""
        snapshots = [
            _Snapshot(each.index, each.state_file, each.snapshot_uids, each.state_bytes, each.snapshot_seconds)
            for each in results
        ]
        now = wall_clock_ms()
        self._taken[savepoint, checkpoint_id] = now, snapshots
        self.publish(CheckpointTriggered(now, checkpoint_id, savepoint, len(results)))

    def checkpoint_complete(
        self,
        checkpoint_id: int,
        savepoint: bool,
        path: str,
        duration_ms: int,
        state_bytes: int,
        full: bool,
        store: CheckpointStore | None,
    ) -> None:
        """A checkpoint or savepoint counts."""
        now = wall_clock_ms()
        triggered, snapshots = self._taken.pop((savepoint, checkpoint_id), (now, []))
        operators = _operator_states(snapshots, store)
        self.publish(
            CheckpointCompleted(
                now, checkpoint_id, savepoint, path, triggered, duration_ms, state_bytes, full, operators
            )
        )

    def checkpoints_failed(self, checkpoint_ids: tuple[int, ...], reason: str, savepoint: bool = False) -> None:
        """Checkpoints have been given up, or a savepoint has."""
        now = wall_clock_ms()
        for number in checkpoint_ids:
            triggered = self._taken.pop((savepoint, number), (now, []))[0]
            self.publish(CheckpointFailed(now, number, savepoint, bounded(reason, 2000), triggered, now - triggered))

    # ---- epochs --------------------------------------------------------------------------------------------------

    def epoch(
        self,
        stats: EpochStats,
        results: list[SubtaskDone],
        saturated: bool,
        in_driver: dict[str, dict[int, MetricSnapshot]],
    ) -> None:
        """An epoch counts."""
        self._add_times(results, stats.seconds, saturated)
        self._add_bytes(results)
        numbers = [subtask for result in results for subtask in self._subtasks(result, stats.seconds)]
        self.publish(
            EpochEnded(
                wall_clock_ms(),
                stats.epoch,
                self.restarts,
                stats.records,
                stats.seconds,
                stats.watermark,
                stats.newest,
                stats.checkpoint_id,
                saturated,
                tuple(numbers),
                in_driver,
            )
        )

    def _add_times(self, results: list[SubtaskDone], seconds: float, saturated: bool) -> None:
        """Where the time of all tasks went. While sources could read faster, what comes before the slowest level waits
        for it, which is back pressure; what comes after it is idle, as is everything between epochs.
        """
        now = time.monotonic()
        gap = 0.0 if self._measured_at is None else max(0.0, now - self._measured_at - seconds)
        self._measured_at = now
        slowest = max(results, key=lambda each: each.busy_seconds).level if results else 0
        for result in results:
            times = self._times[result.level, result.index]
            busy = min(result.busy_seconds, seconds)
            times.busy += busy
            times.idle += gap
            if saturated and result.level < slowest:
                times.back_pressured += seconds - busy
            else:
                times.idle += seconds - busy

    def _add_bytes(self, results: list[SubtaskDone]) -> None:
        consumers = {edge.id: chain.id for chain in self._plan.chains for edge in chain.inputs}
        for result in results:
            for edge, count in result.bytes_in.items():
                self._bytes[consumers[edge], result.index][0] += count
            for edge, count in result.bytes_out.items():
                self._bytes[self._producers[edge], result.index][1] += count

    def _subtasks(self, result: SubtaskDone, seconds: float) -> list[SubtaskNumbers]:
        times = self._times[result.level, result.index]
        found = []
        for chain in self._plan.level(result.level):
            if result.index >= chain.parallelism:
                continue
            read, written = self._bytes[chain.id, result.index]
            found.append(
                SubtaskNumbers(
                    vertex=self._vertices[chain.id],
                    subtask=result.index,
                    host=result.place.host,
                    pid=result.place.pid,
                    busy_ms=round(times.busy * 1000),
                    idle_ms=round(times.idle * 1000),
                    back_pressured_ms=round(times.back_pressured * 1000),
                    busy_ratio=result.busy_seconds / max(seconds, 1e-6),
                    bytes_in=read,
                    bytes_out=written,
                    operators=tuple(_numbers(each.info.uid, result) for each in chain.operators),
                )
            )
        return found


def _numbers(uid: str, result: SubtaskDone) -> OperatorNumbers:
    numbers = result.report.metrics[uid]
    return OperatorNumbers(
        uid,
        numbers["numRecordsIn"],
        numbers["numRecordsOut"],
        numbers["currentInputWatermark"],
        numbers["currentOutputWatermark"],
        numbers["numKeyedStateEntries"],
        numbers["user"],
    )


def _producers(plan: JobPlan) -> dict[int, int]:
    """Edge -> the chain that sends on it."""
    chain_of = {operator.id: chain.id for chain in plan.chains for operator in chain.operators}
    return {edge.id: chain_of[edge.operator] for edge in plan.edges}


def _operator_states(snapshots: list[_Snapshot], store: CheckpointStore | None) -> tuple[OperatorState, ...]:
    found: dict[str, list[SubtaskState]] = {}
    for each in snapshots:
        sizes = each.sizes or _sizes_in_file(each.file, store)
        for uid in each.uids:
            state = SubtaskState(each.subtask, sizes.get(uid), round(each.seconds * 1000))
            found.setdefault(uid, []).append(state)
    return tuple(
        OperatorState(operator_id(uid), uid, tuple(sorted(states, key=lambda state: state.subtask)))
        for uid, states in found.items()
    )


def _sizes_in_file(name: str | None, store: CheckpointStore | None) -> dict[str, int]:
    """What another process has written is looked up where that costs nothing: on a local disk."""
    if name is None or store is None or not isinstance(store.files, LocalFileStore):
        return {}
    return operator_sizes(store.files.view(f"state/{name}"))
