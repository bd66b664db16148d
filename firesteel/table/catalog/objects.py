"""What is in a catalog: databases, tables, views, partitions, functions, models, statistics."""

from __future__ import annotations

from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.table.schema import Schema

__all__ = [
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogTableStatistics",
]

_LANGUAGES = ("JAVA", "SCALA", "PYTHON")


class _WithProperties:
    """Properties and a comment."""

    def __init__(self, properties: dict[str, str], comment: str | None = None) -> None:
        self._properties = dict(properties)
        self._comment = comment

    def get_properties(self) -> dict[str, str]:
        """The properties."""
        return dict(self._properties)

    def get_comment(self) -> str | None:
        """The comment."""
        return self._comment

    def get_description(self) -> str | None:
        """A short description: the comment."""
        return self._comment

    def get_detailed_description(self) -> str | None:
        """A long description: the comment too."""
        return self._comment


class CatalogDatabase(_WithProperties):
    """A database of a catalog."""

    @staticmethod
    def create_instance(properties: dict[str, str], comment: str | None = None) -> CatalogDatabase:
        """A database with these properties."""
        return CatalogDatabase(properties, comment)

    def copy(self) -> CatalogDatabase:
        """Another one like it."""
        return CatalogDatabase(self._properties, self._comment)


class CatalogPartition(_WithProperties):
    """A partition of a table."""

    @staticmethod
    def create_instance(properties: dict[str, str], comment: str | None = None) -> CatalogPartition:
        """A partition with these properties."""
        return CatalogPartition(properties, comment)

    def copy(self) -> CatalogPartition:
        """Another one like it."""
        return CatalogPartition(self._properties, self._comment)


