"""Window assigners: to which windows a record belongs."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firesteel.common.serializer import TypeSerializer
from firesteel.common.time import MIN_WATERMARK, TimeLength, to_milliseconds
from firesteel.common.typeinfo import Types
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.model.state import ValueStateDescriptor
from firesteel.model.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
)
from firesteel.model.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
    Window,
)

if TYPE_CHECKING:
    from firesteel.model.functions.base import RuntimeContext

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)  # for nested classes, which cannot use the variables of the outer one


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns each record to zero or more windows. One object serves all keys of a subtask."""

    class WindowAssignerContext(ABC):
        """What an assigner may know besides the record."""

        __slots__ = ()

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The processing time in milliseconds."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """The context of the window operator; its keyed state is scoped to the key of the record."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Called once per record; returns its windows. The caller must not change the collection.

        :param timestamp: The timestamp of the record; None if it has none.
        """

    @abstractmethod
    def get_default_trigger(self, env: Any = None) -> Trigger[T, W]:
        """The trigger that is used unless the program sets one. Called once, when the graph is built.

        :param env: The execution environment, for assigners whose trigger depends on its settings.
        """

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """How windows of this assigner are written as bytes."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows are evaluated and deleted by event time; False for processing time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may be merged, such as sessions."""

    class MergeCallback(ABC, Generic[W2]):
        """Is told which windows to merge."""

        @abstractmethod
        def merge(self, to_be_merged: Collection[W2], merge_result: W2) -> None:
            """Merge the windows ``to_be_merged`` into ``merge_result``."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Called with all windows of a key, whenever one is added: report those that are to be merged."""


class WindowStagger(Enum):
    """How the tumbling windows of different subtasks are shifted, so that not all of them fire at once."""

    ALIGNED = 0
    """Not at all: all subtasks have the same windows (the default)."""
    RANDOM = 1
    """By a random part of the window size, which a subtask keeps, also after a restart."""
    NATURAL = 2
    """So that a window of a subtask starts when its first record comes. Found anew after a restart."""

    def get_stagger_offset(self, current_processing_time: int, size: int, seed: str) -> int:
        """The shift of a subtask in milliseconds, from 0 to less than ``size``.

        :param current_processing_time: When the subtask's first record came.
        :param size: The window size in milliseconds.
        :param seed: Names the subtask; the same seed gives the same random shift.
        """
        if self is WindowStagger.ALIGNED:
            return 0
        if self is WindowStagger.RANDOM:
            return random.Random(seed).randrange(size)
        return current_processing_time % size


class _TimeWindows(WindowAssigner[Any, TimeWindow]):
    """What all assigners of time windows have."""

    _event_time: bool

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        return EventTimeTrigger() if self._event_time else ProcessingTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return self._event_time

    def _time_of(self, timestamp: int | None, context: WindowAssigner.WindowAssignerContext) -> int:
        if not self._event_time:
            return context.get_current_processing_time()
        if timestamp is None or timestamp <= MIN_WATERMARK:
            raise ProgramError(
                f"{self!r}: a record came without a timestamp, which event-time windows need. Call "
                "assign_timestamps_and_watermarks() before window(), with a WatermarkStrategy that has a "
                "with_timestamp_assigner(...), or use processing-time windows."
            )
        return timestamp


class _TumblingWindows(_TimeWindows):
    """Windows of a fixed size that do not overlap."""

    def __init__(self, size: int, offset: int = 0, window_stagger: WindowStagger = WindowStagger.ALIGNED) -> None:
        _check_size(self, "size", size)
        if abs(offset) >= size:
            raise ConfigurationError(
                f"{type(self).__name__}: abs(offset) must be less than size ({size}), got {offset}."
            )
        if not isinstance(window_stagger, WindowStagger):
            raise ConfigurationError(
                f"{type(self).__name__}: window_stagger must be a WindowStagger, got {window_stagger!r}."
            )
        self._size = size
        self._offset = offset
        self._stagger = window_stagger
        # Successive records mostly fall into the window of the one before.
        self._last: tuple[TimeWindow] | None = None
        self._shift: int | None = None

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        time = self._time_of(timestamp, context)
        last = self._last
        if last is not None and last[0][0] <= time < last[0][1]:
            return last
        if self._shift is None:
            self._shift = (self._offset + self._stagger_offset(context)) % self._size
        start = TimeWindow.get_window_start_with_offset(time, self._shift, self._size)
        self._last = last = (TimeWindow(start, start + self._size),)
        return last

    def _stagger_offset(self, context: WindowAssigner.WindowAssignerContext) -> int:
        if self._stagger is WindowStagger.ALIGNED:
            return 0
        seed = context.get_runtime_context().get_task_name_with_subtasks()
        return self._stagger.get_stagger_offset(context.get_current_processing_time(), self._size, seed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size})"


