"""Delta Lake tables as sinks and sources. Needs ``firesteel[delta]``."""

from firesteel.connectors.delta.sink import DeltaSink, DeltaSinkBuilder
from firesteel.connectors.delta.source import DeltaSource, DeltaSourceBuilder

__all__ = ["DeltaSink", "DeltaSinkBuilder", "DeltaSource", "DeltaSourceBuilder"]
