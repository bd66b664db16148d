"""Checkpoints and savepoints: what becomes of the state that an epoch has left."""

from __future__ import annotations

import logging
import time

from firesteel.errors import CheckpointError
from firesteel.execution.control import language as say
from firesteel.execution.directory_lock import DirectoryLostError
from firesteel.execution.hands.run import Hands, JobRun
from firesteel.execution.savepoints import write_savepoint
from firesteel.state.store import CheckpointStore

log = logging.getLogger("firesteel.driver")


class SnapshotHands:
    """Carries out what the machine says about checkpoints, commits and savepoints."""

    def __init__(self, run: JobRun) -> None:
        self._run = run
        self._savepoint_path = ""
        self.table: Hands = {
            say.PauseCheckpoints: self._pause,
            say.Commit: self._commit,
            say.CommitAgain: self._commit_again,
            say.KeepSnapshot: self._keep,
            say.ForgetSnapshot: self._forget,
            say.LookForFiles: self._look_for_files,
            say.WriteManifest: self._write_manifest,
            say.FinishCheckpoint: self._finish_checkpoint,
            say.GiveUpCheckpoints: self._give_up_checkpoints,
            say.WriteSavepoint: self._write_savepoint,
            say.StopWithSavepoint: self._stop_with_savepoint,
            say.AnswerSavepoint: self._answer_savepoint,
            say.RefuseSavepoint: self._refuse_savepoint,
            say.RefuseCheckpoint: self._refuse_checkpoint,
        }

    def _pause(self, told: say.PauseCheckpoints) -> None:
        if told.reason is None:
            log.info("checkpoints go on")
        else:
            log.warning("checkpoints pause: %s", told.reason)

    def _commit(self, told: say.Commit) -> None:
        self._run.coordinators.committed(told.checkpoint_id)
        if told.stored:
            self._run.completed_checkpoint = told.checkpoint_id

    def _commit_again(self, _: say.CommitAgain) -> None:
        if self._run.checkpoints.base is not None:
            self._run.coordinators.committed(self._run.checkpoints.base.checkpoint_id)

    def _keep(self, told: say.KeepSnapshot) -> say.Event:
        state = self._run.coordinators.snapshot(told.checkpoint_id)
        epoch = self._run.epoch
        files = self._run.checkpoints.keep(told.checkpoint_id, told.full, epoch.results, state, epoch.now)
        if self._run.checkpoints.settings.interval is not None:  # otherwise nobody may ask for one
            self._run.awaited[told.checkpoint_id] = self._run.job.take_wanted_checkpoints()
        if self._run.checkpoints.store is not None:
            self._run.reporter.snapshots_taken(told.checkpoint_id, savepoint=False, results=epoch.results)
        return say.SnapshotKept(self._run.ticks(), files)

    def _forget(self, _: say.ForgetSnapshot) -> None:
        self._run.checkpoints.decline(self._run.epoch.results)

    def _look_for_files(self, told: say.LookForFiles) -> say.Event:
        return say.FilesSeen(self._run.ticks(), told.checkpoint_id, self._run.checkpoints.has_files(told.checkpoint_id))

    def _write_manifest(self, told: say.WriteManifest) -> say.Event:
        try:
            self._run.checkpoints.write_manifest(told.checkpoint_id)
        except DirectoryLostError:
            raise
        except CheckpointError as error:
            return say.ManifestRefused(self._run.ticks(), told.checkpoint_id, str(error))
        return say.ManifestWritten(self._run.ticks(), told.checkpoint_id)

    def _finish_checkpoint(self, told: say.FinishCheckpoint) -> say.Event:
        at = self._run.ticks()
        done = self._run.checkpoints.finish(told.checkpoint_id, at - told.started, told.full)
        store = self._run.checkpoints.store
        if store is not None:
            size, number = done.state_bytes, done.checkpoint_id
            self._run.reporter.checkpoint_complete(number, False, done.path, done.duration_ms, size, done.full, store)
        for request in self._run.awaited.pop(told.checkpoint_id, []):
            request.done.set_result(told.checkpoint_id)
        return say.CheckpointFinished(at)

    def _give_up_checkpoints(self, told: say.GiveUpCheckpoints) -> None:
        log.warning("%s; it is given up", told.reason)
        self._run.checkpoints.give_up()
        self._run.refuse_awaited(told.reason)
        self._run.reporter.checkpoints_failed(told.checkpoint_ids, told.reason)
        if told.fatal:
            raise CheckpointError(told.reason)

    def _write_savepoint(self, told: say.WriteSavepoint) -> say.Event:
        assert self._run.savepoint is not None
        assert self._run.epoch.target is not None
        epoch, number = self._run.epoch, told.checkpoint_id
        state = self._run.coordinators.snapshot(number)
        self._run.reporter.snapshots_taken(number, savepoint=True, results=epoch.results)
        try:
            self._savepoint_path = write_savepoint(
                self._run.epoch.target, self._run.plan, number, epoch.now, epoch.results, state
            )
        except CheckpointError as error:
            self._run.savepoint.fail(error)
            self._run.reporter.checkpoints_failed((number,), str(error), savepoint=True)
            return say.SavepointRefused(self._run.ticks())
        store = CheckpointStore(self._savepoint_path)
        size = sum(store.state_size(each.state_file) for each in epoch.results if each.state_file is not None)
        took = int((time.monotonic() - epoch.started) * 1000)
        self._run.reporter.checkpoint_complete(number, True, self._savepoint_path, took, size, True, store)
        return say.SavepointWritten(self._run.ticks())

    def _stop_with_savepoint(self, told: say.StopWithSavepoint) -> None:
        self._run.checkpoints.stop_with(self._savepoint_path)
        self._run.coordinators.committed(told.checkpoint_id)

    def _answer_savepoint(self, _: say.AnswerSavepoint) -> None:
        assert self._run.savepoint is not None
        self._run.savepoint.done.set_result(self._savepoint_path)

    def _refuse_savepoint(self, told: say.RefuseSavepoint) -> None:
        assert self._run.savepoint is not None
        self._run.savepoint.fail(self._run.failure or CheckpointError(f"job {self._run.job.name!r} {told.reason}"))
        self._run.savepoint = None

    def _refuse_checkpoint(self, told: say.RefuseCheckpoint) -> None:
        for request in self._run.job.take_wanted_checkpoints():
            request.done.set_exception(CheckpointError(f"job {self._run.job.name!r} {told.reason}"))
