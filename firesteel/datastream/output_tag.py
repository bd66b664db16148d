"""Names of side outputs."""

from firesteel.model.output_tag import (
    OutputTag,
)

__all__ = [
    "OutputTag",
]
