"""DataSet programs in this process: what the translation asks of Spark's context and RDDs, on lists.

Partitions are computed one after the other, records are pickled where Spark would pickle them (an RDD that is kept, an
exchange), so that a program that works here does not owe it to objects that tasks share.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import os
import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import IO, Any

from firesteel.errors import ConfigurationError
from firesteel.state.file_systems import local_path

_OPENERS: dict[str, Callable[[str], IO[bytes]]] = {".gz": gzip.open, ".bz2": bz2.open}  # type: ignore[dict-item]


class LocalRdd:
    """Records in partitions, computed when they are asked for.

    :param compute: From the number of a partition to its records.
    :param partitioner: What says where records are, if they have been dealt out by key: equal for RDDs dealt out alike.
    """

    def __init__(self, compute: Callable[[int], Iterable[Any]], partitions: int, partitioner: Any = None) -> None:
        self._compute = compute
        self._partitions = partitions
        self.partitioner = partitioner
        self.is_cached = False
        self._kept: dict[int, bytes] = {}

    # --- records ------------------------------------------------------------------------------------

    def partition(self, index: int) -> Iterator[Any]:
        """The records of a partition."""
        if not self.is_cached:
            return iter(self._compute(index))
        if index not in self._kept:
            self._kept[index] = pickle.dumps(list(self._compute(index)), 5)
        return iter(pickle.loads(self._kept[index]))

    def _all(self) -> Iterator[Any]:
        return chain.from_iterable(self.partition(index) for index in range(self._partitions))

    def collect(self) -> list[Any]:
        """All records."""
        return list(self._all())

    def count(self) -> int:
        """How many records there are."""
        return sum(1 for _ in self._all())

    def isEmpty(self) -> bool:
        """Whether there are none."""
        return next(self._all(), self) is self

    def takeSample(self, withReplacement: bool, num: int, seed: int) -> list[Any]:
        """Some records, each at most once."""
        records = self.collect()
        return random.Random(seed).sample(records, min(num, len(records)))

    def getNumPartitions(self) -> int:
        """How many partitions there are."""
        return self._partitions

    # --- keeping ------------------------------------------------------------------------------------

    def persist(self) -> LocalRdd:
        """Compute each partition once."""
        self.is_cached = True
        return self

    def unpersist(self) -> LocalRdd:
        """Forget what was kept."""
        self.is_cached = False
        self._kept.clear()
        return self

    def localCheckpoint(self) -> None:
        """There is no history to cut off: what is kept is never lost."""
        self.persist()

    # --- RDDs out of RDDs ---------------------------------------------------------------------------

    def mapPartitionsWithIndex(
        self, f: Callable[[int, Iterator[Any]], Iterable[Any]], preservesPartitioning: bool = False
    ) -> LocalRdd:
        """What a function makes of the records of each partition."""
        partitioner = self.partitioner if preservesPartitioning else None
        return LocalRdd(lambda index: f(index, self.partition(index)), self._partitions, partitioner)

    def mapPartitions(
        self, f: Callable[[Iterator[Any]], Iterable[Any]], preservesPartitioning: bool = False
    ) -> LocalRdd:
        """The same, for a function that does not want to know which partition it is."""
        return self.mapPartitionsWithIndex(lambda _, records: f(records), preservesPartitioning)

    def map(self, f: Callable[[Any], Any], preservesPartitioning: bool = False) -> LocalRdd:
        """What a function makes of each record."""
        return self.mapPartitionsWithIndex(lambda _, records: map(f, records), preservesPartitioning)

    def partitionBy(self, numPartitions: int, partitionFunc: Callable[[Any], int]) -> LocalRdd:
        """Pairs where their keys belong. Dealt out once, when the first partition is asked for."""
        dealt: list[bytes] = []

        def compute(index: int) -> list[Any]:
            if not dealt:
                parts: list[list[Any]] = [[] for _ in range(numPartitions)]
                for pair in self._all():
                    parts[partitionFunc(pair[0]) % numPartitions].append(pair)
                dealt.extend(pickle.dumps(part, 5) for part in parts)
            pairs: list[Any] = pickle.loads(dealt[index])
            return pairs

        return LocalRdd(compute, numPartitions, (numPartitions, partitionFunc))

    def union(self, other: LocalRdd) -> LocalRdd:
        """The records of both: partition by partition if they are dealt out alike, one RDD after the other if not."""
        if self.partitioner is not None and self.partitioner == other.partitioner:
            return LocalRdd(
                lambda index: chain(self.partition(index), other.partition(index)), self._partitions, self.partitioner
            )
        return _one_after_the_other([self, other])

    def zipWithIndex(self) -> LocalRdd:
        """Each record with its number."""

        def compute(index: int) -> Iterator[tuple[Any, int]]:
            before = sum(sum(1 for _ in self.partition(other)) for other in range(index))
            return ((record, before + place) for place, record in enumerate(self.partition(index)))

        return LocalRdd(compute, self._partitions)

    def zipWithUniqueId(self) -> LocalRdd:
        """Each record with a number that no other has."""
        count = self._partitions
        return self.mapPartitionsWithIndex(
            lambda index, records: ((record, place * count + index) for place, record in enumerate(records))
        )


def _one_after_the_other(rdds: list[LocalRdd]) -> LocalRdd:
    parts = [(rdd, index) for rdd in rdds for index in range(rdd.getNumPartitions())]
    return LocalRdd(lambda number: parts[number][0].partition(parts[number][1]), len(parts))


class _Broadcast:
    """A value for all tasks."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Channel:
    """What tasks report to the driver."""

    def __init__(self, value: Any, parameters: Any) -> None:
        self.value = value
        self._parameters = parameters

    def add(self, term: Any) -> None:
        """Take what a task reports, as it is now."""
        self.value = self._parameters.addInPlace(self.value, pickle.loads(pickle.dumps(term)))


