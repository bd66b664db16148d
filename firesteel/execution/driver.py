"""The driver loop: runs a job epoch by epoch until its sources end, it is cancelled, or it fails for good."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from firesteel.common import JobStatus
from firesteel.common.options import CANCELLATION_TIMEOUT, PROGRESS
from firesteel.common.restart_strategy import restart_strategy_of
from firesteel.common.warnings import FiresteelWarning
from firesteel.errors import CheckpointError, FiresteelError, JobCancelledError, JobFailedError, StateMigrationError
from firesteel.execution.budget import EpochBudget
from firesteel.execution.checkpoints import CheckpointCoordinator
from firesteel.execution.clock import SteadyClock, interval_clock, processing_clock
from firesteel.execution.directory_lock import DirectoryLostError
from firesteel.execution.ending import Interrupted, Terminated, watch_cancellation
from firesteel.execution.feedback import FeedbackCoordinator
from firesteel.execution.fencing import fencing_violation
from firesteel.execution.hints import JobHints
from firesteel.execution.host import LevelResult
from firesteel.execution.job import Job
from firesteel.execution.job_metrics import EpochStats, job_watermark, newest_timestamp
from firesteel.execution.progress import ProgressLine
from firesteel.execution.recovery import unsafe_end
from firesteel.execution.savepoints import SavepointRequest, write_savepoint
from firesteel.execution.sources import SourceCoordinator
from firesteel.execution.worker_plan import s3_access
from firesteel.model.source import DriverSource
from firesteel.plan.executor import DriverSink
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.failure import OperatorFailure, bounded
from firesteel.runtime.source import SourceTask
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
    source_tasks: dict[int, dict[int, SourceTask]]
    """Subtask -> source operator -> what to read."""
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


class SinkFailedError(Exception):
    """A sink in the driver would not take its records. They cannot be offered again, so the job is not restarted."""

    def __init__(self, sink: DriverSink, error: Exception) -> None:
        super().__init__(
            f"{type(sink).__name__}, a sink in the driver, could not take the records of an epoch: "
            f"{type(error).__name__}: {error}. The job is not restarted: the records would be lost"
        )


@dataclass
class _Run:
    """One run of the job: from a start or restart to the next failure."""

    generation: int
    restore: Manifest | None
    first: bool = True
    collected: list[tuple[str, int, list[Any]]] = field(default_factory=list)
    """Records for the driver that wait for a checkpoint: collector, subtask, records."""


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
        self._sources = SourceCoordinator(plan.sources, job.wake, plan.job_parameters)
        self._feedback = FeedbackCoordinator(plan.iterations)
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
        self._holds_output = plan.batch_mode and self._restarts is not None
        """A BATCH job that fails reads everything anew: its output is handed out when it cannot come again."""
        codec.register_serializers(plan.serializers)  # collected records are unpacked here
        job.metrics.start(plan)
        watch_cancellation(job, cluster.interrupt, configuration.get(CANCELLATION_TIMEOUT))
        job.checkpoints = self._checkpoints.completed

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
                if run.generation:
                    self._checkpoints.commit_again()  # a sink that fails here is one more failure, not the end
                self._sources.start(run.restore.driver.get("sources") if run.restore else None)
                self._feedback.start(run.restore.driver.get("feedback") if run.restore else None)
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
                self._checkpoints.commit_again()
                return self._cancellation()

    def _cancel_now(self) -> JobCancelledError:
        """Cancel the job in the middle of an epoch: what came after the last checkpoint is forgotten."""
        self._checkpoints.roll_back()
        self._checkpoints.commit_again()
        return self._cancellation()

    def _cancellation(self) -> JobCancelledError:
        return JobCancelledError(f"job {self._job.name!r} was cancelled")

    def _restart(self, run: _Run, cause: BaseException, delay_ms: int) -> _Run:
        headline = str(cause).partition("\n")[0]
        log.warning("job %s failed (%s); restarting in %d ms", self._job.name, headline, delay_ms)
        self._job.transition(JobStatus.RESTARTING)
        self._sources.close()
        restore = self._checkpoints.roll_back()
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
            self._sources.discover(now)
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
            self._sources.has_data(now)
            or self._sources.ended()
            or self._feedback.has_work()
            or (self._next_timer is not None and self._next_timer <= now)
            or (self._checkpoints.enabled and self._checkpoints.due(self._ticks()))
        )

    def _seconds_to_wait(self, now: int) -> float:
        known = [at - now for at in (self._sources.next_data_time(now), self._next_timer) if at is not None]
        checkpoint = self._checkpoints.next_due()
        if checkpoint is not None:
            known.append(checkpoint - self._ticks())
        if self._sources.next_data_time(now) is None or self._checkpoints.pending:
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
        for result in results:
            assert result.report is not None
            self._sources.apply(result.report.sources)
        self._feedback.apply(results)
        timers = [r.report.next_timer for r in results if r.report and r.report.next_timer is not None]
        self._next_timer = min(timers, default=None)
        ended = all(self._ended(result) for result in results)
        self._checkpoints.collect_committables(results)
        self._collect(run, results)
        self._checkpoints.pause(unsafe_end(self._plan, results))
        checkpoint_id = self._checkpoint(run, results, now, snapshot, ended)
        if not self._cluster.pinned:  # a subtask that moves goes on from exactly here, or not at all
            latest = self._checkpoints.latest
            run.restore = latest if latest is not None and latest.checkpoint_id == checkpoint_id else None
        if savepoint is not None and target is not None:
            ended = self._finish_savepoint(run, savepoint, target, results, now) or ended
        self._measure(results, time.monotonic() - started, checkpoint_id, now)
        return ended

    def _order(
        self, run: _Run, now: int, snapshot: bool, savepoint: SavepointRequest | None, target: str | None
    ) -> EpochOrder:
        store = self._checkpoints.store
        completed, self._completed_checkpoint = self._completed_checkpoint, None
        return EpochOrder(
            request=EpochRequest(
                epoch=self._epoch,
                generation=run.generation,
                now=now,
                previous_end=self._previous_end,
                checkpoint_id=self._checkpoints.next_id,
                take_snapshot=snapshot or savepoint is not None,
                keep_deltas=store is not None,
                full_snapshot=self._checkpoints.full_snapshot_due,
                synchronous=not self._cluster.pinned,
                savepoint=savepoint is not None,
                drain=savepoint is not None and savepoint.drain,
                completed_checkpoint=completed,
                time_budget_ms=int(self._budget.reading_seconds * 1000),
                loops=self._feedback.tasks(drain=savepoint is not None and savepoint.drain),
            ),
            source_tasks=self._sources.tasks(self._budget.records),
            restore=run.restore if run.first or not self._cluster.pinned else None,
            fresh=run.first and run.restore is None,
            store_directory=target or (None if store is None else store.directory),
        )

    def _run_on_cluster(self, order: EpochOrder) -> list[LevelResult]:
        try:
            results = self._cluster.run_epoch(order)
        except Exception as error:  # Spark failed, not the user's code
            raise EpochFailedError(error) from error
        for result in results:
            if result.failure is not None:
                raise EpochFailedError(result.failure)
        for result in results:
            if result.state_lost is not None:
                raise EpochFailedError(JobFailedError(result.state_lost))
        violation = fencing_violation(self._plan, results)
        if violation is not None:
            raise EpochFailedError(JobFailedError(f"epoch {order.request.epoch} does not fit together: {violation}"))
        return results

    def _ended(self, result: LevelResult) -> bool:
        assert result.report is not None
        level, index = result.level, result.index
        chains = [chain for chain in self._plan.chains if chain.level == level and index < chain.parallelism]
        return len(result.report.ended_chains) == len(chains)

    def _checkpoint(self, run: _Run, results: list[LevelResult], now: int, snapshot: bool, ended: bool) -> int | None:
        """Follow up a snapshot, or the end of the job: with checkpoints on, the end is one more checkpoint."""
        if ended and not self._checkpoints.enabled:
            self._checkpoints.commit_rest()
        elif self._checkpoints.paused is not None and snapshot:
            self._checkpoints.decline(results)
            return None
        elif snapshot or ended:
            return self._begin_checkpoint(run, results, now, wait=ended)
        if not self._checkpoints.enabled and (ended or not self._holds_output):
            self._deliver(self._take_collected(run))
        return None

    def _begin_checkpoint(self, run: _Run, results: list[LevelResult], now: int, wait: bool) -> int:
        checkpoint_id = self._checkpoints.next_id
        sources = self._sources.snapshot()
        collected = self._take_collected(run)

        def tell_sources() -> None:
            self._completed_checkpoint = checkpoint_id
            self._sources.committed(checkpoint_id, sources)

        problems = [problem for result in results for problem in result.write_problems]
        try:
            if wait:
                self._wait_for_checkpoints()
            driver_state = {"sources": sources, "feedback": self._feedback.snapshot()}
            self._checkpoints.begin(results, driver_state, now, (lambda: self._deliver(collected), tell_sources))
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

    def _finish_savepoint(
        self, run: _Run, savepoint: SavepointRequest, target: str, results: list[LevelResult], now: int
    ) -> bool:
        """Complete a savepoint. Returns whether the job stops with it."""
        driver_state = {"sources": self._sources.snapshot(), "feedback": self._feedback.snapshot()}
        try:
            if savepoint.stop:
                self._wait_for_checkpoints()
            path = write_savepoint(
                target, self._plan, self._checkpoints.next_id, now, results, driver_state, self._checkpoints.uncommitted
            )
        except CheckpointError as error:
            savepoint.done.set_exception(error)
            return False
        if savepoint.stop:
            self._checkpoints.stop_with(path, lambda: self._deliver(self._take_collected(run)))
        savepoint.done.set_result(path)
        return savepoint.stop

    def _collect(self, run: _Run, results: list[LevelResult]) -> None:
        """Sort out the records for the driver: printed at once, collected ones when they cannot come again."""
        for result in sorted(results, key=lambda result: (result.level, result.index)):
            assert result.report is not None
            for collector, packed in result.report.collected.items():
                values = codec.loads(packed)
                if self._driver_sinks[collector].exactly_once:
                    run.collected.append((collector, result.index, values))
                else:
                    self._deliver([(collector, result.index, values)])

    @staticmethod
    def _take_collected(run: _Run) -> list[tuple[str, int, list[Any]]]:
        collected, run.collected = run.collected, []
        return collected

    def _deliver(self, collected: list[tuple[str, int, list[Any]]]) -> None:
        for collector, subtask, values in collected:
            sink = self._driver_sinks[collector]
            if self._progress is not None:
                self._progress.make_room()  # what is printed begins at the beginning of a line
            try:
                sink.accept(subtask, values)
            except Exception as error:
                raise SinkFailedError(sink, error) from error

    def _measure(self, results: list[LevelResult], seconds: float, checkpoint_id: int | None, now: int) -> None:
        reads = [
            sum(source.records for source in result.report.sources.values())
            for result in results
            if result.report is not None
        ]
        self._budget.observe(max(reads, default=0), seconds)
        watermark, newest = job_watermark(results), newest_timestamp(results)
        stats = EpochStats(self._epoch, sum(reads), seconds, watermark, newest, checkpoint_id)
        self._job.metrics.record(self._plan, results, stats, self._budget.saturated, self._sources.metrics())
        if self._progress is not None:
            self._progress.show(self._job.metrics, stats)
        self._hints.observe(results, now)

    def _end(self, error: BaseException | None) -> BaseException | None:
        """Close everything and settle the job's last status."""
        if self._progress is not None:
            self._progress.end()
        self._settle(error, before_closing=True)
        self._sources.close()
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
        for planned in self._plan.sources:
            if not planned.source.replayable:
                kind = "read in the driver and " if isinstance(planned.source, DriverSource) else ""
                log.warning(
                    "source %r cannot be replayed (%s%s): records read since the last checkpoint are lost when the job "
                    "restarts, so it is not exactly-once",
                    planned.name,
                    kind,
                    planned.source.guarantee,
                )


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
    return isinstance(cause, (ClusterLostError, DirectoryLostError)) or (
        run.generation == 0
        and run.first
        and run.restore is not None
        and isinstance(cause, OperatorFailure)
        and cause.exception_type in _ABOUT_STORED_STATE
    )


def _because(failure: JobFailedError, cause: BaseException | None) -> JobFailedError:
    """Say what caused it. An error of ours says all in its message: the frames it came through would hide that."""
    if isinstance(cause, FiresteelError):
        cause = cause.with_traceback(None)
        cause.__cause__ = cause.__context__ = None
    failure.__cause__ = cause
    return failure
