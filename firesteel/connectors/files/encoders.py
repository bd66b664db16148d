"""How records become lines of files: JSON and CSV."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from firesteel.common.serialization import Encoder
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError

__all__ = ["CsvEncoder", "JsonLinesEncoder"]


class JsonLinesEncoder(Encoder):
    """Writes each record as JSON on a line of its own, in UTF-8.

    Rows with names, dataclasses and NamedTuples become objects; what JSON does not know (dates,
    decimals, ...) becomes text.
    """

    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Write one line."""
        stream.write(json.dumps(_plain(element), ensure_ascii=False, default=str).encode() + b"\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        names = getattr(value, "_fields", None)
        return {n: _plain(v) for n, v in zip(names, value)} if names else [_plain(v) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


class CsvEncoder(Encoder):
    r"""Writes each record as a line of comma-separated values, in UTF-8, quoted where needed, ended by ``\n``.

    :param fields: The fields to write, in order: names for Rows, dataclasses, NamedTuples and dicts. None: all fields.
    :param delimiter: What stands between two values.
    """

    def __init__(self, fields: Sequence[str] | None = None, delimiter: str = ",") -> None:
        if not isinstance(delimiter, str) or len(delimiter) != 1:
            raise ConfigurationError(f"the delimiter of CSV is one character, got {delimiter!r}")
        self._fields = None if fields is None else tuple(fields)
        self._delimiter = delimiter

    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Write one line."""
        line = io.StringIO()
        csv.writer(line, delimiter=self._delimiter, lineterminator="\n").writerow(self._values(element))
        stream.write(line.getvalue().encode())

    def _values(self, element: Any) -> Iterable[Any]:
        if self._fields is None:
            return _all_values(element)
        if isinstance(element, dict):
            return [element.get(name) for name in self._fields]
        try:
            return [getattr(element, name) for name in self._fields]
        except AttributeError as error:
            raise TypeMismatchError(
                f"a CSV file with the fields {', '.join(self._fields)} was given {element!r:.80}: {error}. Map the "
                "stream to records that have these fields."
            ) from error


def _all_values(element: Any) -> Iterable[Any]:
    if isinstance(element, dict):
        return element.values()
    if dataclasses.is_dataclass(element) and not isinstance(element, type):
        return [getattr(element, field.name) for field in dataclasses.fields(element)]
    if isinstance(element, (Row, tuple, list)):
        return list(element)
    return [element]
