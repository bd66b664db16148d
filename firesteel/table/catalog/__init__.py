"""Catalogs: databases with tables, views, functions and models in them, with PyFlink's names."""

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
    ProcedureNotExistException,
    TableAlreadyExistException,
    TableNotExistException,
    TableNotPartitionedException,
)
from firesteel.table.catalog.in_memory import GenericInMemoryCatalog
from firesteel.table.catalog.objects import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogTableStatistics,
)
from firesteel.table.catalog.paths import CatalogPartitionSpec, ObjectIdentifier, ObjectPath

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogException",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "GenericInMemoryCatalog",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "ObjectIdentifier",
    "ObjectPath",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "ProcedureNotExistException",
    "TableAlreadyExistException",
    "TableNotExistException",
    "TableNotPartitionedException",
]
