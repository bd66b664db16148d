"""The driver's hands for checkpoints: where they are, what makes them count, and which are kept."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from firesteel.errors import CheckpointError
from firesteel.execution.checkpoint_settings import CheckpointSettings
from firesteel.execution.clock import wall_clock_ms
from firesteel.execution.directory_lock import DirectoryLock, DirectoryLostError
from firesteel.execution.recovery import readable_checkpoints, refuse_incomplete, refuse_lost, refuse_misfit
from firesteel.execution.results import SubtaskDone
from firesteel.plan.job_plan import JobPlan
from firesteel.state.filesystem import LocalFileStore
from firesteel.state.store import CheckpointStore, Manifest, OperatorFiles, discard, find_manifest
from firesteel.state.work_directory import process_folder

log = logging.getLogger("firesteel.checkpoints")


@dataclass(frozen=True)
class CompletedCheckpoint:
    """What is known of a checkpoint that was completed."""

    checkpoint_id: int
    path: str
    timestamp: int
    duration_ms: int
    state_bytes: int
    """What this checkpoint wrote."""
    full: bool


@dataclass
class _Kept:
    """A checkpoint whose snapshots have been put together, and whose state files are being written."""

    manifest: Manifest
    files: set[str]
    """The state files that are written for it."""
    unseen: list[str]
    """Those of them that have not been seen in the store yet: each costs a request."""
    path: str = ""


class CheckpointKeeper:
    """Puts checkpoints together, makes them count, and keeps the last ones. When and which, others decide.

    :param subtasks_move: Between hosts, now and then. A job without checkpoints has nothing to go back to then, so its
        state is stored after every epoch.
    """

    def __init__(self, plan: JobPlan, subtasks_move: bool) -> None:
        self.settings = CheckpointSettings.of(plan.configuration, plan.batch_mode)
        self.completed: list[CompletedCheckpoint] = []
        self.next_id = 1
        """The number of the first checkpoint that is taken, once the directory is open."""
        self._plan = plan
        self.every_epoch = subtasks_move and self.settings.interval is None and not plan.batch_mode
        self._temporary = False
        self.store = self._open_store()
        self._lock = None if self.store is None else DirectoryLock(self.store.files)
        self._kept: dict[int, _Kept] = {}
        """What is under way, by its number."""
        self._abandoned: set[str] = set()
        """State files of checkpoints that were given up: some may still be under way."""
        self._retained: list[Manifest] = []
        self._base: Manifest | None = None
        """Where a restart goes back to: the last completed checkpoint, or what the job was started from."""
        self._claimed: Manifest | None = None
        """What the job was started from, if it is to be deleted."""
        self._last_snapshot: Manifest | None = None
        """The newest snapshot taken, complete or not: the next change builds on its files."""
        self._cleaner = ThreadPoolExecutor(1, thread_name_prefix="firesteel-cleanup")

    def _open_store(self) -> CheckpointStore | None:
        if self.settings.interval is None and not self.every_epoch:
            return None
        directory = self.settings.directory
        if directory is None:
            directory = process_folder("checkpoints")
            self._temporary = True
        return CheckpointStore(directory)

    # --- starting -----------------------------------------------------------------------------------

    def open(self) -> Manifest | None:
        """Take hold of the directory and find what to go on from: what the user names, or what is there."""
        if self.store is not None and self._lock is not None:
            self.store.refuse_other_use()
            self._lock.acquire(wall_clock_ms())
            self._lock.keep(wall_clock_ms)
        manifest: Manifest | None = None
        if self.settings.recovery_path is not None:
            if self._plan.batch_mode:
                raise CheckpointError(
                    "a job in BATCH mode reads its input from the beginning and cannot go on from "
                    f"{self.settings.recovery_path} (execution.state-recovery.path). Set the runtime mode STREAMING"
                )
            manifest = find_manifest(self.settings.recovery_path)
            self._claimed = manifest if self.settings.claim else None
            self.next_id = manifest.checkpoint_id + 1
        if self.store is not None:
            manifest = self._adopt(self.store, manifest)
        if manifest is not None:
            refuse_incomplete(manifest)
            if not self.settings.ignore_unclaimed:
                refuse_misfit(self._plan, manifest)
        self._base = manifest
        return manifest

    def _adopt(self, store: CheckpointStore, chosen: Manifest | None) -> Manifest | None:
        """Take over the checkpoints in the directory, and sweep what a crash has left behind."""
        ids = store.checkpoint_ids()
        self._retained, damaged = readable_checkpoints(store, ids)
        if chosen is None:
            refuse_lost(store, ids)
            chosen = self._stopped_with(store, ids)
        if damaged and chosen is None:
            raise CheckpointError(
                f"{damaged[0]}. To go on from another checkpoint or savepoint, set execution.state-recovery.path; to "
                "begin anew, set another execution.checkpointing.dir"
            )
        needed: set[str] = set().union(*(manifest.all_files() for manifest in self._retained))
        for name in () if damaged else store.state_names():
            if name not in needed:
                store.delete_state(name)
        self.next_id = 1 + max(*ids, store.latest_noted(), chosen.checkpoint_id if chosen is not None else 0)
        return chosen or (self._retained[-1] if self._retained else None)

    @staticmethod
    def _stopped_with(store: CheckpointStore, ids: list[int]) -> Manifest | None:
        """The savepoint that the last job in the directory stopped with, if it died before it could clean up."""
        noted, path = store.stop_noted()
        return find_manifest(path) if noted > max(ids, default=0) else None

    # --- taking checkpoints -------------------------------------------------------------------------

    @property
    def latest(self) -> Manifest | None:
        """The last completed checkpoint."""
        return self._retained[-1] if self._retained else None

    @property
    def base(self) -> Manifest | None:
        """The checkpoint or savepoint that a restart goes back to."""
        return self._base

    def keep(
        self, checkpoint_id: int, full: bool, results: list[SubtaskDone], driver_state: dict[str, Any], now: int
    ) -> int:
        """Put the snapshots of an epoch together. Returns how many files the recovery of one subtask would read."""
        before = {} if full or self._last_snapshot is None else self._last_snapshot.operators
        manifest = build_manifest(self._plan, "checkpoint", checkpoint_id, now, results, before, driver_state)
        files = {result.state_file for result in results if result.state_file is not None}
        self._kept[checkpoint_id] = _Kept(manifest, files, sorted(files))
        self._last_snapshot = manifest
        return _longest_history(manifest)

    def has_files(self, checkpoint_id: int) -> bool:
        """Whether all state files of a checkpoint are there."""
        if self._lock is not None:
            self._lock.check()  # before waiting for files that will never be there
        unseen = self._kept[checkpoint_id].unseen
        while self.store is not None and unseen and self.store.has_state(unseen[-1]):
            unseen.pop()
        return self.store is None or not unseen

    def write_manifest(self, checkpoint_id: int) -> None:
        """Make a checkpoint count. One that cannot be completed is a :class:`CheckpointError`."""
        if self.store is None:
            return
        kept = self._kept[checkpoint_id]
        manifest, limit = kept.manifest, self.settings.max_size
        manifest.state_bytes = sum(self.store.state_size(name) for name in kept.files)
        if limit is not None and manifest.state_bytes > limit:
            raise CheckpointError(
                f"it has {manifest.state_bytes} bytes of state, and those that are kept with the driver may have "
                f"{limit}: set execution.checkpointing.dir, or a larger firesteel.checkpoint.max-size"
            )
        if self._lock is not None:
            self._lock.check()
        kept.path = self.store.write_manifest(manifest)
        manifest.directory = self.store.directory
        self._retained.append(manifest)
        self._base = manifest

    def finish(self, checkpoint_id: int, duration_ms: int, full: bool) -> CompletedCheckpoint:
        """Everything that follows a checkpoint has been done: forget what is not needed any more."""
        kept = self._kept.pop(checkpoint_id)
        manifest = kept.manifest
        done = CompletedCheckpoint(
            checkpoint_id, kept.path, manifest.timestamp, duration_ms, manifest.state_bytes, full
        )
        self.completed.append(done)
        del self.completed[:-100]
        if self.store is not None:
            self._clean_up(self.store)
            if self._claimed is not None and self._claimed.directory != self.store.directory:
                self._cleaner.submit(_discard, self._claimed)
            self._claimed = None
        return done

    def decline(self, results: list[SubtaskDone]) -> None:
        """The snapshots in these results are of no use: forget them."""
        self._abandoned |= {result.state_file for result in results if result.state_file is not None}
        self.give_up()

    def give_up(self) -> None:
        """Forget all checkpoints under way."""
        given_up = {number: kept for number, kept in self._kept.items() if not self._counts(number)}
        for number, kept in given_up.items():
            del self._kept[number]
            self._abandoned |= kept.files
        self._last_snapshot = None
        if self.store is not None:
            self._cleaner.submit(_delete, self.store, list(given_up), self._take_abandoned(self.store))

    def _counts(self, checkpoint_id: int) -> bool:
        """Whether the manifest of one under way has been written: what follows it is still to be done."""
        return any(manifest.checkpoint_id == checkpoint_id for manifest in self._retained)

    def _take_abandoned(self, store: CheckpointStore) -> list[str]:
        """The files of checkpoints that were given up which are there by now."""
        there = sorted(name for name in self._abandoned if store.has_state(name))
        self._abandoned.difference_update(there)
        return there

    def _clean_up(self, store: CheckpointStore) -> None:
        """Forget checkpoints beyond the number to keep, and their files, in the background."""
        dropped, self._retained = self._retained[: -self.settings.retained], self._retained[-self.settings.retained :]
        abandoned = self._take_abandoned(store)
        if not dropped and not abandoned:
            return
        kept = [*self._retained, *(each.manifest for each in self._kept.values())]
        needed: set[str] = set().union(*(manifest.all_files() for manifest in kept))
        garbage = set().union(*(manifest.all_files() for manifest in dropped)) - needed
        self._cleaner.submit(
            _delete, store, [manifest.checkpoint_id for manifest in dropped], [*sorted(garbage), *abandoned]
        )

    # --- recovery and the end -----------------------------------------------------------------------

    def stop_with(self, savepoint: str) -> None:
        """The job stops with a savepoint.

        Whatever fails from here on, nothing may come again: a restart, and a program that is started in the same
        directory, go on from the savepoint.
        """
        manifest = find_manifest(savepoint)
        if self.store is not None:
            self.store.note_stop(manifest.checkpoint_id, savepoint)
        self._base = manifest

    def roll_back(self) -> Manifest | None:
        """Forget what came after the last completed checkpoint."""
        if self.store is not None:
            for number in self._kept:
                # Its manifest may be there though writing it has failed. Nobody may find it without its output.
                if not self._counts(number):
                    self.store.delete_checkpoint(number)
        self.give_up()
        self._kept.clear()
        return self._base

    def _directory_lost(self) -> bool:
        assert self._lock is not None
        try:
            self._lock.check()
        except DirectoryLostError:
            return True
        except CheckpointError:  # another job may have it
            return not self._temporary
        return False

    def close(self, finished: bool, cancelled: bool) -> None:
        """Delete checkpoints that nobody can want any more."""
        self._cleaner.shutdown(wait=True)
        if self.store is not None and self._lock is not None and self._lock.held and not self._directory_lost():
            _delete(self.store, [], self._take_abandoned(self.store))
            if finished or self._temporary or (cancelled and not self.settings.keep_when_cancelled):
                self.store.delete_everything()
            if self._temporary and isinstance(self.store.files, LocalFileStore):
                self.store.files.delete("")
        if self._lock is not None:
            self._lock.release()


def build_manifest(
    plan: JobPlan,
    kind: str,
    checkpoint_id: int,
    now: int,
    results: list[SubtaskDone],
    before: dict[str, OperatorFiles],
    driver_state: dict[str, Any],
) -> Manifest:
    """The manifest of the snapshots in an epoch's results; ``before``: the files that their changes build on."""
    operators = {
        operator.info.uid: OperatorFiles(operator.info.name, chain.parallelism, chain.max_parallelism)
        for chain in plan.chains
        for operator in chain.operators
    }
    for result in results:
        for uid in result.snapshot_uids:
            earlier = before[uid].files.get(result.index, []) if uid in before else []
            assert result.state_file is not None
            operators[uid].files[result.index] = [*earlier, result.state_file]
        for uid in result.stateful_uids:
            operators[uid].stateful = True
        for uid in result.report.union_state:
            operators[uid].union = True
    return Manifest(kind, checkpoint_id, plan.name, now, operators, driver_state)


def _longest_history(manifest: Manifest) -> int:
    """How many state files the recovery of one subtask reads at the most."""
    return max((len(names) for each in manifest.operators.values() for names in each.files.values()), default=0)


def _discard(claimed: Manifest) -> None:
    try:
        discard(claimed)
    except Exception:  # the job does not need it any more, and must not fail for it
        log.exception("the %s in %s, which the job has claimed, could not be deleted", claimed.kind, claimed.directory)


def _delete(store: CheckpointStore, checkpoint_ids: list[int], state_names: list[str]) -> None:
    try:
        for checkpoint_id in checkpoint_ids:
            store.delete_checkpoint(checkpoint_id)
        for name in state_names:
            store.delete_state(name)
    except Exception:  # what cannot be deleted now is swept at the next start
        log.exception("old checkpoints could not be deleted")
