"""The settings of a program, checked against the table of options."""

from __future__ import annotations

import builtins
import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar

from firesteel.common.config_file import parse_config_text, read_config_file
from firesteel.common.config_options import (
    BooleanValue,
    ConfigOption,
    FloatValue,
    IntValue,
    ListValue,
    MapValue,
    ValueType,
)
from firesteel.common.options.lookup import SPARK_PREFIX, find_option, resolve_key
from firesteel.common.time import Duration, Time, to_milliseconds
from firesteel.common.warnings import warn_once
from firesteel.errors import ConfigurationError, UnknownOptionError

__all__ = ["Configuration"]

PROPERTIES_VARIABLE = "FIRESTEEL_PROPERTIES"
T = TypeVar("T")
_Stored = str | bytes


class Configuration:
    """Settings by key, each checked when it is set.

    A key that no option has is an error with the nearest known key; a key of Flink without meaning here warns
    once; a key that begins with ``spark.`` goes to Spark. docs/configuration.md lists all options::

        >>> configuration = Configuration()
        >>> configuration.set_string("execution.checkpointing.interval", "10 s")
        Configuration({'execution.checkpointing.interval': '10 s'})
        >>> configuration.get(options.CHECKPOINT_INTERVAL)
        10000
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, _Stored] = dict(other._values) if other is not None else {}

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """A configuration with these settings."""
        configuration = cls()
        for key, value in map.items():
            configuration._put(key, value)
        return configuration

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Configuration:
        """The settings of a ``flink-conf.yaml`` or ``config.yaml``; warns of unknown keys and leaves them out."""
        configuration = cls()
        for key, value in read_config_file(path).items():
            try:
                configuration._put(key, value)
            except UnknownOptionError as error:
                warn_once(f"{path}:{key}", f"{path}: {error}")
        return configuration

    @classmethod
    def from_environment(cls) -> Configuration:
        """The settings in the environment variable ``FIRESTEEL_PROPERTIES``: lines ``key: value``, as in a file."""
        text = os.environ.get(PROPERTIES_VARIABLE, "")
        return cls.from_dict(parse_config_text(text, f"environment variable {PROPERTIES_VARIABLE}"))

    # --- typed access -------------------------------------------------------------------------

    def get(self, option: ConfigOption[T], default_value: T | None = None) -> T:
        """The value of an option: what was set, else `default_value`, else the option's default."""
        raw = self._values.get(self._key_of(option.key))
        if raw is not None:
            return option.parse(raw)
        return option.default if default_value is None else default_value

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        """Set an option, of Firesteel or declared by the program with ConfigOptions."""
        if find_option(option.key) is None:
            self._values[option.key] = option.value_type.render(option.parse(value))
        else:
            self._put(option.key, value)
        return self

    # --- access by key ------------------------------------------------------------------------

    def get_string(self, key: str, default_value: str) -> str:
        """The value of a key as text."""
        raw = self._raw(key)
        if raw is None:
            return default_value
        return raw.decode() if isinstance(raw, bytes) else raw

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a key to the value that this text stands for."""
        return self._put(key, value)

    def get_integer(self, key: str, default_value: int) -> int:
        """The value of a key as a whole number."""
        return self._read(key, IntValue(), default_value)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a key to a whole number."""
        return self._put(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """The value of a key as a truth value."""
        return self._read(key, BooleanValue(), default_value)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set a key to true or false."""
        return self._put(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        """The value of a key as a number."""
        return self._read(key, FloatValue(), default_value)

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a key to a number."""
        return self._put(key, value)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The value of a key as bytes; text becomes UTF-8."""
        raw = self._raw(key)
        if raw is None:
            return default_value
        return bytearray(raw if isinstance(raw, bytes) else raw.encode())

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set a key to bytes. Only keys that pass through unread (``spark.``, Flink's) take bytes."""
        return self._put(key, bytes(value))

    # --- the whole ------------------------------------------------------------------------------

    def key_set(self) -> builtins.set[str]:
        """The keys that are set."""
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        """Whether a key is set, also under an older name of it."""
        return self._raw(key) is not None

    def remove_config(self, key: str) -> bool:
        """Take a setting back; whether there was one."""
        return self._values.pop(self._key_of(key), None) is not None

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all settings of another configuration, with `prefix` put before their keys if given."""
        if prefix is None:
            self._values.update(other._values)
        else:
            for key, value in other._values.items():
                self._put(prefix + key, value)
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Put all settings into a dict."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """All settings as texts."""
        return {key: self.get_string(key, "") for key in self._values}

    def spark_options(self) -> dict[str, str]:
        """The settings that are Spark's own."""
        return {key: value for key, value in self.to_dict().items() if key.startswith(SPARK_PREFIX)}

    def clone(self) -> Configuration:
        """A copy that can be changed without changing this one."""
        return Configuration(self)

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """The parts of a list such as ``a;b`` or ``[a, b]``."""
        return ListValue().parse(value)

    # --- inside -----------------------------------------------------------------------------------

    @staticmethod
    def _key_of(key: str) -> str:
        option = find_option(key)
        return key if option is None else option.key

    def _raw(self, key: str) -> _Stored | None:
        return self._values.get(self._key_of(key))

    def _read(self, key: str, value_type: ValueType[T], default_value: T) -> T:
        raw = self._raw(key)
        return default_value if raw is None else ConfigOption(key, value_type, default_value).parse(raw)

    def _put(self, key: str, value: Any) -> Configuration:
        known = resolve_key(key)
        if known.no_meaning is not None:
            warn_once(f"option {known.key}", f"option {key} has no effect here: {known.no_meaning}.")
        if known.option is None:
            self._values[known.key] = _as_text(key, value)
        else:
            option = known.option
            self._values[known.key] = option.value_type.render(option.parse(value))
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __deepcopy__(self, memo: dict[int, Any]) -> Configuration:
        return self.clone()

    def __repr__(self) -> str:
        return f"Configuration({self._values!r})"


def _as_text(key: str, value: Any) -> _Stored:
    """The value of a key whose type is not known, as text."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (Time, Duration, timedelta)):
        return f"{to_milliseconds(value)} ms"
    if isinstance(value, (list, tuple)):
        return ListValue().render([str(item) for item in value])
    if isinstance(value, dict):
        return MapValue().render({str(name): str(item) for name, item in value.items()})
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ConfigurationError(
        f"option {key} cannot be {value!r} ({type(value).__name__}): expected text, a number, a truth value, "
        "a duration, a list or a dict."
    )
