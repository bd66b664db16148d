"""Making a savepoint: from nothing, or from another one with operators added and removed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from firesteel.errors import StateError
from firesteel.model.functions import KeyedProcessFunction
from firesteel.model.functions.adapt import as_key_selector, bound_call
from firesteel.runtime.process import KeyedProcessOperator
from firesteel.state.key_groups import DEFAULT_MAX_PARALLELISM
from firesteel.state.operator_state import BROADCAST, SPLIT, UNION
from firesteel.state.snapshots import OperatorSnapshot, decode, encode
from firesteel.state.store import CheckpointStore, Manifest, OperatorFiles, find_manifest
from firesteel.testing.harness import HARNESS_UID, KeyedOneInputOperatorHarness


class SavepointWriter:
    """Collects the state of operators and writes it as a savepoint, from which a job can be started.

    Operators are written with parallelism 1; the job that starts from the savepoint gives them the parallelism it
    likes.
    """

    def __init__(self, base: Manifest | None, max_parallelism: int) -> None:
        self._base = base
        self._max_parallelism = max_parallelism
        self._removed: set[str] = set()
        self._written: dict[str, OperatorSnapshot] = {}

    @staticmethod
    def new_savepoint(max_parallelism: int = DEFAULT_MAX_PARALLELISM) -> SavepointWriter:
        """Begin with nothing. ``max_parallelism`` must be that of the job."""
        return SavepointWriter(None, max_parallelism)

    @staticmethod
    def from_existing_savepoint(path: str, max_parallelism: int = DEFAULT_MAX_PARALLELISM) -> SavepointWriter:
        """Begin with what a savepoint or checkpoint has: its operators are copied, unless removed or replaced."""
        return SavepointWriter(find_manifest(path), max_parallelism)

    def with_keyed_operator(
        self,
        uid: str,
        records: Iterable[Any],
        key_selector: Any,
        function: KeyedProcessFunction,
        timestamp_of: Callable[[Any], int] | None = None,
    ) -> SavepointWriter:
        """Add an operator with keyed state: what the function keeps after it has processed all records.

        :param records: Any iterable: ``df.toLocalIterator()`` for a Spark DataFrame.
        :param function: Writes the state, under the names and types that the job's function uses. What it emits is
            thrown away; timers it registers are saved.
        """
        factory = partial(KeyedProcessOperator, function)
        select = bound_call(as_key_selector(key_selector), "get_key")
        with KeyedOneInputOperatorHarness(factory, select, max_parallelism=self._max_parallelism) as harness:
            harness.process_elements((each, None if timestamp_of is None else timestamp_of(each)) for each in records)
            stored = harness.snapshot(full=True)
        snapshot = decode(stored, uid, [HARNESS_UID])[HARNESS_UID]
        return self._add(uid, replace(snapshot, event_time=None))

    def with_list_state(self, uid: str, name: str, elements: Iterable[Any], union: bool = False) -> SavepointWriter:
        """Add a list state of an operator; dealt out evenly, or with ``union`` given whole to every subtask."""
        return self._add_operator_state(uid, name, UNION if union else SPLIT, list(elements))

    def with_broadcast_state(self, uid: str, name: str, entries: dict[Any, Any]) -> SavepointWriter:
        """Add a broadcast state of an operator."""
        return self._add_operator_state(uid, name, BROADCAST, dict(entries))

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave out an operator of the savepoint that this one begins with."""
        if self._base is None or uid not in self._base.operators:
            raise StateError(f"there is no operator {uid!r} to remove")
        self._removed.add(uid)
        return self

    def _add_operator_state(self, uid: str, name: str, mode: str, content: Any) -> SavepointWriter:
        before = self._written.get(uid) or OperatorSnapshot(None, True, {}, None)
        return self._add(uid, replace(before, operator_state={**before.operator_state, name: (mode, content)}), True)

    def _add(self, uid: str, snapshot: OperatorSnapshot, again: bool = False) -> SavepointWriter:
        if uid in self._written and not again:
            raise StateError(f"operator {uid!r} has been added already")
        self._written[uid] = snapshot
        return self

    def write(self, path: str) -> str:
        """Write the savepoint; the directory must not hold one. Returns its path."""
        store = CheckpointStore(path)
        if store.files.exists("_metadata"):
            raise StateError(f"there is a savepoint in {path} already; choose another directory")
        manifest = self._copied(store)
        if self._written:
            name = f"bootstrap-{uuid.uuid4().hex[:12]}.state"
            store.write_state(name, encode(self._written))
            for uid in self._written:
                manifest.operators[uid] = OperatorFiles(uid, 1, self._max_parallelism, {0: [name]}, True)
        manifest.state_bytes = sum(store.state_size(name) for name in manifest.all_files())
        return store.write_manifest(manifest)

    def _copied(self, store: CheckpointStore) -> Manifest:
        """The manifest to begin with; state files of the savepoint it comes from are copied beside it."""
        if self._base is None:
            return Manifest("savepoint", 1, "bootstrap", 0)
        dropped = self._removed | set(self._written)
        kept = {uid: entry for uid, entry in self._base.operators.items() if uid not in dropped}
        manifest = replace(self._base, kind="savepoint", operators=kept)
        source = CheckpointStore(self._base.directory)
        for name in manifest.all_files():
            store.write_state(name, source.read_state(name))
        return manifest
