"""A step's function in a task: its runtime context, its life, and what goes wrong in it."""

from __future__ import annotations

import base64
import copy
import gc
import pickle
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from firesteel.dataset.accumulators import Accumulator, DoubleCounter, Histogram, IntCounter, LongCounter
from firesteel.dataset.functions import Aggregator, IterationRuntimeContext, RuntimeContext
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.execution.worker_plan import main_classes
from firesteel.metrics import MetricGroup
from firesteel.model.functions import Function
from firesteel.plan.serialization import pickle_for_workers
from firesteel.runtime.contexts import SubtaskRuntimeContext
from firesteel.runtime.failure import OperatorFailure, OperatorInfo
from firesteel.runtime.operator import Clock, OperatorContext, Output
from firesteel.state.operator_state import OperatorStateBackend

_A = TypeVar("_A", bound=Accumulator)
_PROCESS = uuid.uuid4().hex
"""Tells the driver from its workers: in the driver itself, modules and classes are there already."""
_COLLECTION = (100_000, 20, 20)
"""When a worker looks for circles of garbage. Tasks make millions of records without any, and to look after every few
hundred, as Python does, costs a third of their time."""
_BEGIN, _END = "<<firesteel-failure:", ":firesteel-failure>>"


@dataclass(frozen=True)
class Superstep:
    """Where an iteration is: the number of the superstep, and what aggregators held after the one before."""

    number: int
    aggregators: dict[str, Aggregator] = field(default_factory=dict)
    previous: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskSettings:
    """What every task of a step knows. Sent with the step's code."""

    info: OperatorInfo
    step: int
    tasks: int
    broadcast: dict[str, Any] = field(default_factory=dict)
    """Name -> a Spark broadcast of all records of a data set."""
    parameters: Any = None
    job_parameters: dict[str, str] = field(default_factory=dict)
    superstep: Superstep | None = None
    channel: Any = None
    """The Spark accumulator through which a task's accumulators and aggregators reach the driver."""
    memory: int = 1 << 28
    """Bytes of pickled records that a task holds before it writes to disk."""
    phase: int = 0
    """Tells the parts of a step apart that run its function in different tasks: before an exchange, and after it."""


class TaskContext(SubtaskRuntimeContext, RuntimeContext):
    """The runtime context of a function in a task."""

    def __init__(self, settings: TaskSettings, index: int) -> None:
        super().__init__(_operator_context(settings, index))
        self._settings = settings
        self._index = index
        self._accumulators: dict[str, Accumulator] = {}
        self._made: dict[str, Any] = {}
        self._iteration = _iteration(settings.superstep)

    def get_broadcast_variable(self, name: str) -> list[Any]:
        """All records of a broadcast set."""
        if name not in self._settings.broadcast:
            known = ", ".join(sorted(self._settings.broadcast)) or "none"
            raise ConfigurationError(
                f"{self.get_task_name()!r} has no broadcast set {name!r}; it has: {known}. "
                "Call with_broadcast_set(data_set, name) on the step whose function asks for it"
            )
        records: list[Any] = self._settings.broadcast[name].value
        return records

    def get_broadcast_variable_with_initializer(self, name: str, initializer: Callable[[Iterable[Any]], Any]) -> Any:
        """What the initializer makes of a broadcast set."""
        if name not in self._made:
            self._made[name] = initializer(self.get_broadcast_variable(name))
        return self._made[name]

    def add_accumulator(self, name: str, accumulator: Accumulator) -> None:
        """Register an accumulator."""
        if name in self._accumulators:
            raise ProgramError(f"{self.get_task_name()!r} has an accumulator {name!r} already")
        self._accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator:
        """A registered accumulator."""
        if name not in self._accumulators:
            raise ProgramError(f"{self.get_task_name()!r} has no accumulator {name!r}: call add_accumulator in open()")
        return self._accumulators[name]

    def get_int_counter(self, name: str) -> IntCounter:
        """A counter."""
        return self._get(name, IntCounter)

    def get_long_counter(self, name: str) -> LongCounter:
        """A counter."""
        return self._get(name, LongCounter)

    def get_double_counter(self, name: str) -> DoubleCounter:
        """A counter."""
        return self._get(name, DoubleCounter)

    def get_histogram(self, name: str) -> Histogram:
        """A histogram."""
        return self._get(name, Histogram)

    def _get(self, name: str, kind: type[_A]) -> _A:
        found = self._accumulators.setdefault(name, kind())
        if not isinstance(found, kind):
            raise ProgramError(f"accumulator {name!r} is a {type(found).__name__}, not a {kind.__name__}")
        return found

    def get_parameters(self) -> Any:
        """What ``with_parameters`` gave."""
        return self._settings.parameters

    def get_iteration_runtime_context(self) -> IterationRuntimeContext:
        """The superstep."""
        if self._iteration is None:
            raise ProgramError(f"{self.get_task_name()!r} is not part of an iteration")
        return self._iteration

    def report(self) -> None:
        """Send accumulators and aggregates to the driver: once, when the task has done its work."""
        superstep = self._settings.superstep
        aggregates = {} if self._iteration is None else self._iteration.aggregates()
        if self._accumulators or aggregates:
            number = 0 if superstep is None else superstep.number
            place = (self._settings.step, number, self._index, self._settings.phase)
            self._settings.channel.add({place: (self._accumulators, aggregates)})


