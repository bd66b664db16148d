"""The functions of DataSet programs. Everywhere a plain callable will do too."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from firesteel.dataset.accumulators import Accumulator, DoubleCounter, Histogram, IntCounter, LongCounter
from firesteel.errors import ConfigurationError
from firesteel.model.functions import (
    CoGroupFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    Function,
    JoinFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
    RichCoGroupFunction,
    RichFilterFunction,
    RichFlatJoinFunction,
    RichFlatMapFunction,
    RichJoinFunction,
    RichMapFunction,
    RichReduceFunction,
)
from firesteel.model.functions import RuntimeContext as BaseRuntimeContext
from firesteel.model.functions.adapt import describe, takes_collector

__all__ = [
    "Aggregator",
    "CoGroupFunction",
    "ConvergenceCriterion",
    "CrossFunction",
    "DoubleSumAggregator",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "GroupCombineFunction",
    "GroupReduceFunction",
    "IterationRuntimeContext",
    "JoinFunction",
    "KeySelector",
    "LongSumAggregator",
    "MapFunction",
    "MapPartitionFunction",
    "Partitioner",
    "ReduceFunction",
    "RichCoGroupFunction",
    "RichCrossFunction",
    "RichFilterFunction",
    "RichFlatJoinFunction",
    "RichFlatMapFunction",
    "RichGroupReduceFunction",
    "RichJoinFunction",
    "RichMapFunction",
    "RichMapPartitionFunction",
    "RichReduceFunction",
    "RuntimeContext",
    "forwarded_fields",
    "forwarded_fields_first",
    "forwarded_fields_second",
]

F = TypeVar("F", bound=type)


class MapPartitionFunction(Function):
    """Sees all records of a task."""

    @abstractmethod
    def map_partition(self, values: Iterable[Any]) -> Iterable[Any] | None:
        """Called once per task, also when it has no records; ``yield`` results, or take a second parameter ``out``."""


class GroupReduceFunction(Function):
    """Sees all records of a group.

    If the class has a method ``combine(self, values)`` with the same contract, it is called on parts of groups before
    records are exchanged, and ``reduce`` gets what it has emitted.
    """

    @abstractmethod
    def reduce(self, values: Iterable[Any]) -> Iterable[Any] | None:
        """Called once per group; ``yield`` results, or take a second parameter ``out`` and call ``out.collect``."""


class GroupCombineFunction(Function):
    """Sees parts of groups, in each task for itself: for programs that want to combine by their own rules."""

    @abstractmethod
    def combine(self, values: Iterable[Any]) -> Iterable[Any] | None:
        """Called at least once per group and task; ``yield`` results, or take a second parameter ``out``."""


class CrossFunction(Function):
    """Makes one result of each pair of records."""

    @abstractmethod
    def cross(self, first: Any, second: Any) -> Any:
        """Called once per pair."""


class RichMapPartitionFunction(MapPartitionFunction):
    """Flink's name for a :class:`MapPartitionFunction` that uses ``open`` and ``close``."""


class RichGroupReduceFunction(GroupReduceFunction):
    """Flink's name for a :class:`GroupReduceFunction` that uses ``open`` and ``close``."""


class RichCrossFunction(CrossFunction):
    """Flink's name for a :class:`CrossFunction` that uses ``open`` and ``close``."""


class Aggregator(Function):
    """A value to which all tasks of an iteration add in a superstep, and which they can read in the next one."""

    @abstractmethod
    def get_aggregate(self) -> Any:
        """What has been added so far."""

    @abstractmethod
    def aggregate(self, element: Any) -> None:
        """Add a value: called by functions, and with the aggregates of all tasks to join them."""

    @abstractmethod
    def reset(self) -> None:
        """Begin anew, before each superstep."""


class _SumAggregator(Aggregator):
    zero: Any = 0

    def __init__(self) -> None:
        self._sum = self.zero

    def get_aggregate(self) -> Any:
        """The sum so far."""
        return self._sum

    def aggregate(self, element: Any) -> None:
        """Add a number."""
        self._sum += element

    def reset(self) -> None:
        """Back to zero."""
        self._sum = self.zero


class LongSumAggregator(_SumAggregator):
    """Adds up whole numbers."""


class DoubleSumAggregator(_SumAggregator):
    """Adds up numbers."""

    zero = 0.0


class ConvergenceCriterion(Function):
    """Ends an iteration by looking at an aggregate."""

    @abstractmethod
    def is_converged(self, iteration: int, value: Any) -> bool:
        """Called in the driver after each superstep, with its number from 1 and the aggregate."""


class IterationRuntimeContext:
    """Where a function of an iteration runs: given by ``get_iteration_runtime_context()``."""

    def __init__(self, superstep: int, aggregators: dict[str, Aggregator], previous: dict[str, Any]) -> None:
        self._superstep = superstep
        self._aggregators = aggregators
        self._previous = previous

    def get_superstep_number(self) -> int:
        """Which superstep this is, from 1."""
        return self._superstep

    def get_iteration_aggregator(self, name: str) -> Aggregator:
        """The aggregator registered under this name, to add to."""
        if name not in self._aggregators:
            known = ", ".join(sorted(self._aggregators)) or "none"
            raise ConfigurationError(
                f"no aggregator {name!r} is registered with the iteration; there are: {known}. "
                "Call register_aggregator(name, aggregator) on the iteration"
            )
        return self._aggregators[name]

    def get_previous_iteration_aggregate(self, name: str) -> Any:
        """What the aggregator held after the superstep before; None in the first."""
        self.get_iteration_aggregator(name)
        return self._previous.get(name)

    def aggregates(self) -> dict[str, Any]:
        """For the runner: what the function has added to each aggregator in this superstep."""
        return {name: aggregator.get_aggregate() for name, aggregator in self._aggregators.items()}


