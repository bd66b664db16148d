"""Types that are made of other types, and those whose values only their owner understands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.table.types.base import AtomicType, DataType

__all__ = [
    "ArrayType",
    "ListViewType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "RawType",
    "RowField",
    "RowType",
    "StructuredType",
    "UserDefinedType",
]


def _data_type(what: str, value: Any) -> DataType:
    if not isinstance(value, DataType):
        raise ConfigurationError(f"{what} must be a DataType, got {value!r}. For instance DataTypes.INT().")
    return value


class ArrayType(DataType):
    """Lists whose elements are of one type: SQL's ARRAY<t>."""

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = _data_type("the element type of an ARRAY", element_type)

    def text(self) -> str:
        """``ARRAY`` and the type of the elements."""
        return f"ARRAY<{self.element_type}>"

    def serializable(self) -> str:
        """As a catalog stores it."""
        return _with_null(self, f"ARRAY<{self.element_type.serializable()}>")

    def parameters(self) -> tuple[Any, ...]:
        """The type of the elements."""
        return (self.element_type,)


class MultisetType(DataType):
    """Bags: each element with how often it is there. SQL's MULTISET<t>."""

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = _data_type("the element type of a MULTISET", element_type)

    def text(self) -> str:
        """``MULTISET`` and the type of the elements."""
        return f"MULTISET<{self.element_type}>"

    def serializable(self) -> str:
        """As a catalog stores it."""
        return _with_null(self, f"MULTISET<{self.element_type.serializable()}>")

    def parameters(self) -> tuple[Any, ...]:
        """The type of the elements."""
        return (self.element_type,)


class MapType(DataType):
    """Values found by keys: SQL's MAP<k, v>."""

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = _data_type("the key type of a MAP", key_type)
        self.value_type = _data_type("the value type of a MAP", value_type)

    def text(self) -> str:
        """``MAP`` and the types of keys and values."""
        return f"MAP<{self.key_type}, {self.value_type}>"

    def serializable(self) -> str:
        """As a catalog stores it."""
        return _with_null(self, f"MAP<{self.key_type.serializable()}, {self.value_type.serializable()}>")

    def parameters(self) -> tuple[Any, ...]:
        """The types of keys and values."""
        return (self.key_type, self.value_type)


def _with_null(data_type: DataType, text: str) -> str:
    return text if data_type.is_nullable else f"{text} NOT NULL"


class ListViewType(DataType):
    """A list of any length that lives in state: for fields of an accumulator only."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__(False)
        self.element_type = _data_type("the element type of a LIST_VIEW", element_type)

    def parameters(self) -> tuple[Any, ...]:
        """The type of the elements."""
        return (self.element_type,)


class MapViewType(DataType):
    """A map of any size that lives in state: for fields of an accumulator only."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(False)
        self.key_type = _data_type("the key type of a MAP_VIEW", key_type)
        self.value_type = _data_type("the value type of a MAP_VIEW", value_type)

    def parameters(self) -> tuple[Any, ...]:
        """The types of keys and values."""
        return (self.key_type, self.value_type)


