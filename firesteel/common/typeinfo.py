"""Declared types: what a value may be, said once and checked where it matters.

Records flow without declared types. A declared type is used where a value leaves Python objects (DataFrames,
formatted output) and where a state descriptor promises one: :meth:`TypeInformation.check` then says why a
value does not fit. :func:`firesteel.common.type_extraction.extract_type` finds the type of a class or a
value.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from firesteel.common.time import Instant
from firesteel.common.tuples import MAX_TUPLE_ARITY
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError

__all__ = ["TypeInformation", "Types"]


class Mismatch(NamedTuple):
    """Why a value does not fit a type, and at which place inside the value ('' for the value itself)."""

    path: str
    reason: str

    def inside(self, place: str) -> Mismatch:
        """The same mismatch, seen from the value that holds the wrong one at `place`."""
        if not self.path:
            return Mismatch(place, self.reason)
        joint = "" if self.path.startswith("[") else "."
        return Mismatch(f"{place}{joint}{self.path}", self.reason)


class TypeInformation(ABC):
    """The declared type of a value. Instances are immutable, comparable and hashable."""

    @abstractmethod
    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""

    @abstractmethod
    def _identity(self) -> tuple[Any, ...]:
        """What makes two types of one class equal."""

    def check(self, value: Any) -> str | None:
        """Why `value` does not fit this type, naming the place inside it, or None if it fits.

        ::

            >>> Types.TUPLE([Types.LONG(), Types.LONG()]).check((1, "two"))
            "f1: expected Long, got 'two' (str)"
        """
        mismatch = self.find_mismatch(value)
        if mismatch is None:
            return None
        return f"{mismatch.path}: {mismatch.reason}" if mismatch.path else mismatch.reason

    def ensure(self, value: Any, where: str) -> None:
        """Raise TypeMismatchError if `value` does not fit; `where` names what holds the value."""
        reason = self.check(value)
        if reason is not None:
            raise TypeMismatchError(
                f"{where} is declared as {self}: {reason}. Pass a fitting value or declare another type."
            )

    @staticmethod
    def of(type_or_value: Any) -> TypeInformation:
        """The type of a class, of a type hint such as ``tuple[int, str]``, or of a value."""
        # Extraction builds the types of this module, so it can only be imported once they exist.
        from firesteel.common.type_extraction import extract_type

        return extract_type(type_or_value)

    def _unfit(self, value: Any) -> Mismatch:
        shown = repr(value)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        return Mismatch("", f"expected {self}, got {shown} ({type(value).__name__})")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((type(self), self._identity()))


class BasicType(Enum):
    """The basic types, with the names by which they print."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _whole_of_bits(bits: int) -> Callable[[Any], bool]:
    limit = 2 ** (bits - 1)
    return lambda value: _is_whole(value) and -limit <= value < limit


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


_MAX_FLOAT = 3.4028235677973366e38  # where rounding to 32 bits overflows


def _is_float(value: Any) -> bool:
    return _is_real(value) and not _MAX_FLOAT <= abs(value) < float("inf")


_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}
_USUAL_CLASSES: dict[BasicType, type] = {
    **dict.fromkeys((*_BITS, BasicType.BIG_INT), int),
    BasicType.STRING: str,
    BasicType.BOOLEAN: bool,
    BasicType.DOUBLE: float,
    BasicType.BIG_DEC: decimal.Decimal,
}
_FITS_BASIC: dict[BasicType, Callable[[Any], bool]] = {
    BasicType.STRING: lambda value: isinstance(value, str),
    **{basic_type: _whole_of_bits(bits) for basic_type, bits in _BITS.items()},
    BasicType.BOOLEAN: lambda value: isinstance(value, bool),
    BasicType.FLOAT: _is_float,
    BasicType.DOUBLE: _is_real,
    BasicType.CHAR: lambda value: isinstance(value, str) and len(value) == 1,
    BasicType.BIG_INT: _is_whole,
    BasicType.BIG_DEC: lambda value: isinstance(value, decimal.Decimal),
    BasicType.INSTANT: lambda value: isinstance(value, Instant),
}


