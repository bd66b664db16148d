"""Epochs: look what there is to do, run one, take in what it gave."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from firesteel.common.time import MIN_WATERMARK
from firesteel.errors import JobFailedError
from firesteel.execution.budget import EpochBudget
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.control import language as say
from firesteel.execution.fencing import fencing_violation
from firesteel.execution.hands.run import EpochInWork, Hands, JobRun
from firesteel.execution.hints import JobHints
from firesteel.execution.job_errors import SubtaskMovedError
from firesteel.execution.job_metrics import EpochStats, job_watermark
from firesteel.execution.recovery import unsafe_end
from firesteel.execution.results import Place, StateLost, SubtaskDone, SubtaskFailed
from firesteel.model.coordinator import EpochPlan
from firesteel.runtime.epoch import EpochRequest

_READING_SHARE = 0.9
"""The part of the time of an epoch that flows in which sources read; the rest is for its end."""


class EpochHands:
    """Carries out what the machine says about epochs.

    :param next_due: When the next checkpoint is due, in ticks.
    """

    def __init__(self, run: JobRun, next_due: Callable[[], int | None]) -> None:
        self._run = run
        self._next_due = next_due
        self._budget = EpochBudget.of(run.plan.configuration)
        self._hints = JobHints(run.plan)
        self._places: dict[tuple[int, int], Place] = {}
        """Level and subtask -> where it was in the last epoch."""
        self.table: Hands = {
            say.Look: self._look,
            say.Wait: self._wait,
            say.RunEpoch: self._run_epoch,
            say.TakeIn: self._take_in,
            say.Measure: self._measure,
        }

    def _look(self, _: say.Look) -> say.Event:
        run = self._run
        if run.job.cancel_requested:
            return say.Looked(run.ticks(), cancelled=True)
        now, now_read_at = run.clock(), time.monotonic()
        run.coordinators.poll(now)
        run.savepoint = run.job.next_savepoint()
        saving = None if run.savepoint is None else say.Saving(run.savepoint.stop, run.savepoint.drain)
        timer_due = run.next_timer is not None and run.next_timer <= now
        work = saving is not None or timer_due or run.coordinators.has_work(now)
        next_work = None if work else run.coordinators.next_work_time(now)
        known = [at - now for at in (next_work, run.next_timer) if at is not None]
        run.epoch = EpochInWork(now, now_read_at)
        wanted = run.job.wanted_checkpoints()
        wish = say.CheckpointWish(any(each.full for each in wanted)) if wanted else None
        return say.Looked(run.ticks(), work, min(known, default=None), next_work is None, saving, wish)

    def _wait(self, told: say.Wait) -> None:
        self._run.job.wait(told.seconds)

    def _run_epoch(self, told: say.RunEpoch) -> say.Event:
        epoch = self._run.epoch
        epoch.number = told.number
        if told.first:
            self._hints.begin_run()
        if self._run.savepoint is not None:
            epoch.target = self._run.savepoint.target(str(self._run.job.id))
        order = self._order(told, epoch)
        epoch.started = time.monotonic()
        epoch.results = self._run_on_cluster(order)
        self._run.previous_end = self._run.clock()
        problems = [problem for result in epoch.results for problem in result.write_problems]
        return say.EpochDone(
            self._run.ticks(),
            ended=all(self._ended(result) for result in epoch.results),
            unsafe=unsafe_end(self._run.plan, epoch.results),
            problem=problems[0] if problems else None,
        )

    def _order(self, told: say.RunEpoch, epoch: EpochInWork) -> EpochOrder:
        store = self._run.checkpoints.store
        completed, self._run.completed_checkpoint = self._run.completed_checkpoint, None
        plan = EpochPlan(epoch.now, told.checkpoint_id, self._budget.records, drain=told.snapshot.drains)
        return EpochOrder(
            request=EpochRequest(
                epoch=told.number,
                generation=told.generation,
                now=epoch.now,
                previous_end=self._run.previous_end,
                checkpoint_id=told.checkpoint_id,
                snapshot=told.snapshot,
                completed_checkpoint=completed,
                time_budget_ms=self._reading_ms(),
            ),
            orders=self._run.coordinators.orders(plan),
            restore=self._run.restore if told.first or not self._run.cluster.pinned else None,
            fresh=told.first and self._run.restore is None,
            store_directory=epoch.target or (None if store is None else store.directory),
            now_read_at=epoch.now_read_at,
        )

    def _reading_ms(self) -> int:
        """How long sources may read. Where an epoch lasts as long as it may, it ends when a checkpoint is due.

        It is no longer than was asked for: it would look like one in which the job cannot keep up.
        """
        reading = self._budget.reading_seconds * 1000
        if not self._run.cluster.flows:
            return int(reading)
        due = self._next_due()
        wanted = reading * _READING_SHARE
        return int(wanted if due is None else min(wanted, max(0, due - self._run.ticks())))

    def _run_on_cluster(self, order: EpochOrder) -> list[SubtaskDone]:
        results = self._run.cluster.run_epoch(order)
        for failed in [result for result in results if isinstance(result, SubtaskFailed)]:
            self._run.failed_at = failed
            raise failed.failure
        for lost in [result for result in results if isinstance(result, StateLost)]:
            self._run.failed_at = lost
            raise (SubtaskMovedError if self._has_moved(lost) else JobFailedError)(lost.message)
        done = [result for result in results if isinstance(result, SubtaskDone)]
        violation = fencing_violation(self._run.plan, done)
        if violation is not None:
            raise JobFailedError(f"epoch {order.request.epoch} does not fit together: {violation}")
        return done

    def _has_moved(self, lost: StateLost) -> bool:
        """Whether a subtask without its state is on another executor than before: otherwise its process has died."""
        before = self._places.get((lost.level, lost.index))
        return before is not None and (before.host, before.keeper) != (lost.place.host, lost.place.keeper)

    def _ended(self, result: SubtaskDone) -> bool:
        level, index = result.level, result.index
        chains = [chain for chain in self._run.plan.chains if chain.level == level and index < chain.parallelism]
        return len(result.report.ended_chains) == len(chains)

    def _take_in(self, _: say.TakeIn) -> None:
        results = self._run.epoch.results
        self._places = {(each.level, each.index): each.place for each in results}
        self._run.coordinators.apply(results)
        timers = [each.report.next_timer for each in results if each.report.next_timer is not None]
        self._run.next_timer = min(timers, default=None)

    def _measure(self, told: say.Measure) -> None:
        epoch, results = self._run.epoch, self._run.epoch.results
        latest = self._run.checkpoints.latest
        if not self._run.cluster.pinned:  # a subtask that moves goes on from exactly here, or not at all
            here = latest is not None and latest.checkpoint_id == told.checkpoint_id
            self._run.restore = latest if here else None
        seconds = time.monotonic() - epoch.started
        intakes = self._run.coordinators.intakes()
        reads: Counter[int] = Counter()
        for intake in intakes:
            reads.update(intake.records)
        self._budget.observe(max(reads.values(), default=0), seconds)
        newest = max((each.newest for each in intakes if each.newest is not None), default=MIN_WATERMARK)
        stats = EpochStats(epoch.number, reads.total(), seconds, job_watermark(results), newest, told.checkpoint_id)
        self._run.reporter.epoch(stats, results, self._budget.saturated, self._run.coordinators.metrics())
        assert self._run.previous_end is not None
        self._hints.observe(results, self._run.previous_end)
