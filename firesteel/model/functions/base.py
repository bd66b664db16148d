"""The base of all user functions, what the runtime hands them, and the functions with one input and no
context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from firesteel.errors import ProgramError

if TYPE_CHECKING:
    from firesteel.metrics import MetricGroup
    from firesteel.model.state import (
        AggregatingState,
        AggregatingStateDescriptor,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReducingState,
        ReducingStateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )


class KeyedStateStore(ABC):
    """Gives handles to keyed state. A handle is got once, in ``open``, and always means the current key."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """One value per key. The same name with another type raises; outside a keyed stream it raises too."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """A map per key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """A value per key into which added values are reduced."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """An accumulator per key into which added values are aggregated."""


class DistributedCache:
    """Files that every worker has a copy of."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def get_file(self, name: str) -> str:
        """The path, on this host, of the file registered under ``name``."""
        if name not in self._files:
            known = ", ".join(sorted(self._files)) or "none"
            raise ProgramError(
                f"no file {name!r} in the distributed cache; there are: {known}. Call env.register_cached_file first."
            )
        return self._files[name]


class RuntimeContext(KeyedStateStore):
    """Where a function runs: its subtask, its metrics, its state. Given to ``open``; one per function instance."""

    @abstractmethod
    def get_task_name(self) -> str:
        """The name of the operator that runs the function."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """The parallelism of the operator."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """The maximum parallelism of the operator: the number of its key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Which of the parallel subtasks this is, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How many times the job has been started before, 0 for the first run."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """The task name with the subtask's position, such as ``Map (1/2)``."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter, or ``default_value`` if it is not set."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where the function registers its own metrics."""

    @abstractmethod
    def get_distributed_cache(self) -> DistributedCache:
        """The files that the program registered with ``env.register_cached_file``."""


class Function(ABC):  # noqa: B024 (the methods that subclasses add are abstract)
    """Base of all user functions.

    An instance is pickled into the job when the program calls ``execute``; each subtask works on its own
    copy. Connections, files and locks are therefore made in :meth:`open`, not in ``__init__``.
    """

    _runtime_context: RuntimeContext | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once per subtask, before any data. There is no current key yet: get state handles, do not
        read them.
        """
        return None

    def close(self) -> None:
        """Called once per subtask after the last record, and also when the job fails or is cancelled."""
        return None

    def set_runtime_context(self, runtime_context: RuntimeContext) -> None:
        """Called by the runtime just before :meth:`open`; not for users."""
        self._runtime_context = runtime_context

    def get_runtime_context(self) -> RuntimeContext:
        """The context that was given to :meth:`open`."""
        if self._runtime_context is None:
            raise ProgramError(
                f"{type(self).__name__}.get_runtime_context() was called before the job runs. "
                "A function has a runtime context from open() on; move the call there."
            )
        return self._runtime_context


class RichFunction(Function):
    """Flink's name for a function with ``open`` and ``close``. Every :class:`Function` has them here."""


class Collector(ABC):
    """Takes the records that a function emits, for functions written with an ``out`` parameter instead of ``yield``."""

    __slots__ = ()

    @abstractmethod
    def collect(self, value: Any) -> None:
        """Emit one record. Valid only during the call to which the collector was given."""

    def close(self) -> None:
        """End the output. Nothing to do for collectors that the runtime gives to functions."""
        return None


class MapFunction(Function):
    """Makes exactly one record out of each."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Called once per record; what it returns is emitted, None included."""


class FlatMapFunction(Function):
    """Makes any number of records out of each."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Called once per record: ``yield`` the results, or return an iterable; None means no record.

        May also be written as ``flat_map(self, value, out)`` and call ``out.collect(result)``.
        """


class FilterFunction(Function):
    """Keeps some records and drops the others."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Called once per record; it is kept if the result is true. Must not change the record."""


class ReduceFunction(Function):
    """Combines two values of a type into one of the same type. Must be associative."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Called for each value but the first of a key or window, with what has been reduced so far as ``value1``."""


class AggregateFunction(Function):
    """Folds values into an accumulator, from which a result of another type can be read at any time.

    Accumulators are state: picklable, and independent of each other.
    """

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Called once per key (and window) when its first value comes. Must return a new object if it is mutable."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """Called once per value; returns the accumulator to keep, which may be the one given, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """Called whenever a result is read or a window fires. Must leave the accumulator as it is."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Called only when windows merge; returns one accumulator for both, which may be one of the two, changed."""


class KeySelector(Function):
    """Takes the key out of a record."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """Called at least once per record, on the sending and on the receiving side.

        Must be deterministic, and the key hashable by value: strings, numbers, tuples, frozen dataclasses.
        """


class Partitioner(Function):
    """Decides to which subtask a record goes."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """Called once per record with its key; returns the subtask, from 0 to ``num_partitions - 1``."""


class DeltaFunction(ABC):
    """Measures how far two records are apart, for delta triggers and evictors."""

    @abstractmethod
    def get_delta(self, old_data_point: Any, new_data_point: Any) -> float:
        """The distance from the old record to the new one."""


class RichMapFunction(MapFunction):
    """Flink's name for a :class:`MapFunction` that uses ``open`` and ``close``."""


class RichFlatMapFunction(FlatMapFunction):
    """Flink's name for a :class:`FlatMapFunction` that uses ``open`` and ``close``."""


class RichFilterFunction(FilterFunction):
    """Flink's name for a :class:`FilterFunction` that uses ``open`` and ``close``."""


class RichReduceFunction(ReduceFunction):
    """Flink's name for a :class:`ReduceFunction` that uses ``open`` and ``close``."""


class RichAggregateFunction(AggregateFunction):
    """Flink's name for an :class:`AggregateFunction` that uses ``open`` and ``close``."""
