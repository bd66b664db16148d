"""Connectors under the names that PyFlink gives them."""

from firesteel.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

__all__ = ["DeliveryGuarantee", "NumberSequenceSource", "Sink", "Source"]
