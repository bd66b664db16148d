"""Schemas as they are declared: columns, watermark and primary key of a table, before names and types are looked up."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.errors import ConfigurationError
from firesteel.table.types import DataType, RowType

__all__ = ["Schema"]

DeclaredType = DataType | str


def _escaped(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _type_text(declared: DeclaredType) -> str:
    return f"[{declared}]" if isinstance(declared, str) else str(declared)


@dataclass(frozen=True)
class UnresolvedColumn:
    """A column as it is declared; a computed one has an expression and no type."""

    name: str
    data_type: DeclaredType | None = None
    expression: str | None = None
    is_metadata: bool = False
    metadata_key: str | None = None
    is_virtual: bool = False
    comment: str | None = None

    def __str__(self) -> str:
        name = _escaped(self.name)
        comment = "" if self.comment is None else " COMMENT '" + self.comment.replace("'", "''") + "'"
        if self.data_type is None:
            return f"{name} AS [{self.expression}]{comment}"
        text = f"{name} {_type_text(self.data_type)}"
        if self.is_metadata:
            key = "" if self.metadata_key is None else f" FROM '{self.metadata_key}'"
            text += f" METADATA{key}{' VIRTUAL' if self.is_virtual else ''}"
        return text + comment


@dataclass(frozen=True)
class UnresolvedWatermark:
    """The watermark strategy of a table: a column and an expression in SQL."""

    column: str
    expression: str

    def __str__(self) -> str:
        return f"WATERMARK FOR {_escaped(self.column)} AS [{self.expression}]"


@dataclass(frozen=True)
class UnresolvedPrimaryKey:
    """The primary key of a table, which nobody enforces."""

    name: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        columns = ", ".join(map(_escaped, self.columns))
        return f"CONSTRAINT {_escaped(self.name)} PRIMARY KEY ({columns}) NOT ENFORCED"


class Schema:
    """The schema of a table as it is declared, made with :meth:`new_builder`.

    >>> from firesteel.table import DataTypes
    >>> from firesteel.table.schema import Schema
    >>> print(Schema.new_builder().column("id", DataTypes.INT(False)).primary_key("id").build())
    (
      `id` INT NOT NULL,
      CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED
    )
    """

    def __init__(
        self,
        columns: tuple[UnresolvedColumn, ...] = (),
        watermarks: tuple[UnresolvedWatermark, ...] = (),
        primary_key: UnresolvedPrimaryKey | None = None,
    ) -> None:
        self.columns = columns
        self.watermarks = watermarks
        self.primary_key = primary_key

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Begin a schema."""
        return Schema.Builder()

    def _parts(self) -> tuple[object, ...]:
        return self.columns, self.watermarks, self.primary_key

    def __str__(self) -> str:
        key = [] if self.primary_key is None else [self.primary_key]
        return "(\n" + ",\n".join(f"  {part}" for part in [*self.columns, *self.watermarks, *key]) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    class Builder:
        """Puts a schema together, column by column."""

        def __init__(self) -> None:
            self._columns: list[UnresolvedColumn] = []
            self._watermarks: list[UnresolvedWatermark] = []
            self._primary_key: UnresolvedPrimaryKey | None = None

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Take over all of another schema."""
            self._columns += unresolved_schema.columns
            self._watermarks += unresolved_schema.watermarks
            if unresolved_schema.primary_key is not None:
                self._set_primary_key(unresolved_schema.primary_key)
            return self

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """Take over the fields of a row as physical columns."""
            if not isinstance(data_type, RowType):
                raise ConfigurationError(f"from_row_data_type() needs a ROW, got {data_type}.")
            for field in data_type.fields:
                self.column(field.name, field.data_type)
            return self

        def from_fields(self, field_names: list[str], field_data_types: list[DataType]) -> Schema.Builder:
            """Physical columns from names and types, in the same order."""
            if len(field_names) != len(field_data_types):
                raise ConfigurationError(
                    f"from_fields() needs as many types as names, got {len(field_names)} names "
                    f"and {len(field_data_types)} types."
                )
            for name, data_type in zip(field_names, field_data_types):
                self.column(name, data_type)
            return self

        def column(self, column_name: str, data_type: DeclaredType) -> Schema.Builder:
            """A physical column; its type is a DataType, or SQL's text for one."""
            self._columns.append(UnresolvedColumn(_name(column_name), _declared(data_type)))
            return self

        def column_by_expression(self, column_name: str, expr: str) -> Schema.Builder:
            """A computed column: an expression in SQL over the other columns."""
            self._columns.append(UnresolvedColumn(_name(column_name), expression=_expression(expr)))
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DeclaredType,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """A column that the connector gives beside the payload; a virtual one is not written."""
            self._columns.append(
                UnresolvedColumn(
                    _name(column_name),
                    _declared(data_type),
                    is_metadata=True,
                    metadata_key=metadata_key,
                    is_virtual=is_virtual,
                )
            )
            return self

        def with_comment(self, comment: str | None) -> Schema.Builder:
            """Give the last column a comment."""
            if not self._columns:
                raise ConfigurationError("with_comment() is of a column: declare one first.")
            last = self._columns[-1]
            self._columns[-1] = UnresolvedColumn(
                last.name,
                last.data_type,
                last.expression,
                last.is_metadata,
                last.metadata_key,
                last.is_virtual,
                comment,
            )
            return self

        def watermark(self, column_name: str, watermark_expr: str) -> Schema.Builder:
            """The column that is the event time, and the expression that gives its watermark."""
            self._watermarks.append(UnresolvedWatermark(_name(column_name), _expression(watermark_expr)))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """The columns that identify a row; the constraint gets its name from theirs."""
            return self.primary_key_named("PK_" + "_".join(column_names), *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """The columns that identify a row, and the name of the constraint."""
            if not column_names:
                raise ConfigurationError("a primary key needs at least one column.")
            self._set_primary_key(UnresolvedPrimaryKey(constraint_name, tuple(map(_name, column_names))))
            return self

        def _set_primary_key(self, key: UnresolvedPrimaryKey) -> None:
            if self._primary_key is not None:
                raise ConfigurationError(f"a schema has one primary key; it has {self._primary_key} already.")
            self._primary_key = key

        def build(self) -> Schema:
            """The schema."""
            return Schema(tuple(self._columns), tuple(self._watermarks), self._primary_key)


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"the name of a column is a text that is not empty, got {name!r}.")
    return name


def _declared(data_type: object) -> DeclaredType:
    if not isinstance(data_type, (DataType, str)):
        raise ConfigurationError(f"the type of a column is a DataType or SQL's text for one, got {data_type!r}.")
    return data_type


def _expression(expression: object) -> str:
    if not isinstance(expression, str) or not expression.strip():
        raise ConfigurationError(f"an expression of a schema is a text in SQL, got {expression!r}.")
    return expression
