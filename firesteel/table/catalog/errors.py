"""What catalogs complain about, with Flink's names."""

from __future__ import annotations

from firesteel.errors import ProgramError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "ProcedureNotExistException",
    "TableAlreadyExistException",
    "TableNotExistException",
    "TableNotPartitionedException",
]


class CatalogException(ProgramError):
    """Something about a catalog is wrong; the others are kinds of it."""


class DatabaseNotExistException(CatalogException):
    """There is no database of this name."""


class DatabaseAlreadyExistException(CatalogException):
    """There is a database of this name already."""


class DatabaseNotEmptyException(CatalogException):
    """A database that is to be dropped has something in it."""


class TableNotExistException(CatalogException):
    """There is no table or view of this name."""


class TableAlreadyExistException(CatalogException):
    """There is a table or view of this name already."""


class TableNotPartitionedException(CatalogException):
    """The table has no partitions."""


class PartitionNotExistException(CatalogException):
    """The table has no such partition."""


class PartitionAlreadyExistsException(CatalogException):
    """The table has this partition already."""


class PartitionSpecInvalidException(CatalogException):
    """A partition is described by other columns than those that the table is partitioned by."""


class FunctionNotExistException(CatalogException):
    """There is no function of this name."""


class FunctionAlreadyExistException(CatalogException):
    """There is a function of this name already."""


class ModelNotExistException(CatalogException):
    """There is no model of this name."""


class ModelAlreadyExistException(CatalogException):
    """There is a model of this name already."""


class ProcedureNotExistException(CatalogException):
    """There is no procedure of this name."""
