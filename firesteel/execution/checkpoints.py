"""The driver's part in checkpoints: when one is due, what its manifest says, which are kept, and committing sinks."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from firesteel.common.options import CHECKPOINT_DIR, CHECKPOINT_INTERVAL, CHECKPOINT_MIN_PAUSE, CHECKPOINT_RETAINED
from firesteel.execution.host import LevelResult
from firesteel.model.sink import Committer
from firesteel.plan.job_plan import JobPlan
from firesteel.state import codec
from firesteel.state.store import CheckpointStore, Manifest, OperatorFiles

log = logging.getLogger("firesteel.checkpoints")
_MAX_CHANGES = 16
"""After so many changes a subtask writes everything anew: recovery reads no more files than that."""


class CheckpointCoordinator:
    """Decides on checkpoints and keeps their manifests.

    :param every_epoch: Subtasks may move between hosts, so the state after each epoch must be in the store.
    """

    def __init__(self, plan: JobPlan, every_epoch: bool) -> None:
        configuration = plan.configuration
        self._plan = plan
        self._interval: int | None = configuration.get(CHECKPOINT_INTERVAL)
        self._min_pause: int = configuration.get(CHECKPOINT_MIN_PAUSE)
        self._retained: int = configuration.get(CHECKPOINT_RETAINED)
        self._every_epoch = every_epoch
        self._temporary: str | None = None
        directory: str | None = configuration.get(CHECKPOINT_DIR)
        self.store = self._open_store(directory)
        self._committers: dict[str, Committer] = {
            planned.uid: codec.loads(planned.factory)() for planned in plan.committers
        }
        self._uncommitted: dict[str, list[Any]] = {}
        self._manifests: list[Manifest] = []
        self._last_started: int | None = None
        self._last_ended = 0
        self._full_due = True
        self.next_id = 1
        self.last_duration_ms = 0
        self.last_bytes = 0

    def _open_store(self, directory: str | None) -> CheckpointStore | None:
        if self._interval is None and not self._every_epoch:
            return None
        if directory is None:
            directory = self._temporary = tempfile.mkdtemp(prefix="firesteel-checkpoints-")
        return CheckpointStore(directory.removeprefix("file://"))

    @property
    def enabled(self) -> bool:
        """Whether the user asked for checkpoints."""
        return self._interval is not None

    @property
    def latest(self) -> Manifest | None:
        """The last completed checkpoint."""
        return self._manifests[-1] if self._manifests else None

    def due(self, now: int) -> bool:
        """Whether the next epoch should end with a snapshot."""
        if self._every_epoch:
            return True
        if self._interval is None:
            return bool(self._committers)
        if self._last_started is None:
            self._last_started = now
        return now - self._last_started >= self._interval and now - self._last_ended >= self._min_pause

    def next_due(self) -> int | None:
        """When the next checkpoint is due, if they are on."""
        if self._interval is None or self._last_started is None:
            return None
        return max(self._last_started + self._interval, self._last_ended + self._min_pause)

    @property
    def full_snapshot_due(self) -> bool:
        """Whether the next snapshot must stand by itself."""
        return self._full_due

    def collect_committables(self, results: list[LevelResult]) -> None:
        """Keep what sinks have prepared until it may be committed."""
        for result in results:
            assert result.report is not None
            for uid, committables in result.report.committables.items():
                self._uncommitted.setdefault(uid, []).extend(committables)

    def complete(
        self, results: list[LevelResult], driver_state: dict[str, Any], now: int, clock: Callable[[], int]
    ) -> int:
        """Make a completed checkpoint of an epoch's snapshots: write the manifest, then commit the sinks."""
        checkpoint_id, self.next_id = self.next_id, self.next_id + 1
        self._last_started = now
        if self.store is not None:
            manifest = self._manifest(checkpoint_id, results, driver_state, now)
            self.store.write_manifest(manifest)
            self._manifests = [*self._manifests, manifest][-self._retained :]
            self.last_bytes = sum(result.state_bytes for result in results)
            self._full_due = _longest_history(manifest) >= _MAX_CHANGES
        self.commit()
        if self.store is not None:
            self.store.retain(self._manifests)
        self._last_ended = clock()
        self.last_duration_ms = self._last_ended - now
        return checkpoint_id

    def _manifest(
        self, checkpoint_id: int, results: list[LevelResult], driver_state: dict[str, Any], now: int
    ) -> Manifest:
        before = self.latest.operators if self.latest is not None and not self._full_due else {}
        operators: dict[str, OperatorFiles] = {}
        for chain in self._plan.chains:
            for operator in chain.operators:
                operators[operator.info.uid] = OperatorFiles(chain.parallelism, chain.max_parallelism)
        for result in results:
            for uid in result.snapshot_uids:
                earlier = before[uid].files.get(result.index, []) if uid in before else []
                assert result.state_file is not None
                operators[uid].files[result.index] = [*earlier, result.state_file]
        kept = {uid: list(committables) for uid, committables in self._uncommitted.items()}
        return Manifest(checkpoint_id, self._plan.name, now, operators, driver_state, kept)

    def commit(self) -> None:
        """Make visible what sinks have prepared."""
        for uid, committables in list(self._uncommitted.items()):
            self._committers[uid].commit(committables)
            del self._uncommitted[uid]

    def roll_back(self) -> Manifest | None:
        """Forget what came after the last completed checkpoint, and commit again what it may have left uncommitted."""
        for uid, committables in self._uncommitted.items():
            self._committers[uid].abort(committables)
        self._uncommitted = {}
        self._full_due = True
        if self.latest is not None:
            for uid, committables in self.latest.committables.items():
                if uid in self._committers:
                    self._committers[uid].commit(committables)
        return self.latest

    def close(self) -> None:
        """Close the committers; drop checkpoints that were only kept for restarts."""
        for committer in self._committers.values():
            committer.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _longest_history(manifest: Manifest) -> int:
    """How many state files the recovery of one subtask reads at the most."""
    return max((len(names) for each in manifest.operators.values() for names in each.files.values()), default=0)
