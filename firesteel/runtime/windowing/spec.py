"""What a window operator is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.model.assigners import WindowAssigner
from firesteel.model.evictors import Evictor
from firesteel.model.functions import AggregateFunction, Function, ReduceFunction
from firesteel.model.output_tag import OutputTag
from firesteel.model.triggers import Trigger


@dataclass(frozen=True)
class WindowSpec:
    """The parts that are plugged into a window operator.

    :param fold: Keeps one value per key and window instead of all records; None: the records are kept.
    :param function: Sees the contents when a window fires; None: what ``fold`` has made is the result.
    :param allowed_lateness: For how many milliseconds after its end a window takes late records.
    :param order_matters: The fold gives another result for another order of records, so that windows which overlap
        cannot share parts of it.
    :param late_tag: The side output for records that come too late; None: they are counted and dropped.
    """

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    fold: ReduceFunction | AggregateFunction | None = None
    function: Function | None = None
    evictor: Evictor[Any, Any] | None = None
    allowed_lateness: int = 0
    late_tag: OutputTag | None = None
    order_matters: bool = False
