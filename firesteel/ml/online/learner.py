"""What learns from a stream, without the stream: plain state in, plain state out.

All arithmetic is Python's own, in the order of the records: that is what makes weights after a restore the same, to the
last bit, as without a failure. Sums of numpy depend on how its memory happens to be aligned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

from firesteel.common import Row
from firesteel.errors import ConfigurationError

__all__ = ["Learner", "ModelVersion"]


@dataclass(frozen=True)
class ModelVersion:
    """A version of a model: what has been learned up to a moment of event time."""

    version: int
    """Counted from 1; 0 is the model that learning began with."""
    timestamp: int | None
    """The event time that it has seen, in milliseconds; None where records have no timestamps."""
    data: dict[str, Any] = field(default_factory=dict)
    """What was learned, by name."""
    key: Any = None
    """Of a model per key, the key."""


class Learner(ABC):
    """An algorithm that learns record by record and makes a version of its model after each batch."""

    @abstractmethod
    def start(self, initial: dict[str, Any] | None) -> Any:
        """The state before the first record.

        :param initial: Model data to go on from.
        """

    @abstractmethod
    def learn(self, state: Any, record: Any) -> Any:
        """The state after one more record of the batch. It may be the same object."""

    @abstractmethod
    def end_batch(self, state: Any) -> tuple[Any, dict[str, Any]]:
        """The state after a batch, and the model data of the new version, which nobody changes any more."""

    @abstractmethod
    def predict(self, data: dict[str, Any], record: Any) -> dict[str, Any]:
        """The fields that a version of the model adds to a record."""


def field_of(record: Any, name: str, owner: str) -> Any:
    """A field of a record: of a Row, a dict, a named tuple, a dataclass or any object."""
    try:
        return record[name] if isinstance(record, (dict, Row)) else getattr(record, name)
    except (KeyError, AttributeError, TypeError, ValueError):
        raise ConfigurationError(
            f"{owner} reads the field {name!r}, which the record does not have: {record!r}."
        ) from None


def with_fields(record: Any, added: dict[str, Any]) -> Any:
    """A record with more fields: a dict stays one, anything else becomes a Row."""
    if isinstance(record, dict):
        return {**record, **added}
    if isinstance(record, Row):
        return Row(**{**record.as_dict(), **added})
    if hasattr(record, "_asdict"):
        return Row(**{**record._asdict(), **added})
    if is_dataclass(record) and not isinstance(record, type):
        return Row(**{**asdict(record), **added})
    return Row(**{**vars(record), **added})


def components(vector: Any, size: int | None, owner: str) -> tuple[int, Sequence[tuple[int, float]]]:
    """The size of a vector, and (place, number) of what it holds; a sparse one holds what is not zero.

    :param size: The size that it must have.
    """
    pairs: Iterable[tuple[Any, Any]]
    if hasattr(vector, "indices") and hasattr(vector, "size") and not callable(vector.size):
        length, pairs = vector.size, zip(vector.indices, vector.values)
    else:
        if isinstance(vector, (str, bytes, Mapping)) or not hasattr(vector, "__iter__"):
            raise ConfigurationError(f"{owner} learns from vectors of numbers, got {vector!r}.")
        numbers = list(vector)
        length, pairs = len(numbers), enumerate(numbers)
    if size is not None and length != size:
        raise ConfigurationError(
            f"{owner} has learned from vectors of {size} numbers, got one of {length}: {vector!r}."
        )
    return int(length), [(int(at), float(number)) for at, number in pairs]


def dense(vector: Any, size: int | None, owner: str) -> list[float]:
    """A vector as a list of all its numbers."""
    length, pairs = components(vector, size, owner)
    values = [0.0] * length
    for at, number in pairs:
        values[at] = number
    return values
