"""A source of consecutive whole numbers."""

from __future__ import annotations

from firesteel.connectors.single_pass import SinglePassEnumerator
from firesteel.errors import ConfigurationError
from firesteel.model.source import Boundedness, ReadResult, Source, SourceReader, SourceSplit, SplitEnumerator

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """The numbers from ``start`` to ``end``, both included.

    Each subtask reads one contiguous part, in order. The position of a split is the next number.

    :param start: The first number.
    :param end: The last number; not below ``start``.
    """

    def __init__(self, start: int, end: int) -> None:
        for name, value in (("start", start), ("end", end)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise ConfigurationError(
                    f"the {name} of a number sequence must be a whole number, got {value!r} ({type(value).__name__})"
                )
        if start > end:
            raise ConfigurationError(
                f"a number sequence cannot go from {start} to {end}: the end, which is included, lies below the start"
            )
        self._start = start
        self._end = end

    @property
    def boundedness(self) -> Boundedness:
        """Bounded: it ends with the last number."""
        return Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """One contiguous part per subtask, the first ones longer by one if it does not come out even."""
        total = self._end - self._start + 1
        base, extra = divmod(total, parallelism)
        splits = []
        first = self._start
        for part in range(min(parallelism, total)):
            stop = first + base + (part < extra)
            splits.append(SourceSplit(f"{first}..{stop - 1}", (first, stop)))
            first = stop
        return SinglePassEnumerator(splits)

    def create_reader(self) -> SourceReader:
        """A reader of ranges."""
        return _RangeReader()

    def initial_position(self, split: SourceSplit) -> int:
        """The first number of the part."""
        first: int = split.payload[0]
        return first


class _RangeReader(SourceReader):
    gives_away = True

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        stop: int = split.payload[1]
        end = min(stop, position + max_records)
        return ReadResult(list(range(position, end)), end, finished=end >= stop)
