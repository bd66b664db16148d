"""What a catalog is: databases with tables, views, functions and models in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from firesteel.table.catalog.errors import ProcedureNotExistException
from firesteel.table.catalog.objects import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogTableStatistics,
)
from firesteel.table.catalog.paths import CatalogPartitionSpec, ObjectPath

__all__ = ["Catalog"]


class Catalog(ABC):
    """Databases, and what is in them. Errors are those of :mod:`firesteel.table.catalog`, with Flink's names.

    A method with ``ignore_if_exists`` or ``ignore_if_not_exists`` does nothing instead of raising when that is true.
    """

    @abstractmethod
    def get_default_database(self) -> str:
        """The database that is meant where none is named."""

    @abstractmethod
    def list_databases(self) -> list[str]:
        """The names of all databases."""

    @abstractmethod
    def get_database(self, database_name: str) -> CatalogDatabase:
        """A database by its name."""

    @abstractmethod
    def database_exists(self, database_name: str) -> bool:
        """Whether there is a database of this name."""

    @abstractmethod
    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Add a database."""

    @abstractmethod
    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Remove a database that has nothing in it; `ignore_if_exists` is Flink's name for "if it is not there"."""

    @abstractmethod
    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        """Replace what is known of a database."""

    @abstractmethod
    def list_tables(self, database_name: str) -> list[str]:
        """The names of all tables and views of a database."""

    @abstractmethod
    def list_views(self, database_name: str) -> list[str]:
        """The names of all views of a database."""

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """The names of all materialized tables of a database; a catalog that can keep none has none."""
        self.get_database(database_name)
        return []

    @abstractmethod
    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """A table or view by its path."""

    @abstractmethod
    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether there is a table or view at this path."""

    @abstractmethod
    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        """Add a table or view."""

    @abstractmethod
    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a table or view."""

    @abstractmethod
    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Give a table or view another name in its database."""

    @abstractmethod
    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        """Replace a table by a table, or a view by a view."""

    @abstractmethod
    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """The partitions of a table, or those of them that have the given values."""

    @abstractmethod
    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        """A partition of a table."""

    @abstractmethod
    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        """Whether a table has this partition."""

    @abstractmethod
    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Add a partition to a table."""

    @abstractmethod
    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        """Remove a partition of a table."""

    @abstractmethod
    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace what is known of a partition."""

    @abstractmethod
    def list_functions(self, database_name: str) -> list[str]:
        """The names of all functions of a database, in lower case."""

    @abstractmethod
    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """A function by its path; functions have no upper and lower case."""

    @abstractmethod
    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether there is a function at this path."""

    @abstractmethod
    def create_function(self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool) -> None:
        """Add a function."""

    @abstractmethod
    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Replace a function."""

    @abstractmethod
    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a function."""

    def list_procedures(self, database_name: str) -> list[str]:
        """The names of all procedures of a database; a catalog brings them along, nobody adds any."""
        self.get_database(database_name)
        return []

    def get_procedure(self, procedure_path: ObjectPath) -> Any:
        """A procedure by its path."""
        raise ProcedureNotExistException(f"Procedure {procedure_path} does not exist.")

    @abstractmethod
    def list_models(self, database_name: str) -> list[str]:
        """The names of all models of a database."""

    @abstractmethod
    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """A model by its path."""

    @abstractmethod
    def model_exists(self, model_path: ObjectPath) -> bool:
        """Whether there is a model at this path."""

    @abstractmethod
    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        """Add a model."""

    @abstractmethod
    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a model."""

    @abstractmethod
    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        """Give a model another name in its database."""

    @abstractmethod
    def alter_model(self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool) -> None:
        """Replace a model."""

    @abstractmethod
    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """How much there is in a table."""

    @abstractmethod
    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """What is known of the values of a table's columns."""

    @abstractmethod
    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """How much there is in a partition."""

    @abstractmethod
    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """What is known of the values of a partition's columns."""

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """How much there is in each of some partitions."""
        return [self.get_partition_statistics(table_path, spec) for spec in partition_specs]

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """What is known of the columns of each of some partitions."""
        return [self.get_partition_column_statistics(table_path, spec) for spec in partition_specs]

    @abstractmethod
    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Say how much there is in a table."""

    @abstractmethod
    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Say what is known of a table's columns."""

    @abstractmethod
    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say how much there is in a partition."""

    @abstractmethod
    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say what is known of a partition's columns."""
