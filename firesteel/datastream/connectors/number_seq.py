"""A source of consecutive whole numbers."""

from firesteel.connectors.number_seq import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
