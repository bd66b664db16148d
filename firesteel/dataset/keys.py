"""By what records are grouped, joined and partitioned: fields, or a function of the record."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.model.functions import KeySelector
from firesteel.model.functions.adapt import as_key_selector, bound_call
from firesteel.model.functions.fields import Field

__all__ = ["Keys", "as_keys"]

_WHOLE = ("*", "_")
"""Flink's key expressions for the whole record."""


@dataclass(frozen=True, eq=False)
class Keys:
    """A key: fields by position or name, a selector, or the whole record (neither).

    Two keys are known to be the same if they name the same fields, or use the same function object.
    """

    fields: tuple[int | str, ...] = ()
    selector: KeySelector | None = None

    @property
    def identity(self) -> Hashable:
        """Equal for keys that are known to be the same."""
        return self.fields if self.selector is None else ("selector", id(bound_call(self.selector, "get_key")))

    @property
    def positions(self) -> tuple[int | str, ...] | None:
        """The fields, if the key is made of fields; the optimizer can follow these through functions."""
        return self.fields if self.selector is None and self.fields else None

    def extractor(self) -> Callable[[Any], Any]:
        """From a record to its key: the field itself if it is one, else a tuple."""
        if self.selector is not None:
            return bound_call(self.selector, "get_key")
        if not self.fields:
            return whole_record
        if all(isinstance(field, int) for field in self.fields):
            return _Positions(self.fields)  # type: ignore[arg-type]
        getters = [Field(field, "key") for field in self.fields]
        return getters[0] if len(getters) == 1 else _Composite(getters)

    def __str__(self) -> str:
        if self.selector is not None:
            return "a key selector"
        return "(" + ", ".join(map(str, self.fields)) + ")" if self.fields else "the record"


def whole_record(record: Any) -> Any:
    """The record is its own key."""
    return record


class _Positions:
    """Fields by position. Tuples, the usual records, are read by C code; other kinds of record by their own way."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        self._tuple = itemgetter(*positions)
        self._fields = [Field(position, "key") for position in positions]

    def __call__(self, record: Any) -> Any:
        if isinstance(record, tuple):
            try:
                return self._tuple(record)
            except IndexError:
                pass  # Field says which position is missing
        values = [field(record) for field in self._fields]
        return values[0] if len(values) == 1 else tuple(values)

    def for_tuples(self) -> Callable[[Any], Any]:
        """The quickest way, for records that are known to be tuples."""
        return self._tuple


class _Composite:
    def __init__(self, fields: list[Field]) -> None:
        self._fields = fields

    def __call__(self, record: Any) -> Any:
        return tuple(field(record) for field in self._fields)


def quick_extractor(extract: Callable[[Any], Any], sample: Any) -> Callable[[Any], Any]:
    """The quickest form of an extractor for records like this one; all records must be of one class."""
    if isinstance(extract, _Positions):
        if isinstance(sample, tuple):
            return extract.for_tuples()
        return extract
    return extract.getter_for(sample) if isinstance(extract, Field) else extract


def as_keys(keys: tuple[Any, ...], where: str) -> Keys:
    """Keys from what users write: fields, names, one function, or nothing for the whole record."""
    if not keys or (len(keys) == 1 and isinstance(keys[0], str) and keys[0] in _WHOLE):
        return Keys()
    if len(keys) == 1 and isinstance(keys[0], (list, tuple)):
        return as_keys(tuple(keys[0]), where)
    if all(isinstance(key, (int, str)) and not isinstance(key, bool) for key in keys):
        for key in keys:
            Field(key, where)  # complains about what is no field
        return Keys(fields=tuple(_position(key) for key in keys))
    if len(keys) == 1:
        return Keys(selector=as_key_selector(keys[0], where))
    raise ConfigurationError(
        f"{where}: keys are fields (positions or names), or one function of the record; got {len(keys)} mixed ones: "
        f"{', '.join(map(repr, keys))}"
    )


def _position(key: int | str) -> int | str:
    """``f0`` is Flink's name for field 0 of a tuple; both mean the same to the optimizer."""
    return int(key[1:]) if isinstance(key, str) and key[:1] == "f" and key[1:].isdigit() else key
