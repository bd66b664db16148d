"""Typed configuration options, and how their values are read from text."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeVar

from firesteel.common.time import Duration, Time, to_milliseconds
from firesteel.errors import ConfigurationError

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ValueType(ABC, Generic[T_co]):
    """The type of an option's value: reads it from text or a Python value, and writes it as text."""

    name: ClassVar[str]
    _form: ClassVar[str]

    @property
    def form(self) -> str:
        """What a value looks like, for error messages."""
        return self._form

    @abstractmethod
    def parse(self, raw: Any) -> T_co:
        """The value, or ValueError if `raw` is none."""

    def render(self, value: Any) -> str:
        """The value as text that :meth:`parse` reads back."""
        return str(value)


class StringValue(ValueType[str]):
    """Any text."""

    name = "string"
    _form = "text"

    def parse(self, raw: Any) -> str:
        """The text."""
        if not isinstance(raw, str):
            raise ValueError(raw)
        return raw


@dataclass(frozen=True)
class IntValue(ValueType[int]):
    """A whole number, at least `minimum` if that is set."""

    minimum: int | None = None
    name = "integer"

    @property
    def form(self) -> str:
        """What a value looks like."""
        return "a whole number" + ("" if self.minimum is None else f" of at least {self.minimum}")

    def parse(self, raw: Any) -> int:
        """The number."""
        if isinstance(raw, (bool, float)):
            raise ValueError(raw)
        value = int(raw)
        if self.minimum is not None and value < self.minimum:
            raise ValueError(raw)
        return value


class FloatValue(ValueType[float]):
    """A number."""

    name = "float"
    _form = "a number"

    def parse(self, raw: Any) -> float:
        """The number."""
        if isinstance(raw, bool):
            raise ValueError(raw)
        return float(raw)


class BooleanValue(ValueType[bool]):
    """True or false."""

    name = "boolean"
    _form = "true or false"

    def parse(self, raw: Any) -> bool:
        """The truth value."""
        text = str(raw).strip().lower()
        if text not in ("true", "false"):
            raise ValueError(raw)
        return text == "true"

    def render(self, value: Any) -> str:
        """Either true or false."""
        return "true" if value else "false"


_NANOS = {
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
    **dict.fromkeys(("us", "µs", "micro", "micros", "microsecond", "microseconds"), 10**3),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 10**6),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 10**9),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60 * 10**9),
    **dict.fromkeys(("h", "hour", "hours"), 3600 * 10**9),
    **dict.fromkeys(("d", "day", "days"), 86400 * 10**9),
}
_BYTES = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 2**10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 2**20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 2**30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 2**40),
}
_AMOUNT = re.compile(r"\s*(\d+)\s*([^\s\d]*)\s*")


def _amount(text: str, units: dict[str, int]) -> int:
    match = _AMOUNT.fullmatch(text.lower())
    if match is None or match[2] not in units:
        raise ValueError(text)
    return int(match[1]) * units[match[2]]


def _largest_unit(value: int, units: tuple[tuple[str, int], ...]) -> str:
    unit, size = next((unit, size) for unit, size in units if value % size == 0)
    return f"{value // size} {unit}"


class DurationValue(ValueType[int]):
    """A length of time; the value is a number of milliseconds."""

    name = "duration"
    _form = "a duration such as '500 ms', '10 s' or '1 min'"

    def parse(self, raw: Any) -> int:
        """The length in milliseconds; a number without a unit counts milliseconds."""
        if isinstance(raw, (Time, Duration, timedelta)) or (isinstance(raw, int) and not isinstance(raw, bool)):
            value = to_milliseconds(raw)
        else:
            value = _amount(str(raw), _NANOS) // 10**6
        if value < 0:
            raise ValueError(raw)
        return value

    def render(self, value: Any) -> str:
        """The length in the largest unit that fits."""
        if value == 0:
            return "0 ms"
        return _largest_unit(value, (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)))


class MemoryValue(ValueType[int]):
    """An amount of memory; the value is a number of bytes."""

    name = "memory size"
    _form = "a memory size such as '64 mb' or '1 gb'"

    def parse(self, raw: Any) -> int:
        """The number of bytes; a number without a unit counts bytes."""
        return _amount(str(raw), _BYTES)

    def render(self, value: Any) -> str:
        """The size in the largest unit that fits."""
        if value == 0:
            return "0 b"
        return _largest_unit(value, (("gb", 2**30), ("mb", 2**20), ("kb", 2**10), ("b", 1)))


@dataclass(frozen=True)
class EnumValue(ValueType[str]):
    """One of a few words, in upper or lower case; ``-`` and ``_`` are the same."""

    words: tuple[str, ...]
    name = "enum"

    @property
    def form(self) -> str:
        """What a value looks like."""
        return "one of " + ", ".join(self.words)

    def parse(self, raw: Any) -> str:
        """The word as it is spelled in the table; also takes a member of a Python Enum, by its name."""
        wanted = str(getattr(raw, "name", raw)).strip().lower().replace("_", "-")
        for word in self.words:
            if word.lower().replace("_", "-") == wanted:
                return word
        raise ValueError(raw)


