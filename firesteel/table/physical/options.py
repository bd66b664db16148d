"""What the operators of a query want to know of the session's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from firesteel.common.config_options import ConfigOption
from firesteel.common.options import table as options
from firesteel.errors import ConfigurationError

__all__ = ["mini_batch_size", "read", "state_ttl"]


T = TypeVar("T")


def read(settings: Mapping[str, str], option: ConfigOption[T]) -> T:
    """The value of an option."""
    return option.parse(settings[option.key]) if option.key in settings else option.default


def state_ttl(settings: Mapping[str, str]) -> int:
    """How many milliseconds state is kept that no row touches; 0 is for ever."""
    return read(settings, options.STATE_TTL)


def mini_batch_size(settings: Mapping[str, str]) -> int:
    """How many rows are put together at most; 0 if none are."""
    if not read(settings, options.MINI_BATCH):
        return 0
    size, latency = read(settings, options.MINI_BATCH_SIZE), read(settings, options.MINI_BATCH_LATENCY)
    for option, value in ((options.MINI_BATCH_SIZE, size), (options.MINI_BATCH_LATENCY, latency)):
        if value <= 0:
            raise ConfigurationError(
                f"{options.MINI_BATCH.key} is true, so {option.key} has to be set to more than 0, got {value}."
            )
    return size
