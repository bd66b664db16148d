"""The driver loop: runs a job epoch by epoch until its sources end, it is cancelled, or it fails for good."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from firesteel.common import JobStatus
from firesteel.common.options import CANCELLATION_TIMEOUT, PROGRESS
from firesteel.common.restart_strategy import restart_strategy_of
from firesteel.common.time import MIN_WATERMARK
from firesteel.common.warnings import FiresteelWarning
from firesteel.errors import (
    CheckpointError,
    CommitError,
    FiresteelError,
    JobCancelledError,
    JobFailedError,
    StateMigrationError,
)
from firesteel.execution.budget import EpochBudget
from firesteel.execution.checkpoints import CheckpointCoordinator
from firesteel.execution.clock import SteadyClock, interval_clock, processing_clock
from firesteel.execution.coordinators import Coordinators, JobServices, Orders, SinkFailedError
from firesteel.execution.directory_lock import DirectoryLostError
from firesteel.execution.ending import Interrupted, Terminated, watch_cancellation
from firesteel.execution.fencing import fencing_violation
from firesteel.execution.hints import JobHints
from firesteel.execution.job import Job
from firesteel.execution.job_metrics import EpochStats, job_watermark
from firesteel.execution.progress import ProgressLine
from firesteel.execution.recovery import unsafe_end
from firesteel.execution.results import LevelResult, StateLost, SubtaskDone, SubtaskFailed
from firesteel.execution.savepoints import SavepointRequest, write_savepoint
from firesteel.execution.worker_plan import s3_access
from firesteel.model.coordinator import EpochPlan
from firesteel.model.sink import DriverSink
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.failure import OperatorFailure, bounded
from firesteel.runtime.snapshot_order import SnapshotOrder
from firesteel.runtime.subtask import EpochRequest
from firesteel.state import codec
from firesteel.state.file_systems import use_s3
from firesteel.state.store import Manifest

log = logging.getLogger("firesteel.driver")
_POLL_SECONDS = 0.1
_LONGEST_WAIT_SECONDS = 1.0
_ENDED_FROM_OUTSIDE = (JobCancelledError, KeyboardInterrupt, Terminated)
_ABOUT_STORED_STATE = {error.__name__: error for error in (CheckpointError, StateMigrationError)}


@dataclass
class EpochOrder:
    """What a cluster is asked to run: one epoch of all levels."""

    request: EpochRequest
    orders: Orders
    """What the coordinators say to the subtasks."""
    restore: Manifest | None
    fresh: bool
    store_directory: str | None


class Cluster(Protocol):
    """Where the subtasks of one job live."""

    @property
    def pinned(self) -> bool:
        """Whether a subtask, once placed, stays where it is unless something breaks."""

    def run_epoch(self, order: EpochOrder) -> list[LevelResult]:
        """Run an epoch. Failures of user code are results; anything else that goes wrong raises."""

    def interrupt(self) -> None:
        """Interrupt the functions of the running epoch, which then fails. May be called from any thread."""

    def close(self) -> list[str]:
        """Close all functions of the job. Returns what went wrong while closing."""


class EpochFailedError(Exception):
    """An epoch did not hold. ``cause`` is what the user sees if the job is not restarted."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


class ClusterLostError(JobFailedError):
    """The cluster is gone, and the job cannot get another one."""


@dataclass
class _Run:
    """One run of the job: from a start or restart to the next failure."""

    generation: int
    restore: Manifest | None
    first: bool = True


