"""Which subtasks of the consumer a record goes to: the description. ``runtime.emitters`` carries it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.common import TypeInformation
from firesteel.model.functions.adapt import fields_of_key

FORWARD = "FORWARD"
REBALANCE = "REBALANCE"
RESCALE = "RESCALE"
SHUFFLE = "SHUFFLE"
BROADCAST = "BROADCAST"
GLOBAL = "GLOBAL"
HASH = "HASH"
CUSTOM = "CUSTOM"


@dataclass(frozen=True)
class KeyFields:
    """A key that is made of fields of the record.

    :param fields: Names or positions.
    :param single: The key is the value of the one field; otherwise a tuple of all values.
    """

    fields: tuple[str | int, ...]
    single: bool


@dataclass(frozen=True)
class Partitioning:
    """How the records of an edge are spread over the consumer's subtasks.

    :param kind: One of the constants of this module, as ``get_execution_plan()`` shows it.
    :param key_selector: For HASH and CUSTOM: from record to key.
    :param key_type: For HASH: the declared type of the keys.
    :param partitioner: For CUSTOM: from ``(key, number of subtasks)`` to a subtask.
    """

    kind: str
    key_selector: Callable[[Any], Any] | None = None
    partitioner: Callable[[Any, int], int] | None = None
    key_type: TypeInformation | None = None

    @property
    def key_fields(self) -> KeyFields | None:
        """The fields that the key is made of; None if it is computed by a function, or there is none."""
        fields = None if self.key_selector is None else fields_of_key(self.key_selector)
        return None if fields is None else KeyFields(*fields)

    @property
    def required_key_fields(self) -> KeyFields:
        """The fields of a key that is known to be made of fields."""
        fields = self.key_fields
        assert fields is not None
        return fields

    @property
    def carries_columns(self) -> bool:
        """Whether columns can be routed: not by a function that wants a record."""
        return self.kind != CUSTOM and (self.kind != HASH or self.key_fields is not None)
