"""Aggregations of fields, and choosing records by their fields."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from firesteel.dataset.keys import as_keys
from firesteel.errors import ConfigurationError

__all__ = ["Aggregations"]


class Aggregations(Enum):
    """What can be made of a field of many records."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"


def extreme_record(fields: tuple[int | str, ...], where: str) -> Callable[[Any, Any], Any]:
    """A reducer that keeps the record with the smallest (``min_by``) or largest (``max_by``) values of fields."""
    if not fields:
        raise ConfigurationError(f"{where}: name at least one field")
    value = as_keys(fields, where).extractor()
    if where == "min_by":
        return lambda one, other: other if value(other) < value(one) else one
    return lambda one, other: other if value(other) > value(one) else one
