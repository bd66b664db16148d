"""Types as they are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from firesteel.table.sql._parsing.cursor import Cursor
from firesteel.table.sql.lexer import STRING
from firesteel.table.sql.nodes.base import TypeNode
from firesteel.table.sql.nodes.types import (
    BasicType,
    CollectionType,
    Field,
    IntervalQualifier,
    MapType,
    NamedType,
    RawType,
    RowType,
    StructuredType,
)

_PLAIN = {
    "BOOLEAN": "BOOLEAN",
    "INTEGER": "INT",
    "INT": "INT",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "BIGINT": "BIGINT",
    "REAL": "REAL",
    "FLOAT": "FLOAT",
    "VARIANT": "VARIANT",
    "STRING": "STRING",
    "BYTES": "BYTES",
    "DATE": "DATE",
    "BITMAP": "BITMAP",
}
_WITH_PRECISION = {"VARBINARY": "VARBINARY", "TIMESTAMP_LTZ": "TIMESTAMP_LTZ"}
_WITH_SCALE = {"DECIMAL": "DECIMAL", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "ANY": "ANY"}

# The units of an interval, by each of their names; and what may follow TO.
UNITS = {
    word: unit
    for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    for word in (unit, unit + "S")
}
_ENDS = {"YEAR": ("MONTH",), "DAY": ("HOUR", "MINUTE", "SECOND"), "HOUR": ("MINUTE", "SECOND"), "MINUTE": ("SECOND",)}


class TypeParser(Cursor):
    """Reads types."""

    def column_type(self) -> TypeNode:
        """A type that may say whether it is nullable: of a column, a field, a key or value of a map."""
        start = self.token.pos
        found = self._type_name()
        nullable = self._nullability()
        while self.at("ARRAY", "MULTISET"):
            found = CollectionType(self.next().text, replace(found, nullable=nullable), pos=self.since(start))
            nullable = self._nullability()
        return replace(found, nullable=nullable, pos=self.since(start))

    def cast_type(self) -> TypeNode:
        """A type that does not say whether it is nullable: of a CAST or of RETURNING."""
        start = self.token.pos
        found = self._type_name()
        while self.at("ARRAY", "MULTISET"):
            found = CollectionType(self.next().text, found, pos=self.since(start))
        return replace(found, pos=self.since(start))

    def interval_qualifier(self, allow_range: bool = True) -> IntervalQualifier:
        """``DAY(2) TO SECOND(3)``."""
        start = self.token.pos
        unit = UNITS[self.one_of(*UNITS)]
        precision, fraction, end = None, None, None
        if unit == "SECOND":
            precision, fraction = self._two_numbers()
        else:
            precision = self.precision()
            ends = _ENDS.get(unit, ())
            words = [word for word, name in UNITS.items() if name in ends]
            if allow_range and words and self.at("TO") and self.is_word(self.ahead(1), *words):
                self.next()
                end = UNITS[self.next().text]
                fraction = self.precision() if end == "SECOND" else None
        return IntervalQualifier(unit, end, precision, fraction, pos=self.since(start))

    def precision(self) -> int | None:
        """``(3)``, or nothing."""
        return self.in_parentheses(self.unsigned_integer) if self.at("(") else None

    def _two_numbers(self) -> tuple[int | None, int | None]:
        if not self.accept("("):
            return None, None
        first = self.unsigned_integer()
        second = self.unsigned_integer() if self.accept(",") else None
        self.expect(")")
        return first, second

    def _nullability(self) -> bool | None:
        if self.accept("NULL"):
            return True
        return False if self.accept_sequence("NOT", "NULL") else None

    def _type_name(self) -> TypeNode:
        word = self.token.text if self.token.kind == "keyword" else ""
        special = self._special(word)
        if special is not None:
            return special()
        if self.at(*_PLAIN):
            return BasicType(_PLAIN[self.next().text])
        if self.at(*_WITH_PRECISION):
            return BasicType(_WITH_PRECISION[self.next().text], self.precision())
        if self.at(*_WITH_SCALE):
            name = _WITH_SCALE[self.next().text]
            return BasicType(name, *self._two_numbers())
        if self.is_word(self.token, "GEOMETRY"):
            raise self.error("Flink's SQL has no type GEOMETRY")
        return NamedType(self.identifier())

    def _special(self, word: str) -> Callable[[], TypeNode] | None:
        readers: dict[str, Callable[[], TypeNode]] = {
            "DOUBLE": self._double,
            "BINARY": self._binary,
            "CHAR": self._characters,
            "CHARACTER": self._characters,
            "VARCHAR": self._characters,
            "TIME": self._time,
            "TIMESTAMP": self._time,
            "ROW": self._row,
        }
        if word in ("ARRAY", "MULTISET", "MAP", "STRUCTURED") and self.is_word(self.ahead(1), "<"):
            return {"MAP": self._map, "STRUCTURED": self._structured}.get(word, self._collection)
        if word == "RAW" and self.is_word(self.ahead(1), "("):
            return self._raw
        return readers.get(word)

    def _double(self) -> TypeNode:
        self.next()
        self.accept("PRECISION")
        return BasicType("DOUBLE")

    def _binary(self) -> TypeNode:
        self.next()
        name = "VARBINARY" if self.accept("VARYING") else "BINARY"
        return BasicType(name, self.precision())

    def _characters(self) -> TypeNode:
        name = "VARCHAR" if self.next().text == "VARCHAR" else "CHAR"
        if name == "CHAR" and self.accept("VARYING"):
            name = "VARCHAR"
        precision = self.precision()
        character_set = self.name() if self.accept_sequence("CHARACTER", "SET") else None
        return BasicType(name, precision, None, character_set)

    def _time(self) -> TypeNode:
        name = self.next().text
        precision = self.precision()
        if self.accept("WITHOUT"):
            self.expect_sequence("TIME", "ZONE")
        elif self.accept("WITH"):
            self.expect_sequence("LOCAL", "TIME", "ZONE")
            name += "_LTZ"
        return BasicType(name, precision)

    def _collection(self) -> TypeNode:
        kind = self.next().text
        self.expect("<")
        start = self.token.pos
        element = self._type_name()
        element = replace(element, nullable=self._nullability(), pos=self.since(start))
        self.expect(">")
        return CollectionType(kind, element)

    def _map(self) -> TypeNode:
        self.next()
        self.expect("<")
        key = self.column_type()
        self.expect(",")
        value = self.column_type()
        self.expect(">")
        return MapType(key, value)

    def _raw(self) -> TypeNode:
        self.next()
        self.expect("(")
        class_name = self.string()
        self.expect(",")
        serializer = self.string()
        self.expect(")")
        return RawType(class_name, serializer)

    def _row(self) -> TypeNode:
        self.next()
        if self.accept("<>"):
            return RowType(())
        closing = ">" if self.expect("<", "(").text == "<" else ")"
        fields: tuple[Field, ...] = ()
        if not self.at(closing):
            fields = self.comma_separated(self._field)
        self.expect(closing)
        return RowType(fields)

    def _structured(self) -> TypeNode:
        self.next()
        self.expect("<")
        class_name = self.string()
        fields = self.comma_separated(self._field) if self.accept(",") else ()
        self.expect(">")
        return StructuredType(class_name, fields)

    def _field(self) -> Field:
        start = self.token.pos
        name = self.name()
        kind = self.column_type()
        comment = self.string() if self.at_kind(STRING) else None
        return Field(name, kind, comment, pos=self.since(start))
