"""Holds the subtasks of jobs in one process and runs them: in a slot process on Spark, or in the driver in-process.

A subtask instance lives from the first epoch to the last. It is used for epoch N only if it stands exactly after
epoch N-1 of the same run of the job; otherwise it is thrown away and built again from the checkpoint that does.
"""

from __future__ import annotations

import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import firesteel.pyflink
from firesteel.errors import CheckpointError, SerializationError, StateError
from firesteel.execution.results import LevelResult, Place, StateLost, SubtaskDone, SubtaskFailed
from firesteel.execution.snapshot_writer import SnapshotWriter
from firesteel.runtime.chain import SubtaskSettings
from firesteel.runtime.emitters import ChunkRow
from firesteel.runtime.epoch import EpochRequest, SubtaskReport
from firesteel.runtime.failure import OperatorFailure, OperatorInfo
from firesteel.runtime.flow import FlowingEpoch
from firesteel.runtime.layout import PlannedChain
from firesteel.runtime.operator import Clock
from firesteel.runtime.subtask import LevelSubtask
from firesteel.runtime.worker_settings import WorkerSettings
from firesteel.state import codec
from firesteel.state.file_systems import use_s3
from firesteel.state.snapshots import encode
from firesteel.state.sorting import KeySorter
from firesteel.state.store import CheckpointStore, Manifest

DRIVER_LEVEL = 1 << 30
"""The level of rows that are for the driver: they pass through all others."""


class StateLostError(StateError):
    """The state that an epoch needs is neither in memory nor in a checkpoint: the job has to go back to one that is."""


@dataclass(frozen=True)
class WorkerPlan:
    """What workers know of a job: sent once."""

    job_id: str
    levels: tuple[tuple[PlannedChain, ...], ...]
    widths: tuple[int, ...]
    settings: WorkerSettings = field(default_factory=WorkerSettings)


@dataclass
class LevelTask:
    """One subtask's work in one epoch, apart from its input.

    :param orders: Subtask -> operator uid -> what its coordinator says; that of this subtask at the least.
    :param restore: The manifest of the checkpoint that stands exactly after the epoch before, if there is one.
    :param fresh: There is nothing to restore: the first epoch of a job that starts from nothing.
    """

    job_id: str
    level: int
    index: int
    attempt: str
    request: EpochRequest
    orders: dict[int, dict[str, Any]] = field(default_factory=dict)
    restore: Manifest | None = None
    fresh: bool = False
    store_directory: str | None = None


@dataclass
class _Instance:
    subtask: LevelSubtask
    generation: int
    epoch: int


