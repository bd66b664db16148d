"""Files in columns: what the writers of Parquet and ORC share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from firesteel.common.formats.arrow_columns import Column, Convert, apply, row_columns
from firesteel.common.formats.fields import field_values
from firesteel.common.serialization import BulkWriter
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.errors import TypeMismatchError, UnsupportedError

_ARROW_REFUSES = (OverflowError, TypeError, ValueError, NotImplementedError)
"""What Arrow raises for values that do not fit: its errors are kinds of these."""

__all__ = ["ColumnWriter", "conformed", "decoded", "refuse_hadoop", "stored_schema"]

_GROUP_RECORDS = 10_000
"""How many records are turned into columns at a time."""


def refuse_hadoop(hadoop_config: Any) -> None:
    """:raises UnsupportedError: A Hadoop configuration was passed."""
    if hadoop_config is not None:
        raise UnsupportedError(
            "hadoop_config has no meaning: files are written by pyarrow, without Hadoop. Leave it out; file systems "
            "are configured as pyarrow and fsspec say."
        )


def decoded(column: Any, convert: Convert) -> list[Any]:
    """The values of an Arrow column."""
    values: list[Any] = column.to_pylist()
    return values if convert is None else [None if value is None else convert(value) for value in values]


def stored_schema(row_type: RowTypeInfo, utc: bool) -> Any:
    """The columns that batches of files have for the declared types.

    :param utc: Dates and times come back as those of UTC: as such they have no zone that would make them local ones.
    """
    import pyarrow as pa

    kinds = row_columns(row_type, utc)
    return pa.schema([(name, _without_zone(kind) if utc else kind) for name, (kind, _, _) in kinds.items()])


def _without_zone(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return pa.timestamp("us")
    if pa.types.is_list(kind):
        return pa.list_(_without_zone(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_without_zone(kind.key_type), _without_zone(kind.item_type))
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return pa.struct([pa.field(field.name, _without_zone(field.type)) for field in fields])
    return kind


def conformed(batch: Any, schema: Any, format_name: str) -> Any:
    """A batch with the types of a schema, whose columns it has in order; nothing is copied where they are the same.

    :raises TypeMismatchError: A value does not fit its type.
    """
    import pyarrow as pa

    arrays = []
    for field, column in zip(schema, batch.columns):
        try:
            arrays.append(column if column.type.equals(field.type) else column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TypeMismatchError(
                f"column {field.name!r} of a {format_name} file is {column.type}, which does not fit the declared type "
                f"({field.type}): {error}. Declare the type that the files have."
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class ColumnWriter(BulkWriter):
    """Collects records as columns, and hands them on in tables.

    :param format_name: For errors.
    :param columns: The names of the columns with their types.
    :param metadata: Text that the file shall carry.
    """

    def __init__(self, format_name: str, columns: dict[str, Column], metadata: dict[str, str] | None = None) -> None:
        import pyarrow as pa

        self._format_name = format_name
        self._names = list(columns)
        self._converters = [convert for _, convert, _ in columns.values()]
        self._schema = pa.schema([pa.field(name, kind) for name, (kind, _, _) in columns.items()], metadata=metadata)
        self._rows: list[list[Any]] = []

    @abstractmethod
    def write_table(self, table: Any) -> None:
        """Write a table to the file."""

    @abstractmethod
    def close(self) -> None:
        """Write the end of the file."""

    def add_element(self, element: Any) -> None:
        """Take one record: a Row, tuple, list, dict, or object with attributes of the columns' names."""
        values = field_values(element, self._names, self._format_name)
        self._rows.append([apply(convert, value) for value, convert in zip(values, self._converters)])
        if len(self._rows) >= _GROUP_RECORDS:
            self.flush()

    def add_columns(self, columns: Any) -> None:
        """Take many records as columns, which become those of the file: nothing is copied where they are the same."""
        import pyarrow as pa

        self.flush()
        if unknown := [name for name in columns.schema.names if name not in self._names]:
            raise TypeMismatchError(
                f"{self._format_name}: the records have a column {unknown[0]!r}, which the file has not; its columns "
                f"are {', '.join(self._names)}. Leave it out, or declare it."
            )
        arrays = [
            self._stored(columns.column(field.name), field, convert)
            if field.name in columns.schema.names
            else pa.nulls(len(columns), field.type)
            for field, convert in zip(self._schema, self._converters)
        ]
        self.write_table(pa.Table.from_arrays(arrays, schema=self._schema))

    def _stored(self, column: Any, field: Any, convert: Convert) -> Any:
        """A column as the file has it."""
        import pyarrow as pa

        from firesteel.runtime.columns.values import python_values

        if column.type.equals(field.type):
            return column
        try:
            if convert is None:
                return column.cast(field.type)
            # Dates without a zone and the like: what they mean in a file is said of values, not of columns.
            return pa.array([apply(convert, value) for value in python_values(column)], field.type)
        except (*_ARROW_REFUSES, AttributeError) as error:
            raise TypeMismatchError(
                f"column {field.name!r} is {column.type} and does not fit the column of its {self._format_name} file, "
                f"which is {field.type}: {error}."
            ) from error

    def flush(self) -> None:
        """Turn what is in memory into columns and write them."""
        import pyarrow as pa

        rows, self._rows = self._rows, []
        if not rows:
            return
        try:
            columns = [pa.array(values, field.type) for values, field in zip(zip(*rows), self._schema)]
        except _ARROW_REFUSES as error:
            raise TypeMismatchError(
                f"a record does not fit the columns of its {self._format_name} file: {error}. The columns are "
                f"{', '.join(f'{field.name}: {field.type}' for field in self._schema)}."
            ) from error
        self.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def abandon(self) -> None:
        """Close the file as it is: Arrow's writers would do so later, when there is no file any more."""
        self.close()

    def finish(self) -> None:
        """Write what is left and the file's end."""
        self.flush()
        self.close()