class TumblingEventTimeWindows(_TumblingWindows):
    """Event-time windows of a fixed size that follow each other.

    :param size: The size in milliseconds.
    :param offset: By how many milliseconds windows are shifted from the epoch; its absolute value is less
        than size.
    :param window_stagger: How the windows of different subtasks are shifted.
    """

    _event_time = True

    @staticmethod
    def of(
        size: TimeLength,
        offset: TimeLength | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingEventTimeWindows:
        """Windows of this size, such as ``TumblingEventTimeWindows.of(Time.hours(1), Time.minutes(15))``."""
        return TumblingEventTimeWindows(to_milliseconds(size), _optional(offset), window_stagger)


class TumblingProcessingTimeWindows(_TumblingWindows):
    """Processing-time windows of a fixed size that follow each other.

    :param size: The size in milliseconds.
    :param offset: By how many milliseconds windows are shifted from the epoch; its absolute value is less
        than size.
    :param window_stagger: How the windows of different subtasks are shifted.
    """

    _event_time = False

    @staticmethod
    def of(
        size: TimeLength,
        offset: TimeLength | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingProcessingTimeWindows:
        """Windows of this size, such as ``TumblingProcessingTimeWindows.of(Time.seconds(10))``."""
        return TumblingProcessingTimeWindows(to_milliseconds(size), _optional(offset), window_stagger)


class _SlidingWindows(_TimeWindows):
    """Windows of a fixed size, of which one starts every ``slide``."""

    def __init__(self, size: int, slide: int, offset: int = 0) -> None:
        _check_size(self, "size", size)
        _check_size(self, "slide", slide)
        if abs(offset) >= slide:
            raise ConfigurationError(
                f"{type(self).__name__}: abs(offset) must be less than slide ({slide}), got {offset}."
            )
        self._size = size
        self._slide = slide
        self._offset = offset
        # The windows of a record depend only on the last window start before it and on whether the earliest
        # window still contains it; the second varies only if size is no multiple of slide.
        self._last: tuple[TimeWindow, ...] = ()
        self._valid = (0, 0)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        time = self._time_of(timestamp, context)
        if self._valid[0] <= time < self._valid[1]:
            return self._last
        size, slide = self._size, self._slide
        newest = TimeWindow.get_window_start_with_offset(time, self._offset, slide)
        starts = range(newest, time - size, -slide)
        self._last = tuple([TimeWindow(start, start + size) for start in starts])
        # The same answer holds until the next window starts or the earliest of these windows ends, back to
        # where the newest started or the window before the earliest ended.
        earliest = newest - (len(starts) - 1) * slide
        self._valid = (max(newest, earliest - slide + size), min(newest + slide, earliest + size))
        return self._last

    @property
    def size(self) -> int:
        """The size of the windows in milliseconds."""
        return self._size

    @property
    def slide(self) -> int:
        """The time between the starts of two windows in milliseconds."""
        return self._slide

    @property
    def offset(self) -> int:
        """By how many milliseconds the windows are shifted from the epoch."""
        return self._offset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide})"


class SlidingEventTimeWindows(_SlidingWindows):
    """Event-time windows of a fixed size that overlap: a record belongs to about ``size / slide`` of them.

    :param size: The size in milliseconds.
    :param slide: The time between the starts of two windows in milliseconds.
    :param offset: By how many milliseconds windows are shifted from the epoch; its absolute value is less
        than slide.
    """

    _event_time = True

    @staticmethod
    def of(size: TimeLength, slide: TimeLength, offset: TimeLength | None = None) -> SlidingEventTimeWindows:
        """Windows of this size, one every ``slide``."""
        return SlidingEventTimeWindows(to_milliseconds(size), to_milliseconds(slide), _optional(offset))


class SlidingProcessingTimeWindows(_SlidingWindows):
    """Processing-time windows of a fixed size that overlap: a record belongs to about ``size / slide`` of them.

    :param size: The size in milliseconds.
    :param slide: The time between the starts of two windows in milliseconds.
    :param offset: By how many milliseconds windows are shifted from the epoch; its absolute value is less
        than slide.
    """

    _event_time = False

    @staticmethod
    def of(size: TimeLength, slide: TimeLength, offset: TimeLength | None = None) -> SlidingProcessingTimeWindows:
        """Windows of this size, one every ``slide``."""
        return SlidingProcessingTimeWindows(to_milliseconds(size), to_milliseconds(slide), _optional(offset))


class SessionWindowTimeGapExtractor(ABC):
    """Says for each record how long its session stays open without another one."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Called once per record; returns the gap in milliseconds, which must be positive."""


class _SessionWindows(_TimeWindows, MergingWindowAssigner[Any, TimeWindow]):
    """Windows that stay open as long as records keep coming."""

    @abstractmethod
    def _gap_of(self, element: Any) -> int:
        """How long the record keeps its session open."""

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        time = self._time_of(timestamp, context)
        return (TimeWindow(time, time + self._gap_of(element)),)

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


