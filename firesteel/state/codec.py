"""Records and state as bytes.

Plain pickle where it works, which is the fast way; cloudpickle for what plain pickle cannot name (classes made inside
functions). A class with a serializer of the user's own goes through that, wherever it turns up.
"""

from __future__ import annotations

import copyreg
import pickle
from collections.abc import Iterable
from typing import Any

import cloudpickle

from firesteel.common import TypeSerializer

_PROTOCOL = 5  # a fixed number: what one Python version stores, another reads
_serializers: dict[type, TypeSerializer[Any]] = {}


def dumps(value: Any) -> bytes:
    """The value as bytes."""
    try:
        return pickle.dumps(value, _PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        data: bytes = cloudpickle.dumps(value, _PROTOCOL)
        return data


loads = pickle.loads


def register_serializers(serializers: Iterable[tuple[type, TypeSerializer[Any]]]) -> None:
    """Use a serializer of the user's own for all instances of a class, in this process."""
    for cls, serializer in serializers:
        _serializers[cls] = serializer
        copyreg.pickle(cls, _reduce_with_serializer)


def _reduce_with_serializer(value: Any) -> tuple[Any, ...]:
    cls = type(value)
    return _restore_with_serializer, (cls, _serializers[cls].to_bytes(value))


def _restore_with_serializer(cls: type, data: bytes) -> Any:
    return _serializers[cls].from_bytes(data)
