"""Where checkpoints are kept: state files, and a manifest per checkpoint whose appearance is the commit.

::

    <directory>/
      state/<name>.state        what a subtask wrote in a checkpoint; never changed, shared by later checkpoints
      chk-<n>/_metadata         the manifest of checkpoint n: JSON, see :class:`Manifest`

A checkpoint exists when its manifest does. The manifest is written under another name and renamed.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import CheckpointError
from firesteel.state import codec
from firesteel.state.snapshots import OperatorRestore, decode, restore_of

_FORMAT = 1
_STATE = "state"
_PREFIX = "chk-"
_METADATA = "_metadata"


@dataclass
class OperatorFiles:
    """The state files of one operator: for each subtask the last full one and all changes since, oldest first."""

    parallelism: int
    max_parallelism: int
    files: dict[int, list[str]] = field(default_factory=dict)


@dataclass
class Manifest:
    """Everything about one checkpoint.

    :param operators: By operator uid.
    :param driver: What the driver goes on from (source splits and positions), plain data.
    :param committables: By sink uid: what has to be made visible; kept until the next checkpoint, as a crash may come
        before they are.
    """

    checkpoint_id: int
    job_name: str
    timestamp: int
    operators: dict[str, OperatorFiles] = field(default_factory=dict)
    driver: dict[str, Any] = field(default_factory=dict)
    committables: dict[str, list[Any]] = field(default_factory=dict)

    def to_json(self) -> str:
        """The manifest as text. Values of the program's own (positions, committables) are pickled inside it."""
        return json.dumps(
            {
                "format": _FORMAT,
                "checkpoint_id": self.checkpoint_id,
                "job_name": self.job_name,
                "timestamp": self.timestamp,
                "operators": {uid: vars(files) for uid, files in self.operators.items()},
                "driver": _pack(self.driver),
                "committables": _pack(self.committables),
            },
            indent=1,
        )

    @staticmethod
    def from_json(text: str, where: str) -> Manifest:
        """Read a manifest back; ``where`` names it in errors."""
        try:
            raw = json.loads(text)
            if raw["format"] != _FORMAT:
                raise CheckpointError(f"manifest {where} has format {raw['format']}; this version reads {_FORMAT}")
            operators = {
                uid: OperatorFiles(
                    entry["parallelism"],
                    entry["max_parallelism"],
                    {int(subtask): files for subtask, files in entry["files"].items()},
                )
                for uid, entry in raw["operators"].items()
            }
            return Manifest(
                raw["checkpoint_id"],
                raw["job_name"],
                raw["timestamp"],
                operators,
                _unpack(raw["driver"]),
                _unpack(raw["committables"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"manifest {where} is damaged: {error!r}") from error

    def all_files(self) -> set[str]:
        """Every state file that the checkpoint needs."""
        return {name for entry in self.operators.values() for names in entry.files.values() for name in names}


class CheckpointStore:
    """Checkpoints in a directory of a file system that all workers reach."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def write_state(self, name: str, data: bytes) -> None:
        """Write a state file, completely or not at all."""
        _write_atomically(os.path.join(self.directory, _STATE, name), data)

    def read_state(self, name: str) -> bytes:
        """Read a state file."""
        path = os.path.join(self.directory, _STATE, name)
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError as error:
            message = f"state file {path} is missing; the checkpoint that needs it cannot be used"
            raise CheckpointError(message) from error

    def write_manifest(self, manifest: Manifest) -> None:
        """Complete a checkpoint."""
        path = os.path.join(self.directory, f"{_PREFIX}{manifest.checkpoint_id}", _METADATA)
        _write_atomically(path, manifest.to_json().encode())

    def checkpoint_ids(self) -> list[int]:
        """The completed checkpoints, oldest first."""
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return []
        numbers = [name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)]
        found = [int(number) for number in numbers if number.isdigit()]
        return sorted(number for number in found if os.path.exists(self._metadata(number)))

    def read_manifest(self, checkpoint_id: int) -> Manifest:
        """Read the manifest of a completed checkpoint."""
        path = self._metadata(checkpoint_id)
        with open(path, encoding="utf-8") as file:
            return Manifest.from_json(file.read(), path)

    def _metadata(self, checkpoint_id: int) -> str:
        return os.path.join(self.directory, f"{_PREFIX}{checkpoint_id}", _METADATA)

    def retain(self, manifests: list[Manifest]) -> None:
        """Delete all checkpoints but these, and all state files that none of them needs."""
        keep = {manifest.checkpoint_id for manifest in manifests}
        for checkpoint_id in self.checkpoint_ids():
            if checkpoint_id not in keep:
                shutil.rmtree(os.path.dirname(self._metadata(checkpoint_id)), ignore_errors=True)
        needed = set().union(*(manifest.all_files() for manifest in manifests)) if manifests else set()
        folder = os.path.join(self.directory, _STATE)
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name not in needed:
                os.unlink(os.path.join(folder, name))

    def load(self, manifest: Manifest, uids: list[str], subtask: int, parallelism: int) -> dict[str, OperatorRestore]:
        """What one subtask of the given operators goes on from."""
        restores: dict[str, OperatorRestore] = {}
        cache: dict[str, dict[str, Any]] = {}
        for uid in uids:
            stored = manifest.operators.get(uid)
            if stored is None:
                continue
            rescaled = stored.parallelism != parallelism
            former = range(stored.parallelism) if rescaled else (subtask,)
            histories = [
                [self._snapshot(name, uid, uids, cache) for name in stored.files.get(index, ())] for index in former
            ]
            restores[uid] = restore_of(manifest.checkpoint_id, rescaled, histories)
        return restores

    def _snapshot(self, name: str, uid: str, uids: list[str], cache: dict[str, dict[str, Any]]) -> Any:
        if name not in cache:
            cache[name] = decode(self.read_state(name), name, uids)
        try:
            return cache[name][uid]
        except KeyError as error:
            message = f"state file {name} does not hold operator {uid!r}, though its manifest says so"
            raise CheckpointError(message) from error


def _write_atomically(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}.part"
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _pack(value: Any) -> str:
    return base64.b64encode(codec.dumps(value)).decode()


def _unpack(text: str) -> Any:
    return codec.loads(base64.b64decode(text))
