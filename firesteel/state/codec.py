"""Records and state as bytes.

Plain pickle where it works, which is the fast way; cloudpickle for what plain pickle cannot name (classes made inside
functions). A class with a serializer of the user's own goes through that, wherever it turns up.
"""

from __future__ import annotations

import copyreg
import pickle
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import cloudpickle

from firesteel.common import TypeSerializer

_PROTOCOL = 5  # a fixed number: what one Python version stores, another reads
_serializers: dict[type, TypeSerializer[Any]] = {}
_serializers_of_job: ContextVar[dict[type, TypeSerializer[Any]] | None] = ContextVar("serializers", default=None)
"""In the threads of a job; a driver may have several jobs that write the same class in different ways."""


def dumps(value: Any) -> bytes:
    """The value as bytes."""
    try:
        return pickle.dumps(value, _PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        data: bytes = cloudpickle.dumps(value, _PROTOCOL)
        return data


loads = pickle.loads


def register_serializers(serializers: Iterable[tuple[type, TypeSerializer[Any]]]) -> None:
    """Use serializers of the user's own for all instances of their classes: in this thread these and no others, and in
    threads of the process that were not told otherwise, too.
    """
    own = dict(serializers)
    _serializers.update(own)
    _serializers_of_job.set(own)
    for cls in own:
        copyreg.pickle(cls, _reduce_with_serializer)


def _serializer_of(cls: type) -> TypeSerializer[Any] | None:
    own = _serializers_of_job.get()
    return (_serializers if own is None else own).get(cls)


def _reduce_with_serializer(value: Any) -> Any:
    cls = type(value)
    serializer = _serializer_of(cls)
    if serializer is None:  # it is another job's
        return value.__reduce_ex__(_PROTOCOL)
    return _restore_with_serializer, (cls, serializer.to_bytes(value))


def _restore_with_serializer(cls: type, data: bytes) -> Any:
    return (_serializer_of(cls) or _serializers[cls]).from_bytes(data)