class _FixedGapSessions(_SessionWindows):
    def __init__(self, session_gap: int) -> None:
        _check_size(self, "session_gap", session_gap)
        self._session_gap = session_gap

    def _gap_of(self, element: Any) -> int:
        return self._session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class _DynamicGapSessions(_SessionWindows):
    def __init__(
        self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength]
    ) -> None:
        extractor = session_window_time_gap_extractor
        if isinstance(extractor, SessionWindowTimeGapExtractor):
            self._extract: Callable[[Any], TimeLength] = extractor.extract
        elif callable(extractor) and not isinstance(extractor, type):
            self._extract = extractor
        else:
            raise ConfigurationError(
                f"{type(self).__name__}: the gap extractor must be a SessionWindowTimeGapExtractor or a "
                f"function of one record, got {extractor!r}."
            )

    def _gap_of(self, element: Any) -> int:
        gap = to_milliseconds(self._extract(element))
        if gap <= 0:
            raise ProgramError(
                f"{self!r}: the session gap of a record must be positive, got {gap} ms for {element!r:.200}."
            )
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class DynamicEventTimeSessionWindows(_DynamicGapSessions):
    """Event-time sessions whose gap depends on the record.

    :param session_window_time_gap_extractor: An extractor, or a callable from record to gap.
    """

    _event_time = True

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength],
    ) -> DynamicEventTimeSessionWindows:
        """Sessions with this gap extractor."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGapSessions):
    """Processing-time sessions whose gap depends on the record.

    :param session_window_time_gap_extractor: An extractor, or a callable from record to gap.
    """

    _event_time = False

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength],
    ) -> DynamicProcessingTimeSessionWindows:
        """Sessions with this gap extractor."""
        return DynamicProcessingTimeSessionWindows(extractor)


class EventTimeSessionWindows(_FixedGapSessions):
    """Event-time sessions: a window ends when no record has come for ``session_gap``.

    :param session_gap: The gap in milliseconds.
    """

    _event_time = True

    @staticmethod
    def with_gap(size: TimeLength) -> EventTimeSessionWindows:
        """Sessions with a fixed gap."""
        return EventTimeSessionWindows(to_milliseconds(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength],
    ) -> DynamicEventTimeSessionWindows:
        """Sessions whose gap depends on the record."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedGapSessions):
    """Processing-time sessions: a window ends when no record has come for ``session_gap``.

    :param session_gap: The gap in milliseconds.
    """

    _event_time = False

    @staticmethod
    def with_gap(size: TimeLength) -> ProcessingTimeSessionWindows:
        """Sessions with a fixed gap."""
        return ProcessingTimeSessionWindows(to_milliseconds(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength],
    ) -> DynamicProcessingTimeSessionWindows:
        """Sessions whose gap depends on the record."""
        return DynamicProcessingTimeSessionWindows(extractor)


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """One window per key for all records. It never fires unless a trigger is set.

    :param default_trigger: The trigger that is used unless the program sets one; one that never fires if
        None.
    """

    def __init__(self, default_trigger: Trigger[Any, Any] | None = None) -> None:
        self._default_trigger = default_trigger or NeverTrigger()
        self._windows = (GlobalWindow.get(),)

    @staticmethod
    def create() -> GlobalWindows:
        """The global window; it needs a trigger to be of use."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """The global window, evaluated once when all input has ended."""
        return GlobalWindows(EndOfStreamTrigger())

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        return self._windows

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        return self._default_trigger

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _CountWindows(WindowAssigner[Any, CountWindow]):
    """Windows of a number of records; the records of each key are counted in keyed state."""

    def __init__(self, window_size: int, state_name: str) -> None:
        _check_size(self, "window_size", window_size)
        self._window_size = window_size
        self._count = ValueStateDescriptor(state_name, Types.LONG())

    def _take_number(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """The number of this record among those of its key, from 0."""
        counter = context.get_runtime_context().get_state(self._count)
        number: int = counter.value() or 0
        counter.update(number + 1)
        return number

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        # A full window takes no more records, so its contents need not be kept after it has fired.
        return PurgingTrigger(CountTrigger(self._window_size))

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(_CountWindows):
    """Windows of ``window_size`` records of a key that follow each other; a window fires when it is full.

    :param window_size: The number of records.
    """

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size, "tumble-count-assigner")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Windows of this many records."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        return (CountWindow(self._take_number(context) // self._window_size),)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountWindows):
    """Windows of ``window_size`` records of a key, one of which starts every ``window_slide`` records.

    :param window_size: The number of records of a window.
    :param window_slide: The number of records between the starts of two windows.
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size, "slide-count-assigner")
        _check_size(self, "window_slide", window_slide)
        self._window_slide = window_slide

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Windows of this many records, one every ``window_slide`` records."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        number = self._take_number(context)
        newest = number // self._window_slide
        # Window i holds the records from i * slide to i * slide + size - 1.
        oldest = max(0, (number - self._window_size) // self._window_slide + 1)
        return [CountWindow(window_id) for window_id in range(newest, oldest - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"


def _check_size(assigner: object, argument: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{type(assigner).__name__}: {argument} must be an int of at least 1, got {value!r}.")


def _optional(offset: TimeLength | None) -> int:
    return 0 if offset is None else to_milliseconds(offset)