class SubtaskHost:
    """All subtask instances of all jobs in this process.

    :param may_fork: Whether this process can be forked safely, to write large snapshots.
    """

    def __init__(self, may_fork: bool = False) -> None:
        self._writer = SnapshotWriter(may_fork)
        self._plans: dict[str, WorkerPlan] = {}
        self._instances: dict[tuple[str, int, int], _Instance] = {}
        self._place = Place(socket.gethostname(), os.getpid(), os.getppid())

    def knows(self, job_id: str) -> bool:
        """Whether the job's plan is here."""
        return job_id in self._plans

    def add_plan(self, plan: WorkerPlan) -> None:
        """Take in a job's plan."""
        settings = plan.settings
        if settings.pyflink_names:
            firesteel.pyflink.install()
        use_s3(settings.s3)
        main = sys.modules["__main__"]
        for name, cls in codec.loads(settings.main_classes).items():
            setattr(main, name, cls)  # also over one of that name: a notebook may have defined its class anew
        codec.register_serializers(codec.loads(settings.serializers))
        self._plans[plan.job_id] = plan

    def run(self, task: LevelTask, rows: Iterable[ChunkRow]) -> list[ChunkRow]:
        """Run a level's subtask for an epoch. Failures of user code are a result, not an exception.

        The rows returned hold the chunks for later levels, what only passes through, and one row for the driver.
        """
        mine: list[ChunkRow] = []
        passing: list[ChunkRow] = []
        for row in rows:
            (mine if row[0] == task.level else passing).append(row)
        if any(is_poison(row) for row in passing):
            return passing
        try:
            produced, done = self._run(task, mine)
        except Exception as error:
            return passing + self._give_up(task, self.failed(task, error))
        return produced + passing + [driver_row(task, done)]

    def failed(self, task: LevelTask, error: Exception) -> SubtaskFailed | StateLost:
        """How a subtask has failed."""
        if isinstance(error, StateLostError):
            return StateLost(task.level, task.index, task.attempt, self._place, str(error))
        if not isinstance(error, OperatorFailure):  # our own fault, or a full disk: with the whole traceback
            info = OperatorInfo(f"level {task.level}, subtask {task.index}", "-", "-")
            text = "".join(traceback.format_exception(error))
            error = OperatorFailure(info, type(error).__name__, str(error), text, None)
        return SubtaskFailed(task.level, task.index, task.attempt, self._place, error)

    def _give_up(self, task: LevelTask, result: SubtaskFailed | StateLost) -> list[ChunkRow]:
        """Forget the subtask, and tell every subtask of the next level: they do nothing and pass it on."""
        self._discard(task.job_id, task.level, task.index)
        plan = self._plans[task.job_id]
        width = plan.widths[task.level + 1] if task.level + 1 < len(plan.widths) else 1
        payload = codec.dumps(result)
        return [(DRIVER_LEVEL, target, _POISON_EDGE, task.index, 0, task.attempt, payload) for target in range(width)]

    def _run(self, task: LevelTask, rows: list[ChunkRow]) -> tuple[list[ChunkRow], SubtaskDone]:
        started = time.perf_counter()
        instance = self._instance(task)
        expired = self._expiry(task, instance.subtask, task.request.time_budget_ms / 1000)
        orders = task.orders.get(task.index, {})
        produced, report = instance.subtask.run_epoch(task.request, rows, orders, task.attempt, expired)
        done = self._conclude(task, instance, report)
        done.bytes_in, done.bytes_out = _bytes_by_edge(rows), _bytes_by_edge(produced)
        done.busy_seconds = time.perf_counter() - started
        return produced, done

    def _expiry(self, task: LevelTask, subtask: LevelSubtask, seconds: float) -> Callable[[], bool]:
        """What tells that the time of an epoch is used up, or that enough is ready to be sent."""
        deadline, byte_limit = time.monotonic() + seconds, self._plans[task.job_id].settings.epoch_bytes
        return lambda: time.monotonic() > deadline or subtask.bytes_ready > byte_limit

    def _conclude(self, task: LevelTask, instance: _Instance, report: SubtaskReport) -> SubtaskDone:
        """An epoch has ended: write its snapshot, and note where the instance stands."""
        instance.epoch = task.request.epoch
        done = SubtaskDone(task.level, task.index, task.attempt, report, self._place)
        if report.snapshots and task.store_directory is not None:
            self._write_snapshot(task, instance.subtask, done)
        done.write_problems += self._writer.take_problems()
        report.snapshots = {}
        return done

    def flow(self, task: LevelTask) -> FlowingEpoch:
        """An epoch of a subtask that takes its input piece by piece; :meth:`end_flow` ends it."""
        subtask = self._instance(task).subtask
        return FlowingEpoch(
            subtask,
            task.request,
            task.orders.get(task.index, {}),
            task.attempt,
            lambda: self._expiry(task, subtask, _PASS_SECONDS),
        )

    def end_flow(self, task: LevelTask, flow: FlowingEpoch, now: int) -> tuple[list[ChunkRow], SubtaskDone]:
        """End such an epoch: what leaves the subtask last, and its result."""
        instance = self._instances[task.job_id, task.level, task.index]
        produced, report = flow.end(now)
        done = self._conclude(task, instance, report)
        done.bytes_in, done.bytes_out = flow.bytes_in, flow.bytes_out
        return produced, done

    def _write_snapshot(self, task: LevelTask, subtask: LevelSubtask, done: SubtaskDone) -> None:
        assert task.store_directory is not None
        started, snapshots = time.perf_counter(), done.report.snapshots
        done.state_file = state_file_name(task)
        done.snapshot_uids = list(snapshots)
        done.stateful_uids = [uid for uid, snapshot in snapshots.items() if snapshot.has_state]
        try:
            done.state_bytes = self._writer.write(
                task.store_directory,
                done.state_file,
                snapshots,
                backends=subtask.backends,
                at_once=task.request.snapshot.at_once,
            )
        except CheckpointError as error:  # the job may go on without this checkpoint: the driver decides
            done.write_problems.append(str(error))
        except Exception as error:
            raise _unwritable(subtask, done.report, error) from error
        done.snapshot_seconds = time.perf_counter() - started

    def _instance(self, task: LevelTask) -> _Instance:
        key = (task.job_id, task.level, task.index)
        request = task.request
        found = self._instances.get(key)
        if found is not None and (found.generation, found.epoch) == (request.generation, request.epoch - 1):
            return found
        self._discard(*key)
        if task.restore is None and not task.fresh:
            raise StateLostError(
                f"subtask {task.index} of level {task.level} is not in memory on this host as it was after epoch "
                f"{request.epoch - 1}, and no checkpoint was taken then"
            )
        instance = _Instance(self._build(task), request.generation, request.epoch - 1)
        self._instances[key] = instance
        return instance

    def _build(self, task: LevelTask) -> LevelSubtask:
        plan = self._plans[task.job_id]
        worker = plan.settings
        chains = [chain for chain in plan.levels[task.level] if task.index < chain.parallelism]
        _allow_depth(max((len(chain.operators) for chain in chains), default=0))
        settings = SubtaskSettings(
            clock=Clock(task.request.now),
            generation=task.request.generation,
            worker=worker,
            cached_files={name: _local_copy(path) for name, path in worker.cached_files.items()},
            backend_factory=worker.backend.factory(),
            sorter_factory=partial(KeySorter, memory=worker.sort_memory, directory=worker.work_directory),
        )
        if task.restore is not None:
            store = CheckpointStore(task.restore.directory)
            for chain in chains:
                uids = [operator.info.uid for operator in chain.operators]
                scale = (chain.parallelism, chain.max_parallelism)
                settings.restores.update(store.load(task.restore, uids, task.index, *scale, share_union=True))
        return LevelSubtask(task.level, task.index, chains, settings)

    def _discard(self, job_id: str, level: int, index: int) -> list[Exception]:
        instance = self._instances.pop((job_id, level, index), None)
        return [] if instance is None else instance.subtask.close()

    def close_job(self, job_id: str) -> list[str]:
        """Close all functions of a job and forget it. Returns what went wrong while closing."""
        errors: list[Exception] = []
        for key in [key for key in self._instances if key[0] == job_id]:
            errors.extend(self._discard(*key))
        self._plans.pop(job_id, None)
        return [str(error) for error in errors]

    def close_all(self) -> list[str]:
        """Close everything: the process is about to end. Returns what went wrong while closing."""
        problems = [problem for job_id in list(self._plans) for problem in self.close_job(job_id)]
        self._writer.close()
        return problems


