"""What connectors share: the delivery guarantees by their Flink names, and sinks that prepare their stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

__all__ = ["DeliveryGuarantee", "StreamTransformer", "SupportsPreprocessing"]


class DeliveryGuarantee(Enum):
    """What a sink promises about a record when the job fails and is started again."""

    EXACTLY_ONCE = "exactly-once"
    """Its effect is visible once."""
    AT_LEAST_ONCE = "at-least-once"
    """It is never lost but may be there more than once."""
    NONE = "none"
    """It may be lost and it may be there more than once."""


class StreamTransformer(ABC):
    """Something that a sink does to the stream before it takes the records."""

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """The stream to take instead of ``ds``. Called once, when the program is built."""


class SupportsPreprocessing(ABC):
    """A sink that may have a transformer: ``sink_to`` applies it."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """The transformer, or None to take the stream as it is."""
