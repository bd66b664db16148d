"""Records are values: what was emitted never changes afterwards, whoever holds on to it and changes it.

Every operator hands on copies of what can change, made at the moment of emission. Most records cannot change
(numbers, strings, tuples of these) and are told apart by a look at their class; they are handed on as they are.
"""

from __future__ import annotations

import array
import collections
import copy
import copyreg
import datetime
import decimal
import enum
import fractions
import ipaddress
import re
import types
import uuid
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Final

from firesteel.common.types import Row, copy_row
from firesteel.errors import SerializationError
from firesteel.runtime.batch import RowBatch

Memo = dict[int, Any]

UNCHANGEABLE: Final[set[type]] = {
    bool,
    bytes,
    complex,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    decimal.Decimal,
    float,
    fractions.Fraction,
    int,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    range,
    re.Pattern,
    str,
    types.BuiltinFunctionType,
    types.EllipsisType,
    types.FunctionType,
    types.NoneType,
    types.NotImplementedType,
    uuid.UUID,
}
"""Classes whose instances nobody can change. Grows by what is found out about classes of users (enums, for one)."""


def unchangeable(values: Iterable[Any]) -> bool:
    """Whether none of the values can be changed: numbers, strings and the like, and tuples of those."""
    kinds = set(map(type, values))
    if kinds <= UNCHANGEABLE:
        return True
    if kinds - UNCHANGEABLE != {tuple}:
        return False
    return UNCHANGEABLE.issuperset(map(type, chain.from_iterable(each for each in values if each.__class__ is tuple)))


def copied(value: Any) -> Any:
    """A record that shares nothing that can change with ``value``; the value itself if it cannot change.

    What is shared inside one record stays shared inside the copy, as when the record is pickled.
    """
    kind = value.__class__
    if kind in UNCHANGEABLE:
        return value
    if kind is tuple:  # the most frequent kind of record
        for field in value:
            if field.__class__ not in UNCHANGEABLE:
                return _copy(value, {})
        return value
    return _copy(value, {})


def same(value: Any) -> Any:
    """The value itself: takes the place of :func:`copied` where objects may be reused."""
    return value


def all_copied(values: list[Any]) -> list[Any]:
    """Copies of all values that can change; the list itself if there are none."""
    return values if unchangeable(values) else [copied(value) for value in values]


def copied_batch(batch: Any) -> Any:
    """A batch that shares nothing that can change with another. Columns never change."""
    if batch.__class__ is not RowBatch:
        return batch
    values = all_copied(batch.values)
    return batch if values is batch.values else RowBatch(values, batch.timestamps, batch.keys)


# ---- how values of a class are copied ------------------------------------------------------------------------------

_Copier = Callable[[Any, Memo], Any]


def _copy(value: Any, memo: Memo) -> Any:
    """Copy a value that may be part of another; ``memo`` is that of :func:`copy.deepcopy`."""
    kind = value.__class__
    if kind in UNCHANGEABLE:
        return value
    found = memo.get(id(value))
    if found is not None:
        return found
    try:
        copier = _copiers[kind]
    except KeyError:
        copier = _copiers[kind] = _copier_of(kind)
    return copier(value, memo)


def _copy_tuple(value: Any, memo: Memo) -> Any:
    fields = [_copy(field, memo) for field in value]
    if id(value) in memo:  # it contains itself, by way of a list
        return memo[id(value)]
    if all(map(_is, fields, value)):
        return value
    made = memo[id(value)] = tuple.__new__(value.__class__, fields)
    return made


def _is(one: Any, other: Any) -> bool:
    return one is other


def _copy_frozenset(value: Any, memo: Memo) -> Any:
    return value if UNCHANGEABLE.issuperset(map(type, value)) else frozenset([_copy(each, memo) for each in value])


def _copy_list(value: Any, memo: Memo) -> Any:
    memo[id(value)] = made = value.copy()
    if not UNCHANGEABLE.issuperset(map(type, value)):
        made[:] = [_copy(each, memo) for each in value]
    return made


def _copy_deque(value: Any, memo: Memo) -> Any:
    memo[id(value)] = made = collections.deque[Any](maxlen=value.maxlen)
    made.extend(_copy(each, memo) for each in value)
    return made


def _copy_set(value: Any, memo: Memo) -> Any:
    if UNCHANGEABLE.issuperset(map(type, value)):
        made = value.copy()
    else:
        made = {_copy(each, memo) for each in value}
    memo[id(value)] = made
    return made