class JobDriver:
    """Runs one job on a cluster.

    :param clock: Processing time in milliseconds; tests put in their own (see ``firesteel.execution.clock``).
    """

    def __init__(
        self,
        plan: JobPlan,
        cluster: Cluster,
        job: Job,
        driver_sinks: Mapping[str, DriverSink],
        clock: Callable[[], int] | None = None,
    ) -> None:
        configuration = plan.configuration
        use_s3(s3_access(configuration))
        self._plan = plan
        self._cluster = cluster
        self._job = job
        self._driver_sinks = driver_sinks
        self._clock = clock or processing_clock()
        self._hints = JobHints(plan)
        self._ticks = interval_clock(self._clock)
        self._checkpoints = CheckpointCoordinator(plan, not cluster.pinned, self._ticks)
        self._budget = EpochBudget.of(configuration)
        self._restarts = restart_strategy_of(configuration).new_policy()
        self._progress = ProgressLine.wanted(configuration.get(PROGRESS))
        self._epoch = 0
        self._next_timer: int | None = None
        self._previous_end: int | None = None
        self._completed_checkpoint: int | None = None
        codec.register_serializers(plan.serializers)  # collected records are unpacked here
        self._coordinators = Coordinators(plan, self._services())
        self._checkpoints.tell = self._checkpoint_complete
        self._checkpoints.final_epochs = self._coordinators.commits
        job.metrics.start(plan)
        watch_cancellation(job, cluster.interrupt, configuration.get(CANCELLATION_TIMEOUT))
        job.checkpoints = self._checkpoints.completed

    def _services(self) -> JobServices:
        # A BATCH job that fails reads everything anew: its output is handed out when it cannot come again.
        begins_anew = self._plan.batch_mode and self._restarts is not None
        return JobServices(
            driver_sinks=self._driver_sinks,
            wake=self._job.wake,
            make_room=self._make_room,
            replays=begins_anew or self._checkpoints.store is not None,
        )

    def _make_room(self) -> None:
        if self._progress is not None:
            self._progress.make_room()

    def run(self) -> None:
        """Run the job to its end. Never raises but for an interrupt: the outcome is in the job's result."""
        started = time.monotonic()
        error: BaseException | None = None
        try:
            self._warn_about_guarantees()
            self._job.transition(JobStatus.RUNNING)
            error = self._run_with_restarts(self._first_run())
        except BaseException as unexpected:
            error = unexpected
        finally:
            error = self._end(error)
            for sink in self._driver_sinks.values():
                sink.finished(error)
            self._job.finish(int((time.monotonic() - started) * 1000), error)
        if isinstance(error, (KeyboardInterrupt, Terminated)):
            raise error

    def _first_run(self) -> _Run:
        restore = self._checkpoints.open()
        if isinstance(self._clock, SteadyClock) and restore is not None:
            self._clock.not_before(restore.timestamp)
        return _Run(0, restore)

    def _run_with_restarts(self, run: _Run) -> BaseException | None:
        """Run until the end, with the restarts that the strategy allows. Returns why the job did not end well."""
        first_cause: BaseException | None = None
        while True:
            try:
                self._coordinators.restore(run.restore)  # what fails here is one more failure, not the end
                self._run_epochs(run)
                return self._cancellation() if self._job.cancel_requested else None
            except Interrupted:
                return self._cancel_now()
            except EpochFailedError as failure:
                if self._job.cancel_requested:  # it has failed because it was interrupted, or it does not matter why
                    return self._cancel_now()
                cause = failure.cause
            except FiresteelWarning as warning:  # the user has made warnings errors
                return _job_failure(warning)
            except SinkFailedError as failure:
                return _because(JobFailedError(str(failure)), failure.__cause__)
            except Exception as source_error:  # raised by a source in the driver
                cause = source_error
            delay = self._restarts.on_failure(self._ticks()) if self._restarts is not None else None
            if delay is None or _hopeless(run, cause):
                return cause if first_cause is None else _job_failure(cause, run.generation, first_cause)
            first_cause = first_cause or cause
            run = self._restart(run, cause, delay)
            if self._job.cancel_requested:
                self._commit_again()
                return self._cancellation()

    def _cancel_now(self) -> JobCancelledError:
        """Cancel the job in the middle of an epoch: what came after the last checkpoint is forgotten."""
        self._checkpoints.roll_back()
        self._coordinators.roll_back(self._checkpoints.base)
        self._commit_again()
        return self._cancellation()

    def _commit_again(self) -> None:
        """Let the checkpoint that the job would go on from take effect: a failure may have come before it had."""
        if self._checkpoints.base is not None:
            self._coordinators.committed(self._checkpoints.base)

    def _cancellation(self) -> JobCancelledError:
        return JobCancelledError(f"job {self._job.name!r} was cancelled")

    def _restart(self, run: _Run, cause: BaseException, delay_ms: int) -> _Run:
        headline = str(cause).partition("\n")[0]
        log.warning("job %s failed (%s); restarting in %d ms", self._job.name, headline, delay_ms)
        self._job.transition(JobStatus.RESTARTING)
        restore = self._checkpoints.roll_back()
        self._coordinators.roll_back(self._checkpoints.base)
        deadline = time.monotonic() + delay_ms / 1000
        while (left := deadline - time.monotonic()) > 0 and not self._job.cancel_requested:
            self._job.wait(left)
        if not self._job.cancel_requested:
            self._job.transition(JobStatus.RUNNING)
        self._next_timer = self._previous_end = None
        return _Run(run.generation + 1, restore)

    def _run_epochs(self, run: _Run) -> None:
        ended = False
        while not ended and not self._job.cancel_requested:
            now = self._clock()
            self._coordinators.poll(now)
            self._poll_checkpoints()
            savepoint = self._next_savepoint()
            if run.first or savepoint is not None or self._has_work(now):
                try:
                    ended = self._run_epoch(run, now, savepoint)
                except Exception as error:
                    if savepoint is not None:
                        savepoint.fail(error.cause if isinstance(error, EpochFailedError) else error)
                    raise
                run.first = False
            else:
                self._job.wait(self._seconds_to_wait(now))

    def _next_savepoint(self) -> SavepointRequest | None:
        savepoint = self._job.next_savepoint()
        if savepoint is None or not self._plan.batch_mode:
            return savepoint
        savepoint.fail(
            CheckpointError(
                f"job {self._job.name!r} runs in BATCH mode, in which there are no savepoints: its input is being "
                "sorted, and what has been read of it is not state. Set the runtime mode STREAMING"
            )
        )
        return None

    def _has_work(self, now: int) -> bool:
        return (
            self._coordinators.has_work(now)
            or (self._next_timer is not None and self._next_timer <= now)
            or (self._checkpoints.enabled and self._checkpoints.due(self._ticks()))
        )

    def _seconds_to_wait(self, now: int) -> float:
        next_work = self._coordinators.next_work_time(now)
        known = [at - now for at in (next_work, self._next_timer) if at is not None]
        checkpoint = self._checkpoints.next_due()
        if checkpoint is not None:
            known.append(checkpoint - self._ticks())
        if next_work is None or self._checkpoints.pending:
            known.append(int(_POLL_SECONDS * 1000))
        return min(max(min(known, default=0) / 1000, 0.001), _LONGEST_WAIT_SECONDS)

    def _poll_checkpoints(self) -> None:
        try:
            self._checkpoints.poll()
        except CheckpointError as error:
            raise EpochFailedError(error) from error

    def _run_epoch(self, run: _Run, now: int, savepoint: SavepointRequest | None) -> bool:
        """Run one epoch and make it count. Returns whether the job has come to its end."""
        self._epoch += 1
        snapshot = savepoint is None and self._checkpoints.due(self._ticks())
        target = None if savepoint is None else savepoint.target(str(self._job.id))
        order = self._order(run, now, snapshot, savepoint, target)
        started = time.monotonic()
        results = self._run_on_cluster(order)
        self._previous_end = self._clock()
        self._coordinators.apply(results)
        timers = [r.report.next_timer for r in results if r.report.next_timer is not None]
        self._next_timer = min(timers, default=None)
        ended = all(self._ended(result) for result in results)
        self._checkpoints.pause(unsafe_end(self._plan, results))
        checkpoint_id = self._checkpoint(results, now, snapshot, ended)
        if not self._cluster.pinned:  # a subtask that moves goes on from exactly here, or not at all
            latest = self._checkpoints.latest
            run.restore = latest if latest is not None and latest.checkpoint_id == checkpoint_id else None
        if savepoint is not None and target is not None:
            ended = self._finish_savepoint(savepoint, target, results, now) or ended
        self._measure(results, time.monotonic() - started, checkpoint_id, now)
        if ended:
            self._finish_coordinators()
        return ended

    def _finish_coordinators(self) -> None:
        """Wait for those that are not done though the job has ended: output may still have to become visible."""
        while self._coordinators.unfinished() and not self._job.cancel_requested:
            self._job.wait(_POLL_SECONDS)
            self._coordinators.poll(self._clock())

    def _order(
        self, run: _Run, now: int, snapshot: bool, savepoint: SavepointRequest | None, target: str | None
    ) -> EpochOrder:
        store = self._checkpoints.store
        drain = savepoint is not None and savepoint.drain
        completed, self._completed_checkpoint = self._completed_checkpoint, None
        return EpochOrder(
            request=EpochRequest(
                epoch=self._epoch,
                generation=run.generation,
                now=now,
                previous_end=self._previous_end,
                checkpoint_id=self._checkpoints.next_id,
                snapshot=self._snapshot_order(snapshot, savepoint),
                completed_checkpoint=completed,
                time_budget_ms=int(self._budget.reading_seconds * 1000),
            ),
            orders=self._coordinators.orders(
                EpochPlan(now, self._checkpoints.next_id, self._budget.records, drain=drain)
            ),
            restore=run.restore if run.first or not self._cluster.pinned else None,
            fresh=run.first and run.restore is None,
            store_directory=target or (None if store is None else store.directory),
        )

    def _snapshot_order(self, checkpoint: bool, savepoint: SavepointRequest | None) -> SnapshotOrder:
        if savepoint is not None:
            return SnapshotOrder.DRAIN if savepoint.drain else SnapshotOrder.SAVEPOINT
        if self._checkpoints.store is None:
            return SnapshotOrder.COMMIT_ONLY if checkpoint else SnapshotOrder.FORGET
        if not checkpoint:
            return SnapshotOrder.KEEP
        return SnapshotOrder.of_checkpoint(self._checkpoints.full_snapshot_due, at_once=not self._cluster.pinned)

    def _run_on_cluster(self, order: EpochOrder) -> list[SubtaskDone]:
        try:
            results = self._cluster.run_epoch(order)
        except Exception as error:  # Spark failed, not the user's code
            raise EpochFailedError(error) from error
        for failed in [result for result in results if isinstance(result, SubtaskFailed)]:
            raise EpochFailedError(failed.failure)
        for lost in [result for result in results if isinstance(result, StateLost)]:
            raise EpochFailedError(JobFailedError(lost.message))
        done = [result for result in results if isinstance(result, SubtaskDone)]
        violation = fencing_violation(self._plan, done)
        if violation is not None:
            raise EpochFailedError(JobFailedError(f"epoch {order.request.epoch} does not fit together: {violation}"))
        return done

    def _ended(self, result: SubtaskDone) -> bool:
        level, index = result.level, result.index
        chains = [chain for chain in self._plan.chains if chain.level == level and index < chain.parallelism]
        return len(result.report.ended_chains) == len(chains)

    def _checkpoint(self, results: list[SubtaskDone], now: int, snapshot: bool, ended: bool) -> int | None:
        """Follow up a snapshot, or the end of the job: with checkpoints on, the end is one more checkpoint."""
        if ended and not self._checkpoints.enabled:
            self._coordinators.committed(self._checkpoints.next_id)
        elif self._checkpoints.paused is not None and snapshot:
            self._checkpoints.decline(results)
            return None
        elif snapshot or ended:
            return self._begin_checkpoint(results, now, wait=ended)
        return None

    def _checkpoint_complete(self, checkpoint_id: int) -> None:
        self._coordinators.committed(checkpoint_id)
        self._completed_checkpoint = checkpoint_id

    def _begin_checkpoint(self, results: list[SubtaskDone], now: int, wait: bool) -> int:
        checkpoint_id = self._checkpoints.next_id
        problems = [problem for result in results for problem in result.write_problems]
        try:
            if wait:
                self._wait_for_checkpoints()
            self._checkpoints.begin(results, self._coordinators.snapshot(checkpoint_id), now)
            if problems:
                self._checkpoints.fail(problems[0])
        except CheckpointError as error:
            raise EpochFailedError(error) from error
        return checkpoint_id

    def _wait_for_checkpoints(self) -> None:
        """Let the checkpoints under way come to an end, before the job does."""
        while self._checkpoints.pending:
            self._checkpoints.poll()
            self._job.wait(_POLL_SECONDS)

    def _finish_savepoint(self, savepoint: SavepointRequest, target: str, results: list[SubtaskDone], now: int) -> bool:
        """Complete a savepoint. Returns whether the job stops with it."""
        savepoint_id = self._checkpoints.next_id
        try:
            if savepoint.stop:
                self._wait_for_checkpoints()
            driver_state = self._coordinators.snapshot(savepoint_id)
            path = write_savepoint(target, self._plan, savepoint_id, now, results, driver_state)
        except CheckpointError as error:
            savepoint.done.set_exception(error)
            return False
        if savepoint.stop:
            self._checkpoints.stop_with(path)
        savepoint.done.set_result(path)
        return savepoint.stop

    def _measure(self, results: list[SubtaskDone], seconds: float, checkpoint_id: int | None, now: int) -> None:
        intakes = self._coordinators.intakes()
        reads: Counter[int] = Counter()
        for intake in intakes:
            reads.update(intake.records)
        self._budget.observe(max(reads.values(), default=0), seconds)
        newest = max((each.newest for each in intakes if each.newest is not None), default=MIN_WATERMARK)
        stats = EpochStats(self._epoch, reads.total(), seconds, job_watermark(results), newest, checkpoint_id)
        self._job.metrics.record(self._plan, results, stats, self._budget.saturated, self._coordinators.metrics())
        if self._progress is not None:
            self._progress.show(self._job.metrics, stats)
        self._hints.observe(results, now)

    def _end(self, error: BaseException | None) -> BaseException | None:
        """Close everything and settle the job's last status."""
        if self._progress is not None:
            self._progress.end()
        self._settle(error, before_closing=True)
        self._coordinators.close()
        for problem in self._close_cluster(failed=error is not None):
            log.warning("while closing job %s: %s", self._job.name, problem)
        suspended = self._job.terminated or isinstance(error, Terminated)
        cancelled = isinstance(error, _ENDED_FROM_OUTSIDE) and not suspended
        self._checkpoints.close(finished=error is None, cancelled=cancelled)
        self._job.refuse_savepoints()
        self._settle(error, before_closing=False)
        if isinstance(error, (JobFailedError, *_ENDED_FROM_OUTSIDE)) or error is None:
            return error
        return _job_failure(error)

    def _close_cluster(self, failed: bool) -> list[str]:
        try:
            return self._cluster.close()
        except Exception as error:  # the cluster may be what failed: then it has been said already
            log.debug("the cluster of job %s cannot be closed", self._job.name, exc_info=error)
            return [] if failed else [f"{type(error).__name__}: {error}".partition("\n")[0]]

    def _settle(self, error: BaseException | None, before_closing: bool) -> None:
        if error is None:
            if not before_closing:
                self._job.transition(JobStatus.FINISHED)
        elif isinstance(error, _ENDED_FROM_OUTSIDE):
            self._job.transition(JobStatus.CANCELLING if before_closing else JobStatus.CANCELED)
        else:
            self._job.transition(JobStatus.FAILING if before_closing else JobStatus.FAILED)

    def _warn_about_guarantees(self) -> None:
        if not self._checkpoints.enabled:
            return
        for shortcoming in self._coordinators.shortcomings():
            log.warning("%s", shortcoming)


