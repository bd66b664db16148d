"""What an operator subtask stores and goes on from, and its form in a state file.

A state file holds the snapshots of all operators of one subtask of one level:

- 4 bytes ``FSST``, 2 bytes format version, 4 bytes CRC-32 of the rest (all big-endian);
- a pickled dict: operator uid -> pickled dict with the fields of :class:`OperatorSnapshot`.

All containers are plain Python data; only the user's own values and keys may be objects of other classes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import CheckpointError
from firesteel.state import codec
from firesteel.state.operator_state import Snapshot as OperatorStateSnapshot

_MAGIC = b"FSST"
_VERSION = 1
_HEADER = struct.Struct(">4sHI")


KeyedContent = dict[str, Any] | Callable[[], dict[str, Any]]
"""Keyed state in a snapshot: the data, or a function that makes it when it is written (in another process, maybe)."""


@dataclass
class OperatorSnapshot:
    """The state of one operator subtask.

    :param keyed: ``{name: (kind, namespaced, change)}``: what has changed since the last snapshot, or everything.
    :param full: ``keyed`` is everything; otherwise the files before this one are needed too.
    :param operator_state: ``{name: (redistribution, content)}``; always whole.
    :param own: What the operator's ``snapshot()`` gave; always whole.
    :param gate: Watermark, idleness and end of each input channel of a chain's head.
    """

    keyed: KeyedContent | None
    full: bool
    operator_state: OperatorStateSnapshot
    own: Any
    gate: dict[str, Any] | None = None

    @property
    def has_state(self) -> bool:
        """Whether there is state that would be missed, besides the watermarks of input channels."""
        return self.keyed is not None or bool(self.operator_state) or bool(self.own)


@dataclass
class OperatorRestore:
    """What an operator subtask goes on from: what one former subtask stored, or what all stored if it is rescaled."""

    checkpoint_id: int
    rescaled: bool
    keyed: list[dict[str, Any]] = field(default_factory=list)
    operator_states: list[OperatorStateSnapshot] = field(default_factory=list)
    own: list[Any] = field(default_factory=list)
    gate: dict[str, Any] | None = None


def encode(snapshots: dict[str, OperatorSnapshot]) -> bytes:
    """The content of a state file."""
    body = codec.dumps({uid: codec.dumps(_plain(snapshot)) for uid, snapshot in snapshots.items()})
    return _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(body)) + body


def _plain(snapshot: OperatorSnapshot) -> dict[str, Any]:
    keyed = snapshot.keyed
    return {**vars(snapshot), "keyed": keyed() if callable(keyed) else keyed}


def decode(data: bytes, name: str, uids: Iterable[str]) -> dict[str, OperatorSnapshot]:
    """The snapshots of the given operators in a state file; operators that are not in it are left out."""
    if len(data) < _HEADER.size:
        raise CheckpointError(f"state file {name} is cut off: it has {len(data)} bytes")
    magic, version, checksum = _HEADER.unpack_from(data)
    body = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC:
        raise CheckpointError(f"{name} is not a Firesteel state file: it begins with {magic!r}")
    if version != _VERSION:
        raise CheckpointError(f"state file {name} has format {version}; this version of Firesteel reads {_VERSION}")
    if zlib.crc32(body) != checksum:
        raise CheckpointError(f"state file {name} is damaged: its checksum does not fit its content")
    parts: dict[str, bytes] = codec.loads(body)
    return {uid: OperatorSnapshot(**codec.loads(parts[uid])) for uid in uids if uid in parts}


def restore_of(checkpoint_id: int, rescaled: bool, histories: Sequence[Sequence[OperatorSnapshot]]) -> OperatorRestore:
    """Put together what an operator goes on from.

    :param histories: For each former subtask, its snapshots from the last full one on, oldest first.
    """
    restore = OperatorRestore(checkpoint_id, rescaled)
    for history in histories:
        if not history:
            continue
        last = history[-1]
        restore.keyed.extend(snapshot.keyed for snapshot in history if isinstance(snapshot.keyed, dict))
        restore.operator_states.append(last.operator_state)
        restore.own.append(last.own)
        if not rescaled:
            restore.gate = last.gate
    restore.own = [own for own in restore.own if own is not None]
    return restore
