"""Spark DataFrames as sources, static and streaming."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.connectors.arrow_rows import column_decoder, field_converters, row_decoder
from firesteel.connectors.open_splits import OpenSplits
from firesteel.connectors.spark_rows import rows_to_dataframe
from firesteel.errors import CheckpointError, ConfigurationError, JobError
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator
from firesteel.state.work_directory import process_folder

__all__ = ["DataFrameSource", "rows_to_dataframe"]

_ROW_GROUP_BYTES = 16 * 1024 * 1024  # a row group is the unit of parallel reading
_BATCH_ROWS = 8192
_COLUMN_ROWS = 65_536
_WAITING_BATCHES = 4
_SECONDS_TO_REST = 30.0
"""How long a streaming query may take to come to the end of a micro-batch when it is to be stopped."""


class DataFrameSource(Source):
    """The rows of a Spark DataFrame, as :class:`Row` objects with the names of its columns.

    A DataFrame cannot be read inside a task of another Spark job, and collecting it would put all of it into the
    driver. So Spark runs it once, when the job starts, and writes it as Parquet into a work directory; the tasks read
    the row groups of these files with Arrow. This also makes every DataFrame replayable, also one that gives other
    rows each time it is computed. A streaming DataFrame runs as a query of its own, of which every micro-batch is
    written like this and becomes new input; what has been read and checkpointed is deleted.

    :param df: The DataFrame.
    :param work_directory: Where to write, a path or URL that the driver and all workers see. None: a temporary
        directory of this machine, deleted when the program ends; only for a local Spark. To continue a job from a
        checkpoint in another process, a work directory is needed.
    :param available_now: For a streaming DataFrame: read what is there now, and end.
    :param poll_interval: For a streaming DataFrame: how often to look for a new micro-batch.
    """

    def __init__(
        self,
        df: Any,
        *,
        work_directory: str | None = None,
        available_now: bool = False,
        poll_interval: TimeLength = 100,
    ) -> None:
        if not hasattr(df, "isStreaming"):
            raise ConfigurationError(f"a Spark DataFrame was expected, got {df!r:.80} ({type(df).__name__})")
        self._df: Any = df
        self._streaming = bool(df.isStreaming)
        if available_now and not self._streaming:
            raise ConfigurationError("available_now is for streaming DataFrames; this one is static and ends anyway")
        self._schema: dict[str, Any] = json.loads(df.schema.json())
        _check_names([column["name"] for column in self._schema["fields"]])
        field_converters(self._schema)  # an unsupported type is an error now, not in a task
        master = df.sparkSession.sparkContext.master
        if work_directory is None and (not master.startswith("local") or master.startswith("local-cluster")):
            raise ConfigurationError(
                f"Spark runs on {master}: the rows of a DataFrame pass through files that "
                "driver and workers see. Name a directory with work_directory=."
            )
        self._work_directory = work_directory
        self._available_now = available_now
        self._poll_interval = to_milliseconds(poll_interval)
        self._directory: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Tasks need what is in the files only; a DataFrame cannot be pickled.
        return {**self.__dict__, "_df": None}

    @property
    def boundedness(self) -> Boundedness:
        """Bounded if the DataFrame is static or ``available_now`` was asked for."""
        if self._streaming and not self._available_now:
            return Boundedness.CONTINUOUS_UNBOUNDED
        return Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Runs the DataFrame when it is started."""
        if self._streaming:
            return _StreamingEnumerator(self._df, self._new_directory, self._available_now, self._poll_interval)
        return _StaticEnumerator(self._df, self._new_directory)

    def create_reader(self) -> SourceReader:
        """A reader of row groups."""
        return _RowGroupReader(row_decoder(self._schema), _BATCH_ROWS)

    @property
    def gives_columns(self) -> bool:
        """Columns of the DataFrame's types."""
        return True

    def create_column_reader(self) -> SourceReader:
        """A reader of row groups as columns."""
        return _RowGroupReader(column_decoder(self._schema), _COLUMN_ROWS)

    def initial_position(self, split: SourceSplit) -> int:
        """The first row."""
        return 0

    def _new_directory(self) -> str:
        """Where the rows are written. The same for all enumerators of this source: a restart reads them again."""
        if self._directory is None:
            name = f"firesteel-dataframe-{uuid.uuid4().hex}"
            if self._work_directory is None:
                self._directory = os.path.join(process_folder("dataframe"), name)
                done = weakref.finalize(self, shutil.rmtree, os.path.dirname(self._directory), ignore_errors=True)
                done.atexit = False  # at the end of the program a query may still have to end
            else:
                base = self._work_directory
                self._directory = (base if "://" in base else os.path.abspath(base)).rstrip("/") + "/" + name
        return self._directory


