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
from firesteel.table.changelog_kinds import ChangelogMode
from firesteel.table.environment_settings import EnvironmentSettings
from firesteel.table.explain_detail import ExplainDetail
from firesteel.table.expression import Expression
from firesteel.table.resolved_schema import ResolvedSchema, TableSchema
from firesteel.table.result_kind import ResultKind
from firesteel.table.schema import Schema
from firesteel.table.sql_dialect import SqlDialect
from firesteel.table.statement_set import StatementSet
from firesteel.table.table import GroupedTable, Table, TablePipeline
from firesteel.table.table_config import TableConfig
from firesteel.table.table_descriptor import FormatDescriptor, TableDescriptor
from firesteel.table.table_environment import StreamTableEnvironment, TableEnvironment
from firesteel.table.table_result import TableResult
from firesteel.table.types import DataTypes, Row, RowKind, UserDefinedType
from firesteel.table.udf import AggregateFunction, FunctionContext, ScalarFunction

__all__ = [
    "AggregateFunction",
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "ChangelogMode",
    "DataTypes",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupedTable",
    "ObjectIdentifier",
    "ObjectPath",
    "ResolvedSchema",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
]
