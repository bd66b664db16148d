"""The interval join: pairs of records with the same key whose timestamps are within bounds of each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.common.time import MIN_WATERMARK
from firesteel.errors import ProgramError
from firesteel.model.functions import ProcessJoinFunction
from firesteel.model.functions.adapt import emitting
from firesteel.model.output_tag import OutputTag
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.emission import SideBuffer, results_of
from firesteel.runtime.operator import OperatorContext
from firesteel.runtime.user_function import FunctionOperator
from firesteel.state.backend import KeyedStateBackend, map_table
from firesteel.state.tables import MapTable
from firesteel.state.timers import TimerQueue

_LEFT, _RIGHT = 0, 1


@dataclass(frozen=True)
class JoinBounds:
    """Which pairs are joined: ``left + lower <= right <= left + upper``, in milliseconds.

    :param left_late_tag: The side output for left records that come too late; None: they are dropped.
    :param right_late_tag: The same for right records.
    """

    lower: int
    upper: int
    left_late_tag: OutputTag | None = None
    right_late_tag: OutputTag | None = None


class PairContext(ProcessJoinFunction.Context):
    """The context of the pair in work."""

    __slots__ = ("_side", "left_timestamp", "right_timestamp")

    def __init__(self, side: SideBuffer) -> None:
        self._side = side
        self.left_timestamp = 0
        self.right_timestamp = 0

    def get_left_timestamp(self) -> int:
        """The timestamp of the left record."""
        return self.left_timestamp

    def get_right_timestamp(self) -> int:
        """The timestamp of the right record."""
        return self.right_timestamp

    def get_timestamp(self) -> int:
        """The larger one of both."""
        return max(self.left_timestamp, self.right_timestamp)

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Send a record to a side output."""
        self._side.add(output_tag, value, self.get_timestamp())


@dataclass
class _Buffer:
    """The records of one side, per key and timestamp, until no partner can come any more.

    :param reach: From how far before to how far after a record's timestamp its partners may be.
    :param kept_for: How long after its timestamp a record is needed.
    """

    table: MapTable
    side: int
    reach: tuple[int, int]
    kept_for: int
    late_tag: OutputTag | None


class IntervalJoinOperator(FunctionOperator):
    """Joins two keyed streams in event time.

    A record waits in the buffer of its side for as long as a partner may come; an event-time timer per timestamp
    deletes it. A record behind the watermark is late: its partners may be gone.
    """

    def __init__(self, function: ProcessJoinFunction, bounds: JoinBounds) -> None:
        super().__init__(function)
        self._bounds = bounds

    def setup(self, context: OperatorContext) -> None:
        """Declare buffers and timers."""
        super().setup(context)
        backend, bounds = context.keyed_state, self._bounds
        assert backend is not None
        self._backend: KeyedStateBackend = backend
        self._timers: TimerQueue = backend.timers("_join/event-time")
        self._buffers = (
            _Buffer(
                map_table(backend, "_join/left"),
                _LEFT,
                (bounds.lower, bounds.upper),
                max(bounds.upper, 0),
                bounds.left_late_tag,
            ),
            _Buffer(
                map_table(backend, "_join/right"),
                _RIGHT,
                (-bounds.upper, -bounds.lower),
                max(-bounds.lower, 0),
                bounds.right_late_tag,
            ),
        )

    def open(self) -> None:
        """Make the context."""
        super().open()
        self._context = PairContext(self.side)
        self._call: Callable[..., Any] = emitting(self.function, "process_element", 3, self.own)

    def process(self, batch: RowBatch) -> None:
        """Records of the left stream."""
        self._process(batch, self._buffers[_LEFT], self._buffers[_RIGHT])

    def process_second(self, batch: RowBatch) -> None:
        """Records of the right stream."""
        self._process(batch, self._buffers[_RIGHT], self._buffers[_LEFT])

    def _process(self, batch: RowBatch, own: _Buffer, other: _Buffer) -> None:
        assert batch.keys is not None
        self.cursor = cursor = iter(batch.values)
        if batch.timestamps is None:
            raise _no_timestamp(next(cursor))
        values: list[Any] = []
        timestamps: list[int] = []
        for value, stamp, key in zip(cursor, batch.timestamps, batch.keys):
            if stamp <= MIN_WATERMARK:
                raise _no_timestamp(value)
            if stamp < self.watermark:
                if own.late_tag is not None:
                    self.side.add(own.late_tag, value, stamp)
                continue
            self._keep(own, key, value, stamp)
            partners = other.table.entries.get(key)
            if partners:
                self._backend.scope.key = key
                self._join(own, value, stamp, partners, values, timestamps)
        self.side.flush(self.output)
        self.output.emit(RowBatch(values, timestamps))

    def _keep(self, own: _Buffer, key: Any, value: Any, stamp: int) -> None:
        known = own.table.entries.get(key)
        waiting = None if known is None else known.get(stamp)
        own.table.put(key, stamp, [value] if waiting is None else [*waiting, value])
        self._timers.add(key, own.side, stamp + own.kept_for)

    def _join(
        self,
        own: _Buffer,
        value: Any,
        stamp: int,
        partners: dict[int, list[Any]],
        values: list[Any],
        timestamps: list[int],
    ) -> None:
        """Call the function for each partner in reach, in order of time."""
        first, last = stamp + own.reach[0], stamp + own.reach[1]
        context, left = self._context, own.side == _LEFT
        for partner_stamp in sorted([time for time in partners if first <= time <= last]):
            if left:
                context.left_timestamp, context.right_timestamp = stamp, partner_stamp
            else:
                context.left_timestamp, context.right_timestamp = partner_stamp, stamp
            result_stamp = context.get_timestamp()
            for partner in partners[partner_stamp]:
                # Copies: the records stay in the buffers for further partners, whatever the function does to them.
                mine, theirs = self.own(value), self.own(partner)
                pair = (mine, theirs) if left else (theirs, mine)
                self._take(self._call(*pair, context), result_stamp, values, timestamps)

    def _take(self, results: Any, stamp: int, values: list[Any], timestamps: list[int]) -> None:
        if results is None:
            return
        for result in results_of(results):
            if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                self.side.add(result[0], result[1], stamp)
            else:
                values.append(self.own(result))
                timestamps.append(stamp)

    def advance_watermark(self, watermark: int) -> None:
        """Delete the records for which no partner can come any more, then pass the watermark on."""
        self.watermark = watermark
        timer = self._timers.pop_due(watermark)
        while timer is not None:
            key, side, timestamp = timer
            buffer = self._buffers[side]
            buffer.table.remove_key(key, timestamp - buffer.kept_for)
            timer = self._timers.pop_due(watermark)
        self.output.emit_watermark(watermark)


def _no_timestamp(value: Any) -> ProgramError:
    return ProgramError(
        f"interval join: a record came without a timestamp: {value!r:.200}. Call assign_timestamps_and_watermarks() on "
        "both streams before key_by(), with a WatermarkStrategy that has a with_timestamp_assigner(...)."
    )
