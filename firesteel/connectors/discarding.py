"""A sink that throws everything away: for benchmarks, and for streams that matter for their side effects only."""

from __future__ import annotations

from typing import Any

from firesteel.model.sink import Sink, SinkWriter, WriterContext

__all__ = ["DiscardingSink"]


class DiscardingSink(Sink):
    """Takes all records and keeps none: ``stream.sink_to(DiscardingSink())``."""

    guarantee = "exactly-once"

    @property
    def takes_columns(self) -> bool:
        """Columns are thrown away as they are."""
        return True

    def create_writer(self) -> SinkWriter:
        """A writer that does nothing."""
        return _DiscardingWriter()


class _DiscardingWriter(SinkWriter):
    def write(self, value: Any, context: WriterContext) -> None:
        return None

    def write_batch(self, columns: Any, timestamps: Any | None, kinds: Any | None, context: WriterContext) -> None:
        return None
