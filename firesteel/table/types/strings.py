"""Texts and bytes: fixed length, bounded length, any length."""

from __future__ import annotations

from typing import Any

from firesteel.table.types.base import MAX_LENGTH, AtomicType, between

__all__ = ["BinaryType", "CharType", "LengthType", "VarBinaryType", "VarCharType"]


class LengthType(AtomicType):
    """A type with a length. Literals have lengths of their own, so an empty one is of length 0."""

    unbounded_name: str | None = None

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = between(f"the length of {self.type_name()}", length, 0, MAX_LENGTH)

    def text(self) -> str:
        """The name and the length; STRING and BYTES for the greatest one."""
        if self.unbounded_name and self.length == MAX_LENGTH:
            return self.unbounded_name
        return f"{self.type_name()}({self.length})"

    def serializable(self) -> str:
        """The name and the length, always."""
        return f"{self.type_name()}({self.length})" + ("" if self.is_nullable else " NOT NULL")

    def parameters(self) -> tuple[Any, ...]:
        """The length."""
        return (self.length,)


class CharType(LengthType):
    """Texts of exactly `length` code points: SQL's CHAR(n)."""


class VarCharType(LengthType):
    """Texts of at most `length` code points: SQL's VARCHAR(n), and STRING for the greatest n."""

    unbounded_name = "STRING"


class BinaryType(LengthType):
    """Exactly `length` bytes: SQL's BINARY(n)."""


class VarBinaryType(LengthType):
    """At most `length` bytes: SQL's VARBINARY(n), and BYTES for the greatest n."""

    unbounded_name = "BYTES"