def _job_failure(error: BaseException, restarts: int = 0, first: BaseException | None = None) -> JobFailedError:
    """The error that the user sees; ``first``: what the job was restarted for the first time."""
    text = error.describe() if isinstance(error, OperatorFailure) else bounded(f"{type(error).__name__}: {error}")
    if first is not None:
        headline = f"{type(first).__name__}: {first}" if not isinstance(first, OperatorFailure) else str(first)
        text += f"\n  restarts: {restarts}; the first failure was: {bounded(headline.partition(chr(10))[0], 1000)}"
    return _because(JobFailedError(text), _cause(error))


def _cause(error: BaseException) -> BaseException | None:
    """What failed, as an exception that can be told apart. What happened in workers comes as text."""
    if not isinstance(error, OperatorFailure):
        return error if bounded(str(error)) == str(error) else None
    about_state = _ABOUT_STORED_STATE.get(error.exception_type)
    return None if about_state is None else about_state(error.message)


def _hopeless(run: _Run, cause: BaseException) -> bool:
    """Whether no restart changes anything: the cluster or the checkpoint directory is gone, or the job could not even
    begin with the state it was given.
    """
    if isinstance(cause, (ClusterLostError, DirectoryLostError)):
        return True
    about_state = isinstance(cause, OperatorFailure) and cause.exception_type in _ABOUT_STORED_STATE
    begins = run.generation == 0 and run.first and run.restore is not None
    return begins and (about_state or isinstance(cause, CommitError))


def _because(failure: JobFailedError, cause: BaseException | None) -> JobFailedError:
    """Say what caused it. An error of ours says all in its message: the frames it came through would hide that."""
    if isinstance(cause, FiresteelError):
        cause = cause.with_traceback(None)
        cause.__cause__ = cause.__context__ = None
    failure.__cause__ = cause
    return failure
