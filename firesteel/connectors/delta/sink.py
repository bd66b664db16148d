"""A sink into Delta tables: the tasks write Parquet files, the driver makes them part of the table."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.formats.arrow_columns import row_columns
from firesteel.common.formats.fields import expect_row_type
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.connectors.delta.committer import DeltaCommitter
from firesteel.connectors.delta.table import TablePlace, checked_options, checked_path
from firesteel.connectors.delta.writer import DeltaWriter
from firesteel.errors import ConfigurationError
from firesteel.model.sink import Committer, Sink, SinkWriter

__all__ = ["DeltaSink", "DeltaSinkBuilder"]


class DeltaSink(Sink):
    """Adds rows to a Delta table, exactly once.

    ::

        row_type = Types.ROW_NAMED(["day", "user", "count"], [Types.SQL_DATE(), Types.STRING(), Types.LONG()])
        sink = DeltaSink.for_row_type("s3://lake/counts", row_type).with_partition_columns("day").build()
        counts.sink_to(sink)

    The rows of a checkpoint become visible at once, as one version of the table, when it is complete. The version holds
    a transaction number (``txn``) of each writer: after a crash it tells what was committed.
    """

    guarantee = "exactly-once"

    def __init__(
        self,
        place: TablePlace,
        row_type: RowTypeInfo,
        partitions: tuple[str, ...],
        app_id: str,
        properties: Mapping[str, str],
    ) -> None:
        self._place = place
        self._row_type = row_type
        self._partitions = partitions
        self._app_id = app_id
        self._properties = dict(properties)

    @staticmethod
    def for_row_type(table_path: str, row_type: RowTypeInfo) -> DeltaSinkBuilder:
        """Begin to build a sink.

        :param table_path: A path or URL. The table is made if it is not there.
        :param row_type: Names and types of the columns.
        """
        return DeltaSinkBuilder(table_path, row_type)

    @property
    def takes_columns(self) -> bool:
        """Batches of columns are written as they are."""
        return True

    def create_writer(self) -> SinkWriter:
        """Writes files that nobody sees yet."""
        return DeltaWriter(self._place, self._row_type, self._partitions, self._app_id)

    def create_committer(self) -> Committer:
        """Adds the files to the table."""
        return DeltaCommitter(self._place, self._row_type, self._partitions, self._properties)


class DeltaSinkBuilder:
    """Builds a :class:`DeltaSink`."""

    def __init__(self, table_path: str, row_type: RowTypeInfo) -> None:
        self._path = checked_path(table_path)
        self._row_type = expect_row_type(row_type, "DeltaSink.for_row_type")
        row_columns(self._row_type, True)  # a type without a column is found here, not in a task
        self._partitions: tuple[str, ...] = ()
        self._app_id = "firesteel"
        self._storage: dict[str, str] = {}
        self._properties: dict[str, str] = {}

    def with_partition_columns(self, *columns: str) -> DeltaSinkBuilder:
        """The columns by which files are put into folders."""
        names = self._row_type.get_field_names()
        if not columns or any(column not in names for column in columns) or len(columns) == len(names):
            raise ConfigurationError(
                f"partition columns are some of {', '.join(names)}, and not all; got {', '.join(map(str, columns))}"
            )
        self._partitions = columns
        return self

    def with_app_id(self, app_id: str) -> DeltaSinkBuilder:
        """How the names of transactions in the table's log begin: ``firesteel`` if not set."""
        if not isinstance(app_id, str) or not app_id:
            raise ConfigurationError(f"an app id is a text, got {app_id!r}")
        self._app_id = app_id
        return self

    def with_storage_options(self, options: Mapping[str, str]) -> DeltaSinkBuilder:
        """How the storage is reached (``AWS_ENDPOINT_URL``, keys, ...), where the environment does not say it."""
        self._storage = checked_options(options)
        return self

    def with_table_properties(self, properties: Mapping[str, str]) -> DeltaSinkBuilder:
        """Properties of a table that is made, such as ``delta.logRetentionDuration``."""
        self._properties = checked_options(properties)
        return self

    def build(self) -> DeltaSink:
        """The sink."""
        place = TablePlace(self._path, self._storage)
        return DeltaSink(place, self._row_type, self._partitions, self._app_id, self._properties)
