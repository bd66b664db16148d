"""Tables of files: lines of JSON, CSV or plain text."""

from __future__ import annotations

from functools import partial
from typing import Any

from firesteel.common.config_options import ConfigOption, ConfigOptions, DurationValue
from firesteel.common.serialization import Encoder
from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.files.buckets import BucketAssigner
from firesteel.connectors.files.formats import StreamFormat
from firesteel.connectors.files.sink import FileSink
from firesteel.connectors.files.source import FileSource
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.table.connectors.base import TableContext, TableFactory, TableSink, TableSource
from firesteel.table.formats.base import LineFormat, LineReader, LineWriter, find_format
from firesteel.table.formats.csv_lines import CsvFormat
from firesteel.table.formats.json_lines import JsonFormat
from firesteel.table.formats.raw_lines import RawFormat
from firesteel.table.functions import text_function

__all__ = ["FileSystemFactory", "LINE_FORMATS"]

LINE_FORMATS: dict[str, type[LineFormat]] = {each.identifier: each for each in (CsvFormat, JsonFormat, RawFormat)}
PATH = ConfigOptions.key("path").string_type().no_default_value()
FORMAT = ConfigOptions.key("format").string_type().no_default_value()
MONITOR: ConfigOption[int | None] = ConfigOption("source.monitor-interval", DurationValue(), None)


class _Source(TableSource):
    def __init__(self, context: TableContext) -> None:
        if context.partition_keys:
            raise UnsupportedError(f"table {context.name}: a table of files with partitions can only be written to.")
        self._context = context
        self._read = LineReader(_format(context, context.fields), context.name)

    def connect(self, environment: Any) -> Any:
        context = self._context
        builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(context.get(PATH)))
        interval = context.get(MONITOR)
        if interval:
            builder = builder.monitor_continuously(Duration.of_millis(interval))
        lines = environment.from_source(builder.build(), WatermarkStrategy.no_watermarks(), context.path[-1])
        return lines.flat_map(self._read)


class _Encoder(Encoder):
    """Writes the line of a pair of folder and line."""

    def encode(self, element: Any, stream: Any) -> None:
        stream.write(element[1].encode() + b"\n")


class _Folders(BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> str:
        return str(element[0])


class _InFolder:
    """Makes of each change the folder of its partition, and its line."""

    def __init__(self, context: TableContext) -> None:
        self._context = context
        names = [field.name for field in context.fields]
        self._keys = [(name, names.index(name)) for name in context.partition_keys]
        self._others = [at for at, name in enumerate(names) if name not in context.partition_keys]
        stored = tuple(context.fields[at] for at in self._others)
        self._write = LineWriter(_format(context, stored))
        self._texts = {name: text_function(context.fields[at].data_type, context.session) for name, at in self._keys}

    def __call__(self, record: Any) -> tuple[str, str]:
        kind, row = record
        parts = [f"{name}={self._text(name, row[at])}" for name, at in self._keys]
        return "/".join(parts), self._write((kind, tuple([row[at] for at in self._others])))

    def _text(self, name: str, value: Any) -> str:
        return "__DEFAULT_PARTITION__" if value is None else str(self._texts[name](value))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_InFolder, (self._context,))


class _Sink(TableSink):
    def __init__(self, context: TableContext) -> None:
        self._context = context
        self._line = _InFolder(context)

    def connect(self, stream: Any) -> Any:
        builder = FileSink.for_row_format(str(self._context.get(PATH)), _Encoder())
        return stream.map(self._line).sink_to(builder.with_bucket_assigner(_Folders()).build())


def _format(context: TableContext, fields: Any) -> LineFormat:
    name = context.get(FORMAT)
    if name is None:
        raise ConfigurationError(f"table {context.name}: the connector 'filesystem' needs the option 'format'.")
    made = partial(find_format(context.name, name, LINE_FORMATS), fields, context.options, context.session)
    return made()


class FileSystemFactory(TableFactory):
    """``'connector' = 'filesystem'``: ``path`` is a file or a directory, ``format`` says how a row is a line."""

    identifier = "filesystem"
    required = (PATH, FORMAT)
    optional = (MONITOR,)

    def option_keys(self, context: TableContext) -> list[str]:
        """Those of the format have its name before them."""
        kind = find_format(context.name, str(context.get(FORMAT)), LINE_FORMATS)
        own = [PATH.key, FORMAT.key, MONITOR.key]
        return [*own, *(f"{kind.identifier}.{option.key}" for option in kind.options)]

    def source(self, context: TableContext) -> TableSource:
        """The lines of the files."""
        return _Source(context)

    def sink(self, context: TableContext) -> TableSink:
        """Files that appear with checkpoints, and at the end."""
        return _Sink(context)
