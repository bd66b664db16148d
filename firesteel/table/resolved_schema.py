"""The schema of a table or result whose names and types are all known."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.table.types import DataType, RowField, RowType

__all__ = ["ResolvedSchema", "TableSchema"]


class ResolvedSchema:
    """Columns with their types, in order."""

    def __init__(self, fields: Sequence[RowField]) -> None:
        self._fields = tuple(fields)

    def get_column_names(self) -> list[str]:
        """The names."""
        return [field.name for field in self._fields]

    def get_column_data_types(self) -> list[DataType]:
        """The types."""
        return [field.data_type for field in self._fields]

    def get_column_count(self) -> int:
        """How many columns there are."""
        return len(self._fields)

    def __str__(self) -> str:
        return "(\n" + ",\n".join(f"  `{each.name}` {each.data_type}" for each in self._fields) + "\n)"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)


class TableSchema(ResolvedSchema):
    """The same, with the names of PyFlink's older class."""

    def __init__(self, field_names: Sequence[str] | None = None, data_types: Sequence[DataType] | None = None) -> None:
        super().__init__([RowField(name, kind) for name, kind in zip(field_names or (), data_types or ())])

    def copy(self) -> TableSchema:
        """Another one like it."""
        return TableSchema(self.get_field_names(), self.get_field_data_types())

    def get_field_names(self) -> list[str]:
        """The names."""
        return self.get_column_names()

    def get_field_data_types(self) -> list[DataType]:
        """The types."""
        return self.get_column_data_types()

    def get_field_data_type(self, field: str | int) -> DataType | None:
        """The type of a column, by its name or its position; None if there is none."""
        if isinstance(field, int):
            return self._fields[field].data_type if 0 <= field < len(self._fields) else None
        return next((each.data_type for each in self._fields if each.name == field), None)

    def get_field_count(self) -> int:
        """How many columns there are."""
        return self.get_column_count()

    def get_field_name(self, field_index: int) -> str | None:
        """The name of a column."""
        return self._fields[field_index].name if 0 <= field_index < len(self._fields) else None

    def to_row_data_type(self) -> DataType:
        """A row of all columns."""
        return RowType(list(self._fields))

    class Builder:
        """Puts a schema together, column by column."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """A column."""
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """The schema."""
            return TableSchema(self._names, self._types)

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """Begin a schema."""
        return TableSchema.Builder()
