"""The settings of a program, checked against the table of options."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Mapping
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
    split_quoted,
    unquote,
)
from firesteel.common.java_text import double_text
from firesteel.common.options.lookup import SPARK_PREFIX, find_option, names_of, resolve_key
from firesteel.common.time import Duration, Time, to_milliseconds
from firesteel.common.warnings import first_time, warn_once
from firesteel.errors import ConfigurationError

__all__ = ["Configuration"]

PROPERTIES_VARIABLE = "FIRESTEEL_PROPERTIES"
T = TypeVar("T")
_Stored = str | bytes | bool | int | float
_SECRET = (
    "password",
    "secret",
    "account.key",
    "apikey",
    "api-key",
    "auth-params",
    "service-key",
    "token",
    "basic-auth",
)
_HIDDEN = "******"


class Configuration:
    """Settings by key. Those that are options are checked when they are set; any other key is your own.

    A key that is nearly an option, and a key of Flink that has no meaning here, warn once; a key that begins with
    ``spark.`` goes to Spark. docs/configuration.md lists all options::

        >>> configuration = Configuration()
        >>> configuration.set_string("execution.checkpointing.interval", "10 s")
        Configuration({'execution.checkpointing.interval': '10 s'})
        >>> configuration.get(options.CHECKPOINT_INTERVAL)
        10000
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, _Stored] = {}
        if other is not None:
            other.add_all_to_dict(self._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """A configuration with these settings."""
        configuration = cls()
        _warn_about(map)
        for key, value in map.items():
            configuration._store(key, value)
        return configuration

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Configuration:
        """The settings of a ``config.yaml`` or ``flink-conf.yaml``."""
        return cls.from_dict(read_config_file(path))

    @classmethod
    def from_environment(cls) -> Configuration:
        """The settings in the environment variable ``FIRESTEEL_PROPERTIES``: lines ``key: value``, as in a file."""
        text = os.environ.get(PROPERTIES_VARIABLE, "")
        return cls.from_dict(parse_config_text(text, f"environment variable {PROPERTIES_VARIABLE}"))

    # --- typed access -------------------------------------------------------------------------

    def get(self, option: ConfigOption[T], default_value: T | None = None) -> T:
        """The value of an option: what was set, also under an older key, else `default_value`, else its default."""
        raw = self._raw(option.key)
        if raw is not None:
            return option.parse(raw)
        pairs = self._pairs(option.key) if isinstance(option.value_type, MapValue) else None
        if pairs:
            return option.parse(pairs)
        return option.default if default_value is None else default_value

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        """Set an option, of Firesteel or declared by the program with ConfigOptions."""
        _warn_about([option.key])
        parsed = option.parse(value)
        simple = isinstance(option.value_type, (IntValue, FloatValue, BooleanValue))
        self._store(option.key, parsed if simple else option.value_type.render(parsed))
        return self

    # --- access by key ------------------------------------------------------------------------

    def get_string(self, key: str, default_value: str) -> str:
        """The value of a key as text."""
        raw = self._raw(key)
        return default_value if raw is None else _text(raw)

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
        return bytearray(raw if isinstance(raw, bytes) else _text(raw).encode())

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set a key to bytes: one of your own, or one that passes through unread (``spark.``)."""
        return self._put(key, bytes(value))

    # --- the whole ------------------------------------------------------------------------------

    def key_set(self) -> builtins.set[str]:
        """The keys that are set."""
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        """Whether a key is set, also under an older name of it."""
        return self._raw(key) is not None

    def remove_config(self, key: str) -> bool:
        """Take a setting back, under all names that it may have; whether there was one."""
        found = [name for name in dict.fromkeys(names_of(key)) if name in self._values]
        for name in found:
            del self._values[name]
        return bool(found)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all settings of another configuration, with `prefix` put before their keys if given."""
        added = {(prefix or "") + key: value for key, value in other._values.items()}
        if prefix is not None:
            _warn_about(added)
        for key in added:
            self.remove_config(key)  # an older or newer name of it must not hide what is added
        for key, value in added.items():
            self._store(key, value)
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Put all settings into a dict: numbers, truth values and bytes as what they were set to."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """All settings as texts."""
        return {key: _text(value) for key, value in self._values.items()}

    def spark_options(self) -> dict[str, str]:
        """The settings that are Spark's own."""
        return {key: value for key, value in self.to_dict().items() if key.startswith(SPARK_PREFIX)}

    def clone(self) -> Configuration:
        """A copy that can be changed without changing this one."""
        return Configuration(self)

    @staticmethod
    def parse_list_value(value: str | None) -> list[Any]:
        """The parts of a list: one of YAML such as ``[a, b]`` or with a ``- a`` on each line, or ``a;b``."""
        import yaml  # when it is used: workers never do, and may not have it

        if not value:
            return []
        try:
            items = yaml.safe_load(value)
        except yaml.YAMLError:
            items = None
        return items if isinstance(items, list) else [unquote(part) for part in split_quoted(value, ";")]

    # --- inside -----------------------------------------------------------------------------------

    def _raw(self, key: str) -> _Stored | None:
        return next((self._values[name] for name in names_of(key) if name in self._values), None)

    def _pairs(self, key: str) -> dict[str, str]:
        """The pairs of a map that are set one by one, as keys that begin with the key of the map."""
        start = f"{key}."
        return {
            name.removeprefix(start): _text(value) for name, value in self._values.items() if name.startswith(start)
        }

    def _read(self, key: str, value_type: ValueType[T], default_value: T) -> T:
        raw = self._raw(key)
        return default_value if raw is None else ConfigOption(key, value_type, default_value).parse(raw)

    def _put(self, key: str, value: Any) -> Configuration:
        _warn_about([key])
        self._store(key, value)
        return self

    def _store(self, key: str, value: Any) -> None:
        option = find_option(key)
        if option is not None:
            parsed = option.parse(value)
            note = option.value_type.note(value)
            if note is not None:
                warn_once(f"option {key} {value}", f"option {key}: {note}.")
            if not isinstance(value, _Stored):
                value = option.value_type.render(parsed)
        self._values[key] = _storable(key, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __deepcopy__(self, memo: dict[int, Any]) -> Configuration:
        return self.clone()

    def __repr__(self) -> str:
        return f"Configuration({self.shown()!r})"

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key}={value}" for key, value in self.shown().items()) + "}"

    def shown(self) -> dict[str, str]:
        """What may be seen of the settings: all but secrets, which are hidden."""
        hidden = {key for key in self.to_dict() if any(mark in key.lower() for mark in _SECRET)}
        return {key: _HIDDEN if key in hidden else value for key, value in self.to_dict().items()}


