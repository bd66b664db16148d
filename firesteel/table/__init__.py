"""Tables and SQL, with PyFlink's names."""

from firesteel.table.types import DataTypes, Row, RowKind, UserDefinedType

__all__ = ["DataTypes", "Row", "RowKind", "UserDefinedType"]
