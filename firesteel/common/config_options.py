"""Typed configuration options, and how their values are read from text."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
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

    def note(self, raw: Any) -> str | None:
        """What to tell a user whose value is taken for another one here; None if there is nothing to tell."""
        return None


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
_ISO_DURATION = re.compile(r"p(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?)?", re.IGNORECASE)
_ISO_MILLIS = (86_400_000, 3_600_000, 60_000, 1000)
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
        elif (iso := _ISO_DURATION.fullmatch(str(raw).strip())) is not None and any(iso.groups()):
            value = int(sum(float(part or 0) * unit for part, unit in zip(iso.groups(), _ISO_MILLIS)))
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
    other: Mapping[str, str] = field(default_factory=dict)
    """Other spellings, and the word that each stands for."""
    name = "enum"

    @property
    def form(self) -> str:
        """What a value looks like."""
        return "one of " + ", ".join(self.words)

    def parse(self, raw: Any) -> str:
        """The word as it is spelled in the table; also takes a member of a Python Enum, by its name."""
        wanted = str(getattr(raw, "name", raw)).strip().lower().replace("_", "-")
        for word, meant in [*((word, word) for word in self.words), *self.other.items()]:
            if word.lower().replace("_", "-") == wanted:
                return meant
        raise ValueError(raw)


class ExecutionTargetValue(EnumValue):
    """Where a job runs. The names of Flink's deployments are taken too, and mean Spark."""

    def __init__(self) -> None:
        of_yarn = ("yarn-application", "yarn-session", "yarn-per-job")
        of_flink = ("local", "remote", *of_yarn, "kubernetes-application", "kubernetes-session")
        super().__init__(("spark", "in-process"), dict.fromkeys(of_flink, "spark"))

    def note(self, raw: Any) -> str | None:
        """That a deployment of Flink is not what it will be."""
        if str(raw).strip().lower() in self.words:
            return None
        return f"{raw} is a deployment of Flink; the job runs on Spark (firesteel.master says where)"


class StateBackendValue(ValueType[str]):
    """A state backend: one of ours by name, or a class of the user's own as ``module:Class``."""

    name = "state backend"
    _form = "hashmap, rocksdb, or module:Class for a backend of your own"

    def parse(self, raw: Any) -> str:
        """The name; names and factories of Flink's backends stand for the one of the two that is like them."""
        text = str(raw).strip()
        # Of a Java class such as org.apache...EmbeddedRocksDBStateBackendFactory, its name says which one it is.
        word = text.rpartition(".")[2].lower().removesuffix("factory").removesuffix("statebackend")
        if word in ("hashmap", "filesystem", "jobmanager", "fs", "memory"):
            return "hashmap"
        if word in ("rocksdb", "embeddedrocksdb", "forst"):
            return "rocksdb"
        module, colon, class_name = text.partition(":")
        if not (colon and class_name.isidentifier() and module.replace(".", "_").isidentifier()):
            raise ValueError(raw)
        return text

    def note(self, raw: Any) -> str | None:
        """That there is no ForSt."""
        return "there is no ForSt backend, rocksdb is used" if "forst" in str(raw).lower() else None


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
        if text.startswith("- "):
            parts = [line.removeprefix("-").strip() for line in text.splitlines()]
        elif text.startswith("[") and text.endswith("]"):
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


class PathsValue(ListValue):
    """A list of local paths; between them stands what stands between the entries of a PATH too."""

    _form = "local directories such as '/disk1/state,/disk2/state'"

    def parse(self, raw: Any) -> list[str]:
        """The paths, without a scheme and a slash at the end; cut at commas, semicolons or colons."""
        if isinstance(raw, str) and not raw.startswith("["):
            raw = [part for part in _BETWEEN_PATHS.split(raw.strip()) if part]
        return [_local_path(path) for path in super().parse(raw)]


_BETWEEN_PATHS = re.compile(r"\s*[,;]\s*|(?<!file):(?=/)|:(?=file:)")


def _local_path(path: str) -> str:
    """An absolute path on this file system; ValueError for any other."""
    if path.startswith("file:"):
        path = re.sub(r"^file:(//[^/]*)?", "", path)
    if not path.startswith("/"):
        raise ValueError(path)
    return path.rstrip("/") or "/"


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
