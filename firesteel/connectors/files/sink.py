"""A sink of files: exactly once, in folders by time or any other rule, in row or bulk formats."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from firesteel.common.serialization import BulkWriterFactory, Encoder
from firesteel.connectors.base import StreamTransformer, SupportsPreprocessing
from firesteel.connectors.files.buckets import BucketAssigner
from firesteel.connectors.files.compaction import ConcatFileCompactor, FileCompactor, FileCompactStrategy
from firesteel.connectors.files.rolling import OnCheckpointRollingPolicy, OutputFileConfig, RollingPolicy
from firesteel.connectors.files.staging import SinkRun
from firesteel.connectors.files.storage import check_path
from firesteel.connectors.files.writer import FileCommitter, FileSinkSettings, FileWriter, UnfinishedFiles
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.sink import Committer, Sink, SinkWriter

__all__ = ["FileSink", "StreamingFileSink"]

_B = TypeVar("_B", bound="_Builder")


@dataclass
class _Choices:
    """What a builder has been told."""

    base_path: str
    format: Encoder | BulkWriterFactory
    rolling_policy: RollingPolicy
    bucket_assigner: BucketAssigner
    output: OutputFileConfig
    check_interval: int = 60 * 1000
    strategy: FileCompactStrategy | None = None
    compactor: FileCompactor | None = None


class _Builder:
    """What the builders of both sinks have in common."""

    def __init__(self, base_path: str, format: Encoder | BulkWriterFactory, rolling_policy: RollingPolicy) -> None:
        check_path(base_path)  # a wrong path is found here, not in the task
        self._choices = _Choices(
            base_path,
            format,
            rolling_policy,
            BucketAssigner.date_time_bucket_assigner(),
            OutputFileConfig.builder().build(),
        )

    def with_bucket_check_interval(self: _B, interval: int) -> _B:
        """How often, in milliseconds, open files are looked at for rolling by time: every minute unless told otherwise.

        They are looked at when a record comes.
        """
        if isinstance(interval, bool) or not isinstance(interval, int) or interval < 1:
            raise ConfigurationError(f"a bucket check interval is a number of milliseconds above 0, got {interval!r}")
        self._choices.check_interval = interval
        return self

    def with_bucket_assigner(self: _B, bucket_assigner: BucketAssigner) -> _B:
        """Which folder a record goes to: by hours of processing time unless told otherwise."""
        self._choices.bucket_assigner = _expect("with_bucket_assigner", bucket_assigner, BucketAssigner)
        return self

    def with_output_file_config(self: _B, output_file_config: OutputFileConfig) -> _B:
        """How files are called."""
        self._choices.output = _expect("with_output_file_config", output_file_config, OutputFileConfig)
        return self

    def _settings(self) -> FileSinkSettings:
        return FileSinkSettings(**vars(self._choices), run=SinkRun.of_this_process())


def _expect(method: str, value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise ConfigurationError(f"{method}() takes a {kind.__name__}, got {value!r} ({type(value).__name__})")
    return value


def _expect_bulk_policy(method: str, policy: RollingPolicy) -> RollingPolicy:
    if not isinstance(policy, OnCheckpointRollingPolicy):
        raise ConfigurationError(
            f"files of bulk formats are closed with checkpoints only, so {method}() takes "
            f"RollingPolicy.on_checkpoint_rolling_policy(), got {policy!r}"
        )
    return policy


class FileSink(Sink, SupportsPreprocessing):
    r"""Writes records to files, each exactly once.

    ::

        sink = FileSink.for_row_format("/data/out", Encoder.simple_string_encoder()) \
            .with_bucket_assigner(BucketAssigner.event_time_bucket_assigner(timezone_id="UTC")) \
            .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".txt").build()) \
            .build()
        stream.sink_to(sink)

    Each subtask writes files of its own in a hidden place, ``.inprogress`` below the base path. With every checkpoint
    it closes them all; when the checkpoint is complete they are moved to their folders. So a reader sees whole files
    only, and of each record that a checkpoint covers exactly one. Without checkpointing every epoch is treated as one.
    This differs from Flink, where a file of a row format may go on over several checkpoints: if checkpoints are
    frequent, join the files with ``enable_compact``.

    What a failed attempt has left in the hidden place is deleted by the next one. Only files of a program that was
    killed, whose driver ran on another machine than the tasks of its successor, stay there, never to be seen: delete
    ``.inprogress`` when no job writes there.

    The base path is a local path (on a cluster: one that all machines share) or a URI of any file system that pyarrow
    or fsspec reaches, such as ``s3://bucket/out``.
    """

    guarantee = "exactly-once"

    class BaseBuilder(_Builder):
        """What both builders have in common."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Any:
            """When to begin a new file, besides every checkpoint."""
            self._choices.rolling_policy = _expect("with_rolling_policy", rolling_policy, RollingPolicy)
            return self

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Any:
            """Join small files before they are shown.

            Each subtask joins the files that it has written into a folder; those of several subtasks stay apart.

            :param strategy: When: until then the files are hidden.
            :param compactor: How.
            """
            _expect("enable_compact", strategy, FileCompactStrategy)
            _expect("enable_compact", compactor, FileCompactor)
            if isinstance(self._choices.format, BulkWriterFactory) and isinstance(compactor, ConcatFileCompactor):
                raise UnsupportedError(
                    "files of bulk formats such as Parquet cannot be joined byte by byte. Write a FileCompactor that "
                    "reads the records of its inputs, or take fewer checkpoints."
                )
            self._choices.strategy, self._choices.compactor = strategy, compactor
            return self

        def disable_compact(self) -> Any:
            """Join no files; those that an earlier run has held back are shown as they are."""
            self._choices.strategy = self._choices.compactor = None
            return self

        def build(self) -> FileSink:
            """The sink."""
            return FileSink(self._settings())

    class RowFormatBuilder(BaseBuilder):
        """Builds a sink of files that are written record by record."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSink.RowFormatBuilder:
            """When to begin a new file, besides every checkpoint: by size and time unless told otherwise."""
            super().with_rolling_policy(rolling_policy)
            return self

    class BulkFormatBuilder(BaseBuilder):
        """Builds a sink of files that are written in groups of records."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSink.BulkFormatBuilder:
            """Bulk formats take ``RollingPolicy.on_checkpoint_rolling_policy()`` only, which they have anyway."""
            super().with_rolling_policy(_expect_bulk_policy("with_rolling_policy", rolling_policy))
            return self

    def __init__(self, settings: FileSinkSettings, transformer: StreamTransformer | None = None) -> None:
        self._settings = settings
        self._transformer = transformer

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """A sink that writes record by record.

        :param base_path: Where the folders are made.
        :param encoder: How a record becomes bytes.
        """
        _expect("for_row_format", encoder, Encoder)
        return FileSink.RowFormatBuilder(base_path, encoder, RollingPolicy.default_rolling_policy())

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> FileSink.BulkFormatBuilder:
        """A sink that writes records in groups.

        :param base_path: Where the folders are made.
        :param writer_factory: Opens a writer for each new file, for instance ``ParquetBulkWriters.for_row_type(...)``.
        """
        _expect("for_bulk_format", writer_factory, BulkWriterFactory)
        return FileSink.BulkFormatBuilder(base_path, writer_factory, RollingPolicy.on_checkpoint_rolling_policy())

    def get_transformer(self) -> StreamTransformer | None:
        """What is done to the stream before the sink: nothing, unless the sink was made with a transformer."""
        return self._transformer

    def for_operator(self) -> FileSink:
        """The same sink with a hidden place of its own."""
        return type(self)(replace(self._settings, run=SinkRun.of_this_process()), self._transformer)

    @property
    def takes_columns(self) -> bool:
        """Whether the files hold columns, and their folders do not depend on records."""
        format, assigner = self._settings.format, self._settings.bucket_assigner
        return isinstance(format, BulkWriterFactory) and format.takes_columns and not assigner.looks_at_records

    def create_writer(self) -> SinkWriter:
        """The writer of one subtask."""
        return FileWriter(self._settings)

    def create_committer(self) -> Committer:
        """What shows the files."""
        return FileCommitter(self._settings)


