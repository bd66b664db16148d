"""Generated records: record ``i`` is a function of ``i``, at a given rate, with or without an end."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common.typeinfo import TypeInformation
from firesteel.errors import ConfigurationError
from firesteel.model.source import (
    Boundedness,
    ReaderContext,
    ReadResult,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)
from firesteel.runtime.keeping import keeps_nothing
from firesteel.runtime.records import copied

__all__ = ["DataGeneratorSource", "GeneratorFunction", "IndexedSource", "RateLimiterStrategy"]


class GeneratorFunction(ABC):
    """Makes record ``i`` from ``i``. Each subtask works on its own copy."""

    def open(self, reader_context: ReaderContext) -> None:
        """Called once per subtask, before the first record."""
        return None

    @abstractmethod
    def map(self, value: int) -> Any:
        """Called once per record with its index, from 0. Must give the same record whenever it is called."""

    def close(self) -> None:
        """Called once per subtask, when the job ends."""
        return None


class RateLimiterStrategy:
    """How fast records are generated, all subtasks together. Made by :meth:`per_second` or :meth:`no_op`."""

    def __init__(self, records_per_second: float | None) -> None:
        if records_per_second is not None and not 0 < records_per_second < math.inf:
            raise ConfigurationError(
                f"records per second must be a number above 0, got {records_per_second!r}. "
                "Use RateLimiterStrategy.no_op() for no limit."
            )
        self.records_per_second = records_per_second

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """This many records per second, shared by all subtasks."""
        return RateLimiterStrategy(records_per_second)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """No limit: as fast as the job takes them."""
        return RateLimiterStrategy(None)

    def due(self, elapsed: int) -> int | None:
        """How many records are due ``elapsed`` milliseconds after the start, or None without a limit.

        Record ``i`` is due ``i / rate`` seconds after the start, so that the first one comes at once.
        """
        if self.records_per_second is None:
            return None
        return 0 if elapsed < 0 else math.floor(elapsed * self.records_per_second / 1000) + 1

    def due_time(self, index: int) -> int:
        """How many milliseconds after the start record ``index`` is due: the first time :meth:`due` counts it."""
        if self.records_per_second is None:
            return 0
        elapsed = math.ceil(index * 1000 / self.records_per_second)
        # The division rounds; make sure that asking at that time gives the record.
        while math.floor(elapsed * self.records_per_second / 1000) < index:
            elapsed += 1
        return elapsed


class IndexedSource(Source):
    """A source of which record ``i`` can be computed from ``i`` alone. Base of all generators.

    Subtask ``p`` of ``n`` reads the records ``p``, ``p + n``, ``p + 2n``, ...: together the subtasks advance evenly
    through the sequence, and record ``i`` is the same whatever the parallelism. The position of a split is the index
    of its next record. With a rate limit the start time is kept in the split, so that a job that was interrupted
    goes on where the clock is: what has come due in the meantime is delivered at once.

    :param count: How many records there are, or None for no end.
    :param rate_limiter_strategy: How fast they come; as fast as possible if None.
    """

    def __init__(self, count: int | None, rate_limiter_strategy: RateLimiterStrategy | None = None) -> None:
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            raise ConfigurationError(
                f"the count of records must be a whole number from 0, or None for no end; got {count!r}"
            )
        self.count = count
        self.rate_limiter_strategy = rate_limiter_strategy or RateLimiterStrategy.no_op()

    @abstractmethod
    def create_generator(self) -> IndexedGenerator:
        """Make what computes the records, in a task."""

    @property
    def boundedness(self) -> Boundedness:
        """Bounded if a count was given."""
        return Boundedness.CONTINUOUS_UNBOUNDED if self.count is None else Boundedness.BOUNDED

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        """One split per subtask."""
        return _IndexEnumerator(self.count, self.rate_limiter_strategy, parallelism)

    def create_reader(self) -> SourceReader:
        """A reader that computes the records that are due."""
        return _IndexReader(self.create_generator(), self.count, self.rate_limiter_strategy)

    def initial_position(self, split: SourceSplit) -> int:
        """The index of the split's first record."""
        first: int = split.payload["first"]
        return first


class IndexedGenerator(ABC):
    """Computes the records of an :class:`IndexedSource`, in a task.

    :cvar gives_away: See :class:`SourceReader`.
    """

    gives_away: bool = False

    def open(self, context: ReaderContext) -> None:
        """Called once, before the first record."""
        return None

    @abstractmethod
    def generate(self, indexes: range) -> tuple[list[Any], list[int] | None]:
        """The records with these indexes, and their timestamps if they have any."""

    def close(self) -> None:
        """Called once, when the job ends."""
        return None


