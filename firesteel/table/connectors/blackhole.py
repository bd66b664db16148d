"""A table that forgets everything that is written to it."""

from __future__ import annotations

from typing import Any

from firesteel.connectors.discarding import DiscardingSink
from firesteel.table.changelog import ChangelogMode
from firesteel.table.connectors.base import TableContext, TableFactory, TableSink

__all__ = ["BlackHoleFactory"]


class _BlackHole(TableSink):
    def wants(self, mode: ChangelogMode) -> ChangelogMode:
        return mode

    def connect(self, stream: Any) -> Any:
        return stream.sink_to(DiscardingSink())


class BlackHoleFactory(TableFactory):
    """``'connector' = 'blackhole'``."""

    identifier = "blackhole"

    def sink(self, context: TableContext) -> TableSink:
        """A sink that takes any changelog."""
        return _BlackHole()