class LocalContext:
    """Where RDDs come from."""

    defaultParallelism = os.cpu_count() or 1

    def parallelize(self, c: Iterable[Any], numSlices: int) -> LocalRdd:
        """Records of a list, evenly and in order."""
        data = pickle.dumps(list(c), 5)  # each task gets its own: the program may go on using its list

        def compute(index: int) -> list[Any]:
            records: list[Any] = pickle.loads(data)
            return records[_begin(len(records), index, numSlices) : _begin(len(records), index + 1, numSlices)]

        return LocalRdd(compute, numSlices)

    def range(self, start: int, end: int, numSlices: int) -> LocalRdd:
        """Whole numbers."""
        numbers = range(start, end)
        return LocalRdd(
            lambda index: numbers[_begin(len(numbers), index, numSlices) : _begin(len(numbers), index + 1, numSlices)],
            numSlices,
        )

    def lines(self, path: str, tasks: int, delimiter: str | None, skip_first: bool) -> LocalRdd:
        """The lines of local files."""
        files = _files(path)

        def compute(index: int) -> Iterator[str]:
            for file in files:
                lines = _lines(file, delimiter)[skip_first:]
                yield from lines[_begin(len(lines), index, tasks) : _begin(len(lines), index + 1, tasks)]

        return LocalRdd(compute, tasks)

    def union(self, rdds: list[LocalRdd]) -> LocalRdd:
        """All records."""
        return _one_after_the_other(rdds)

    def broadcast(self, value: Any) -> _Broadcast:
        """A value for all tasks."""
        return _Broadcast(value)

    def accumulator(self, value: Any, accum_param: Any) -> _Channel:
        """A way from tasks to the driver."""
        return _Channel(value, accum_param)

    def setJobDescription(self, value: str | None) -> None:
        """Nobody shows it."""


def _begin(count: int, index: int, slices: int) -> int:
    return count * index // slices


def _files(path: str) -> list[str]:
    local = local_path(path)
    if local is None:
        raise ConfigurationError(
            f"{path}: in-process, DataSet programs read local files only. Run on Spark (execution.target: spark)"
        )
    found = []
    for each in sorted(glob.glob(local)) or [local]:
        names = [os.path.join(each, name) for name in sorted(os.listdir(each))] if os.path.isdir(each) else [each]
        found += [name for name in names if not os.path.basename(name).startswith(("_", ".")) or name == each]
    return found


def _lines(path: str, delimiter: str | None) -> list[str]:
    opener = _OPENERS.get(os.path.splitext(path)[1], _plain)
    with opener(path) as file:
        text = file.read().decode("utf-8", "replace")
    if delimiter is None:
        text, delimiter = text.replace("\r\n", "\n").replace("\r", "\n"), "\n"
    lines = text.split(delimiter)
    return lines[:-1] if not lines[-1] else lines


def _plain(path: str) -> IO[bytes]:
    return open(path, "rb")
