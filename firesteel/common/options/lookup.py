"""Finding the option of a key, and saying what is odd about the key."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from firesteel.common.config_options import ConfigOption, MapValue
from firesteel.common.options import engine, flink, table
from firesteel.common.options.flink import PREFIX_RULES
from firesteel.common.options.flink_table import flink_keys, older_flink_keys

__all__ = ["OPTIONS", "Resolved", "find_option", "names_of", "resolve_key"]


def _declared(module: Any) -> list[ConfigOption[Any]]:
    return [option for option in vars(module).values() if isinstance(option, ConfigOption)]


OPTIONS: dict[str, ConfigOption[Any]] = {
    option.key: option for module in (engine, table, flink) for option in _declared(module)
}
"""Every single option by its key."""

_ALIASES = {alias: option for option in OPTIONS.values() for alias in option.aliases}

SPARK_PREFIX = "spark."
_OWN_PREFIX = "firesteel."
_NEAR = 0.85


@dataclass(frozen=True)
class Resolved:
    """What is known about a key: its option if it has one, why it is ignored, or which key may have been meant."""

    option: ConfigOption[Any] | None = None
    no_meaning: str | None = None
    warning: str | None = None


def find_option(key: str) -> ConfigOption[Any] | None:
    """The option of a key or of one of its older names, or None."""
    return OPTIONS.get(key) or _ALIASES.get(key)


def names_of(key: str) -> tuple[str, ...]:
    """All names of the option that a key belongs to: the key itself, the current name, older ones."""
    option = find_option(key)
    if option is not None:
        return (key, option.key, *option.aliases)
    known = flink_keys().get(key) or older_flink_keys().get(key)
    return (key,) if known is None else (key, known.key, *known.older)


@lru_cache(maxsize=4096)
def resolve_key(key: str) -> Resolved:
    """What is known about a key. Keys of users' own are as good as any, unless they look like a slip of the pen."""
    option = find_option(key)
    if option is not None:
        return Resolved(option, option.no_meaning)
    if key.startswith(SPARK_PREFIX):
        return Resolved()
    if any(key.startswith(prefix) for prefix in _map_prefixes()):
        return Resolved()
    if key not in flink_keys() and key not in older_flink_keys():
        meant = _nearest(key)
        if meant is not None:
            return Resolved(warning=f"option {key} is not known and has no effect: did you mean {meant}?")
        if key.startswith(_OWN_PREFIX):
            return Resolved(
                warning=f"option {key} is not known and has no effect: docs/configuration.md lists the options of "
                "Firesteel."
            )
    reason = next((rule.reason for rule in PREFIX_RULES if key.startswith(rule.prefix)), None)
    return Resolved(no_meaning=reason)


def _nearest(key: str) -> str | None:
    """The known key that is nearly this one, or None. Keys with a meaning come before those without."""
    plain = _plain(key)
    for known in (_meaningful(), _all_known()):
        if plain in known:
            return known[plain]
        near = difflib.get_close_matches(plain, known, n=1, cutoff=_NEAR)
        if near:
            return known[near[0]]
    return None


@cache
def _map_prefixes() -> tuple[str, ...]:
    """Pairs of a map may be keys of their own: ``pipeline.global-job-parameters.city: Bergen``."""
    return tuple(f"{option.key}." for option in OPTIONS.values() if isinstance(option.value_type, MapValue))


def _plain(key: str) -> str:
    return key.lower().replace("_", "-")


@cache
def _meaningful() -> dict[str, str]:
    names = ((name, option) for option in OPTIONS.values() for name in (option.key, *option.aliases))
    return {_plain(name): name for name, option in names if option.no_meaning is None}


@cache
def _all_known() -> dict[str, str]:
    return {_plain(name): name for name in (*OPTIONS, *_ALIASES, *flink_keys(), *older_flink_keys())}
