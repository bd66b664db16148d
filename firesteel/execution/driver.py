"""The driver of a job: carries out what the job's machine says, and tells it what happened."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from firesteel.common import JobStatus
from firesteel.common.options import CANCELLATION_TIMEOUT, EVENTS_DIR, EVENTS_INTERVAL, EVENTS_MAX_SIZE, PROGRESS
from firesteel.common.restart_strategy import restart_strategy_of
from firesteel.errors import JobCancelledError, JobFailedError
from firesteel.events import EventLogWriter
from firesteel.execution.checkpoints import CheckpointKeeper
from firesteel.execution.clock import SteadyClock, interval_clock, processing_clock
from firesteel.execution.cluster import Cluster
from firesteel.execution.control import language as say
from firesteel.execution.control.language import FailureKind, Outcome
from firesteel.execution.control.ledger import CheckpointRules
from firesteel.execution.control.machine import JobMachine, Phase
from firesteel.execution.coordinators import Coordinators, JobServices
from firesteel.execution.ending import Terminated, watch_cancellation
from firesteel.execution.hands.epochs import EpochHands
from firesteel.execution.hands.run import Hands, JobRun
from firesteel.execution.hands.snapshots import SnapshotHands
from firesteel.execution.job import Job
from firesteel.execution.job_errors import headline_of, kind_of, shown_failure
from firesteel.execution.progress import ProgressLine
from firesteel.execution.reporting import JobReporter, Subscriber
from firesteel.execution.worker_plan import s3_access
from firesteel.model.sink import DriverSink
from firesteel.plan.job_plan import JobPlan
from firesteel.reporters import MetricReporting
from firesteel.state import codec
from firesteel.state.file_systems import use_s3

log = logging.getLogger("firesteel.driver")


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
        _use_own_settings(plan)
        self._driver_sinks = driver_sinks
        self._progress = ProgressLine.wanted(configuration.get(PROGRESS))
        clock = clock or processing_clock()
        checkpoints = CheckpointKeeper(plan, subtasks_move=not cluster.pinned)
        restarts = restart_strategy_of(configuration).new_policy()
        # A BATCH job that fails reads everything anew: its output is handed out when it cannot come again.
        replays = checkpoints.store is not None or (plan.batch_mode and restarts is not None)
        coordinators = Coordinators(plan, JobServices(driver_sinks, job.wake, self._make_room, replays))
        self._machine = JobMachine(_rules(plan, checkpoints, coordinators), restarts)
        self._log = _event_log(plan, job, checkpoints)
        reporters = MetricReporting.of(configuration, job.history)
        wanted: list[Subscriber | None] = [job.metrics, job.history.apply, self._progress, self._log, reporters]
        reporter = JobReporter(plan, str(job.id), [each for each in wanted if each is not None])
        self._run = JobRun(plan, cluster, job, clock, interval_clock(clock), checkpoints, coordinators, reporter)
        epochs, snapshots = EpochHands(self._run, self._machine.ledger.next_due), SnapshotHands(self._run)
        self._hands: Hands = {**self._own_hands(), **epochs.table, **snapshots.table}
        self._started = time.monotonic()
        self._first_failure: BaseException | None = None
        """What the job was restarted for the first time."""
        job.metrics.start(plan)
        watch_cancellation(job, cluster.interrupt, configuration.get(CANCELLATION_TIMEOUT))
        job.checkpoints = checkpoints.completed

    def _own_hands(self) -> Hands:
        return {
            say.SetStatus: self._set_status,
            say.OpenCheckpoints: self._open,
            say.Start: self._start,
            say.RollBack: self._roll_back,
            say.BackOff: self._back_off,
            say.AskUnfinished: self._ask_unfinished,
            say.CloseCoordinators: self._close_coordinators,
            say.CloseCluster: self._close_cluster,
            say.CloseCheckpoints: self._close_checkpoints,
            say.RefuseSavepoints: self._refuse_savepoints,
            say.Finish: self._finish,
        }

    def _make_room(self) -> None:
        if self._progress is not None:
            self._progress.make_room()

    # ---- the loop ------------------------------------------------------------------------------------------------

    def announce(self) -> None:
        """Tell all who watch the job what it is made of, before :meth:`run` and in the thread that submits it."""
        self._run.reporter.described(self._run.checkpoints.settings)

    def run(self) -> None:
        """Run the job to its end. Never raises but for an interrupt: the outcome is in the job's result."""
        self._started = time.monotonic()
        _use_own_settings(self._run.plan)
        try:
            self._warn_about_guarantees()
            event: say.Event | None = say.Submitted(self._run.ticks())
            while event is not None:
                instructions = self._machine.handle(event)
                if isinstance(event, say.Failed):
                    self._report_failure(event)
                event = self._carry_out_all(instructions)
        except BaseException as error:  # a bug of ours, or Ctrl-C at a moment at which nothing was being done
            self._end_by_force(error)
        if isinstance(self._run.failure, (KeyboardInterrupt, Terminated)):
            raise self._run.failure

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
        self._run.reporter.restarts = self._machine.generation
        where, self._run.failed_at = self._run.failed_at, None
        ended_from_outside = event.cancelled or event.kind in (FailureKind.OUTSIDE, FailureKind.INTERRUPTED)
        if self._run.failure is not None and not ended_from_outside:
            self._run.reporter.exception(self._run.failure, where, fatal=self._machine.phase is not Phase.BACKING_OFF)

    def _end_by_force(self, error: BaseException) -> None:
        """End the job without its machine: close what can be closed, and tell those who wait."""
        self._run.failure = error
        outside = isinstance(error, (KeyboardInterrupt, Terminated))
        self._run.coordinators.close()
        self._close_cluster(say.CloseCluster(failed=True))
        self._close_checkpoints(say.CloseCheckpoints(finished=False, cancelled=outside))
        self._run.refuse_awaited(f"job {self._run.job.name!r} ended before the checkpoint was complete")
        self._run.job.refuse_savepoints()
        self._run.job.set_status(JobStatus.CANCELED if outside else JobStatus.FAILED)
        self._finish(say.Finish(Outcome.INTERRUPTED if outside else Outcome.FAILED))

    def _carry_out(self, instruction: say.Instruction) -> say.Event | None:
        """Do what the machine says. Returns the answer to a question."""
        return self._hands[type(instruction)](instruction)

    def _failed(self, error: BaseException, during: say.Instruction) -> say.Failed:
        kind = kind_of(error)
        if self._machine.phase is not Phase.CLOSING or self._run.failure is None or kind is FailureKind.OUTSIDE:
            self._run.failure = error
        else:
            log.warning("while closing job %s: %s", self._run.job.name, headline_of(error))
        return say.Failed(self._run.ticks(), kind, headline_of(error), during, self._run.job.cancel_requested)

    def _warn_about_guarantees(self) -> None:
        if self._run.checkpoints.settings.interval is not None:
            for shortcoming in self._run.coordinators.shortcomings():
                log.warning("%s", shortcoming)

    # ---- beginning -----------------------------------------------------------------------------------------------

    def _set_status(self, told: say.SetStatus) -> None:
        self._run.reporter.restarts = self._machine.generation
        self._run.job.set_status(told.status)
        self._run.reporter.status(told.status)

    def _open(self, _: say.OpenCheckpoints) -> say.Event:
        self._run.restore = self._run.checkpoints.open()
        if self._log is not None:
            self._log.begin()
        if isinstance(self._run.clock, SteadyClock) and self._run.restore is not None:
            self._run.clock.not_before(self._run.restore.timestamp)
        return say.Opened(self._run.ticks(), self._run.restore is not None, self._run.checkpoints.next_id)

    def _start(self, _: say.Start) -> say.Event:
        self._run.coordinators.restore(self._run.restore)
        if self._run.restore is not None:
            self._run.reporter.restored(self._run.restore)
        return say.Started(self._run.ticks())

    # ---- failures and the end ------------------------------------------------------------------------------------

    def _roll_back(self, _: say.RollBack) -> None:
        self._run.refuse_awaited(f"job {self._run.job.name!r} failed before the checkpoint was complete")
        self._run.restore = self._run.checkpoints.roll_back()
        base = self._run.checkpoints.base
        self._run.coordinators.roll_back(None if base is None else base.checkpoint_id)
        self._run.next_timer = self._run.previous_end = None

    def _back_off(self, told: say.BackOff) -> say.Event:
        self._first_failure = self._first_failure or self._run.failure
        log.warning("job %s failed (%s); restarting in %d ms", self._run.job.name, told.headline, told.milliseconds)
        deadline = time.monotonic() + told.milliseconds / 1000
        while (left := deadline - time.monotonic()) > 0 and not self._run.job.cancel_requested:
            self._run.job.wait(left)
        self._run.failure = None
        return say.BackedOff(self._run.ticks(), self._run.job.cancel_requested)

    def _ask_unfinished(self, _: say.AskUnfinished) -> say.Event:
        """Whether coordinators are not done though the job has ended: output may still have to become visible."""
        if self._run.coordinators.unfinished():
            self._run.coordinators.poll(self._run.clock())
        return say.UnfinishedSeen(
            self._run.ticks(), self._run.coordinators.unfinished(), self._run.job.cancel_requested
        )

    def _close_coordinators(self, _: say.CloseCoordinators) -> None:
        self._run.coordinators.close()

    def _close_cluster(self, told: say.CloseCluster) -> None:
        try:
            problems = self._run.cluster.close()
        except Exception as error:  # the cluster may be what failed: then it has been said already
            log.debug("the cluster of job %s cannot be closed", self._run.job.name, exc_info=error)
            problems = [] if told.failed else [headline_of(error)]
        for problem in problems:
            log.warning("while closing job %s: %s", self._run.job.name, problem)

    def _close_checkpoints(self, told: say.CloseCheckpoints) -> None:
        suspended = self._run.job.terminated or isinstance(self._run.failure, Terminated)
        self._run.checkpoints.close(finished=told.finished, cancelled=told.cancelled and not suspended)

    def _refuse_savepoints(self, _: say.RefuseSavepoints) -> say.Event:
        self._run.refuse_awaited(f"job {self._run.job.name!r} ended before the checkpoint was complete")
        self._run.job.refuse_savepoints()
        return say.Closed(self._run.ticks())

    def _finish(self, told: say.Finish) -> None:
        error = self._error_of(told.outcome)
        runtime_ms = int((time.monotonic() - self._started) * 1000)
        story = error.story if isinstance(error, JobFailedError) else ""
        self._run.reporter.ended(self._run.job.status, runtime_ms, error, self._run.job.metrics.counters(), story)
        if self._log is not None:
            self._log.close()
        for sink in self._driver_sinks.values():  # who reads results may go on, and delete the directory, from here
            sink.finished(error)
        self._run.job.finish(runtime_ms, error)

    def _error_of(self, outcome: Outcome) -> BaseException | None:
        """What whoever waits for the job gets."""
        if outcome is Outcome.FINISHED:
            return None
        if outcome is Outcome.CANCELLED:
            return JobCancelledError(f"job {self._run.job.name!r} was cancelled")
        assert self._run.failure is not None
        if outcome is Outcome.INTERRUPTED:
            return self._run.failure
        failure = shown_failure(self._run.failure, self._machine.generation, self._first_failure)
        failure.story = self._machine.story()
        return failure


