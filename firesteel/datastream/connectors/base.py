"""What sources and sinks are made of."""

from firesteel.connectors.base import DeliveryGuarantee
from firesteel.model.sink import Sink
from firesteel.model.source import Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
