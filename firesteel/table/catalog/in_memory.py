"""A catalog that lives as long as the program."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.errors import ConfigurationError
from firesteel.table.catalog.base import Catalog
from firesteel.table.catalog.errors import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    ModelAlreadyExistException,
    ModelNotExistException,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    PartitionSpecInvalidException,
    TableAlreadyExistException,
    TableNotExistException,
    TableNotPartitionedException,
)
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

__all__ = ["GenericInMemoryCatalog"]


@dataclass
class _Statistics:
    """What is known of the data of a table or a partition."""

    of_table: CatalogTableStatistics = field(default_factory=CatalogTableStatistics)
    of_columns: CatalogColumnStatistics = field(default_factory=CatalogColumnStatistics)


@dataclass
class _Partition:
    partition: CatalogPartition
    statistics: _Statistics = field(default_factory=_Statistics)


@dataclass
class _Table:
    table: CatalogBaseTable
    partitions: dict[CatalogPartitionSpec, _Partition] = field(default_factory=dict)
    statistics: _Statistics = field(default_factory=_Statistics)


@dataclass
class _Database:
    database: CatalogDatabase
    tables: dict[str, _Table] = field(default_factory=dict)
    functions: dict[str, CatalogFunction] = field(default_factory=dict)
    models: dict[str, CatalogModel] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.tables or self.functions or self.models)


class GenericInMemoryCatalog(Catalog):
    """A catalog that lives as long as the program; it begins with one database, ``default`` unless told otherwise."""

    def __init__(self, name: str, default_database: str = "default") -> None:
        if not name or not default_database:
            raise ConfigurationError("a catalog and its default database need names.")
        self.name = name
        self._default_database = default_database
        self._databases = {default_database: _Database(CatalogDatabase({}))}

    # --- databases ---

    def get_default_database(self) -> str:
        return self._default_database

    def list_databases(self) -> list[str]:
        return list(self._databases)

    def get_database(self, database_name: str) -> CatalogDatabase:
        return self._database(database_name).database

    def database_exists(self, database_name: str) -> bool:
        return database_name in self._databases

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if name not in self._databases:
            self._databases[name] = _Database(database.copy())
        elif not ignore_if_exists:
            raise DatabaseAlreadyExistException(f"Database {name} already exists in Catalog {self.name}.")

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        """Remove a database; one with something in it only with `cascade`."""
        if name not in self._databases and ignore_if_exists:
            return
        if not self._database(name).is_empty and not cascade:
            raise DatabaseNotEmptyException(f"Database {name} in catalog {self.name} is not empty.")
        del self._databases[name]

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        if name in self._databases or not ignore_if_not_exists:
            self._database(name).database = new_database.copy()

    def _database(self, name: str) -> _Database:
        if name not in self._databases:
            raise DatabaseNotExistException(f"Database {name} does not exist in Catalog {self.name}.")
        return self._databases[name]

    # --- tables and views ---

    def list_tables(self, database_name: str) -> list[str]:
        return list(self._database(database_name).tables)

    def list_views(self, database_name: str) -> list[str]:
        tables = self._database(database_name).tables
        return [name for name, entry in tables.items() if entry.table.is_view]

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        return self._table(table_path).table.copy()

    def table_exists(self, table_path: ObjectPath) -> bool:
        database = self._databases.get(table_path.get_database_name())
        return database is not None and table_path.get_object_name() in database.tables

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        tables = self._database(table_path.get_database_name()).tables
        if not self.table_exists(table_path):
            tables[table_path.get_object_name()] = _Table(table.copy())
        elif not ignore_if_exists:
            raise self._table_already_exists(table_path)

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self.table_exists(table_path) or not ignore_if_not_exists:
            self._table(table_path)
            del self._database(table_path.get_database_name()).tables[table_path.get_object_name()]

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        if not self.table_exists(table_path) and ignore_if_not_exists:
            return
        entry = self._table(table_path)
        new_path = ObjectPath(table_path.get_database_name(), new_table_name)
        if self.table_exists(new_path):
            raise self._table_already_exists(new_path)
        tables = self._database(table_path.get_database_name()).tables
        del tables[table_path.get_object_name()]
        tables[new_table_name] = entry

    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        if not self.table_exists(table_path) and ignore_if_not_exists:
            return
        entry = self._table(table_path)
        if entry.table.is_view != new_table.is_view:
            kinds = {True: "VIEW", False: "TABLE"}
            raise CatalogException(
                f"Table types don't match. Existing table is '{kinds[entry.table.is_view]}' "
                f"and new table is '{kinds[new_table.is_view]}'."
            )
        entry.table = new_table.copy()

    def _table(self, path: ObjectPath) -> _Table:
        if not self.table_exists(path):
            raise TableNotExistException(f"Table (or view) {path} does not exist in Catalog {self.name}.")
        return self._databases[path.get_database_name()].tables[path.get_object_name()]

    def _table_already_exists(self, path: ObjectPath) -> TableAlreadyExistException:
        return TableAlreadyExistException(f"Table (or view) {path} already exists in Catalog {self.name}.")

    # --- partitions ---

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        partitions = self._partitioned(table_path).partitions
        return [spec for spec in partitions if wanted.items() <= spec.get_partition_spec().items()]

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        return self._partition(table_path, partition_spec).partition.copy()

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        return self.table_exists(table_path) and partition_spec in self._table(table_path).partitions

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        entry = self._partitioned(table_path)
        keys = entry.table.get_partition_keys()
        if set(partition_spec.get_partition_spec()) != set(keys):
            raise PartitionSpecInvalidException(
                f"PartitionSpec {partition_spec} does not match partition keys [{', '.join(keys)}] "
                f"of table {table_path} in catalog {self.name}."
            )
        if partition_spec not in entry.partitions:
            entry.partitions[partition_spec] = _Partition(partition.copy())
        elif not ignore_if_exists:
            raise PartitionAlreadyExistsException(
                f"Partition {partition_spec} of table {table_path} in catalog {self.name} already exists."
            )

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        if self.partition_exists(table_path, partition_spec) or not ignore_if_not_exists:
            self._partition(table_path, partition_spec)
            del self._table(table_path).partitions[partition_spec]

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        if self.partition_exists(table_path, partition_spec) or not ignore_if_not_exists:
            self._partition(table_path, partition_spec).partition = new_partition.copy()

    def _partitioned(self, path: ObjectPath) -> _Table:
        entry = self._table(path)
        if not entry.table.get_partition_keys():
            raise TableNotPartitionedException(f"Table {path} in catalog {self.name} is not partitioned.")
        return entry

    def _partition(self, path: ObjectPath, spec: CatalogPartitionSpec) -> _Partition:
        if not self.partition_exists(path, spec):
            raise PartitionNotExistException(f"Partition {spec} of table {path} in catalog {self.name} does not exist.")
        return self._table(path).partitions[spec]

    # --- functions ---

    def list_functions(self, database_name: str) -> list[str]:
        return list(self._database(database_name).functions)

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        if not self.function_exists(function_path):
            raise FunctionNotExistException(f"Function {function_path} does not exist in Catalog {self.name}.")
        return self._functions(function_path)[_function_name(function_path)].copy()

    def function_exists(self, function_path: ObjectPath) -> bool:
        known = function_path.get_database_name() in self._databases
        return known and _function_name(function_path) in self._functions(function_path)

    def create_function(self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool) -> None:
        functions = self._functions(function_path)
        if not self.function_exists(function_path):
            functions[_function_name(function_path)] = function.copy()
        elif not ignore_if_exists:
            raise FunctionAlreadyExistException(f"Function {function_path} already exists in Catalog {self.name}.")

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        if self.function_exists(function_path) or not ignore_if_not_exists:
            self.get_function(function_path)
            self._functions(function_path)[_function_name(function_path)] = new_function.copy()

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self.function_exists(function_path) or not ignore_if_not_exists:
            self.get_function(function_path)
            del self._functions(function_path)[_function_name(function_path)]

    def _functions(self, path: ObjectPath) -> dict[str, CatalogFunction]:
        return self._database(path.get_database_name()).functions

    # --- models ---

    def list_models(self, database_name: str) -> list[str]:
        return list(self._database(database_name).models)

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        if not self.model_exists(model_path):
            raise ModelNotExistException(f"Model {model_path} does not exist in Catalog {self.name}.")
        return self._models(model_path)[model_path.get_object_name()].copy()

    def model_exists(self, model_path: ObjectPath) -> bool:
        known = model_path.get_database_name() in self._databases
        return known and model_path.get_object_name() in self._models(model_path)

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        models = self._models(model_path)
        if not self.model_exists(model_path):
            models[model_path.get_object_name()] = model.copy()
        elif not ignore_if_exists:
            raise self._model_already_exists(model_path)

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self.model_exists(model_path) or not ignore_if_not_exists:
            self.get_model(model_path)
            del self._models(model_path)[model_path.get_object_name()]

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        if not self.model_exists(model_path) and ignore_if_not_exists:
            return
        model = self.get_model(model_path)
        new_path = ObjectPath(model_path.get_database_name(), new_model_name)
        if self.model_exists(new_path):
            raise self._model_already_exists(new_path)
        del self._models(model_path)[model_path.get_object_name()]
        self._models(model_path)[new_model_name] = model

    def alter_model(self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool) -> None:
        if self.model_exists(model_path) or not ignore_if_not_exists:
            self.get_model(model_path)
            self._models(model_path)[model_path.get_object_name()] = new_model.copy()

    def _models(self, path: ObjectPath) -> dict[str, CatalogModel]:
        return self._database(path.get_database_name()).models

    def _model_already_exists(self, path: ObjectPath) -> ModelAlreadyExistException:
        return ModelAlreadyExistException(f"Model {path} already exists in Catalog {self.name}.")

    # --- statistics ---

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        return self._table(table_path).statistics.of_table.copy()

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        return self._table(table_path).statistics.of_columns.copy()

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        return self._partition(table_path, partition_spec).statistics.of_table.copy()

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        return self._partition(table_path, partition_spec).statistics.of_columns.copy()

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        if self.table_exists(table_path) or not ignore_if_not_exists:
            self._table(table_path).statistics.of_table = table_statistics.copy()

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        if self.table_exists(table_path) or not ignore_if_not_exists:
            self._table(table_path).statistics.of_columns = column_statistics.copy()

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self.partition_exists(table_path, partition_spec) or not ignore_if_not_exists:
            self._partition(table_path, partition_spec).statistics.of_table = partition_statistics.copy()

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self.partition_exists(table_path, partition_spec) or not ignore_if_not_exists:
            self._partition(table_path, partition_spec).statistics.of_columns = column_statistics.copy()


def _function_name(path: ObjectPath) -> str:
    return path.get_object_name().lower()
