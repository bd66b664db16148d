"""Delta Lake tables as sinks and sources. Needs ``firesteel[delta]``."""

from firesteel.connectors.delta import DeltaSink, DeltaSinkBuilder, DeltaSource, DeltaSourceBuilder

__all__ = ["DeltaSink", "DeltaSinkBuilder", "DeltaSource", "DeltaSourceBuilder"]
