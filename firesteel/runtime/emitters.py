"""Carrying records to other subtasks: routing by partitioning, and packing into chunks.

A chunk row is what Spark shuffles: ``(level, target, edge, from_subtask, sequence, attempt, payload)``. The payload is
a pickled list of entries (see ``runtime.batch``). Within a channel, entries keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import length_hint
from typing import Any, NamedTuple

from firesteel.errors import KeyError_, SerializationError
from firesteel.model.functions.adapt import describe
from firesteel.runtime.batch import ACTIVE, END, IDLE, Batch, Entry, RowBatch
from firesteel.runtime.failure import OperatorFailure, OperatorInfo
from firesteel.runtime.frozen_key import FrozenKey, frozen, has_list_key
from firesteel.runtime.records import all_copied, copied, unchangeable
from firesteel.state import codec
from firesteel.state.key_groups import subtask_of_key

ChunkRow = tuple[int, int, int, int, int, str, bytes]
_Route = tuple[Callable[[Any], None], Callable[[Any], None], Callable[[int], None]]
_MEMO_LIMIT = 1 << 20


class Place(NamedTuple):
    """Where an emitter stands: its edge, the consumers' level, its own subtask and the number of consumers."""

    edge: int
    level: int
    subtask: int
    targets: int


class ChannelWriter:
    """Gathers what goes to one target, and packs it into chunks.

    The three lists of the open segment keep their identity, so that routers can hold on to their ``append``.

    :param producer: Who made the records.
    """

    __slots__ = (
        "_chunk_records",
        "_copies_keys",
        "_entries",
        "_producer",
        "_records",
        "_stamped",
        "chunks",
        "keys",
        "size",
        "timestamps",
        "values",
    )

    def __init__(self, chunk_records: int, producer: OperatorInfo) -> None:
        self._producer = producer
        self.values: list[Any] = []
        self.timestamps: list[int] = []
        self.keys: list[Any] = []
        self.chunks: list[bytes] = []
        self.size = 0
        """The bytes of all chunks."""
        self._entries: list[Entry] = []
        self._stamped = False
        self._copies_keys = False
        self._records = 0
        self._chunk_records = chunk_records

    def expect(self, stamped: bool) -> None:
        """Prepare for records that all have a timestamp, or all have none."""
        if stamped is not self._stamped:
            self.close_segment()
            self._stamped = stamped

    def add(self, batch: Any) -> None:
        """Add all records of a batch."""
        self.expect(batch.timestamps is not None)
        self.values.extend(batch.values)
        if batch.timestamps is not None:
            self.timestamps.extend(batch.timestamps)
        if batch.keys is not None:
            self.keys.extend(batch.keys)
        self.pack_if_full()

    def copy_keys(self) -> None:
        """From now on: keys can be changed by way of the record they are part of, so they travel as copies."""
        self._copies_keys = True

    def mark(self, entry: Entry) -> None:
        """Add a watermark or another mark. Of several watermarks without records between them the last says it all."""
        self.close_segment()
        entries = self._entries
        if entries and entry.__class__ is int and entries[-1].__class__ is int:
            entries[-1] = entry
        else:
            entries.append(entry)

    def close_segment(self) -> None:
        """Turn the open segment into an entry."""
        values = self.values
        if values:
            self._records += len(values)
            keys = all_copied(self.keys[:]) if self._copies_keys else self.keys[:]
            self._entries.append((values[:], self.timestamps[:] if self._stamped else None, keys or None))
            values.clear()
            self.timestamps.clear()
            self.keys.clear()

    def add_entries(self, entries: list[Entry]) -> None:
        """Add what is an entry of a chunk already."""
        self._entries.extend(entries)

    def pack_if_full(self) -> None:
        """Make a chunk if enough has come together."""
        if len(self.values) + self._records >= self._chunk_records:
            self.pack()

    def pack(self) -> None:
        """Make a chunk of everything gathered so far."""
        self.close_segment()
        if self._entries:
            try:
                chunk = codec.dumps(self._entries)
            except Exception as error:
                raise self._unpicklable(error) from error
            self.chunks.append(chunk)
            self.size += len(chunk)
            self._entries = []
            self._records = 0

    def _unpicklable(self, error: Exception) -> OperatorFailure:
        records = [value for entry in self._entries if entry.__class__ is tuple for value in entry[0]]
        return unpicklable(self._producer, records, error)

    def take(self) -> list[bytes]:
        """All chunks, in order."""
        self.pack()
        chunks, self.chunks, self.size = self.chunks, [], 0
        return chunks


def unpicklable(producer: OperatorInfo, records: Iterable[Any], error: Exception) -> OperatorFailure:
    """The failure of an operator that has emitted a record that cannot leave its process."""
    for record in records:
        try:
            codec.dumps(record)
        except Exception as reason:
            refused = SerializationError(
                f"a record of type {type(record).__qualname__} cannot be sent on, because it cannot be pickled: "
                f"{type(reason).__name__}: {reason!s:.300}. Emit plain values, or register a serializer for its class"
            )
            return OperatorFailure.of(producer, refused, record)
    return OperatorFailure.of(producer, error)


