"""What connectors share: the delivery guarantees by their Flink names."""

from __future__ import annotations

from enum import Enum

__all__ = ["DeliveryGuarantee"]


class DeliveryGuarantee(Enum):
    """What a sink promises about a record when the job fails and is started again."""

    EXACTLY_ONCE = "exactly-once"
    """Its effect is visible once."""
    AT_LEAST_ONCE = "at-least-once"
    """It is never lost but may be there more than once."""
    NONE = "none"
    """It may be lost and it may be there more than once."""