class BasicTypeInfo(TypeInformation):
    """A string, number, truth value or instant. Whole numbers must lie in the range of their type."""

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = basic_type
        self._fits = _FITS_BASIC[basic_type]

    @property
    def basic_type(self) -> BasicType:
        """Which of the basic types it is."""
        return self._basic_type

    @property
    def usual_class(self) -> type | None:
        """A class whose instances all fit, those of whole numbers only within :attr:`bounds`; None if there is none.

        For hot loops: looking at the class is much quicker than a check. Other values may fit too.
        """
        return _USUAL_CLASSES.get(self._basic_type)

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The smallest whole number that fits and the first one that is too large; None if there are no bounds."""
        bits = _BITS.get(self._basic_type)
        return None if bits is None else (-(2 ** (bits - 1)), 2 ** (bits - 1))

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        return None if self._fits(value) else self._unfit(value)

    def _identity(self) -> tuple[Any, ...]:
        return (self._basic_type,)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._basic_type,)

    def __repr__(self) -> str:
        return self._basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """Text."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """A truth value."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """A whole number of 8 bits."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """A whole number of 16 bits."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """A whole number of 32 bits."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """A whole number of 64 bits."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """A number in the range of a 32-bit float."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """A 64-bit float, which is Python's float."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """Text of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """A whole number of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """A :class:`decimal.Decimal`."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        """A point in time, an :class:`~firesteel.common.time.Instant`."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """A point in time, an :class:`~firesteel.common.time.Instant`."""

    def __init__(self, basic_type: BasicType = BasicType.INSTANT) -> None:
        super().__init__(basic_type)


class _PlainTypeInfo(TypeInformation):
    """A type without parameters."""

    _name: str

    def _identity(self) -> tuple[Any, ...]:
        return ()

    def __repr__(self) -> str:
        return self._name


class SqlTimeTypeInfo(_PlainTypeInfo):
    """The three SQL types of dates and times."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """A day."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """A time of day."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """A day with a time of day."""
        return TimestampTypeInfo()


class DateTypeInfo(SqlTimeTypeInfo):
    """A day, a :class:`datetime.date`."""

    _name = "DateTypeInfo"

    def __init__(self) -> None:
        super().__init__()

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        fits = isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
        return None if fits else self._unfit(value)


class TimeTypeInfo(SqlTimeTypeInfo):
    """A time of day, a :class:`datetime.time`."""

    _name = "TimeTypeInfo"

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        return None if isinstance(value, datetime.time) else self._unfit(value)


class TimestampTypeInfo(SqlTimeTypeInfo):
    """A day with a time of day, a :class:`datetime.datetime`."""

    _name = "TimestampTypeInfo"

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        return None if isinstance(value, datetime.datetime) else self._unfit(value)


class LocalTimeTypeInfo(TypeInformation):
    """A date or time without a time zone."""

    class TimeType(Enum):
        """Which part of date and time the type holds."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: TimeType) -> None:
        self._time_type = time_type

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        kind = LocalTimeTypeInfo.TimeType
        same = {kind.LOCAL_DATE: DateTypeInfo(), kind.LOCAL_TIME: TimeTypeInfo()}
        if same.get(self._time_type, TimestampTypeInfo()).find_mismatch(value) is not None:
            return self._unfit(value)
        return None if getattr(value, "tzinfo", None) is None else self._unfit(value)

    def _identity(self) -> tuple[Any, ...]:
        return (self._time_type,)

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo({self._time_type.name})"


class PickledBytesTypeInfo(_PlainTypeInfo):
    """Any picklable value: the type of whatever has no narrower declared type."""

    _name = "PickledByteArrayTypeInfo"

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type: anything fits, so the answer is None."""
        return None


def _check_elements(values: Iterable[Any], element: TypeInformation, nullable: bool) -> Mismatch | None:
    for position, value in enumerate(values):
        if value is None and nullable:
            continue
        mismatch = element.find_mismatch(value)
        if mismatch is not None:
            return mismatch.inside(f"[{position}]")
    return None


class _ArrayTypeInfo(TypeInformation):
    """A sequence whose elements all have one type."""

    _nullable_elements = True

    def __init__(self, element_type: TypeInformation) -> None:
        self._element_type = element_type

    @property
    def element_type(self) -> TypeInformation:
        """The type of the elements."""
        return self._element_type

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        if not isinstance(value, (list, tuple, array)):
            return self._unfit(value)
        return _check_elements(value, self._element_type, self._nullable_elements)

    def _identity(self) -> tuple[Any, ...]:
        return (self._element_type,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._element_type}>"


_PRIMITIVES = ("BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "CHAR")
_BOXED = (*_PRIMITIVES, "STRING")


def _require_basic(element_type: TypeInformation, allowed: tuple[str, ...], array_name: str) -> None:
    if element_type not in [BasicTypeInfo(BasicType[name]) for name in allowed]:
        raise ConfigurationError(
            f"{array_name} holds one of {', '.join(allowed)}, got {element_type}. "
            "Use Types.OBJECT_ARRAY for other elements."
        )


def element_type_of(type_info: TypeInformation | None) -> TypeInformation | None:
    """The type of the elements of a list or an array; None for any other type."""
    return type_info.element_type if isinstance(type_info, _ArrayTypeInfo) else None


class PrimitiveArrayTypeInfo(_ArrayTypeInfo):
    """An array of numbers, truth values or characters, none of them None. Bytes are ``bytes``."""

    _nullable_elements = False

    def __init__(self, element_type: TypeInformation) -> None:
        _require_basic(element_type, _PRIMITIVES, "a primitive array")
        super().__init__(element_type)

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        if isinstance(value, (bytes, bytearray)) and self._element_type == Types.BYTE():
            return None
        return super().find_mismatch(value)


class BasicArrayTypeInfo(_ArrayTypeInfo):
    """An array of basic values, each of which may be None."""

    def __init__(self, element_type: TypeInformation) -> None:
        _require_basic(element_type, _BOXED, "a basic array")
        super().__init__(element_type)


class ObjectArrayTypeInfo(_ArrayTypeInfo):
    """An array of values of any one type, each of which may be None."""


class ListTypeInfo(_ArrayTypeInfo):
    """A list of values of one type, each of which may be None."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        self.elem_type = element_type