def _check_names(names: list[str]) -> None:
    if not names:
        raise ConfigurationError("the DataFrame has no columns, so there is nothing to read")
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise ConfigurationError(
            f"the DataFrame has several columns called {', '.join(double)}: the fields of a row need names of their "
            "own. Rename them with df.toDF(...)."
        )


def _file_system(location: str) -> tuple[Any, str]:
    """Arrow's file system for a path or URL, and the path in it."""
    from pyarrow import fs

    if "://" not in location:
        return fs.LocalFileSystem(), location
    url = "s3://" + location[6:] if location.startswith("s3a://") else location
    system, path = fs.FileSystem.from_uri(url)
    return system, path


def _for_spark(location: str) -> str:
    """A local path as a URL: without a scheme Spark would look in its default file system."""
    return location if "://" in location else f"file://{location}"


def _exists(location: str) -> bool:
    system, path = _file_system(location)
    return bool(system.get_file_info(path).type.name != "NotFound")


def _write(df: Any, location: str) -> None:
    """Write a DataFrame, once: what is complete is left as it is, so that a retry cannot change it."""
    if not _exists(f"{location}/_SUCCESS"):
        writer = df.write.mode("overwrite").option("parquet.block.size", _ROW_GROUP_BYTES)
        writer.parquet(_for_spark(location))


def _splits_in(location: str, prefix: str) -> Iterator[SourceSplit]:
    """The row groups of the files in a directory, in order of their names."""
    from pyarrow import fs, parquet

    system, path = _file_system(location)
    files = sorted(info.path for info in system.get_file_info(fs.FileSelector(path)) if info.path.endswith(".parquet"))
    for file in files:
        name = os.path.basename(file)
        metadata = parquet.read_metadata(file, filesystem=system)
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            if rows:
                payload = {"file": f"{location}/{name}", "group": group, "rows": rows}
                yield SourceSplit(f"{prefix}{name}:{group}", payload)


class _StaticEnumerator(SplitEnumerator):
    def __init__(self, df: Any, new_directory: Callable[[], str]) -> None:
        self._df = df
        self._new_directory = new_directory
        self._directory: str | None = None
        self._pending: list[SourceSplit] = []

    def start(self, restored: Any | None) -> None:
        if restored is not None:
            self._directory = restored["directory"]
            _require(f"{self._directory}/_SUCCESS")
            return
        self._directory = self._new_directory()
        _write(self._df, self._directory)
        self._pending = list(_splits_in(self._directory, ""))

    def discover_splits(self, now: int) -> Iterable[SourceSplit]:
        pending, self._pending = self._pending, []
        return pending

    def no_more_splits(self) -> bool:
        return not self._pending

    def snapshot(self) -> dict[str, Any]:
        return {"directory": self._directory}


def _require(location: str) -> None:
    if not _exists(location):
        raise CheckpointError(
            f"the job continues from a checkpoint, but {location}, which holds rows of its DataFrame, is gone. To be "
            "able to continue in another process, give the DataFrame a work_directory= that is kept."
        )


@dataclass
class _Batch:
    """A micro-batch that has been handed out: which of its splits have not been read to the end."""

    location: str
    open_splits: dict[str, int] = field(default_factory=dict)


