"""The tasks' half of the sink: rows into Parquet files of the table's folder, one per partition and checkpoint."""

from __future__ import annotations

import datetime
import decimal
import hashlib
import json
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from firesteel.common.formats.arrow_columns import row_columns
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.connectors.delta.table import TablePlace
from firesteel.connectors.files.columns import ColumnWriter
from firesteel.errors import UnsupportedError
from firesteel.model.functions import RuntimeContext
from firesteel.model.sink import SinkWriter, WriterContext

__all__ = ["DeltaWriter"]

_PLAIN = re.compile(r"[\w.-]+", re.ASCII)
PartitionKey = tuple[str | None, ...]


class DeltaWriter(SinkWriter):
    """Its files are part of no version until the driver adds them. Those of a checkpoint that fails stay, unseen."""

    def __init__(self, place: TablePlace, row_type: RowTypeInfo, partitions: tuple[str, ...], app_id: str) -> None:
        self._files = _TableFiles(place, row_type, partitions)
        self._app = f"{app_id}-{uuid.uuid4().hex}"
        """A writer's own: within its life the numbers of checkpoints only rise."""
        self._written = 0

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        self._sent = context.get_metrics_group().counter("numRecordsSend")
        self._bytes = context.get_metrics_group().counter("numBytesSend")

    def write(self, value: Any, context: WriterContext) -> None:
        self._files.add_element(value)
        self._written += 1

    def write_batch(self, columns: Any, timestamps: Any | None, kinds: Any | None, context: WriterContext) -> None:
        if kinds is not None and any(kinds.to_pylist()):
            raise UnsupportedError("a Delta sink adds rows; it cannot update or delete them")
        self._files.add_columns(columns)
        self._written += len(columns)

    def prepare_commit(self, checkpoint_id: int) -> Sequence[dict[str, Any]]:
        self._files.flush()
        added = self._files.finished()
        self._sent.inc(self._written)
        self._bytes.inc(sum(each["size"] for each in added))
        self._written = 0
        return [{"app": self._app, "files": added}] if added else ()

    def close(self) -> None:
        self._files.abandon()


class _TableFiles(ColumnWriter):
    """One open Parquet file per partition."""

    def __init__(self, place: TablePlace, row_type: RowTypeInfo, partitions: tuple[str, ...]) -> None:
        super().__init__("Delta", row_columns(row_type, True))
        self._place = place
        self._partitions = partitions
        self._system: Any = None
        self._open: dict[PartitionKey, tuple[str, Any, Any]] = {}
        self._rows_in: dict[PartitionKey, int] = {}

    def write_table(self, table: Any) -> None:
        for key, part in self._split(table):
            path, _, writer = self._open.get(key) or self._begin(key, part.schema)
            try:
                writer.write_table(part)
            except Exception as error:
                raise self._place.explained(error, f"writing {path}") from error
            self._rows_in[key] = self._rows_in.get(key, 0) + part.num_rows

    def _split(self, table: Any) -> Iterator[tuple[PartitionKey, Any]]:
        """The rows of each partition, without the columns that its folder stands for."""
        if not self._partitions:
            yield (), table
            return
        values = list(zip(*(map(_in_path, table.column(name).to_pylist()) for name in self._partitions)))
        rest = table.drop_columns(list(self._partitions))
        rows: dict[PartitionKey, list[int]] = {}
        for index, key in enumerate(values):
            rows.setdefault(key, []).append(index)
        for key, indices in rows.items():
            yield key, rest.take(indices)

    def _begin(self, key: PartitionKey, schema: Any) -> tuple[str, Any, Any]:
        from pyarrow import parquet

        if self._system is None:
            self._system = self._place.files()
        folders = [f"{name}={_folder(value)}" for name, value in zip(self._partitions, key)]
        path = "/".join([*folders, f"part-{uuid.uuid4().hex}.snappy.parquet"])
        try:
            stream = self._system.open_output_stream(path)
        except Exception as error:
            raise self._place.explained(error, f"writing {path}") from error
        self._open[key] = (path, stream, parquet.ParquetWriter(stream, schema, compression="snappy"))
        return self._open[key]

    def finished(self) -> list[dict[str, Any]]:
        """Close all files; what the table has to know of each."""
        added = []
        for key, (path, stream, writer) in self._open.items():
            try:
                writer.close()
                size = stream.tell()
                stream.close()
            except Exception as error:
                raise self._place.explained(error, f"writing {path}") from error
            added.append(
                {
                    "path": path,
                    "size": size,
                    "partition_values": dict(zip(self._partitions, key)),
                    "modification_time": int(time.time() * 1000),
                    "stats": json.dumps({"numRecords": self._rows_in[key]}),
                }
            )
        self._open, self._rows_in = {}, {}
        return added

    def close(self) -> None:
        for _, stream, writer in self._open.values():
            writer.close()
            stream.close()
        self._open = {}


def _in_path(value: Any) -> str | None:
    """A value as Delta writes it in the log."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(" ", "microseconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return str(value)


def _folder(value: str | None) -> str:
    """A folder is for those who look: what a file belongs to stands in the log. So none needs quoting."""
    if value is None or value == "":
        return "__HIVE_DEFAULT_PARTITION__"
    return value if _PLAIN.fullmatch(value) else hashlib.sha256(value.encode()).hexdigest()[:16]