def _bytes_by_edge(rows: list[ChunkRow]) -> dict[int, int]:
    by_edge: dict[int, int] = {}
    for row in rows:
        by_edge[row[2]] = by_edge.get(row[2], 0) + len(row[6])
    return by_edge


def _unwritable(subtask: LevelSubtask, report: SubtaskReport, error: Exception) -> Exception:
    """The failure of the operator whose state cannot be pickled; the error itself if it was for something else."""
    for chain in subtask.chains.values():
        for link in chain.links.values():
            info = link.operator.context.info
            try:
                if info.uid in report.snapshots:
                    encode({info.uid: report.snapshots[info.uid]})
            except Exception as reason:
                refused = SerializationError(
                    f"the state of the operator cannot be pickled: {type(reason).__name__}: {reason!s:.300}. Keep "
                    "plain values in state; make connections, locks and files in open()"
                )
                return OperatorFailure.of(info, refused)
    return error


def _allow_depth(operators: int) -> None:
    """Let chains be as long as programs make them: a record passes a chain by calls inside calls."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _USUAL_DEPTH + operators * _DEPTH_OF_OPERATOR))


def _local_copy(path: str) -> str:
    """A registered file on this host: itself if it is here, otherwise the copy that Spark has brought."""
    if os.path.exists(path):
        return path
    from pyspark import SparkFiles

    copy: str = SparkFiles.get(os.path.basename(path))
    return copy


def state_file_name(task: LevelTask) -> str:
    """The name of what a subtask stores for a checkpoint.

    The job's id makes it one of this start of the program only: what a process that should be dead writes, long after
    its job was started anew, is never taken for what its successor has written.
    """
    request = task.request
    number = f"{request.checkpoint_id}-{task.level}-{task.index}-{request.generation}"
    return f"{number}-{task.attempt}-{task.job_id}.state"


_USUAL_DEPTH = 1000
_DEPTH_OF_OPERATOR = 10
"""How many calls inside each other an operator in a chain takes at the most."""
_PASS_SECONDS = 0.5
"""How long a pass of a flowing epoch may take that can be continued in the next epoch."""
_POISON_EDGE = -2
_CONTROL_EDGE = -1


def driver_row(task: LevelTask, result: LevelResult) -> ChunkRow:
    """A result as a row for the driver."""
    return (DRIVER_LEVEL, task.index, _CONTROL_EDGE, task.index, task.level, task.attempt, codec.dumps(result))


def is_poison(row: ChunkRow) -> bool:
    """Whether the row says that the epoch has failed."""
    return row[2] == _POISON_EDGE


def next_partition(row: ChunkRow, next_level: int, next_width: int) -> int:
    """The task of the next level that a row goes to: its target, or one that lets it pass."""
    return row[1] if row[0] == next_level else row[1] % next_width


def result_of(row: ChunkRow) -> LevelResult:
    """The result in a driver's row."""
    result: LevelResult = codec.loads(row[6])
    return result
