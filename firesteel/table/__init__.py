"""Tables and SQL, with PyFlink's names."""

from firesteel.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    ObjectIdentifier,
    ObjectPath,
)
from firesteel.table.expression import Expression
from firesteel.table.schema import Schema
from firesteel.table.types import DataTypes, Row, RowKind, UserDefinedType

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "DataTypes",
    "Expression",
    "ObjectIdentifier",
    "ObjectPath",
    "Row",
    "RowKind",
    "Schema",
    "UserDefinedType",
]
