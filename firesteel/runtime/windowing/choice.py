"""Which window operator does what a specification asks for, in the quickest way."""

from __future__ import annotations

from firesteel.model.assigners import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.model.functions import AggregateFunction, ReduceFunction
from firesteel.model.functions.adapt import has_merge
from firesteel.model.triggers import EventTimeTrigger, ProcessingTimeTrigger
from firesteel.runtime.windowing.aligned import AlignedRecordsOperator, AlignedWindowOperator
from firesteel.runtime.windowing.base import WindowOperatorBase
from firesteel.runtime.windowing.merging import MergingWindowOperator
from firesteel.runtime.windowing.operator import WindowOperator
from firesteel.runtime.windowing.panes import PaneWindowOperator
from firesteel.runtime.windowing.sessions import SessionWindowOperator
from firesteel.runtime.windowing.spec import WindowSpec

_TUMBLING = (TumblingEventTimeWindows, TumblingProcessingTimeWindows)
_SLIDING = (SlidingEventTimeWindows, SlidingProcessingTimeWindows)
_SESSIONS = (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
)


def make_window_operator(spec: WindowSpec) -> WindowOperatorBase:
    """Make the operator: a factory for the graph is ``partial(make_window_operator, spec)``."""
    return operator_class(spec)(spec)


def operator_class(spec: WindowSpec) -> type[WindowOperatorBase]:
    """The class of the operator for a specification."""
    if _is_plain(spec):
        kind = type(spec.assigner)  # not isinstance: a subclass may assign in its own way
        if kind in _TUMBLING:
            return AlignedRecordsOperator if spec.fold is None else AlignedWindowOperator
        if kind in _SESSIONS:
            return SessionWindowOperator
        if kind in _SLIDING and _can_use_panes(spec):
            return PaneWindowOperator
    return MergingWindowOperator if isinstance(spec.assigner, MergingWindowAssigner) else WindowOperator


def _is_plain(spec: WindowSpec) -> bool:
    """Whether windows fire once, at their end, and are then deleted."""
    usual_trigger = EventTimeTrigger if spec.assigner.is_event_time() else ProcessingTimeTrigger
    return type(spec.trigger) is usual_trigger and spec.evictor is None and spec.allowed_lateness == 0


def _can_use_panes(spec: WindowSpec) -> bool:
    """Whether windows overlap, and values of the fold can be merged in any order."""
    assigner, fold = spec.assigner, spec.fold
    assert isinstance(assigner, _SLIDING)
    if assigner.slide >= assigner.size or spec.order_matters:
        return False
    return isinstance(fold, ReduceFunction) or (isinstance(fold, AggregateFunction) and has_merge(fold))
