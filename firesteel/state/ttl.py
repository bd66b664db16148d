"""Time-to-live of keyed state: when a value has expired, how stamps are stored, and clean-up in the background.

State with a time-to-live lives in the same tables as other state, but each value, list element and map entry is a pair
``(value, stamp)``: the processing time, in milliseconds, at which its life was last prolonged. How long it lives from
there on is not stored; the descriptor of the running program says it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final, Protocol

from firesteel.model.state_ttl import StateTtlConfig
from firesteel.state.tables import LIST, Delta, ListTable, Table, ValueTable

TTL_MARK: Final = "+ttl"
"""Added to the kind of a table in what is stored: ``value+ttl``, ``list+ttl``, ``map+ttl``."""

Stamped = tuple[Any, int]


class Now(Protocol):
    """Processing time as an attribute, set from outside."""

    now: int


class TtlPolicy:
    """The time-to-live of one state in the running program, with the clock by which it expires."""

    def __init__(self, config: StateTtlConfig, clock: Now) -> None:
        self.length = config.get_ttl().to_milliseconds()
        self.clock = clock
        self.update_on_read = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        self.return_expired = (
            config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        )
        strategies = config.get_cleanup_strategies()
        self.in_full_snapshot = strategies.in_full_snapshot()
        incremental = strategies.get_incremental_cleanup_strategy()
        self.incremental_size = 0 if incremental is None else incremental.get_cleanup_size()
        self.per_record = incremental is not None and incremental.run_cleanup_for_every_record()
        compaction = strategies.get_rocksdb_compact_filter_cleanup_strategy()
        self.compaction = compaction is not None
        self.entries_per_clock_read = 1
        self.compaction_period = 0
        if compaction is not None:
            self.entries_per_clock_read = max(1, compaction.get_query_time_after_num_entries())
            self.compaction_period = compaction.get_periodic_compaction_time().to_millis()

    def horizon(self) -> int:
        """The latest stamp that has expired by now."""
        return self.clock.now - self.length


def drop_expired(table: Table, entry_key: Any, horizon: int) -> None:
    """Remove what has expired under one entry key: the value, elements of the list, entries of the map."""
    if isinstance(table, ValueTable):
        found = table.entries.get(entry_key)
        if found is not None and found[1] <= horizon:
            table.remove(entry_key)
    elif isinstance(table, ListTable):
        items = table.entries.get(entry_key)
        if items is not None:
            keep_live(table, entry_key, items, horizon)
    else:
        mapping = table.entries.get(entry_key)
        if mapping is not None:
            for map_key in [name for name, found in mapping.items() if found[1] <= horizon]:
                table.remove_key(entry_key, map_key)


def keep_live(table: ListTable, entry_key: Any, items: list[Stamped], horizon: int) -> list[Stamped]:
    """Remove the elements of a list that have expired; returns the others."""
    live = [item for item in items if item[1] > horizon]
    if not live:
        table.remove(entry_key)
    elif len(live) < len(items):
        table.put(entry_key, live)
    return live


class IncrementalCleanup:
    """Looks at a few entries of a table each time it is called, round and round."""

    def __init__(self, table: Table, policy: TtlPolicy) -> None:
        self._table = table
        self._policy = policy
        self._round: Iterator[Any] = iter(())

    def __call__(self) -> None:
        """Look at the next entries."""
        table, horizon = self._table, self._policy.horizon()
        for _ in range(self._policy.incremental_size):
            entry_key = next(self._round, self)
            if entry_key is self:  # this round is over: the next one begins with the next call
                self._round = iter(list(table.entries))
                return
            drop_expired(table, entry_key, horizon)


# ---- what is stored --------------------------------------------------------------------------------------------------


def live_part(kind: str, delta: Delta, horizon: int) -> Delta:
    """A full delta without what has expired."""
    if kind == LIST:
        kept = [(key, [item for item in items if item[1] > horizon]) for key, items in delta["puts"]]
        puts: list[Any] = [(key, items) for key, items in kept if items]
    else:
        puts = [put for put in delta["puts"] if put[-1][1] > horizon]
    return {**delta, "puts": puts}


def split_stamps(kind: str, delta: Delta) -> Delta:
    """A delta of pairs as it is stored: plain values, and apart from them all stamps, 8 bytes each."""
    stamps: list[int] = []
    plain = dict(delta)
    if kind == LIST:
        for part in ("puts", "appended"):
            stamps.extend(stamp for _, items in delta[part] for _, stamp in items)
            plain[part] = [(key, [value for value, _ in items]) for key, items in delta[part]]
    else:
        stamps.extend(put[-1][1] for put in delta["puts"])
        plain["puts"] = [(*put[:-1], put[-1][0]) for put in delta["puts"]]
    plain["stamps"] = struct.pack(f">{len(stamps)}q", *stamps)
    return plain


def join_stamps(kind: str, stored: Delta) -> Delta:
    """The opposite of :func:`split_stamps`."""
    delta = dict(stored)
    packed: bytes = delta.pop("stamps")
    stamps = iter(struct.unpack(f">{len(packed) // 8}q", packed))
    if kind == LIST:
        for part in ("puts", "appended"):
            delta[part] = [(key, [(value, next(stamps)) for value in items]) for key, items in stored[part]]
    else:
        delta["puts"] = [(*put[:-1], (put[-1], next(stamps))) for put in stored["puts"]]
    return delta


def stored_kind(kind: str, expires: bool) -> str:
    """What a snapshot calls a table."""
    return kind + TTL_MARK if expires else kind


def table_kind(stored: str) -> tuple[str, bool]:
    """The kind of a table and whether its entries have stamps, from what a snapshot calls it."""
    return (stored.removesuffix(TTL_MARK), True) if stored.endswith(TTL_MARK) else (stored, False)
