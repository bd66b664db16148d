"""A source of files: those that are there, or also those that come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any

from firesteel.common.time import Duration
from firesteel.common.warnings import warn_once
from firesteel.connectors.files.formats import BulkFormat, FileFormat, SplitReader, StreamFormat
from firesteel.connectors.files.storage import FileEntry, Storage, check_path, open_storage
from firesteel.connectors.open_splits import OpenSplits
from firesteel.errors import ConfigurationError
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator

__all__ = ["FileEnumeratorProvider", "FileSource", "FileSourceBuilder", "FileSplitAssignerProvider", "find_files"]

_PART_BYTES = 64 * 1024 * 1024


class FileEnumeratorProvider:
    """How files become splits: whole, or large ones in parts. Use one of the two static methods."""

    def __init__(self, part_bytes: int | None) -> None:
        self.part_bytes = part_bytes

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Files of more than 64 MB are read in parts by several subtasks, if their format allows it. The default."""
        return FileEnumeratorProvider(_PART_BYTES)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Each file is read whole by one subtask: its records keep their order."""
        return FileEnumeratorProvider(None)


class FileSplitAssignerProvider:
    """Which subtask reads which split: there is one way here, in turn."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Flink's name for reading files where they are stored. Here splits are dealt out in turn."""
        return FileSplitAssignerProvider()