class StreamingFileSink(FileSink):
    """The older name of :class:`FileSink`, with its older builders. Deprecated in Flink; give it to ``add_sink``.

    Files are finished by checkpoints. In a job without any they stay as they are while they are written, as in Flink:
    hidden in their folders, as ``.part-....inprogress....``. :class:`FileSink` shows them at the end.
    """

    class BaseBuilder(_Builder):
        """What both builders have in common."""

        def with_rolling_policy(self, policy: RollingPolicy) -> Any:
            """When to begin a new file, besides every checkpoint."""
            self._choices.rolling_policy = _expect("with_rolling_policy", policy, RollingPolicy)
            return self

        def build(self) -> StreamingFileSink:
            """The sink."""
            return StreamingFileSink(self._settings())

    class DefaultRowFormatBuilder(BaseBuilder):
        """Builds a sink of files that are written record by record."""

        def with_rolling_policy(self, policy: RollingPolicy) -> StreamingFileSink.DefaultRowFormatBuilder:
            """When to begin a new file, besides every checkpoint: by size and time unless told otherwise."""
            super().with_rolling_policy(policy)
            return self

    class DefaultBulkFormatBuilder(BaseBuilder):
        """Builds a sink of files that are written in groups of records."""

        def with_rolling_policy(self, policy: RollingPolicy) -> StreamingFileSink.DefaultBulkFormatBuilder:
            """Bulk formats take ``RollingPolicy.on_checkpoint_rolling_policy()`` only, which they have anyway."""
            super().with_rolling_policy(_expect_bulk_policy("with_rolling_policy", policy))
            return self

    def create_committer(self, checkpointed: Callable[[], bool] | None = None) -> Committer:
        """What shows the files.

        :param checkpointed: Whether the job makes checkpoints; if not, nothing is shown.
        """
        if checkpointed is None or checkpointed():
            return super().create_committer()
        return UnfinishedFiles(self._settings)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> StreamingFileSink.DefaultRowFormatBuilder:  # type: ignore[override]
        """A sink that writes record by record."""
        _warn_deprecated()
        _expect("for_row_format", encoder, Encoder)
        policy = RollingPolicy.default_rolling_policy()
        return StreamingFileSink.DefaultRowFormatBuilder(base_path, encoder, policy)

    @staticmethod
    def for_bulk_format(  # type: ignore[override]
        base_path: str, writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """A sink that writes records in groups."""
        _warn_deprecated()
        _expect("for_bulk_format", writer_factory, BulkWriterFactory)
        policy = RollingPolicy.on_checkpoint_rolling_policy()
        return StreamingFileSink.DefaultBulkFormatBuilder(base_path, writer_factory, policy)


def _warn_deprecated() -> None:
    warnings.warn("StreamingFileSink is deprecated: use FileSink with sink_to()", DeprecationWarning, stacklevel=3)
