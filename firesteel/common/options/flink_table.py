"""The configuration keys of Flink: facts from its own classes, in ``flink_keys.csv``.

``make flink-goldens`` writes the table anew from a Flink installation.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["FLINK_VERSION", "FlinkKey", "flink_keys", "older_flink_keys"]

FLINK_VERSION = "2.3"


@dataclass(frozen=True)
class FlinkKey:
    """One key of Flink: the name of its type, its default as text, and the keys that it had before."""

    key: str
    type_name: str
    default: str
    older: tuple[str, ...]


@cache
def flink_keys() -> Mapping[str, FlinkKey]:
    """All keys of Flink, by their current names."""
    text = resources.files(__package__).joinpath("flink_keys.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["key"]: FlinkKey(row["key"], row["type"], row["default"], tuple(row["older"].split())) for row in rows}


@cache
def older_flink_keys() -> Mapping[str, FlinkKey]:
    """The keys of Flink by their older names, where such a name is not that of another key today."""
    keys = flink_keys()
    return {older: key for key in keys.values() for older in key.older if older not in keys}