def _use_own_settings(plan: JobPlan) -> None:
    """In this thread: other jobs of the process have theirs."""
    use_s3(s3_access(plan.configuration))
    codec.register_serializers(plan.serializers)  # collected records are unpacked here


def _event_log(plan: JobPlan, job: Job, checkpoints: CheckpointKeeper) -> EventLogWriter | None:
    """Beside the checkpoints, once the directory is this job's; or where the user wants it."""
    configuration = plan.configuration
    beside = None if checkpoints.store is None else checkpoints.settings.directory
    directory = configuration.get(EVENTS_DIR) or beside
    if directory is None:
        return None
    interval, limit = configuration.get(EVENTS_INTERVAL), configuration.get(EVENTS_MAX_SIZE)
    writer = EventLogWriter(directory, str(job.id), interval, limit)
    if configuration.get(EVENTS_DIR) is not None:
        writer.begin()
    return writer


def _rules(plan: JobPlan, checkpoints: CheckpointKeeper, coordinators: Coordinators) -> CheckpointRules:
    settings = checkpoints.settings
    return CheckpointRules(
        interval=settings.interval,
        min_pause=settings.min_pause,
        timeout=settings.timeout,
        max_concurrent=settings.max_concurrent,
        tolerable_failures=settings.tolerable_failures,
        stored=checkpoints.store is not None,
        every_epoch=checkpoints.every_epoch,
        commits=coordinators.commits,
        batch_mode=plan.batch_mode,
    )
