"""Connectors by their names: ours, and those that other packages bring."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.table.connectors.base import CONNECTOR, TableContext, TableFactory, check_options
from firesteel.table.connectors.blackhole import BlackHoleFactory
from firesteel.table.connectors.datagen import DataGenFactory
from firesteel.table.connectors.filesystem import FileSystemFactory
from firesteel.table.connectors.printing import PrintFactory
from firesteel.table.connectors.values import ValuesFactory

__all__ = ["ENTRY_POINTS", "factories", "find_factory"]

ENTRY_POINTS = "firesteel.table.connectors"
_OWN: tuple[type[TableFactory], ...] = (
    BlackHoleFactory,
    DataGenFactory,
    FileSystemFactory,
    PrintFactory,
    ValuesFactory,
)


@cache
def factories() -> Mapping[str, Any]:
    """What makes the factory of each connector, by its name: a class, or an entry point to be loaded."""
    own = {each.identifier: each for each in _OWN}
    return {**{found.name: found for found in metadata.entry_points(group=ENTRY_POINTS)}, **own}


def find_factory(context: TableContext) -> TableFactory:
    """The factory of a table's connector, with the table's options checked."""
    known = factories()
    name = context.options.get(CONNECTOR)
    if name is None:
        raise ConfigurationError(
            f"table {context.name} has no option 'connector', which says where its rows are. "
            f"There are {', '.join(sorted(known))}."
        )
    found = known.get(name)
    if found is None:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(sorted(known))}."
        raise ConfigurationError(f"table {context.name}: there is no connector '{name}'. {hint}")
    factory: TableFactory = _loaded(found)
    check_options(factory, context)
    return factory


def _loaded(found: Any) -> TableFactory:
    made = found.load() if isinstance(found, metadata.EntryPoint) else found
    factory: TableFactory = made() if isinstance(made, type) else made
    return factory
