"""Queries with their meaning: all names found, all types known, as a plan of relations."""

from firesteel.table.logical.catalogs import CatalogTables, schema_fields
from firesteel.table.logical.errors import QueryError
from firesteel.table.logical.plan import Relation
from firesteel.table.logical.queries import resolve_query
from firesteel.table.logical.sources import Tables

__all__ = ["CatalogTables", "QueryError", "Relation", "Tables", "resolve_query", "schema_fields"]