def _copy_dict(value: Any, memo: Memo) -> Any:
    """A dict, or one of its kin whose ``copy()`` keeps everything but the entries' own parts as they are."""
    memo[id(value)] = made = value.copy()
    if UNCHANGEABLE.issuperset(map(type, value.values())) and UNCHANGEABLE.issuperset(map(type, value)):
        return made
    made.clear()
    for key, each in value.items():
        made[_copy(key, memo)] = _copy(each, memo)
    return made


def _copy_row(value: Any, memo: Memo) -> Any:
    memo[id(value)] = made = copy_row(value)
    for index, field in enumerate(value):
        if field.__class__ not in UNCHANGEABLE:
            made[index] = _copy(field, memo)
    return made


def _copy_flat(value: Any, memo: Memo) -> Any:
    memo[id(value)] = made = value[:]
    return made


def _copy_plain_object(value: Any, memo: Memo) -> Any:
    """An object that is pickled as its ``__dict__`` and nothing else."""
    memo[id(value)] = made = object.__new__(value.__class__)
    fields = made.__dict__
    for name, field in value.__dict__.items():
        fields[name] = field if field.__class__ in UNCHANGEABLE else _copy(field, memo)
    return made


def _copy_frozen_object(value: Any, memo: Memo) -> Any:
    fields = value.__dict__
    if UNCHANGEABLE.issuperset(map(type, fields.values())):
        return value
    made = _copy_plain_object(value, memo)
    if all(map(_is, made.__dict__.values(), fields.values())):
        memo[id(value)] = made = value
    return made


def _copy_object(value: Any, memo: Memo) -> Any:
    """Any other object: by its own ``__deepcopy__``, a registered serializer, or the way it is pickled."""
    try:
        return copy.deepcopy(value, memo)
    except RecursionError:
        raise
    except Exception as error:
        raise SerializationError(
            f"a record of type {type(value).__qualname__} cannot be copied for the operators behind: "
            f"{type(error).__name__}: {error!s:.300}. Emit values that can be pickled; or, if no function ever changes "
            "a record that it has emitted or received, call env.get_config().enable_object_reuse()"
        ) from error


_copiers: Final[dict[type, _Copier]] = {
    tuple: _copy_tuple,
    frozenset: _copy_frozenset,
    list: _copy_list,
    set: _copy_set,
    dict: _copy_dict,
    collections.defaultdict: _copy_dict,
    collections.OrderedDict: _copy_dict,
    collections.Counter: _copy_dict,
    collections.deque: _copy_deque,
    bytearray: _copy_flat,
    array.array: _copy_flat,
    Row: _copy_row,
}

_ATOMS: Final = (bytes, complex, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, float, int, str)


def _copier_of(kind: type) -> _Copier:
    """How instances of a class are copied. Found out once per class."""
    if issubclass(kind, (enum.Enum, type)) or _is_number_of_numpy(kind) or _is_mere_atom(kind):
        UNCHANGEABLE.add(kind)
        return _copy_atom
    if issubclass(kind, tuple) and not kind.__dictoffset__ and not _is_pickled_specially(kind):
        return _copy_tuple
    if _is_pickled_specially(kind) or any(hasattr(kind, name) for name in ("__getnewargs__", "__getnewargs_ex__")):
        return _copy_object
    if kind.__new__ is object.__new__ and kind.__dictoffset__ and not _slots(kind):
        parameters = getattr(kind, "__dataclass_params__", None)
        return _copy_plain_object if parameters is None or not parameters.frozen else _copy_frozen_object
    return _copy_object


def _copy_atom(value: Any, memo: Memo) -> Any:
    return value


def _is_mere_atom(kind: type) -> bool:
    """A subclass of a class without parts that adds nothing that could change."""
    return issubclass(kind, _ATOMS) and not kind.__dictoffset__ and not _slots(kind)


def _is_number_of_numpy(kind: type) -> bool:
    names = {base.__name__ for base in kind.__mro__ if base.__module__ == "numpy"}
    return "generic" in names and not names & {"void", "object_"}


def _is_pickled_specially(kind: type) -> bool:
    if kind in copyreg.dispatch_table or hasattr(kind, "__deepcopy__") or hasattr(kind, "__setstate__"):
        return True
    special = ("__reduce__", "__reduce_ex__", "__getstate__")
    return any(getattr(kind, name, None) is not getattr(object, name, None) for name in special)


def _slots(kind: type) -> bool:
    return any(base.__dict__.get("__slots__") for base in kind.__mro__)
