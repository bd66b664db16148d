"""Flink's tuples: Python tuples whose fields are also the attributes ``f0``, ``f1``, ..."""

from __future__ import annotations

from typing import Any, ClassVar

from firesteel.errors import ConfigurationError

__all__ = [
    "MAX_TUPLE_ARITY",
    "Tuple",
    "Tuple0",
    "Tuple1",
    "Tuple2",
    "Tuple3",
    "Tuple4",
    "Tuple5",
    "Tuple6",
    "Tuple7",
    "Tuple8",
    "Tuple9",
    "Tuple10",
    "Tuple11",
    "Tuple12",
    "Tuple13",
    "Tuple14",
    "Tuple15",
    "Tuple16",
    "Tuple17",
    "Tuple18",
    "Tuple19",
    "Tuple20",
    "Tuple21",
    "Tuple22",
    "Tuple23",
    "Tuple24",
    "Tuple25",
]

MAX_TUPLE_ARITY = 25


class _Field:
    """Reads one field of a tuple by its zero-based position."""

    __slots__ = ("_position",)

    def __init__(self, position: int) -> None:
        self._position = position

    def __get__(self, instance: tuple[Any, ...] | None, owner: type) -> Any:
        if instance is None:
            return self
        if self._position >= len(instance):
            raise AttributeError(f"a tuple of {len(instance)} fields has no f{self._position}; fields count from f0")
        return instance[self._position]


def _field(position: int) -> Any:
    return _Field(position)


class Tuple(tuple[Any, ...]):
    """A tuple of 0 to 25 fields, read as ``t[0]`` or as ``t.f0``.

    It equals and hashes like the plain tuple of its fields, so both may be mixed as keys. Plain tuples flow
    through every operator too; this class only adds Flink's field names.

    ::

        >>> person = Tuple2.of("Fred", 35)
        >>> person.f0, person[1], person == ("Fred", 35)
        ('Fred', 35, True)
    """

    __slots__ = ()

    arity: ClassVar[int | None] = None
    """How many fields the class takes; None for the base class, which takes any number up to 25."""

    def __new__(cls, *fields: Any) -> Tuple:
        if len(fields) > MAX_TUPLE_ARITY:
            raise ConfigurationError(
                f"a tuple has at most {MAX_TUPLE_ARITY} fields, got {len(fields)}. "
                "Use a Row, a dataclass or a nested tuple for more."
            )
        if cls.arity is None:
            cls = _BY_ARITY[len(fields)]
        elif cls.arity != len(fields):
            raise ConfigurationError(
                f"{cls.__name__} takes {cls.arity} fields, got {len(fields)}: {fields!r}. "
                f"Tuple.of(...) makes a tuple of any size up to {MAX_TUPLE_ARITY}."
            )
        return tuple.__new__(cls, fields)

    @classmethod
    def of(cls, *fields: Any) -> Tuple:
        """The tuple of these fields."""
        return cls(*fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self)

    f0 = _field(0)
    f1 = _field(1)
    f2 = _field(2)
    f3 = _field(3)
    f4 = _field(4)
    f5 = _field(5)
    f6 = _field(6)
    f7 = _field(7)
    f8 = _field(8)
    f9 = _field(9)
    f10 = _field(10)
    f11 = _field(11)
    f12 = _field(12)
    f13 = _field(13)
    f14 = _field(14)
    f15 = _field(15)
    f16 = _field(16)
    f17 = _field(17)
    f18 = _field(18)
    f19 = _field(19)
    f20 = _field(20)
    f21 = _field(21)
    f22 = _field(22)
    f23 = _field(23)
    f24 = _field(24)


class Tuple0(Tuple):
    """A tuple of exactly 0 fields."""

    __slots__ = ()
    arity = 0


class Tuple1(Tuple):
    """A tuple of exactly 1 field."""

    __slots__ = ()
    arity = 1


class Tuple2(Tuple):
    """A tuple of exactly 2 fields."""

    __slots__ = ()
    arity = 2


class Tuple3(Tuple):
    """A tuple of exactly 3 fields."""

    __slots__ = ()
    arity = 3


class Tuple4(Tuple):
    """A tuple of exactly 4 fields."""

    __slots__ = ()
    arity = 4


class Tuple5(Tuple):
    """A tuple of exactly 5 fields."""

    __slots__ = ()
    arity = 5


class Tuple6(Tuple):
    """A tuple of exactly 6 fields."""

    __slots__ = ()
    arity = 6


class Tuple7(Tuple):
    """A tuple of exactly 7 fields."""

    __slots__ = ()
    arity = 7


class Tuple8(Tuple):
    """A tuple of exactly 8 fields."""

    __slots__ = ()
    arity = 8


class Tuple9(Tuple):
    """A tuple of exactly 9 fields."""

    __slots__ = ()
    arity = 9


class Tuple10(Tuple):
    """A tuple of exactly 10 fields."""

    __slots__ = ()
    arity = 10


class Tuple11(Tuple):
    """A tuple of exactly 11 fields."""

    __slots__ = ()
    arity = 11


class Tuple12(Tuple):
    """A tuple of exactly 12 fields."""

    __slots__ = ()
    arity = 12


class Tuple13(Tuple):
    """A tuple of exactly 13 fields."""

    __slots__ = ()
    arity = 13


class Tuple14(Tuple):
    """A tuple of exactly 14 fields."""

    __slots__ = ()
    arity = 14


class Tuple15(Tuple):
    """A tuple of exactly 15 fields."""

    __slots__ = ()
    arity = 15


class Tuple16(Tuple):
    """A tuple of exactly 16 fields."""

    __slots__ = ()
    arity = 16


class Tuple17(Tuple):
    """A tuple of exactly 17 fields."""

    __slots__ = ()
    arity = 17


class Tuple18(Tuple):
    """A tuple of exactly 18 fields."""

    __slots__ = ()
    arity = 18


class Tuple19(Tuple):
    """A tuple of exactly 19 fields."""

    __slots__ = ()
    arity = 19


class Tuple20(Tuple):
    """A tuple of exactly 20 fields."""

    __slots__ = ()
    arity = 20


class Tuple21(Tuple):
    """A tuple of exactly 21 fields."""

    __slots__ = ()
    arity = 21


class Tuple22(Tuple):
    """A tuple of exactly 22 fields."""

    __slots__ = ()
    arity = 22


class Tuple23(Tuple):
    """A tuple of exactly 23 fields."""

    __slots__ = ()
    arity = 23


class Tuple24(Tuple):
    """A tuple of exactly 24 fields."""

    __slots__ = ()
    arity = 24


class Tuple25(Tuple):
    """A tuple of exactly 25 fields."""

    __slots__ = ()
    arity = 25


_BY_ARITY: tuple[type[Tuple], ...] = (
    Tuple0,
    Tuple1,
    Tuple2,
    Tuple3,
    Tuple4,
    Tuple5,
    Tuple6,
    Tuple7,
    Tuple8,
    Tuple9,
    Tuple10,
    Tuple11,
    Tuple12,
    Tuple13,
    Tuple14,
    Tuple15,
    Tuple16,
    Tuple17,
    Tuple18,
    Tuple19,
    Tuple20,
    Tuple21,
    Tuple22,
    Tuple23,
    Tuple24,
    Tuple25,
)
