"""Where checkpoints and savepoints are kept: state files, and a manifest each whose appearance is the commit.

::

    <checkpoint directory>/                      <savepoint directory>/
      state/<name>.state                           state/<name>.state
      chk-<n>/_metadata                            _metadata
      _latest, _stopped

A state file is what one subtask wrote (see ``state.snapshots``). It is never changed; later checkpoints go on using it.
A manifest (``_metadata``) is JSON, see :class:`Manifest`, with its checksum on the last line. A checkpoint or savepoint
exists when its manifest does. ``_latest`` holds the number of the last completed one, so that its loss is noticed;
``_stopped`` the savepoint that a job stops with, until the job has cleaned up.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import CheckpointError
from firesteel.state import codec
from firesteel.state.filesystem import FileStore, file_store
from firesteel.state.snapshots import OperatorRestore, OperatorSnapshot, decode, restore_of

FORMAT = 2
_STATE = "state"
_PREFIX = "chk-"
_METADATA = "_metadata"
_LATEST = "_latest"
_STOPPED = "_stopped"
_STATE_NAME = re.compile(r"\d+-\d+-\d+-\d+-.+\.state(\..*part)?$")
_OTHER_USES = {
    _METADATA: "a savepoint (to start from it, set execution.state-recovery.path)",
    "offsets": "the checkpoint location of a Spark streaming query",
}


@dataclass
class OperatorFiles:
    """The state files of one operator: for each subtask the last full one and all deltas since, oldest first."""

    name: str
    parallelism: int
    max_parallelism: int
    files: dict[int, list[str]] = field(default_factory=dict)
    stateful: bool = False
    """Whether there is state in them that would be missed: an operator of a program must claim it."""
    union: bool = False
    """Whether there is union list state in them, of which each subtask needs what all have stored."""


@dataclass
class Manifest:
    """Everything about one checkpoint or savepoint.

    :param kind: ``checkpoint`` or ``savepoint``.
    :param timestamp: When it was started, in milliseconds.
    :param operators: By operator uid.
    :param driver: What the coordinators in the driver go on from, by kind and operator uid: splits and positions of
        sources, records on their way back in loops, output that has to be made visible. It may have been already:
        committing again changes nothing.
    """

    kind: str
    checkpoint_id: int
    job_name: str
    timestamp: int
    operators: dict[str, OperatorFiles] = field(default_factory=dict)
    driver: dict[str, dict[str, Any]] = field(default_factory=dict)
    state_bytes: int = 0
    """The size of the state files that were written for it."""
    directory: str = ""
    """Where it was read from: not part of the file."""

    def to_bytes(self) -> bytes:
        """The manifest as a file. Values of the program's own (positions, committables) are pickled inside it."""
        body = json.dumps(
            {
                "format": FORMAT,
                "kind": self.kind,
                "checkpoint_id": self.checkpoint_id,
                "job_name": self.job_name,
                "timestamp": self.timestamp,
                "state_bytes": self.state_bytes,
                "operators": {uid: vars(files) for uid, files in self.operators.items()},
                "driver": _pack(self.driver),
            },
            indent=1,
        ).encode()
        return body + b"\n%08x\n" % zlib.crc32(body)

    @staticmethod
    def from_bytes(data: bytes, where: str) -> Manifest:
        """Read a manifest back; ``where`` names it in errors."""
        raw = manifest_body(data, where)
        if raw["format"] != FORMAT:
            raise CheckpointError(f"manifest {where} has format {raw['format']}; this version reads {FORMAT}")
        operators = {
            uid: OperatorFiles(
                entry["name"],
                entry["parallelism"],
                entry["max_parallelism"],
                {int(subtask): files for subtask, files in entry["files"].items()},
                entry["stateful"],
                entry.get("union", False),
            )
            for uid, entry in raw["operators"].items()
        }
        return Manifest(
            raw["kind"],
            raw["checkpoint_id"],
            raw["job_name"],
            raw["timestamp"],
            operators,
            _unpack(raw["driver"]),
            raw["state_bytes"],
        )

    def all_files(self) -> set[str]:
        """Every state file that it needs."""
        return {name for entry in self.operators.values() for names in entry.files.values() for name in names}


