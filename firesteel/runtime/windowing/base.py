"""What all window operators share: the life of the functions, late records, evaluation and emission."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.model.assigners import MergingWindowAssigner
from firesteel.model.functions import Function
from firesteel.model.output_tag import OutputTag
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.emission import results_of
from firesteel.runtime.operator import OperatorContext
from firesteel.runtime.user_function import FunctionOperator
from firesteel.runtime.windowing.contents import Fold
from firesteel.runtime.windowing.contexts import AssignerContext, FunctionContext, WindowStateStore
from firesteel.runtime.windowing.evaluation import Clear, Evaluate, evaluation_of
from firesteel.runtime.windowing.namespaces import Namespaces
from firesteel.runtime.windowing.spec import WindowSpec
from firesteel.state.backend import KeyedStateBackend, KeyScope

LATE_RECORDS_DROPPED = "numLateRecordsDropped"


class WindowOperatorBase(FunctionOperator):
    """A window operator without a way to keep windows: subclasses say where contents are and when they fire.

    :ivar place: The key and window in work, as the entry key of state that belongs to a window.
    """

    backend: KeyedStateBackend
    scope: KeyScope

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec.fold if spec.function is None else spec.function)
        self.spec = spec
        self.fold = None if spec.fold is None else Fold(spec.fold)
        self.event_time = spec.assigner.is_event_time()
        self.namespaces = Namespaces(spec.assigner)
        self.place = KeyScope()
        self._fold_opened = False
        self._evaluate: Evaluate | None = None
        self._clear_function: Clear | None = None
        self._values: list[Any] = []
        self._timestamps: list[int] = []

    def setup(self, context: OperatorContext) -> None:
        """Find the state backend."""
        super().setup(context)
        assert context.keyed_state is not None
        self.backend = context.keyed_state
        self.scope = context.keyed_state.scope

    def open(self) -> None:
        """Open the functions, and make what they are given."""
        super().open()
        fold, function = self.spec.fold, self.spec.function
        if function is not None:
            self._evaluate, self._clear_function = evaluation_of(function, self._make_context, self.own)
            if isinstance(fold, Function):
                fold.set_runtime_context(self.runtime_context)
                self._fold_opened = True
                fold.open(self.runtime_context)
        self.assigner_context = AssignerContext(self, self.runtime_context)
        self._late_dropped = self.context.metrics.counter(LATE_RECORDS_DROPPED)

    def _make_context(self, kind: type[FunctionContext]) -> FunctionContext:
        merging = isinstance(self.spec.assigner, MergingWindowAssigner)
        window_state = None if merging else WindowStateStore(self.backend, self.place)
        return kind(self, self.side, self.runtime_context, window_state)

    def advance_watermark(self, watermark: int) -> None:
        """Fire what is due in event time, then pass the watermark on."""
        self.watermark = watermark
        self.fire_event_time(watermark)
        self.flush()
        if not self.event_time_due(watermark):
            self.output.emit_watermark(watermark)

    def event_time_due(self, watermark: int) -> bool:
        """Whether something that should have fired is left: see :func:`~firesteel.runtime.contexts.due_timers`."""
        return False

    def end_key(self) -> None:
        """Fire all windows of the key."""
        self.watermark = MAX_WATERMARK
        self.fire_event_time(MAX_WATERMARK)
        self.fire_processing_time(MAX_WATERMARK)
        self.flush()
        self.watermark = MIN_WATERMARK

    def advance_processing_time(self, now: int) -> None:
        """Fire what ended before now.

        Not what ends now: records that come in this very millisecond still belong to it, and a window fires once.
        """
        self.fire_processing_time(now - 1)
        self.flush()

    def next_processing_timer(self) -> int | None:
        """When the driver must start an epoch for us."""
        due = self.next_processing_time()
        return None if due is None else due + 1

    @abstractmethod
    def fire_event_time(self, watermark: int) -> None:
        """The watermark has advanced."""

    @abstractmethod
    def fire_processing_time(self, now: int) -> None:
        """Processing time has advanced."""

    @abstractmethod
    def next_processing_time(self) -> int | None:
        """The processing time at which something is due next."""

    @property
    def has_no_function(self) -> bool:
        """Whether the contents are emitted as they are: they are copied then, and nobody changes them before."""
        return self._evaluate is None

    # ---- for subclasses ----------------------------------------------------------------------------------------

    def cleanup_time(self, window: Any) -> int:
        """When the window is deleted, in the time domain of the assigner."""
        end: int = window.max_timestamp()
        return min(end + self.spec.allowed_lateness, MAX_WATERMARK) if self.event_time else end

    def drop_late(self, value: Any, timestamp: int | None) -> None:
        """A record has come too late for all of its windows."""
        if self.spec.late_tag is not None:
            self.side.add(self.spec.late_tag, value, timestamp)
        else:
            self._late_dropped.inc()

    def evaluate(self, key: Any, window: Any, namespace: Any, elements: Sequence[Any]) -> None:
        """Call the window function, with key and window in scope, and take its results."""
        timestamp = window.max_timestamp()
        if self._evaluate is None:
            self.emit_results(elements, timestamp)
            return
        self.scope.key = key
        self.place.key = (key, namespace)
        results = self._evaluate(key, window, elements)
        if results is not None:
            self._collect(results_of(results), timestamp)

    def evaluate_folded(self, window: Any, namespace: Any, accumulators: dict[Any, Any]) -> None:
        """A window of several keys fires and is deleted: call the function for each key."""
        assert self.fold is not None
        scope, result_of = self.scope, self.fold.result_of
        if self._evaluate is None:
            own, values = self.own, self._values
            before = len(values)
            values.extend(
                [
                    own(result)
                    for scope.key, accumulator in accumulators.items()
                    if (result := result_of(accumulator)) is not None
                ]
            )
            self._timestamps.extend(repeat(window.max_timestamp(), len(values) - before))
            return
        for key, accumulator in accumulators.items():
            scope.key = key
            result = result_of(accumulator)
            if result is not None:
                self.evaluate(key, window, namespace, (result,))
            self.clear_function(key, window, namespace)

    def emit_results(self, results: Iterable[Any], timestamp: int) -> None:
        """Emit what a fold has made. None is no result, as in Flink."""
        values, own = self._values, self.own
        before = len(values)
        values.extend([own(result) for result in results if result is not None])
        self._timestamps.extend(repeat(timestamp, len(values) - before))

    def clear_function(self, key: Any, window: Any, namespace: Any) -> None:
        """A window is deleted: let the function clear its state."""
        if self._clear_function is not None:
            self.scope.key = key
            self.place.key = (key, namespace)
            self._clear_function(window)

    def _collect(self, results: Iterable[Any], timestamp: int) -> None:
        values = self._values
        before = len(values)
        for result in results:
            if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                self.side.add(result[0], result[1], timestamp)
            else:
                values.append(self.own(result))
        self._timestamps.extend(repeat(timestamp, len(values) - before))

    def flush(self) -> None:
        """Send on what has been emitted."""
        self.side.flush(self.output)
        if self._values:
            batch = RowBatch(self._values, self._timestamps)
            self._values, self._timestamps = [], []
            self.output.emit(batch)

    def close(self) -> None:
        """Close the functions."""
        super().close()
        if self._fold_opened and isinstance(self.spec.fold, Function):
            self._fold_opened = False
            self.spec.fold.close()
