"""Tables of characters, as Flink prints results."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from firesteel.table.functions import Session, text_function
from firesteel.table.types import (
    BigIntType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    RowField,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
)

__all__ = ["printed_by_content", "printed_by_type"]

_NULL = "<NULL>"
_KIND = "op"
_MOST = 30  # characters of a column whose type does not say how long its values are
_WIDTHS: dict[type[DataType], int] = {
    BooleanType: 5,
    TinyIntType: 4,
    SmallIntType: 6,
    IntType: 11,
    BigIntType: 20,
    DateType: 10,
}


def printed_by_type(
    fields: Sequence[RowField], rows: Iterable[tuple[str, Sequence[Any]]], session: Session, with_kinds: bool
) -> Iterator[str]:
    """The lines of a result that comes row by row: how wide a column is, its type says; longer texts are cut.

    :param rows: The short name of each row's kind (``+I``), and its values as the engine holds them.
    :param with_kinds: Whether the kinds are shown, as those of a streaming query are.
    """
    names = [field.name for field in fields]
    widths = [max(_type_width(field.data_type), len(_NULL), display_width(name)) for field, name in zip(fields, names)]
    if with_kinds:
        names, widths = [_KIND, *names], [len(_KIND), *widths]
    writers = [_writer(field.data_type, session) for field in fields]
    texts = (
        [*([kind] if with_kinds else []), *(write(value) for write, value in zip(writers, values))]
        for kind, values in rows
    )
    yield from _table(names, widths, texts)


def printed_by_content(fields: Sequence[RowField], rows: Iterable[Sequence[Any]], session: Session) -> Iterator[str]:
    """The lines of a result that is all there, of SHOW say: columns are as wide as what is in them."""
    writers = [_writer(field.data_type, session) for field in fields]
    texts = [[write(value) for write, value in zip(writers, row)] for row in rows]
    names = [field.name for field in fields]
    widths = [max(map(display_width, column)) for column in zip(names, *texts)]
    yield from _table(names, widths, texts)


def _table(names: list[str], widths: list[int], rows: Iterable[list[str]]) -> Iterator[str]:
    border = "+" + "".join("-" * (width + 2) + "+" for width in widths)
    count = 0
    for row in rows:
        if not count:
            yield from (border, _line(names, widths), border)
        count += 1
        yield _line(row, widths)
    if not count:
        yield "Empty set"
        return
    yield border
    yield "1 row in set" if count == 1 else f"{count} rows in set"


def _line(texts: list[str], widths: list[int]) -> str:
    return "|" + "".join(f" {_cell(text, width)} |" for text, width in zip(texts, widths))


def _cell(text: str, width: int) -> str:
    shown = text if display_width(text) <= width else _cut(text, width - 3) + "..."
    return " " * (width - display_width(shown)) + shown


def _cut(text: str, width: int) -> str:
    used = 0
    for at, character in enumerate(text):
        used += display_width(character)
        if used > width:
            return text[:at]
    return text


def display_width(text: str) -> int:
    """How many places a text takes: some characters of East Asia take two."""
    if text.isascii():
        return len(text)
    return len(text) + sum(unicodedata.east_asian_width(each) in "FW" for each in text)


def _type_width(data_type: DataType) -> int:
    if isinstance(data_type, DecimalType):
        return data_type.precision + 2  # the sign and the point
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        return 20 + data_type.precision if data_type.precision else 19
    if isinstance(data_type, TimeType):
        return 9 + data_type.precision if data_type.precision else 8
    return _WIDTHS.get(type(data_type), _MOST)


def _writer(data_type: DataType, session: Session) -> Callable[[Any], str]:
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return lambda value: _NULL if value is None else f"x'{value.hex()}'"
    write = text_function(data_type, session)
    return lambda value: _NULL if value is None else write(value)
