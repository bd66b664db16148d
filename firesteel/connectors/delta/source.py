"""A source of a Delta table: a version of it, and if wanted what is added later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.common.types import Row
from firesteel.connectors.delta.table import TablePlace, checked_options, checked_path, deltalake
from firesteel.errors import ConfigurationError
from firesteel.model.coordinator import CoordinatorContext
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator

__all__ = ["DeltaSource", "DeltaSourceBuilder"]

_INTERVAL_MS = 1000


class DeltaSource(Source):
    """The rows of a Delta table, with the names of its columns.

    ::

        source = DeltaSource.for_bounded_row_data("s3://lake/counts").build()          # a version, and the end
        source = DeltaSource.for_continuous_row_data("s3://lake/counts").build()       # and whatever is added
    """

    def __init__(self, place: TablePlace, version: int | None, follow: bool, interval_ms: int, ignore: bool) -> None:
        self._place = place
        self._version = version
        self._follow = follow
        self._interval_ms = interval_ms
        self._ignore = ignore

    @staticmethod
    def for_bounded_row_data(table_path: str) -> DeltaSourceBuilder:
        """A version of the table, the newest if none is named, and then the end."""
        return DeltaSourceBuilder(table_path, follow=False)

    @staticmethod
    def for_continuous_row_data(table_path: str) -> DeltaSourceBuilder:
        """A version of the table, and then what is added to it, version by version, for ever."""
        return DeltaSourceBuilder(table_path, follow=True)

    @property
    def boundedness(self) -> Boundedness:
        """Whether it follows the table."""
        return Boundedness.CONTINUOUS_UNBOUNDED if self._follow else Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Looks at the log of the table."""
        return _Versions(self._place, self._version, self._follow, self._interval_ms, self._ignore)

    def create_reader(self) -> SourceReader:
        """Reads files."""
        return _FileReader(self._place)

    def initial_position(self, split: SourceSplit) -> int:
        """The first row."""
        return 0


class DeltaSourceBuilder:
    """Builds a :class:`DeltaSource`."""

    def __init__(self, table_path: str, follow: bool) -> None:
        self._path = checked_path(table_path)
        self._follow = follow
        self._version: int | None = None
        self._storage: dict[str, str] = {}
        self._interval_ms = _INTERVAL_MS
        self._ignore = False

    def version_as_of(self, version: int) -> DeltaSourceBuilder:
        """The version to begin with."""
        if not isinstance(version, int) or isinstance(version, bool) or version < 0:
            raise ConfigurationError(f"a version is a whole number from 0 on, got {version!r}")
        self._version = version
        return self

    def update_check_interval(self, interval: TimeLength) -> DeltaSourceBuilder:
        """How often a source that follows looks for new versions; a second if not set."""
        self._interval_ms = to_milliseconds(interval)
        return self

    def ignore_deletes(self, ignore: bool) -> DeltaSourceBuilder:
        """Whether versions that delete or rewrite rows are passed over. Otherwise the job fails when one comes."""
        self._ignore = bool(ignore)
        return self

    def with_storage_options(self, options: Mapping[str, str]) -> DeltaSourceBuilder:
        """How the storage is reached (``AWS_ENDPOINT_URL``, keys, ...), where the environment does not say it."""
        self._storage = checked_options(options)
        return self

    def build(self) -> DeltaSource:
        """The source."""
        place = TablePlace(self._path, self._storage)
        return DeltaSource(place, self._version, self._follow, self._interval_ms, self._ignore)


# ---- in the driver -------------------------------------------------------------------------------------------------


def _snapshot(place: TablePlace, version: int | None) -> tuple[int, list[SourceSplit]]:
    """A version of the table: its number, and a split per file."""
    try:
        table = place.table(version)
    except Exception as error:
        raise place.explained(error, f"looking at version {version}") from error
    if table is None:
        raise ConfigurationError(f"there is no Delta table at {place.path}")
    import pyarrow as pa

    schema = pa.schema(table.schema())
    actions = pa.table(table.get_add_actions(flatten=False)).to_pylist()
    names = list(schema.names)
    typed = {name: str(schema.field(name).type) for name in table.metadata().partition_columns}
    splits = [
        _split(names, typed, each["path"], {key: _text(value) for key, value in (each.get("partition") or {}).items()})
        for each in sorted(actions, key=lambda action: str(action["path"]))
    ]
    return int(table.version()), splits


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _split(names: list[str], typed: dict[str, str], path: str, values: dict[str, str | None]) -> SourceSplit:
    payload = {
        "path": unquote(path),
        "names": names,
        "partition": {name: (typed[name], values.get(name)) for name in typed},
    }
    return SourceSplit(path, payload)


