"""What an operator subtask stores and goes on from, and its form in a state file.

A state file holds the snapshots of all operators of one subtask of one level:

- 4 bytes ``FSST``, 2 bytes format version (all numbers big-endian);
- parts, one after the other: 8 bytes length of the content, 4 bytes CRC-32 of it, 2 bytes length of the operator's
  uid, 1 byte kind, the uid, the content.

Kinds of parts: 0, a pickled dict with the fields of :class:`OperatorSnapshot`, where ``keyed`` says whether there is
keyed state; 1, a pickled dict ``{name: (kind, namespaced, delta)}``, any number of times; 2, the end of the file.

The kinds of keyed state are ``value``, ``list`` and ``map``, with ``+ttl`` behind if it has a time-to-live (the change
then holds all stamps in ``stamps``, 8 bytes each, in the order of the values), and ``timers``.

All containers are plain Python data; only the user's own values and keys may be objects of other classes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from firesteel.errors import CheckpointError
from firesteel.state import codec
from firesteel.state.evolution import load_deltas, load_fields
from firesteel.state.operator_state import Snapshot as OperatorStateSnapshot
from firesteel.state.schema import Schema

_MAGIC = b"FSST"
_VERSION = 3
_HEADER = struct.Struct(">4sH")
_PART = struct.Struct(">QIHB")
_FIELDS, _KEYED, _END = 0, 1, 2


class StoredDeltas:
    """Deltas of keyed state in a state file, each unpickled when it is reached: all might not fit into memory."""

    def __init__(self, uid: str) -> None:
        self.parts: list[memoryview] = []
        self._uid = uid

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (load_deltas(part, self._uid) for part in self.parts)


class _Chained:
    """Several iterables as one, which can be gone through more than once."""

    def __init__(self, parts: list[Iterable[dict[str, Any]]]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return chain.from_iterable(self._parts)


KeyedContent = dict[str, Any] | StoredDeltas | Callable[[], Iterable[dict[str, Any]]]
"""Keyed state in a snapshot: the data, or a function that makes it part by part when it is written (in another process,
maybe)."""


@dataclass
class OperatorSnapshot:
    """The state of one operator subtask.

    :param keyed: ``{name: (kind, namespaced, delta)}``: what has changed since the last snapshot, or everything.
    :param full: ``keyed`` is everything; otherwise the files before this one are needed too.
    :param operator_state: ``{name: (redistribution, content)}``; always whole.
    :param own: What the operator's ``snapshot()`` gave; always whole.
    :param event_time: Where event time stands: ``operator`` and ``output`` are the watermarks that came in and went
        out, ``idle`` says whether the output is idle, ``gate`` holds the input channels of a chain's head.
    :param types: The declared types of keyed states, by name: see ``state.schema``.
    """

    keyed: KeyedContent | None
    full: bool
    operator_state: OperatorStateSnapshot
    own: Any
    event_time: dict[str, Any] | None = None
    types: dict[str, Schema] = field(default_factory=dict)

    @property
    def has_state(self) -> bool:
        """Whether there is state that would be missed, besides where event time stands."""
        return self.keyed is not None or bool(self.operator_state) or bool(self.own)


@dataclass
class OperatorRestore:
    """What an operator subtask goes on from: what one former subtask stored, or what all stored if it is rescaled.

    :param operator_states: One for each former subtask, in order, if ``everyones``; otherwise this subtask's own.
    """

    checkpoint_id: int
    rescaled: bool
    keyed: Iterable[dict[str, Any]] = ()
    """Deltas to apply, one after the other."""
    operator_states: list[OperatorStateSnapshot] = field(default_factory=list)
    own: list[Any] = field(default_factory=list)
    event_times: list[dict[str, Any]] = field(default_factory=list)
    types: dict[str, Schema] = field(default_factory=dict)
    everyones: bool = False


def encode(snapshots: dict[str, OperatorSnapshot]) -> bytes:
    """The content of a state file."""
    return b"".join(encode_parts(snapshots))


def encode_parts(snapshots: dict[str, OperatorSnapshot]) -> Iterator[bytes]:
    """The content of a state file, piece by piece."""
    yield _HEADER.pack(_MAGIC, _VERSION)
    for uid, snapshot in snapshots.items():
        yield from _part(uid, _FIELDS, codec.dumps({**vars(snapshot), "keyed": snapshot.keyed is not None}))
        for deltas in _deltas(snapshot.keyed):
            yield from _part(uid, _KEYED, codec.dumps(deltas))
    yield from _part("", _END, b"")


def operator_sizes(data: bytes | memoryview) -> dict[str, int]:
    """How many bytes of a whole state file each operator takes; only the heads of its parts are looked at."""
    sizes: dict[str, int] = {}
    at = _HEADER.size
    while at + _PART.size <= len(data):
        length, _, name_length, kind = _PART.unpack_from(data, at)
        end = at + _PART.size + name_length + length
        if kind != _END:
            uid = str(data[at + _PART.size : at + _PART.size + name_length], "utf-8", "replace")
            sizes[uid] = sizes.get(uid, 0) + end - at
        at = end
    return sizes


def _deltas(keyed: KeyedContent | None) -> Iterable[dict[str, Any]]:
    if keyed is None:
        return ()
    if isinstance(keyed, dict):
        return (keyed,)
    return keyed() if callable(keyed) else keyed


def _part(uid: str, kind: int, content: bytes) -> Iterator[bytes]:
    name = uid.encode()
    yield _PART.pack(len(content), zlib.crc32(content), len(name), kind) + name
    yield content


def decode(data: bytes | memoryview, name: str, uids: Iterable[str]) -> dict[str, OperatorSnapshot]:
    """The snapshots of the given operators in a state file; operators that are not in it are left out."""
    if len(data) < _HEADER.size:
        raise CheckpointError(f"state file {name} is cut off: it has {len(data)} bytes")
    magic, version = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise CheckpointError(f"{name} is not a Firesteel state file: it begins with {magic!r}")
    if version != _VERSION:
        raise CheckpointError(f"state file {name} has format {version}; this version of Firesteel reads {_VERSION}")
    wanted = set(uids)
    found: dict[str, OperatorSnapshot] = {}
    for uid, kind, content in _parts(memoryview(data), name):
        if uid not in wanted:
            continue
        if kind == _FIELDS:
            fields = load_fields(content, uid)
            found[uid] = OperatorSnapshot(**{**fields, "keyed": StoredDeltas(uid) if fields["keyed"] else None})
        else:
            deltas = found[uid].keyed
            assert isinstance(deltas, StoredDeltas)
            deltas.parts.append(content)
    return found


def _parts(data: memoryview, name: str) -> Iterator[tuple[str, int, memoryview]]:
    """All parts of a state file, each checked to be as it was written."""
    at = _HEADER.size
    while at + _PART.size <= len(data):
        length, checksum, name_length, kind = _PART.unpack_from(data, at)
        start = at + _PART.size + name_length
        content = data[start : start + length]
        if len(content) < length:
            break
        if zlib.crc32(content) != checksum or kind > _END:
            raise CheckpointError(f"state file {name} is damaged: its checksum does not fit its content")
        if kind == _END:
            return
        yield str(data[at + _PART.size : start], "utf-8", "replace"), kind, content
        at = start + length
    raise CheckpointError(f"state file {name} is cut off: it has {len(data)} bytes")


def restore_of(checkpoint_id: int, rescaled: bool, histories: Sequence[Sequence[OperatorSnapshot]]) -> OperatorRestore:
    """Put together what an operator goes on from.

    :param histories: For each former subtask, its snapshots from the last full one on, oldest first.
    """
    restore = OperatorRestore(checkpoint_id, rescaled, everyones=rescaled)
    keyed: list[Iterable[dict[str, Any]]] = []
    for history in histories:
        restore.operator_states.append(history[-1].operator_state if history else {})
        if not history:
            continue
        last = history[-1]
        keyed.extend(_deltas(snapshot.keyed) for snapshot in history)
        for snapshot in history:
            restore.types.update(snapshot.types)
        restore.own.append(last.own)
        if last.event_time is not None:
            restore.event_times.append(last.event_time)
    restore.keyed = _Chained(keyed)
    restore.own = [own for own in restore.own if own is not None]
    return restore