class _StreamingEnumerator(SplitEnumerator):
    """Runs the streaming query; its thread writes micro-batches, the engine's thread hands them out."""

    def __init__(self, df: Any, new_directory: Callable[[], str], available_now: bool, poll_interval: int) -> None:
        self._df = df
        self._new_directory = new_directory
        self._available_now = available_now
        self._poll_interval = poll_interval
        self._changed = threading.Condition()
        self._written: dict[int, str] = {}
        self._stopped = False
        self._resting = False
        """Whether the query waits, with a micro-batch written, to be stopped."""
        self._released = False
        self._query: Any = None
        self._last = -1  # the last micro-batch that has been handed out
        self._batches: dict[int, _Batch] = {}

    def start(self, restored: Any | None) -> None:
        self._directory = self._new_directory() if restored is None else restored["directory"]
        if restored is not None:
            _require(f"{self._directory}/query")
            self._last = restored["last"]
        writer = self._df.writeStream.foreachBatch(self._write_batch)
        writer = writer.option("checkpointLocation", _for_spark(f"{self._directory}/query"))
        if self._available_now:
            writer = writer.trigger(availableNow=True)
        self._recover()
        self._query = writer.start()

    def _recover(self) -> None:
        """Find micro-batches that were written and not handed out: the query will not run them again."""
        from pyarrow import fs

        system, path = _file_system(self._directory)
        for info in system.get_file_info(fs.FileSelector(path, allow_not_found=True)):
            name = os.path.basename(info.path)
            if name.startswith("batch-") and _exists(f"{self._directory}/{name}/_SUCCESS"):
                self._note(int(name.removeprefix("batch-")))

    def _note(self, number: int) -> None:
        if number > self._last:
            self._written[number] = f"{self._directory}/batch-{number:012d}"

    def _write_batch(self, df: Any, number: int) -> None:
        """Called by Spark for each micro-batch, again with the same number if the query was restarted."""
        _write(df, f"{self._directory}/batch-{number:012d}")
        with self._changed:
            self._note(number)
            while len(self._written) >= _WAITING_BATCHES and not self._stopped:
                self._changed.wait()
            self._resting = self._stopped
            self._changed.notify_all()
            while self._resting and not self._released:
                self._changed.wait()

    def discover_splits(self, now: int) -> Iterable[SourceSplit]:
        self._raise_if_failed()
        with self._changed:
            written, self._written = self._written, {}
            self._changed.notify_all()
        splits: list[SourceSplit] = []
        for number, location in sorted(written.items()):
            batch = list(_splits_in(location, f"{number}/"))
            self._batches[number] = _Batch(location, {split.split_id: split.payload["rows"] for split in batch})
            self._last = number
            splits.extend(batch)
        return splits

    def _raise_if_failed(self) -> None:
        error = self._query.exception()
        if error is not None:
            raise JobError(f"the streaming query of a DataFrame has failed: {error}") from error

    def no_more_splits(self) -> bool:
        if not self._available_now or self._query.isActive:
            return False
        self._raise_if_failed()
        return not self._written

    def next_data_time(self, now: int) -> int | None:
        return now + self._poll_interval

    def snapshot(self) -> dict[str, Any]:
        return {"directory": self._directory, "last": self._last}

    def committed(self, positions: dict[str, Any]) -> None:
        for number, batch in list(self._batches.items()):
            for split_id, rows in list(batch.open_splits.items()):
                if positions.get(split_id, 0) >= rows:
                    del batch.open_splits[split_id]
            if not batch.open_splits:
                del self._batches[number]
                system, path = _file_system(batch.location)
                system.delete_dir(path)

    def close(self) -> None:
        """Stop the query between two batches: one that is stopped while it writes tells of it in a thousand lines."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._query is None or not self._query.isActive:
            return
        deadline = time.monotonic() + _SECONDS_TO_REST
        with self._changed:
            while not self._resting and self._query.status["isTriggerActive"] and time.monotonic() < deadline:
                self._changed.wait(0.05)
        stopping = threading.Thread(target=self._stop, name="firesteel-stop-query", daemon=True)
        stopping.start()
        while stopping.is_alive() and self._query.isActive:
            stopping.join(0.01)
        with self._changed:
            self._released = True
            self._changed.notify_all()
        stopping.join()

    def _stop(self) -> None:
        with contextlib.suppress(Exception):  # of a query that has failed: discover_splits tells why
            self._query.stop()


class _OpenGroup:
    """A row group in work."""

    def __init__(self, batch_rows: int, split: SourceSplit) -> None:
        from pyarrow import parquet

        self._batch_rows = batch_rows

        system, path = _file_system(split.payload["file"])
        self._group: int = split.payload["group"]
        # Spark's older form of timestamps has nanoseconds, which Python's datetime has not.
        self._file = parquet.ParquetFile(path, filesystem=system, coerce_int96_timestamp_unit="us")
        self._batches: Iterator[Any] = iter(())
        self._rows: Any = []
        self.position = -1

    def seek(self, position: int) -> None:
        self._batches = self._file.iter_batches(self._batch_rows, row_groups=[self._group])
        self._rows = []
        self.position = 0
        self._skip = position

    def take(self, max_records: int, decode: Callable[[Any], Any]) -> Any:
        while not len(self._rows):
            batch = next(self._batches, None)
            if batch is None:
                return []
            skipped = min(self._skip, batch.num_rows)
            self._skip -= skipped
            self.position += skipped
            self._rows = decode(batch.slice(skipped)) if skipped < batch.num_rows else []
        taken, self._rows = self._rows[:max_records], self._rows[max_records:]
        self.position += len(taken)
        return taken

    def close(self) -> None:
        self._file.close()


class _RowGroupReader(SourceReader):
    """Position: how many rows of the row group have been read."""

    gives_away = True

    def __init__(self, decode: Callable[[Any], Any], batch_rows: int) -> None:
        self._decode = decode
        self._groups = OpenSplits(partial(_OpenGroup, batch_rows))

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        group = self._groups.get(split)
        if group.position != position:
            group.seek(position)
        values = group.take(max_records, self._decode)
        end = position + len(values)
        finished = end >= split.payload["rows"]
        if finished:
            self._groups.close(split)
        return ReadResult(values, end, finished=finished)

    def close(self) -> None:
        self._groups.close_all()
