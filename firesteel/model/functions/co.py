"""Functions with two inputs: connected streams, joins and co-groups, and the choice of the input to read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.model.functions.base import Function
from firesteel.model.functions.process import ElementContext, KeyedElementContext
from firesteel.model.timers import TimeDomain


class CoMapFunction(Function):
    """Makes exactly one record out of each record of either input."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """Called once per record of the first input. No order between the inputs is promised."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """Called once per record of the second input."""


class CoFlatMapFunction(Function):
    """Makes any number of records out of each record of either input."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Called once per record of the first input: ``yield`` results; None means nothing.

        May also be written as ``flat_map1(self, value, out)`` and call ``out.collect(result)``.
        """

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Called once per record of the second input."""


class CoProcessFunction(Function):
    """Processes the records of two streams without keys: side outputs and time, but no state and no timers."""

    class Context(ElementContext):
        """What the two methods are given besides the record."""

        __slots__ = ()

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per record of the first input; emits like a ``ProcessFunction``."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per record of the second input."""


class KeyedCoProcessFunction(Function):
    """Processes the records of two streams keyed alike, which share state and timers per key."""

    class Context(KeyedElementContext):
        """What the two element methods are given besides the record."""

        __slots__ = ()

    class OnTimerContext(Context):
        """What :meth:`KeyedCoProcessFunction.on_timer` is given besides the timestamp."""

        __slots__ = ()

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Whether this is an event-time or a processing-time timer."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per record of the first input, with state scoped to its key; emits like a ``ProcessFunction``."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Called once per record of the second input, with the same state."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Called once per timer that was registered, with state scoped to the timer's key."""
        return None


class JoinFunction(Function):
    """Joins the pairs of a window join, one result each."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """Called once per pair of records with the same key in the same window."""


class FlatJoinFunction(Function):
    """Joins the pairs of a window join, any number of results each."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """Called once per pair; ``yield`` results, or take a third parameter ``out`` and call ``out.collect``."""


class CoGroupFunction(Function):
    """Processes all records of both inputs that have the same key in the same window."""

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """Called once per key and window; one of the two may be empty.

        ``yield`` results, or take a third parameter ``out`` and call ``out.collect``.
        """


class RichCoMapFunction(CoMapFunction):
    """Flink's name for a :class:`CoMapFunction` that uses ``open`` and ``close``."""


class RichCoFlatMapFunction(CoFlatMapFunction):
    """Flink's name for a :class:`CoFlatMapFunction` that uses ``open`` and ``close``."""


class RichJoinFunction(JoinFunction):
    """Flink's name for a :class:`JoinFunction` that uses ``open`` and ``close``."""


class RichFlatJoinFunction(FlatJoinFunction):
    """Flink's name for a :class:`FlatJoinFunction` that uses ``open`` and ``close``."""


class RichCoGroupFunction(CoGroupFunction):
    """Flink's name for a :class:`CoGroupFunction` that uses ``open`` and ``close``."""


class InputSelection:
    """Which inputs an :class:`InputSelectable` function wants to read next. Inputs are numbered from 1.

    >>> InputSelection.FIRST.is_input_selected(2)
    False
    """

    FIRST: InputSelection
    """Read the first input only."""
    SECOND: InputSelection
    """Read the second input only."""
    ALL: InputSelection
    """Read whichever input has data."""

    __slots__ = ("_inputs",)

    class Builder:
        """Collects the inputs to select."""

        def __init__(self) -> None:
            self._inputs: set[int] = set()

        def select(self, input_id: int) -> InputSelection.Builder:
            """Add an input, numbered from 1."""
            self._inputs.add(_checked_input(input_id))
            return self

        def build(self) -> InputSelection:
            """The selection; at least one input must have been added."""
            return InputSelection(*self._inputs)

    def __init__(self, *input_ids: int) -> None:
        if not input_ids:
            raise ConfigurationError(
                "InputSelection: no input was selected; select at least one of the inputs 1 and 2."
            )
        self._inputs = frozenset(_checked_input(input_id) for input_id in input_ids)

    def is_input_selected(self, input_id: int) -> bool:
        """Whether the input, numbered from 1, may be read."""
        return _checked_input(input_id) in self._inputs

    def are_all_inputs_selected(self) -> bool:
        """Whether both inputs may be read."""
        return len(self._inputs) == 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InputSelection) and other._inputs == self._inputs

    def __hash__(self) -> int:
        return hash(self._inputs)

    def __repr__(self) -> str:
        return f"InputSelection({', '.join(map(str, sorted(self._inputs)))})"


def _checked_input(input_id: int) -> int:
    if input_id not in (1, 2):
        raise ConfigurationError(f"InputSelection: there are the inputs 1 and 2, got {input_id!r}.")
    return input_id


InputSelection.FIRST = InputSelection(1)
InputSelection.SECOND = InputSelection(2)
InputSelection.ALL = InputSelection(1, 2)


class InputSelectable(ABC):
    """Mixed into a two-input function that decides which input is read next.

    Records of an input that is not selected wait. An input that has ended counts as not there: if only ended
    inputs are selected, the other one is read.
    """

    @abstractmethod
    def next_selection(self) -> InputSelection:
        """Called before the first record and after every record that the function has processed."""
