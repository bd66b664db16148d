"""What a connector of tables is: options, a source of changes, a sink for them.

A library brings its own by an entry point of the group ``firesteel.table.connectors`` whose name is that of the
connector and whose object is a :class:`TableFactory`.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from firesteel.common.config_options import ConfigOption
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.table.changelog import INSERT_ONLY, ChangelogMode
from firesteel.table.functions import Session
from firesteel.table.types import DataType, RowField

__all__ = ["CONNECTOR", "TableContext", "TableFactory", "TableSink", "TableSource", "check_options"]

T = TypeVar("T")
CONNECTOR = "connector"


@dataclass(frozen=True)
class TableContext:
    """What a connector is told about the table.

    :param path: The full name of the table.
    :param fields: The columns that are stored: those with an expression are computed by others.
    :param metadata: The keys of the columns at the end of `fields` that are metadata.
    :param primary_key: The columns of the key, by position in `fields`.
    :param options: What stands in WITH (...).
    :param batch: Whether only the end of the input counts.
    """

    path: tuple[str, ...]
    fields: tuple[RowField, ...]
    options: Mapping[str, str]
    primary_key: tuple[int, ...] = ()
    partition_keys: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    session: Session = field(default_factory=Session)
    batch: bool = False

    @property
    def name(self) -> str:
        """The full name as one text."""
        return ".".join(self.path)

    def get(self, option: ConfigOption[T]) -> T:
        """The value of an option of the table."""
        return option.parse(self.options[option.key]) if option.key in self.options else option.default


class TableSource(ABC):
    """Where the rows of a table come from."""

    mode: ChangelogMode = INSERT_ONLY
    """Which changes come."""

    @abstractmethod
    def connect(self, environment: Any) -> Any:
        """The stream of changes in an environment: pairs ``(kind, row)``. Called once per job and scan."""


class TableSink(ABC):
    """Where the rows of a table go."""

    def wants(self, mode: ChangelogMode) -> ChangelogMode | None:
        """How it would take a changelog of this mode: as it is, without old rows (an upsert mode), or not at all."""
        return mode if mode.is_insert_only else None

    @abstractmethod
    def connect(self, stream: Any) -> Any:
        """End a stream of changes, pairs ``(kind, row)``; gives the engine's sink."""


class TableFactory(ABC):
    """Makes sources and sinks of the tables of one connector."""

    identifier: str
    required: Sequence[ConfigOption[Any]] = ()
    optional: Sequence[ConfigOption[Any]] = ()

    def option_keys(self, context: TableContext) -> list[str] | None:
        """All options that a table may have; None: any."""
        return [option.key for option in (*self.required, *self.optional)]

    def readable_metadata(self, context: TableContext) -> Mapping[str, DataType]:
        """The metadata that a source gives beside the columns, by key."""
        return {}

    def source(self, context: TableContext) -> TableSource:
        """The source of a table."""
        raise UnsupportedError(f"table {context.name}: the connector '{self.identifier}' can only be written to.")

    def sink(self, context: TableContext) -> TableSink:
        """The sink of a table."""
        raise UnsupportedError(f"table {context.name}: the connector '{self.identifier}' can only be read from.")


def check_options(factory: TableFactory, context: TableContext) -> None:
    """Raise if an option is missing, unknown or has no such value; the error names the nearest known option."""
    missing = [option.key for option in factory.required if option.key not in context.options]
    if missing:
        raise ConfigurationError(
            f"table {context.name}: the connector '{factory.identifier}' needs the option '{missing[0]}', "
            "which is not set in WITH (...)."
        )
    known = factory.option_keys(context)
    for key in context.options:
        if known is not None and key != CONNECTOR and key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"It has {', '.join(sorted(known)) or 'none'}."
            raise ConfigurationError(
                f"table {context.name}: the connector '{factory.identifier}' has no option '{key}'. {hint}"
            )
    for option in (*factory.required, *factory.optional):
        context.get(option)