def manifest_body(data: bytes, where: str) -> dict[str, Any]:
    """The JSON of a manifest of any format, its checksum checked; nothing in it is unpickled."""
    if data and not data.startswith(b"{"):
        raise CheckpointError(f"{where} was not written by Firesteel: it begins with {data[:8]!r}")
    body, _, checksum = data.rstrip(b"\n").rpartition(b"\n")
    if checksum != b"%08x" % zlib.crc32(body):
        raise CheckpointError(f"manifest {where} is damaged or cut off: its checksum does not fit its content")
    raw: dict[str, Any] = json.loads(body)
    return raw


class CheckpointStore:
    """Checkpoints, or one savepoint, in a directory of a file system that all workers reach."""

    def __init__(self, directory: str) -> None:
        self.files: FileStore = file_store(directory)
        self.directory = self.files.uri

    def write_state(self, name: str, data: bytes | Iterable[bytes]) -> None:
        """Write a state file, given at once or in pieces; completely or not at all."""
        self.files.write(f"{_STATE}/{name}", data)

    def read_state(self, name: str) -> bytes:
        """Read a state file."""
        return self.files.read(f"{_STATE}/{name}")

    def has_state(self, name: str) -> bool:
        """Whether a state file has been written."""
        return self.files.exists(f"{_STATE}/{name}")

    def state_size(self, name: str) -> int:
        """The size of a state file in bytes."""
        return self.files.size(f"{_STATE}/{name}")

    def delete_state(self, name: str) -> None:
        """Delete a state file that nothing needs."""
        self.files.delete(f"{_STATE}/{name}")

    def state_names(self) -> list[str]:
        """All state files of checkpoints, whoever needs them, and what is left of some that were not written whole."""
        return [name for name in self.files.names(_STATE) if _STATE_NAME.match(name)]

    def write_manifest(self, manifest: Manifest) -> str:
        """Complete a checkpoint or savepoint; returns its path."""
        if manifest.kind == "savepoint":
            self.files.write(_METADATA, manifest.to_bytes())
            return self.directory
        name = f"{_PREFIX}{manifest.checkpoint_id}"
        self.files.write(f"{name}/{_METADATA}", manifest.to_bytes())
        self.files.write(_LATEST, b"%d" % manifest.checkpoint_id, durable=False)
        return f"{self.directory}/{name}"

    def latest_noted(self) -> int:
        """The number of the checkpoint that was completed last, whether it is there or not; 0 if that is not known."""
        noted = self.files.read(_LATEST) if self.files.exists(_LATEST) else b""
        return int(noted) if noted.isdigit() else 0

    def note_stop(self, checkpoint_id: int, savepoint: str) -> None:
        """Note that a job stops with a savepoint, which counts as a checkpoint of that number."""
        self.files.write(_STOPPED, f"{checkpoint_id} {savepoint}".encode())

    def stop_noted(self) -> tuple[int, str]:
        """The number and path of the savepoint that a job has stopped with; 0 if none has, or it has cleaned up."""
        if not self.files.exists(_STOPPED):
            return 0, ""
        number, _, path = self.files.read(_STOPPED).decode().partition(" ")
        return int(number), path

    def checkpoint_ids(self) -> list[int]:
        """The completed checkpoints, oldest first."""
        numbers = [name.removeprefix(_PREFIX) for name in self.files.names() if name.startswith(_PREFIX)]
        found = sorted(int(number) for number in numbers if number.isdigit())
        return [number for number in found if self.files.exists(f"{_PREFIX}{number}/{_METADATA}")]

    def read_checkpoint(self, checkpoint_id: int) -> Manifest:
        """The manifest of a completed checkpoint."""
        return self.read(f"{_PREFIX}{checkpoint_id}/{_METADATA}")

    def delete_checkpoint(self, checkpoint_id: int) -> None:
        """Delete a checkpoint's manifest; the state files are another matter."""
        if checkpoint_id == self.latest_noted():
            self.files.delete(_LATEST)  # it is not lost but deleted
        self.files.delete(f"{_PREFIX}{checkpoint_id}")

    def delete_everything(self) -> None:
        """Delete all checkpoints and their state, and nothing else that may be there."""
        self.files.delete(_LATEST)
        self.files.delete(_STOPPED)
        for checkpoint_id in self.checkpoint_ids():
            self.delete_checkpoint(checkpoint_id)
        for name in self.state_names():
            self.delete_state(name)
        if not self.files.names(_STATE):
            self.files.delete(_STATE)

    def refuse_other_use(self) -> None:
        """Raise :class:`CheckpointError` if the directory is something else than one for checkpoints."""
        for sign, what in _OTHER_USES.items():
            if self.files.exists(sign):
                raise CheckpointError(
                    f"{self.directory} cannot be a checkpoint directory: its {sign!r} says that it is {what}. Set "
                    "execution.checkpointing.dir to a directory of its own"
                )

    def read(self, name: str) -> Manifest:
        manifest = Manifest.from_bytes(self.files.read(name), f"{self.directory}/{name}")
        manifest.directory = self.directory
        return manifest

    def load(
        self,
        manifest: Manifest,
        uids: list[str],
        subtask: int,
        parallelism: int,
        max_parallelism: int | None = None,
        share_union: bool = False,
    ) -> dict[str, OperatorRestore]:
        """What one subtask of the given operators goes on from.

        :param max_parallelism: If it is another than that of the state, keys belong to other subtasks than before.
        :param share_union: Give union list state of all subtasks, rather than what this one has stored.
        """
        restores: dict[str, OperatorRestore] = {}
        cache: dict[str, dict[str, OperatorSnapshot]] = {}
        for uid in uids:
            stored = manifest.operators.get(uid)
            if stored is None:
                continue
            rescaled = stored.parallelism != parallelism or max_parallelism not in (None, stored.max_parallelism)
            former = range(stored.parallelism) if rescaled else (subtask,)
            histories = [
                [self._snapshot(name, uid, uids, cache) for name in stored.files.get(index, ())] for index in former
            ]
            restore = restores[uid] = restore_of(manifest.checkpoint_id, rescaled, histories)
            if stored.union and share_union and not rescaled:
                newest = [stored.files.get(index, [])[-1:] for index in range(stored.parallelism)]
                lasts = [[self._snapshot(name, uid, uids, cache) for name in names] for names in newest]
                restore.operator_states = [last[0].operator_state if last else {} for last in lasts]
                restore.everyones = True
        return restores

    def _snapshot(
        self, name: str, uid: str, uids: list[str], cache: dict[str, dict[str, OperatorSnapshot]]
    ) -> OperatorSnapshot:
        if name not in cache:
            cache[name] = decode(self.files.view(f"{_STATE}/{name}"), f"{self.directory}/{_STATE}/{name}", uids)
        try:
            return cache[name][uid]
        except KeyError as error:
            message = f"state file {name} does not hold operator {uid!r}, though its manifest says so"
            raise CheckpointError(message) from error