def _warn_about(keys: Iterable[str]) -> None:
    """Warn of keys without meaning, once each and in one warning per reason, and of those that are nearly an option."""
    ignored: dict[str, list[str]] = {}
    for key in keys:
        known = resolve_key(key)
        if known.warning is not None:
            warn_once(f"option {key}", known.warning)
        elif known.no_meaning is not None and first_time(f"option {key}"):
            ignored.setdefault(known.no_meaning, []).append(key)
    for reason, names in ignored.items():
        subject = f"option {names[0]} has" if len(names) == 1 else f"options {', '.join(names)} have"
        warn_once(f"options {names}", f"{subject} no effect here: {reason}.")


def _text(value: _Stored) -> str:
    """A setting as text, in the way of Java."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, bool):
        return "true" if value else "false"
    return double_text(value) if isinstance(value, float) else str(value)


def _storable(key: str, value: Any) -> _Stored:
    """A value of any type that a setting can have, as it is kept."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, (Time, Duration, timedelta)):
        return f"{to_milliseconds(value)} ms"
    if isinstance(value, (list, tuple)):
        return ListValue().render([str(item) for item in value])
    if isinstance(value, dict):
        return MapValue().render({str(name): str(item) for name, item in value.items()})
    if isinstance(value, (str, bool, int, float)):
        return value
    raise ConfigurationError(
        f"option {key} cannot be {value!r} ({type(value).__name__}): expected text, a number, a truth value, "
        "a duration, a list or a dict."
    )