class MapTypeInfo(TypeInformation):
    """A dict whose keys have one type and whose values, which may be None, have one type."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self.key_type = key_type_info
        self.value_type = value_type_info

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        if not isinstance(value, dict):
            return self._unfit(value)
        for key, item in value.items():
            wrong = self.key_type.find_mismatch(key)
            if wrong is not None:
                return wrong.inside(f"key {key!r}")
            wrong = None if item is None else self.value_type.find_mismatch(item)
            if wrong is not None:
                return wrong.inside(f"[{key!r}]")
        return None

    def _identity(self) -> tuple[Any, ...]:
        return (self.key_type, self.value_type)

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type}, {self.value_type}>"


class TupleTypeInfo(TypeInformation):
    """A tuple of 0 to 25 fields, none of which is None."""

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        if len(field_types) > MAX_TUPLE_ARITY:
            raise ConfigurationError(
                f"a tuple type has at most {MAX_TUPLE_ARITY} fields, got {len(field_types)}. Use Types.ROW."
            )
        self._field_types = tuple(field_types)

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, in order."""
        return list(self._field_types)

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        if not isinstance(value, (tuple, list, Row)) or len(value) != len(self._field_types):
            return self._unfit(value)
        for position, (field_type, item) in enumerate(zip(self._field_types, value, strict=True)):
            wrong = field_type.find_mismatch(item)
            if wrong is not None:
                return wrong.inside(f"f{position}")
        return None

    def _identity(self) -> tuple[Any, ...]:
        return self._field_types

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self._field_types))})"