class StateBackendValue(ValueType[str]):
    """A state backend: one of ours by name, or a class of the user's own as ``module:Class``."""

    name = "state backend"
    _form = "hashmap, rocksdb, or module:Class for a backend of your own"

    def parse(self, raw: Any) -> str:
        """The name; the old names of Flink's backends in memory are the same as hashmap."""
        text = str(raw).strip()
        word = text.lower()
        if word in ("hashmap", "filesystem", "jobmanager"):
            return "hashmap"
        module, colon, class_name = text.partition(":")
        if word != "rocksdb" and not (colon and class_name.isidentifier() and module.replace(".", "_").isidentifier()):
            raise ValueError(raw)
        return "rocksdb" if word == "rocksdb" else text


def split_quoted(text: str, separator: str) -> list[str]:
    """Split at a separator, but not inside quotes; quotes around a part are removed, doubled ones are one."""
    quoted = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
    parts = re.findall(rf"((?:{quoted}|[^{re.escape(separator)}])*)(?:{re.escape(separator)}|$)", text)
    # The pattern also matches the nothing at the end of the text, after the last part.
    return [part.strip() for part in parts[:-1]] if text else []


def unquote(text: str) -> str:
    """The text without the quotes around it, doubled quotes inside becoming single ones."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace(text[0] * 2, text[0])
    return text


def _quote_if_needed(text: str, special: str) -> str:
    if text and not any(character in text for character in special + "'\"") and text == text.strip():
        return text
    return "'" + text.replace("'", "''") + "'"


class ListValue(ValueType[list[str]]):
    """A list of texts."""

    name = "list"
    _form = "a list such as 'a;b', 'a,b' or '[a, b]'"

    def parse(self, raw: Any) -> list[str]:
        """The list; a text is cut at semicolons, or at commas if there are none."""
        if isinstance(raw, (list, tuple)):
            return [str(item) for item in raw]
        text = str(raw).strip()
        if text.startswith("[") and text.endswith("]"):
            parts = split_quoted(text[1:-1], ",")
        else:
            parts = split_quoted(text, ";")
            parts = split_quoted(text, ",") if len(parts) == 1 else parts
        return [unquote(part) for part in parts if part]

    def render(self, value: Any) -> str:
        """The list with semicolons."""
        if len(value) == 1:
            return _quote_if_needed(value[0], ";,[]")
        return ";".join(_quote_if_needed(item, ";[]") for item in value)


class MapValue(ValueType[dict[str, str]]):
    """Pairs of texts."""

    name = "map"
    _form = "a map such as 'key1:value1,key2:value2'"

    def parse(self, raw: Any) -> dict[str, str]:
        """The pairs; keys and values that hold a colon or a comma stand in quotes."""
        if isinstance(raw, dict):
            return {str(key): str(value) for key, value in raw.items()}
        pairs: dict[str, str] = {}
        for part in split_quoted(str(raw).strip().removeprefix("{").removesuffix("}"), ","):
            halves = split_quoted(part, ":")
            if len(halves) < 2:
                raise ValueError(raw)
            # A value such as a path or a URL may hold colons of its own.
            pairs[unquote(halves[0])] = unquote(":".join(halves[1:]))
        return pairs

    def render(self, value: Any) -> str:
        """The pairs with colons and commas."""
        return ",".join(
            f"{_quote_if_needed(key, ',:{}')}:{_quote_if_needed(item, ',:{}')}" for key, item in value.items()
        )


@dataclass(frozen=True)
class ConfigOption(Generic[T]):
    """One configuration option: its key, the type of its value and its default.

    Programs declare their own with :class:`ConfigOptions`; Firesteel's are in
    :mod:`firesteel.common.options`.
    """

    key: str
    value_type: ValueType[T]
    default: T
    description: str = ""
    group: str = ""
    aliases: tuple[str, ...] = ()
    """Older keys for the same option."""
    no_meaning: str | None = None
    """Why the option does nothing on this engine, or None if it is used."""

    def parse(self, raw: Any) -> T:
        """The value in `raw`, or ConfigurationError naming key, value and the expected form."""
        try:
            return self.value_type.parse(raw)
        except (ValueError, TypeError):
            raise ConfigurationError(f"option {self.key} cannot be {raw!r}: expected {self.value_type.form}.") from None


class ConfigOptions:
    """Begins the declaration of an option of one's own.

    ::

        >>> RETRIES = ConfigOptions.key("my.retries").int_type().default_value(3)
        >>> Configuration().get(RETRIES)
        3
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Begin an option of this key; choose its type next."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """An option whose type is not chosen yet."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """The value is true or false."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, BooleanValue())

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The value is a whole number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, IntValue())

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The value is a whole number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, IntValue())

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """The value is a number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, FloatValue())

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """The value is a number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, FloatValue())

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """The value is text."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, StringValue())

    class TypedConfigOptionBuilder(Generic[T]):
        """An option whose default is not chosen yet."""

        def __init__(self, key: str, value_type: ValueType[T]) -> None:
            self._key = key
            self._value_type = value_type

        def default_value(self, value: T) -> ConfigOption[T]:
            """The option, with this value where none is set."""
            option = ConfigOption(self._key, self._value_type, value)
            option.parse(value)
            return option

        def no_default_value(self) -> ConfigOption[T | None]:
            """The option, being None where no value is set."""
            return ConfigOption(self._key, self._value_type, None)