class RuntimeContext(BaseRuntimeContext):
    """Where a function of a DataSet program runs: its task, broadcast sets, accumulators, iteration."""

    @abstractmethod
    def get_broadcast_variable(self, name: str) -> list[Any]:
        """All records of the data set that ``with_broadcast_set(data_set, name)`` gave to the step."""

    @abstractmethod
    def get_broadcast_variable_with_initializer(self, name: str, initializer: Callable[[Iterable[Any]], Any]) -> Any:
        """What ``initializer`` makes of these records, made once per task."""

    @abstractmethod
    def add_accumulator(self, name: str, accumulator: Accumulator) -> None:
        """Register an accumulator; the result of ``execute()`` has the sum of all tasks under this name."""

    @abstractmethod
    def get_accumulator(self, name: str) -> Accumulator:
        """The accumulator registered under this name."""

    @abstractmethod
    def get_int_counter(self, name: str) -> IntCounter:
        """A counter of this name, made if it is not there."""

    @abstractmethod
    def get_long_counter(self, name: str) -> LongCounter:
        """A counter of this name, made if it is not there."""

    @abstractmethod
    def get_double_counter(self, name: str) -> DoubleCounter:
        """A counter of this name, made if it is not there."""

    @abstractmethod
    def get_histogram(self, name: str) -> Histogram:
        """A histogram of this name, made if it is not there."""

    @abstractmethod
    def get_parameters(self) -> Any:
        """What ``with_parameters`` gave to the step."""

    @abstractmethod
    def get_iteration_runtime_context(self) -> IterationRuntimeContext:
        """The superstep and its aggregators; raises outside an iteration."""


class CallableFunction(Function):
    """A function object made of a plain callable, under the name of the method that it stands for."""

    def __init__(self, method: str, func: Callable[..., Any]) -> None:
        setattr(self, method, func)


def as_function(
    func: Any, where: str, kinds: tuple[type, ...], method: str, arity: int, emits: bool = True
) -> Function:
    """A function object out of one of these classes, or out of a plain callable."""
    names = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(func, kinds):
        given: Function = func  # type: ignore[assignment]
        return given
    if isinstance(func, type) and issubclass(func, kinds):
        raise ConfigurationError(f"{where}: this is the class {func.__name__}; give an instance: {func.__name__}()")
    if isinstance(func, Function) or not callable(func):
        raise ConfigurationError(f"{where}: expected a {names} or a callable, got {func!r:.100}")
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):
        return CallableFunction(method, func)
    for count in (arity, arity + 1) if emits else (arity,):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return CallableFunction(method, func)
    collector = ", or one more: the collector" if emits else ""
    raise ConfigurationError(
        f"{where}: expected a {names} or a function of {arity} argument{'s' if arity > 1 else ''}{collector}; "
        f"got {describe(func)}"
    )


def is_flat(func: Any, arity: int) -> bool:
    """Whether a callable gives any number of results: a generator function, or one that takes a collector."""
    return inspect.isgeneratorfunction(func) or takes_collector(func, arity)


# --- what functions leave as it is ------------------------------------------------------------------


def forwarded_fields(*expressions: str) -> Callable[[F], F]:
    """Say that a function of one input copies fields: ``"f0"`` to the same place, ``"f0->f2"`` to another.

    The optimizer then knows that records of a key are still together after the function::

        @forwarded_fields("f0")
        class Rounded(MapFunction):
            def map(self, value):
                return value[0], round(value[1])
    """
    return _annotate(0, expressions)


def forwarded_fields_first(*expressions: str) -> Callable[[F], F]:
    """The same for the first input of a join, co-group or cross function."""
    return _annotate(0, expressions)


def forwarded_fields_second(*expressions: str) -> Callable[[F], F]:
    """The same for the second input of a join, co-group or cross function."""
    return _annotate(1, expressions)


def _annotate(index: int, expressions: tuple[str, ...]) -> Callable[[F], F]:
    parsed = parse_forwarded(expressions)

    def mark(cls: F) -> F:
        cls.forwarded_input_fields = {**getattr(cls, "forwarded_input_fields", {}), index: parsed}  # type: ignore[attr-defined]
        return cls

    return mark


def parse_forwarded(expressions: Iterable[str]) -> dict[int | str, int | str]:
    """``("f0; f1->f2",)`` as ``{0: 0, 1: 2}``."""
    fields: dict[int | str, int | str] = {}
    for expression in expressions:
        for part in expression.split(";"):
            before, arrow, after = (word.strip() for word in part.partition("->"))
            if not before or (arrow and not after):
                raise ConfigurationError(
                    f"forwarded fields: {expression!r} is not of the form 'f0', 'f0->f1' or several of these with ;"
                )
            fields[_field(before)] = _field(after or before)
    return fields


def _field(name: str) -> int | str:
    digits = name[1:] if name[:1] == "f" else name
    return int(digits) if digits.isdigit() else name
