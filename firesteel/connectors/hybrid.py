"""Several sources, one after the other: history from files, then what is live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.source import (
    Boundedness,
    DriverSource,
    ReaderContext,
    ReadResult,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["HybridSource", "HybridSourceBuilder"]


class HybridSource(Source):
    """Reads several sources in turn: the next begins when the one before has been read to its end by all subtasks.

    ::

        source = HybridSource.builder(history).add_source(live).build()

    All but the last must be bounded. Where the live source starts is said when it is made: let it start where the
    history ends, so that there is neither gap nor overlap. The job's state and watermarks go on over the switch, and
    a restart goes on in the source that was being read.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)
        self.replayable = all(source.replayable for source in self._sources)
        self.guarantee = min((source.guarantee for source in self._sources), key=_STRENGTH.index)

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Begin with the source that is read first."""
        return HybridSourceBuilder().add_source(first_source)

    @property
    def boundedness(self) -> Boundedness:
        """As the last source."""
        return self._sources[-1].boundedness

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """Asks one source after the other."""
        return _HybridEnumerator(self._sources, parallelism)

    def create_reader(self) -> SourceReader:
        """Reads splits of all sources."""
        return _HybridReader(self._sources)

    def initial_position(self, split: SourceSplit) -> Any:
        """Where the split's own source says."""
        number, inner = _unwrapped(split)
        return self._sources[number].initial_position(inner)


_STRENGTH = ["none", "at-most-once", "at-least-once", "exactly-once"]


class HybridSourceBuilder:
    """Builds a :class:`HybridSource`."""

    def __init__(self) -> None:
        self._sources: list[Source] = []

    def add_source(self, source: Source) -> HybridSourceBuilder:
        """Read this one when those before have ended."""
        if isinstance(source, DriverSource):
            raise UnsupportedError(
                f"{type(source).__name__} is read in the driver, a hybrid source in the tasks. Run two jobs, or write "
                "the live source as a Source with an enumerator and a reader."
            )
        if not isinstance(source, Source):
            raise ConfigurationError(f"a hybrid source is made of Sources, got {source!r} ({type(source).__name__})")
        if self._sources and self._sources[-1].boundedness is not Boundedness.BOUNDED:
            raise ConfigurationError(
                f"{type(self._sources[-1]).__name__} does not end, so {type(source).__name__} would never be read. "
                "Only the last of a hybrid source's sources may be unbounded."
            )
        self._sources.append(source)
        return self

    def build(self) -> HybridSource:
        """The source."""
        return HybridSource(self._sources)


def _wrapped(number: int, split: SourceSplit) -> SourceSplit:
    return SourceSplit(f"{number}/{split.split_id}", (number, split.payload))


def _unwrapped(split: SourceSplit) -> tuple[int, SourceSplit]:
    number, payload = split.payload
    return number, replace(split, split_id=split.split_id.partition("/")[2], payload=payload)


class _HybridEnumerator(SplitEnumerator):
    """Its snapshot: which source is read, that one's own snapshot, and which of its splits have not ended."""

    def __init__(self, sources: Sequence[Source], parallelism: int) -> None:
        self._sources = sources
        self._parallelism = parallelism
        self._number = 0
        self._current = sources[0].create_enumerator(parallelism)
        self._unfinished: set[str] = set()

    def start(self, restored: dict[str, Any] | None) -> None:
        if restored is None:
            self._current.start(None)
            return
        self._number = restored["source"]
        self._unfinished = set(restored["unfinished"])
        if self._number > 0:
            self._current = self._sources[self._number].create_enumerator(self._parallelism)
        self._current.start(restored["enumerator"])

    def discover_splits(self, now: int) -> Iterable[SourceSplit]:
        found = [_wrapped(self._number, split) for split in self._current.discover_splits(now)]
        while not found and not self._is_last and not self._unfinished and self._current.no_more_splits():
            self._switch()
            found = [_wrapped(self._number, split) for split in self._current.discover_splits(now)]
        self._unfinished.update(split.split_id for split in found)
        return found

    @property
    def _is_last(self) -> bool:
        return self._number == len(self._sources) - 1

    def _switch(self) -> None:
        self._current.close()
        self._number += 1
        self._current = self._sources[self._number].create_enumerator(self._parallelism)
        self._current.start(None)

    def split_finished(self, split: SourceSplit) -> None:
        self._unfinished.discard(split.split_id)
        number, inner = _unwrapped(split)
        if number == self._number:
            self._current.split_finished(inner)

    def no_more_splits(self) -> bool:
        return self._is_last and self._current.no_more_splits()

    def has_data(self, split: SourceSplit, position: Any, now: int) -> bool:
        number, inner = _unwrapped(split)
        return number != self._number or self._current.has_data(inner, position, now)

    def next_data_time(self, now: int) -> int | None:
        return self._current.next_data_time(now)

    def snapshot(self) -> dict[str, Any]:
        return {
            "source": self._number,
            "enumerator": self._current.snapshot(),
            "unfinished": sorted(self._unfinished),
        }

    def committed(self, positions: dict[str, Any]) -> None:
        prefix = f"{self._number}/"
        mine = {key.removeprefix(prefix): at for key, at in positions.items() if key.startswith(prefix)}
        self._current.committed(mine)

    def close(self) -> None:
        self._current.close()


class _HybridReader(SourceReader):
    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._readers: dict[int, SourceReader] = {}
        self._context: ReaderContext | None = None

    def open(self, context: ReaderContext) -> None:
        self._context = context

    def read(self, split: SourceSplit, position: Any, max_records: int, now: int) -> ReadResult:
        number, inner = _unwrapped(split)
        reader = self._readers.get(number)
        if reader is None:
            assert self._context is not None
            # Never two at a time: history has been read to its end when the first live split comes.
            self.close()
            reader = self._readers[number] = self._sources[number].create_reader()
            reader.open(self._context)
            self.gives_away = reader.gives_away
        return reader.read(inner, position, max_records, now)

    def close(self) -> None:
        while self._readers:
            self._readers.popitem()[1].close()