def _iteration(superstep: Superstep | None) -> IterationRuntimeContext | None:
    if superstep is None:
        return None
    own = copy.deepcopy(superstep.aggregators)  # steps that run in one task are sent together, and share what they hold
    for aggregator in own.values():
        aggregator.reset()
    return IterationRuntimeContext(superstep.number, own, superstep.previous)


def _operator_context(settings: TaskSettings, index: int) -> OperatorContext:
    return OperatorContext(
        info=settings.info,
        subtask_index=index,
        parallelism=settings.tasks,
        max_parallelism=settings.tasks,
        attempt=0,
        clock=Clock(),
        output=Output(),
        metrics=MetricGroup(),
        operator_state=OperatorStateBackend(),
        job_parameters=settings.job_parameters,
    )


def run_task(
    settings: TaskSettings,
    index: int,
    function: Any,
    work: Callable[[Iterator[Any]], Iterable[Any]],
    records: Iterator[Any],
) -> Iterator[Any]:
    """Do a step's work in a task, with its function open. What goes wrong names the step and the user's line."""
    context = TaskContext(settings, index)
    opened = False
    try:
        if isinstance(function, Function):
            function.set_runtime_context(context)
            opened = True
            function.open(context)
        yield from work(iter(records))  # Spark gives ranges as they are
    except (OperatorFailure, GeneratorExit):
        raise
    except Exception as error:
        if _BEGIN in str(error):  # of a step before this one
            raise
        raise StepFailedError(OperatorFailure.of(settings.info, error)) from error
    finally:
        if opened:
            function.close()
    if opened:
        context.report()


class Packed:
    """Code of the user on its way to the tasks: pickled here, so that what cannot be is named, and loaded there.

    A task finds the modules of the program, and the classes of its main script, as the driver does.
    """

    def __init__(self, value: Any, info: OperatorInfo) -> None:
        self._data = pickle_for_workers(value, f"step {info.name!r}", info.call_site)
        self._search_path = [entry for entry in sys.path if entry]
        self._main_classes = main_classes()
        self._process = _PROCESS

    def load(self) -> Any:
        """Unpack it, in a task: a copy of its own."""
        if self._process != _PROCESS:
            gc.set_threshold(*_COLLECTION)
            sys.path.extend(entry for entry in self._search_path if entry not in sys.path)
            main = sys.modules["__main__"]
            for name, cls in pickle.loads(self._main_classes).items():
                setattr(main, name, cls)
        return pickle.loads(self._data)


class StepFailedError(Exception):
    """Carries a failure through Spark, which passes on nothing but text."""

    def __init__(self, failure: OperatorFailure) -> None:
        packed = base64.b85encode(pickle.dumps(failure)).decode()
        super().__init__(f"{_BEGIN}{packed}{_END}\n{failure.describe()}")


def failure_in(text: str) -> OperatorFailure | None:
    """The failure of a step in what Spark says, if there is one."""
    begin = text.find(_BEGIN)
    end = text.find(_END, begin)
    if begin < 0 or end < 0:
        return None
    failure = pickle.loads(base64.b85decode(text[begin + len(_BEGIN) : end]))
    return failure if isinstance(failure, OperatorFailure) else None
