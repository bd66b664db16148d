"""Operators with two inputs: co-map, co-flat-map and co-process, with and without keys."""

from __future__ import annotations

from collections import deque
from typing import Any

from firesteel.model.functions import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction
from firesteel.model.functions.adapt import emitting
from firesteel.runtime.basic import MapCall, flat_map_batch
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.contexts import UnkeyedTimerService
from firesteel.runtime.operator import Guard, Operator, OperatorContext
from firesteel.runtime.process import ElementContext, KeyedElementContext, TimerFiring, run_elements
from firesteel.runtime.user_function import FunctionOperator
from firesteel.state.key_groups import subtask_of_key


class CoMapOperator(FunctionOperator):
    """Exactly one result per record of either input."""

    def __init__(self, function: CoMapFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Find out how the function is called."""
        super().open()
        self._first, self._second = MapCall(self, "map1"), MapCall(self, "map2")

    def process(self, batch: RowBatch) -> None:
        """Records of the first input."""
        self._first.run(self, batch)

    def process_second(self, batch: RowBatch) -> None:
        """Records of the second input."""
        self._second.run(self, batch)


class CoFlatMapOperator(FunctionOperator):
    """Any number of results per record of either input."""

    def __init__(self, function: CoFlatMapFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Find out which style the function is written in."""
        super().open()
        self._first = emitting(self.function, "flat_map1", 1, self.own)
        self._second = emitting(self.function, "flat_map2", 1, self.own)

    def process(self, batch: RowBatch) -> None:
        """Records of the first input."""
        flat_map_batch(self, self._first, batch)

    def process_second(self, batch: RowBatch) -> None:
        """Records of the second input."""
        flat_map_batch(self, self._second, batch)


class CoProcessOperator(FunctionOperator):
    """A process function with two inputs without keys."""

    def __init__(self, function: CoProcessFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Make the context."""
        self._element_context = ElementContext(UnkeyedTimerService(self), self.side)
        super().open()
        self._first = emitting(self.function, "process_element1", 2, self.own)
        self._second = emitting(self.function, "process_element2", 2, self.own)

    def process(self, batch: RowBatch) -> None:
        """Records of the first input."""
        self.cursor = iter(batch.values)
        run_elements(self, self._first, self._element_context, None, batch)

    def process_second(self, batch: RowBatch) -> None:
        """Records of the second input."""
        self.cursor = iter(batch.values)
        run_elements(self, self._second, self._element_context, None, batch)


class CoKeyedElementContext(KeyedElementContext, KeyedCoProcessFunction.OnTimerContext):
    """The context of the record or timer in work, of either input."""


class KeyedCoProcessOperator(TimerFiring):
    """A process function with two inputs that share keyed state and timers."""

    def __init__(self, function: KeyedCoProcessFunction) -> None:
        super().__init__(function)

    def open(self) -> None:
        """Find out which style the function is written in."""
        super().open()
        self._first = emitting(self.function, "process_element1", 2, self.own)
        self._second = emitting(self.function, "process_element2", 2, self.own)

    def make_context(self) -> Any:
        """The context object that the function is given."""
        return CoKeyedElementContext(self.timers, self.side, self.scope)

    def process(self, batch: RowBatch) -> None:
        """Records of the first input."""
        self.cursor = iter(batch.values)
        run_elements(self, self._first, self.element_context, self.scope, batch)

    def process_second(self, batch: RowBatch) -> None:
        """Records of the second input."""
        self.cursor = iter(batch.values)
        run_elements(self, self._second, self.element_context, self.scope, batch)


class InputSelectingOperator(Operator):
    """Lets a two-input function choose which input it reads (``InputSelectable``).

    What comes on the other input waits here, and is part of the snapshot. A watermark waits until nothing else does.
    """

    takes_sorted_input = False  # the function says itself which input comes first

    def __init__(self, inner: FunctionOperator) -> None:
        self.inner = inner
        self._waiting: tuple[deque[Any], deque[Any]] = (deque(), deque())
        self._ended = [False, False]
        self._pending_watermark: int | None = None

    def setup(self, context: OperatorContext) -> None:
        """Both operators share the context."""
        super().setup(context)
        self.inner.setup(context)
        self._guard = Guard(context.info, self.inner)

    def restore(self, states: list[Any]) -> None:
        """Take back the records that were waiting."""
        for first, second, ended, pending in states:
            self._waiting[0].extend(item for item in first if self._owns(item[2]))
            self._waiting[1].extend(item for item in second if self._owns(item[2]))
            self._ended = list(ended)
            self._pending_watermark = pending

    def _owns(self, key: Any) -> bool:
        """After rescaling: whether a waiting record belongs here. Records without keys stay with the first subtask."""
        context = self.context
        if not context.rescaled:
            return True
        if context.keyed_state is None:
            return context.subtask_index == 0
        return subtask_of_key(key, context.parallelism, context.max_parallelism) == context.subtask_index

    def open(self) -> None:
        """Open the function."""
        self.inner.open()

    def process(self, batch: RowBatch) -> None:
        """Records of the first input."""
        self._enqueue(0, batch)

    def process_second(self, batch: RowBatch) -> None:
        """Records of the second input."""
        self._enqueue(1, batch)

    def _enqueue(self, index: int, batch: RowBatch) -> None:
        count = len(batch)
        nothing: list[Any] = [None] * count
        self._waiting[index].extend(zip(batch.values, batch.timestamps or nothing, batch.keys or nothing))
        self._drain()

    def _drain(self) -> None:
        index = self._next_input()
        while index is not None:
            value, stamp, key = self._waiting[index].popleft()
            batch = RowBatch([value], None if stamp is None else [stamp], [key])
            self._guard.run(self.inner.process if index == 0 else self.inner.process_second, batch)
            index = self._next_input()
        if self._pending_watermark is not None and not any(self._waiting):
            watermark, self._pending_watermark = self._pending_watermark, None
            self.watermark = watermark
            self.inner.advance_watermark(watermark)

    def _next_input(self) -> int | None:
        """The input to read a record from now: one that is selected and has records; None if there is none.

        Once a selected input has ended, the other one is read, as nothing else can come.
        """
        selection = self.inner.function.next_selection()
        for index in (0, 1):
            other = 1 - index
            wanted = selection.is_input_selected(index + 1) or (self._ended[other] and not self._waiting[other])
            if wanted and self._waiting[index]:
                return index
        return None

    def advance_watermark(self, watermark: int) -> None:
        """Hold the watermark back while records wait."""
        self._pending_watermark = watermark
        self._drain()

    def advance_processing_time(self, now: int) -> None:
        """Fire the function's timers."""
        self.inner.advance_processing_time(now)

    def next_processing_timer(self) -> int | None:
        """When the function's next timer is due."""
        return self.inner.next_processing_timer()

    def end_input(self, input_index: int) -> None:
        """One input has ended: what waits on the other may be read."""
        self._ended[input_index] = True
        self._drain()
        self.inner.end_input(input_index)

    def finish(self) -> None:
        """Everything has been read."""
        self.inner.finish()

    def before_snapshot(self, checkpoint_id: int) -> None:
        """Let the function bring its state up to date."""
        self.inner.before_snapshot(checkpoint_id)

    def snapshot(self) -> Any | None:
        """The records that wait."""
        return (list(self._waiting[0]), list(self._waiting[1]), tuple(self._ended), self._pending_watermark)

    def checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tell the function."""
        self.inner.checkpoint_complete(checkpoint_id)

    def close(self) -> None:
        """Close the function."""
        self.inner.close()
