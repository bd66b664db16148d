"""What savepoints and checkpoints there are: looking at them without loading what is in them.

Manifests hold pickled objects of the program that wrote them. Nothing here unpickles those, so that an archive can
be looked through where the program is not installed, and whoever wrote it need not be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.errors import CheckpointError
from firesteel.state.filesystem import FileStore, file_store
from firesteel.state.store import manifest_body

_METADATA = "_metadata"
_STATE = "state"


@dataclass(frozen=True)
class ArchivedOperator:
    """One operator's state in a savepoint."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    stateful: bool
    files: tuple[str, ...]
    size: int
    """Bytes of the state files it is in; a file holds the operators of one subtask, so these overlap."""


@dataclass(frozen=True)
class ArchivedSnapshot:
    """A savepoint or checkpoint.

    :param id: The name of its directory.
    :param kind: ``savepoint`` or ``checkpoint``.
    :param timestamp: When it was taken, in milliseconds.
    :param format: The version of the format it is written in.
    :param size: Bytes of all state files that it needs.
    """

    id: str
    path: str
    kind: str
    checkpoint_id: int
    job_name: str
    timestamp: int
    format: int
    size: int
    operators: tuple[ArchivedOperator, ...]
    missing: tuple[str, ...] = ()
    """State files that it needs and that are not there: it cannot be started from."""


def list_snapshots(directory: str) -> list[ArchivedSnapshot]:
    """All savepoints and checkpoints in a directory and directly below it, oldest first."""
    files = file_store(directory)
    if not files.exists(""):
        raise CheckpointError(f"there is no directory {directory}")
    folders = ["", *(name for name in files.names() if name != _STATE)]
    found = [_describe(files, folder) for folder in folders if files.exists(_join(folder, _METADATA))]
    return sorted(found, key=lambda each: (each.timestamp, each.id))


def describe_snapshot(path: str) -> ArchivedSnapshot:
    """The savepoint or checkpoint at a path."""
    files, folder = _split(path)
    if not files.exists(_join(folder, _METADATA)):
        raise CheckpointError(
            f"there is no savepoint at {path}: it has no file {_METADATA}. "
            "`firesteel savepoint list` shows those of a directory."
        )
    return _describe(files, folder)


def dispose_savepoint(path: str) -> ArchivedSnapshot:
    """Delete a savepoint, and tell which it was. A checkpoint is refused: others may need its files."""
    snapshot = describe_snapshot(path)
    if snapshot.kind != "savepoint":
        raise CheckpointError(
            f"{path} is a checkpoint, whose files belong to the whole checkpoint directory; its job deletes it. "
            "To be rid of all checkpoints of a job that has ended, delete that directory."
        )
    files, folder = _split(path)
    # The manifest first: what is left after a crash is no savepoint any more.
    files.delete(_join(folder, _METADATA))
    files.delete(_join(folder, _STATE))
    if not files.names(folder):
        files.delete(folder)
    return snapshot


def _split(path: str) -> tuple[FileStore, str]:
    """The directory that holds a savepoint or checkpoint, and the name of it in there."""
    parent, _, name = path.rstrip("/").removesuffix(f"/{_METADATA}").rpartition("/")
    return file_store(parent or ("/" if path.startswith("/") else ".")), name


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _describe(files: FileStore, folder: str) -> ArchivedSnapshot:
    path = _join(files.uri, folder) if folder else files.uri
    raw = manifest_body(files.read(_join(folder, _METADATA)), f"{path}/{_METADATA}")
    # A checkpoint's state files are beside it, a savepoint's in it.
    beside = folder.rpartition("/")[0] if raw["kind"] == "checkpoint" else folder
    sizes: dict[str, int] = {}  # -1: not there
    operators = tuple(
        _operator(uid, entry, files, _join(beside, _STATE), sizes) for uid, entry in raw["operators"].items()
    )
    return ArchivedSnapshot(
        id=path.rpartition("/")[2],
        path=path,
        kind=raw["kind"],
        checkpoint_id=raw["checkpoint_id"],
        job_name=raw["job_name"],
        timestamp=raw["timestamp"],
        format=raw["format"],
        size=sum(size for size in sizes.values() if size > 0),
        operators=operators,
        missing=tuple(name for name, size in sizes.items() if size < 0),
    )


def _operator(uid: str, entry: dict[str, Any], files: FileStore, state: str, sizes: dict[str, int]) -> ArchivedOperator:
    names = tuple(dict.fromkeys(name for history in entry["files"].values() for name in history))
    for name in names:
        if name not in sizes:
            sizes[name] = files.size(f"{state}/{name}") if files.exists(f"{state}/{name}") else -1
    return ArchivedOperator(
        uid=uid,
        name=entry["name"],
        parallelism=entry["parallelism"],
        max_parallelism=entry["max_parallelism"],
        stateful=entry["stateful"],
        files=names,
        size=sum(max(sizes[name], 0) for name in names),
    )
