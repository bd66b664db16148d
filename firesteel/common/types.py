"""Rows: records with positions, optional field names, and a kind of change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

__all__ = ["Row", "RowKind"]


class RowKind(Enum):
    """What a row of a changelog says: something was added, changed (old and new value) or removed."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _KIND_SIGNS[self.value]


_KIND_SIGNS = ("+I", "-U", "+U", "-D")
_KINDS = tuple(RowKind)
_INSERT = RowKind.INSERT


# Rows of one shape share one tuple of names: less memory, and a batch of rows pickles the names once.
@lru_cache(maxsize=1024)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    return names


@lru_cache(maxsize=1024)
def _positions(names: tuple[str, ...]) -> dict[str, int]:
    return {name: position for position, name in enumerate(names)}


@lru_cache(maxsize=1024)
def _order_by_name(names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(names)), key=names.__getitem__))


def _restore(names: tuple[str, ...] | None, *values: Any) -> Row:
    """Rebuild a pickled row of kind INSERT without going through the checks of the constructor."""
    row = _new(Row)
    _put_values(row, list(values))
    _put_fields(row, names)
    _put_kind(row, _INSERT)
    return row


def _restore_kind(kind: int, names: tuple[str, ...] | None, *values: Any) -> Row:
    """Rebuild a pickled row of another kind."""
    row = _restore(names, *values)
    _put_kind(row, _KINDS[kind])
    return row


class Row:
    """A record whose fields are read by position, by name, or as attributes.

    ::

        >>> row = Row(city="Oslo", rides=7)
        >>> row.city, row["rides"], row[0]
        ('Oslo', 7, 'Oslo')
        >>> "city" in row
        True

    A row of strings is also a template that makes named rows::

        >>> Stop = Row("city", "rides")
        >>> Stop("Bergen", 3)
        Row(city='Bergen', rides=3)

    Rows are mutable through ``row[...] = value``. Two named rows are equal when the same names hold the same
    values, whatever the order, and the row kinds agree.
    """

    __slots__ = ("_values", "_fields", "_row_kind")

    _values: list[Any]
    _fields: tuple[str, ...] | None
    _row_kind: RowKind

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                f"a Row is made of positional or of named fields, got both: {args!r} and {kwargs!r}. "
                "Name all fields or none."
            )
        _put_values(self, list(kwargs.values()) if kwargs else list(args))
        _put_fields(self, _shared(tuple(kwargs)) if kwargs else None)
        _put_kind(self, _INSERT)

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row of the given kind, with positional or named fields."""
        row = Row(*args, **kwargs)
        row.set_row_kind(row_kind)
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The fields as a dict from name to value; rows inside become dicts too if `recursive`."""
        if self._fields is None:
            raise TypeError(f"{self!r} has no field names, so it cannot become a dict. Call set_field_names() first.")
        values = [_as_plain(value) for value in self._values] if recursive else self._values
        return dict(zip(self._fields, values, strict=True))

    def get_row_kind(self) -> RowKind:
        """The kind of change this row stands for; INSERT unless set."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set the kind of change this row stands for."""
        if not isinstance(row_kind, RowKind):
            raise TypeError(f"a row kind is a RowKind, got {row_kind!r}. For instance RowKind.INSERT.")
        _put_kind(self, row_kind)

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Name the fields, in order; one name for each field."""
        names = tuple(field_names)
        if len(names) != len(self._values):
            raise ValueError(
                f"a row of {len(self._values)} fields cannot take {len(names)} names {list(names)}. "
                "Give one name for each field."
            )
        _put_fields(self, _shared(names))

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """The values of the named fields, in the order of `names`; all values if the row has no names."""
        if self._fields is None or tuple(names) == self._fields:
            return self._values
        return [self._values[self._position(name)] for name in names]

    def _position(self, name: object) -> int:
        names = self._fields
        position = None if names is None else _positions(names).get(name)  # type: ignore[call-overload]
        if position is None:
            have = "it has no field names" if names is None else f"it has {', '.join(names)}"
            raise KeyError(f"no field {name!r} in the row: {have}")
        return int(position)

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __call__(self, *args: Any) -> Row:
        if len(args) > len(self._values):
            raise ValueError(
                f"the template {self!r} takes at most {len(self._values)} values, got {len(args)}: {args!r}. "
                "Leave the surplus out or add names to the template."
            )
        row = Row(*args)
        names = tuple(self._values)[: len(args)]
        _put_fields(row, _shared(names))
        _put_kind(row, self._row_kind)
        return row

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._position(item)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
        else:
            self._values[self._position(key)] = value

    def __getattr__(self, item: str) -> Any:
        # Called when normal lookup fails. Private names must fail at once: copy and pickle probe for them.
        if item.startswith("_"):
            raise AttributeError(item)
        try:
            return self._values[self._position(item)]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError(f"the attributes of a row are read-only; write row[{key!r}] = ... instead")

    def __reduce__(self) -> tuple[Any, ...]:
        if self._row_kind is _INSERT:
            return _restore, (self._fields, *self._values)
        return _restore_kind, (self._row_kind.value, self._fields, *self._values)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._fields, self._values, strict=True)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def _by_name(self) -> list[Any]:
        """The values in an order that does not depend on the order of the names."""
        if self._fields is None:
            return self._values
        return [self._values[position] for position in _order_by_name(self._fields)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return False
        if self._row_kind is not other._row_kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        if self._fields is None or other._fields is None:
            return False
        return sorted(self._fields) == sorted(other._fields) and self._by_name() == other._by_name()

    def __hash__(self) -> int:
        return hash(tuple(self._by_name()))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __copy__(self) -> Row:
        copy = _new(Row)
        _put_values(copy, self._values.copy())
        _put_fields(copy, self._fields)
        _put_kind(copy, self._row_kind)
        return copy


# Rows forbid setting attributes. The slots themselves still can, and are the quickest way: rows are made and
# unpickled by the million.
_new = object.__new__
_put_values = vars(Row)["_values"].__set__
_put_fields = vars(Row)["_fields"].__set__
_put_kind = vars(Row)["_row_kind"].__set__


copy_row = Row.__copy__
"""A row with the same values, names and kind: the values can be replaced without changing the other row."""


def _as_plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_as_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_plain(item) for key, item in value.items()}
    return value