class Emitter:
    """The producing end of one edge, in one subtask. Subclasses route records; marks go to every target."""

    cursor: Iterator[Any] | None = None
    """The iterator over the values being routed: tells which record failed."""

    def __init__(self, place: Place, make_writer: Callable[[], ChannelWriter]) -> None:
        self.edge, self.level, self.subtask, self.targets = place
        self.writers = [make_writer() for _ in range(self.writer_count())]

    def writer_count(self) -> int:
        """How many different streams of chunks there are."""
        return self.targets

    def emit(self, batch: Any) -> None:
        """Route the records of a batch."""
        raise TypeError("an emitter routes in a subclass")

    @property
    def only_none(self) -> bool | None:
        """Of an edge with keys: whether None was the only key so far; None if there was no record yet."""
        return None

    def advance_watermark(self, watermark: int) -> None:
        """Send a watermark to all targets."""
        for writer in self.writers:
            writer.mark(watermark)

    def advance_status(self, idle: bool) -> None:
        """Send idleness to all targets."""
        for writer in self.writers:
            writer.mark(IDLE if idle else ACTIVE)

    def announce(self, watermark: int, idle: bool) -> None:
        """Tell all targets where this channel stands, after a restart: what they know of it may be something else."""
        self.advance_status(False)
        self.advance_watermark(watermark)
        if idle:
            self.advance_status(True)

    def end(self) -> None:
        """Tell all targets that nothing more will come."""
        for writer in self.writers:
            writer.mark(END)

    def take_rows(self, attempt: str) -> list[ChunkRow]:
        """Everything that has been emitted, as chunk rows."""
        return [
            (self.level, target, self.edge, self.subtask, sequence, attempt, payload)
            for target, writer in enumerate(self.writers)
            for sequence, payload in enumerate(writer.take())
        ]


class SingleTargetEmitter(Emitter):
    """All records to one subtask: forward, global, and rescale to fewer subtasks.

    Marks go to all targets the same: each target waits for the watermark of every producer it may hear from.
    """

    def __init__(self, place: Place, make_writer: Callable[[], ChannelWriter], target: int) -> None:
        super().__init__(place, make_writer)
        self._target = target

    def emit(self, batch: Batch) -> None:
        """Add to the one target."""
        self.writers[self._target].add(batch)


class ForwardEmitter(Emitter):
    """All records and marks to the subtask of the same number, and nothing to others: a channel of its own."""

    def writer_count(self) -> int:
        """One stream of chunks."""
        return 1

    def emit(self, batch: Batch) -> None:
        """Add to the one target."""
        self.writers[0].add(batch)

    def take_rows(self, attempt: str) -> list[ChunkRow]:
        """Rows for the subtask of the same number."""
        return [
            (self.level, self.subtask, self.edge, self.subtask, sequence, attempt, payload)
            for sequence, payload in enumerate(self.writers[0].take())
        ]


class BroadcastEmitter(Emitter):
    """All records to every subtask; packed once."""

    def writer_count(self) -> int:
        """One stream of chunks for all."""
        return 1

    def emit(self, batch: Batch) -> None:
        """Add for all targets."""
        self.writers[0].add(batch)

    def take_rows(self, attempt: str) -> list[ChunkRow]:
        """The same chunks for every target."""
        chunks = self.writers[0].take()
        return [
            (self.level, target, self.edge, self.subtask, sequence, attempt, payload)
            for target in range(self.targets)
            for sequence, payload in enumerate(chunks)
        ]


class RoundRobinEmitter(Emitter):
    """Records in turn to the subtasks of a range: rebalance, and rescale to more subtasks."""

    def __init__(self, place: Place, make_writer: Callable[[], ChannelWriter], turn: range) -> None:
        super().__init__(place, make_writer)
        self._turn = turn
        self._next = self.subtask % len(turn)

    def emit(self, batch: RowBatch) -> None:
        """Deal the records out: each target gets every n-th, by slicing."""
        count, stamps, keys = len(self._turn), batch.timestamps, batch.keys
        for offset in range(min(count, len(batch))):
            target = self._turn[(self._next + offset) % count]
            part = RowBatch(
                batch.values[offset::count],
                None if stamps is None else stamps[offset::count],
                None if keys is None else keys[offset::count],
            )
            self.writers[target].add(part)
        self._next = (self._next + len(batch)) % count


