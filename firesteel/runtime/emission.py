"""From what user functions emit to batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import GeneratorType
from typing import Any, Final

from firesteel.common.types import Row
from firesteel.errors import TypeMismatchError
from firesteel.model.output_tag import OutputTag
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.operator import Output


class SideBuffer:
    """Records on their way to side outputs, gathered while a batch is processed.

    :param own: Makes a copy of what can change.
    """

    def __init__(self, own: Callable[[Any], Any]) -> None:
        self._own = own
        self._batches: dict[str, tuple[list[Any], list[int | None]]] = {}

    def add(self, tag: OutputTag, value: Any, timestamp: int | None) -> None:
        """Keep one record."""
        if not isinstance(tag, OutputTag):
            raise TypeError(f"a side output is named by an OutputTag, not by {tag!r}")
        found = self._batches.get(tag.name)
        if found is None:
            found = self._batches[tag.name] = ([], [])
        found[0].append(self._own(value))
        found[1].append(timestamp)

    def flush(self, output: Output) -> None:
        """Send everything on."""
        if self._batches:
            batches, self._batches = self._batches, {}
            for name, (values, timestamps) in batches.items():
                for batch in split_by_timestamps(values, timestamps):
                    output.emit_side(name, batch)


def split_by_timestamps(values: list[Any], timestamps: list[int | None]) -> list[RowBatch]:
    """Batches in which either all records have a timestamp or none has."""
    if None not in timestamps:
        return [RowBatch(values, timestamps)]  # type: ignore[arg-type]
    batches: list[RowBatch] = []
    start = 0
    for end in range(1, len(values) + 1):
        if end == len(values) or (timestamps[end] is None) != (timestamps[start] is None):
            part = None if timestamps[start] is None else timestamps[start:end]
            batches.append(RowBatch(values[start:end], part))  # type: ignore[arg-type]
            start = end
    return batches


USUAL_RESULTS: Final = frozenset({list, GeneratorType})
"""The classes of what functions that emit usually return: nothing to check."""


def results_of(made: Any) -> Iterable[Any]:
    """The results that a process or window function returned. A single record, which would be split, is refused."""
    if isinstance(made, (list, Iterator)):
        return made
    raise _no_results(made)


def flat_results_of(made: Any) -> Iterable[Any]:
    """The same for ``flat_map``, which may return any collection, but not what is a record by itself."""
    is_record = isinstance(made, (str, bytes, bytearray, memoryview, dict, Row))
    if is_record or not isinstance(made, Iterable) or (isinstance(made, tuple) and made.__class__ is not tuple):
        raise _no_results(made)
    return made


def _no_results(made: Any) -> TypeMismatchError:
    return TypeMismatchError(
        f"the function returned a {type(made).__name__} where results are expected: {made!r:.200}. "
        "Yield each result (yield result), or return a list of them (return [result])"
    )
