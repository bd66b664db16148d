"""The driver of a job: carries out what the job's machine says, and tells it what happened."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from firesteel.common import JobStatus
from firesteel.common.options import CANCELLATION_TIMEOUT, EVENTS_DIR, EVENTS_INTERVAL, EVENTS_MAX_SIZE, PROGRESS
from firesteel.common.restart_strategy import restart_strategy_of
from firesteel.common.time import MIN_WATERMARK
from firesteel.errors import CheckpointError, JobCancelledError, JobFailedError
from firesteel.events import EventLogWriter
from firesteel.execution.budget import EpochBudget
from firesteel.execution.checkpoints import CheckpointKeeper
from firesteel.execution.clock import SteadyClock, interval_clock, processing_clock
from firesteel.execution.control import language as say
from firesteel.execution.control.language import FailureKind, Outcome
from firesteel.execution.control.ledger import CheckpointRules
from firesteel.execution.control.machine import JobMachine, Phase
from firesteel.execution.coordinators import Coordinators, JobServices, Orders
from firesteel.execution.directory_lock import DirectoryLostError
from firesteel.execution.ending import Terminated, watch_cancellation
from firesteel.execution.fencing import fencing_violation
from firesteel.execution.hints import JobHints
from firesteel.execution.job import Job
from firesteel.execution.job_errors import headline_of, kind_of, shown_failure
from firesteel.execution.job_metrics import EpochStats, job_watermark
from firesteel.execution.progress import ProgressLine
from firesteel.execution.recovery import unsafe_end
from firesteel.execution.reporting import JobReporter, Subscriber
from firesteel.execution.results import LevelResult, StateLost, SubtaskDone, SubtaskFailed
from firesteel.execution.savepoints import SavepointRequest, write_savepoint
from firesteel.execution.worker_plan import s3_access
from firesteel.model.coordinator import EpochPlan
from firesteel.model.sink import DriverSink
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.epoch import EpochRequest
from firesteel.state import codec
from firesteel.state.file_systems import use_s3
from firesteel.state.store import CheckpointStore, Manifest

log = logging.getLogger("firesteel.driver")
_READING_SHARE = 0.9
"""The part of the time of an epoch that flows in which sources read; the rest is for its end."""


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

    @property
    def flows(self) -> bool:
        """Whether an epoch goes on for as long as it may, also if there is nothing to read: its end is cheap."""

    def run_epoch(self, order: EpochOrder) -> list[LevelResult]:
        """Run an epoch. Failures of user code are results; anything else that goes wrong raises."""

    def interrupt(self) -> None:
        """Interrupt the functions of the running epoch, which then fails. May be called from any thread."""

    def close(self) -> list[str]:
        """Close all functions of the job. Returns what went wrong while closing."""


@dataclass
class _EpochInWork:
    """What belongs to one epoch, from the look before it to the next."""

    now: int = 0
    number: int = 0
    started: float = 0.0
    target: str | None = None
    """Where its savepoint goes."""
    results: list[SubtaskDone] = field(default_factory=list)


class JobDriver:
    """Runs one job on a cluster: the hands of a :class:`JobMachine`, which decides everything.

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
        self._plan = plan
        self._use_own_settings()
        self._cluster = cluster
        self._job = job
        self._driver_sinks = driver_sinks
        self._clock = clock or processing_clock()
        self._ticks = interval_clock(self._clock)
        self._hints = JobHints(plan)
        self._checkpoints = CheckpointKeeper(plan, every_epoch=not cluster.pinned)
        self._budget = EpochBudget.of(configuration)
        self._progress = ProgressLine.wanted(configuration.get(PROGRESS))
        restarts = restart_strategy_of(configuration).new_policy()
        self._coordinators = Coordinators(plan, self._services(restarts is not None))
        self._machine = JobMachine(self._rules(), restarts)
        self._next_timer: int | None = None
        self._previous_end: int | None = None
        self._completed_checkpoint: int | None = None
        self._restore: Manifest | None = None
        """What subtasks that are not where they were go on from."""
        self._savepoint: SavepointRequest | None = None
        self._savepoint_path = ""
        self._epoch = _EpochInWork()
        self._started = time.monotonic()
        self._failure: BaseException | None = None
        self._first_failure: BaseException | None = None
        """What the job was restarted for the first time."""
        self._failed_at: SubtaskFailed | StateLost | None = None
        self._log = self._event_log()
        self._reporter = JobReporter(plan, str(job.id), self._subscribers())
        job.metrics.start(plan)
        watch_cancellation(job, cluster.interrupt, configuration.get(CANCELLATION_TIMEOUT))
        job.checkpoints = self._checkpoints.completed

    def _services(self, restarts: bool) -> JobServices:
        # A BATCH job that fails reads everything anew: its output is handed out when it cannot come again.
        begins_anew = self._plan.batch_mode and restarts
        return JobServices(
            driver_sinks=self._driver_sinks,
            wake=self._job.wake,
            make_room=self._make_room,
            replays=begins_anew or self._checkpoints.store is not None,
        )

    def _event_log(self) -> EventLogWriter | None:
        """Beside the checkpoints, once the directory is this job's; or where the user wants it."""
        configuration = self._plan.configuration
        beside = None if self._checkpoints.store is None else self._checkpoints.settings.directory
        directory = configuration.get(EVENTS_DIR) or beside
        if directory is None:
            return None
        interval, limit = configuration.get(EVENTS_INTERVAL), configuration.get(EVENTS_MAX_SIZE)
        writer = EventLogWriter(directory, str(self._job.id), interval, limit)
        if configuration.get(EVENTS_DIR) is not None:
            writer.begin()
        return writer

    def _subscribers(self) -> list[Subscriber]:
        wanted: list[Subscriber | None] = [self._job.metrics, self._job.history.apply, self._progress, self._log]
        return [each for each in wanted if each is not None]

    def _rules(self) -> CheckpointRules:
        settings = self._checkpoints.settings
        return CheckpointRules(
            interval=settings.interval,
            min_pause=settings.min_pause,
            timeout=settings.timeout,
            max_concurrent=settings.max_concurrent,
            tolerable_failures=settings.tolerable_failures,
            stored=self._checkpoints.store is not None,
            every_epoch=self._checkpoints.every_epoch,
            commits=self._coordinators.commits,
            batch_mode=self._plan.batch_mode,
        )

    def _make_room(self) -> None:
        if self._progress is not None:
            self._progress.make_room()

    # ---- the loop ------------------------------------------------------------------------------------------------

    def _use_own_settings(self) -> None:
        """In this thread: other jobs of the process have theirs."""
        use_s3(s3_access(self._plan.configuration))
        codec.register_serializers(self._plan.serializers)  # collected records are unpacked here

    def run(self) -> None:
        """Run the job to its end. Never raises but for an interrupt: the outcome is in the job's result."""
        self._started = time.monotonic()
        self._use_own_settings()
        try:
            self._warn_about_guarantees()
            self._reporter.described(self._checkpoints.settings)
            event: say.Event | None = say.Submitted(self._ticks())
            while event is not None:
                instructions = self._machine.handle(event)
                if isinstance(event, say.Failed):
                    self._report_failure(event)
                event = self._carry_out_all(instructions)
        except BaseException as error:  # a bug of ours, or Ctrl-C at a moment at which nothing was being done
            self._end_by_force(error)
        if isinstance(self._failure, (KeyboardInterrupt, Terminated)):
            raise self._failure

    def _carry_out_all(self, instructions: list[say.Instruction]) -> say.Event | None:
        """Do what the machine says, up to the first failure. Returns the answer to the question at the end."""
        answer: say.Event | None = None
        for instruction in instructions:
            try:
                answer = self._carry_out(instruction)
            except BaseException as error:
                return self._failed(error, instruction)
        return answer

    def _report_failure(self, event: say.Failed) -> None:
        """Tell of a failure, unless it is only the way in which the job was made to end."""
        self._reporter.restarts = self._machine.generation
        where, self._failed_at = self._failed_at, None
        ended_from_outside = event.cancelled or event.kind in (FailureKind.OUTSIDE, FailureKind.INTERRUPTED)
        if self._failure is not None and not ended_from_outside:
            self._reporter.exception(self._failure, where, fatal=self._machine.phase is not Phase.BACKING_OFF)

    def _end_by_force(self, error: BaseException) -> None:
        """End the job without its machine: close what can be closed, and tell those who wait."""
        self._failure = error
        outside = isinstance(error, (KeyboardInterrupt, Terminated))
        self._coordinators.close()
        self._close_cluster(say.CloseCluster(failed=True))
        self._close_checkpoints(say.CloseCheckpoints(finished=False, cancelled=outside))
        self._job.refuse_savepoints()
        self._job.set_status(JobStatus.CANCELED if outside else JobStatus.FAILED)
        self._finish(say.Finish(Outcome.INTERRUPTED if outside else Outcome.FAILED))

    def _carry_out(self, instruction: say.Instruction) -> say.Event | None:
        """Do what the machine says. Returns the answer to a question."""
        return _HANDS[type(instruction)](self, instruction)

    def _failed(self, error: BaseException, during: say.Instruction) -> say.Failed:
        kind = kind_of(error)
        if self._machine.phase is not Phase.CLOSING or self._failure is None or kind is FailureKind.OUTSIDE:
            self._failure = error
        else:
            log.warning("while closing job %s: %s", self._job.name, headline_of(error))
        return say.Failed(self._ticks(), kind, headline_of(error), during, self._job.cancel_requested)

    def _warn_about_guarantees(self) -> None:
        if self._checkpoints.settings.interval is not None:
            for shortcoming in self._coordinators.shortcomings():
                log.warning("%s", shortcoming)

    # ---- beginning -----------------------------------------------------------------------------------------------

    def _set_status(self, told: say.SetStatus) -> None:
        self._reporter.restarts = self._machine.generation
        self._job.set_status(told.status)
        self._reporter.status(told.status)

    def _open(self, _: say.OpenCheckpoints) -> say.Event:
        self._restore = self._checkpoints.open()
        if self._log is not None:
            self._log.begin()
        if isinstance(self._clock, SteadyClock) and self._restore is not None:
            self._clock.not_before(self._restore.timestamp)
        return say.Opened(self._ticks(), self._restore is not None, self._checkpoints.next_id)

    def _start(self, _: say.Start) -> say.Event:
        self._coordinators.restore(self._restore)
        if self._restore is not None:
            self._reporter.restored(self._restore)
        return say.Started(self._ticks())

    # ---- between epochs ------------------------------------------------------------------------------------------

    def _look(self, _: say.Look) -> say.Event:
        if self._job.cancel_requested:
            return say.Looked(self._ticks(), cancelled=True)
        now = self._clock()
        self._coordinators.poll(now)
        self._savepoint = self._job.next_savepoint()
        saving = None if self._savepoint is None else say.Saving(self._savepoint.stop, self._savepoint.drain)
        timer_due = self._next_timer is not None and self._next_timer <= now
        work = saving is not None or timer_due or self._coordinators.has_work(now)
        next_work = None if work else self._coordinators.next_work_time(now)
        known = [at - now for at in (next_work, self._next_timer) if at is not None]
        self._epoch = _EpochInWork(now)
        return say.Looked(self._ticks(), work, min(known, default=None), next_work is None, saving)

    def _wait(self, told: say.Wait) -> None:
        self._job.wait(told.seconds)

    # ---- epochs --------------------------------------------------------------------------------------------------

    def _run_epoch(self, told: say.RunEpoch) -> say.Event:
        epoch = self._epoch
        epoch.number = told.number
        if self._savepoint is not None:
            epoch.target = self._savepoint.target(str(self._job.id))
        order = self._order(told, epoch)
        epoch.started = time.monotonic()
        epoch.results = self._run_on_cluster(order)
        self._previous_end = self._clock()
        problems = [problem for result in epoch.results for problem in result.write_problems]
        return say.EpochDone(
            self._ticks(),
            ended=all(self._ended(result) for result in epoch.results),
            unsafe=unsafe_end(self._plan, epoch.results),
            problem=problems[0] if problems else None,
        )

    def _order(self, told: say.RunEpoch, epoch: _EpochInWork) -> EpochOrder:
        store = self._checkpoints.store
        completed, self._completed_checkpoint = self._completed_checkpoint, None
        plan = EpochPlan(epoch.now, told.checkpoint_id, self._budget.records, drain=told.snapshot.drains)
        return EpochOrder(
            request=EpochRequest(
                epoch=told.number,
                generation=told.generation,
                now=epoch.now,
                previous_end=self._previous_end,
                checkpoint_id=told.checkpoint_id,
                snapshot=told.snapshot,
                completed_checkpoint=completed,
                time_budget_ms=self._reading_ms(),
            ),
            orders=self._coordinators.orders(plan),
            restore=self._restore if told.first or not self._cluster.pinned else None,
            fresh=told.first and self._restore is None,
            store_directory=epoch.target or (None if store is None else store.directory),
        )

    def _reading_ms(self) -> int:
        """How long sources may read. Where an epoch lasts as long as it may, it ends when a checkpoint is due.

        It is no longer than was asked for: it would look like one in which the job cannot keep up.
        """
        reading = self._budget.reading_seconds * 1000
        if not self._cluster.flows:
            return int(reading)
        due = self._machine.ledger.next_due()
        wanted = reading * _READING_SHARE
        return int(wanted if due is None else min(wanted, max(0, due - self._ticks())))

    def _run_on_cluster(self, order: EpochOrder) -> list[SubtaskDone]:
        results = self._cluster.run_epoch(order)
        for failed in [result for result in results if isinstance(result, SubtaskFailed)]:
            self._failed_at = failed
            raise failed.failure
        for lost in [result for result in results if isinstance(result, StateLost)]:
            self._failed_at = lost
            raise JobFailedError(lost.message)
        done = [result for result in results if isinstance(result, SubtaskDone)]
        violation = fencing_violation(self._plan, done)
        if violation is not None:
            raise JobFailedError(f"epoch {order.request.epoch} does not fit together: {violation}")
        return done

    def _ended(self, result: SubtaskDone) -> bool:
        level, index = result.level, result.index
        chains = [chain for chain in self._plan.chains if chain.level == level and index < chain.parallelism]
        return len(result.report.ended_chains) == len(chains)

    def _take_in(self, _: say.TakeIn) -> None:
        results = self._epoch.results
        self._coordinators.apply(results)
        timers = [each.report.next_timer for each in results if each.report.next_timer is not None]
        self._next_timer = min(timers, default=None)

    def _measure(self, told: say.Measure) -> None:
        epoch, results = self._epoch, self._epoch.results
        latest = self._checkpoints.latest
        if not self._cluster.pinned:  # a subtask that moves goes on from exactly here, or not at all
            here = latest is not None and latest.checkpoint_id == told.checkpoint_id
            self._restore = latest if here else None
        seconds = time.monotonic() - epoch.started
        intakes = self._coordinators.intakes()
        reads: Counter[int] = Counter()
        for intake in intakes:
            reads.update(intake.records)
        self._budget.observe(max(reads.values(), default=0), seconds)
        newest = max((each.newest for each in intakes if each.newest is not None), default=MIN_WATERMARK)
        stats = EpochStats(epoch.number, reads.total(), seconds, job_watermark(results), newest, told.checkpoint_id)
        self._reporter.epoch(stats, results, self._budget.saturated, self._coordinators.metrics())
        self._hints.observe(results, epoch.now)

    # ---- checkpoints and savepoints ------------------------------------------------------------------------------

    def _pause(self, told: say.PauseCheckpoints) -> None:
        if told.reason is None:
            log.info("checkpoints go on")
        else:
            log.warning("checkpoints pause: %s", told.reason)

    def _commit(self, told: say.Commit) -> None:
        self._coordinators.committed(told.checkpoint_id)
        if told.stored:
            self._completed_checkpoint = told.checkpoint_id

    def _commit_again(self, _: say.CommitAgain) -> None:
        if self._checkpoints.base is not None:
            self._coordinators.committed(self._checkpoints.base.checkpoint_id)

    def _keep(self, told: say.KeepSnapshot) -> say.Event:
        state = self._coordinators.snapshot(told.checkpoint_id)
        epoch = self._epoch
        files = self._checkpoints.keep(told.checkpoint_id, told.full, epoch.results, state, epoch.now)
        if self._checkpoints.store is not None:
            self._reporter.snapshots_taken(told.checkpoint_id, savepoint=False, results=epoch.results)
        return say.SnapshotKept(self._ticks(), files)

    def _forget(self, _: say.ForgetSnapshot) -> None:
        self._checkpoints.decline(self._epoch.results)

    def _look_for_files(self, told: say.LookForFiles) -> say.Event:
        return say.FilesSeen(self._ticks(), told.checkpoint_id, self._checkpoints.has_files(told.checkpoint_id))

    def _write_manifest(self, told: say.WriteManifest) -> say.Event:
        try:
            self._checkpoints.write_manifest(told.checkpoint_id)
        except DirectoryLostError:
            raise
        except CheckpointError as error:
            return say.ManifestRefused(self._ticks(), told.checkpoint_id, str(error))
        return say.ManifestWritten(self._ticks(), told.checkpoint_id)

    def _finish_checkpoint(self, told: say.FinishCheckpoint) -> say.Event:
        at = self._ticks()
        done = self._checkpoints.finish(told.checkpoint_id, at - told.started, told.full)
        store = self._checkpoints.store
        if store is not None:
            size, number = done.state_bytes, done.checkpoint_id
            self._reporter.checkpoint_complete(number, False, done.path, done.duration_ms, size, done.full, store)
        return say.CheckpointFinished(at)

    def _give_up_checkpoints(self, told: say.GiveUpCheckpoints) -> None:
        log.warning("%s; it is given up", told.reason)
        self._checkpoints.give_up()
        self._reporter.checkpoints_failed(told.checkpoint_ids, told.reason)
        if told.fatal:
            raise CheckpointError(told.reason)

    def _write_savepoint(self, told: say.WriteSavepoint) -> say.Event:
        assert self._savepoint is not None
        assert self._epoch.target is not None
        epoch, number = self._epoch, told.checkpoint_id
        state = self._coordinators.snapshot(number)
        self._reporter.snapshots_taken(number, savepoint=True, results=epoch.results)
        try:
            self._savepoint_path = write_savepoint(
                self._epoch.target, self._plan, number, epoch.now, epoch.results, state
            )
        except CheckpointError as error:
            self._savepoint.fail(error)
            self._reporter.checkpoints_failed((number,), str(error), savepoint=True)
            return say.SavepointRefused(self._ticks())
        store = CheckpointStore(self._savepoint_path)
        size = sum(store.state_size(each.state_file) for each in epoch.results if each.state_file is not None)
        took = int((time.monotonic() - epoch.started) * 1000)
        self._reporter.checkpoint_complete(number, True, self._savepoint_path, took, size, True, store)
        return say.SavepointWritten(self._ticks())

    def _stop_with_savepoint(self, told: say.StopWithSavepoint) -> None:
        self._checkpoints.stop_with(self._savepoint_path)
        self._coordinators.committed(told.checkpoint_id)

    def _answer_savepoint(self, _: say.AnswerSavepoint) -> None:
        assert self._savepoint is not None
        self._savepoint.done.set_result(self._savepoint_path)

    def _refuse_savepoint(self, told: say.RefuseSavepoint) -> None:
        assert self._savepoint is not None
        self._savepoint.fail(self._failure or CheckpointError(f"job {self._job.name!r} {told.reason}"))
        self._savepoint = None

    # ---- failures and the end ------------------------------------------------------------------------------------

    def _roll_back(self, _: say.RollBack) -> None:
        self._restore = self._checkpoints.roll_back()
        base = self._checkpoints.base
        self._coordinators.roll_back(None if base is None else base.checkpoint_id)
        self._next_timer = self._previous_end = None

    def _back_off(self, told: say.BackOff) -> say.Event:
        self._first_failure = self._first_failure or self._failure
        log.warning("job %s failed (%s); restarting in %d ms", self._job.name, told.headline, told.milliseconds)
        deadline = time.monotonic() + told.milliseconds / 1000
        while (left := deadline - time.monotonic()) > 0 and not self._job.cancel_requested:
            self._job.wait(left)
        self._failure = None
        return say.BackedOff(self._ticks(), self._job.cancel_requested)

    def _ask_unfinished(self, _: say.AskUnfinished) -> say.Event:
        """Whether coordinators are not done though the job has ended: output may still have to become visible."""
        if self._coordinators.unfinished():
            self._coordinators.poll(self._clock())
        return say.UnfinishedSeen(self._ticks(), self._coordinators.unfinished(), self._job.cancel_requested)

    def _close_coordinators(self, _: say.CloseCoordinators) -> None:
        self._coordinators.close()

    def _close_cluster(self, told: say.CloseCluster) -> None:
        try:
            problems = self._cluster.close()
        except Exception as error:  # the cluster may be what failed: then it has been said already
            log.debug("the cluster of job %s cannot be closed", self._job.name, exc_info=error)
            problems = [] if told.failed else [headline_of(error)]
        for problem in problems:
            log.warning("while closing job %s: %s", self._job.name, problem)

    def _close_checkpoints(self, told: say.CloseCheckpoints) -> None:
        suspended = self._job.terminated or isinstance(self._failure, Terminated)
        self._checkpoints.close(finished=told.finished, cancelled=told.cancelled and not suspended)

    def _refuse_savepoints(self, _: say.RefuseSavepoints) -> say.Event:
        self._job.refuse_savepoints()
        return say.Closed(self._ticks())

    def _finish(self, told: say.Finish) -> None:
        error = self._error_of(told.outcome)
        for sink in self._driver_sinks.values():
            sink.finished(error)
        runtime_ms = int((time.monotonic() - self._started) * 1000)
        story = error.story if isinstance(error, JobFailedError) else ""
        self._reporter.ended(self._job.status, runtime_ms, error, self._job.metrics.counters(), story)
        if self._log is not None:
            self._log.close()
        self._job.finish(runtime_ms, error)

    def _error_of(self, outcome: Outcome) -> BaseException | None:
        """What whoever waits for the job gets."""
        if outcome is Outcome.FINISHED:
            return None
        if outcome is Outcome.CANCELLED:
            return JobCancelledError(f"job {self._job.name!r} was cancelled")
        assert self._failure is not None
        if outcome is Outcome.INTERRUPTED:
            return self._failure
        failure = shown_failure(self._failure, self._machine.generation, self._first_failure)
        failure.story = self._machine.story()
        return failure


