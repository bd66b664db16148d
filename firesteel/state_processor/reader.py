"""Reading a savepoint or checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from firesteel.common import TypeInformation, Types
from firesteel.connectors.spark_rows import rows_to_dataframe
from firesteel.errors import StateError
from firesteel.state.backend import TIMERS, Deltas, HashMapBackend
from firesteel.state.operator_state import BROADCAST, SPLIT, UNION
from firesteel.state.store import CheckpointStore, Manifest, OperatorFiles, find_manifest
from firesteel.state.ttl import TTL_MARK

_WINDOW_CONTENTS = "_window/contents"
_WINDOW_SESSIONS = "_window/sessions"


@dataclass(frozen=True)
class StoredState:
    """One state of an operator.

    :param kind: ``value``, ``list``, ``map`` (``+ttl`` behind it for state that expires), ``timers``, or for operator
        state ``split``, ``union``, ``broadcast``.
    :param windowed: Whether there is one per key and window.
    """

    name: str
    kind: str
    windowed: bool = False


@dataclass(frozen=True)
class StoredOperator:
    """One operator of the job that was saved."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    states: tuple[StoredState, ...]


class SavepointReader:
    """A savepoint or checkpoint, opened for reading. State is read when it is asked for, one subtask at a time.

    The ``read_...`` methods give Spark DataFrames; the methods without ``read_`` give the same as Python values. All
    rows of one state pass through the driver.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._store = CheckpointStore(manifest.directory)

    @staticmethod
    def read(path: str) -> SavepointReader:
        """Open a savepoint's directory, a checkpoint's (``.../chk-7``), or the last checkpoint of a directory."""
        return SavepointReader(find_manifest(path))

    @property
    def checkpoint_id(self) -> int:
        """The number of the checkpoint or savepoint within its job."""
        return self._manifest.checkpoint_id

    @property
    def job_name(self) -> str:
        """The job that was saved."""
        return self._manifest.job_name

    def operators(self) -> list[StoredOperator]:
        """All operators with state, and what each has stored."""
        return [
            StoredOperator(uid, entry.name, entry.parallelism, entry.max_parallelism, tuple(self._states(uid)))
            for uid, entry in self._manifest.operators.items()
            if entry.stateful
        ]

    def _states(self, uid: str) -> list[StoredState]:
        found: dict[str, StoredState] = {}
        for subtask in range(self._entry(uid).parallelism):
            restore = self._load(uid, subtask)
            for deltas in restore.keyed:
                for name, (kind, windowed, _) in deltas.items():
                    found[name] = StoredState(name, kind, windowed)
            for stored in restore.operator_states:
                for name, (mode, _) in stored.items():
                    found[name] = StoredState(name, mode)
        return sorted(found.values(), key=lambda state: state.name)

    def _entry(self, uid: str) -> OperatorFiles:
        try:
            return self._manifest.operators[uid]
        except KeyError:
            known = ", ".join(sorted(self._manifest.operators))
            message = f"there is no operator with uid {uid!r} in {self._manifest.directory}; there are: {known}"
            raise StateError(message) from None

    def _load(self, uid: str, subtask: int) -> Any:
        return self._store.load(self._manifest, [uid], subtask, self._entry(uid).parallelism)[uid]

    def _tables(self, uid: str) -> Iterator[HashMapBackend]:
        """The keyed state of each subtask, put together from its files."""
        entry = self._entry(uid)
        for subtask in range(entry.parallelism):
            backend = HashMapBackend(entry.max_parallelism)
            for deltas in self._load(uid, subtask).keyed:
                backend.apply(_without_stamps(deltas), None)
            yield backend

    # --- keyed state --------------------------------------------------------------------------------

    def keyed_state(self, uid: str, name: str) -> Iterator[tuple[Any, Any]]:
        """(key, value) of a state: the value, list, or map as a dict. The key of windowed state is (key, window)."""
        known = False
        for backend in self._tables(uid):
            declared = backend.tables.get(name)
            if declared is not None:
                known = True
                yield from declared.table.entries.items()
        if not known:
            states = ", ".join(state.name for state in self._states(uid)) or "none"
            raise StateError(f"operator {uid!r} has stored no keyed state {name!r}; it has stored: {states}")

    def read_keyed_state(
        self,
        uid: str,
        name: str,
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
        spark: Any | None = None,
    ) -> Any:
        """A DataFrame with the columns ``key`` and ``value``. Types that are not given are taken from the values."""
        rows = [(key, value) for key, value in self.keyed_state(uid, name)]
        return _dataframe(rows, ["key", "value"], [key_type, value_type], spark)

    def window_state(self, uid: str) -> Iterator[tuple[Any, int, int, Any]]:
        """(key, window start, window end, content) of all open windows of a window operator.

        The content is the accumulator of an incremental function, or the list of records. Sliding windows that are
        combined from panes are stored by pane.
        """
        names = {state.name for state in self._states(uid)}
        if _WINDOW_SESSIONS in names:
            for key, sessions in self.keyed_state(uid, _WINDOW_SESSIONS):
                for session in sessions:
                    yield key, session[0], session[1], session[2]
        for name in sorted(names & {_WINDOW_CONTENTS}):
            for (key, window), content in self.keyed_state(uid, name):
                yield key, window[0], window[1], content

    def read_window_state(
        self,
        uid: str,
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
        spark: Any | None = None,
    ) -> Any:
        """A DataFrame with the columns ``key``, ``window_start``, ``window_end`` and ``value``."""
        types = [key_type, Types.LONG(), Types.LONG(), value_type]
        return _dataframe(list(self.window_state(uid)), ["key", "window_start", "window_end", "value"], types, spark)

    def timers(self, uid: str) -> Iterator[tuple[str, Any, int]]:
        """(queue, key, timestamp) of all timers of an operator."""
        for subtask in range(self._entry(uid).parallelism):
            backend = HashMapBackend(self._entry(uid).max_parallelism)
            names = set()
            for deltas in self._load(uid, subtask).keyed:
                backend.apply(_without_stamps(deltas), None)
                names |= {name for name, (kind, _, _) in deltas.items() if kind == TIMERS}
            for name in sorted(names):
                for key, _, timestamp in backend.timers(name):
                    yield name, key, timestamp

    # --- sources ------------------------------------------------------------------------------------

    def sources(self) -> list[str]:
        """The uids of all sources of the job that was saved."""
        return sorted(self._manifest.driver.get("sources", ()))

    def source_positions(self, uid: str) -> dict[str, Any]:
        """Where a source goes on: split -> position.

        A source that is read in the driver has no splits: it is subtask -> what its reader has stored. Splits that had
        been read to their end when an earlier checkpoint was complete are not in it.
        """
        stored = self._manifest.driver.get("sources", {})
        if uid not in stored:
            known = ", ".join(self.sources()) or "none"
            raise StateError(f"there is no source with uid {uid!r} in {self._manifest.directory}; there are: {known}")
        if "splits" in stored[uid]:
            return {split: position for split, (_, _, position, _, _) in stored[uid]["splits"].items()}
        return {str(subtask): state for subtask, state in enumerate(stored[uid]["readers"])}

    # --- operator state -----------------------------------------------------------------------------

    def operator_state(self, uid: str, name: str) -> list[Any]:
        """All elements of a list state, of all subtasks; of broadcast state its (key, value) pairs."""
        parts = [
            stored[name]
            for subtask in range(self._entry(uid).parallelism)
            for stored in self._load(uid, subtask).operator_states
            if name in stored
        ]
        if not parts:
            states = ", ".join(state.name for state in self._states(uid)) or "none"
            raise StateError(f"operator {uid!r} has stored no operator state {name!r}; it has stored: {states}")
        mode = parts[0][0]
        if mode == BROADCAST:
            return list(parts[0][1].items())
        return [element for _, elements in parts for element in elements]

    def read_list_state(
        self, uid: str, name: str, type_info: TypeInformation | None = None, spark: Any | None = None
    ) -> Any:
        """A DataFrame with the column ``value``: the elements of a list state, split or union."""
        self._require(uid, name, SPLIT, UNION)
        return _dataframe([(value,) for value in self.operator_state(uid, name)], ["value"], [type_info], spark)

    def read_broadcast_state(
        self,
        uid: str,
        name: str,
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
        spark: Any | None = None,
    ) -> Any:
        """A DataFrame with the columns ``key`` and ``value``: the content of a broadcast state."""
        self._require(uid, name, BROADCAST)
        return _dataframe(self.operator_state(uid, name), ["key", "value"], [key_type, value_type], spark)

    def _require(self, uid: str, name: str, *kinds: str) -> None:
        for state in self._states(uid):
            if state.name == name and state.kind not in kinds:
                raise StateError(f"state {name!r} of operator {uid!r} is {state.kind} state, not {' or '.join(kinds)}")


def _without_stamps(deltas: Deltas) -> Deltas:
    """The same changes as plain state. Time stamps of expiring state are stored beside the values, not with them."""
    return {name: (kind.removesuffix(TTL_MARK), windowed, delta) for name, (kind, windowed, delta) in deltas.items()}


def _dataframe(
    rows: list[tuple[Any, ...]], names: list[str], types: list[TypeInformation | None], spark: Any | None
) -> Any:
    known = [given or _type_of(rows, index) for index, given in enumerate(types)]
    return rows_to_dataframe(rows, Types.ROW_NAMED(names, known), spark)


def _type_of(rows: list[tuple[Any, ...]], index: int) -> TypeInformation:
    if not rows:
        return Types.STRING()
    return TypeInformation.of(rows[0][index])
