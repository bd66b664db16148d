"""Tables described by the program, in the place of CREATE TABLE."""

from __future__ import annotations

from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.errors import ConfigurationError
from firesteel.table.catalog import CatalogBaseTable
from firesteel.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]


class FormatDescriptor:
    """A format and its options: ``FormatDescriptor.for_format("json").option("fail-on-missing-field", "true")``."""

    def __init__(self, format: str, options: dict[str, str]) -> None:
        self._format, self._options = format, options

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Begin the description of a format."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """The name of the format."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """Its options, without its name before them."""
        return dict(self._options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatDescriptor) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._format, tuple(self._options.items())))

    def __str__(self) -> str:
        return f"{self._format}[{self._options}]"

    class Builder:
        """Puts a description together."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: str | ConfigOption[Any], value: Any) -> FormatDescriptor.Builder:
            """Set an option."""
            self._options[key.key if isinstance(key, ConfigOption) else key] = str(value)
            return self

        def build(self) -> FormatDescriptor:
            """The description."""
            return FormatDescriptor(self._format, dict(self._options))


class TableDescriptor:
    """A table: ``TableDescriptor.for_connector("datagen").schema(schema).option("rows-per-second", "5").build()``."""

    def __init__(
        self, schema: Schema | None, options: dict[str, str], partition_keys: list[str], comment: str | None
    ) -> None:
        self._schema, self._options = schema, options
        self._partition_keys, self._comment = partition_keys, comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Begin the description of a table."""
        return TableDescriptor.Builder().option("connector", connector)

    def get_schema(self) -> Schema | None:
        """The schema."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """The options, ``connector`` among them."""
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        """The columns that the table is partitioned by."""
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        """The comment."""
        return self._comment

    def to_catalog_table(self) -> CatalogBaseTable:
        """The table as a catalog keeps it."""
        if self._schema is None:
            raise ConfigurationError("the description of a table has no schema: call schema() of its builder.")
        return CatalogBaseTable(self._schema, self._options, self._comment, self._partition_keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._schema, tuple(self._options.items())))

    def __str__(self) -> str:
        partitions = f"\nPARTITIONED BY ({', '.join(f'`{key}`' for key in self._partition_keys)})"
        options = ",\n".join(f"  '{key}' = '{value}'" for key, value in self._options.items())
        comment = f"\nCOMMENT '{self._comment or ''}'"
        return f"{self._schema or ''}{comment}{partitions if self._partition_keys else ''}\nWITH (\n{options}\n)"

    class Builder:
        """Puts a description together."""

        def __init__(self) -> None:
            self._schema: Schema | None = None
            self._options: dict[str, str] = {}
            self._partition_keys: list[str] = []
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """The columns."""
            self._schema = schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> TableDescriptor.Builder:
            """Set an option."""
            self._options[key.key if isinstance(key, ConfigOption) else key] = str(value)
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: ConfigOption[Any] | None = None
        ) -> TableDescriptor.Builder:
            """The format of what is stored; its options get its name before them."""
            key = "format" if format_option is None else format_option.key
            if isinstance(format, str):
                return self.option(key, format)
            prefix = key.removesuffix("format") + format.get_format() + "."
            for name, value in format.get_options().items():
                self.option(prefix + name, value)
            return self.option(key, format.get_format())

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """The columns that the table is partitioned by."""
            self._partition_keys += partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """A comment."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """The description."""
            return TableDescriptor(self._schema, dict(self._options), list(self._partition_keys), self._comment)