def _later(place: TablePlace, version: int, ignore: bool) -> tuple[int, list[SourceSplit]]:
    """What the versions after one have added."""
    import pyarrow as pa

    table = place.table()
    last = int(table.version())
    if last <= version:
        return version, []
    schema = pa.schema(table.schema())
    names, typed = list(schema.names), {n: str(schema.field(n).type) for n in table.metadata().partition_columns}
    files = place.files()
    splits = []
    for number in range(version + 1, last + 1):
        with files.open_input_stream(f"_delta_log/{number:020d}.json") as stream:
            actions = [json.loads(line) for line in stream.read().decode().splitlines()]
        removed = [each["remove"] for each in actions if "remove" in each and each["remove"].get("dataChange", True)]
        if removed and not ignore:
            raise place.explained(
                ValueError(f"version {number} deletes or rewrites rows. Set ignore_deletes(True) to pass over that"),
                "following",
            )
        added = [each["add"] for each in actions if "add" in each and each["add"].get("dataChange", True)]
        splits += [
            _split(names, typed, each["path"], each.get("partitionValues") or {}) for each in added if not removed
        ]
    return last, splits


class _Versions(SplitEnumerator):
    """What was handed out is known by the version up to which it is complete."""

    def __init__(self, place: TablePlace, first: int | None, follow: bool, interval_ms: int, ignore: bool) -> None:
        self._place = place
        self._first = first
        self._follow = follow
        self._interval_ms = interval_ms
        self._ignore = ignore
        self._version: int | None = None
        self._new: list[SourceSplit] = []
        self._asking = False
        self._next_look = 0

    def open(self, context: CoordinatorContext) -> None:
        self._context = context
        context.metrics.gauge("currentVersion", lambda: -1 if self._version is None else self._version)

    def start(self, restored: Any | None) -> None:
        if restored is not None:
            self._version = restored["version"]
            self._new = [SourceSplit(*each) for each in restored["waiting"]]

    def discover_splits(self, now: int) -> list[SourceSplit]:
        if self._version is None and not self._asking:
            self._ask(now, partial(_snapshot, self._place, self._first))
        elif self._follow and not self._asking and now >= self._next_look:
            assert self._version is not None
            self._ask(now, partial(_later, self._place, self._version, self._ignore))
        new, self._new = self._new, []
        return new

    def _ask(self, now: int, question: Any) -> None:
        self._asking = True
        self._next_look = now + self._interval_ms
        self._context.call_async(question, self._found)

    def _found(self, found: tuple[int, list[SourceSplit]] | None, error: Exception | None) -> None:
        self._asking = False
        if error is not None:
            raise error
        assert found is not None
        self._version, new = found
        self._new += new

    def no_more_splits(self) -> bool:
        return not self._follow and self._version is not None and not self._new

    def next_data_time(self, now: int) -> int | None:
        return self._next_look if self._follow and not self._asking else None

    def snapshot(self) -> dict[str, Any]:
        return {"version": self._version, "waiting": [(split.split_id, split.payload) for split in self._new]}


# ---- in the tasks --------------------------------------------------------------------------------------------------


class _FileReader(SourceReader):
    gives_away = True

    def __init__(self, place: TablePlace) -> None:
        self._place = place
        self._system: Any = None
        self._at: tuple[str, int] | None = None
        self._batches: Any = None
        self._waiting: list[Row] = []

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        try:
            if self._at != (split.split_id, position):
                self._begin(split, position)
            while not self._waiting and (batch := next(self._batches, None)) is not None:
                self._waiting = self._rows(batch, split.payload)
        except Exception as error:
            raise self._place.explained(error, f"reading {split.payload['path']}") from error
        rows, self._waiting = self._waiting[:max_records], self._waiting[max_records:]
        end = position + len(rows)
        self._at = (split.split_id, end)
        return ReadResult(rows, end, finished=not rows)

    def _begin(self, split: SourceSplit, position: int) -> None:
        from pyarrow import parquet

        if self._system is None:
            deltalake()
            self._system = self._place.files()
        file = parquet.ParquetFile(self._system.open_input_file(split.payload["path"]))
        self._batches = file.iter_batches(8192)
        left = position
        self._waiting = []
        while left and (batch := next(self._batches, None)) is not None:
            if batch.num_rows > left:
                self._waiting = self._rows(batch.slice(left), split.payload)
                break
            left -= batch.num_rows

    def _rows(self, batch: Any, payload: dict[str, Any]) -> list[Row]:
        import pyarrow as pa

        columns = []
        for name in payload["names"]:
            if name in payload["partition"]:
                kind, text = payload["partition"][name]
                value = (
                    None if text is None else pa.scalar(text).cast(pa.type_for_alias(_ALIASES.get(kind, kind))).as_py()
                )
                columns.append([value] * batch.num_rows)
            elif name in batch.schema.names:
                columns.append(batch.column(name).to_pylist())
            else:  # a column that was added to the table later
                columns.append([None] * batch.num_rows)
        return list(map(Row(*payload["names"]), *columns))


_ALIASES = {"date32[day]": "date32", "timestamp[us, tz=UTC]": "timestamp[us]"}