class RowField:
    """A field of a :class:`RowType`: name, type and, if there is one, a description."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        if not isinstance(name, str):
            raise ConfigurationError(f"the name of a field must be a string, got {name!r}.")
        self.name = name
        self.data_type = _data_type(f"the type of field {name!r}", data_type)
        self.description = "..." if description is None else description

    def text(self) -> str:
        """The field as SQL writes it inside ROW<...>."""
        comment = "" if self.description == "..." else " '{}'".format(self.description.replace("'", "''"))
        return f"{_quoted(self.name)} {self.data_type}{comment}"

    def __str__(self) -> str:
        return f"RowField({self.name}, {self.data_type})"

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def _all(self) -> tuple[Any, ...]:
        return (self.name, self.data_type, self.description)


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


class RowType(DataType):
    """Rows of named fields: SQL's ROW<a INT, ...>, and the type of a table's rows.

    ::

        >>> from firesteel.table import DataTypes
        >>> row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())])
        >>> str(row), row.field_names(), str(row["a"].data_type)
        ('ROW<`a` INT, `b` STRING>', ['a', 'b'], 'INT')
    """

    def __init__(self, fields: list[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields: list[RowField] = list(fields or [])
        for field in self.fields:
            if not isinstance(field, RowField):
                raise ConfigurationError(f"a field of a ROW is a RowField, got {field!r}. Use DataTypes.FIELD(...).")
        self.names = [field.name for field in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Add a field, given as such or by name and type; returns the type itself, for further calls."""
        if not isinstance(field, RowField):
            if data_type is None:
                raise ConfigurationError(
                    f"add({field!r}) needs the type of the field: add({field!r}, DataTypes.INT())."
                )
            field = RowField(field, data_type)
        self.fields.append(field)
        self.names.append(field.name)
        return self

    def field_names(self) -> list[str]:
        """The names of the fields, in order."""
        return list(self.names)

    def field_types(self) -> list[DataType]:
        """The types of the fields, in order."""
        return [field.data_type for field in self.fields]

    def text(self) -> str:
        """``ROW`` and its fields."""
        return f"ROW<{', '.join(field.text() for field in self.fields)}>"

    def serializable(self) -> str:
        """As a catalog stores it."""
        fields = (f"{_quoted(field.name)} {field.data_type.serializable()}" for field in self.fields)
        return _with_null(self, f"ROW<{', '.join(fields)}>")

    def parameters(self) -> tuple[Any, ...]:
        """The fields."""
        return tuple(self.fields)

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            for field in self.fields:
                if field.name == key:
                    return field
            raise KeyError(f"no field {key!r} in {self}")
        if isinstance(key, slice):
            return RowType(self.fields[key])
        return self.fields[key]


class StructuredType(DataType):
    """Objects of a class with named attributes: SQL's STRUCTURED<'class', a INT, ...>.

    Their values are rows of the attributes; `class_name` says what they stand for, and keeps types apart that have
    the same attributes.
    """

    def __init__(self, class_name: str, fields: list[RowField], nullable: bool = True) -> None:
        super().__init__(nullable)
        self.class_name = class_name
        self.row_type = RowType(fields)

    @property
    def fields(self) -> list[RowField]:
        """The attributes, in order."""
        return self.row_type.fields

    def field_names(self) -> list[str]:
        """The names of the attributes, in order."""
        return self.row_type.field_names()

    def field_types(self) -> list[DataType]:
        """The types of the attributes, in order."""
        return self.row_type.field_types()

    def text(self) -> str:
        """``STRUCTURED``, the class and the attributes."""
        return f"STRUCTURED<'{self.class_name}', {', '.join(field.text() for field in self.fields)}>"

    def parameters(self) -> tuple[Any, ...]:
        """Class name and attributes."""
        return (self.class_name, *self.fields)


class RawType(AtomicType):
    """Objects that only the functions which made them understand; they travel pickled."""

    def __init__(self, class_name: str = "object", nullable: bool = True) -> None:
        super().__init__(nullable)
        self.class_name = class_name

    def text(self) -> str:
        """``RAW`` and the class of the objects."""
        return f"RAW('{self.class_name}', '...')"

    def parameters(self) -> tuple[Any, ...]:
        """The class of the objects."""
        return (self.class_name,)


class UserDefinedType(DataType):
    """A class of the user's that is stored as a value of another type.

    A subclass says which type (:meth:`sql_type`), and how an object becomes such a value and comes back
    (:meth:`serialize`, :meth:`deserialize`).
    """

    @classmethod
    def type_name(cls) -> str:
        """The name of the class, in small letters."""
        return cls.__name__.lower()

    @classmethod
    def sql_type(cls) -> DataType:
        """The type that stores the objects."""
        raise NotImplementedError(f"{cls.__name__} has to say as which type its objects are stored: sql_type().")

    @classmethod
    def module(cls) -> str:
        """The module in which the type is defined."""
        return cls.__module__

    @classmethod
    def java_udt(cls) -> str:
        """The Java class that corresponds to it: none, so it is empty."""
        return ""

    def serialize(self, obj: Any) -> Any:
        """An object as a value of :meth:`sql_type`."""
        raise NotImplementedError(f"{type(self).__name__} has to say how an object is stored: serialize(obj).")

    def deserialize(self, datum: Any) -> Any:
        """The object that was stored as `datum`."""
        raise NotImplementedError(f"{type(self).__name__} has to say how an object comes back: deserialize(datum).")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))