class CatalogBaseTable:
    """A table or a view of a catalog: its schema, its options; of a view, its query."""

    def __init__(
        self,
        schema: Schema,
        options: dict[str, str],
        comment: str | None = None,
        partition_keys: list[str] | None = None,
        original_query: str | None = None,
        expanded_query: str | None = None,
    ) -> None:
        if not isinstance(schema, Schema):
            raise ConfigurationError(f"a table of a catalog needs a Schema, got {schema!r}.")
        self._schema = schema
        self._options = dict(options)
        self._comment = comment
        self._partition_keys = list(partition_keys or [])
        self._original_query = original_query
        self._expanded_query = expanded_query

    @staticmethod
    def create_table(
        schema: Schema,
        partition_keys: list[str] | None = None,
        properties: dict[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A table with this schema; the properties are what stands in WITH (...)."""
        return CatalogBaseTable(schema, properties or {}, comment, partition_keys)

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: Schema,
        properties: dict[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A view: its query as it was written, and with all names in full."""
        return CatalogBaseTable(
            schema, properties, comment, original_query=original_query, expanded_query=expanded_query
        )

    def get_options(self) -> dict[str, str]:
        """The options."""
        return dict(self._options)

    def get_unresolved_schema(self) -> Schema:
        """The schema as it is declared."""
        return self._schema

    def get_comment(self) -> str | None:
        """The comment."""
        return self._comment

    def get_partition_keys(self) -> list[str]:
        """The columns that the table is partitioned by."""
        return list(self._partition_keys)

    @property
    def is_view(self) -> bool:
        """Whether it is a view."""
        return self._original_query is not None

    def get_original_query(self) -> str | None:
        """The query of a view as it was written; of a table, None."""
        return self._original_query

    def get_expanded_query(self) -> str | None:
        """The query of a view with all names in full; of a table, None."""
        return self._expanded_query

    def get_description(self) -> str | None:
        """A short description: the comment."""
        return self._comment

    def get_detailed_description(self) -> str | None:
        """A long description, which only a view has: its query."""
        return self._expanded_query

    def with_options(self, options: dict[str, str]) -> CatalogBaseTable:
        """The same with other options."""
        changed = self.copy()
        vars(changed)["_options"] = dict(options)
        return changed

    def copy(self) -> CatalogBaseTable:
        """Another one like it."""
        return CatalogBaseTable(
            self._schema,
            self._options,
            self._comment,
            self._partition_keys,
            self._original_query,
            self._expanded_query,
        )


class CatalogFunction:
    """A function of a catalog: where its implementation is found."""

    def __init__(
        self, class_name: str, function_language: str = "Python", options: dict[str, str] | None = None
    ) -> None:
        if not isinstance(class_name, str) or not class_name:
            raise ConfigurationError(f"a function needs the name of its implementation, got {class_name!r}.")
        if function_language.upper() not in _LANGUAGES:
            raise ConfigurationError(f"the language of a function is Python, Java or Scala, got {function_language!r}.")
        self._class_name = class_name
        self._function_language = function_language.upper()
        self._options = dict(options or {})

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """A function whose implementation has this name; Python's is ``module.function``."""
        return CatalogFunction(class_name, function_language)

    def get_class_name(self) -> str:
        """The name of the implementation."""
        return self._class_name

    def get_function_language(self) -> str:
        """PYTHON, JAVA or SCALA."""
        return self._function_language

    def get_options(self) -> dict[str, str]:
        """The options."""
        return dict(self._options)

    def get_description(self) -> str | None:
        """What it is."""
        return "This is a user-defined function"

    def get_detailed_description(self) -> str | None:
        """What it is, again."""
        return self.get_description()

    def copy(self) -> CatalogFunction:
        """Another one like it."""
        return CatalogFunction(self._class_name, self._function_language, self._options)


class CatalogModel:
    """A model of a catalog: what goes in and what comes out, and its options."""

    def __init__(
        self, input_schema: Schema, output_schema: Schema, options: dict[str, str], comment: str | None = None
    ) -> None:
        self._input_schema = input_schema
        self._output_schema = output_schema
        self._options = dict(options)
        self._comment = comment

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: dict[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogModel:
        """A model with these schemas."""
        return CatalogModel(input_schema, output_schema, options or {}, comment)

    def get_input_schema(self) -> Schema:
        """What goes in."""
        return self._input_schema

    def get_output_schema(self) -> Schema:
        """What comes out."""
        return self._output_schema

    def get_comment(self) -> str | None:
        """The comment."""
        return self._comment

    def get_options(self) -> dict[str, str]:
        """The options."""
        return dict(self._options)

    def copy(self) -> CatalogModel:
        """Another one like it."""
        return CatalogModel(self._input_schema, self._output_schema, self._options, self._comment)


class CatalogTableStatistics:
    """How much there is in a table or a partition; -1 where nobody knows."""

    def __init__(
        self,
        row_count: int = -1,
        field_count: int = -1,
        total_size: int = -1,
        raw_data_size: int = -1,
        properties: dict[str, str] | None = None,
    ) -> None:
        self._numbers = (row_count, field_count, total_size, raw_data_size)
        self._properties = dict(properties or {})

    def get_row_count(self) -> int:
        """How many rows."""
        return self._numbers[0]

    def get_field_count(self) -> int:
        """How many files: Flink's method has this name."""
        return self._numbers[1]

    def get_total_size(self) -> int:
        """How many bytes as they are stored."""
        return self._numbers[2]

    def get_raw_data_size(self) -> int:
        """How many bytes without compression."""
        return self._numbers[3]

    def get_properties(self) -> dict[str, str]:
        """Further properties."""
        return dict(self._properties)

    def copy(self) -> CatalogTableStatistics:
        """Another one like it."""
        return CatalogTableStatistics(*self._numbers, self._properties)


class CatalogColumnStatistics:
    """What is known of the values of columns."""

    def __init__(
        self, column_statistics_data: dict[str, Any] | None = None, properties: dict[str, str] | None = None
    ) -> None:
        self._data = dict(column_statistics_data or {})
        self._properties = dict(properties or {})

    def get_column_statistics_data(self) -> dict[str, Any]:
        """By column."""
        return dict(self._data)

    def get_properties(self) -> dict[str, str]:
        """Further properties."""
        return dict(self._properties)

    def copy(self) -> CatalogColumnStatistics:
        """Another one like it."""
        return CatalogColumnStatistics(self._data, self._properties)
