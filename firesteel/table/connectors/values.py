"""Tables whose changes a test has registered in the driver."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from firesteel.common.config_options import ConfigOptions
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError
from firesteel.table.changelog import INSERT, INSERT_ONLY, ChangelogMode
from firesteel.table.connectors.base import TableContext, TableFactory, TableSource
from firesteel.table.values import to_stored

__all__ = ["DATA_ID", "ValuesFactory", "register_changes"]

DATA_ID = ConfigOptions.key("data-id").string_type().no_default_value()
CHANGELOG_MODE = ConfigOptions.key("changelog-mode").string_type().default_value("I")

_registered: dict[str, list[Any]] = {}
_numbers = itertools.count(1)


def register_changes(rows: Iterable[Any]) -> str:
    """Keep rows for a table of the connector ``values``; gives its ``data-id``.

    A row is a tuple or list of Python values, or a :class:`Row`, whose kind counts.
    """
    name = str(next(_numbers))
    _registered[name] = list(rows)
    return name


class _Values(TableSource):
    def __init__(self, context: TableContext, rows: Sequence[Any]) -> None:
        self.mode = _mode(context)
        converters = [to_stored(field.data_type, context.session.time_zone) for field in context.fields]
        self._changes = [
            (
                row.get_row_kind().value if isinstance(row, Row) else INSERT,
                tuple(convert(value) for convert, value in zip(converters, row, strict=True)),
            )
            for row in rows
        ]

    def connect(self, environment: Any) -> Any:
        return environment.from_collection(self._changes)


def _mode(context: TableContext) -> ChangelogMode:
    kinds = {each.strip() for each in context.get(CHANGELOG_MODE).split(",")}
    if kinds == {"I"}:
        return INSERT_ONLY
    if not kinds <= {"I", "UB", "UA", "D"}:
        raise ConfigurationError(f"table {context.name}: 'changelog-mode' is made of I, UB, UA and D, got {kinds}.")
    upserts = "UA" in kinds and "UB" not in kinds
    return ChangelogMode("UA" in kinds, "D" in kinds, context.primary_key if upserts else None)


class ValuesFactory(TableFactory):
    """``'connector' = 'values'``: rows that :func:`register_changes` was given."""

    identifier = "values"
    required = (DATA_ID,)
    optional = (CHANGELOG_MODE,)

    def source(self, context: TableContext) -> TableSource:
        """The rows, in order, from one subtask."""
        name = context.options[DATA_ID.key]
        if name not in _registered:
            raise ConfigurationError(f"table {context.name}: no rows are registered under the data-id '{name}'.")
        return _Values(context, _registered[name])