class RoutingEmitter(Emitter):
    """Records to targets chosen one by one. ``choose`` gives the target of each record of a batch."""

    def __init__(
        self,
        place: Place,
        make_writer: Callable[[], ChannelWriter],
        choose: Callable[[Iterable[Any]], list[int]],
    ) -> None:
        super().__init__(place, make_writer)
        self._choose = choose

    def emit(self, batch: RowBatch) -> None:
        """Route each record."""
        self.cursor = iter(batch.values)
        chosen = self._choose(self.cursor)
        for target in sorted(set(chosen)):
            picked = [index for index, each in enumerate(chosen) if each == target]
            self.writers[target].add(batch.take(picked))


class HashEmitter(Emitter):
    """Records to the subtask that owns their key; the key travels along.

    The hot path of ``key_by``: one call of the key selector, one look-up of the key's target, two or three appends.
    """

    def __init__(
        self,
        place: Place,
        make_writer: Callable[[], ChannelWriter],
        select: Callable[[Any], Any],
        max_parallelism: int,
    ) -> None:
        super().__init__(place, make_writer)
        self._select = select
        self._max_parallelism = max_parallelism
        # One per target, shared by all of its keys: there may be a million of these.
        self._ways = [(each.values.append, each.keys.append, each.timestamps.append) for each in self.writers]
        self._routes: dict[Any, _Route] = {}

    def emit(self, batch: RowBatch) -> None:
        """Route each record by its key."""
        if not batch.values:
            return
        for writer in self.writers:
            writer.expect(batch.timestamps is not None)
        try:
            self._route(batch)
        except TypeError as error:
            self._route_with_frozen_keys(batch, error)
        self._refuse_unstable(batch.values[0])
        for writer in self.writers:
            writer.pack_if_full()
        if len(self._routes) > _MEMO_LIMIT:
            self._routes.clear()

    def _route(self, batch: RowBatch) -> None:
        select, routes = self._select, self._routes
        self.cursor = cursor = iter(batch.values)
        # A plain dict whose misses are caught is quicker than one with __missing__: misses are few.
        if batch.timestamps is None:
            for value in cursor:
                key = select(value)
                try:
                    add_value, add_key, _ = routes[key]
                except KeyError:
                    add_value, add_key, _ = self._new_route(key)
                add_value(value)
                add_key(key)
        else:
            for value, stamp in zip(cursor, batch.timestamps):
                key = select(value)
                try:
                    add_value, add_key, add_stamp = routes[key]
                except KeyError:
                    add_value, add_key, add_stamp = self._new_route(key)
                add_value(value)
                add_key(key)
                add_stamp(stamp)

    @property
    def only_none(self) -> bool | None:
        """Whether None was the only key so far."""
        return None if not self._routes else None in self._routes and len(self._routes) == 1

    def _new_route(self, key: Any) -> _Route:
        """Remember where a key goes: the ``append`` methods of its target's lists."""
        if not unchangeable((key,)):
            for writer in self.writers:
                writer.copy_keys()
            key = copied(key)
        route = self._routes[key] = self._ways[subtask_of_key(key, self.targets, self._max_parallelism)]
        return route

    def _route_with_frozen_keys(self, batch: RowBatch, error: TypeError) -> None:
        """A key that is a list becomes a tuple. Only a job that has such keys pays for it, from the first one on."""
        done = len(batch.values) - length_hint(self.cursor) - 1
        if isinstance(self._select, FrozenKey) or not has_list_key(self._select, batch.values[done]):
            refusal = self._refusal(batch.values)
            raise error if refusal is None else refusal from error
        self._select = FrozenKey(self._select)
        self.emit(RowBatch(batch.values[done:], None if batch.timestamps is None else batch.timestamps[done:]))

    def _refuse_unstable(self, value: Any) -> None:
        """A selector that gives another key when asked again would tear a key apart."""
        key, again = self._select(value), self._select(value)
        try:
            same = bool(again == key) or (key != key and again != again)
        except ValueError:  # numpy arrays: compared element by element; refused as a key a moment later
            return
        if not same:
            raise KeyError_(
                f"the key selector {describe(self._select)} is not deterministic: for one record it gave {key!r}, "
                f"then {again!r}. A key may depend on the record only"
            )

    def _refusal(self, values: list[Any]) -> Exception | None:
        """Why a key cannot be used; leaves the cursor at its record. None if it was not for a key."""
        self.cursor = cursor = iter(values)
        for value in cursor:
            try:
                key = self._select(value)
            except Exception:
                return None
            try:
                subtask_of_key(frozen(key), 1, 1)
                hash(frozen(key))
            except TypeError as reason:
                return KeyError_(f"the key selector {describe(self._select)} gave a key that cannot be used: {reason}")
        return None


def rescale_range(subtask: int, producers: int, targets: int) -> range:
    """The consumers that a producer deals to when neighbours are grouped: no record leaves its group."""
    if targets >= producers:
        return range(subtask * targets // producers, (subtask + 1) * targets // producers)
    target = subtask * targets // producers
    return range(target, target + 1)
