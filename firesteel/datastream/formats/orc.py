"""ORC files."""

from firesteel.connectors.files.orc import OrcBulkWriters, OrcColumnarRowInputFormat

__all__ = ["OrcBulkWriters", "OrcColumnarRowInputFormat"]
