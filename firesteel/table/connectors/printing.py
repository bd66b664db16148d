"""A table whose changes are written to the driver's standard output."""

from __future__ import annotations

from functools import partial
from typing import Any

from firesteel.common.config_options import ConfigOptions
from firesteel.table.changelog import KIND_NAMES, ChangelogMode
from firesteel.table.connectors.base import TableContext, TableFactory, TableSink
from firesteel.table.functions import Session, text_function
from firesteel.table.types import DataType, LocalZonedTimestampType, RowField, TimestampType

__all__ = ["PRINT_IDENTIFIER", "PrintFactory", "STANDARD_ERROR", "change_text"]

PRINT_IDENTIFIER = ConfigOptions.key("print-identifier").string_type().no_default_value()
STANDARD_ERROR = ConfigOptions.key("standard-error").boolean_type().default_value(False)
SINK_PARALLELISM = ConfigOptions.key("sink.parallelism").int_type().no_default_value()


def change_text(fields: tuple[RowField, ...], record: tuple[int, tuple[Any, ...]]) -> str:
    """A change as Flink's print sink writes it: ``+I[1, a]``."""
    kind, row = record
    values = (_text(field.data_type, value) for field, value in zip(fields, row))
    return f"{KIND_NAMES[kind]}[{', '.join(values)}]"


def _text(data_type: DataType, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        return _point_in_time(data_type, value)
    return str(text_function(data_type, Session())(value))


def _point_in_time(data_type: DataType, value: Any) -> str:
    """As Java writes it: no seconds if there are none, a fraction in groups of three digits, Z behind an instant."""
    day, _, clock = str(text_function(data_type, Session())(value)).partition(" ")
    clock, _, fraction = clock.partition(".")
    fraction = fraction.rstrip("0")
    fraction += "0" * (-len(fraction) % 3)
    if isinstance(data_type, LocalZonedTimestampType):
        return f"{day}T{clock}{'.' if fraction else ''}{fraction}Z"
    if not fraction and clock.endswith(":00"):
        clock = clock[:-3]
    return f"{day}T{clock}{'.' if fraction else ''}{fraction}"


class _Print(TableSink):
    def __init__(self, context: TableContext) -> None:
        self._context = context

    def wants(self, mode: ChangelogMode) -> ChangelogMode:
        return mode

    def connect(self, stream: Any) -> Any:
        lines = stream.map(partial(change_text, self._context.fields))
        to_error = self._context.get(STANDARD_ERROR)
        identifier = self._context.get(PRINT_IDENTIFIER)
        sink = lines.print_to_err(identifier) if to_error else lines.print(identifier)
        parallelism = self._context.get(SINK_PARALLELISM)
        return sink if parallelism is None else sink.set_parallelism(parallelism)


class PrintFactory(TableFactory):
    """``'connector' = 'print'``."""

    identifier = "print"
    optional = (PRINT_IDENTIFIER, STANDARD_ERROR, SINK_PARALLELISM)

    def sink(self, context: TableContext) -> TableSink:
        """A sink that takes any changelog."""
        return _Print(context)