class FileSource(Source):
    r"""The records of files in any format, on any file system that pyarrow or fsspec reaches.

    ::

        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/in") \
            .monitor_continuously(Duration.of_seconds(1)) \
            .build()
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")

    Paths name files, or directories, which are read with all directories in them. Files and directories whose names
    begin with ``.`` or ``_`` are left out. A file is read once, also across restarts, and known by its path: it must
    not change once it is there, so write it under a hidden name (or elsewhere on the same disk) and rename it.
    Workers read the files themselves: on a cluster the paths must be visible to all of them.
    """

    def __init__(
        self, format: FileFormat, paths: Sequence[str], enumerator: FileEnumeratorProvider, interval: int | None
    ) -> None:
        self._format = format
        self._paths = tuple(paths)
        self._part_bytes = enumerator.part_bytes
        self._interval = interval

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """A source of files that are read record by record, such as text."""
        return FileSourceBuilder(_expect("for_record_stream_format", stream_format, StreamFormat), paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """A source of files that are read in batches, such as Parquet."""
        return FileSourceBuilder(_expect("for_bulk_file_format", bulk_format, BulkFormat), paths)

    @property
    def boundedness(self) -> Boundedness:
        """Bounded, unless directories are watched."""
        return Boundedness.BOUNDED if self._interval is None else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Finds the files."""
        return _FileEnumerator(self._paths, self._format, self._part_bytes, self._interval)

    def create_reader(self) -> SourceReader:
        """Reads them."""
        return _FileReader(self._format, self._format.open_split)

    @property
    def gives_columns(self) -> bool:
        """Whether the files hold columns that can be read as such."""
        return self._format.gives_columns

    def create_column_reader(self) -> SourceReader:
        """Reads them as columns."""
        return _FileReader(self._format, self._format.open_columns)


def _expect(method: str, value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise ConfigurationError(f"{method}() takes a {kind.__name__}, got {value!r} ({type(value).__name__})")
    return value


class FileSourceBuilder:
    """Builds a :class:`FileSource`."""

    def __init__(self, format: FileFormat, paths: Sequence[str]) -> None:
        if not paths:
            raise ConfigurationError("a file source needs at least one path. Pass a file or directory.")
        for path in paths:
            check_path(path)  # a wrong path is found here, not in the job
        self._format = format
        self._paths = paths
        self._enumerator = FileEnumeratorProvider.default_splittable_file_enumerator()
        self._interval: int | None = None

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Look for new files again and again: the source does not end.

        :param discovery_interval: How often to look.
        """
        interval = _expect("monitor_continuously", discovery_interval, Duration).to_millis()
        if interval < 1:
            raise ConfigurationError(f"new files are looked for every millisecond at most, got {discovery_interval}")
        self._interval = interval
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job starts, then end. The default."""
        self._interval = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Whether large files are read in parts."""
        self._enumerator = _expect("set_file_enumerator", file_enumerator, FileEnumeratorProvider)
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Has no effect and warns: splits are dealt out to the subtasks in turn."""
        _expect("set_split_assigner", split_assigner, FileSplitAssignerProvider)
        warn_once(
            "FileSourceBuilder.set_split_assigner",
            "set_split_assigner() has no effect: file splits are dealt out to the subtasks in turn, wherever they run",
        )
        return self

    def build(self) -> FileSource:
        """The source."""
        return FileSource(self._format, self._paths, self._enumerator, self._interval)


class _FileEnumerator(SplitEnumerator):
    """Its snapshot is the paths of all files that have been found."""

    def __init__(self, paths: Sequence[str], format: FileFormat, part_bytes: int | None, interval: int | None) -> None:
        self._paths = paths
        self._format = format
        self._part_bytes = part_bytes
        self._interval = interval
        self._seen: set[str] = set()
        self._looked_at: int | None = None
        self._done = False

    def start(self, restored: dict[str, Any] | None) -> None:
        if restored is not None:
            self._seen = set(restored["files"])
            self._done = self._interval is None and restored["complete"]

    def discover_splits(self, now: int) -> Iterable[SourceSplit]:
        if self._done or (self._looked_at is not None and now < self._looked_at + (self._interval or 0)):
            return []
        self._looked_at = now
        self._done = self._interval is None
        splits: list[SourceSplit] = []
        for uri in self._paths:
            storage, path = open_storage(uri)
            for entry in _files(storage, path, uri):
                if entry.path not in self._seen:
                    self._seen.add(entry.path)
                    splits.extend(self._splits_of(uri, entry))
        return splits

    def _splits_of(self, uri: str, entry: FileEntry) -> Iterator[SourceSplit]:
        size = self._part_bytes
        if size is None or entry.size <= size or not self._format.splittable(entry.path):
            yield SourceSplit(f"{entry.path}:0", {"uri": uri, "path": entry.path, "start": 0, "end": None})
            return
        for start in range(0, entry.size, size):
            end = min(start + size, entry.size)
            yield SourceSplit(f"{entry.path}:{start}", {"uri": uri, "path": entry.path, "start": start, "end": end})

    def no_more_splits(self) -> bool:
        return self._done

    def next_data_time(self, now: int) -> int | None:
        if self._interval is None or self._looked_at is None:
            return None
        return self._looked_at + self._interval

    def snapshot(self) -> dict[str, Any]:
        return {"files": sorted(self._seen), "complete": self._done}


def find_files(uri: str) -> list[FileEntry]:
    """The file of a path, or all files of a directory and the directories in it that are not hidden.

    :raises ConfigurationError: There is no such file or directory.
    """
    storage, path = open_storage(uri)
    return _files(storage, path, uri)


def _files(storage: Storage, path: str, uri: str) -> list[FileEntry]:
    found = storage.find(path)
    if found is None:
        raise ConfigurationError(
            f"there is no file or directory {uri!r} to read, as seen from the driver. Check the path; a directory that "
            "is to be watched has to be there when the job starts."
        )
    return list(_files_in(storage, path)) if found.is_directory else [found]


def _files_in(storage: Storage, directory: str) -> Iterator[FileEntry]:
    for entry in storage.entries(directory):
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_directory:
            yield from _files_in(storage, entry.path)
        else:
            yield entry


class _FileReader(SourceReader):
    def __init__(self, format: FileFormat, opener: Callable[[str, IO[bytes], int, int | None], SplitReader]) -> None:
        self._opener = opener
        self.gives_away = format.gives_away
        self._parts = OpenSplits(self._open_part)

    def _open_part(self, split: SourceSplit) -> SplitReader:
        place = split.payload
        storage, _ = open_storage(place["uri"])
        file = storage.open(place["path"])
        return self._opener(place["path"], file, place["start"], place["end"])

    def read(self, split: SourceSplit, position: Any, max_records: int, now: int) -> ReadResult:
        result = self._parts.get(split).read(position, max_records)
        if result.finished:
            self._parts.close(split)
        return result

    def close(self) -> None:
        self._parts.close_all()