def find_manifest(path: str) -> Manifest:
    """The checkpoint or savepoint at a path.

    The path may be a savepoint's directory, a checkpoint's (``.../chk-7``), or a whole checkpoint directory, of which
    the last completed checkpoint is taken.
    """
    path = path.rstrip("/").removesuffix(f"/{_METADATA}")
    parent, _, last = path.rpartition("/")
    if last.startswith(_PREFIX) and last.removeprefix(_PREFIX).isdigit():
        return CheckpointStore(parent).read_checkpoint(int(last.removeprefix(_PREFIX)))
    store = CheckpointStore(path)
    if store.files.exists(_METADATA):
        return store.read(_METADATA)
    ids = store.checkpoint_ids()
    if not ids:
        raise CheckpointError(f"there is neither a savepoint nor a completed checkpoint at {path}")
    return store.read_checkpoint(ids[-1])


def discard(manifest: Manifest) -> None:
    """Delete a savepoint, or a checkpoint with the state files that no other one in its directory needs."""
    store = CheckpointStore(manifest.directory)
    if manifest.kind == "savepoint":
        store.files.delete("")
        return
    store.delete_checkpoint(manifest.checkpoint_id)
    others = [store.read_checkpoint(number) for number in store.checkpoint_ids()]
    needed: set[str] = set().union(*(other.all_files() for other in others))
    for name in manifest.all_files() - needed:
        store.delete_state(name)


def _pack(value: Any) -> str:
    return base64.b64encode(codec.dumps(value)).decode()


def _unpack(text: str) -> Any:
    return codec.loads(base64.b64decode(text))
