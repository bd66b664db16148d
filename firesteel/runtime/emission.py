"""From what user functions emit to batches."""

from __future__ import annotations

from typing import Any

from firesteel.model.output_tag import OutputTag
from firesteel.runtime.batch import Batch
from firesteel.runtime.operator import Output


class SideBuffer:
    """Records on their way to side outputs, gathered while a batch is processed."""

    def __init__(self) -> None:
        self._batches: dict[str, tuple[list[Any], list[int | None]]] = {}

    def add(self, tag: OutputTag, value: Any, timestamp: int | None) -> None:
        """Keep one record."""
        if not isinstance(tag, OutputTag):
            raise TypeError(f"a side output is named by an OutputTag, not by {tag!r}")
        found = self._batches.get(tag.name)
        if found is None:
            found = self._batches[tag.name] = ([], [])
        found[0].append(value)
        found[1].append(timestamp)

    def flush(self, output: Output) -> None:
        """Send everything on."""
        if self._batches:
            batches, self._batches = self._batches, {}
            for name, (values, timestamps) in batches.items():
                for batch in split_by_timestamps(values, timestamps):
                    output.emit_side(name, batch)


def split_by_timestamps(values: list[Any], timestamps: list[int | None]) -> list[Batch]:
    """Batches in which either all records have a timestamp or none has."""
    if None not in timestamps:
        return [Batch(values, timestamps)]  # type: ignore[arg-type]
    batches: list[Batch] = []
    start = 0
    for end in range(1, len(values) + 1):
        if end == len(values) or (timestamps[end] is None) != (timestamps[start] is None):
            part = None if timestamps[start] is None else timestamps[start:end]
            batches.append(Batch(values[start:end], part))  # type: ignore[arg-type]
            start = end
    return batches