class _NamedFieldsTypeInfo(TypeInformation):
    """A type made of named fields, each of which may be None."""

    def __init__(self, field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> None:
        if len(field_names) != len(field_types) or len(set(field_names)) != len(field_names):
            raise ConfigurationError(
                f"a type with {len(field_types)} fields needs as many different names, "
                f"got {list(field_names)}. Give every field a name of its own."
            )
        self._field_names = tuple(field_names)
        self._field_types = tuple(field_types)

    def get_field_names(self) -> list[str]:
        """The names of the fields, in order."""
        return list(self._field_names)

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, in order."""
        return list(self._field_types)

    def get_field_index(self, field_name: str) -> int:
        """The position of the field of that name, or -1 if there is none."""
        return self._field_names.index(field_name) if field_name in self._field_names else -1

    def _check_fields(self, values: Iterable[Any]) -> Mismatch | None:
        for name, field_type, item in zip(self._field_names, self._field_types, values, strict=True):
            wrong = None if item is None else field_type.find_mismatch(item)
            if wrong is not None:
                return wrong.inside(name)
        return None

    def _fields_text(self) -> str:
        pairs = zip(self._field_names, self._field_types, strict=True)
        return ", ".join(f"{name}: {field_type}" for name, field_type in pairs)


class RowTypeInfo(_NamedFieldsTypeInfo):
    """A row: fields with types and names (``f0``, ``f1``, ... unless given), each of which may be None.

    Rows, tuples and lists of the same length fit, and dicts, which may leave fields out. Two row types are
    equal when the types of their fields are, whatever the names.
    """

    def __init__(self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None) -> None:
        self._named = field_names is not None
        names = [f"f{position}" for position in range(len(field_types))] if field_names is None else field_names
        super().__init__(names, field_types)

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        if isinstance(value, dict) or (isinstance(value, Row) and value._fields is not None):
            named = value if isinstance(value, dict) else value.as_dict()
            unknown = [name for name in named if name not in self._field_names]
            if unknown or (isinstance(value, Row) and len(value) != len(self._field_names)):
                return self._unfit(value)
            return self._check_fields(named.get(name) for name in self._field_names)
        if isinstance(value, (Row, tuple, list)) and len(value) == len(self._field_types):
            return self._check_fields(value)
        return self._unfit(value)

    def _identity(self) -> tuple[Any, ...]:
        return self._field_types

    def __repr__(self) -> str:
        text = self._fields_text() if self._named else ", ".join(map(str, self._field_types))
        return f"RowTypeInfo({text})"


class PojoTypeInfo(_NamedFieldsTypeInfo):
    """A class whose fields are known by name: a dataclass, a NamedTuple or a plain class with annotations.

    Made by :func:`~firesteel.common.type_extraction.extract_type`.
    """

    def __init__(self, pojo_class: type, field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> None:
        super().__init__(field_names, field_types)
        self._class = pojo_class

    def get_type_class(self) -> type:
        """The class whose instances have this type."""
        return self._class

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit this type, or None if it fits."""
        if not isinstance(value, self._class):
            return self._unfit(value)
        return self._check_fields(getattr(value, name, None) for name in self._field_names)

    def _identity(self) -> tuple[Any, ...]:
        return (self._class, self._field_names, self._field_types)

    def __repr__(self) -> str:
        return f"PojoType<{self._class.__module__}.{self._class.__qualname__}, fields = [{self._fields_text()}]>"


class NullableTypeInfo(TypeInformation):
    """A type of which None is a value too: what wrapping a serializer in ``NullableSerializer`` is in Flink."""

    def __init__(self, value_type_info: TypeInformation) -> None:
        self.value_type_info = value_type_info

    def get_type_info(self) -> TypeInformation:
        """The type of the values that are not None."""
        return self.value_type_info

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit; None fits."""
        return None if value is None else self.value_type_info.find_mismatch(value)

    def _identity(self) -> tuple[Any, ...]:
        return (self.value_type_info,)

    def __repr__(self) -> str:
        return f"NullableTypeInfo<{self.value_type_info}>"


class ExternalTypeInfo(TypeInformation):
    """A type as a table sees it from outside. Values are those of the type itself, which has no inner form here."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info

    def get_type_info(self) -> TypeInformation:
        """The type of the values."""
        return self._type_info

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Where and why `value` does not fit the type, or None if it fits."""
        return self._type_info.find_mismatch(value)

    def _identity(self) -> tuple[Any, ...]:
        return (self._type_info,)

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self._type_info}>"


class Types:
    """The declared types by short names: ``Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])``."""

    STRING = staticmethod(BasicTypeInfo.STRING_TYPE_INFO)
    BYTE = staticmethod(BasicTypeInfo.BYTE_TYPE_INFO)
    BOOLEAN = staticmethod(BasicTypeInfo.BOOLEAN_TYPE_INFO)
    SHORT = staticmethod(BasicTypeInfo.SHORT_TYPE_INFO)
    INT = staticmethod(BasicTypeInfo.INT_TYPE_INFO)
    LONG = staticmethod(BasicTypeInfo.LONG_TYPE_INFO)
    FLOAT = staticmethod(BasicTypeInfo.FLOAT_TYPE_INFO)
    DOUBLE = staticmethod(BasicTypeInfo.DOUBLE_TYPE_INFO)
    CHAR = staticmethod(BasicTypeInfo.CHAR_TYPE_INFO)
    BIG_INT = staticmethod(BasicTypeInfo.BIG_INT_TYPE_INFO)
    BIG_DEC = staticmethod(BasicTypeInfo.BIG_DEC_TYPE_INFO)
    INSTANT = staticmethod(BasicTypeInfo.INSTANT_TYPE_INFO)

    SQL_DATE = staticmethod(SqlTimeTypeInfo.DATE)
    SQL_TIME = staticmethod(SqlTimeTypeInfo.TIME)
    SQL_TIMESTAMP = staticmethod(SqlTimeTypeInfo.TIMESTAMP)

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> PickledBytesTypeInfo:
        """Any picklable value."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """A row of fields of these types, named f0, f1, ..."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """A row of fields with these names and types."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TupleTypeInfo:
        """A tuple of at most 25 fields of these types."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> PrimitiveArrayTypeInfo:
        """An array of numbers, truth values or characters without None; of BYTE, it is ``bytes``."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> BasicArrayTypeInfo:
        """An array of basic values, each of which may be None."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> ObjectArrayTypeInfo:
        """An array of values of one type, each of which may be None."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> MapTypeInfo:
        """A dict with keys and values of these types."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> ListTypeInfo:
        """A list of values of one type."""
        return ListTypeInfo(element_type_info)

    @staticmethod
    def NULLABLE(value_type_info: TypeInformation) -> NullableTypeInfo:
        """A type of which None is a value too; map state with a time-to-live refuses None without it."""
        return NullableTypeInfo(value_type_info)