class _IndexEnumerator(SplitEnumerator):
    def __init__(self, count: int | None, rate: RateLimiterStrategy, parallelism: int) -> None:
        self._count = count
        self._rate = rate
        self._parallelism = parallelism
        self._start_time: int | None = None

    def start(self, restored: Any | None) -> None:
        if restored is not None:
            self._start_time = restored["start_time"]

    def discover_splits(self, now: int) -> Iterable[SourceSplit]:
        if self._start_time is not None:
            return []
        self._start_time = now
        subtasks = self._parallelism if self._count is None else min(self._parallelism, self._count)
        return [
            SourceSplit(f"{first}+{self._parallelism}i", {"first": first, "step": self._parallelism, "start_time": now})
            for first in range(subtasks)
        ]

    def no_more_splits(self) -> bool:
        return self._start_time is not None

    def has_data(self, split: SourceSplit, position: int, now: int) -> bool:
        due = self._rate.due(now - split.payload["start_time"])
        return due is None or position < due or (self._count is not None and position >= self._count)

    def next_data_time(self, now: int) -> int | None:
        due = None if self._start_time is None else self._rate.due(now - self._start_time)
        if self._start_time is None or due is None or (self._count is not None and due >= self._count):
            return None
        return self._start_time + self._rate.due_time(due)

    def snapshot(self) -> dict[str, int | None]:
        return {"start_time": self._start_time}


class _IndexReader(SourceReader):
    def __init__(self, generator: IndexedGenerator, count: int | None, rate: RateLimiterStrategy) -> None:
        self._generator = generator
        self.gives_away = generator.gives_away
        self._count = count
        self._rate = rate

    def open(self, context: ReaderContext) -> None:
        self._generator.open(context)

    def read(self, split: SourceSplit, position: int, max_records: int, now: int) -> ReadResult:
        step: int = split.payload["step"]
        stop = position + max_records * step
        due = self._rate.due(now - split.payload["start_time"])
        if due is not None:
            stop = min(stop, due)
        if self._count is not None:
            stop = min(stop, self._count)
        indexes = range(position, stop, step)
        end = position + len(indexes) * step
        values, timestamps = self._generator.generate(indexes) if indexes else ([], None)
        finished = self._count is not None and end >= self._count
        return ReadResult(values, end, finished=finished, timestamps=timestamps)

    def close(self) -> None:
        self._generator.close()


class DataGeneratorSource(IndexedSource):
    """Records made by a function of their index.

    ::

        >>> source = DataGeneratorSource(lambda i: f"record {i}", 1000, RateLimiterStrategy.per_second(100))

    :param generator_function: A :class:`GeneratorFunction` or a plain callable, from index to record. It must give
        the same record for an index whenever it is called: after a failure records are generated again.
    :param count: How many records, or None for no end.
    :param rate_limiter_strategy: How fast; as fast as possible if None.
    :param type_info: The declared type of the records, if any; the stream of the source takes it over.
    """

    def __init__(
        self,
        generator_function: GeneratorFunction | Callable[[int], Any],
        count: int | None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        type_info: TypeInformation | None = None,
    ) -> None:
        super().__init__(count, rate_limiter_strategy)
        if not isinstance(generator_function, GeneratorFunction) and not callable(generator_function):
            raise ConfigurationError(
                f"a generator function is a GeneratorFunction or a callable from index to record, got "
                f"{generator_function!r:.80} ({type(generator_function).__name__})"
            )
        self._function = generator_function
        self._type_info = type_info

    def get_produced_type(self) -> TypeInformation | None:
        """The declared type of the records."""
        return self._type_info

    def create_generator(self) -> IndexedGenerator:
        """What calls the function."""
        return _FunctionGenerator(self._function)


class _FunctionGenerator(IndexedGenerator):
    gives_away = True

    def __init__(self, function: GeneratorFunction | Callable[[int], Any]) -> None:
        self._function = function
        self._call = function.map if isinstance(function, GeneratorFunction) else function
        self._as_it_is = keeps_nothing(self._call)

    def open(self, context: ReaderContext) -> None:
        if isinstance(self._function, GeneratorFunction):
            self._function.open(context)

    def generate(self, indexes: range) -> tuple[list[Any], list[int] | None]:
        call = self._call
        if self._as_it_is:
            return [call(index) for index in indexes], None
        return [copied(call(index)) for index in indexes], None

    def close(self) -> None:
        if isinstance(self._function, GeneratorFunction):
            self._function.close()