_HANDS: dict[type[say.Instruction], Callable[[JobDriver, Any], say.Event | None]] = {
    say.SetStatus: JobDriver._set_status,
    say.OpenCheckpoints: JobDriver._open,
    say.Start: JobDriver._start,
    say.Look: JobDriver._look,
    say.Wait: JobDriver._wait,
    say.RunEpoch: JobDriver._run_epoch,
    say.TakeIn: JobDriver._take_in,
    say.Measure: JobDriver._measure,
    say.PauseCheckpoints: JobDriver._pause,
    say.Commit: JobDriver._commit,
    say.CommitAgain: JobDriver._commit_again,
    say.KeepSnapshot: JobDriver._keep,
    say.ForgetSnapshot: JobDriver._forget,
    say.LookForFiles: JobDriver._look_for_files,
    say.WriteManifest: JobDriver._write_manifest,
    say.FinishCheckpoint: JobDriver._finish_checkpoint,
    say.GiveUpCheckpoints: JobDriver._give_up_checkpoints,
    say.WriteSavepoint: JobDriver._write_savepoint,
    say.StopWithSavepoint: JobDriver._stop_with_savepoint,
    say.AnswerSavepoint: JobDriver._answer_savepoint,
    say.RefuseSavepoint: JobDriver._refuse_savepoint,
    say.RollBack: JobDriver._roll_back,
    say.BackOff: JobDriver._back_off,
    say.AskUnfinished: JobDriver._ask_unfinished,
    say.CloseCoordinators: JobDriver._close_coordinators,
    say.CloseCluster: JobDriver._close_cluster,
    say.CloseCheckpoints: JobDriver._close_checkpoints,
    say.RefuseSavepoints: JobDriver._refuse_savepoints,
    say.Finish: JobDriver._finish,
}
"""What carries out each instruction."""
