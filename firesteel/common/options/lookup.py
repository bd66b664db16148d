"""Finding the option of a key, or saying what is wrong with the key."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.common.options import engine, flink
from firesteel.common.options.flink import PREFIX_RULES
from firesteel.errors import UnknownOptionError

__all__ = ["OPTIONS", "Resolved", "find_option", "resolve_key"]


def _declared(module: Any) -> list[ConfigOption[Any]]:
    return [option for option in vars(module).values() if isinstance(option, ConfigOption)]


OPTIONS: dict[str, ConfigOption[Any]] = {
    option.key: option for module in (engine, flink) for option in _declared(module)
}
"""Every single option by its key."""

_ALIASES = {alias: option for option in OPTIONS.values() for alias in option.aliases}

SPARK_PREFIX = "spark."


@dataclass(frozen=True)
class Resolved:
    """What is known about a key: the key to store under, its option if it has one, and why it is ignored."""

    key: str
    option: ConfigOption[Any] | None
    no_meaning: str | None = None


def find_option(key: str) -> ConfigOption[Any] | None:
    """The option of a key or of one of its older names, or None."""
    return OPTIONS.get(key) or _ALIASES.get(key)


def resolve_key(key: str) -> Resolved:
    """What is known about a key; UnknownOptionError, with the nearest known key, if nothing is.

    Keys that begin with ``spark.`` are Spark's own and pass through unread.
    """
    option = find_option(key)
    if option is not None:
        return Resolved(option.key, option, option.no_meaning)
    if key.startswith(SPARK_PREFIX):
        return Resolved(key, None)
    for rule in PREFIX_RULES:
        if key.startswith(rule.prefix):
            return Resolved(key, None, rule.reason)
    raise UnknownOptionError(_unknown(key))


def _unknown(key: str) -> str:
    nearest = difflib.get_close_matches(key, [*OPTIONS, *_ALIASES], n=1, cutoff=0.6)
    hint = f"Did you mean {nearest[0]}?" if nearest else "docs/configuration.md lists all options."
    return f"unknown option {key!r}: it is neither an option of Firesteel nor one of Flink. {hint}"
