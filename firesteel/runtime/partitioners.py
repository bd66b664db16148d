"""Which subtasks of the consumer a record goes to: the description. ``runtime.emitters`` carries it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.common import TypeInformation

FORWARD = "FORWARD"
REBALANCE = "REBALANCE"
RESCALE = "RESCALE"
SHUFFLE = "SHUFFLE"
BROADCAST = "BROADCAST"
GLOBAL = "GLOBAL"
HASH = "HASH"
CUSTOM = "CUSTOM"


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
