"""Connectors of tables: what ``'connector' = '...'`` in CREATE TABLE means."""

from firesteel.table.connectors.base import TableContext, TableFactory, TableSink, TableSource
from firesteel.table.connectors.registry import find_factory

__all__ = ["TableContext", "TableFactory", "TableSink", "TableSource", "find_factory"]
